//! Long repetitions: filling, a held key, "ha" a thousand times. What repeats says nothing new, but its letters would add
//! up until they decide alone.

/// A repetition of more characters than this is cut.
const RUN_MAX: usize = 256;
/// So much of it is read.
const RUN_KEPT: usize = 16;
/// The longest piece whose repetition counts, in characters.
const PERIOD_MAX: usize = 4;

pub(super) fn shorten(text: String) -> String {
    if text.len() <= RUN_MAX || !may_repeat(text.as_bytes()) {
        return text;
    }
    let mut kept: Vec<char> = Vec::with_capacity(text.len());
    let mut last = ['\0'; PERIOD_MAX];
    // For each period, how many characters in a row equal the one a period before them.
    let mut equal = [0_usize; PERIOD_MAX];
    for (at, c) in text.chars().enumerate() {
        for period in 1..=PERIOD_MAX.min(at) {
            let is_equal = last[(at - period) % PERIOD_MAX] == c;
            equal[period - 1] = if is_equal { equal[period - 1] + 1 } else { 0 };
        }
        last[at % PERIOD_MAX] = c;
        match equal.iter().max() {
            Some(run) if *run > RUN_MAX => {}
            Some(run) if *run == RUN_MAX => kept.truncate(kept.len() - (RUN_MAX - RUN_KEPT)),
            _ => kept.push(c),
        }
    }
    kept.into_iter().collect()
}

/// Whether some repetition may be long enough; most texts have none, and are handed on as they are. A repeated piece of
/// characters is a repeated piece of bytes. A repetition that is long enough holds one of the places looked at, with all
/// that is compared there.
fn may_repeat(bytes: &[u8]) -> bool {
    const STEP: usize = RUN_MAX / 2;
    const COMPARED: usize = STEP / 2;
    const PERIOD_BYTES_MAX: usize = 4 * PERIOD_MAX;
    (0..bytes.len()).step_by(STEP).any(|at| {
        let Some(piece) = bytes.get(at..at + COMPARED + PERIOD_BYTES_MAX) else { return false };
        (1..=PERIOD_BYTES_MAX).any(|period| piece[..COMPARED] == piece[period..period + COMPARED])
    })
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
            check(piece, 256, 256);
            check(piece, 257, 16);
            check(piece, 8_192, 16);
        }
        check("ha", 128, 256);
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
