//! Bonuses: records with all the words of the query go first; among them those that have them as typed.

use crate::search::all_words::AsTyped;

use super::{Candidate, Ranking};

/// What was added for having the words of the query.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Bonuses {
    pub(crate) all_words: f64,
    pub(crate) as_typed: f64,
}

impl Ranking<'_> {
    pub(super) fn reward(&mut self, candidates: &mut [Candidate]) {
        self.bonuses = self.bonuses_for(candidates);
        let mut has_complete = false;
        for candidate in candidates.iter_mut().filter(|candidate| candidate.has_all_words) {
            candidate.strength += self.bonuses.all_words;
            has_complete = true;
        }
        if self.bonuses.as_typed > 0.0 && has_complete {
            let all = candidates.len();
            let read = if self.query.is_keywords() { all } else { self.recipe.bounds.read };
            let as_typed = AsTyped::new(&self.query);
            for candidate in self.select_best(candidates, read).iter_mut().filter(|candidate| candidate.has_all_words) {
                candidate.has_them_as_typed = as_typed.are_in(self.index, candidate.slot);
                candidate.strength += f64::from(u8::from(candidate.has_them_as_typed)) * self.bonuses.as_typed;
            }
        }
    }

    /// Keywords are a demand, a question is not: to keywords the bonus is large enough that nothing outweighs it.
    fn bonuses_for(&self, candidates: &[Candidate]) -> Bonuses {
        let strengths = || candidates.iter().map(|candidate| candidate.strength);
        let reach = || strengths().fold(f64::MIN, f64::max) - strengths().fold(f64::MAX, f64::min);
        let at_least = if self.query.is_keywords() && !candidates.is_empty() { reach() + 1.0 } else { 0.0 };
        let raise = |bonus: f64| if bonus > 0.0 { bonus.max(at_least) } else { 0.0 };
        Bonuses { all_words: raise(self.recipe.all_words), as_typed: raise(self.recipe.as_typed) }
    }
}
