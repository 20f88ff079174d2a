//! The text as the matchers see it: as it is, or as a person would see it after every layer of encoding is undone
//! (JSON and percent escapes, entities, terminal colours, invisible characters). What is found maps back to the
//! original.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::{Deref, Range};

use super::bytes::Alphabet;
use super::escapes::{Unit, next_start, unit_at};

/// A text to search. It reads like a `str`.
pub(super) struct View<'t> {
    text: Cow<'t, str>,
    /// Where each byte came from; empty where the view is the original.
    places: Vec<Origin>,
    /// The last run of base64url that was measured: heads of tokens repeat inside one, and each would read to its end.
    token_run: Cell<(usize, usize)>,
}

/// The original bytes that one byte of the view stands for.
#[derive(Clone, Copy)]
struct Origin {
    start: u32,
    end: u32,
}

impl Deref for View<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<'t> View<'t> {
    /// The text itself, to the byte.
    pub(super) fn plain(text: &'t str) -> View<'t> {
        View { text: Cow::Borrowed(text), places: Vec::new(), token_run: Cell::default() }
    }

    /// The text without what shows nothing, such as soft hyphens and colours: these may be in the middle of a key.
    pub(super) fn visible(text: &'t str) -> View<'t> {
        let invisible = |at: usize| unit_at(text, at).filter(|unit| unit.shows.is_none());
        View::rewritten(text, invisible).unwrap_or_else(|| View::plain(text))
    }

    /// The text without its encodings; nothing where it has none.
    pub(super) fn unescaped(text: &'t str) -> Option<View<'t>> {
        View::rewritten(text, |at| unit_at(text, at))
    }

    fn rewritten(text: &'t str, unit_at: impl Fn(usize) -> Option<Unit>) -> Option<View<'t>> {
        u32::try_from(text.len()).ok()?;
        let mut view = View { text: Cow::Owned(String::new()), places: Vec::new(), token_run: Cell::default() };
        let (mut copied, mut next) = (0, next_start(text, 0));
        while let Some(at) = next {
            let Some(unit) = unit_at(at) else {
                next = next_start(text, at + 1);
                continue;
            };
            view.copy(text, copied..at);
            view.show(at, unit);
            copied = at + unit.length;
            next = next_start(text, copied);
        }
        (copied > 0).then(|| {
            view.copy(text, copied..text.len());
            view
        })
    }

    fn copy(&mut self, text: &str, range: Range<usize>) {
        self.text.to_mut().push_str(&text[range.clone()]);
        self.places.extend(range.map(|at| Origin { start: at as u32, end: at as u32 + 1 }));
    }

    fn show(&mut self, at: usize, unit: Unit) {
        let Some(c) = unit.shows else { return };
        self.text.to_mut().push(c);
        let place = Origin { start: at as u32, end: (at + unit.length) as u32 };
        self.places.extend((0..c.len_utf8()).map(|_| place));
    }

    /// The part of the original that a part of this view stands for.
    pub(super) fn to_original(&self, span: Range<usize>) -> Range<usize> {
        if self.places.is_empty() || span.is_empty() {
            return span;
        }
        self.places[span.start].start as usize..self.places[span.end - 1].end as usize
    }

    /// Does a word go on to the left of `at`? Then what starts there is the middle of something else. Digits and
    /// underscores end a word, and so does what was taken out: a colour, a soft hyphen.
    pub(super) fn is_inside_word(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let is_letter = self.text.as_bytes().get(before).is_some_and(u8::is_ascii_alphabetic);
        is_letter && !self.is_gap(before, at)
    }

    fn is_gap(&self, before: usize, at: usize) -> bool {
        match (self.places.get(before), self.places.get(at)) {
            (Some(before), Some(place)) => before.end != place.start,
            _ => false,
        }
    }

    /// The whole run of base64url letters from `start` on, measured once however many heads it contains.
    pub(super) fn token_run(&self, start: usize) -> Range<usize> {
        let (known_start, known_end) = self.token_run.get();
        if (known_start..known_end).contains(&start) {
            return start..known_end;
        }
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let end = start + rest.iter().take_while(|byte| Alphabet::Base64Url.has(**byte)).count();
        self.token_run.set((start, end));
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        let view = View::unescaped(text);
        assert_eq!(view.as_deref().unwrap_or(text), shown, "{text:?}");
    }

    #[test]
    fn encodings_are_undone_however_often_they_were_applied() {
        check(r"a\nb\tc", "a\nb\tc");
        check(r#"{\\\"a\\\":\\\"b\\nc\\\"}"#, "{\"a\":\"b\nc\"}");
        check(r"a\u003db\x3dc\u{3d}d", "a=b=c=d");
        check("a%3Db%253Dc%20d", "a=b=c d");
        check("a&quot;b&amp;quot;c&#61;d&#x3D;e", "a\"b\"c=d=e");
        check("a\u{1b}[32mb\u{1b}[0;1mc", "abc");
        check(r"a\u001b[32mb\x1b[0mc\033[1md\e[Ke", "abcde");
        check("[32mgreen[0m ^[[31mred", "green red");
        check("a=3Db=20c", "a=b c");
        check("a\u{ad}b\u{200b}c\u{feff}d\u{e0041}e", "abcde");
    }

    #[test]
    fn what_is_no_encoding_stays() {
        for text in
            ["", "plain", r"C:\Dir \d+ \w", "100% of 5 %zz %", "a & b &c; &#; &#xzz;", "x[0] [m] a=3 \\", "é 中"]
        {
            assert!(View::unescaped(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn what_is_found_maps_back_and_gaps_end_words() {
        let text = "key\u{ad}gh\u{200b}p_ and \\u0067hp_";
        let view = View::unescaped(text).unwrap();
        assert_eq!(&*view, "keyghp_ and ghp_");
        assert_eq!(&text[view.to_original(3..7)], "gh\u{200b}p_");
        assert_eq!(&text[view.to_original(12..16)], "\\u0067hp_");
        assert!(!view.is_inside_word(3) && view.is_inside_word(2) && view.is_inside_word(4));
    }
}
