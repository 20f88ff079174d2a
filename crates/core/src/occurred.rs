//! When something happened, as a caller says it: a date, a time, or a range of either.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::Timestamp;

/// The longest text: two times with all their digits.
const BYTES_MAX: usize = 80;

/// When something happened: the text as it was given, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurred {
    text: String,
    first: Timestamp,
    last: Timestamp,
}

/// Why a text says no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOccurred {
    #[error(
        "occurred_at must be a date, an RFC 3339 time, or a range of them, for example 2027-01-31, \
         2027-01-31T09:00:00Z or 2027-01-01/2027-01-31"
    )]
    NotATime,
    #[error("occurred_at must not end before it begins")]
    Reversed,
}

impl Occurred {
    pub fn parse(text: &str) -> Result<Self, InvalidOccurred> {
        let text = text.trim();
        // Other callers read it: it has no room for words.
        let is_time = |byte: u8| byte.is_ascii_digit() || b"-+:.TtZz /".contains(&byte);
        if text.len() > BYTES_MAX || !text.bytes().all(is_time) {
            return Err(InvalidOccurred::NotATime);
        }
        let (begin, end) = text.split_once('/').unwrap_or((text, text));
        let begin = moments(begin.trim()).ok_or(InvalidOccurred::NotATime)?;
        let end = moments(end.trim()).ok_or(InvalidOccurred::NotATime)?;
        if end.1 < begin.0 {
            return Err(InvalidOccurred::Reversed);
        }
        Ok(Self { text: text.to_owned(), first: begin.0, last: end.1 })
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where it begins: the record's time.
    pub const fn first(&self) -> Timestamp {
        self.first
    }

    /// Its last moment.
    pub const fn last(&self) -> Timestamp {
        self.last
    }
}

/// The first and the last moment of a date or a time, in whole microseconds as storage keeps them.
pub fn moments(text: &str) -> Option<(Timestamp, Timestamp)> {
    const DATE_LEN: usize = 10;
    if text.len() != DATE_LEN {
        let moment: Timestamp = text.parse().ok()?;
        let moment = Timestamp::from_microsecond(moment.as_microsecond()).ok()?;
        return Some((moment, moment));
    }
    let day: Date = text.parse().ok()?;
    let first = day.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let next = day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some((first, Timestamp::from_microsecond(next.as_microsecond() - 1).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_times_and_ranges_are_kept_as_given() {
        let check = |text: &str, first: &str, last: &str| {
            let occurred = Occurred::parse(text).unwrap();
            let shown = (occurred.as_str(), occurred.first().to_string(), occurred.last().to_string());
            assert_eq!(shown, (text.trim(), first.to_owned(), last.to_owned()), "{text}");
        };
        check("2027-01-31", "2027-01-31T00:00:00Z", "2027-01-31T23:59:59.999999Z");
        check(" 2027-01-31T09:00:00+02:00 ", "2027-01-31T07:00:00Z", "2027-01-31T07:00:00Z");
        check("2026-12-24/2027-01-01", "2026-12-24T00:00:00Z", "2027-01-01T23:59:59.999999Z");
        check("2027-01-31T09:00:00Z/2027-01-31", "2027-01-31T09:00:00Z", "2027-01-31T23:59:59.999999Z");
        check("1789-07-14", "1789-07-14T00:00:00Z", "1789-07-14T23:59:59.999999Z");
        check("2027-01-31/2027-01-31", "2027-01-31T00:00:00Z", "2027-01-31T23:59:59.999999Z");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "yesterday", "2027-02-30", "2027-01", "2027-01-31/", "/", "2027-01-31T09:00:00", "1/2/3"] {
            assert_eq!(Occurred::parse(text), Err(InvalidOccurred::NotATime), "{text}");
        }
        assert_eq!(Occurred::parse("2027-01-31T09:00:00Z[Europe/Berlin]"), Err(InvalidOccurred::NotATime));
        assert_eq!(Occurred::parse(&"2".repeat(81)), Err(InvalidOccurred::NotATime));
        assert_eq!(Occurred::parse("2027-01-02/2027-01-01"), Err(InvalidOccurred::Reversed));
    }
}
