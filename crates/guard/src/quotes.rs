//! Text between quotation marks. A report that quotes an attack is no attack, if nothing around the quote is
//! one.

/// A quote of fewer words is a name or a term, and stays in its sentence.
const WORDS_MIN: usize = 2;
/// The longest quote in bytes. A mark without a partner that near is no quotation mark.
const QUOTE_BYTES_MAX: usize = 600;

/// The plain text without its quotes, and whether it had any.
pub(crate) fn without(text: &str) -> Option<String> {
    let mut frame = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, 0);
    while let Some(ahead) = text[at..].find(is_opening) {
        let start = at + ahead;
        let mark = text[start..].chars().next().unwrap_or_default();
        let body = start + mark.len_utf8();
        let limit = text.floor_char_boundary(text.len().min(body + QUOTE_BYTES_MAX));
        let closing = closing(mark);
        at = match text[body..limit].find(|c| closing.contains(&c)) {
            Some(length) if text[body..body + length].split_whitespace().count() >= WORDS_MIN || !mark.is_ascii() => {
                frame.push_str(&text[copied..body]);
                copied = body + length;
                copied + text[copied..].chars().next().map_or(0, char::len_utf8)
            }
            // The mark that closes a short quote opens none.
            Some(length) => body + length + text[body + length..].chars().next().map_or(0, char::len_utf8),
            None => body,
        };
    }
    (copied > 0).then(|| frame + &text[copied..])
}

fn is_opening(c: char) -> bool {
    matches!(c, '"' | '“' | '„' | '«' | '»' | '”' | '「' | '『' | '`')
}

fn closing(opening: char) -> &'static [char] {
    match opening {
        '"' => &['"'],
        '“' | '”' => &['”', '“'],
        '„' => &['“', '”', '"'],
        '«' => &['»'],
        '»' => &['«', '»'],
        '「' => &['」'],
        '『' => &['』'],
        _ => &['`'],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(without(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn quotes_of_several_words_are_left_out() {
        check("he said \"go away now\" and left", Some("he said \"\" and left"));
        check("„geh weg“ und «va t'en»", Some("„“ und «»"));
        check("彼は「行け」と言った", Some("彼は「」と言った"));
        check("a \"term\" and `a whole span` here", Some("a \"term\" and `` here"));
    }

    #[test]
    fn what_is_no_quote_stays() {
        check("plain text", None);
        check("a \"term\" only", None);
        check("an open \"quote without an end", None);
        check(&format!("\"{}\"", "too long ".repeat(100)), None);
    }
}
