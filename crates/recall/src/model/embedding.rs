//! A vector as it is stored beside its record: 256 signed bytes. Only their direction counts, so the scale that turns
//! them into a vector of length one follows from the bytes themselves and needs no place of its own.

use super::DIMENSIONS;
use crate::simd::wide;

/// The direction of a text's meaning, rounded to bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Embedding {
    steps: [i8; DIMENSIONS],
}

/// Bytes that are no embedding.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an embedding has {DIMENSIONS} bytes, not {len}")]
pub struct EmbeddingError {
    /// How many there were.
    pub len: usize,
}

impl Embedding {
    /// How many bytes [`Embedding::to_bytes`] gives.
    pub const SIZE_BYTES: usize = DIMENSIONS;

    /// As stored.
    pub fn to_bytes(&self) -> [u8; Self::SIZE_BYTES] {
        self.steps.map(i8::cast_unsigned)
    }

    /// From what was stored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EmbeddingError> {
        let bytes: &[u8; DIMENSIONS] = bytes.try_into().map_err(|_| EmbeddingError { len: bytes.len() })?;
        Ok(Self { steps: bytes.map(u8::cast_signed) })
    }

    /// Rounds so that the largest component becomes 127.
    pub(crate) fn quantise(exact: &[f32; DIMENSIONS]) -> Self {
        // Numbers without a sign are in the order of their bits, and those are compared many at once.
        let largest = exact.iter().map(|x| x.abs().to_bits().cast_signed()).fold(0, i32::max);
        let largest = f32::from_bits(largest.cast_unsigned());
        if largest == 0.0 {
            return Self { steps: [0; DIMENSIONS] };
        }
        let mut steps = [0; DIMENSIONS];
        round_all(exact, largest, &mut steps);
        Self { steps }
    }

    pub(crate) fn steps(&self) -> &[i8; DIMENSIONS] {
        &self.steps
    }

    /// The factor that gives the bytes length one; 0 for the empty vector.
    pub(crate) fn scale(steps: &[i8]) -> f32 {
        let squares: i32 = steps.iter().map(|&step| i32::from(step) * i32::from(step)).sum();
        if squares == 0 { 0.0 } else { (1.0 / f64::from(squares).sqrt()) as f32 }
    }

    /// From the bytes an index keeps.
    pub(crate) fn from_steps(steps: &[i8]) -> Self {
        Self { steps: steps.try_into().expect("an index keeps whole vectors") }
    }
}

wide! {
    /// The steps of components of which none is larger than `largest`.
    round_all = round_all_plain(exact: &[f32; DIMENSIONS], largest: f32, steps: &mut [i8; DIMENSIONS])
}

#[inline(always)]
fn round_all_plain(exact: &[f32; DIMENSIONS], largest: f32, steps: &mut [i8; DIMENSIONS]) {
    for (step, x) in steps.iter_mut().zip(exact) {
        *step = (x / largest * 127.0).round() as i8;
    }
}

impl std::fmt::Debug for Embedding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedding({:?}, …)", &self.steps[..4])
    }
}
