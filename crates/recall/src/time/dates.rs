//! Dates in a text: those that name their year. "3 March 2026", "2026-03-03", "im März 2026", 2026年3月3日.

use std::ops::Range;

use smallvec::SmallVec;

use super::calendar::{Day, Days};
use super::reader::Reader;
use super::tokens::{Kind, tokens};
use super::vocabulary::{Meaning, Sense, Vocabulary};

/// How many dates of a text are kept: a page has few that matter, a table would have hundreds.
const DATES_MAX: usize = 16;

/// The dates of a text in their order, each once.
pub(crate) fn dates_in(text: &str) -> SmallVec<[Days; 2]> {
    let mut dates = SmallVec::new();
    let mut behind = 0;
    for year in years(text) {
        if year.start < behind {
            continue;
        }
        let window = around(text, &year, behind);
        let Some((days, end)) = date_at(&text[window.clone()], year.start - window.start) else { continue };
        behind = window.start + end;
        if !dates.contains(&days) {
            dates.push(days);
        }
        if dates.len() == DATES_MAX {
            break;
        }
    }
    dates
}

/// Where four digits make a year.
fn years(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let centuries = bytes.windows(2).enumerate().filter(|(_, two)| matches!(*two, b"19" | b"20")).map(|(at, _)| at);
    centuries
        .filter(move |&at| is_digit(at + 2) && is_digit(at + 3) && !is_digit(at + 4) && (at == 0 || !is_digit(at - 1)))
        .map(|at| at..at + 4)
}

/// As much of a text as a date with this year can take, none of it before `behind`.
fn around(text: &str, year: &Range<usize>, behind: usize) -> Range<usize> {
    const REACH: usize = 40;
    let start = (year.start.saturating_sub(REACH).max(behind)..=year.start).find(|&at| text.is_char_boundary(at));
    let end = (year.end..=(year.end + REACH / 2).min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    start.unwrap_or(year.start)..end.unwrap_or(year.end)
}

/// The longest date that has the year at this place, and where it ends.
fn date_at(text: &str, year: usize) -> Option<(Days, usize)> {
    /// A date says its year itself; the day on which it is read does not matter.
    const ANY_DAY: Day = 0;
    let tokens = tokens(text);
    let vocabulary = Vocabulary::shipped();
    let names_month =
        |meaning: &&Meaning| meaning.senses.iter().any(|sense| matches!(sense, Sense::Month(_) | Sense::YearMark));
    let mut languages: SmallVec<[usize; 4]> = SmallVec::new();
    for at in 0..tokens.len() {
        let named = vocabulary.meanings(&tokens[at..]).map(|(meaning, _)| meaning).filter(names_month);
        named.for_each(|meaning| languages.push(meaning.language));
    }
    if tokens.iter().any(|token| matches!(token.kind, Kind::Mark('-' | '.' | '/'))) || languages.is_empty() {
        languages.push(0);
    }
    languages.sort_unstable();
    languages.dedup();
    let mut best: Option<(Range<usize>, Days)> = None;
    for language in languages {
        let reader = Reader::new(text, &tokens, language, ANY_DAY);
        for at in reader.starts() {
            let Some(point) = reader.dated(at) else { continue };
            let words = reader.lexemes[at].at.start..reader.lexemes[point.end - 1].at.end;
            if words.contains(&year) && best.as_ref().is_none_or(|(other, _)| words.len() > other.len()) {
                best = Some((words, point.days));
            }
        }
    }
    best.map(|(words, days)| (days, words.end))
}

#[cfg(test)]
mod tests {
    use super::super::calendar::{civil, day_of};
    use super::*;

    #[test]
    fn dates_with_a_year_are_found_in_thirteen_languages_and_nothing_else_is() {
        let check = |text: &str, expected: &[&str]| {
            let show = |days: &Days| {
                let (year, month, day) = civil(days.first);
                let is_month = days.count() > 1;
                if is_month { format!("{year}-{month:02}") } else { format!("{year}-{month:02}-{day:02}") }
            };
            let found: Vec<String> = dates_in(text).iter().map(show).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("decided on 2026-03-03 by Ana; see 2026-03-03T10:00:00Z", &["2026-03-03"]);
        check("3 March 2026", &["2026-03-03"]);
        check("March 3rd, 2026: the release", &["2026-03-03"]);
        check("[1:56 pm on 8 May, 2023] Caroline: hello", &["2023-05-08"]);
        check("[March-15-2024] I'm working on it", &["2024-03-15"]);
        check("am 03.03.2026 und am 4. April 2026, im Mai 2025", &["2026-03-03", "2026-04-04", "2025-05"]);
        check("le 3 mars 2026, le 1er juillet 2025", &["2026-03-03", "2025-07-01"]);
        check("el 3 de marzo de 2026", &["2026-03-03"]);
        check("em 3 de março de 2026", &["2026-03-03"]);
        check("il 3 maggio 2026", &["2026-05-03"]);
        check("3 марта 2026 года", &["2026-03-03"]);
        check("3 березня 2026 року", &["2026-03-03"]);
        check("3 marca 2026 r.", &["2026-03-03"]);
        check("3 maart 2026", &["2026-03-03"]);
        check("3 Mart 2026'da", &["2026-03-03"]);
        check("会议在2026年3月3日举行", &["2026-03-03"]);
        check("2026年3月の予定", &["2026-03"]);
        check("due 25/12/2026 or 12/25/2025", &["2026-12-25", "2025-12-25"]);
        check("03/04/2026 may be one of two days", &[]);
        check("version 2026.3.1, v1.2.2025, port 2024, $2025, 2026 people", &[]);
        check("31.02.2026 and 2026-13-01 never were", &[]);
        check("550e8400-e29b-2026-11-18-446655440000", &[]);
        check("in 2026", &[]);
    }

    #[test]
    fn as_many_dates_are_kept_as_matter() {
        let many = |count: i32| -> String { (1..=count).map(|year| format!("5 May {} ", 1900 + year)).collect() };
        assert_eq!(dates_in(&many(16)).len(), DATES_MAX);
        assert_eq!(dates_in(&many(17)).len(), DATES_MAX);
        assert_eq!(dates_in(&many(17))[0], Days::one(day_of(1901, 5, 5)));
    }
}
