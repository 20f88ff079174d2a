//! What is asked of the sums of a window, for many slots at once.

use crate::search::bm25::coarse_root;
use crate::wide::wide;

/// How many slots are looked at before asking whether one of them is wanted.
const GROUP: usize = 64;

wide! {
    /// The roots of a window's scores; tells their sum and the sum of their squares.
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
