//! Long repetitions: filling, a held key, "ha" a thousand times. What repeats says nothing new, but its letters would
//! add up until they decide alone.

/// A repetition of more characters than this is cut.
const RUN_MAX: usize = 16;
/// So much of it is read.
const RUN_KEPT: usize = 16;
/// The longest piece whose repetition counts, in characters.
const PERIOD_MAX: usize = 4;

pub(super) fn shorten(text: String) -> String {
    if text.len() <= RUN_MAX || !may_repeat(&text) {
        return text;
    }
    if text.is_ascii() {
        let kept = cut(text.as_bytes());
        return kept.into_iter().map(char::from).collect();
    }
    let chars: Vec<char> = text.chars().collect();
    cut(&chars).into_iter().collect()
}

/// Leaves out what a repetition has too many of.
#[inline(always)]
fn cut<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::with_capacity(items.len());
    // For each period, how many items in a row equal the one a period before them.
    let mut equal = [0_usize; PERIOD_MAX];
    for (at, &item) in items.iter().enumerate() {
        for (period, equal) in (1..).zip(&mut equal) {
            let is_equal = at >= period && items[at - period] == item;
            *equal = (*equal + 1) * usize::from(is_equal);
        }
        match equal.into_iter().fold(0, usize::max) {
            run if run > RUN_MAX => {}
            RUN_MAX => kept.truncate(kept.len() - (RUN_MAX - RUN_KEPT)),
            _ => kept.push(item),
        }
    }
    kept
}

/// Whether some repetition may be long enough; most texts have none, and are handed on as they are. A repeated piece of
/// characters is a repeated piece of bytes. A repetition that is long enough holds one of the places looked at, with
/// all that is compared there.
fn may_repeat(text: &str) -> bool {
    const STEP: usize = RUN_MAX / 4;
    const CHAR_BYTES_MAX: usize = 4;
    let char_bytes = if text.is_ascii() { 1 } else { CHAR_BYTES_MAX };
    let bytes = text.as_bytes();
    (0..bytes.len()).step_by(STEP).any(|at| {
        let rest = &bytes[at..];
        let Some(piece) = word(rest) else { return false };
        (1..=char_bytes * PERIOD_MAX).any(|period| rest.get(period..).and_then(word) == Some(piece))
    })
}

/// The first eight bytes, half of the shortest repetition that is cut.
#[inline]
fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(piece: &str, count: usize, read: usize) {
        let text = format!("before {} after", piece.repeat(count));
        let short = shorten(text);
        let inner = short.strip_prefix("before ").and_then(|rest| rest.strip_suffix(" after"));
        let chars = inner.unwrap_or_else(|| panic!("{short:?}")).chars().count();
        assert_eq!(chars, read, "{piece:?} {count} times");
    }

    #[test]
    fn a_long_repetition_is_cut_and_a_shorter_one_stays() {
        for piece in ["=", "é", "中", "😀"] {
            check(piece, 16, 16);
            check(piece, 17, 16);
            check(piece, 8_192, 16);
        }
        check("ha", 8, 16);
        check("ha", 4_000, 17);
        check("abcd", 4_000, 19);
        check("abcde", 100, 500);
    }

    #[test]
    fn ordinary_texts_stay_as_they_are() {
        let text = "The kettle is on the second shelf, behind the tea. ".repeat(20);
        assert_eq!(shorten(text.clone()), text);
    }
}
