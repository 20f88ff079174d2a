//! Whether a record has every word of the query, by stem or as typed.

use smallvec::SmallVec;

use crate::index::WorkspaceIndex;
use crate::lexicon::FormNo;
use crate::search::query::Query;

/// Decides from a record's marks whether it has every word of the query.
pub(crate) struct AllWords {
    /// Per word: either pattern of marks will do. The second one is that of an identifier's parts.
    words: Vec<(u32, u32)>,
    /// For queries of very many terms: how many marks make all.
    count: Option<u32>,
    /// Some word is unknown here, so no record has them all.
    is_hopeless: bool,
}

impl AllWords {
    pub(crate) fn new(query: &Query) -> Self {
        let bit = |term| query.bit_of(term).unwrap_or(0);
        let mut all = Self { words: Vec::new(), count: None, is_hopeless: query.units.is_empty() };
        for unit in &query.units {
            let whole = unit.whole.map_or(0, bit);
            let has_parts = !unit.parts.is_empty() && unit.parts.iter().all(Option::is_some);
            let parts = unit.parts.iter().flatten().fold(0, |pattern, &term| pattern | bit(term));
            all.is_hopeless |= unit.whole.is_none() && !has_parts;
            all.words.push((whole, if has_parts { parts } else { 0 }));
        }
        if !query.is_masked() {
            all.count = u32::try_from(query.terms.len()).ok();
        }
        all
    }

    /// The marks without which a record can't have every word; `None` where no record has them all.
    pub(crate) fn required(&self) -> Option<u32> {
        let of_words = |required: u32, &(whole, parts): &(u32, u32)| match parts {
            0 => required | whole,
            _ if whole == 0 => required | parts,
            _ => required | whole & parts,
        };
        // A sum of marks is its own pattern.
        let required = self.count.unwrap_or_else(|| self.words.iter().fold(0, of_words));
        (!self.is_hopeless).then_some(required)
    }

    pub(crate) fn are_in(&self, marks: u32) -> bool {
        let has = |pattern: u32| pattern != 0 && marks & pattern == pattern;
        match self.count {
            _ if self.is_hopeless => false,
            Some(count) => marks == count,
            None => self.words.iter().all(|&(whole, parts)| has(whole) || has(parts)),
        }
    }
}

/// Decides by reading a record whether it has the words as they were typed.
pub(crate) struct AsTyped {
    /// `None` where some word was never written so.
    forms: Option<SmallVec<[FormNo; 8]>>,
}

impl AsTyped {
    pub(crate) fn new(query: &Query) -> Self {
        let asked = query.typed.iter().filter(|typed| query.is_keywords() || !typed.is_stop);
        Self { forms: asked.map(|typed| typed.form).collect() }
    }

    pub(crate) fn are_in(&self, index: &WorkspaceIndex, slot: u32) -> bool {
        let Some(forms) = &self.forms else { return false };
        let mut missing = forms.clone();
        for form in index.records.all_forms(slot) {
            missing.retain(|asked| *asked != form);
            if missing.is_empty() {
                return true;
            }
        }
        missing.is_empty()
    }
}
