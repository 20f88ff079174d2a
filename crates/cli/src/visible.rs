//! What others wrote, as a terminal may show it: control characters become visible escapes. Without this, a record that
//! a colleague saved could move the cursor, set the window's title or turn the direction of reading.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal would act on a character rather than show it: C0, DEL, C1, the separators of lines and
/// paragraphs, and the controls of writing direction.
fn is_acted_on(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text of one line: every control character is escaped, the end of a line too. Nothing inside can look like a line
/// of its own.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, is_acted_on)
}

/// A whole piece of output: ends of lines and tabs stay, because our own words have them too; everything else is
/// escaped.
pub fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| !matches!(c, '\n' | '\t') && is_acted_on(c))
}

/// A text of several lines as a block: every line after the first is indented by `spaces`, which keeps it apart from
/// what we print ourselves.
pub fn block(text: &str, spaces: usize) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(one_line).collect();
    lines.join(&format!("\n{:spaces$}", ""))
}

/// JSON whose strings hold no raw control character. JSON escapes C0 by itself; the others are escaped here, which
/// changes no value.
pub fn json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_acted_on) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if is_acted_on(c) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_becomes_visible_and_nothing_else_changes() {
        for (text, expected) in [
            ("plain, Grüße, 漢字, 👩‍🔬", "plain, Grüße, 漢字, 👩‍🔬"),
            ("\u{1b}]0;owned\u{7}", r"\u{1b}]0;owned\u{7}"),
            ("\u{9b}2J\u{7f}", r"\u{9b}2J\u{7f}"),
            ("a\rb\tc\nd", r"a\rb\tc\nd"),
            ("\u{202e}gnp.exe\u{2066}\u{200f}\u{061c}", r"\u{202e}gnp.exe\u{2066}\u{200f}\u{61c}"),
            ("\u{2028}\u{2029}\u{85}", r"\u{2028}\u{2029}\u{85}"),
        ] {
            assert_eq!(one_line(text), expected);
        }
        let acted_on = (0..=0x1f).chain(0x7f..=0x9f).chain(0x202a..=0x202e).chain(0x2066..=0x2069);
        for c in acted_on.filter_map(char::from_u32) {
            assert!(!one_line(&c.to_string()).contains(c), "{c:?}");
        }
    }

    #[test]
    fn lines_stay_lines_and_a_block_keeps_them_apart() {
        assert_eq!(lines("a\n\u{1b}[2Jb"), "a\n\\u{1b}[2Jb");
        assert_eq!(block("a\nSaved: everything\r\nb\rc", 4), "a\n    Saved: everything\n    b\\rc");
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}\u{7f}\u{85}\u{202e}\n"});
        let text = value.to_string();
        let shown = json(&text);
        assert!(!shown.chars().any(is_acted_on), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
