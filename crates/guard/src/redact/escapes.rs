//! One encoded character at a time: its bytes in the text, and what a person would see instead.

/// Something that is not what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// How many bytes it takes.
    pub(super) length: usize,
    /// What it shows, if anything.
    pub(super) shows: Option<char>,
}

impl Unit {
    fn new(length: usize, shows: char) -> Unit {
        Unit { length, shows: Some(shows).filter(|c| !is_invisible(*c)) }
    }
}

/// More layers of the same encoding than this are no accident.
const LAYERS_MAX: usize = 16;

/// The bytes with which a unit may start; most texts have few.
static STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let mut at = 0xc0;
    while at < 256 {
        starts[at] = true;
        at += 1;
    }
    let signs = b"\\%&=[^\x1b";
    let mut at = 0;
    while at < signs.len() {
        starts[signs[at] as usize] = true;
        at += 1;
    }
    starts
};

/// The next place at or after `at` where a unit may start.
pub(super) fn next_start(text: &str, at: usize) -> Option<usize> {
    text.as_bytes()[at..].iter().position(|byte| STARTS[usize::from(*byte)]).map(|ahead| at + ahead)
}

/// The encoded character that starts at `at`, if one does.
pub(super) fn unit_at(text: &str, at: usize) -> Option<Unit> {
    let rest = &text.as_bytes()[at..];
    match rest[0] {
        b'\\' => with_colour(backslash(rest)?, rest),
        b'%' => with_colour(percent(rest)?, rest),
        b'&' => with_colour(entity(rest)?, rest),
        b'=' => quoted_printable(rest),
        b'[' => bare_colour(rest),
        b'^' if rest.starts_with(b"^[[") => Some(Unit { length: 2 + control_sequence(&rest[2..])?, shows: None }),
        0x1b => with_colour(Unit::new(1, '\u{1b}'), rest),
        0xc0.. => {
            text[at..].chars().next().filter(|c| is_invisible(*c)).map(|c| Unit { length: c.len_utf8(), shows: None })
        }
        _ => None,
    }
}

/// An escape character, however it was written, takes the terminal's command behind it along.
fn with_colour(unit: Unit, rest: &[u8]) -> Option<Unit> {
    if unit.shows != Some('\u{1b}') {
        return Some(unit);
    }
    let command = control_sequence(&rest[unit.length..]).unwrap_or(0);
    Some(Unit { length: unit.length + command, shows: None })
}

/// `[32m`: parameters and a final letter.
fn control_sequence(rest: &[u8]) -> Option<usize> {
    if rest.first() != Some(&b'[') {
        return None;
    }
    let parameters = rest[1..].iter().take(32).take_while(|b| matches!(b, b'0'..=b'?')).count();
    rest.get(1 + parameters).filter(|b| matches!(b, b'@'..=b'~')).map(|_| parameters + 2)
}

/// A colour whose escape character was lost on the way into a log.
fn bare_colour(rest: &[u8]) -> Option<Unit> {
    let digits = rest[1..].iter().take(12).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    (digits > 0 && rest.get(1 + digits) == Some(&b'm')).then_some(Unit { length: digits + 2, shows: None })
}

/// Any number of backslashes and what they escape: encoding JSON again doubles them.
fn backslash(rest: &[u8]) -> Option<Unit> {
    let slashes = rest.iter().take(LAYERS_MAX).take_while(|b| **b == b'\\').count();
    let after = &rest[slashes..];
    let digits = |from: usize, count: usize| number(after.get(from..from + count)?, 16);
    let (length, code) = match after.first()? {
        b'n' => (1, 0x0a),
        b't' => (1, 0x09),
        b'r' => (1, 0x0d),
        b'b' | b'f' | b'v' => (1, 0x20),
        b'e' => (1, 0x1b),
        b'0' if after.starts_with(b"033") => (3, 0x1b),
        byte @ (b'"' | b'\'' | b'`' | b'/') => (1, u32::from(*byte)),
        b'x' => (3, digits(1, 2)?),
        b'u' if after.get(1) == Some(&b'{') => {
            let count = after[2..].iter().take(6).take_while(|b| b.is_ascii_hexdigit()).count();
            (count + 3, digits(2, count).filter(|_| after.get(2 + count) == Some(&b'}'))?)
        }
        b'u' => (5, digits(1, 4)?),
        b'U' => (9, digits(1, 8)?),
        _ => return None,
    };
    Some(Unit::new(slashes + length, char::from_u32(code)?))
}

/// `%3D`, and `%253D` where the percent sign was encoded again.
fn percent(rest: &[u8]) -> Option<Unit> {
    let mut at = 1;
    while at < 2 * LAYERS_MAX && rest.get(at..at + 2) == Some(b"25") && hex_pair(&rest[at + 2..]).is_some() {
        at += 2;
    }
    let code = hex_pair(&rest[at..])?;
    if code.is_ascii() {
        return Some(Unit::new(at + 2, char::from(code)));
    }
    // The bytes of one character: `%C3%B1`. Where the percent sign was encoded again, so it was in each of them.
    let step = at + 2;
    let count = code.leading_ones() as usize;
    let bytes: Vec<u8> = (0..count.min(4)).map_while(|n| hex_pair(rest.get(n * step + at..)?)).collect();
    let shows = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some(Unit::new(bytes.len() * step, shows))
}

/// `&quot;`, `&#61;`, and `&amp;quot;` where the ampersand was encoded again.
fn entity(rest: &[u8]) -> Option<Unit> {
    let mut at = 1;
    while at < 4 * LAYERS_MAX && rest[at..].starts_with(b"amp;") {
        at += 4;
    }
    let again = |at: usize| (at > 1).then_some(Unit::new(at, '&'));
    let name = rest[at..].iter().take(8).take_while(|b| b.is_ascii_alphanumeric() || **b == b'#').count();
    if name == 0 || rest.get(at + name) != Some(&b';') {
        return again(at);
    }
    let shows = match &rest[at..at + name] {
        b"quot" => '"',
        b"apos" => '\'',
        b"nbsp" => ' ',
        b"equals" => '=',
        b"colon" => ':',
        b"lt" => '<',
        b"gt" => '>',
        b"shy" => '\u{ad}',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return again(at),
    };
    Some(Unit::new(at + name + 1, shows))
}

/// The few codes that mails use before a key; other pairs after `=` are ordinary values.
fn quoted_printable(rest: &[u8]) -> Option<Unit> {
    let shows = match rest.get(1..3)? {
        b"3D" => '=',
        b"20" => ' ',
        b"22" => '"',
        b"27" => '\'',
        b"0A" | b"0D" => '\n',
        b"09" => '\t',
        _ => return None,
    };
    Some(Unit::new(3, shows))
}

fn hex_pair(rest: &[u8]) -> Option<u8> {
    number(rest.get(..2)?, 16).and_then(|code| u8::try_from(code).ok())
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, digit| sum.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?))
}

/// Invisible characters: soft hyphens, joiners, direction marks, selectors, tags. They are no part of any key.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
