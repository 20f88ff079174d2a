//! Whether a score means the same in every language: between two languages it comes from the cosine by two weights.
//! They are fitted to one half of the facts and questions, and measured on the other, by language.

use mnemon_recall::{ChanceAcross, Recipe, SearchRequest};

use super::data::{Facts, Foreign};
use super::{ENGLISH, LIMIT, LanguageResult, Workspace};

/// Steps of Newton's method; it converges long before.
const STEPS: usize = 30;
/// Keeps the weights finite, should a threshold part the classes of a half.
const RIDGE: f64 = 0.001;

/// A hit between English and another language that has no word of its question.
pub(super) struct Sample {
    half: u64,
    /// The right record of a question that has one; else a hit of a question that has none.
    is_gold: bool,
    /// How far its cosine is above the bar of the gate.
    cosine: f64,
}

/// Questions in a language to English facts, and English ones to facts in it: those that have an answer, and those that
/// have none.
pub(super) fn samples(facts: &Facts, foreign: &[Foreign], language: &str) -> Vec<Sample> {
    let (own, english) = (Workspace::of(facts, language), Workspace::of(facts, ENGLISH));
    let mut samples = Vec::new();
    for (workspace, asked) in [(&english, language), (&own, ENGLISH)] {
        for fact in facts.of(asked).filter(|fact| workspace.ids.contains(&fact.id)) {
            ask(&mut samples, workspace, &fact.question, fact.id / 2 % 2, Some(fact.id));
        }
        let questions = foreign.iter().filter(|foreign| foreign.lang == asked).flat_map(|foreign| &foreign.questions);
        for (number, question) in (0..).zip(questions) {
            ask(&mut samples, workspace, question, number % 2, None);
        }
    }
    samples
}

fn ask(samples: &mut Vec<Sample>, workspace: &Workspace, question: &str, half: u64, gold: Option<u64>) {
    let bar = Recipe::FULL.gate.bar(workspace.ids.len() as u32);
    for hit in workspace.index.explain(&SearchRequest::new(question, LIMIT)).hits {
        let is_gold = gold == Some(workspace.ids[hit.seq as usize]);
        let cosine = hit.cosine.filter(|_| hit.matched.is_empty());
        // A wrong hit of a question that has an answer is neither.
        if let Some(cosine) = cosine.filter(|_| is_gold || gold.is_none()) {
            samples.push(Sample { half, is_gold, cosine: cosine - bar });
        }
    }
}

pub(super) fn print(rows: &[LanguageResult]) {
    let all: Vec<&Sample> = rows.iter().flat_map(|row| &row.across).collect();
    let fitted = [0, 1].map(|half| fit(&all.iter().copied().filter(|one| one.half != half).collect::<Vec<_>>()));
    println!("\nhits between English and a language, without a word of the question: how many are above 0.5, %\n");
    println!("        fitted to one half, measured on the other   by the weights of the service");
    for row in rows.iter().filter(|row| row.language != ENGLISH) {
        print_row(&row.language, &row.across.iter().collect::<Vec<_>>(), &fitted);
    }
    print_row("all", &all, &fitted);
    let [one, other] = fitted.map(|weights| format!("cosine {:.1}, bias {:.2}", weights.cosine, weights.bias));
    let ChanceAcross { cosine, bias } = Recipe::FULL.chance_across;
    println!(
        "\nfitted to the second half: {one}; to the first: {other}; the service: cosine {cosine:.1}, bias {bias:.2}"
    );
}

/// `fitted` holds, for each half, the weights fitted to the other.
fn print_row(name: &str, samples: &[&Sample], fitted: &[ChanceAcross; 2]) {
    let share = |is_gold: bool, weights: &dyn Fn(&Sample) -> ChanceAcross| {
        let of_class: Vec<&Sample> = samples.iter().copied().filter(|one| one.is_gold == is_gold).collect();
        let above = of_class.iter().filter(|one| chance(weights(one), one.cosine) > 0.5).count();
        format!("{:3.0} of {:4}", 100.0 * above as f64 / of_class.len().max(1) as f64, of_class.len())
    };
    let by_half = |one: &Sample| fitted[one.half as usize];
    let by_service = |_: &Sample| Recipe::FULL.chance_across;
    println!(
        "{name:6}  right {}, foreign {}      right {}, foreign {}",
        share(true, &by_half),
        share(false, &by_half),
        share(true, &by_service),
        share(false, &by_service)
    );
}

fn chance(weights: ChanceAcross, cosine: f64) -> f64 {
    1.0 / (1.0 + (-weights.bias - weights.cosine * cosine).exp())
}

/// A logistic regression by Newton's method; both classes weigh alike.
fn fit(samples: &[&Sample]) -> ChanceAcross {
    let all = samples.len() as f64;
    let gold = samples.iter().filter(|one| one.is_gold).count() as f64;
    let mut weights = ChanceAcross { cosine: 0.0, bias: 0.0 };
    for _ in 0..STEPS {
        let (mut of_cosine, mut of_both, mut of_bias) = (RIDGE, 0.0, RIDGE);
        let (mut to_cosine, mut to_bias) = (-RIDGE * weights.cosine, -RIDGE * weights.bias);
        for one in samples {
            let class = if one.is_gold { gold } else { all - gold };
            let expected = chance(weights, one.cosine);
            let slope = all / 2.0 / class * expected * (1.0 - expected);
            let push = all / 2.0 / class * (f64::from(u8::from(one.is_gold)) - expected);
            of_cosine += slope * one.cosine * one.cosine;
            of_both += slope * one.cosine;
            of_bias += slope;
            to_cosine += push * one.cosine;
            to_bias += push;
        }
        let determinant = of_cosine * of_bias - of_both * of_both;
        weights.cosine += (of_bias * to_cosine - of_both * to_bias) / determinant;
        weights.bias += (of_cosine * to_bias - of_both * to_cosine) / determinant;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_puts_a_half_between_the_classes() {
        let sample = |is_gold: bool, cosine: f64| Sample { half: 0, is_gold, cosine };
        let foreign = (0..10).map(|nth| sample(false, f64::from(nth) * 0.01));
        let samples: Vec<Sample> =
            foreign.chain((0..10).map(|nth| sample(true, 0.06 + f64::from(nth) * 0.01))).collect();
        let weights = fit(&samples.iter().collect::<Vec<_>>());
        assert!(weights.cosine > 10.0, "{weights:?}");
        assert!((chance(weights, 0.075) - 0.5).abs() < 0.05, "{weights:?}");
    }
}
