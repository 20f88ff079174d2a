//! The YAML block at the top of a Markdown file: names and plain values, which is what note programs write. Nested
//! values are passed over.

use std::fmt::Write;

/// Writes a block from names and values.
pub fn write(pairs: &[(&str, String)]) -> String {
    let mut block = String::from("---\n");
    for (name, value) in pairs {
        let _ = writeln!(block, "{name}: {}", scalar(value));
    }
    block.push_str("---\n");
    block
}

/// A value as YAML reads it back: bare if nothing in it could be taken for something else, else in quotes.
fn scalar(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic()) && value.chars().all(is_plain);
    let is_moment =
        value.ends_with('Z') && value.contains('T') && value.chars().all(|c| c.is_ascii_digit() || "-:.TZ".contains(c));
    let is_number = value.parse::<f64>().is_ok() && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_reserved = matches!(value.to_ascii_lowercase().as_str(), "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if (is_word && !is_reserved) || is_moment || is_number {
        return value.to_owned();
    }
    // A JSON string is a double-quoted YAML string.
    serde_json::to_string(value).expect("a text always serializes")
}

/// The names and values of a file's block, and the text after it. A file without one is all text.
pub fn split(text: &str) -> (Vec<(String, String)>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(inner) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (Vec::new(), text);
    };
    let mut pairs = Vec::new();
    let mut at = 0;
    for line in inner.split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        if line == "---" || line == "..." {
            return (pairs, &inner[at..]);
        }
        // Indented lines belong to a nested value.
        let is_own = !line.starts_with([' ', '\t', '-', '#']);
        if let Some((name, value)) = line.split_once(':').filter(|_| is_own)
            && let Some(value) = read_scalar(value.trim())
        {
            pairs.push((name.trim().to_owned(), value));
        }
    }
    (Vec::new(), text)
}

fn read_scalar(value: &str) -> Option<String> {
    if value.starts_with('"') {
        return serde_json::from_str(value).ok();
    }
    if let Some(inner) = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
        return Some(inner.replace("''", "'"));
    }
    let is_nested = value.is_empty() || value.starts_with(['[', '{', '|', '>', '&', '*', '!']);
    let bare = value.split(" #").next().unwrap_or_default().trim_end();
    (!is_nested).then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back() {
        for value in [
            "word",
            "two words",
            "",
            "no",
            "null",
            "3.5",
            "-1",
            "2027-01-15T08:00:00.123456Z",
            "a: b",
            "# no comment",
            "\"quoted\"",
            "it's",
            "line\nend",
            "Grüße 漢字",
            "[list]",
            " spaced ",
            "true",
            "\\",
            "\u{7f}\u{85}",
        ] {
            let text = format!("{}body", write(&[("name", value.to_owned())]));
            assert_eq!(split(&text), (vec![("name".to_owned(), value.to_owned())], "body"), "{text}");
        }
    }

    #[test]
    fn what_other_programs_write_is_read_as_far_as_it_is_plain() {
        let text =
            "---\r\ntitle: 'It''s here' \r\ntags:\r\n  - one\r\naliases: [a, b]\r\ndone: true # yes\r\n---\r\nText\n";
        let (pairs, body) = split(text);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs, [pair("title", "It's here"), pair("done", "true")]);
        assert_eq!(body, "Text\n");
        assert_eq!(split("---\nno end"), (Vec::new(), "---\nno end"));
        assert_eq!(split("plain"), (Vec::new(), "plain"));
    }
}
