//! One bit per component: above or below the general mean. Vectors that agree in many signs are near each other, and
//! counting bits is sixteen times less to read than the bytes. Good enough to choose whom to compare, never to rank.

use crate::model::Model;
use crate::records::Seen;

/// The signs of the first 128 components.
pub(crate) type Signs = [u64; SIGNS / 64];

/// How many components take part. The model's are sorted by how much they vary, so the first half tells most, and at a
/// million records reading the signs is what a search waits for.
const SIGNS: usize = 128;

/// Distances are 0 to 127; whoever differs in every sign counts as differing in one less. That leaves a bit of each byte free.
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
    let records_at = if seen.is_everyone {
        records_by_distance(&distances)
    } else {
        let visible = (0..).zip(&distances).filter(|&(slot, _)| seen.contains(slot));
        records_by_distance(&visible.map(|(_, &distance)| distance).collect::<Vec<u8>>())
    };
    let mut within = 0;
    let reach = records_at.iter().position(|&records| {
        within += records;
        within >= count
    });
    let reach = reach.unwrap_or(DISTANCES - 1) as u8;
    let mut near = Vec::with_capacity(2 * count);
    each_within(&distances, reach, |slot| {
        if seen.contains(slot) {
            near.push(slot);
        }
    });
    near
}

/// Calls `found` with every slot at a distance of at most `reach`. Eight at a time: the highest bit of each byte, set before
/// the distance is taken off, is left where the distance is within reach. Asking one by one, the processor guesses wrong too often.
fn each_within(distances: &[u8], reach: u8, mut found: impl FnMut(u32)) {
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let minuend = HIGHEST | u64::from_ne_bytes([reach; 8]);
    let (groups, rest) = distances.as_chunks::<8>();
    for (start, group) in (0..).step_by(8).zip(groups) {
        let mut left = (minuend - u64::from_le_bytes(*group)) & HIGHEST;
        while left != 0 {
            found(start + left.trailing_zeros() / 8);
            left &= left - 1;
        }
    }
    let start = 8 * groups.len() as u32;
    (start..).zip(rest).filter(|(_, distance)| **distance <= reach).for_each(|(slot, _)| found(slot));
}

/// How many records there are at each distance. Neighbours are counted apart: most have the same few distances, and one count
/// would have to wait for the other.
fn records_by_distance(distances: &[u8]) -> [usize; DISTANCES] {
    const APART: usize = 4;
    let mut counts = [[0_u32; DISTANCES]; APART];
    let (groups, rest) = distances.as_chunks::<APART>();
    for group in groups {
        for (counts, &distance) in counts.iter_mut().zip(group) {
            counts[usize::from(distance)] += 1;
        }
    }
    rest.iter().for_each(|&distance| counts[0][usize::from(distance)] += 1);
    std::array::from_fn(|distance| counts.iter().map(|counts| counts[distance] as usize).sum())
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
        }
    }

    #[test]
    fn distances_fit_seven_bits() {
        let (one, opposite) = ([u64::MAX; 2], [0; 2]);
        let mut out = [0; 3];
        measure(&[one, opposite, [1, 0]], &one, &mut out);
        assert_eq!(out, [0, 127, 127]);
    }
}
