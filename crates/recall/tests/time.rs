//! Phrases of time: what is understood, and what only looks like one.

use mnemon_recall::{Day, Days, day_of, time_phrase};

/// Wednesday, 18 November 2026.
fn today() -> Day {
    day_of(2026, 11, 18)
}

fn day(text: &str, open: Day) -> Day {
    let parts: Vec<i32> = text.splitn(3, '-').filter_map(|part| part.parse().ok()).collect();
    if let [year, month, day] = *parts { day_of(year, month, day) } else { open }
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

#[test]
fn phrases_of_time_in_thirteen_languages_become_their_windows() {
    const UNDERSTOOD_MIN: f64 = 0.95;
    let table: Vec<&str> = lines(include_str!("data/time_phrases.txt")).collect();
    let (mut wrong, mut wrong_by_a_year) = (Vec::new(), Vec::new());
    for line in &table {
        let [_, first, last, query] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let expected = Days { first: day(first, Days::OPEN_FIRST), last: day(last, Days::OPEN_LAST) };
        let found = time_phrase(query, today()).map(|phrase| phrase.days);
        if found != Some(expected) {
            let shown = found.map(|days| (mnemon_recall::civil(days.first), mnemon_recall::civil(days.last)));
            wrong.push(format!("{line}: {shown:?}"));
            let years_off = |found: Day, expected: Day| (i64::from(found) - i64::from(expected)).abs() > 300;
            if found.is_some_and(|days| years_off(days.last, expected.last)) {
                wrong_by_a_year.push(*line);
            }
        }
    }
    let understood = (table.len() - wrong.len()) as f64 / table.len() as f64;
    assert!(table.len() >= 300);
    assert!(wrong_by_a_year.is_empty(), "wrong by a year: {wrong_by_a_year:#?}");
    assert!(understood >= UNDERSTOOD_MIN, "{understood}: {wrong:#?}");
}

#[test]
fn what_only_looks_like_a_phrase_of_time_is_none() {
    let misread = |query: &&str| time_phrase(query, today()).is_some();
    let misread: Vec<&str> = lines(include_str!("data/time_lookalikes.txt")).filter(misread).collect();
    assert!(misread.is_empty(), "{misread:#?}");
}

#[test]
fn the_words_of_a_phrase_are_found_where_they_stand() {
    let check = |query: &str, words: &str| {
        let phrase = time_phrase(query, today()).unwrap();
        assert_eq!(&query[phrase.words], words, "{query}");
    };
    check("what was decided in June?", "in June");
    check("the demo of last week's Friday", "of last week");
    check("What changed since Monday, and why", "since Monday");
    check("Was geschah vor zwei Wochen im Büro", "vor zwei Wochen");
    check("сбой 3 дня назад в Киеве", "3 дня назад");
    check("爱丽丝2025年3月3日搬家", "2025年3月3日");
    check("the painting shown on October 13, 2023 by Ana", "on October 13, 2023");
}

#[test]
fn a_clock_at_the_end_of_a_year_counts_over_it() {
    let check = |now: (i32, i32, i32), query: &str, first: (i32, i32, i32), last: (i32, i32, i32)| {
        let days = time_phrase(query, day_of(now.0, now.1, now.2)).unwrap().days;
        assert_eq!((mnemon_recall::civil(days.first), mnemon_recall::civil(days.last)), (first, last), "{query}");
    };
    check((2027, 1, 1), "yesterday", (2026, 12, 31), (2026, 12, 31));
    check((2027, 1, 1), "last week", (2026, 12, 21), (2026, 12, 27));
    check((2027, 1, 1), "last month", (2026, 12, 1), (2026, 12, 31));
    check((2027, 1, 1), "last quarter", (2026, 10, 1), (2026, 12, 31));
    check((2027, 1, 1), "in December", (2026, 12, 1), (2026, 12, 31));
    check((2027, 1, 1), "last winter", (2025, 12, 1), (2026, 2, 28));
    check((2026, 12, 31), "tomorrow", (2027, 1, 1), (2027, 1, 1));
    check((2026, 12, 31), "what will happen in January", (2027, 1, 1), (2027, 1, 31));
    check((2028, 3, 1), "yesterday", (2028, 2, 29), (2028, 2, 29));
    check((2027, 3, 1), "on 29 February 2024", (2024, 2, 29), (2024, 2, 29));
}
