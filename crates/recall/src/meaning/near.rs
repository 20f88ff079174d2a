//! A query, ready to be compared: how near records are to it, seen from the mean of their workspace.

use super::dot::{Both, Row};
use super::signs::Signs;
use super::{NO_VECTOR, ONE};
use crate::model::DIMENSIONS;
use crate::simd::fetch;

/// The largest step of a vector in bytes.
const STEP_MAX: f64 = 127.0;
/// How many records are multiplied before their cosines are taken.
const BATCH: usize = 64;

/// What is known of the query's side.
pub(crate) struct Near {
    /// The query, seen from the mean, and the mean itself.
    both: Both,
    query_scale: f32,
    mean_scale: f32,
    /// Query (seen from the mean) times mean.
    query_mean: f32,
    mean_mean: f32,
    query_length: f32,
    pub(super) signs: Signs,
}

/// The mean of a workspace's vectors, from which both sides are seen.
pub(crate) struct Centre {
    mean: [f64; DIMENSIONS],
    steps: Row,
    scale: f32,
    /// Mean times mean.
    squares: f32,
}

impl Centre {
    pub(crate) fn new(mean: [f64; DIMENSIONS]) -> Self {
        let (steps, scale) = to_steps(&mean);
        Self { squares: dot(&mean, &mean) as f32, mean, steps, scale }
    }
}

impl Near {
    pub(crate) fn new(query: &[f32; DIMENSIONS], centre: &Centre, signs: Signs) -> Self {
        let centred: [f64; DIMENSIONS] = std::array::from_fn(|at| f64::from(query[at]) - centre.mean[at]);
        let (query_steps, query_scale) = to_steps(&centred);
        Self {
            both: Both::new(query_steps, centre.steps),
            query_scale,
            mean_scale: centre.scale,
            query_mean: dot(&centred, &centre.mean) as f32,
            mean_mean: centre.squares,
            query_length: dot(&centred, &centred).sqrt().max(1e-9) as f32,
            signs,
        }
    }

    /// Centred cosines of records, as whole numbers; `NO_VECTOR` where a scale is 0.
    pub(crate) fn measure<'r>(&self, records: impl ExactSizeIterator<Item = (&'r Row, f32)>) -> Vec<i32> {
        let mut nearness = Vec::with_capacity(records.len());
        let (mut rows, mut scales) = (Vec::with_capacity(BATCH), [0.0; BATCH]);
        for (row, scale) in records {
            scales[rows.len()] = scale;
            // Rows are scattered over memory. Asking for them while the batch is gathered takes a tenth off a large
            // search.
            fetch(row);
            rows.push(row);
            if rows.len() == BATCH {
                self.measure_batch(&rows, &scales, &mut nearness);
                rows.clear();
            }
        }
        self.measure_batch(&rows, &scales, &mut nearness);
        nearness
    }

    /// Products first, cosines after, so that the compiler takes several roots and quotients at once.
    fn measure_batch(&self, rows: &[&Row], scales: &[f32; BATCH], nearness: &mut Vec<i32>) {
        let (mut with_query, mut with_mean, mut cosines) = ([0; BATCH], [0; BATCH], [0; BATCH]);
        self.both.multiply(rows, &mut with_query, &mut with_mean);
        for at in 0..BATCH {
            let cosine = self.cosine(with_query[at], with_mean[at], scales[at]);
            cosines[at] = if scales[at] == 0.0 { NO_VECTOR } else { cosine };
        }
        nearness.extend_from_slice(&cosines[..rows.len()]);
    }

    #[inline(always)]
    fn cosine(&self, with_query: i32, with_mean: i32, scale: f32) -> i32 {
        let with_query = with_query as f32 * self.query_scale * scale - self.query_mean;
        let with_mean = with_mean as f32 * self.mean_scale * scale;
        let length = (1.0 - 2.0 * with_mean + self.mean_mean).max(1e-9).sqrt();
        (with_query / (length * self.query_length) * ONE as f32) as i32
    }
}

fn dot(a: &[f64; DIMENSIONS], b: &[f64; DIMENSIONS]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// A vector in bytes, and what one step is worth.
fn to_steps(exact: &[f64; DIMENSIONS]) -> (Row, f32) {
    let largest = exact.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let scale = if largest > 0.0 { largest / STEP_MAX } else { 1.0 };
    (exact.map(|x| (x / scale).round() as i8), scale as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Embedding, Model};

    #[test]
    fn nearness_is_the_centred_cosine() {
        let model = Model::shipped();
        let mean: [f64; DIMENSIONS] = std::array::from_fn(|at| f64::from(model.mean()[at]));
        let texts = ["the boiler code is 4711", "heating system password", "deploys run on friday", "cats"];
        for query in texts {
            let exact = model.encode_exact(query);
            let near = Near::new(&exact, &Centre::new(mean), Signs::default());
            for text in texts {
                let other = model.encode_exact(text);
                let centred = |vector: &[f32; DIMENSIONS], at: usize| f64::from(vector[at]) - mean[at];
                let dot = |a: &[f32; DIMENSIONS], b: &[f32; DIMENSIONS]| -> f64 {
                    (0..DIMENSIONS).map(|at| centred(a, at) * centred(b, at)).sum()
                };
                let expected = dot(&exact, &other) / (dot(&exact, &exact) * dot(&other, &other)).sqrt();
                let embedding = model.encode(text);
                let found = near.measure([(embedding.steps(), Embedding::scale(embedding.steps()))].into_iter());
                let found = f64::from(found[0]) / ONE;
                assert!((found - expected).abs() < 0.005, "{query} / {text}: {found} instead of {expected}");
            }
        }
    }
}
