//! The words of a workspace: every form as written, the term (stem) it belongs to, and the place of each term.
//!
//! Forms are kept beside terms for two reasons: a known form needs no stemming when a record arrives, and a query can
//! prefer the records that have its words as written.

use std::borrow::Cow;

use crate::bits::Bits;
use crate::bytes::{Reader, SnapshotError, Writer};
use crate::interner::Interner;
use crate::mapped_vec::MappedVec;
use crate::memory::{push_tight, vec_bytes};
use crate::postings::{List, Postings};
use crate::words::{Ballot, Hint, Language, Stems, Stops};

/// A word as written (folded).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FormNo(pub(crate) u32);

/// A stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TermNo(pub(crate) u32);

/// All words of a workspace.
pub(crate) struct Lexicon {
    forms: Interner,
    /// By form: its term's number, and in the lowest bits where the form says nothing.
    form_facts: MappedVec<u32>,
    /// By form: what it says of the language of its text.
    hints: MappedVec<i8>,
    stems: Interner,
    /// By term: its place.
    postings: Vec<Postings>,
    /// The lists of the snapshot that this index came from: those that have not changed since are read here.
    kept: MappedVec<u8>,
    /// By term: in how many of the counted records it occurs, the document frequency of the ranking. Apart from the
    /// lists: lending words asks it of hundreds of terms.
    counted: MappedVec<u32>,
    stemmers: Stems,
    /// Terms without any record left.
    idle_terms: usize,
    /// Heap bytes of all postings, kept up to date because the size is asked for after every save.
    postings_bytes: usize,
}

impl Lexicon {
    pub(crate) fn new() -> Self {
        Self {
            forms: Interner::default(),
            form_facts: MappedVec::default(),
            hints: MappedVec::default(),
            stems: Interner::default(),
            postings: Vec::new(),
            kept: MappedVec::default(),
            counted: MappedVec::default(),
            stemmers: Stems::new(),
            idle_terms: 0,
            postings_bytes: 0,
        }
    }

    /// The form's number; a new one is learnt.
    pub(crate) fn learn(&mut self, word: &str) -> FormNo {
        let (number, is_new) = self.forms.intern(word);
        if is_new {
            let (term, term_is_new) = self.stems.intern(&self.stemmers.stem(word));
            if term_is_new {
                push_tight(&mut self.postings, Postings::default());
                self.counted.push(0);
                self.idle_terms += 1;
            }
            self.form_facts.push(term << Stops::BITS | Stops::that_have(word).bits());
            self.hints.push(Hint::of(word).0);
        }
        FormNo(number)
    }

    pub(crate) fn find_form(&self, word: &str) -> Option<FormNo> {
        self.forms.find(word).map(FormNo)
    }

    pub(crate) fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        self.stemmers.stem(word)
    }

    pub(crate) fn find_stem(&self, stem: &str) -> Option<TermNo> {
        self.stems.find(stem).map(TermNo)
    }

    #[inline]
    pub(crate) fn term_of(&self, form: FormNo) -> TermNo {
        TermNo(self.form_facts[form.0 as usize] >> Stops::BITS)
    }

    #[inline]
    pub(crate) fn is_stop(&self, form: FormNo, stops: Stops) -> bool {
        stops.include(self.form_facts[form.0 as usize])
    }

    /// Both at once: they lie side by side.
    #[inline]
    pub(crate) fn term_and_stop(&self, form: FormNo, stops: Stops) -> (TermNo, bool) {
        let packed = self.form_facts[form.0 as usize];
        (TermNo(packed >> Stops::BITS), stops.include(packed))
    }

    /// The language of a text, by its words.
    pub(crate) fn language(&self, forms: impl Iterator<Item = FormNo>) -> Option<Language> {
        let mut ballot = Ballot::default();
        forms.for_each(|form| ballot.add(Hint(self.hints[form.0 as usize])));
        ballot.verdict()
    }

    /// The place of a term.
    pub(crate) fn postings(&self, term: TermNo) -> List<'_> {
        self.postings[term.0 as usize].list(&self.kept)
    }

    /// In how many of the counted records a term occurs.
    #[inline]
    pub(crate) fn counted(&self, term: TermNo) -> u32 {
        self.counted[term.0 as usize]
    }

    pub(crate) fn stem_text(&self, term: TermNo) -> &str {
        self.stems.text(term.0)
    }

    pub(crate) fn stem_bytes(&self, term: TermNo) -> &[u8] {
        self.stems.bytes(term.0)
    }

    pub(crate) fn form_text(&self, form: FormNo) -> &str {
        self.forms.text(form.0)
    }

    pub(crate) fn insert_posting(&mut self, term: TermNo, slot: u32, count: u32, counted: bool) {
        let postings = &mut self.postings[term.0 as usize];
        let bytes_before = postings.heap_bytes();
        postings.own(&self.kept);
        self.idle_terms -= usize::from(postings.len() == 0);
        postings.insert(slot, count);
        self.counted[term.0 as usize] += u32::from(counted);
        self.postings_bytes = self.postings_bytes + postings.heap_bytes() - bytes_before;
    }

    pub(crate) fn remove_posting(&mut self, term: TermNo, slot: u32, counted: bool) {
        let postings = &mut self.postings[term.0 as usize];
        let bytes_before = postings.heap_bytes();
        postings.own(&self.kept);
        postings.remove(slot);
        self.counted[term.0 as usize] -= u32::from(counted);
        self.postings_bytes = self.postings_bytes + postings.heap_bytes() - bytes_before;
        self.idle_terms += usize::from(postings.len() == 0);
    }

    /// Whether most of what is kept here belongs to records that are gone.
    pub(crate) fn is_mostly_idle(&self) -> bool {
        const WORTH_A_REBUILD: usize = 1024;
        self.idle_terms > WORTH_A_REBUILD && self.idle_terms * 2 > self.postings.len()
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let words = self.forms.size_bytes() + self.stems.size_bytes();
        let terms = vec_bytes(&self.postings) + self.kept.size_bytes() + self.counted.size_bytes();
        words + self.form_facts.size_bytes() + self.hints.size_bytes() + terms + self.postings_bytes
    }

    /// `used` are the forms that some record has, where not all do.
    pub(crate) fn save(&self, out: &mut Writer, used: Option<&Bits>) {
        let terms = used.map(|forms| {
            let mut terms = Bits::empty(self.stems.len());
            forms.iter().for_each(|form| terms.set(self.term_of(FormNo(form)).0, true));
            terms
        });
        self.forms.save(out, used);
        self.stems.save(out, terms.as_ref());
        out.row(&self.form_facts);
        out.row(&self.hints);
        out.row(&self.counted);
        let parts = || self.postings.iter().map(|postings| postings.to_parts(&self.kept));
        out.numbers(parts().map(|(_, last, _)| last));
        out.numbers(parts().map(|(_, _, len)| len));
        out.numbers(parts().map(|(bytes, ..)| bytes.len() as u32));
        let mut lists = Vec::with_capacity(parts().map(|(bytes, ..)| bytes.len()).sum());
        parts().for_each(|(bytes, ..)| lists.extend_from_slice(bytes));
        out.part(lists);
    }

    pub(crate) fn load(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let mut lexicon = Self { forms: Interner::load(input)?, stems: Interner::load(input)?, ..Self::new() };
        (lexicon.form_facts, lexicon.hints, lexicon.counted) = (input.row()?, input.row()?, input.row()?);
        let (last, len, sizes) = (input.row::<u32>()?, input.row::<u32>()?, input.row::<u32>()?);
        lexicon.kept = input.row()?;
        let terms = lexicon.stems.len();
        let forms_fit = [lexicon.form_facts.len(), lexicon.hints.len()] == [lexicon.forms.len(); 2]
            && lexicon.form_facts.iter().all(|packed| ((packed >> Stops::BITS) as usize) < terms);
        if [lexicon.counted.len(), last.len(), len.len(), sizes.len()] != [terms; 4] || !forms_fit {
            return Err(SnapshotError::NotASnapshot);
        }
        let mut end = 0;
        lexicon.postings = Vec::with_capacity(terms);
        for ((&last, &len), &size) in last.iter().zip(&*len).zip(&*sizes) {
            lexicon.postings.push(Postings::of_kept(end, size, last, len));
            lexicon.idle_terms += usize::from(len == 0);
            end += size as usize;
        }
        if end == lexicon.kept.len() { Ok(lexicon) } else { Err(SnapshotError::NotASnapshot) }
    }
}
