//! Dot products of bytes, compiled for several processors and picked at run time. Whole numbers: every variant gives
//! the same result.

use super::signs::Signs;
use super::{NO_VECTOR, ONE};
use crate::model::DIMENSIONS;

/// The largest step of the query's and the mean's vectors. Records have bytes; these two have 16 bits, and 256
/// products of the largest steps still fit 32.
const STEP_MAX: f64 = 32_767.0;

/// A query, ready to be compared with records.
pub(crate) struct Near {
    query: Steps,
    mean: Steps,
    /// Query (seen from the mean) times mean.
    query_mean: f32,
    mean_mean: f32,
    query_length: f32,
    pub(super) signs: Signs,
}

/// A vector in steps of `scale`.
struct Steps {
    steps: [i16; DIMENSIONS],
    scale: f32,
}

impl Steps {
    fn new(exact: &[f64; DIMENSIONS]) -> Self {
        let largest = exact.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let scale = if largest > 0.0 { largest / STEP_MAX } else { 1.0 };
        Self { steps: exact.map(|x| (x / scale).round() as i16), scale: scale as f32 }
    }
}

impl Near {
    pub(crate) fn new(query: &[f32; DIMENSIONS], mean: &[f64; DIMENSIONS], signs: Signs) -> Self {
        let centred: [f64; DIMENSIONS] = std::array::from_fn(|at| f64::from(query[at]) - mean[at]);
        let dot = |a: &[f64; DIMENSIONS], b: &[f64; DIMENSIONS]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        Self {
            query_mean: dot(&centred, mean) as f32,
            mean_mean: dot(mean, mean) as f32,
            query_length: dot(&centred, &centred).sqrt().max(1e-9) as f32,
            signs,
            query: Steps::new(&centred),
            mean: Steps::new(mean),
        }
    }

    /// Centred cosines of consecutive records, as whole numbers; `NO_VECTOR` where a scale is 0.
    pub(crate) fn measure(&self, steps: &[i8], scales: &[f32], out: &mut [i32]) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
                #[expect(unsafe_code, reason = "the processor has just been asked for these features")]
                return unsafe { self.measure_avx512(steps, scales, out) };
            }
            if is_x86_feature_detected!("avx2") {
                #[expect(unsafe_code, reason = "the processor has just been asked for this feature")]
                return unsafe { self.measure_avx2(steps, scales, out) };
            }
        }
        self.measure_any(steps, scales, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
    fn measure_avx512(&self, steps: &[i8], scales: &[f32], out: &mut [i32]) {
        self.measure_any(steps, scales, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn measure_avx2(&self, steps: &[i8], scales: &[f32], out: &mut [i32]) {
        self.measure_any(steps, scales, out);
    }

    #[inline(always)]
    fn measure_any(&self, steps: &[i8], scales: &[f32], out: &mut [i32]) {
        let (rows, _) = steps.as_chunks::<DIMENSIONS>();
        for ((row, &scale), out) in rows.iter().zip(scales).zip(out) {
            *out = if scale == 0.0 { NO_VECTOR } else { self.cosine(row, scale) };
        }
    }

    #[inline(always)]
    fn cosine(&self, row: &[i8; DIMENSIONS], scale: f32) -> i32 {
        let (mut with_query, mut with_mean) = (0_i32, 0_i32);
        for ((&step, &query), &mean) in row.iter().zip(&self.query.steps).zip(&self.mean.steps) {
            with_query += i32::from(step) * i32::from(query);
            with_mean += i32::from(step) * i32::from(mean);
        }
        let with_query = with_query as f32 * self.query.scale * scale - self.query_mean;
        let with_mean = with_mean as f32 * self.mean.scale * scale;
        let length = (1.0 - 2.0 * with_mean + self.mean_mean).max(1e-9).sqrt();
        let cosine = with_query / (length * self.query_length);
        (cosine * ONE as f32).round_ties_even() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_gives_the_same_numbers() {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 as i8
        };
        let steps: Vec<i8> = (0..50 * DIMENSIONS).map(|_| next()).collect();
        let scales: Vec<f32> = steps.chunks(DIMENSIONS).map(crate::model::Embedding::scale).collect();
        let query = std::array::from_fn(|_| f32::from(next()) / 1000.0);
        let mean = std::array::from_fn(|_| f64::from(next()) / 9000.0);
        let near = Near::new(&query, &mean, Signs::default());
        let (mut picked, mut plain) = (vec![0; 50], vec![0; 50]);
        near.measure(&steps, &scales, &mut picked);
        near.measure_any(&steps, &scales, &mut plain);
        assert_eq!(picked, plain);
    }
}
