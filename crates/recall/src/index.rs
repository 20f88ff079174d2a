//! The index of one workspace: records in, records out. `search.rs` answers queries.

use std::sync::OnceLock;

use crate::lexicon::{FormNo, Lexicon, TermNo};
use crate::meaning::Vectors;
use crate::model::{Embedding, Model};
use crate::records::{AudienceNo, Facts, NOBODY, Records, Words};
use crate::search::bm25::{Bm25, Totals};
use crate::time::{Days, dates_in};
use crate::truth::{Claim, Truth};
use crate::words::{Role, each_word, is_understood};

/// A record to be indexed.
#[derive(Debug, Clone, Copy)]
pub struct NewDoc<'a> {
    /// Its number in the change log: identifies it, and the larger one is the newer.
    pub seq: u64,
    /// What it says.
    pub text: &'a str,
    /// Who may see it.
    pub audience: AudienceNo,
    /// Whether it takes part in the statistics. Only records that every caller may see should: the statistics shape
    /// everybody's scores.
    pub counted: bool,
    /// Its vector where it is known already; otherwise it is computed from the text.
    pub embedding: Option<&'a Embedding>,
    /// When it was saved, in seconds since 1970: records saved within a day are neighbours.
    pub saved_at: i64,
    /// When it was last saved, in seconds since 1970.
    pub updated_at: i64,
    /// Its time, in seconds since 1970: when what it says happened, else when it was last saved.
    pub time: i64,
    /// The days on which what it says happened, if a caller said so.
    pub occurred: Option<Days>,
    /// From when on it no longer holds, in microseconds since 1970.
    pub valid_until: Option<i64>,
    /// What people call its source. Its words are found.
    pub source: Option<&'a str>,
    /// The source it was taken from. Its words are found.
    pub source_id: Option<&'a str>,
    /// The state of the source it was taken from.
    pub source_hash: Option<&'a str>,
    /// The key that names the fact, if a caller chose it. Its words are found.
    pub fact_key: Option<&'a str>,
    /// A hash of what it says: records under one key that say the same do not dispute it.
    pub content_hash: u64,
    /// Its tags, in order, as they are compared. None has a line end.
    pub tags: &'a [String],
}

impl<'a> NewDoc<'a> {
    /// A record that everybody sees, with nothing known of it but its text.
    pub fn new(seq: u64, text: &'a str) -> Self {
        Self {
            seq,
            text,
            audience: AudienceNo(0),
            counted: true,
            embedding: None,
            saved_at: 0,
            updated_at: 0,
            time: 0,
            occurred: None,
            valid_until: None,
            source: None,
            source_id: None,
            source_hash: None,
            fact_key: None,
            content_hash: 0,
            tags: &[],
        }
    }
}

/// Everything that is needed to search one workspace.
pub struct WorkspaceIndex {
    pub(crate) model: &'static Model,
    pub(crate) lexicon: Lexicon,
    pub(crate) records: Records,
    pub(crate) vectors: Vectors,
    pub(crate) truth: Truth,
    pub(crate) totals: Totals,
    /// What follows from the totals, until a counted record comes or goes.
    bm25: OnceLock<Box<Bm25>>,
}

impl WorkspaceIndex {
    /// An index without records.
    pub fn new(model: &'static Model) -> Self {
        Self {
            model,
            lexicon: Lexicon::new(),
            records: Records::default(),
            vectors: Vectors::new(),
            truth: Truth::default(),
            totals: Totals::default(),
            bm25: OnceLock::new(),
        }
    }

    /// From its parts.
    pub(crate) fn of(
        model: &'static Model,
        (lexicon, records, vectors, truth): (Lexicon, Records, Vectors, Truth),
        totals: Totals,
    ) -> Self {
        Self { model, lexicon, records, vectors, truth, totals, bm25: OnceLock::new() }
    }

    /// The statistics of words.
    pub(crate) fn bm25(&self) -> &Bm25 {
        self.bm25.get_or_init(|| Box::new(Bm25::new(self.totals)))
    }

    /// The model that its vectors come from.
    pub fn model(&self) -> &'static Model {
        self.model
    }

    /// Puts a record in; one with the same `seq` is replaced. The order of arrival changes no answer.
    pub fn add(&mut self, doc: NewDoc<'_>) {
        self.take_out(doc.seq);
        let words = self.read(&doc);
        let length = u16::try_from(words.running.len()).unwrap_or(u16::MAX);
        let saved_at = seconds(doc.saved_at);
        let facts = Facts { seq: doc.seq, audience: doc.audience, counted: doc.counted, length, saved_at };
        let tags = (!doc.tags.is_empty()).then(|| doc.tags.join("\n"));
        let claim = Claim {
            source_id: doc.source_id,
            source_hash: doc.source_hash,
            fact_key: doc.fact_key,
            content_hash: doc.content_hash,
            updated_at: seconds(doc.updated_at),
            time: doc.time,
            valid_until: doc.valid_until,
            tags: tags.as_deref(),
        };
        let is_understood = is_understood(doc.text);
        let computed = (is_understood && doc.embedding.is_none()).then(|| self.model.encode(doc.text));
        let embedding = doc.embedding.or(computed.as_ref()).filter(|_| is_understood);
        self.put_in(facts, &words, embedding, &claim);
    }

    /// Notes that an audience (`None`: everybody) has seen a hash of a source, or that it is gone (`None`), at a place
    /// of the log. Of several sightings the latest counts: records of the source with another hash no longer hold, and
    /// none of one that is gone. Several hashes of one content are joined by spaces; a question mark before one says
    /// that it could not be compared.
    pub fn sight(&mut self, source_id: &str, audience: Option<AudienceNo>, hash: Option<&str>, seq: u64) {
        self.truth.sight(source_id, audience, hash, seq);
    }

    /// Notes that a hash was confirmed of a source that the audience has seen, at a place of the log; the latest
    /// counts.
    pub fn confirm(&mut self, source_id: &str, audience: Option<AudienceNo>, hash: &str, seq: u64) {
        self.truth.confirm(source_id, audience, hash, seq);
    }

    /// The newest hash of a source that an audience has seen, as it was given to [`Self::sight`].
    pub fn known_hash(&self, source_id: &str, audience: Option<AudienceNo>) -> Option<&str> {
        self.truth.known_hash(source_id, audience)
    }

    /// Whether a record of this source was ever put in, or a sighting of it noted.
    pub fn knows_source(&self, source_id: &str) -> bool {
        self.truth.knows_source(source_id)
    }

    /// Every source that was ever named.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.truth.sources()
    }

    /// Takes a record out, as if it had never been there. `false` where there is none.
    pub fn remove(&mut self, seq: u64) -> bool {
        let was_there = self.take_out(seq);
        if self.lexicon.is_mostly_idle() || self.records.is_mostly_vacant() {
            *self = self.rebuilt();
        }
        was_there
    }

    /// Whether the record is in the index.
    pub fn contains(&self, seq: u64) -> bool {
        self.records.find(seq).is_some()
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes it occupies, counted.
    pub fn size_bytes(&self) -> usize {
        let words = self.lexicon.size_bytes() + self.records.size_bytes();
        let statistics = self.bm25.get().map_or(0, |bm25| size_of_val(&**bm25));
        size_of::<Self>() + statistics + words + self.vectors.size_bytes() + self.truth.size_bytes()
    }

    fn put_in(&mut self, facts: Facts, words: &Words, embedding: Option<&Embedding>, claim: &Claim<'_>) {
        let slot = self.records.insert(facts, words);
        self.truth.set(slot, claim);
        let terms = self.terms_of(words);
        for (term, count) in terms {
            self.lexicon.insert_posting(term, slot, count, facts.counted);
        }
        self.vectors.set(self.model, slot, embedding, facts.counted);
        if facts.counted {
            self.bm25.take();
            self.totals.records += 1;
            self.totals.length += u64::from(facts.length);
            if self.vectors.has(slot) {
                let (before, after) = self.counted_neighbours(slot);
                self.vectors.join(before, slot, after);
            }
        }
    }

    fn take_out(&mut self, seq: u64) -> bool {
        let Some(slot) = self.records.find(seq) else { return false };
        let facts = self.records.facts(slot);
        for (term, _) in self.terms_of(&self.records.words(slot)) {
            self.lexicon.remove_posting(term, slot, facts.counted);
        }
        if facts.counted && self.vectors.has(slot) {
            let (before, after) = self.counted_neighbours(slot);
            self.vectors.part(before, slot, after);
        }
        self.vectors.clear(slot, facts.counted);
        if facts.counted {
            self.bm25.take();
            self.totals.records -= 1;
            self.totals.length -= u64::from(facts.length);
        }
        self.records.remove(slot);
        self.truth.clear(slot);
        true
    }

    /// The counted records with a vector that were saved last before and first after the one in this slot.
    fn counted_neighbours(&self, slot: u32) -> (Option<u32>, Option<u32>) {
        let order = self.records.order();
        let (before, after) = order.slots().split_at(order.places()[slot as usize] as usize);
        let is_one = |&slot: &u32| slot != NOBODY && self.records.is_counted(slot) && self.vectors.has(slot);
        (before.iter().rev().copied().find(is_one), after[1..].iter().copied().find(is_one))
    }

    /// The same records without the traces of those that are gone: their words, their slots.
    fn rebuilt(&self) -> Self {
        let mut fresh = Self::new(self.model);
        for slot in self.records.live_slots() {
            let mut words = self.records.words(slot);
            let mut learn = |form: &mut FormNo| *form = fresh.lexicon.learn(self.lexicon.form_text(*form));
            words.running.iter_mut().for_each(&mut learn);
            words.extra.iter_mut().for_each(&mut learn);
            words.beside.iter_mut().for_each(&mut learn);
            let embedding = self.vectors.embedding(slot);
            fresh.put_in(self.records.facts(slot), &words, embedding.as_ref(), &self.truth.claim(slot));
        }
        fresh.truth.learn_sightings(&self.truth);
        fresh
    }

    fn read(&mut self, doc: &NewDoc<'_>) -> Words {
        let mut words = Words::default();
        for text in [doc.source, doc.source_id, doc.fact_key].into_iter().flatten() {
            each_word(text, |word, _| words.beside.push(self.lexicon.learn(word)));
        }
        each_word(doc.text, |word, role| match role {
            Role::Running => words.running.push(self.lexicon.learn(word)),
            Role::Whole { .. } | Role::Aside => words.extra.push(self.lexicon.learn(word)),
        });
        words.dates.extend(doc.occurred);
        words.dates.extend(dates_in(doc.text).into_iter().filter(|date| Some(*date) != doc.occurred));
        words
    }

    /// The terms of a record with their counts in its text, each once; 0 for those that are only beside it.
    fn terms_of(&self, words: &Words) -> Vec<(TermNo, u32)> {
        let of_text = words.running.iter().chain(&words.extra).map(|form| (self.lexicon.term_of(*form), 1));
        let beside = words.beside.iter().map(|form| (self.lexicon.term_of(*form), 0));
        let mut terms: Vec<(TermNo, u32)> = of_text.chain(beside).collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        terms.dedup_by(|(term, count), (kept, total)| {
            let is_same = term == kept;
            *total += *count * u32::from(is_same);
            is_same
        });
        terms
    }
}

/// Seconds since 1970 in four bytes: enough until 2106, and whatever lies before or behind is cut.
fn seconds(seconds: i64) -> u32 {
    u32::try_from(seconds.max(0)).unwrap_or(u32::MAX)
}
