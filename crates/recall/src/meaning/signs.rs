//! One bit per component: above or below the general mean. Vectors that agree in many signs are near each other, and
//! counting bits is sixteen times less to read than the bytes. Good enough to choose whom to compare, never to rank.

use crate::model::Model;
use crate::records::Seen;
use crate::simd::wide;

/// The signs of the first 128 components.
pub(crate) type Signs = [u64; SIGNS / 64];

/// How many components take part. The model's are sorted by how much they vary, so the first half says most, and at a
/// million records reading the signs is what a search waits for.
const SIGNS: usize = 128;

/// Distances are 0 to 127; one that differs in all 128 signs counts as 127. That leaves a bit of each byte free.
const DISTANCES: usize = SIGNS;

/// The signs of a vector of length one, seen from the model's mean. That mean never moves; the workspace's own does
/// with every record, and the signs would have to follow.
pub(crate) fn of(components: impl Iterator<Item = f32>, model: &Model) -> Signs {
    let mut signs = Signs::default();
    for (at, (component, &mean)) in components.zip(model.mean()).take(SIGNS).enumerate() {
        signs[at / 64] |= u64::from(component > mean) << (at % 64);
    }
    signs
}

/// The visible slots nearest to the query: `count` of them, and all that are as near as the last one.
pub(crate) fn nearest(signs: &[Signs], query: &Signs, seen: &Seen<'_>, count: usize) -> Vec<u32> {
    let mut distances = vec![0_u8; signs.len()];
    measure(signs, query, &mut distances);
    if let Some(members) = seen.members() {
        // As far as can be: no smaller reach counts them, and the largest asks who they are.
        push_away(&mut distances, members.words());
    }
    let reach = reach_of(&distances, count);
    let mut near = Vec::with_capacity(2 * count);
    each_within(&distances, reach, |slot| {
        if seen.contains(slot) {
            near.push(slot);
        }
    });
    near
}

/// Calls `found` with every slot at a distance of at most `reach`, in order.
fn each_within(distances: &[u8], reach: u8, mut found: impl FnMut(u32)) {
    let (groups, rest) = distances.as_chunks::<64>();
    let mut within = vec![0; groups.len()];
    find_within(groups, reach, &mut within);
    for (start, &within) in (0..).step_by(64).zip(&within) {
        let mut left = within;
        while left != 0 {
            found(start + left.trailing_zeros());
            left &= left - 1;
        }
    }
    let start = 64 * groups.len() as u32;
    (start..).zip(rest).filter(|(_, distance)| **distance <= reach).for_each(|(slot, _)| found(slot));
}

/// Sets a bit for each distance of at most `reach`. Asking one by one, the processor guesses wrong too often.
fn find_within(groups: &[[u8; 64]], reach: u8, within: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") {
        #[expect(unsafe_code, reason = "the processor has just been asked for this feature")]
        return unsafe { find_within_avx512(groups, reach, within) };
    }
    for (group, within) in groups.iter().zip(within) {
        *within = within_plain(group, reach);
    }
}

/// Eight at a time: the highest bit of each byte, set before the distance is taken off, is left where it is within
/// reach.
fn within_plain(group: &[u8; 64], reach: u8) -> u64 {
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    // Brings the highest bit of each byte into the highest byte, side by side.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let minuend = HIGHEST | u64::from_ne_bytes([reach; 8]);
    let (eights, _) = group.as_chunks::<8>();
    let within = eights.iter().map(|eight| (minuend - u64::from_le_bytes(*eight)) & HIGHEST);
    within.rev().fold(0, |all, within| all << 8 | within.wrapping_mul(GATHER) >> 56)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn find_within_avx512(groups: &[[u8; 64]], reach: u8, within: &mut [u64]) {
    use std::arch::x86_64::*;
    let reach = _mm512_set1_epi8(reach.cast_signed());
    for (group, within) in groups.iter().zip(within) {
        #[expect(unsafe_code, reason = "the group is as long as a register, and the load needs no alignment")]
        let distances = unsafe { _mm512_loadu_si512(group.as_ptr().cast()) };
        *within = _mm512_cmple_epu8_mask(distances, reach);
    }
}

/// The smallest reach within which there are `count`, by halving.
fn reach_of(distances: &[u8], count: usize) -> u8 {
    let (mut low, mut high) = (0, DISTANCES as u8 - 1);
    while low < high {
        let middle = low.midpoint(high);
        if count_within(distances, middle) >= count {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

wide! {
    /// Gives every record that is not a member the largest distance. One word of `members` stands for 64
    /// slots.
    push_away = push_away_plain(distances: &mut [u8], members: &[u64])
}

#[inline(always)]
fn push_away_plain(distances: &mut [u8], members: &[u64]) {
    for (distances, &members) in distances.chunks_mut(64).zip(members) {
        for (at, distance) in (0..).zip(distances) {
            let is_member = (members >> at & 1) as u8;
            *distance |= (DISTANCES as u8 - 1) & is_member.wrapping_sub(1);
        }
    }
}

wide! {
    /// How many are at a distance of at most `reach`.
    count_within = count_within_plain(distances: &[u8], reach: u8) -> usize
}

#[inline(always)]
fn count_within_plain(distances: &[u8], reach: u8) -> usize {
    // So few at a time are counted in a byte, which is what makes wide registers wide.
    const FEW: usize = 128;
    let few = |distances: &[u8]| distances.iter().map(|&distance| u8::from(distance <= reach)).sum::<u8>();
    distances.chunks(FEW).map(|distances| usize::from(few(distances))).sum()
}

fn measure(signs: &[Signs], query: &Signs, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512vpopcntdq") && is_x86_feature_detected!("avx512bw") {
            #[expect(unsafe_code, reason = "the processor has just been asked for these features")]
            return unsafe { measure_avx512(signs, query, out) };
        }
        if is_x86_feature_detected!("popcnt") {
            #[expect(unsafe_code, reason = "the processor has just been asked for this feature")]
            return unsafe { measure_popcnt(signs, query, out) };
        }
    }
    measure_any(signs, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq")]
fn measure_avx512(signs: &[Signs], query: &Signs, out: &mut [u8]) {
    measure_any(signs, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn measure_popcnt(signs: &[Signs], query: &Signs, out: &mut [u8]) {
    measure_any(signs, query, out);
}

#[inline(always)]
fn measure_any(signs: &[Signs], query: &Signs, out: &mut [u8]) {
    for (signs, out) in signs.iter().zip(out) {
        let differing: u32 = signs.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum();
        *out = differing.min(DISTANCES as u32 - 1) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_within_reach_are_found_in_order() {
        let distances: Vec<u8> = (0..1_003_u32).map(|slot| (slot.wrapping_mul(0x9E37_79B1) >> 25) as u8).collect();
        for reach in [0, 1, 63, 64, 126, 127] {
            let mut found = Vec::new();
            each_within(&distances, reach, |slot| found.push(slot));
            let expected: Vec<u32> =
                (0..).zip(&distances).filter(|(_, d)| **d <= reach).map(|(slot, _)| slot).collect();
            assert_eq!(found, expected, "{reach}");
            let (groups, _) = distances.as_chunks::<64>();
            let mut within = vec![0; groups.len()];
            find_within(groups, reach, &mut within);
            assert!(groups.iter().zip(within).all(|(group, within)| within_plain(group, reach) == within), "{reach}");
        }
    }

    #[test]
    fn the_reach_is_the_smallest_with_enough_within() {
        let distances: Vec<u8> = (0..1_003_u32).map(|slot| (slot.wrapping_mul(0x9E37_79B1) >> 25) as u8).collect();
        let mut sorted = distances.clone();
        sorted.sort_unstable();
        for count in [1, 2, 500, 1_003] {
            assert_eq!(reach_of(&distances, count), sorted[count - 1], "{count}");
        }
        assert_eq!(reach_of(&distances, 1_004), 127);
        assert_eq!(count_within(&distances, 63), count_within_plain(&distances, 63));
    }

    #[test]
    fn distances_fit_seven_bits() {
        let (one, opposite) = ([u64::MAX; 2], [0; 2]);
        let mut out = [0; 3];
        measure(&[one, opposite, [1, 0]], &one, &mut out);
        assert_eq!(out, [0, 127, 127]);
    }
}
