//! Quick looks at a whole text, before anything is read closely: long stretches of bytes of one kind, found without
//! looking at every byte, and places with telling neighbours, counted many at once.

use std::ops::Range;

/// The places of all stretches of at least `min` bytes that `is_member` accepts, each as long as it goes. Every such
/// stretch holds one of the places that are `min` apart, and in most texts none of them does.
pub(super) fn stretches(
    bytes: &[u8],
    min: usize,
    is_member: impl Fn(u8) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut at = min - 1;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !is_member(bytes[at]) {
                at += min;
                continue;
            }
            let before = bytes[..at].iter().rev().take_while(|byte| is_member(**byte)).count();
            let after = bytes[at..].iter().take_while(|byte| is_member(**byte)).count();
            let place = at - before..at + after;
            // The byte at the end is none of them, so the next stretch begins after it.
            at = place.end + min;
            if place.len() >= min {
                return Some(place);
            }
        }
        None
    })
}

/// How many bytes are telling, each seen with the one before it and the one after it; around the text there are spaces.
/// No space may be telling. Without short cuts in `is_telling`, many bytes are looked at at once.
#[inline(always)]
pub(super) fn count(bytes: &[u8], is_telling: impl Fn(u8, u8, u8) -> bool) -> usize {
    const BLOCK: usize = 64;
    let mut total = 0;
    let mut before = b' ';
    for (at, some) in (BLOCK..).step_by(BLOCK).zip(bytes.chunks(BLOCK)) {
        let mut block = [b' '; BLOCK + 2];
        block[0] = before;
        block[1..=some.len()].copy_from_slice(some);
        block[some.len() + 1] = bytes.get(at).copied().unwrap_or(b' ');
        let mut telling = 0_u8;
        for at in 0..BLOCK {
            telling += u8::from(is_telling(block[at], block[at + 1], block[at + 2]));
        }
        total += usize::from(telling);
        before = block[BLOCK];
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By looking at every byte.
    fn plainly(text: &str, min: usize) -> Vec<Range<usize>> {
        let mut at = 0;
        let places = text.as_bytes().split(|byte| *byte != b'a').map(|stretch| {
            let place = at..at + stretch.len();
            at = place.end + 1;
            place
        });
        places.filter(|place| place.len() >= min).collect()
    }

    #[test]
    fn what_is_found_is_what_looking_at_every_byte_finds() {
        // Every text of ten bytes of two kinds.
        for number in 0..1024_u32 {
            let text: String = (0..10).map(|bit| if number >> bit & 1 == 1 { 'a' } else { ' ' }).collect();
            for min in 1..=4 {
                let found: Vec<_> = stretches(text.as_bytes(), min, |byte| byte == b'a').collect();
                assert_eq!(found, plainly(&text, min), "{text:?}, {min}");
            }
        }
    }

    #[test]
    fn neighbours_are_seen_across_blocks_and_at_the_ends() {
        for length in [0, 1, 2, 63, 64, 65, 127, 128, 129, 200] {
            let letters = "a".repeat(length);
            let inner =
                count(letters.as_bytes(), |before, byte, after| (byte == b'a') & (before == byte) & (byte == after));
            assert_eq!(inner, length.saturating_sub(2), "{length}");
            let spaced = "a ".repeat(length);
            let alone =
                count(spaced.as_bytes(), |before, byte, after| (byte == b'a') & (before == b' ') & (after == b' '));
            assert_eq!(alone, length);
        }
    }
}
