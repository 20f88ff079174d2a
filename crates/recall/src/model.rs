//! The static embedding model: a vector per word piece, summed over a text. `model/vocabulary.rs` cuts texts into
//! pieces, `model/embedding.rs` has the vector as it is stored. What vectors are for: `meaning.rs`.

mod container;
mod embedding;
mod normal;
mod pieces;
mod short;
mod vocabulary;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

pub use embedding::{Embedding, EmbeddingError};
pub(crate) use normal::normalise;

use smallvec::SmallVec;

use crate::simd::wide;
use container::Container;
use vocabulary::{Cut, Vocabulary};

/// How many numbers a vector has.
pub const DIMENSIONS: usize = 256;

/// How many rows are fetched together before they are added up: few enough to stay close to the processor.
const READ_AHEAD: usize = 32;

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

/// Of the shipped model. Written down, so that starting does not read all of it; a test compares.
const SHIPPED_FINGERPRINT: u32 = 0xd850_34a4;

/// The static embedding model, parsed once from bytes without copying any table: what is not needed is not read.
pub struct Model {
    vocabulary: Vocabulary,
    /// The whole file; the ranges say where in it the tables lie.
    bytes: Cow<'static, [u8]>,
    tables: Tables,
    /// The mean vector over general text: the prior of every workspace's own mean.
    mean: Vec<f32>,
    fingerprint: u32,
}

/// Where in the file everything lies.
struct Tables {
    /// English pieces, a byte for each component.
    rows: Range<usize>,
    /// What one step of such a row is worth.
    scales: Range<usize>,
    /// The pieces of the other languages, four bits for each component.
    packed: Range<usize>,
    packed_scales: Range<usize>,
    /// How much each piece speaks against English where it is a whole word.
    lean: Range<usize>,
    english: usize,
    all: usize,
}

/// A row of four bits for each component: the even one of two in the low half of a byte.
type Packed = [u8; DIMENSIONS / 2];

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model {{ rows: {}, fingerprint: {:08x} }}", self.tables.all, self.fingerprint)
    }
}

static SHIPPED: LazyLock<Model> = LazyLock::new(|| {
    let (weights, vocabulary) = (Cow::Borrowed(SHIPPED_WEIGHTS), Cow::Borrowed(SHIPPED_VOCABULARY));
    Model::parse(weights, vocabulary, SHIPPED_FINGERPRINT).expect("the shipped model is tested")
});
static SHIPPED_WEIGHTS: &[u8] = include_bytes!("../assets/model.safetensors");
static SHIPPED_VOCABULARY: &str = include_str!("../assets/vocab.txt");

impl Tables {
    fn find(container: &Container<'_>) -> Result<Self, ModelError> {
        let (english, others) = (container.rows("scales")?, container.rows("more_scales")?);
        let all = english.saturating_add(others);
        Ok(Self {
            rows: container.tensor("embeddings", "I8", &[english, DIMENSIONS])?,
            scales: container.tensor("scales", "F32", &[english])?,
            packed: container.tensor("more", "U8", &[others, DIMENSIONS / 2])?,
            packed_scales: container.tensor("more_scales", "F32", &[others])?,
            lean: container.tensor("lean", "I8", &[all])?,
            english,
            all,
        })
    }
}

impl Model {
    /// The model that is part of this crate.
    pub fn shipped() -> &'static Model {
        &SHIPPED
    }

    /// Parses a safetensors container with `embeddings` (int8, rows × 256), `scales` and `mean`, the same of other
    /// languages in `more` (four bits, rows × 256) and `more_scales`, and `lean`; and its vocabulary: one piece per
    /// line, the line number is the row, those of `more` behind those of `embeddings`.
    pub fn from_bytes(weights: Cow<'static, [u8]>, vocabulary: Cow<'static, str>) -> Result<Model, ModelError> {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&weights);
        checksum.update(vocabulary.as_bytes());
        let model = Self::parse(weights, vocabulary, checksum.finalize())?;
        let (pieces, rows) = (model.vocabulary.count(), model.tables.all);
        if pieces == rows { Ok(model) } else { Err(ModelError::Vocabulary { pieces, rows }) }
    }

    /// Reads nothing but the header, the mean and the English pieces.
    fn parse(bytes: Cow<'static, [u8]>, vocabulary: Cow<'static, str>, fingerprint: u32) -> Result<Model, ModelError> {
        let container = Container::parse(&bytes)?;
        let tables = Tables::find(&container)?;
        let mean = container.tensor("mean", "F32", &[DIMENSIONS])?;
        let mean = (0..DIMENSIONS).map(|at| float(&bytes[mean.clone()], at)).collect();
        let vocabulary = Vocabulary::new(vocabulary, tables.english);
        Ok(Model { vocabulary, bytes, tables, mean, fingerprint })
    }

    /// The vector of a text. A text without any known piece has the empty vector.
    pub fn encode(&self, text: &str) -> Embedding {
        Embedding::quantise(&self.encode_exact(text))
    }

    /// Differs between models whose vectors can't be compared.
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    pub(crate) fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// The rows of English pieces, by number.
    fn rows<'m>(&'m self) -> impl Fn(u32) -> Scaled<'m> {
        let (rows, _) = self.bytes[self.tables.rows.clone()].as_chunks();
        let scales = &self.bytes[self.tables.scales.clone()];
        move |piece| (float(scales, piece as usize), &rows[piece as usize])
    }

    /// The rows of the other pieces, and what one step of each is worth.
    fn packed_rows<'m>(&'m self) -> impl Fn(u32) -> (f32, &'m Packed) {
        let (rows, _) = self.bytes[self.tables.packed.clone()].as_chunks();
        let scales = &self.bytes[self.tables.packed_scales.clone()];
        let english = self.tables.english;
        move |piece| (float(scales, piece as usize - english), &rows[piece as usize - english])
    }

    fn is_packed(&self, piece: u32) -> bool {
        piece as usize >= self.tables.english
    }

    fn lean(&self) -> &[i8] {
        bytemuck::cast_slice(&self.bytes[self.tables.lean.clone()])
    }

    fn cut(&self, text: &str) -> Cut {
        self.vocabulary.cut(text, self.lean())
    }

    /// How much more a folded word is used in other languages than in English; below 0 it is an English one.
    pub(crate) fn lean_of(&self, word: &str) -> i8 {
        self.vocabulary.find(&normalise(word)).map_or(0, |piece| self.lean()[piece as usize])
    }

    /// What a query says: whether it is English, and its vector.
    pub(crate) fn read(&self, text: &str) -> (bool, [f32; DIMENSIONS]) {
        let cut = self.cut(text);
        (cut.is_english, self.sum(&cut.pieces))
    }

    /// The vector before it is rounded to bytes: the sum of the pieces' rows, of length one.
    pub(crate) fn encode_exact(&self, text: &str) -> [f32; DIMENSIONS] {
        self.sum(&self.cut(text).pieces)
    }

    fn sum(&self, pieces: &[u32]) -> [f32; DIMENSIONS] {
        let mut sum = [0.0_f32; DIMENSIONS];
        let row = self.rows();
        for some in pieces.chunks(READ_AHEAD) {
            if some.iter().any(|&piece| self.is_packed(piece)) {
                self.add_unpacked(some, &mut sum);
                continue;
            }
            let rows: SmallVec<[Scaled<'_>; READ_AHEAD]> = some.iter().map(|&piece| row(piece)).collect();
            add_rows(&mut sum, &rows);
        }
        let squares = sum_of_squares(&sum);
        if squares > 0.0 {
            shorten(&mut sum, squares.sqrt());
        }
        sum
    }

    /// Adds pieces of both kinds, in their order: sums of numbers depend on it.
    fn add_unpacked(&self, pieces: &[u32], sum: &mut [f32; DIMENSIONS]) {
        let mut room = [[0; DIMENSIONS]; READ_AHEAD];
        let (row, packed) = (self.rows(), self.packed_rows());
        for (&piece, steps) in pieces.iter().zip(&mut room).filter(|(piece, _)| self.is_packed(**piece)) {
            unpack(packed(piece).1, steps);
        }
        let scaled = |(&piece, steps)| match self.is_packed(piece) {
            true => (packed(piece).0, steps),
            false => row(piece),
        };
        let rows: SmallVec<[Scaled<'_>; READ_AHEAD]> = pieces.iter().zip(&room).map(scaled).collect();
        add_rows(sum, &rows);
    }
}

/// A number of a table.
fn float(table: &[u8], at: usize) -> f32 {
    f32::from_le_bytes(table.as_chunks().0[at])
}

wide! {
    /// From four bits for each component to a byte.
    unpack = unpack_plain(packed: &Packed, steps: &mut [u8; DIMENSIONS])
}

#[inline(always)]
fn unpack_plain(packed: &Packed, steps: &mut [u8; DIMENSIONS]) {
    for (two, byte) in steps.as_chunks_mut::<2>().0.iter_mut().zip(packed) {
        *two = [(byte & 15).wrapping_sub(8), (byte >> 4).wrapping_sub(8)];
    }
}

/// In a fixed order and in f64, so that every machine gets the same length. Several sums side by side: in a single one,
/// each addition would wait for the one before it.
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

/// A row of steps, and what a step is worth.
type Scaled<'a> = (f32, &'a [u8; DIMENSIONS]);

wide! {
    /// Adds rows to a sum. Every number is worked on by itself, so wider instructions give the same result.
    add_rows = add_rows_plain(sum: &mut [f32; DIMENSIONS], rows: &[Scaled<'_>])
}

#[inline(always)]
fn add_rows_plain(sum: &mut [f32; DIMENSIONS], rows: &[Scaled<'_>]) {
    /// How many sums stay in registers until all rows are added to them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Golden {
        text: String,
        ids: Vec<u32>,
        vec: Vec<f32>,
        is_other: bool,
    }

    fn golden() -> Vec<Golden> {
        let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("../assets/golden.json")).unwrap();
        cases
            .into_iter()
            .map(|case| Golden {
                text: case["text"].as_str().unwrap().to_owned(),
                ids: serde_json::from_value(case["ids"].clone()).unwrap(),
                vec: serde_json::from_value(case["vec"].clone()).unwrap(),
                is_other: case["other"].as_bool().unwrap(),
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
            let expected = Cut { pieces: case.ids, is_english: !case.is_other };
            assert_eq!(model.cut(&case.text), expected, "pieces of {:?}", case.text);
            let vector = model.encode_exact(&case.text);
            let error = vector.iter().zip(&case.vec).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error < 2e-6, "{:?}: error {error}", case.text);
        }
    }

    #[test]
    fn english_is_what_it_was_in_the_first_model_and_the_fingerprint_is_that_of_all_bytes() {
        let model = Model::from_bytes(Cow::Borrowed(SHIPPED_WEIGHTS), Cow::Borrowed(SHIPPED_VOCABULARY)).unwrap();
        assert_eq!(model.fingerprint(), SHIPPED_FINGERPRINT);
        let checksum = |range: &Range<usize>| crc32fast::hash(&model.bytes[range.clone()]);
        assert_eq!(checksum(&model.tables.rows), 0xed47_5bc1);
        assert_eq!(checksum(&model.tables.scales), 0x36df_f23c);
        let mean: Vec<u8> = model.mean.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(crc32fast::hash(&mean), 0xd1b3_96d1);
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
        let whole = SHIPPED_WEIGHTS;
        assert!(refused(whole), "the vocabulary is too short");
        assert!(refused(&whole[..whole.len() - 1]));
    }
}
