//! Days, months and years of the Gregorian calendar, as numbers of days since 1970.

/// Days since 1970, in UTC.
pub type Day = i32;

/// Some days in a row, both ends among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Days {
    /// The first; [`Days::OPEN_FIRST`] where there is no beginning.
    pub first: Day,
    /// The last; [`Days::OPEN_LAST`] where there is no end.
    pub last: Day,
}

/// Parts of the calendar that a phrase counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Hour,
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
}

impl Days {
    /// In place of a first day: everything before the last.
    pub const OPEN_FIRST: Day = i32::MIN;
    /// In place of a last day: everything from the first on.
    pub const OPEN_LAST: Day = i32::MAX;

    /// One day.
    pub fn one(day: Day) -> Self {
        Self { first: day, last: day }
    }

    pub(super) fn new(first: Day, last: Day) -> Self {
        Self { first, last }
    }

    /// A month of a year, counted from 1; months beyond 12 or below 1 belong to other years.
    pub(super) fn month(year: i32, month: i32) -> Self {
        Self::months(year, month, 1)
    }

    /// Some months in a row.
    pub(super) fn months(year: i32, month: i32, count: i32) -> Self {
        let first = |month: i32| day_of(year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1, 1);
        Self::new(first(month), first(month + count) - 1)
    }

    pub(super) fn year(year: i32) -> Self {
        Self::months(year, 1, 12)
    }

    /// From spring, 0, to winter, 3, which ends in the following year.
    pub(super) fn season(year: i32, season: i32) -> Self {
        Self::months(year, 3 + 3 * season, 3)
    }

    /// The part of the calendar that a day lies in, `steps` of them later.
    pub(super) fn around(day: Day, unit: Unit, steps: i32) -> Self {
        let (year, month, _) = civil(day);
        let monday = day - weekday(day) + 7 * steps;
        match unit {
            Unit::Hour => Self::one(day + steps.div_euclid(24)),
            Unit::Day => Self::one(day + steps),
            Unit::Week => Self::new(monday, monday + 6),
            Unit::Weekend => Self::new(monday + 5, monday + 6),
            Unit::Month => Self::month(year, month + steps),
            Unit::Quarter => Self::months(year, (month - 1) / 3 * 3 + 1 + 3 * steps, 3),
            Unit::Year => Self::year(year + steps),
        }
    }

    /// How many days lie between this and that: 0 where they overlap.
    pub(crate) fn distance(self, other: Self) -> i64 {
        let gap = |end: Day, start: Day| i64::from(start) - i64::from(end);
        gap(self.last, other.first).max(gap(other.last, self.first)).max(0)
    }

    /// How many days these are.
    pub(crate) fn count(self) -> i64 {
        i64::from(self.last) - i64::from(self.first) + 1
    }
}

/// Whole units before a day, not by the calendar: "the last two months".
pub(super) fn back(day: Day, unit: Unit, count: i32) -> Day {
    let (year, month, of_month) = civil(day);
    let months = |count: i32| {
        let target = Days::month(year, month - count);
        (target.first + of_month - 1).min(target.last)
    };
    match unit {
        Unit::Hour => day - (count + 23) / 24,
        Unit::Day => day - count,
        Unit::Week | Unit::Weekend => day - 7 * count,
        Unit::Month => months(count),
        Unit::Quarter => months(3 * count),
        Unit::Year => months(12 * count),
    }
}

/// From Monday, 0, to Sunday, 6.
pub(super) fn weekday(day: Day) -> i32 {
    (day + 3).rem_euclid(7)
}

/// Whether there is such a day.
pub(super) fn exists(year: i32, month: i32, day: i32) -> bool {
    (1..=12).contains(&month) && day >= 1 && i64::from(day) <= Days::month(year, month).count()
}

/// The number of a day that exists. Howard Hinnant's `days_from_civil`.
pub fn day_of(year: i32, month: i32, day: i32) -> Day {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + (of_era * 365 + of_era / 4 - of_era / 100 + of_year) - 719_468
}

/// Year, month and day of a number.
pub fn civil(day: Day) -> (i32, i32, i32) {
    let days = i64::from(day) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as i32, day as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_a_thousand_years_comes_back_and_follows_the_one_before() {
        let mut before = civil(day_of(1599, 12, 31));
        assert_eq!(day_of(1970, 1, 1), 0);
        assert_eq!(weekday(day_of(2026, 11, 18)), 2, "a Wednesday");
        for day in day_of(1600, 1, 1)..day_of(2600, 1, 1) {
            let (year, month, of_month) = civil(day);
            assert_eq!(day_of(year, month, of_month), day);
            let follows = (year, month, of_month) == (before.0, before.1, before.2 + 1)
                || of_month == 1 && (year, month) == (before.0, before.1 + 1)
                || (month, of_month) == (1, 1) && year == before.0 + 1;
            assert!(follows && exists(year, month, of_month), "{before:?}, {:?}", civil(day));
            before = (year, month, of_month);
        }
        assert!(!exists(2026, 2, 29) && exists(2028, 2, 29) && !exists(2026, 13, 1) && !exists(2026, 1, 0));
    }

    #[test]
    fn parts_of_the_calendar_hold_the_day_they_are_around() {
        let day = day_of(2026, 11, 18);
        let check = |unit, steps, first: (i32, i32, i32), last: (i32, i32, i32)| {
            let days = Days::around(day, unit, steps);
            assert_eq!((civil(days.first), civil(days.last)), (first, last), "{unit:?} {steps}");
        };
        check(Unit::Week, 0, (2026, 11, 16), (2026, 11, 22));
        check(Unit::Weekend, -1, (2026, 11, 14), (2026, 11, 15));
        check(Unit::Month, 2, (2027, 1, 1), (2027, 1, 31));
        check(Unit::Quarter, 0, (2026, 10, 1), (2026, 12, 31));
        check(Unit::Quarter, -4, (2025, 10, 1), (2025, 12, 31));
        check(Unit::Year, 1, (2027, 1, 1), (2027, 12, 31));
        assert_eq!(civil(back(day_of(2026, 3, 31), Unit::Month, 1)), (2026, 2, 28));
    }
}
