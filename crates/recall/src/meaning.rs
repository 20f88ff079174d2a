//! The vectors of a workspace's records and how near they are to a query. What nearness is worth: `search/fuse.rs`.

mod dot;
mod near;
pub(crate) mod signs;

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::bytes::{Reader, SnapshotError, Writer};
use crate::mapped_vec::MappedVec;
use crate::memory::vec_bytes;
use crate::model::{DIMENSIONS, Embedding, Model};
use crate::records::{Records, Seen};
use crate::simd::wide;

use signs::Signs;

pub(crate) use near::{Centre, Near};

/// A cosine of one as a whole number. Nearness is kept in whole numbers so that sums over records have no order.
pub(crate) const ONE: f64 = 1_048_576.0;
/// Means: a record without a vector.
pub(crate) const NO_VECTOR: i32 = i32::MIN;
/// How many records the shipped mean counts for: a small workspace leans on it, a large one has its own.
const PRIOR_RECORDS: f64 = 20.0;
/// What a component of one is in the exact sums.
const SUM_ONE: f64 = 16_777_216.0;
/// What a cosine of one is in the exact sum over neighbours.
const LIKENESS_ONE: f64 = 1_073_741_824.0;

/// One for each number of halvings.
type Samples = [OnceLock<Vec<u32>>; 32];

/// One vector per slot, and the sum over the counted records.
pub(crate) struct Vectors {
    steps: MappedVec<i8>,
    /// What makes a slot's bytes a vector of length one; 0 where there is no vector.
    scales: MappedVec<f32>,
    /// The signs of the components, to find the near ones among very many.
    signs: MappedVec<Signs>,
    /// Exact, so that taking a record out leaves no trace.
    sums: Box<[i64; DIMENSIONS]>,
    counted: u32,
    /// Over counted records with a vector that were saved one after the other: the sum of their cosines. Exact as well.
    neighbours: i64,
    /// The samples of all slots, by how often they were halved, until a record comes or goes.
    samples: OnceLock<Box<Samples>>,
    /// The mean that queries are compared from, until a record comes or goes.
    centre: OnceLock<Box<Centre>>,
}

impl Vectors {
    pub(crate) fn new() -> Self {
        Self {
            steps: MappedVec::default(),
            scales: MappedVec::default(),
            signs: MappedVec::default(),
            sums: Box::new([0; DIMENSIONS]),
            counted: 0,
            neighbours: 0,
            samples: OnceLock::new(),
            centre: OnceLock::new(),
        }
    }

    /// Sets the vector of a slot; slots are taken one after the other or used again.
    pub(crate) fn set(&mut self, model: &Model, slot: u32, embedding: Option<&Embedding>, counted: bool) {
        let at = slot as usize;
        self.samples.take();
        let steps = embedding.map_or(&[0; DIMENSIONS], |embedding| embedding.steps());
        let scale = Embedding::scale(steps);
        let signs = signs::of(steps.iter().map(|&step| f32::from(step) * scale), model);
        if at == self.scales.len() {
            self.steps.extend(steps);
            self.scales.push(scale);
            self.signs.push(signs);
        } else {
            self.steps[at * DIMENSIONS..(at + 1) * DIMENSIONS].copy_from_slice(steps);
            self.scales[at] = scale;
            self.signs[at] = signs;
        }
        if counted && scale > 0.0 {
            self.centre.take();
            self.counted += 1;
            self.add_to_sums(at, 1);
        }
    }

    /// Forgets the vector of a slot.
    pub(crate) fn clear(&mut self, slot: u32, counted: bool) {
        let at = slot as usize;
        self.samples.take();
        if counted && self.scales[at] > 0.0 {
            self.centre.take();
            self.counted -= 1;
            self.add_to_sums(at, -1);
        }
        self.steps[at * DIMENSIONS..(at + 1) * DIMENSIONS].fill(0);
        self.scales[at] = 0.0;
    }

    /// Whether the slot has a vector.
    pub(crate) fn has(&self, slot: u32) -> bool {
        self.scales[slot as usize] > 0.0
    }

    /// Notes that `slot` was saved between two others. All three are counted and have vectors.
    pub(crate) fn join(&mut self, before: Option<u32>, slot: u32, after: Option<u32>) {
        self.neighbours += self.change_of_neighbours(before, slot, after);
    }

    /// Undoes [`Vectors::join`].
    pub(crate) fn part(&mut self, before: Option<u32>, slot: u32, after: Option<u32>) {
        self.neighbours -= self.change_of_neighbours(before, slot, after);
    }

    fn change_of_neighbours(&self, before: Option<u32>, slot: u32, after: Option<u32>) -> i64 {
        let like = |a: Option<u32>, b: Option<u32>| a.zip(b).map_or(0, |(a, b)| self.likeness(a, b));
        like(before, Some(slot)) + like(Some(slot), after) - like(before, after)
    }

    /// The cosine of two slots; 0 where either has no vector.
    pub(crate) fn cosine(&self, a: u32, b: u32) -> f64 {
        self.likeness(a, b) as f64 / LIKENESS_ONE
    }

    /// The cosine of two slots as a whole number.
    fn likeness(&self, a: u32, b: u32) -> i64 {
        let (a, b) = (a as usize, b as usize);
        let rows = self.rows();
        let product = product(&rows[a], &rows[b]);
        (f64::from(product) * f64::from(self.scales[a]) * f64::from(self.scales[b]) * LIKENESS_ONE).round() as i64
    }

    /// How much records that were saved one after the other are about the same thing, from 0 to 1. In a dialogue they
    /// are, in a heap of unrelated facts they are not, and then neighbours must not count.
    pub(crate) fn locality(&self) -> f64 {
        /// Added to the number of pairs as pairs without likeness: a small workspace has too few to judge by.
        const DOUBTED_PAIRS: f64 = 20.0;
        /// From where on neighbours count, and where they count fully.
        const LIKENESS: (f64, f64) = (0.05, 0.20);
        if self.counted < 2 {
            return 0.0;
        }
        let records = f64::from(self.counted);
        let pairs = records - 1.0;
        let mean = |sum: &i64| *sum as f64 / SUM_ONE / records;
        // Two records drawn at random are this alike.
        let at_random: f64 = self.sums.iter().map(|sum| mean(sum) * mean(sum)).sum();
        let room = 1.0 - at_random;
        if room < 1e-6 {
            return 0.0;
        }
        let of_neighbours = self.neighbours as f64 / LIKENESS_ONE / pairs;
        let likeness = (of_neighbours - at_random) / room * pairs / (pairs + DOUBTED_PAIRS);
        ((likeness - LIKENESS.0) / (LIKENESS.1 - LIKENESS.0)).clamp(0.0, 1.0)
    }

    /// Prepares a query for comparison: both sides are seen from the workspace's mean. `None` where the model knows
    /// nothing of the text.
    pub(crate) fn aim(&self, model: &Model, query: &[f32; DIMENSIONS]) -> Option<Near> {
        if query.iter().all(|&x| x == 0.0) {
            return None;
        }
        let centre = self.centre.get_or_init(|| Box::new(Centre::new(self.mean(model))));
        Some(Near::new(query, centre, signs::of(query.iter().copied(), model)))
    }

    /// The mean of the counted records; a small workspace leans on the model's.
    fn mean(&self, model: &Model) -> [f64; DIMENSIONS] {
        let records = f64::from(self.counted);
        std::array::from_fn(|at| {
            let prior = PRIOR_RECORDS * f64::from(model.mean()[at]);
            (self.sums[at] as f64 / SUM_ONE + prior) / (records + PRIOR_RECORDS)
        })
    }

    /// How near every slot is to a query, in order of slots; `NO_VECTOR` for those that are not seen.
    pub(crate) fn nearness(&self, near: &Near, seen: &Seen<'_>) -> Vec<i32> {
        let Some(members) = seen.members() else {
            return near.measure(self.rows().iter().zip(self.scales.iter().copied()));
        };
        let slots: Vec<u32> = members.iter().collect();
        let mut nearness = vec![NO_VECTOR; self.slots()];
        for (&slot, near) in slots.iter().zip(self.nearness_at(near, &slots)) {
            nearness[slot as usize] = near;
        }
        nearness
    }

    /// How near some slots are, in their order.
    pub(crate) fn nearness_at(&self, near: &Near, slots: &[u32]) -> Vec<i32> {
        let rows = self.rows();
        near.measure(slots.iter().map(|&slot| (&rows[slot as usize], self.scales[slot as usize])))
    }

    /// The vector of a slot, if it has one.
    pub(crate) fn embedding(&self, slot: u32) -> Option<Embedding> {
        let at = slot as usize;
        let steps = &self.steps[at * DIMENSIONS..][..DIMENSIONS];
        (self.scales[at] > 0.0).then(|| Embedding::from_steps(steps))
    }

    /// About `count` visible slots whose signs agree best with the query's, in order of slots.
    pub(crate) fn preselect(&self, near: &Near, seen: &Seen<'_>, count: usize) -> Vec<u32> {
        signs::nearest(&self.signs, &near.signs, seen, count)
    }

    /// A part of the visible slots, at least about `count`, that is fair and depends on nothing but the records' `seq`.
    pub(crate) fn sample(&self, records: &Records, seen: &Seen<'_>, count: u32) -> Cow<'_, [u32]> {
        let halvings = halvings(seen.records, count);
        let drawn = self.samples.get_or_init(Box::default)[halvings as usize].get_or_init(|| draw(records, halvings));
        match seen.members() {
            None => Cow::Borrowed(drawn),
            Some(members) => Cow::Owned(drawn.iter().copied().filter(|&slot| members.contains(slot)).collect()),
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        let samples = self.samples.get().map_or(0, |samples| {
            size_of::<Samples>() + samples.iter().filter_map(OnceLock::get).map(vec_bytes).sum::<usize>()
        });
        let kept = samples + self.centre.get().map_or(0, |centre| size_of_val(&**centre));
        let rows = self.steps.size_bytes() + self.scales.size_bytes() + self.signs.size_bytes();
        rows + size_of_val(&*self.sums) + kept
    }

    pub(crate) fn slots(&self) -> usize {
        self.scales.len()
    }

    pub(crate) fn save(&self, out: &mut Writer) {
        out.number(self.counted);
        out.number(self.neighbours);
        out.row(&*self.sums);
        out.row(&self.scales);
        out.row(&self.signs);
        out.harmless_row(&self.steps);
    }

    pub(crate) fn load(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let (counted, neighbours) = (input.number()?, input.number()?);
        let sums = input.numbers()?.try_into().map(Box::new).map_err(|_| SnapshotError::NotASnapshot)?;
        let (scales, signs, steps) = (input.row::<f32>()?, input.row::<Signs>()?, input.row::<i8>()?);
        let fits = signs.len() == scales.len() && steps.len() == scales.len() * DIMENSIONS;
        let vectors = Self { steps, scales, signs, sums, counted, neighbours, ..Self::new() };
        fits.then_some(vectors).ok_or(SnapshotError::NotASnapshot)
    }

    fn rows(&self) -> &[[i8; DIMENSIONS]] {
        self.steps.as_chunks().0
    }

    fn add_to_sums(&mut self, at: usize, sign: i64) {
        let unit = f64::from(self.scales[at]) * SUM_ONE;
        let steps = &self.steps.as_chunks().0[at];
        add_all(&mut self.sums, steps, unit, sign);
    }
}

wide! {
    /// Adds the components of a vector, as multiples of `unit`, to exact sums, or subtracts them.
    add_all = add_all_plain(sums: &mut [i64; DIMENSIONS], steps: &[i8; DIMENSIONS], unit: f64, sign: i64)
}

#[inline(always)]
fn add_all_plain(sums: &mut [i64; DIMENSIONS], steps: &[i8; DIMENSIONS], unit: f64, sign: i64) {
    for (sum, &step) in sums.iter_mut().zip(steps) {
        *sum += sign * (f64::from(step) * unit).round() as i64;
    }
}

wide! {
    /// The product of two vectors in steps.
    product = product_plain(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32
}

#[inline(always)]
fn product_plain(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    a.iter().zip(b).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
}

/// How often the records are halved so that about `count` of `records` are left: at least as many, at most twice.
fn halvings(records: u32, count: u32) -> u32 {
    (records / count.max(1)).max(1).ilog2()
}

/// A deterministic sample of one record in 2^`halvings`, by `seq`.
fn drawn_after(halvings: u32) -> impl Fn(u64) -> bool {
    let bound = u32::MAX >> halvings;
    // Multiplying by an odd number close to 2^32 / φ spreads neighbouring numbers evenly.
    move |seq| (seq as u32).wrapping_mul(0x9E37_79B1) <= bound
}

/// The sample of about `count` of `records` records, by `seq`.
#[cfg(test)]
pub(crate) fn draws(records: u32, count: u32) -> impl Fn(u64) -> bool {
    drawn_after(halvings(records, count))
}

/// The sample, in order of slots. Empty slots may be among them.
fn draw(records: &Records, halvings: u32) -> Vec<u32> {
    let is_drawn = drawn_after(halvings);
    let mut sample = Vec::with_capacity(2 * (records.slots() >> halvings));
    each_wanted(records.seqs(), |&seq| is_drawn(seq), |slot| sample.push(slot));
    sample.shrink_to_fit();
    sample
}

/// Calls `found` with the place of every item that is `wanted`.
fn each_wanted<T>(items: &[T], wanted: impl Fn(&T) -> bool, found: impl FnMut(u32)) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512dq") {
        #[expect(unsafe_code, reason = "the processor has just been asked for these features")]
        return unsafe { each_wanted_avx512(items, wanted, found) };
    }
    each_wanted_any(items, wanted, found);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn each_wanted_avx512<T>(items: &[T], wanted: impl Fn(&T) -> bool, found: impl FnMut(u32)) {
    each_wanted_any(items, wanted, found);
}

/// Looks at a group of items at once, which the compiler does without a branch for each, and only then at the items:
/// whether one is wanted can't be guessed by the processor, and each wrong guess would cost more than all the rest.
#[inline(always)]
fn each_wanted_any<T>(items: &[T], wanted: impl Fn(&T) -> bool, mut found: impl FnMut(u32)) {
    const GROUP: usize = 32;
    for (group, items) in items.chunks(GROUP).enumerate() {
        if !items.iter().fold(false, |any, item| any | wanted(item)) {
            continue;
        }
        let mut left = items.iter().rev().fold(0_u32, |bits, item| bits << 1 | u32::from(wanted(item)));
        while left != 0 {
            found((group * GROUP) as u32 + left.trailing_zeros());
            left &= left - 1;
        }
    }
}
