//! Hides what others keep in a configuration when a difference is shown: screens and logs are read by more people than
//! the file is.

/// Replaces every string value, except those that are ours. Names of members stay.
pub(super) fn masked(text: &str, own: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = rest[start..].chars().next().unwrap_or('"');
        out.push_str(&rest[..start]);
        let Some(length) = literal(&rest[start..], quote) else {
            // Not a literal: an apostrophe in a comment, or a string over several lines.
            out.push_str(&rest[start..=start]);
            rest = &rest[start + 1..];
            continue;
        };
        let (whole, after) = rest[start..].split_at(length);
        let is_name = matches!(after.trim_start().chars().next(), Some(':' | '='));
        let inner = &whole[1..whole.len() - 1];
        let is_own = inner.is_empty() || own.iter().any(|own| *own == inner || *own == unescaped(inner));
        if is_name || is_own {
            out.push_str(whole)
        } else {
            out.push_str(&format!("{quote}…{quote}"))
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The length of a literal with its quotes, if it ends on the same line.
fn literal(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn unescaped(inner: &str) -> String {
    serde_json::from_str(&format!("\"{inner}\"")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_others_are_hidden_and_names_and_our_own_stay() {
        let own = ["agent".to_owned(), "/opt/a \"b\"".to_owned()];
        for (text, expected) in [
            (r#""Authorization": "Bearer abc","#, r#""Authorization": "…","#),
            (r#"{"env":{"KEY":"sk-1"},"args":["--token","t"]}"#, r#"{"env":{"KEY":"…"},"args":["…","…"]}"#),
            (r#""command": "/opt/a \"b\"", "args": ["agent"]"#, r#""command": "/opt/a \"b\"", "args": ["agent"]"#),
            ("token = 'abc' # it's mine", "token = '…' # it's mine"),
            ("# it's\nkey = \"v\"", "# it's\nkey = \"…\""),
            ("\"empty\": \"\"", "\"empty\": \"\""),
        ] {
            assert_eq!(masked(text, &own), expected);
        }
    }
}
