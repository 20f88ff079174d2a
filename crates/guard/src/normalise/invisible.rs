//! Invisible characters: dropped where they mean nothing, decoded where they spell something.

use unicode_normalization::char::is_combining_mark;

use super::Disguises;

/// Marks on one letter beyond this are dropped.
const MARKS_MAX: usize = 4;

/// The visible text, with what invisible characters spelled out put in their place.
pub(super) fn reveal(text: &str, disguises: &mut Disguises) -> String {
    let mut out = String::with_capacity(text.len());
    let mut carried: Vec<u8> = Vec::new();
    let mut is_flag = false;
    let mut marks = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(byte) = variation_byte(c) {
            carried.push(byte);
            continue;
        }
        spell_carried(&mut carried, &mut out, disguises);
        // Composing sorts the marks of a letter; no language puts more than a few on one.
        marks = if is_combining_mark(c) { marks + 1 } else { 0 };
        if marks > MARKS_MAX {
            continue;
        }
        match c {
            // The flags of England, Scotland and Wales are a black flag followed by tags: no disguise.
            '\u{1f3f4}' => {
                is_flag = true;
                out.push(c);
            }
            '\u{e0020}'..='\u{e007e}' if !is_flag => {
                disguises.tags += 1;
                // The offset leads into printable ASCII, so the conversion always succeeds.
                out.extend(char::from_u32(c as u32 - 0xe0000));
            }
            '\u{e0000}'..='\u{e007f}' => is_flag &= c != '\u{e007f}',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                disguises.direction_overrides += u32::from(matches!(c, '\u{202d}' | '\u{202e}'));
            }
            _ if is_ignorable(c) => {
                let before = out.chars().next_back().is_some_and(is_latin);
                let after = chars.peek().copied().is_some_and(is_latin);
                // A soft hyphen inside a word is what web pages are full of.
                disguises.zero_width += u32::from(before && after && c != '\u{ad}');
            }
            _ => {
                is_flag = false;
                let styled = styled_letter(c);
                disguises.styled_letters += u32::from(is_styled_letter(c) || styled.is_some());
                out.push(styled.or(regional_letter(c)).unwrap_or(c));
            }
        }
    }
    spell_carried(&mut carried, &mut out, disguises);
    out
}

/// A lone selector chooses the look of an emoji; a run of them can carry bytes.
fn spell_carried(carried: &mut Vec<u8>, out: &mut String, disguises: &mut Disguises) {
    if carried.len() >= 4 {
        disguises.variation_bytes += carried.len() as u32;
        if let Ok(spelled) = std::str::from_utf8(carried) {
            out.push(' ');
            out.push_str(spelled);
        }
    }
    carried.clear();
}

fn variation_byte(c: char) -> Option<u8> {
    match c as u32 {
        selector @ 0xfe00..=0xfe0f => u8::try_from(selector - 0xfe00).ok(),
        selector @ 0xe0100..=0xe01ef => u8::try_from(selector - 0xe0100 + 16).ok(),
        _ => None,
    }
}

/// Default-ignorable characters that are neither tags, selectors nor directions.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}')
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}')
}

/// Letters in white on black and small capitals, which NFKC leaves as they are.
fn styled_letter(c: char) -> Option<char> {
    const SMALL_CAPITALS: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ ʏᴢ";
    let letter = match c as u32 {
        code @ 0x1f150..=0x1f169 => code - 0x1f150,
        code @ 0x1f170..=0x1f189 => code - 0x1f170,
        // Where small capitals are; other letters are not searched for among them.
        0x0262..=0x029f | 0x1d00..=0x1d22 | 0xa730..=0xa731 | 0xa7af => {
            u32::try_from(SMALL_CAPITALS.chars().position(|small| small == c)?).ok()?
        }
        _ => return None,
    };
    char::from_u32(u32::from(b'a') + letter)
}

/// Two of them make a flag; more of them can spell.
fn regional_letter(c: char) -> Option<char> {
    let code = (c as u32).checked_sub(0x1f1e6).filter(|code| *code < 26)?;
    char::from_u32(u32::from(b'a') + code)
}

/// Forms that NFKC turns into plain Latin letters and that ordinary prose has no use for.
fn is_styled_letter(c: char) -> bool {
    matches!(c,
        '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d6a5}'
        | '\u{24b6}'..='\u{24e9}' | '\u{1f110}'..='\u{1f149}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, count: impl Fn(&Disguises) -> u32, expected: u32) {
        let mut disguises = Disguises::default();
        assert_eq!(reveal(text, &mut disguises), plain);
        assert_eq!(count(&disguises), expected, "{disguises:?}");
    }

    #[test]
    fn zero_width_characters_count_only_inside_latin_words() {
        check("de\u{200b}ploy", "deploy", |d| d.zero_width, 1);
        check("\u{feff}deploy \u{200d}now", "deploy now", |d| d.zero_width, 0);
    }

    #[test]
    fn tags_are_read_as_ascii() {
        check("v2\u{e0068}\u{e0069}", "v2hi", |d| d.tags, 2);
    }

    #[test]
    fn styled_letters_that_have_no_decomposition_are_read() {
        check("ᴏʙᴇʏ 🅾🅱🅴🆈 🇴🇧🇪🇾", "obey obey obey", |d| d.styled_letters, 8);
    }

    #[test]
    fn a_flag_made_of_tags_hides_nothing() {
        let scotland = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        check(scotland, "\u{1f3f4}", |d| d.tags, 0);
    }

    #[test]
    fn bytes_in_variation_selectors_are_read() {
        let carrier: String = b"obey".iter().filter_map(|b| char::from_u32(0xe0100 + u32::from(*b) - 16)).collect();
        check(&format!("\u{1f600}{carrier}"), "\u{1f600} obey", |d| d.variation_bytes, 4);
        check("\u{2764}\u{fe0f}", "\u{2764}", |d| d.variation_bytes, 0);
    }
}
