//! Days and phrases of time, between the ranking's numbers and what callers write and read.

use jiff::civil::Date;
use mnemon_core::Timestamp;
use mnemon_recall::{Day, Days, TimePhrase, civil, time_phrase};

/// What a search understood about time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeUnderstood {
    /// The words of the query that say it.
    pub words: String,
    /// The first day that they mean; `None` without a beginning.
    pub from: Option<Date>,
    /// The last one; `None` without an end.
    pub to: Option<Date>,
    /// How many of the hits lie in it.
    pub hits: usize,
}

impl TimeUnderstood {
    pub(crate) fn new(phrase: &TimePhrase, query: &str, hits: usize) -> Self {
        let Days { first, last } = phrase.days;
        Self { words: query[phrase.words.clone()].to_owned(), from: date(first), to: date(last), hits }
    }
}

/// The days that a text means which says nothing but a time, for example `3 days ago`: the first and the last.
pub fn days_of(text: &str, now: Timestamp) -> Option<(Option<Date>, Option<Date>)> {
    let text = text.trim();
    let phrase = time_phrase(text, day(now)).filter(|phrase| phrase.words == (0..text.len()))?;
    Some((date(phrase.days.first), date(phrase.days.last)))
}

/// The day of a moment.
pub(crate) fn day(at: Timestamp) -> Day {
    const SECONDS_PER_DAY: i64 = 86_400;
    i32::try_from(at.as_second().div_euclid(SECONDS_PER_DAY)).expect("moments lie within 20,000 years")
}

/// `None` where a window is open.
fn date(day: Day) -> Option<Date> {
    if day == Days::OPEN_FIRST || day == Days::OPEN_LAST {
        return None;
    }
    let (year, month, day) = civil(day);
    Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}
