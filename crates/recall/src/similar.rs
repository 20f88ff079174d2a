//! Which records say nearly the same as one that was just saved, so that whoever saved it may replace them: the same fact
//! in other words, with more detail or with another value. Not what merely speaks of the same thing.
//!
//! It runs on every save, so it looks at little: at the records that share the rarest words, and word by word only at the
//! few that share most of them. `bench/similar` holds the pairs that the numbers were fitted to.

mod likeness;
mod page;

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::index::WorkspaceIndex;
use crate::records::AudienceNo;
pub use likeness::Likeness;
use page::{Page, Rarity, Term};

/// From which chance on a record is named.
const BAR: f64 = 0.75;
/// In how many lists of words that others are known to have candidates are looked for.
const LISTS: usize = 8;
/// The same for words that no other counted record has: those of the caller's own circle may have them.
const NOVEL_LISTS: usize = 8;
/// So many postings are taken at most. A list with more than there is room for is left out as a whole.
const POSTINGS: usize = 512;
/// So many candidates are read.
const READ: usize = 12;
/// A record with more than so many words for each of the other's is another one: a line of a page is not the page.
const TIMES_AS_LONG: u32 = 3;

/// A record that says nearly the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    /// Which record.
    pub seq: u64,
    /// How likely it is about the same fact, in (0, 1] and in two decimals.
    pub score: f64,
}

impl WorkspaceIndex {
    /// The visible records that say nearly the same as this one, best first; of equal ones the newest first. What is not
    /// visible changes nothing.
    pub fn similar(&self, seq: u64, limit: usize, visible: &dyn Fn(AudienceNo) -> bool) -> Vec<Similar> {
        let Some(slot) = self.records.find(seq) else { return Vec::new() };
        let rarity = Rarity::new(self.totals.records);
        let own = Page::read(self, slot, &rarity);
        let mut similar: Vec<Similar> = self
            .candidates(&own, slot, visible)
            .into_iter()
            .filter_map(|other| {
                let score = self.compare(&own, slot, other, &rarity)?.score();
                (score >= BAR).then(|| Similar { seq: self.records.seq(other), score })
            })
            .collect();
        similar.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then(other.seq.cmp(&one.seq)));
        similar.truncate(limit);
        similar
    }

    /// How alike two records are, for measuring. `None` where one is not there, or where they share too little.
    pub fn likeness(&self, seq: u64, other: u64) -> Option<Likeness> {
        let (slot, other) = (self.records.find(seq)?, self.records.find(other)?);
        let rarity = Rarity::new(self.totals.records);
        self.compare(&Page::read(self, slot, &rarity), slot, other, &rarity)
    }

    fn compare(&self, own: &Page, slot: u32, other: u32, rarity: &Rarity) -> Option<Likeness> {
        if !self.is_comparable(slot, other) {
            return None;
        }
        let overlap = own.overlap(self, other);
        let density = overlap.density();
        if density < Likeness::DENSITY_MIN {
            return None;
        }
        let has_vectors = self.vectors.has(slot) && self.vectors.has(other);
        let cosine = if has_vectors { self.vectors.cosine(slot, other) } else { 0.0 };
        Some(Likeness::new(density, cosine, &own.difference(self, other, &overlap, rarity)))
    }

    fn is_comparable(&self, slot: u32, other: u32) -> bool {
        let [one, other] = [slot, other].map(|slot| u32::from(self.records.lengths()[slot as usize]));
        one.max(other) <= TIMES_AS_LONG * one.min(other)
    }

    /// The slots that share most of the rarest words.
    fn candidates(&self, own: &Page, slot: u32, visible: &dyn Fn(AudienceNo) -> bool) -> Vec<u32> {
        let mut found = Found { postings: Vec::new(), sights: Sights::new(visible) };
        for term in self.rarest(own, slot) {
            found.take_list(self, &term, slot);
        }
        let mut shares = found.shares();
        shares.retain(|share| self.is_comparable(slot, share.slot));
        let rank = |share: &Share| Reverse((share.weight, self.records.seq(share.slot)));
        if shares.len() > READ {
            shares.select_nth_unstable_by_key(READ, rank);
            shares.truncate(READ);
        }
        self.records.fetch_words(shares.iter().map(|share| share.slot));
        shares.into_iter().map(|share| share.slot).collect()
    }

    /// The terms to look for: those that the fewest records have, and of equally rare ones those that are read first. Only
    /// counted records tell, so that those whom a caller can't see choose nothing.
    fn rarest(&self, own: &Page, slot: u32) -> Vec<Term> {
        let own_count = u32::from(self.records.is_counted(slot));
        let (mut novel, mut known): (Vec<Term>, Vec<Term>) =
            own.terms().iter().partition(|term| term.counted == own_count);
        // Where every record is counted, nobody else has a word that no other counted one has.
        let has_uncounted = self.totals.records as usize != self.records.len();
        keep_rarest(&mut novel, if has_uncounted { NOVEL_LISTS } else { 0 });
        keep_rarest(&mut known, LISTS);
        novel.append(&mut known);
        novel
    }
}

fn keep_rarest(terms: &mut Vec<Term>, count: usize) {
    terms.sort_unstable_by_key(|term| (term.counted, term.first_at));
    terms.truncate(count);
}

/// What a candidate shares with the record.
struct Share {
    slot: u32,
    weight: u32,
}

/// Postings of visible records.
struct Found<'v> {
    /// Slot and weight of the word, in one number each: they are sorted.
    postings: Vec<u64>,
    sights: Sights<'v>,
}

impl Found<'_> {
    /// A list that is too long says little, and which part of it to take would depend on the order of slots.
    fn take_list(&mut self, index: &WorkspaceIndex, term: &Term, own: u32) {
        let before = self.postings.len();
        for posting in index.lexicon.postings(term.number).iter() {
            if posting.count == 0 || posting.slot == own || !self.sights.see(index, posting.slot) {
                continue;
            }
            if self.postings.len() == POSTINGS {
                self.postings.truncate(before);
                return;
            }
            self.postings.push(u64::from(posting.slot) << 32 | u64::from(term.weight));
        }
    }

    /// Each slot once, with the sum of its weights.
    fn shares(mut self) -> Vec<Share> {
        self.postings.sort_unstable();
        let of_slot = self.postings.chunk_by(|one, other| one >> 32 == other >> 32);
        of_slot
            .map(|postings| Share {
                slot: (postings[0] >> 32) as u32,
                weight: postings.iter().map(|&posting| posting as u32).sum(),
            })
            .collect()
    }
}

/// Who is seen, asked once per audience that is met.
struct Sights<'v> {
    visible: &'v dyn Fn(AudienceNo) -> bool,
    known: HashMap<AudienceNo, bool, FxBuildHasher>,
    /// Most records have the audience of the one before.
    last: Option<(AudienceNo, bool)>,
}

impl<'v> Sights<'v> {
    fn new(visible: &'v dyn Fn(AudienceNo) -> bool) -> Self {
        Self { visible, known: HashMap::default(), last: None }
    }

    fn see(&mut self, index: &WorkspaceIndex, slot: u32) -> bool {
        let audience = index.records.facts(slot).audience;
        match self.last {
            Some((last, is_seen)) if last == audience => is_seen,
            _ => {
                let is_seen = *self.known.entry(audience).or_insert_with(|| (self.visible)(audience));
                self.last = Some((audience, is_seen));
                is_seen
            }
        }
    }
}
