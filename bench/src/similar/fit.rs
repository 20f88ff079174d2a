//! The weights once more, by logistic regression with a little shrinkage.

use anyhow::{Context, Result};
use mnemon_recall::Likeness;

use super::Judged;

const NAMES: [&str; WEIGHTS] = [
    "bias",
    "density",
    "near",
    "another word",
    "lateness, another word",
    "lateness, no other word",
    "another number",
    "lateness, another number",
];
const WEIGHTS: usize = 8;
/// How strongly weights are drawn to 0, in units of deviations.
const SHRINKAGE: f64 = 1.0;
const STEPS: usize = 30;

type Row = [f64; WEIGHTS];

/// Pairs of which one is much longer than the other are never named, and take no part.
pub(super) fn print<'p>(pairs: impl Iterator<Item = &'p Judged>) -> Result<()> {
    let samples: Vec<(Row, bool)> =
        pairs.filter_map(|pair| Some((features(pair.likeness.as_ref()?), pair.is_same))).collect();
    println!("fitted to {} pairs", samples.len());
    let weights = fit(&samples).context("the pairs do not determine the weights")?;
    for (name, weight) in NAMES.iter().zip(weights) {
        println!("  {name:<26}{weight:>8.2}");
    }
    Ok(())
}

fn features(likeness: &Likeness) -> Row {
    let [word, number] = [likeness.has_other_word, likeness.has_other_number].map(|is_so| f64::from(u8::from(is_so)));
    let late = likeness.lateness;
    [1.0, likeness.density, likeness.near, word, late * word, late * (1.0 - word), number, late * number]
}

/// Newton's method on features brought to a deviation of one, so that shrinkage is fair to all.
fn fit(samples: &[(Row, bool)]) -> Option<Row> {
    let scales = deviations(samples);
    let scaled = |row: &Row| -> Row { std::array::from_fn(|at| row[at] / scales[at]) };
    let samples: Vec<(Row, bool)> = samples.iter().map(|(row, is_same)| (scaled(row), *is_same)).collect();
    let mut weights = [0.0; WEIGHTS];
    for _ in 0..STEPS {
        let (mut slope, mut curve) = ([0.0; WEIGHTS], [[0.0; WEIGHTS]; WEIGHTS]);
        for (row, is_same) in &samples {
            let odds: f64 = row.iter().zip(&weights).map(|(x, weight)| x * weight).sum();
            let chance = 1.0 / (1.0 + (-odds).exp());
            for one in 0..WEIGHTS {
                slope[one] += (chance - f64::from(u8::from(*is_same))) * row[one];
                for other in 0..WEIGHTS {
                    curve[one][other] += chance * (1.0 - chance) * row[one] * row[other];
                }
            }
        }
        for at in 1..WEIGHTS {
            slope[at] += SHRINKAGE * weights[at];
            curve[at][at] += SHRINKAGE;
        }
        let step = solve(curve, slope)?;
        weights = std::array::from_fn(|at| weights[at] - step[at]);
    }
    Some(scaled(&weights))
}

/// The deviation of each feature; 1 for the bias.
fn deviations(samples: &[(Row, bool)]) -> Row {
    let count = samples.len().max(1) as f64;
    std::array::from_fn(|at| {
        let mean = samples.iter().map(|(row, _)| row[at]).sum::<f64>() / count;
        let variance = samples.iter().map(|(row, _)| (row[at] - mean).powi(2)).sum::<f64>() / count;
        if variance > 1e-12 { variance.sqrt() } else { 1.0 }
    })
}

/// Gauss's elimination. `None` where there is no single solution.
fn solve(mut matrix: [Row; WEIGHTS], mut right: Row) -> Option<Row> {
    for at in 0..WEIGHTS {
        let pivot = (at..WEIGHTS).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        if matrix[pivot][at].abs() < 1e-12 {
            return None;
        }
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        for row in at + 1..WEIGHTS {
            let factor = matrix[row][at] / matrix[at][at];
            let above = matrix[at];
            matrix[row].iter_mut().zip(above).for_each(|(cell, above)| *cell -= factor * above);
            right[row] -= factor * right[at];
        }
    }
    for at in (0..WEIGHTS).rev() {
        let known: f64 = (at + 1..WEIGHTS).map(|column| matrix[at][column] * right[column]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_made_up_pairs_are_found_again() {
        let likeness = |nth: u64| Likeness {
            density: (nth * 7 % 100) as f64 / 100.0,
            near: (nth * 13 % 30) as f64 / 100.0,
            lateness: (nth * 29 % 100) as f64 / 100.0,
            has_other_word: nth.is_multiple_of(2),
            has_other_number: nth.is_multiple_of(3),
        };
        // Alike means dense here, and what lies between is decided by chance.
        let samples: Vec<(Row, bool)> = (0..4_000)
            .map(|nth| (features(&likeness(nth)), (likeness(nth).density * 100.0) as u64 + nth * 31 % 41 > 70))
            .collect();
        let weights = fit(&samples).unwrap();
        assert!(weights[1] > 8.0, "{weights:?}");
        assert!(weights[2..].iter().all(|weight| weight.abs() < 1.5), "{weights:?}");
    }
}
