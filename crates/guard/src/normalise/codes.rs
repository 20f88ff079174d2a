//! Characters written as codes: HTML entities (`&#105;`), percent codes (`%69`) and escapes (`\x69`, `\u0069`).
//!
//! Nobody has a reason to write plain letters as entities or percent codes, so letters among them are counted as a
//! disguise. Signs are not, as pages are full of `&lt;` and addresses of `%20`; nor are escapes, which code is full of.

use std::borrow::Cow;

use super::Disguises;

/// This many percent codes in a row are text; fewer are formats of `printf`.
const PERCENT_RUN_MIN: usize = 3;
/// The longest code is `&#1114111;`; digits beyond that are no code.
const DIGITS_MAX: usize = 7;

/// The text with its codes read.
pub(super) fn decode<'t>(text: &'t str, disguises: &mut Disguises) -> Cow<'t, str> {
    let mut out = String::new();
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = text.as_bytes()[at..].iter().position(|byte| matches!(byte, b'&' | b'%' | b'\\')) {
        at += found;
        let Some((decoded, length)) = code_at(text, at) else {
            at += 1;
            continue;
        };
        out.push_str(&text[kept..at]);
        let start = out.len();
        match decoded {
            Decoded::One(c) => out.push(c),
            Decoded::Many(run) => out.push_str(&run),
        }
        if text.as_bytes()[at] != b'\\' {
            disguises.coded_letters += out[start..].bytes().filter(u8::is_ascii_alphabetic).count() as u32;
        }
        at += length;
        kept = at;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// What the code at `at` means, and its length.
fn code_at(text: &str, at: usize) -> Option<(Decoded, usize)> {
    let code = &text[at..];
    let one = |(c, length)| (Decoded::One(c), length);
    match code.as_bytes()[0] {
        b'&' => entity(code).map(one),
        b'%' => percent(text.as_bytes(), at),
        _ => escape(code).map(one),
    }
}

enum Decoded {
    One(char),
    Many(String),
}

fn entity(code: &str) -> Option<(char, usize)> {
    const NAMED: [(&str, char); 6] =
        [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"'), ("&apos;", '\''), ("&nbsp;", ' ')];
    if let Some((name, c)) = NAMED.iter().find(|(name, _)| code.starts_with(name)) {
        return Some((*c, name.len()));
    }
    let digits = code.strip_prefix("&#")?;
    let (head, radix) = if digits.starts_with(['x', 'X']) { (3, 16) } else { (2, 10) };
    numbered(code, head, radix, DIGITS_MAX, b';')
}

fn escape(code: &str) -> Option<(char, usize)> {
    match code.as_bytes().get(1)? {
        b'x' => exactly(code, 2),
        b'u' if code.as_bytes().get(2) == Some(&b'{') => {
            let (c, length) = numbered(code, 3, 16, DIGITS_MAX, b'}')?;
            (code.as_bytes().get(length - 1) == Some(&b'}')).then_some((c, length))
        }
        b'u' => exactly(code, 4),
        _ => None,
    }
}

/// An escape of a fixed number of hex digits after its two signs.
fn exactly(code: &str, digits: usize) -> Option<(char, usize)> {
    let (c, length) = numbered(code, 2, 16, digits, 0)?;
    (length == 2 + digits).then_some((c, length))
}

/// The character whose number begins after `head` bytes, and the length of its code with the closing sign, if there is
/// one.
fn numbered(code: &str, head: usize, radix: u32, digits_max: usize, close: u8) -> Option<(char, usize)> {
    let digits = code.bytes().skip(head).take(digits_max).take_while(|b| (*b as char).is_digit(radix)).count();
    let number = u32::from_str_radix(code.get(head..head + digits)?, radix).ok()?;
    let is_closed = close != 0 && code.as_bytes().get(head + digits) == Some(&close);
    let c = char::from_u32(number).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))?;
    Some((c, head + digits + usize::from(is_closed)))
}

/// A run of percent codes, or a single `%20` between two words.
fn percent(bytes: &[u8], at: usize) -> Option<(Decoded, usize)> {
    let mut run = Vec::new();
    while let Some([b'%', high, low]) = bytes.get(at + 3 * run.len()..at + 3 * run.len() + 3) {
        let (Some(high), Some(low)) = ((*high as char).to_digit(16), (*low as char).to_digit(16)) else { break };
        run.push((high << 4 | low) as u8);
    }
    let length = 3 * run.len();
    let is_gap = run == b" " && at > 0 && bytes[at - 1].is_ascii_alphanumeric();
    if run.len() < PERCENT_RUN_MIN && !is_gap {
        return None;
    }
    Some((Decoded::Many(String::from_utf8(run).ok()?), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, letters: u32) {
        let mut disguises = Disguises::default();
        assert_eq!(decode(text, &mut disguises), plain);
        assert_eq!(disguises.coded_letters, letters, "{text}");
    }

    #[test]
    fn coded_letters_are_read_and_counted() {
        check("now &#100;&#x65;ploy", "now deploy", 2);
        check("%64%65%70%6c%6f%79 it", "deploy it", 6);
        check(r"\x64\u0065\u{70}loy", "deploy", 0);
        check("the%20door%20is%20open", "the door is open", 0);
        check("a &lt;b&gt; &amp; c", "a <b> & c", 0);
        check("%E2%82%AC 5", "€ 5", 0);
    }

    #[test]
    fn what_only_looks_like_a_code_stays() {
        for text in
            ["50% off & more", "printf(\"%5d %4x\")", r"C:\xampp\users", "a && b; x &#; &#x;", "100%", "&", "\\u{}"]
        {
            check(text, text, 0);
        }
    }
}
