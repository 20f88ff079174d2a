//! The words of a workspace: every form as written, the term (stem) it belongs to, and where each term stands.
//!
//! Forms are kept beside terms for two reasons: a known form needs no stemming when a record arrives, and a query can
//! prefer the records that have its words as written.

use std::borrow::Cow;

use crate::bytes::{Reader, Writer};
use crate::interner::Interner;
use crate::memory::{push_tight, vec_bytes};
use crate::postings::Postings;
use crate::words::{Stems, is_stop_word};

/// A word as written (folded).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FormNo(pub(crate) u32);

/// A stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TermNo(pub(crate) u32);

/// What is known of one form.
#[derive(Clone, Copy)]
struct Form {
    /// The term's number, and in the lowest bit whether the form is a stop word.
    packed: u32,
}

/// All words of a workspace.
pub(crate) struct Lexicon {
    forms: Interner,
    form_facts: Vec<Form>,
    stems: Interner,
    /// By term: where it stands.
    postings: Vec<Postings>,
    /// By term: in how many of the counted records it stands, the document frequency of the ranking. Apart from the lists:
    /// lending words asks it of hundreds of terms.
    counted: Vec<u32>,
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
            form_facts: Vec::new(),
            stems: Interner::default(),
            postings: Vec::new(),
            counted: Vec::new(),
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
                push_tight(&mut self.counted, 0);
                self.idle_terms += 1;
            }
            push_tight(&mut self.form_facts, Form { packed: term << 1 | u32::from(is_stop_word(word)) });
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
        TermNo(self.form_facts[form.0 as usize].packed >> 1)
    }

    #[inline]
    pub(crate) fn is_stop(&self, form: FormNo) -> bool {
        self.form_facts[form.0 as usize].packed & 1 == 1
    }

    /// Both at once: they lie side by side.
    #[inline]
    pub(crate) fn term_and_stop(&self, form: FormNo) -> (TermNo, bool) {
        let packed = self.form_facts[form.0 as usize].packed;
        (TermNo(packed >> 1), packed & 1 == 1)
    }

    /// Where a term stands.
    pub(crate) fn postings(&self, term: TermNo) -> &Postings {
        &self.postings[term.0 as usize]
    }

    /// In how many of the counted records a term stands.
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
        self.idle_terms -= usize::from(postings.len() == 0);
        postings.insert(slot, count);
        self.counted[term.0 as usize] += u32::from(counted);
        self.postings_bytes = self.postings_bytes + postings.heap_bytes() - bytes_before;
    }

    pub(crate) fn remove_posting(&mut self, term: TermNo, slot: u32, counted: bool) {
        let postings = &mut self.postings[term.0 as usize];
        let bytes_before = postings.heap_bytes();
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
        let terms = vec_bytes(&self.postings) + vec_bytes(&self.counted);
        words + vec_bytes(&self.form_facts) + terms + self.postings_bytes
    }

    pub(crate) fn save(&self, out: &mut Writer) {
        self.forms.save(out);
        self.stems.save(out);
        out.numbers(self.form_facts.iter().map(|form| form.packed.to_le_bytes()));
        out.numbers(self.counted.iter().map(|counted| counted.to_le_bytes()));
        let parts = || self.postings.iter().map(Postings::to_parts);
        out.numbers(parts().map(|(_, last, _)| last.to_le_bytes()));
        out.numbers(parts().map(|(_, _, len)| len.to_le_bytes()));
        out.numbers(parts().map(|(bytes, ..)| (bytes.len() as u64).to_le_bytes()));
        let mut lists = Vec::with_capacity(self.postings_bytes);
        parts().for_each(|(bytes, ..)| lists.extend_from_slice(bytes));
        out.run(&lists);
    }

    pub(crate) fn load(input: &mut Reader<'_>) -> Option<Self> {
        let mut lexicon = Self { forms: Interner::load(input)?, stems: Interner::load(input)?, ..Self::new() };
        let packed = input.numbers()?.iter().map(|&packed| u32::from_le_bytes(packed));
        lexicon.form_facts = packed.map(|packed| Form { packed }).collect();
        let (counted, last, len) = (input.numbers::<4>()?, input.numbers::<4>()?, input.numbers::<4>()?);
        let (sizes, mut lists) = (input.numbers::<8>()?, input.run()?);
        let terms = lexicon.stems.len();
        if [counted.len(), last.len(), len.len(), sizes.len()] != [terms; 4] {
            return None;
        }
        lexicon.counted = counted.iter().map(|&counted| u32::from_le_bytes(counted)).collect();
        lexicon.postings = Vec::with_capacity(terms);
        for at in 0..terms {
            let size = usize::try_from(u64::from_le_bytes(sizes[at])).ok()?;
            let (bytes, rest) = lists.split_at_checked(size)?;
            lists = rest;
            let postings = Postings::from_parts(bytes, u32::from_le_bytes(last[at]), u32::from_le_bytes(len[at]));
            lexicon.postings_bytes += postings.heap_bytes();
            lexicon.idle_terms += usize::from(postings.len() == 0);
            lexicon.postings.push(postings);
        }
        let forms_fit = lexicon.form_facts.len() == lexicon.forms.len()
            && lexicon.form_facts.iter().all(|form| ((form.packed >> 1) as usize) < terms);
        (lists.is_empty() && forms_fit).then_some(lexicon)
    }
}
