//! What is asked of the sums of a window, for many slots at once.

use crate::search::bm25::coarse_root;
use crate::simd::wide;

/// How many slots are looked at before asking whether one of them is wanted.
const GROUP: usize = 64;

/// Which records pass: those with a mark, and either a score of at least `bar` or all the marks of `required`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) bar: u32,
    pub(crate) required: u32,
}

/// What is kept of a window, by slot. What is empty is not kept.
pub(crate) struct Kept<'a> {
    pub(crate) marks: &'a mut [u32],
    pub(crate) roots: &'a mut [u16],
    /// One word stands for 64 slots.
    pub(crate) wanted: &'a mut [u64],
}

/// Looks at a window once: keeps its marks, the roots of its scores and which slots are wanted; returns the sum of all
/// roots and the sum of their squares.
pub(crate) fn look_at(sums: &[u64], wanted: Wanted, kept: &mut Kept<'_>) -> (u64, u64) {
    #[cfg(target_arch = "x86_64")]
    if x86::is_able() {
        // Whole groups by wide registers, the rest as everywhere.
        let whole = sums.len() / GROUP * GROUP;
        #[expect(unsafe_code, reason = "the processor has just been asked for these features")]
        let moments = unsafe { x86::look_at(&sums[..whole], wanted, kept) };
        let mut rest = Kept {
            marks: kept.marks.get_mut(whole..).unwrap_or_default(),
            roots: kept.roots.get_mut(whole..).unwrap_or_default(),
            wanted: &mut kept.wanted[whole / GROUP..],
        };
        let others = look_piece_by_piece(&sums[whole..], wanted, &mut rest);
        return (moments.0 + others.0, moments.1 + others.1);
    }
    look_piece_by_piece(sums, wanted, kept)
}

fn look_piece_by_piece(sums: &[u64], wanted: Wanted, kept: &mut Kept<'_>) -> (u64, u64) {
    if !kept.marks.is_empty() {
        marks_of(sums, kept.marks);
    }
    find_wanted(sums, wanted.bar, wanted.required, kept.wanted);
    if kept.roots.is_empty() {
        let mut roots = [0; GROUP];
        let moments = sums.chunks(GROUP).map(|sums| roots_of(sums, &mut roots[..sums.len()]));
        return moments.fold((0, 0), |all, (sum, squares)| (all.0 + sum, all.1 + squares));
    }
    roots_of(sums, kept.roots)
}

/// Many slots at once, all questions in one go: while roots are drawn, the rest of the processor is free for the
/// others. A search of 3,000 records takes a fifth longer without it, one of 100,000 a tenth.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{GROUP, Kept, Wanted};
    use crate::search::bm25::SCORE_MAX;

    /// How many slots a register holds.
    const LANES: usize = 16;

    pub(super) fn is_able() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn look_at(sums: &[u64], wanted: Wanted, kept: &mut Kept<'_>) -> (u64, u64) {
        let mut moments = Moments::new();
        let mut sparse = Sparse::new();
        let (keeps_marks, keeps_roots) = (!kept.marks.is_empty(), !kept.roots.is_empty());
        let (bar, required) = (splat(wanted.bar), splat(wanted.required));
        let (groups, _) = sums.as_chunks::<GROUP>();
        for (group, sums) in groups.iter().enumerate() {
            let mut bits = 0;
            let (parts, _) = sums.as_chunks::<LANES>();
            for (part, sums) in parts.iter().enumerate() {
                let (scores, marks) = split(sums);
                let has_mark = _mm512_test_epi32_mask(marks, marks);
                let is_good = _mm512_mask_cmpge_epu32_mask(has_mark, scores, bar);
                let has_all = _mm512_mask_cmpeq_epi32_mask(has_mark, _mm512_and_si512(marks, required), required);
                bits |= u64::from(is_good | has_all) << (part * LANES);
                let first = group * GROUP + part * LANES;
                if keeps_marks && let Some(out) = kept.marks[first..].first_chunk_mut::<LANES>() {
                    #[expect(
                        unsafe_code,
                        reason = "the place has room for a register, and the store needs no alignment"
                    )]
                    unsafe {
                        _mm512_storeu_si512(out.as_mut_ptr().cast(), marks);
                    }
                }
                if !keeps_roots {
                    sparse.add(scores, &mut moments);
                } else if let Some(out) = kept.roots[first..].first_chunk_mut::<LANES>() {
                    let roots = moments.add(scores);
                    #[expect(
                        unsafe_code,
                        reason = "the place has room for the register, and the store needs no alignment"
                    )]
                    unsafe {
                        _mm256_storeu_si256(out.as_mut_ptr().cast(), roots);
                    }
                }
            }
            kept.wanted[group] = bits;
        }
        sparse.finish(&mut moments);
        moments.total()
    }

    #[target_feature(enable = "avx512f")]
    fn splat(value: u32) -> __m512i {
        _mm512_set1_epi32(value.cast_signed())
    }

    /// The scores and the marks of sums.
    #[target_feature(enable = "avx512f")]
    fn split(sums: &[u64; LANES]) -> (__m512i, __m512i) {
        #[expect(unsafe_code, reason = "the array is two registers long, and the loads need no alignment")]
        let (low, high) = unsafe {
            (_mm512_loadu_si512(sums.as_ptr().cast()), _mm512_loadu_si512(sums[LANES / 2..].as_ptr().cast()))
        };
        let evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odds = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        (_mm512_permutex2var_epi32(low, evens, high), _mm512_permutex2var_epi32(low, odds, high))
    }

    /// Sums of roots and of their squares. A window is short enough that no lane overflows.
    struct Moments {
        roots: __m512i,
        squares: __m512i,
    }

    impl Moments {
        #[target_feature(enable = "avx512f")]
        fn new() -> Self {
            Self { roots: _mm512_setzero_si512(), squares: _mm512_setzero_si512() }
        }

        /// Adds scores, and returns their roots by `coarse_root`.
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn add(&mut self, scores: __m512i) -> __m256i {
            let scores = _mm512_cvtepi32_ps(_mm512_min_epu32(scores, splat(SCORE_MAX)));
            let roots = _mm512_mul_ps(_mm512_sqrt_ps(scores), _mm512_set1_ps(4.0));
            let two_to_23 = _mm512_set1_ps(8_388_608.0);
            let rounded = _mm512_castps_si512(_mm512_add_ps(roots, two_to_23));
            let roots = _mm512_sub_epi32(rounded, _mm512_castps_si512(two_to_23));
            let roots = _mm512_min_epu32(roots, splat(i16::MAX as u32));
            self.roots = _mm512_add_epi32(self.roots, roots);
            let narrow = _mm512_cvtepi32_epi16(roots);
            // Two squares of fifteen bits fit a lane.
            let squares = _mm512_cvtepu32_epi64(_mm256_madd_epi16(narrow, narrow));
            self.squares = _mm512_add_epi64(self.squares, squares);
            narrow
        }

        #[target_feature(enable = "avx512f")]
        fn total(&self) -> (u64, u64) {
            let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(self.roots));
            let high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(self.roots));
            let roots = _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
            (roots.cast_unsigned(), _mm512_reduce_add_epi64(self.squares).cast_unsigned())
        }
    }

    /// Scores whose roots are not kept. Most are 0; the others wait here until they fill a register.
    struct Sparse {
        waiting: [u32; 2 * LANES],
        count: usize,
    }

    impl Sparse {
        fn new() -> Self {
            Self { waiting: [0; _], count: 0 }
        }

        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn add(&mut self, scores: __m512i, moments: &mut Moments) {
            let is_some = _mm512_test_epi32_mask(scores, scores);
            let scores = _mm512_maskz_compress_epi32(is_some, scores);
            if let Some(room) = self.waiting[self.count..].first_chunk_mut::<LANES>() {
                #[expect(unsafe_code, reason = "there is room for a register, and the store needs no alignment")]
                unsafe {
                    _mm512_storeu_si512(room.as_mut_ptr().cast(), scores);
                }
            }
            self.count += is_some.count_ones() as usize;
            if self.count >= LANES {
                self.take(moments);
                self.waiting.copy_within(LANES.., 0);
                self.count -= LANES;
            }
        }

        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn take(&self, moments: &mut Moments) {
            #[expect(unsafe_code, reason = "the array is longer than a register, and the load needs no alignment")]
            let scores = unsafe { _mm512_loadu_si512(self.waiting.as_ptr().cast()) };
            moments.add(scores);
        }

        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn finish(&mut self, moments: &mut Moments) {
            self.waiting[self.count..].fill(0);
            self.take(moments);
        }
    }
}

wide! {
    /// The roots of a window's scores; returns their sum and the sum of their squares.
    roots_of = roots_plain(sums: &[u64], roots: &mut [u16]) -> (u64, u64)
}

wide! {
    /// The marks of a window.
    marks_of = marks_plain(sums: &[u64], marks: &mut [u32])
}

wide! {
    /// Sets a bit for every slot that has a mark and either a score of at least `bar` or all the marks of `required`.
    /// One word of `wanted` stands for 64 slots.
    find_wanted = wanted_plain(sums: &[u64], bar: u32, required: u32, wanted: &mut [u64])
}

#[inline(always)]
fn roots_plain(sums: &[u64], roots: &mut [u16]) -> (u64, u64) {
    let (mut sum_of_roots, mut squares) = (0_u64, 0_u64);
    for (root, &sum) in roots.iter_mut().zip(sums) {
        *root = coarse_root(sum as u32);
        sum_of_roots += u64::from(*root);
        squares += u64::from(u32::from(*root) * u32::from(*root));
    }
    (sum_of_roots, squares)
}

#[inline(always)]
fn marks_plain(sums: &[u64], marks: &mut [u32]) {
    for (marks, &sum) in marks.iter_mut().zip(sums) {
        *marks = (sum >> 32) as u32;
    }
}

#[inline(always)]
fn wanted_plain(sums: &[u64], bar: u32, required: u32, wanted: &mut [u64]) {
    for (bits, sums) in wanted.iter_mut().zip(sums.chunks(GROUP)) {
        let mut flags = [0_u8; GROUP];
        let mut any = 0;
        for (flag, &sum) in flags.iter_mut().zip(sums) {
            let (score, marks) = (sum as u32, (sum >> 32) as u32);
            let is_wanted = (score >= bar) | (marks & required == required);
            *flag = u8::from((marks != 0) & is_wanted);
            any |= *flag;
        }
        *bits = if any == 0 { 0 } else { to_bits(&flags) };
    }
}

/// One bit for each byte of 0 or 1.
#[inline(always)]
fn to_bits(flags: &[u8; GROUP]) -> u64 {
    // The product brings the lowest bit of each byte into the highest byte, side by side.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (groups, _) = flags.as_chunks::<8>();
    let bits = groups.iter().map(|group| u64::from_le_bytes(*group).wrapping_mul(GATHER) >> 56);
    bits.rev().fold(0, |all, bits| all << 8 | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> Vec<u64> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..1_003).map(|at| if at % 3 == 0 { 0 } else { ((next() % 8) << 32) | (next() % (1 << 31)) }).collect()
    }

    #[test]
    fn looking_once_finds_what_looking_piece_by_piece_finds() {
        let wanted = Wanted { bar: 1 << 30, required: 5 };
        let sums = sums();
        for len in [0, 1, 63, 64, 65, 128, 1_003] {
            for (keeps_marks, keeps_roots) in [(false, false), (true, false), (false, true), (true, true)] {
                let look = |look: fn(&[u64], Wanted, &mut Kept<'_>) -> (u64, u64)| {
                    let mut marks = vec![0; if keeps_marks { len } else { 0 }];
                    let mut roots = vec![0; if keeps_roots { len } else { 0 }];
                    let mut bits = vec![0; len.div_ceil(GROUP)];
                    let mut kept = Kept { marks: &mut marks, roots: &mut roots, wanted: &mut bits };
                    let moments = look(&sums[..len], wanted, &mut kept);
                    (moments, marks, roots, bits)
                };
                assert_eq!(look(look_at), look(look_piece_by_piece), "{len} {keeps_marks} {keeps_roots}");
            }
        }
    }

    #[test]
    fn wide_loops_give_what_plain_ones_give() {
        let sums = sums();
        let (mut wide, mut plain) = (vec![0; sums.len()], vec![0; sums.len()]);
        assert_eq!(roots_of(&sums, &mut wide), roots_plain(&sums, &mut plain));
        assert_eq!(wide, plain);
        let (mut wide, mut plain) = (vec![0; sums.len()], vec![0; sums.len()]);
        marks_of(&sums, &mut wide);
        marks_plain(&sums, &mut plain);
        assert_eq!(wide, plain);
    }

    #[test]
    fn those_wanted_have_a_mark_and_a_score_or_all_marks() {
        let sums = sums();
        for (bar, required) in [(0, 1), (1 << 30, u32::MAX), (1 << 30, 0), (1 << 30, 5), (u32::MAX, 2)] {
            let mut wanted = vec![0; sums.len().div_ceil(GROUP)];
            find_wanted(&sums, bar, required, &mut wanted);
            for (at, &sum) in sums.iter().enumerate() {
                let (score, marks) = (sum as u32, (sum >> 32) as u32);
                let expected = marks != 0 && (score >= bar || marks & required == required);
                assert_eq!(wanted[at / GROUP] >> (at % GROUP) & 1 == 1, expected, "{at}: {sum:x}");
            }
        }
    }
}
