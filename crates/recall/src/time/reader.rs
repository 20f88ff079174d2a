//! Finds dates in a row of words, read in one language: "3 March", "last week", "vor zwei Tagen". What is around a date
//! ("since", "between … and …") is the business of `phrase.rs`.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::calendar::{Day, Days, Unit, back, civil, day_of, exists, weekday};
use super::tokens::{Kind, Token};
use super::vocabulary::{Manner, Sense, Vocabulary};

/// One word of a language, or a number or mark.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) at: Range<usize>,
    digits: Option<(u32, usize)>,
    mark: Option<char>,
    senses: SmallVec<[(Sense, Manner); 2]>,
}

/// A row of words in one language, on one day.
pub(super) struct Reader {
    pub(super) lexemes: Vec<Lexeme>,
    now: Day,
    /// Whether what is asked about is to come: a month without a year is the next one then.
    is_ahead: bool,
    /// Whether "last" may stand behind its word: "semaine dernière".
    is_postposing: bool,
    /// Whether "in" needs no number: "через неделю".
    is_bare_amount: bool,
    /// How many words are of this language.
    pub(super) votes: usize,
}

/// Some days that words name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) days: Days,
    /// Behind its last word.
    pub(super) end: usize,
    pub(super) has_year: bool,
}

/// The languages that put "last" behind its word, and those that count without a number.
const POSTPOSING: [&str; 4] = ["fr", "es", "pt", "it"];
const BARE_AMOUNTS: [&str; 3] = ["ru", "uk", "pl"];

impl Reader {
    /// Reads tokens in a language; `text` is what they were cut from.
    pub(super) fn new(text: &str, tokens: &[Token], language: usize, now: Day) -> Self {
        let vocabulary = Vocabulary::shipped();
        let (mut lexemes, mut votes, mut at) = (Vec::new(), 0, 0);
        while at < tokens.len() {
            let token = &tokens[at];
            let own = || vocabulary.meanings(&tokens[at..]).filter(|(meaning, _)| meaning.language == language);
            let length = own().map(|(_, length)| length).max();
            let span = token.at.start..tokens[at + length.unwrap_or(1) - 1].at.end;
            let is_name = at > 0 && text[span.clone()].starts_with(char::is_uppercase);
            let manner = |manner: Manner| if manner == Manner::Weak && is_name { Manner::Plain } else { manner };
            let longest = || own().filter(|(_, known)| Some(*known) == length).map(|(meaning, _)| meaning);
            if let Some(row) = longest().find(|meaning| meaning.senses.len() > 1) {
                let one = |&sense: &Sense| Lexeme::word(span.clone(), smallvec![(sense, row.manner)]);
                lexemes.extend(row.senses.iter().map(one));
            } else {
                let senses = longest().map(|meaning| (meaning.senses[0], manner(meaning.manner))).collect();
                let mut lexeme = Lexeme::word(span, senses);
                match token.kind {
                    Kind::Number(value, digits) => lexeme.digits = Some((value, digits)),
                    Kind::Mark(mark) => lexeme.mark = Some(mark),
                    Kind::Word(_) => votes += usize::from(length.is_some()),
                }
                lexemes.push(lexeme);
            }
            at += length.unwrap_or(1);
        }
        let is_ahead = lexemes.iter().any(|lexeme| lexeme.has(Sense::Ahead));
        let name = vocabulary.languages[language];
        let (is_postposing, is_bare_amount) = (POSTPOSING.contains(&name), BARE_AMOUNTS.contains(&name));
        Self { lexemes, now, is_ahead, is_postposing, is_bare_amount, votes }
    }

    /// The longest date that begins here. `is_led`: something before it says that it is one, as "in" does before
    /// "June".
    pub(super) fn point(&self, at: usize, is_led: bool) -> Option<Point> {
        let found = [
            self.numeric(at),
            self.day_of_month(at, is_led),
            self.month(at, is_led),
            self.relative(at),
            self.amount(at),
            self.weekday(at, is_led),
            self.season(at, is_led),
            self.quarter(at),
            self.numbered_week(at),
            self.year(at, is_led),
            self.day(at),
            self.part(at),
        ];
        let longest = found.into_iter().flatten().reduce(|best, next| if next.end > best.end { next } else { best })?;
        Some(self.part_behind(longest).unwrap_or(longest))
    }

    /// A date that begins here and names its year, and at least its month.
    pub(super) fn dated(&self, at: usize) -> Option<Point> {
        let named = self.day_of_month(at, false).filter(|point| point.has_year);
        let named = named.or_else(|| self.month(at, false)).filter(|point| point.has_year && point.days.count() < 32);
        self.numeric(at).or(named)
    }

    /// The next word that means what is looked for; articles before it are passed.
    pub(super) fn eat<T>(&self, mut at: usize, wanted: impl Fn(Sense, Manner) -> Option<T>) -> Option<(T, usize)> {
        loop {
            let lexeme = self.lexemes.get(at)?;
            if let Some(found) = lexeme.senses.iter().find_map(|&(sense, manner)| wanted(sense, manner)) {
                return Some((found, at + 1));
            }
            if !lexeme.is_passed() {
                return None;
            }
            at += 1;
        }
    }

    /// Behind the next word, if it means this.
    pub(super) fn eat_one(&self, at: usize, wanted: Sense) -> Option<usize> {
        self.eat(at, |sense, _| (sense == wanted).then_some(())).map(|(_, end)| end)
    }

    fn eat_digits(&self, mut at: usize, is_it: impl Fn(u32, usize) -> bool) -> Option<(i32, usize)> {
        loop {
            let lexeme = self.lexemes.get(at)?;
            if let Some((value, digits)) = lexeme.digits {
                return is_it(value, digits).then_some((value as i32, at + 1));
            }
            if !lexeme.is_passed() && !matches!(lexeme.mark, Some(',' | '-' | '.' | '/')) {
                return None;
            }
            at += 1;
        }
    }

    /// A number in digits or words.
    pub(super) fn eat_number(&self, at: usize) -> Option<(i32, usize)> {
        if let Some((value, _)) = self.lexemes.get(at)?.digits {
            return (1..=400).contains(&value).then_some((value as i32, at + 1));
        }
        let number = |sense, _| if let Sense::Number(number) = sense { Some(number) } else { None };
        self.eat(at, number).or_else(|| self.lexemes[at].is_passed().then(|| self.eat_number(at + 1))?)
    }

    pub(super) fn eat_unit(&self, at: usize) -> Option<(Unit, usize)> {
        self.eat(at, |sense, _| if let Sense::Unit(unit) = sense { Some(unit) } else { None })
    }

    fn eat_month(&self, at: usize) -> Option<((i32, Manner), usize)> {
        self.eat(at, |sense, manner| if let Sense::Month(month) = sense { Some((month, manner)) } else { None })
    }

    /// Last, this or next, as steps; "past" is none of them.
    fn eat_step(&self, at: usize) -> Option<(i32, usize)> {
        self.eat(at, |sense, _| match sense {
            Sense::Last => Some(-1),
            Sense::This => Some(0),
            Sense::Next => Some(1),
            _ => None,
        })
    }

    /// A year: in digits, or "last year".
    fn eat_year(&self, at: usize) -> Option<(i32, usize)> {
        let at = self.eat_one(at, Sense::In).unwrap_or(at);
        if let Some((year, end)) = self.eat_digits(at, is_year) {
            return Some((year, self.eat_one(end, Sense::YearMark).or_else(|| self.year_word(end)).unwrap_or(end)));
        }
        let (steps, unit, end) = self.stepped_unit(at)?;
        (unit == Unit::Year).then(|| (civil(self.now).0 + steps, end))
    }

    /// Behind the word for a year that follows its number: "2025 года".
    fn year_word(&self, at: usize) -> Option<usize> {
        self.is_bare_amount
            .then(|| self.eat_unit(at))
            .flatten()
            .filter(|(unit, _)| *unit == Unit::Year)
            .map(|found| found.1)
    }

    /// "Last week": how many units from this one. "Last" twice is the one before.
    fn stepped_unit(&self, at: usize) -> Option<(i32, Unit, usize)> {
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
    fn relative(&self, at: usize) -> Option<Point> {
        if let Some((steps, unit, end)) = self.stepped_unit(at) {
            return Some(self.within(Days::around(self.now, unit, steps), unit, end));
        }
        self.last_amount(at).or_else(|| self.stepped_name(at))
    }

    /// A weekday, month or season within a week or year that was just named: "last week on Friday".
    fn within(&self, days: Days, unit: Unit, end: usize) -> Point {
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
    fn last_amount(&self, at: usize) -> Option<Point> {
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
    fn stepped_name(&self, at: usize) -> Option<Point> {
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

    fn stepped_weekday(&self, day: i32, steps: i32) -> Days {
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
    fn stepped_of_year(&self, steps: i32, of: impl Fn(i32) -> Days) -> Days {
        let year = civil(self.now).0;
        let years = (year - 2..=year + 2).map(&of);
        match steps {
            0 => of(year),
            ..0 => years.rev().find(|days| days.last < self.now).unwrap_or(of(year)),
            _ => years.into_iter().find(|days| days.first > self.now).unwrap_or(of(year)),
        }
    }

    /// Without a year it is the newest that has begun; if what is asked about is to come, the next that is not over.
    fn nearest(&self, of: impl Fn(i32) -> Days) -> Days {
        let year = civil(self.now).0;
        let mut years = (year - 2..=year + 2).map(&of);
        let found = if self.is_ahead {
            years.find(|days| days.last >= self.now)
        } else {
            years.rev().find(|days| days.first <= self.now)
        };
        found.unwrap_or(of(year))
    }

    /// "3 days ago", "vor 3 Tagen", "in two weeks", "неделю назад".
    fn amount(&self, at: usize) -> Option<Point> {
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
    fn day(&self, at: usize) -> Option<Point> {
        /// So many words of its language make a weak one credible.
        const VOTES_MIN: usize = 2;
        let (days, end) = self.eat(at, |sense, manner| match sense {
            _ if manner == Manner::Weak && self.votes < VOTES_MIN => None,
            Sense::Day(steps) => Some(Days::one(self.now + steps)),
            Sense::Night => Some(Days::new(self.now - 1, self.now)),
            _ => None,
        })?;
        Some(Point { days, end, has_year: true })
    }

    /// "2026-06-14", "2026-06", "14.06.2026"; where day and month can't be told apart, nothing.
    fn numeric(&self, at: usize) -> Option<Point> {
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
    fn stands_alone(&self, start: usize, end: usize) -> bool {
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

    /// Whether nothing is between a lexeme and the one before.
    fn is_glued(&self, at: usize) -> bool {
        at > 0 && self.lexemes[at].at.start == self.lexemes[at - 1].at.end
    }

    /// "3 March 2026", "March 3rd", "3–5 марта", "6月3日".
    fn day_of_month(&self, at: usize, is_led: bool) -> Option<Point> {
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
        let (days, (month, manner), end, is_ordinal) = self.days_then_month(at).or_else(|| self.month_then_days(at))?;
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

    fn days_then_month(&self, at: usize) -> Option<((i32, i32), (i32, Manner), usize, bool)> {
        let (days, end, is_ordinal) = self.eat_days(at)?;
        if at > 0 && self.is_glued(at) && !matches!(self.lexemes[at - 1].mark, Some('(' | '[' | '"' | '«' | '“')) {
            return None;
        }
        let end = if self.lexemes.get(end)?.mark == Some('.') { end + 1 } else { end };
        let end = if self.lexemes.get(end)?.mark == Some('-') { end + 1 } else { end };
        let (month, end) = self.eat_month(end)?;
        Some((days, month, end, is_ordinal))
    }

    fn month_then_days(&self, at: usize) -> Option<((i32, i32), (i32, Manner), usize, bool)> {
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
        (!goes_on || self.lexemes.get(end + 1).is_none()).then_some((days, month, end, is_ordinal))
    }

    /// A day of a month, or some: "3", "3rd", "3–5".
    fn eat_days(&self, at: usize) -> Option<((i32, i32), usize, bool)> {
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
    fn month(&self, at: usize, is_led: bool) -> Option<Point> {
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
    fn marked_year(&self, at: usize) -> Option<(i32, usize)> {
        let (value, digits) = self.lexemes.get(at)?.digits?;
        let end = self.eat_one(at + 1, Sense::YearMark)?;
        is_year(value, digits).then_some((value as i32, end))
    }

    /// 6月, 六月.
    fn marked_month(&self, at: usize) -> Option<(i32, usize)> {
        let lexeme = self.lexemes.get(at)?;
        match lexeme.digits {
            Some((value @ 1..=12, 1 | 2)) => Some((value as i32, self.eat_one(at + 1, Sense::MonthMark)?)),
            Some(_) => None,
            None => self.eat_month(at).map(|((month, _), end)| (month, end)),
        }
    }

    /// 3日.
    fn marked_day(&self, year: i32, month: i32, at: usize) -> Option<(Days, usize)> {
        let (day, end) = self.eat_number(at)?;
        let end = self.eat_one(end, Sense::DayMark)?;
        exists(year, month, day).then(|| (Days::one(day_of(year, month, day)), end))
    }

    fn eat_weekday(&self, at: usize) -> Option<((i32, Manner), usize)> {
        self.eat(at, |sense, manner| if let Sense::Weekday(day) = sense { Some((day, manner)) } else { None })
    }

    /// A weekday where something leads to it; "Friday of last week".
    fn weekday(&self, at: usize, is_led: bool) -> Option<Point> {
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

    fn eat_season(&self, at: usize) -> Option<((i32, Manner), usize)> {
        self.eat(at, |sense, manner| if let Sense::Season(season) = sense { Some((season, manner)) } else { None })
    }

    fn season(&self, at: usize, is_led: bool) -> Option<Point> {
        let ((season, manner), end) = self.eat_season(at)?;
        if let Some((year, end)) = self.eat_year(end) {
            return Some(Point { days: Days::season(year, season), end, has_year: true });
        }
        let is_led = is_led && manner != Manner::Weak || manner == Manner::At;
        let is_led = is_led || self.eat_one(end, Sense::InBehind).is_some();
        is_led.then(|| Point { days: self.nearest(|year| Days::season(year, season)), end, has_year: false })
    }

    /// "Q3 2026", "the third quarter".
    fn quarter(&self, at: usize) -> Option<Point> {
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

    /// "KW 47".
    fn numbered_week(&self, at: usize) -> Option<Point> {
        let end = self.eat_one(at, Sense::WeekNo)?;
        let (number, end) = self.eat_digits(end, |value, _| (1..=53).contains(&value))?;
        let year = self.eat_year(end);
        let (year, end) = year.unwrap_or((civil(self.now).0, end));
        // The first week is the one with the 4th of January.
        let first = Days::around(day_of(year, 1, 4), Unit::Week, number - 1);
        Some(Point { days: first, end, has_year: true })
    }

    /// "In 2025", "im Jahr 2025".
    fn year(&self, at: usize, is_led: bool) -> Option<Point> {
        let named = self.eat_unit(at).filter(|(unit, _)| *unit == Unit::Year).map(|(_, end)| end);
        let start = named.unwrap_or(at);
        let (value, digits) = self.lexemes.get(start)?.digits?;
        let end = self.year_word(start + 1);
        let is_sure = is_led || named.is_some() || end.is_some();
        let end = end.unwrap_or(start + 1);
        let is_alone = is_year(value, digits) && self.stands_alone(start, end);
        (is_sure && is_alone).then(|| Point { days: Days::year(value as i32), end, has_year: true })
    }

    /// "Early June", "the end of last year", "end of the month".
    fn part(&self, at: usize) -> Option<Point> {
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
    fn part_behind(&self, whole: Point) -> Option<Point> {
        let (part, end) =
            self.eat(whole.end, |sense, _| if let Sense::PartBehind(part) = sense { Some(part) } else { None })?;
        (whole.days.count() > 2).then(|| Point { days: third(whole.days, part), end, ..whole })
    }
}

impl Lexeme {
    fn word(at: Range<usize>, senses: SmallVec<[(Sense, Manner); 2]>) -> Self {
        Self { at, digits: None, mark: None, senses }
    }

    pub(super) fn has(&self, wanted: Sense) -> bool {
        self.senses.iter().any(|(sense, _)| *sense == wanted)
    }

    /// Whether it says nothing between two words of a date.
    fn is_passed(&self) -> bool {
        self.has(Sense::Skip) || matches!(self.mark, Some('\'' | '’'))
    }
}

fn is_year(value: u32, digits: usize) -> bool {
    digits == 4 && (1900..=2100).contains(&value)
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
