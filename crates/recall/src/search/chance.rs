//! How likely a record is an answer, by what is known in absolute terms: the share of the query that it has, and its
//! cosine. Strength orders the records of one workspace; a chance means the same for every query and workspace.

use crate::meaning::{self, NO_VECTOR};
use crate::recipe::{Chance, ChanceAcross, Recipe};
use crate::search::fuse::Spread;

/// What cosines usually deviate by: a small workspace leans on it, a large one has its own.
const DEVIATION_USUAL: f64 = 0.1;
/// How many records that counts for.
const PRIOR_RECORDS: f64 = 20.0;
/// A smaller deviation says nothing more. Below 0.0674 a larger cosine would even mean a smaller chance.
const DEVIATION_MIN: f64 = 0.09;

/// Chances of one query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chances {
    recipe: Chance,
    across: ChanceAcross,
    /// The bar of the gate.
    bar: f64,
    /// Mean and deviation of the cosines.
    mean: f64,
    deviation: f64,
}

impl Chances {
    /// For a query with `records` visible records, whose cosines are spread like `near`.
    pub(crate) fn new(recipe: &Recipe, records: u32, near: &Spread) -> Self {
        let bar = recipe.gate.bar(records);
        let (records, mean, variance) = near.moments();
        let (mean, variance) = (mean / meaning::ONE, variance / (meaning::ONE * meaning::ONE));
        let lean = |own: f64, usual: f64| (records * own + PRIOR_RECORDS * usual) / (records + PRIOR_RECORDS);
        let deviation = lean(variance, DEVIATION_USUAL * DEVIATION_USUAL).sqrt().max(DEVIATION_MIN);
        Self { recipe: recipe.chance, across: recipe.chance_across, bar, mean: lean(mean, 0.0), deviation }
    }

    /// The chance of a record that has `count` of the query's terms.
    pub(crate) fn of(&self, count: f64, terms: u32, near: i32) -> f64 {
        let share = count / (f64::from(terms) + self.recipe.doubted_terms);
        let by_meaning = if near == NO_VECTOR { 0.0 } else { self.by_meaning(f64::from(near) / meaning::ONE) };
        logistic(self.recipe.bias + self.recipe.count * share + by_meaning)
    }

    /// The chance of a record of another language that has none of them.
    pub(crate) fn across(&self, near: i32) -> f64 {
        logistic(self.across.bias + self.across.cosine * (f64::from(near) / meaning::ONE - self.bar))
    }

    fn by_meaning(&self, cosine: f64) -> f64 {
        self.recipe.cosine * cosine + self.recipe.deviations * (cosine - self.mean) / self.deviation
    }
}

/// From the logarithm of odds to a chance. libm, not the platform's: exponentials differ between systems in the last
/// bit.
fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-odds))
}

/// Scores of an answer, best record first: chances in two decimals that never rise. A record that was ranked behind
/// another is not shown as the better answer.
pub(crate) fn to_scores(chances: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    chances.scan(1.0, |least: &mut f64, chance| {
        *least = least.min(((100.0 * chance).round() / 100.0).max(0.01));
        Some(*least)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_rises_with_words_and_with_nearness_in_every_workspace() {
        for spread in [vec![], vec![3_000_i64, 3_000], vec![-200_000, 0, 90_000, 500_000], vec![1_000; 500]] {
            let mut cosines = Spread::default();
            spread.into_iter().for_each(|cosine| cosines.add(cosine));
            let chances = Chances::new(&Recipe::FULL, 40, &cosines);
            for near in [-300_000, 0, 400_000] {
                let chance = |count, near| chances.of(count, 4, near);
                assert!(chances.across(near + 10_000) > chances.across(near));
                assert!(chance(0.0, near + 10_000) > chance(0.0, near));
                assert!(chance(2.0, near) > chance(1.0, near));
                assert!((0.0..1.0).contains(&chance(4.0, near)));
            }
        }
    }

    #[test]
    fn one_word_of_two_is_no_answer() {
        let chances = Chances::new(&Recipe::FULL, 0, &Spread::default());
        assert!(chances.of(1.0, 2, 0) < 0.5, "half of two words");
        assert!(chances.of(4.0, 8, 0) > 0.5, "half of eight");
        assert!(chances.of(2.0, 2, 0) > 0.9, "both words");
    }

    #[test]
    fn scores_have_two_decimals_and_never_rise_nor_vanish() {
        let scores: Vec<f64> = to_scores([0.8149, 0.3, 0.777, 0.0001, 0.0].into_iter()).collect();
        assert_eq!(scores, [0.81, 0.3, 0.3, 0.01, 0.01]);
    }
}
