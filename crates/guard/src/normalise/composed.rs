//! NFKC and lower case. Most letters of most languages are in their composed form already; only what is not is
//! composed.

use unicode_normalization::UnicodeNormalization;

/// The text in NFKC and lower case, without ornaments, with plain quotes and dashes.
pub(super) fn lower(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (settled, tail) = rest.split_at(settled_end(rest));
        settled.chars().for_each(|c| push_lower(c, &mut out));
        let unsettled_end = tail.char_indices().skip(1).find(|(_, c)| is_settled(*c)).map_or(tail.len(), |(at, _)| at);
        let (unsettled, tail) = tail.split_at(unsettled_end);
        let composed = unsettled.chars().map(plain_symbol).nfkc().filter(|c| !is_overlay(*c));
        composed.for_each(|c| push_lower(c, &mut out));
        rest = tail;
    }
    out
}

/// How far the text is settled. The letter before an unsettled character does not count: the two may melt into one.
fn settled_end(text: &str) -> usize {
    let mut before = 0;
    for (at, c) in text.char_indices() {
        if !is_settled(c) {
            return before;
        }
        before = at;
    }
    text.len()
}

/// Characters that NFKC leaves as they are and that never melt into the one before them.
fn is_settled(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => true,
        // Ligatures, a letter with a dot beside it, one with an apostrophe, and the long s.
        'Ĳ' | 'ĳ' | 'Ŀ' | 'ŀ' | 'ŉ' | 'ſ' => false,
        'À'..='\u{17f}' => true,
        // Cyrillic, Arabic letters, kana, ideographs, Hangul syllables.
        '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' | '\u{621}'..='\u{63a}' | '\u{641}'..='\u{64a}' => true,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => false,
    }
}

fn push_lower(c: char, out: &mut String) {
    match c {
        '\0'..='\u{7f}' => out.push(c.to_ascii_lowercase()),
        // Letters without case, and small Cyrillic ones.
        '\u{430}'..='\u{45f}' | '\u{621}'..='\u{64a}' | '\u{3041}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => {
            out.push(plain_quote(c));
        }
        _ => out.extend(c.to_lowercase().map(plain_quote)),
    }
}

/// Words drawn as one character decompose to as many as eighteen. No Latin text hides there, and spelling them out
/// would let a short text grow long.
fn plain_symbol(c: char) -> char {
    if matches!(c, '\u{fdf0}'..='\u{fdff}' | '\u{3300}'..='\u{33ff}') { '\u{25a1}' } else { c }
}

/// Combining strokes, circles and dots that have no composed letter: ornaments that break words up.
fn is_overlay(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{488}' | '\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20f0}')
}

/// Typographic apostrophes and dashes in their ASCII form, so that "don’t" and "don't" are one word.
fn plain_quote(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{02bc}' | '\u{ff07}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' | '\u{300c}' | '\u{300d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`lower`] does, without the short cut.
    fn slowly(text: &str) -> String {
        let composed = text.chars().map(plain_symbol).nfkc().filter(|c| !is_overlay(*c));
        composed.flat_map(char::to_lowercase).map(plain_quote).collect()
    }

    #[test]
    fn the_short_cut_changes_no_character_alone_or_before_a_mark() {
        let characters = ('\0'..='\u{ffff}').chain('\u{1d400}'..='\u{1d7ff}');
        for c in characters {
            // An acute, a breve, a dot below, a voiced sound mark, a final consonant of Hangul.
            for mark in ["", "\u{301}", "\u{306}", "\u{323}", "\u{3099}", "\u{11a8}", "x"] {
                let text = format!("a{c}{mark}{c}");
                assert_eq!(lower(&text), slowly(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn texts_are_what_they_were() {
        for text in
            ["Don’t PANIC", "Straße ﬁn İstanbul", "Сервер НОЧЬ й й", "한국어 각", "がか\u{3099}", "e\u{338}\u{301}", ""]
        {
            assert_eq!(lower(text), slowly(text), "{text}");
        }
    }
}
