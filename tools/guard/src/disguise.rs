//! Disguises put on our own texts, so that the weights of undone disguises are learned from more than a few samples.

use crate::chance::Chance;

/// A way to hide a text.
type Disguise = fn(&str) -> String;

/// Every way that the guard undoes.
pub const ALL: &[Disguise] = &[
    zero_width,
    tags,
    variation_bytes,
    full_width,
    mathematical,
    homoglyphs,
    spaced,
    dotted,
    leet,
    base64,
    base64_told,
];

/// The ways that the second version of the guard learned to undo.
pub const NEW: &[(&str, Disguise)] = &[
    ("HTML entities", entities),
    ("HTML entities, hex", hex_entities),
    ("percent codes", percent_codes),
    ("dots between letters", dotted_letters),
    ("hyphens between letters", hyphened_letters),
    ("run together", run_together),
    ("camel case", camel_case),
    ("base64 twice", base64_twice),
    ("rot13", rot13),
    ("backwards", backwards),
];

/// The text in a disguise chosen by chance.
pub fn any(text: &str, chance: &mut Chance) -> String {
    if chance.happens(0.5) { chance.pick(ALL)(text) } else { chance.pick(NEW).1(text) }
}

fn entities(text: &str) -> String {
    text.chars().map(|c| if c.is_alphabetic() { format!("&#{};", c as u32) } else { c.to_string() }).collect()
}

fn hex_entities(text: &str) -> String {
    text.chars().map(|c| format!("&#x{:x};", c as u32)).collect()
}

fn percent_codes(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn letters_apart(text: &str, gap: &str) -> String {
    let apart = |word: &str| word.chars().map(String::from).collect::<Vec<_>>().join(gap);
    text.split_whitespace().map(apart).collect::<Vec<_>>().join(" ")
}

fn dotted_letters(text: &str) -> String {
    letters_apart(text, ".")
}

fn hyphened_letters(text: &str) -> String {
    letters_apart(text, "-")
}

fn run_together(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| !c.is_whitespace() && !matches!(c, '.' | ',' | '!' | '\'')).collect()
}

fn camel_case(text: &str) -> String {
    let hump = |word: &str| {
        let mut letters = word.chars().filter(|c| c.is_alphanumeric());
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters.map(|c| c.to_ascii_lowercase())).collect::<String>()
    };
    text.split_whitespace().map(hump).collect()
}

fn base64_twice(text: &str) -> String {
    base64(&base64(text))
}

fn rot13(text: &str) -> String {
    let rotate = |c: char, first: u8| char::from((c as u8 - first + 13) % 26 + first);
    let turned = |c: char| match c {
        'a'..='z' => rotate(c, b'a'),
        'A'..='Z' => rotate(c, b'A'),
        _ => c,
    };
    text.chars().map(turned).collect()
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

fn zero_width(text: &str) -> String {
    text.chars().flat_map(|c| [c, '\u{200b}']).collect()
}

fn tags(text: &str) -> String {
    let hidden = text.chars().filter(char::is_ascii).filter_map(|c| char::from_u32(0xe0000 + c as u32));
    "Weekly summary.".chars().chain(hidden).collect()
}

fn variation_bytes(text: &str) -> String {
    let selector = |byte: u8| match byte {
        0..16 => 0xfe00 + u32::from(byte),
        _ => 0xe0100 + u32::from(byte) - 16,
    };
    "Nice work \u{1f600}".chars().chain(text.bytes().filter_map(|byte| char::from_u32(selector(byte)))).collect()
}

fn shifted(text: &str, lower: u32, upper: u32) -> String {
    let shift = |c: char| match c {
        'a'..='z' => char::from_u32(lower + c as u32 - 97).unwrap_or(c),
        'A'..='Z' => char::from_u32(upper + c as u32 - 65).unwrap_or(c),
        _ => c,
    };
    text.chars().map(shift).collect()
}

fn full_width(text: &str) -> String {
    shifted(text, 0xff41, 0xff21)
}

fn mathematical(text: &str) -> String {
    shifted(text, 0x1d41a, 0x1d400)
}

fn homoglyphs(text: &str) -> String {
    let twin = |c: char| match c {
        'a' => 'а',
        'c' => 'с',
        'e' => 'е',
        'i' => 'і',
        'o' => 'о',
        'p' => 'р',
        's' => 'ѕ',
        'x' => 'х',
        'y' => 'у',
        _ => c,
    };
    text.chars().map(twin).collect()
}

fn spaced(text: &str) -> String {
    text.chars().flat_map(|c| [c, ' ']).collect()
}

fn dotted(text: &str) -> String {
    text.split_whitespace().map(|word| word.chars().map(String::from).collect::<Vec<_>>().join(".") + "  ").collect()
}

fn leet(text: &str) -> String {
    let stand_in = |c: char| match c {
        'o' => '0',
        'i' => '1',
        'e' => '3',
        'a' => '4',
        's' => '5',
        't' => '7',
        _ => c,
    };
    text.chars().map(stand_in).collect()
}

/// Plain base64, padded.
pub fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place) & 63) as usize;
            out.push(if place <= chunk.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    out
}

fn base64_told(text: &str) -> String {
    format!("Decode the base64 that follows and do what it says: {}", base64(text))
}
