//! Dates of the calendar: days, months, seasons, quarters, years.

use super::super::calendar::{Days, Unit, civil, day_of, exists};
use super::super::vocabulary::{Manner, Sense};
use super::{Point, Reader};

/// Days and a month, with no year yet.
struct DaysOfMonth {
    /// The first and the last.
    days: (i32, i32),
    month: (i32, Manner),
    /// Where the words end.
    end: usize,
    /// "3rd" rather than "3".
    is_ordinal: bool,
}

impl Reader {
    /// A date that begins here and names its year, and at least its month.
    pub(in crate::time) fn dated(&self, at: usize) -> Option<Point> {
        let named = self.day_of_month(at, false).filter(|point| point.has_year);
        let named = named.or_else(|| self.month(at, false)).filter(|point| point.has_year && point.days.count() < 32);
        self.numeric(at).or(named)
    }

    /// A year: in digits, or "last year".
    pub(super) fn eat_year(&self, at: usize) -> Option<(i32, usize)> {
        let at = self.eat_one(at, Sense::In).unwrap_or(at);
        if let Some((year, end)) = self.eat_digits(at, is_year) {
            return Some((year, self.eat_one(end, Sense::YearMark).or_else(|| self.year_word(end)).unwrap_or(end)));
        }
        let (steps, unit, end) = self.stepped_unit(at)?;
        (unit == Unit::Year).then(|| (civil(self.now).0 + steps, end))
    }

    /// Behind the word for a year that follows its number: "2025 года".
    pub(super) fn year_word(&self, at: usize) -> Option<usize> {
        self.is_bare_amount
            .then(|| self.eat_unit(at))
            .flatten()
            .filter(|(unit, _)| *unit == Unit::Year)
            .map(|found| found.1)
    }

    /// Without a year it is the newest that has begun; if what is asked about is to come, the next that is not over.
    pub(super) fn nearest(&self, of: impl Fn(i32) -> Days) -> Days {
        let year = civil(self.now).0;
        let mut years = (year - 2..=year + 2).map(&of);
        let found = if self.is_ahead {
            years.find(|days| days.last >= self.now)
        } else {
            years.rev().find(|days| days.first <= self.now)
        };
        found.unwrap_or(of(year))
    }

    /// "2026-06-14", "2026-06", "14.06.2026"; where day and month can't be told apart, nothing.
    pub(super) fn numeric(&self, at: usize) -> Option<Point> {
        let digits = |place: usize| {
            let lexeme = self.lexemes.get(place)?;
            (place == at || self.is_glued(place)).then_some(lexeme.digits)?
        };
        let mark = |place: usize| self.lexemes.get(place).filter(|_| self.is_glued(place)).and_then(|found| found.mark);
        let (first, second, third) = (digits(at)?, digits(at + 2)?, digits(at + 4));
        let (one, other) = (mark(at + 1)?, mark(at + 3));
        let third = third.filter(|_| other == Some(one));
        let (first, wide) = (first.0 as i32, first.1);
        let (second, two) = (second.0 as i32, second.1);
        let day = |year, month, day| exists(year, month, day).then(|| Days::one(day_of(year, month, day)));
        let (days, end) = match (one, third) {
            ('-' | '/', Some((third, width))) if wide == 4 && two <= 2 && width <= 2 => {
                (day(first, second, third as i32)?, at + 5)
            }
            ('-', None) if wide == 4 && two == 2 && (1..=12).contains(&second) => (Days::month(first, second), at + 3),
            ('.' | '/' | '-', Some((third, 4))) if wide <= 2 && two <= 2 => {
                let year = third as i32;
                let day_first = day(year, second, first);
                let month_first = if one == '.' { None } else { day(year, first, second) };
                match (day_first, month_first) {
                    (Some(one), Some(other)) if one != other => return None,
                    (one, other) => (one.or(other)?, at + 5),
                }
            }
            _ => return None,
        };
        let is_sensible = (1900..=2100).contains(&civil(days.first).0);
        (is_sensible && self.stands_alone(at, end)).then_some(Point { days, end, has_year: true })
    }

    /// Whether numbers are not a part of something longer: a version, an address.
    pub(super) fn stands_alone(&self, start: usize, end: usize) -> bool {
        let is_part = |mark: Option<char>| matches!(mark, Some('.' | '-' | '/' | '_' | ':'));
        let before = start > 0 && self.is_glued(start) && {
            let other = &self.lexemes[start - 1];
            !matches!(other.mark, Some('(' | '[' | '"' | '\'' | '«' | '“' | ','))
        };
        let behind = self.lexemes.get(end).filter(|_| self.is_glued(end)).is_some_and(|other| {
            let goes_on = self.lexemes.get(end + 1).is_some_and(|next| next.mark.is_none() && self.is_glued(end + 1));
            other.digits.is_some() || is_part(other.mark) && goes_on
        });
        !before && !behind
    }

    /// "3 March 2026", "March 3rd", "3–5 марта", "6月3日".
    pub(super) fn day_of_month(&self, at: usize, is_led: bool) -> Option<Point> {
        if let Some((month, end)) = self.marked_month(at)
            && let Some((_, end)) = self.marked_day(2000, month, end)
        {
            let of = |year| self.marked_day(year, month, self.marked_month(at)?.1).map(|found| found.0);
            return Some(Point {
                days: self.nearest(|year| of(year).unwrap_or(Days::month(year, month))),
                end,
                has_year: false,
            });
        }
        let found = self.days_then_month(at).or_else(|| self.month_then_days(at))?;
        let DaysOfMonth { days, month: (month, manner), end, is_ordinal } = found;
        let year = self.eat_year(end);
        if manner == Manner::Weak && !is_led && !is_ordinal && year.is_none() {
            return None;
        }
        let of = |year: i32| {
            let (first, last) = days;
            exists(year, month, last).then(|| Days::new(day_of(year, month, first), day_of(year, month, last)))
        };
        match year {
            Some((year, end)) => Some(Point { days: of(year)?, end, has_year: true }),
            None => {
                // The 29th of February is in few years.
                of(2000)?;
                Some(Point {
                    days: self.nearest(|year| of(year).unwrap_or(Days::month(year, month))),
                    end,
                    has_year: false,
                })
            }
        }
    }

    fn days_then_month(&self, at: usize) -> Option<DaysOfMonth> {
        let (days, end, is_ordinal) = self.eat_days(at)?;
        if at > 0 && self.is_glued(at) && !matches!(self.lexemes[at - 1].mark, Some('(' | '[' | '"' | '«' | '“')) {
            return None;
        }
        let end = if self.lexemes.get(end)?.mark == Some('.') { end + 1 } else { end };
        let end = if self.lexemes.get(end)?.mark == Some('-') { end + 1 } else { end };
        let (month, end) = self.eat_month(end)?;
        Some(DaysOfMonth { days, month, end, is_ordinal })
    }

    fn month_then_days(&self, at: usize) -> Option<DaysOfMonth> {
        let (month, end) = self.eat_month(at)?;
        let end = match self.lexemes.get(end)?.mark {
            Some('.' | '-') => end + 1,
            _ => end,
        };
        let (days, end, is_ordinal) = self.eat_days(end)?;
        // Not "June 3.5", nor "June 12:30".
        let goes_on = self.lexemes.get(end).is_some_and(|next| matches!(next.mark, Some('.' | ':' | '%')))
            && self.is_glued(end)
            && self.lexemes.get(end + 1).is_none_or(|next| next.digits.is_some() && self.is_glued(end + 1));
        (!goes_on || self.lexemes.get(end + 1).is_none()).then_some(DaysOfMonth { days, month, end, is_ordinal })
    }

    /// A day of a month, or some: "3", "3rd", "3–5".
    pub(super) fn eat_days(&self, at: usize) -> Option<((i32, i32), usize, bool)> {
        let one = |at: usize| {
            let (value, digits) = self.lexemes.get(at)?.digits?;
            let is_day = (1..=31).contains(&value) && digits <= 2;
            let suffix = self.lexemes.get(at + 1).filter(|next| self.is_glued(at + 1) && next.has(Sense::Skip));
            is_day.then_some((value as i32, at + 1 + usize::from(suffix.is_some()), suffix.is_some()))
        };
        let (first, end, is_ordinal) = one(at)?;
        let dash = self.lexemes.get(end).filter(|next| next.mark == Some('-')).map(|_| end + 1);
        let last = dash.or_else(|| self.eat_one(end, Sense::To)).and_then(one).filter(|last| last.0 > first);
        Some(match last {
            Some((last, end, is_ordinal)) => ((first, last), end, is_ordinal),
            None => ((first, first), end, is_ordinal),
        })
    }

    /// "June 2026", or a month alone where something leads to it.
    pub(super) fn month(&self, at: usize, is_led: bool) -> Option<Point> {
        if let Some((year, end)) = self.marked_year(at) {
            let whole = Point { days: Days::year(year), end, has_year: true };
            let Some((month, end)) = self.marked_month(end) else { return Some(whole) };
            let (days, end) = self.marked_day(year, month, end).unwrap_or((Days::month(year, month), end));
            return Some(Point { days, end, has_year: true });
        }
        if let Some((month, end)) = self.marked_month(at).filter(|_| self.lexemes[at].digits.is_some()) {
            return Some(Point { days: self.nearest(|year| Days::month(year, month)), end, has_year: false });
        }
        let ((month, manner), end) = self.eat_month(at)?;
        if let Some((year, end)) = self.eat_year(end) {
            return Some(Point { days: Days::month(year, month), end, has_year: true });
        }
        let is_led = is_led || manner == Manner::At || self.eat_one(end, Sense::InBehind).is_some();
        is_led.then(|| Point { days: self.nearest(|year| Days::month(year, month)), end, has_year: false })
    }

    /// 2026年.
    pub(super) fn marked_year(&self, at: usize) -> Option<(i32, usize)> {
        let (value, digits) = self.lexemes.get(at)?.digits?;
        let end = self.eat_one(at + 1, Sense::YearMark)?;
        is_year(value, digits).then_some((value as i32, end))
    }

    /// 6月, 六月.
    pub(super) fn marked_month(&self, at: usize) -> Option<(i32, usize)> {
        let lexeme = self.lexemes.get(at)?;
        match lexeme.digits {
            Some((value @ 1..=12, 1 | 2)) => Some((value as i32, self.eat_one(at + 1, Sense::MonthMark)?)),
            Some(_) => None,
            None => self.eat_month(at).map(|((month, _), end)| (month, end)),
        }
    }

    /// 3日.
    pub(super) fn marked_day(&self, year: i32, month: i32, at: usize) -> Option<(Days, usize)> {
        let (day, end) = self.eat_number(at)?;
        let end = self.eat_one(end, Sense::DayMark)?;
        exists(year, month, day).then(|| (Days::one(day_of(year, month, day)), end))
    }

    pub(super) fn season(&self, at: usize, is_led: bool) -> Option<Point> {
        let ((season, manner), end) = self.eat_season(at)?;
        if let Some((year, end)) = self.eat_year(end) {
            return Some(Point { days: Days::season(year, season), end, has_year: true });
        }
        let is_led = is_led && manner != Manner::Weak || manner == Manner::At;
        let is_led = is_led || self.eat_one(end, Sense::InBehind).is_some();
        is_led.then(|| Point { days: self.nearest(|year| Days::season(year, season)), end, has_year: false })
    }

    /// "Q3 2026", "the third quarter".
    pub(super) fn quarter(&self, at: usize) -> Option<Point> {
        let by_letter = self.eat_one(at, Sense::Q).and_then(|end| {
            let (value, _) = self.lexemes.get(end).filter(|_| self.is_glued(end))?.digits?;
            Some((value as i32, end + 1))
        });
        let by_word = || {
            let ordinal = |sense, _| if let Sense::Ordinal(number) = sense { Some(number) } else { None };
            let digits = || self.eat_digits(at, |value, _| (1..=4).contains(&value));
            let (number, end) = self.eat(at, ordinal).or_else(digits)?;
            let end = if self.lexemes.get(end)?.mark == Some('.') { end + 1 } else { end };
            let (unit, end) = self.eat_unit(end)?;
            (unit == Unit::Quarter).then_some((number, end))
        };
        let (number, end) = by_letter.or_else(by_word).filter(|(number, _)| (1..=4).contains(number))?;
        let of = |year| Days::months(year, 3 * number - 2, 3);
        match self.eat_year(end) {
            Some((year, end)) => Some(Point { days: of(year), end, has_year: true }),
            // T3 alone is many things.
            None if by_letter.is_some() && self.is_postposing => None,
            None => Some(Point { days: self.nearest(of), end, has_year: false }),
        }
    }

    /// "In 2025", "im Jahr 2025".
    pub(super) fn year(&self, at: usize, is_led: bool) -> Option<Point> {
        let named = self.eat_unit(at).filter(|(unit, _)| *unit == Unit::Year).map(|(_, end)| end);
        let start = named.unwrap_or(at);
        let (value, digits) = self.lexemes.get(start)?.digits?;
        let end = self.year_word(start + 1);
        let is_sure = is_led || named.is_some() || end.is_some();
        let end = end.unwrap_or(start + 1);
        let is_alone = is_year(value, digits) && self.stands_alone(start, end);
        (is_sure && is_alone).then(|| Point { days: Days::year(value as i32), end, has_year: true })
    }
}

fn is_year(value: u32, digits: usize) -> bool {
    digits == 4 && (1900..=2100).contains(&value)
}
