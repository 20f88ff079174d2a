//! Removes what must not leave: secrets become `[redacted:<kind>]`, absolute paths become relative or lose their
//! folders.

use std::path::Path;

use mnemon_guard::redact;
use serde_json::Value;

use super::paths::Paths;

/// The longest text on one line; a longer one is split over several lines.
const PIECE_BYTES_MAX: usize = 48 * 1024;
/// The longest name of a tool, call or session.
const NAME_CHARS_MAX: usize = 200;

/// Cleans texts, and counts the secrets found.
pub(super) struct Cleaner {
    paths: Paths,
    count: u64,
}

impl Cleaner {
    pub(super) fn new(cwd: Option<&Path>, home: &Path) -> Self {
        Self { paths: Paths::new(cwd, home), count: 0 }
    }

    /// How many secrets were redacted since the last call.
    pub(super) fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let text = self.secrets(text);
        let text = self.paths.scrub(&text);
        self.secrets(&text)
    }

    /// A text that was clean before it was cut.
    pub(super) fn again(&mut self, text: &str) -> String {
        self.secrets(text)
    }

    /// A text up to this many characters. It is cleaned first: half a secret would not be recognized.
    pub(super) fn cut(&mut self, text: &str, chars_max: usize) -> String {
        let clean = self.text(text);
        match clean.char_indices().nth(chars_max) {
            None => clean,
            Some((end, _)) => {
                let end = before_mark(&clean, end);
                let rest = clean[end..].chars().count();
                format!("{}… [{rest} more characters]", &clean[..end])
            }
        }
    }

    /// The arguments of a call, as JSON. First every text in it is cleaned on its own, with real line breaks; then the
    /// whole once more, where a name is next to its value.
    pub(super) fn arguments(&mut self, mut arguments: Value, chars_max: usize) -> String {
        self.each(&mut arguments);
        let json = match arguments {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.cut(&json, chars_max)
    }

    fn each(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.each(item)),
            Value::Object(members) => members.values_mut().for_each(|value| self.each(value)),
            _ => {}
        }
    }

    pub(super) fn name(&mut self, name: &str) -> String {
        let short: String = name.chars().take(NAME_CHARS_MAX).collect();
        self.text(&short)
    }

    fn secrets(&mut self, text: &str) -> String {
        let redacted = redact(text);
        self.count += redacted.count as u64;
        redacted.text.into_owned()
    }
}

/// The end itself, or the start of the redaction mark that it would cut in two.
fn before_mark(text: &str, end: usize) -> usize {
    let open = text[..end].rfind("[redacted:");
    match open {
        Some(open) if !text[open..end].contains(']') => open,
        _ => end,
    }
}

/// The pieces of a text, each short enough for a line.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > PIECE_BYTES_MAX {
        let end = before_mark(rest, rest.floor_char_boundary(PIECE_BYTES_MAX));
        // We never write an endless mark, but the bound must hold anyway.
        let end = if end == 0 { rest.floor_char_boundary(PIECE_BYTES_MAX) } else { end };
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use mnemon_guard::canary;

    fn cleaner() -> Cleaner {
        Cleaner::new(Some(Path::new("/home/ana/shop")), Path::new("/home/ana"))
    }

    #[test]
    fn clean_text_stays_clean_however_it_is_cut() {
        for (kind, secret) in canary::all() {
            for before in [3_900, 3_980, 3_995, 4_000] {
                let text = format!("{} {} {}", "x".repeat(before), secret.text, "y".repeat(200));
                let cut = cleaner().cut(&text, 4_000);
                assert!(!cut.contains(&secret.hidden), "{kind}");
                assert_eq!(redact(&cut).count, 0, "{kind} at {before}: {cut}");
            }
        }
    }

    #[test]
    fn a_result_is_cut_at_four_thousand_characters() {
        assert_eq!(cleaner().cut(&"é".repeat(4_000), 4_000), "é".repeat(4_000));
        assert_eq!(cleaner().cut(&"é".repeat(4_001), 4_000), format!("{}… [1 more characters]", "é".repeat(4_000)));
    }

    #[test]
    fn arguments_are_clean_by_text_and_by_name() {
        let key = canary::all().into_iter().find(|(kind, _)| *kind == "ssh-private-key").unwrap().1;
        let word = "tr0ub4dor".to_owned() + "&3x";
        let arguments =
            serde_json::json!({"env": {"DB_PASSWORD": word}, "content": key.text, "path": "/home/ana/shop/a.rs"});
        let clean = cleaner().arguments(arguments, 4_000);
        assert!(!clean.contains(&word) && !clean.contains(&key.hidden), "{clean}");
        assert!(clean.contains(r#""path":"./a.rs""#), "{clean}");
    }

    #[test]
    fn long_texts_are_split_and_nothing_is_lost() {
        for text in ["é".repeat(30_000), "a".repeat(PIECE_BYTES_MAX), "a".repeat(PIECE_BYTES_MAX + 1), String::new()] {
            let pieces = pieces(&text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
        }
        assert_eq!(pieces(&"a".repeat(PIECE_BYTES_MAX)).len(), 1);
        assert_eq!(pieces(&"a".repeat(PIECE_BYTES_MAX + 1)).len(), 2);
    }
}
