//! Dates that are counted from today: "last week", "3 days ago", "on Monday", "the end of the month".

use super::super::calendar::{Days, Unit, back, civil, day_of, weekday};
use super::super::vocabulary::{Manner, Sense};
use super::{Point, Reader};

impl Reader {
    /// "Last week": how many units from this one. "Last" twice is the one before.
    pub(super) fn stepped_unit(&self, at: usize) -> Option<(i32, Unit, usize)> {
        if let Some((steps, end)) = self.eat_step(at) {
            let (again, end) = self.eat_one(end, Sense::Last).map_or((0, end), |end| (-1, end));
            let (unit, end) = self.eat_unit(end)?;
            return Some((steps + again, unit, end));
        }
        let (unit, end) = self.eat_unit(at).filter(|_| self.is_postposing)?;
        let (steps, end) = self.eat_step(end)?;
        Some((steps, unit, end))
    }

    /// "Last week", "the last three days", "last June", "lundi dernier".
    pub(super) fn relative(&self, at: usize) -> Option<Point> {
        if let Some((steps, unit, end)) = self.stepped_unit(at) {
            return Some(self.within(Days::around(self.now, unit, steps), unit, end));
        }
        self.last_amount(at).or_else(|| self.stepped_name(at))
    }

    /// A weekday, month or season within a week or year that was just named: "last week on Friday".
    pub(super) fn within(&self, days: Days, unit: Unit, end: usize) -> Point {
        let inner = self.eat_one(end, Sense::In).unwrap_or(end);
        let year = civil(days.first).0;
        let (days, end) = match unit {
            Unit::Week => match self.eat_weekday(inner) {
                Some(((weekday, _), end)) => (Days::one(days.first + weekday - 1), end),
                None => (days, end),
            },
            Unit::Year => match (self.eat_month(inner), self.eat_season(inner)) {
                (Some(((month, _), end)), _) => (Days::month(year, month), end),
                (_, Some(((season, _), end))) => (Days::season(year, season), end),
                _ => match self.marked_month(inner) {
                    Some((month, end)) => self.marked_day(year, month, end).unwrap_or((Days::month(year, month), end)),
                    None => (days, end),
                },
            },
            _ => (days, end),
        };
        Point { days, end, has_year: true }
    }

    /// "The last three days", "the past week", "les 3 derniers jours".
    pub(super) fn last_amount(&self, at: usize) -> Option<Point> {
        let side = |at| {
            self.eat(at, |sense, _| match sense {
                Sense::Last | Sense::Past => Some(-1_i32),
                Sense::Next => Some(1),
                _ => None,
            })
        };
        let of_number = || {
            let (count, end) = self.eat_number(at)?;
            let (side, end) = side(end)?;
            Some((side, count, end))
        };
        let (side, count, end) = match side(at) {
            Some((side, end)) => match self.eat_number(end) {
                Some((count, end)) => (side, count, end),
                None => (side, 1, self.eat_one(at, Sense::Past)?),
            },
            None => of_number()?,
        };
        let (unit, end) = self.eat_unit(end)?;
        let (here, there) = (self.now, back(self.now, unit, -side * count));
        Some(Point { days: Days::new(here.min(there), here.max(there)), end, has_year: true })
    }

    /// "Last Monday", "next June", "this summer".
    pub(super) fn stepped_name(&self, at: usize) -> Option<Point> {
        let (name_at, step) = match self.eat_step(at) {
            Some((steps, end)) => (end, Some(steps)),
            None if self.is_postposing => (at, None),
            None => return None,
        };
        let (name, end) = self.eat(name_at, |sense, _| {
            matches!(sense, Sense::Weekday(_) | Sense::Month(_) | Sense::Season(_)).then_some(sense)
        })?;
        let (steps, end) = match step {
            Some(steps) => (steps, end),
            None => self.eat_step(end)?,
        };
        let days = match name {
            Sense::Weekday(day) => self.stepped_weekday(day, steps),
            Sense::Month(month) => self.stepped_of_year(steps, |year| Days::month(year, month)),
            Sense::Season(season) => self.stepped_of_year(steps, |year| Days::season(year, season)),
            _ => return None,
        };
        Some(Point { days, end, has_year: true })
    }

    pub(super) fn stepped_weekday(&self, day: i32, steps: i32) -> Days {
        let of_this_week = self.now - weekday(self.now) + day - 1;
        Days::one(match steps {
            0 => of_this_week,
            ..0 if of_this_week < self.now => of_this_week,
            ..0 => of_this_week - 7,
            _ if of_this_week > self.now => of_this_week,
            _ => of_this_week + 7,
        })
    }

    /// The last one that is over, this year's, or the next one that has not begun.
    pub(super) fn stepped_of_year(&self, steps: i32, of: impl Fn(i32) -> Days) -> Days {
        let year = civil(self.now).0;
        let years = (year - 2..=year + 2).map(&of);
        match steps {
            0 => of(year),
            ..0 => years.rev().find(|days| days.last < self.now).unwrap_or(of(year)),
            _ => years.into_iter().find(|days| days.first > self.now).unwrap_or(of(year)),
        }
    }

    /// "3 days ago", "vor 3 Tagen", "in two weeks", "неделю назад".
    pub(super) fn amount(&self, at: usize) -> Option<Point> {
        let before = self.eat(at, |sense, _| match sense {
            Sense::AgoBefore => Some((-1, true)),
            Sense::HenceBefore => Some((1, !self.is_bare_amount)),
            Sense::InFuture => Some((1, true)),
            _ => None,
        });
        let is_in = before.is_some() && self.eat_one(at, Sense::InFuture).is_some();
        let start = before.map_or(at, |(_, end)| end);
        let number = self.eat_number(start);
        let (count, unit_at) = number.unwrap_or((1, start));
        let (unit, end) = self.eat_unit(unit_at)?;
        let (side, end) = match before {
            Some(((_, needs_number), _)) if needs_number && number.is_none() => return None,
            // "In a day" is mostly an amount, not a date.
            Some(_) if is_in && count == 1 && !self.is_ahead => return None,
            Some(((side, _), _)) => (side, end),
            None => self.eat(end, |sense, _| match sense {
                Sense::Ago => Some(-1),
                Sense::Hence => Some(1),
                _ => None,
            })?,
        };
        Some(Point { days: Days::around(self.now, unit, side * count), end, has_year: true })
    }

    /// "Yesterday".
    pub(super) fn day(&self, at: usize) -> Option<Point> {
        /// A weak word counts if the query has at least this many words of its language.
        const VOTES_MIN: usize = 2;
        let (days, end) = self.eat(at, |sense, manner| match sense {
            _ if manner == Manner::Weak && self.votes < VOTES_MIN => None,
            Sense::Day(steps) => Some(Days::one(self.now + steps)),
            Sense::Night => Some(Days::new(self.now - 1, self.now)),
            _ => None,
        })?;
        Some(Point { days, end, has_year: true })
    }

    /// A weekday where something leads to it; "Friday of last week".
    pub(super) fn weekday(&self, at: usize, is_led: bool) -> Option<Point> {
        let ((day, manner), end) = self.eat_weekday(at)?;
        let inner = self.eat_one(end, Sense::In).unwrap_or(end);
        if let Some((steps, Unit::Week, end)) = self.stepped_unit(inner) {
            let week = Days::around(self.now, Unit::Week, steps);
            return Some(Point { days: Days::one(week.first + day - 1), end, has_year: true });
        }
        let is_led = is_led && manner != Manner::Weak || self.eat_one(end, Sense::InBehind).is_some();
        let newest = self.now - (self.now - (day - 1 - 3)).rem_euclid(7);
        let days = Days::one(if self.is_ahead && newest < self.now { newest + 7 } else { newest });
        is_led.then_some(Point { days, end, has_year: true })
    }

    /// "KW 47".
    pub(super) fn numbered_week(&self, at: usize) -> Option<Point> {
        let end = self.eat_one(at, Sense::WeekNo)?;
        let (number, end) = self.eat_digits(end, |value, _| (1..=53).contains(&value))?;
        let year = self.eat_year(end);
        let (year, end) = year.unwrap_or((civil(self.now).0, end));
        // The first week is the one with the 4th of January.
        let first = Days::around(day_of(year, 1, 4), Unit::Week, number - 1);
        Some(Point { days: first, end, has_year: true })
    }

    /// "Early June", "the end of last year", "end of the month".
    pub(super) fn part(&self, at: usize) -> Option<Point> {
        let (part, end) = self.eat(at, |sense, _| if let Sense::Part(part) = sense { Some(part) } else { None })?;
        let end = match self.lexemes.get(end)?.mark {
            Some('-') => end + 1,
            _ => self.eat_one(end, Sense::In).unwrap_or(end),
        };
        let unit = || {
            let (unit, end) = self.eat_unit(end)?;
            let days = Days::around(self.now, unit, 0);
            (days.count() > 2).then_some(Point { days, end, has_year: true })
        };
        let whole = self.month(end, true).or_else(|| self.relative(end)).or_else(|| self.quarter(end));
        let whole = whole.or_else(|| self.season(end, true));
        let whole = whole.or_else(|| self.year(end, true)).or_else(unit)?;
        Some(Point { days: third(whole.days, part), ..whole })
    }

    /// 六月底.
    pub(super) fn part_behind(&self, whole: Point) -> Option<Point> {
        let (part, end) =
            self.eat(whole.end, |sense, _| if let Sense::PartBehind(part) = sense { Some(part) } else { None })?;
        (whole.days.count() > 2).then(|| Point { days: third(whole.days, part), end, ..whole })
    }
}

/// The begin, middle or end of some days.
fn third(days: Days, part: i32) -> Days {
    let count = (days.count() / 3) as i32;
    match part {
        0 => Days::new(days.first, days.first + count - 1),
        1 => Days::new(days.first + count, days.last - count),
        _ => Days::new(days.last - count + 1, days.last),
    }
}
