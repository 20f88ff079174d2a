//! The static embedding model: a vector per word piece, summed over a text. Parsing stands here, the cutting into
//! pieces in `model/pieces.rs`, the vector as it is stored in `model/embedding.rs`. What vectors are for: `meaning.rs`.

mod embedding;
mod pieces;
mod short;

use std::borrow::Cow;
use std::sync::LazyLock;

pub use embedding::{Embedding, EmbeddingError};

use smallvec::SmallVec;

use crate::wide::wide;
use pieces::Vocabulary;

/// How many numbers a vector has.
pub const DIMENSIONS: usize = 256;

/// How many rows are fetched together before they are added up: few enough to stay close to the processor.
const READ_AHEAD: usize = 32;
const CACHE_LINE: usize = 64;

/// Why bytes are no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The container is broken.
    #[error("the model file is no safetensors container: {0}")]
    Container(&'static str),
    /// A tensor is missing or has another form than expected.
    #[error("the model's tensor {name} is missing or has an unexpected type, shape or place")]
    Tensor {
        /// Which one.
        name: &'static str,
    },
    /// Vocabulary and matrix differ in size.
    #[error("the vocabulary has {pieces} entries, the matrix {rows} rows")]
    Vocabulary {
        /// Lines of the vocabulary.
        pieces: usize,
        /// Rows of the matrix.
        rows: usize,
    },
}

/// The static embedding model, parsed once from bytes without copying the matrix.
pub struct Model {
    vocabulary: Vocabulary,
    /// The whole file; `rows` says where in it the matrix lies.
    bytes: Cow<'static, [u8]>,
    rows: std::ops::Range<usize>,
    /// What one step of a row is worth.
    scales: Vec<f32>,
    /// The mean vector over general text: the prior of every workspace's own mean.
    mean: Vec<f32>,
    fingerprint: u32,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model {{ rows: {}, fingerprint: {:08x} }}", self.scales.len(), self.fingerprint)
    }
}

static SHIPPED: LazyLock<Model> = LazyLock::new(|| {
    let vocabulary = include_str!("../assets/vocab.txt");
    let weights: &'static [u8] = include_bytes!("../assets/model.safetensors");
    Model::from_bytes(Cow::Borrowed(weights), Cow::Borrowed(vocabulary)).expect("the shipped model is tested")
});

impl Model {
    /// The model that is part of this crate.
    pub fn shipped() -> &'static Model {
        &SHIPPED
    }

    /// Parses a safetensors container with `embeddings` (int8, rows × 256), `scales` and `mean`, and its vocabulary:
    /// one piece per line, the line number is the row.
    pub fn from_bytes(weights: Cow<'static, [u8]>, vocabulary: Cow<'static, str>) -> Result<Model, ModelError> {
        let container = Container::parse(&weights)?;
        let scales = container.floats("scales")?;
        let mean = container.floats("mean")?;
        let rows = container.tensor("embeddings", "I8", &[scales.len(), DIMENSIONS])?;
        if mean.len() != DIMENSIONS {
            return Err(ModelError::Tensor { name: "mean" });
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&weights);
        checksum.update(vocabulary.as_bytes());
        let vocabulary = Vocabulary::new(vocabulary);
        if vocabulary.len() != scales.len() {
            return Err(ModelError::Vocabulary { pieces: vocabulary.len(), rows: scales.len() });
        }
        Ok(Model { vocabulary, rows, scales, mean, fingerprint: checksum.finalize(), bytes: weights })
    }

    /// The vector of a text. A text without any known piece has the empty vector.
    pub fn encode(&self, text: &str) -> Embedding {
        Embedding::quantise(&self.encode_exact(text))
    }

    /// Tells apart models whose vectors do not belong together.
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    pub(crate) fn mean(&self) -> &[f32] {
        &self.mean
    }

    fn row(&self, piece: u32) -> &[u8; DIMENSIONS] {
        let (rows, _) = self.bytes[self.rows.clone()].as_chunks();
        &rows[piece as usize]
    }

    /// The vector before it is rounded to bytes: the sum of the pieces' rows, of length one.
    pub(crate) fn encode_exact(&self, text: &str) -> [f32; DIMENSIONS] {
        let mut sum = [0.0_f32; DIMENSIONS];
        let pieces = self.vocabulary.pieces(text);
        for some in pieces.chunks(READ_AHEAD) {
            let rows: SmallVec<[Scaled<'_>; READ_AHEAD]> =
                some.iter().map(|&piece| (self.scales[piece as usize], self.row(piece))).collect();
            rows.iter().for_each(|(_, row)| touch(row.as_slice()));
            add_rows(&mut sum, &rows);
        }
        let squares = sum_of_squares(&sum);
        if squares > 0.0 {
            shorten(&mut sum, squares.sqrt());
        }
        sum
    }
}

/// In a fixed order and in f64, so that every machine gets the same length. Several sums side by side: in a single one, each
/// addition would wait for the one before it.
fn sum_of_squares(vector: &[f32; DIMENSIONS]) -> f64 {
    const SUMS: usize = 8;
    let mut sums = [0.0_f64; SUMS];
    for some in vector.as_chunks::<SUMS>().0 {
        sums.iter_mut().zip(some).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    }
    sums.iter().sum()
}

wide! {
    /// Gives a vector of some length the length of one.
    shorten = shorten_plain(vector: &mut [f32; DIMENSIONS], length: f64)
}

#[inline(always)]
fn shorten_plain(vector: &mut [f32; DIMENSIONS], length: f64) {
    for x in vector {
        *x = (f64::from(*x) / length) as f32;
    }
}

/// Has the processor fetch a row that is needed soon. Rows lie anywhere in seven megabytes; one after the other, each would be
/// waited for.
fn touch(row: &[u8]) {
    for line in row.chunks(CACHE_LINE) {
        std::hint::black_box(line[0]);
    }
}

/// A row of steps, and what a step is worth.
type Scaled<'a> = (f32, &'a [u8; DIMENSIONS]);

wide! {
    /// Adds rows to a sum. Every number is worked on by itself, so wider instructions give the same result.
    add_rows = add_rows_plain(sum: &mut [f32; DIMENSIONS], rows: &[Scaled<'_>])
}

#[inline(always)]
fn add_rows_plain(sum: &mut [f32; DIMENSIONS], rows: &[Scaled<'_>]) {
    /// So many numbers stay in registers until all rows are added to them.
    const LANES: usize = 64;
    for (part, sum) in sum.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut total = *sum;
        for (scale, row) in rows {
            let steps = &row.as_chunks::<LANES>().0[part];
            total.iter_mut().zip(steps).for_each(|(total, step)| *total += scale * f32::from(step.cast_signed()));
        }
        *sum = total;
    }
}

/// The parts of a safetensors file: a length, a JSON header, the tensors.
struct Container<'a> {
    header: serde_json::Value,
    data_start: usize,
    bytes: &'a [u8],
}

impl<'a> Container<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let (length, rest) = bytes.split_first_chunk().ok_or(ModelError::Container("it is too short"))?;
        let length = usize::try_from(u64::from_le_bytes(*length))
            .map_err(|_| ModelError::Container("its header is too long"))?;
        let header = rest.get(..length).ok_or(ModelError::Container("its header is cut off"))?;
        let header = serde_json::from_slice(header).map_err(|_| ModelError::Container("its header is no JSON"))?;
        Ok(Self { header, data_start: 8 + length, bytes })
    }

    /// Where in the file a tensor of the given type and shape lies.
    fn tensor(&self, name: &'static str, dtype: &str, shape: &[usize]) -> Result<std::ops::Range<usize>, ModelError> {
        let wrong = ModelError::Tensor { name };
        let entry = &self.header[name];
        let dims: Option<Vec<usize>> = serde_json::from_value(entry["shape"].clone()).ok();
        let offsets: Option<[usize; 2]> = serde_json::from_value(entry["data_offsets"].clone()).ok();
        let (Some(dims), Some([start, end])) = (dims, offsets) else { return Err(wrong) };
        let item = if dtype == "F32" { 4 } else { 1 };
        let size = shape.iter().product::<usize>() * item;
        let range = self.data_start.saturating_add(start)..self.data_start.saturating_add(end);
        let fits = entry["dtype"] == dtype && dims == shape && range.len() == size && range.end <= self.bytes.len();
        if fits { Ok(range) } else { Err(wrong) }
    }

    fn floats(&self, name: &'static str) -> Result<Vec<f32>, ModelError> {
        let rows = self.header[name]["shape"][0].as_u64().and_then(|rows| usize::try_from(rows).ok());
        let range = self.tensor(name, "F32", &[rows.ok_or(ModelError::Tensor { name })?])?;
        let (numbers, _) = self.bytes[range].as_chunks::<4>();
        Ok(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Golden {
        text: String,
        ids: Vec<u32>,
        vec: Vec<f32>,
    }

    fn golden() -> Vec<Golden> {
        let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("../assets/golden.json")).unwrap();
        cases
            .into_iter()
            .map(|case| Golden {
                text: case["text"].as_str().unwrap().to_owned(),
                ids: serde_json::from_value(case["ids"].clone()).unwrap(),
                vec: serde_json::from_value(case["vec"].clone()).unwrap(),
            })
            .collect()
    }

    #[test]
    fn wider_instructions_add_to_the_same_sum() {
        let row: [u8; DIMENSIONS] = std::array::from_fn(|at| (at * 37 % 256) as u8);
        let rows = [0.013, 1e-9, 7.7].map(|scale| (scale, &row));
        let (mut plain, mut wide) = ([0.1; DIMENSIONS], [0.1; DIMENSIONS]);
        add_rows_plain(&mut plain, &rows);
        add_rows(&mut wide, &rows);
        assert_eq!(plain, wide);
        // And the same as one row after the other.
        let mut single = [0.1; DIMENSIONS];
        rows.iter().for_each(|&row| add_rows_plain(&mut single, &[row]));
        assert_eq!(single, wide);
    }

    #[test]
    fn the_port_gives_the_golden_pieces_and_vectors() {
        let model = Model::shipped();
        for case in golden() {
            assert_eq!(model.vocabulary.pieces(&case.text), case.ids, "pieces of {:?}", case.text);
            let vector = model.encode_exact(&case.text);
            let error = vector.iter().zip(&case.vec).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error < 2e-6, "{:?}: error {error}", case.text);
        }
    }

    #[test]
    fn the_stored_vector_is_near_the_exact_one() {
        let model = Model::shipped();
        for case in golden() {
            let exact = model.encode_exact(&case.text);
            let stored = model.encode(&case.text);
            let scale = Embedding::scale(stored.steps());
            let cosine: f32 = exact.iter().zip(stored.steps()).map(|(a, &b)| a * scale * f32::from(b)).sum();
            assert!(case.ids.is_empty() || cosine > 0.9995, "{:?}: cosine {cosine}", case.text);
        }
    }

    #[test]
    fn broken_files_are_refused() {
        let refused =
            |bytes: &[u8]| Model::from_bytes(Cow::Owned(bytes.to_vec()), Cow::Borrowed("[PAD]\n[UNK]\n")).is_err();
        assert!(refused(b""));
        assert!(refused(b"\x02\0\0\0\0\0\0\0{}"));
        assert!(refused(b"\xff\xff\xff\xff\xff\xff\xff\xff{}"));
        let whole = include_bytes!("../assets/model.safetensors");
        assert!(refused(whole), "the vocabulary is too short");
        assert!(refused(&whole[..whole.len() - 1]));
    }
}
