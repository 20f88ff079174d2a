//! The phrase of time in a query: which words of it, and which days they mean.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::calendar::{Day, Days, back, civil, day_of, exists};
use super::reader::{Point, Reader};
use super::tokens::{Kind, Token, tokens};
use super::vocabulary::{Bound, Sense, Vocabulary};

/// What a query says about time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimePhrase {
    /// The days that are meant.
    pub days: Days,
    /// Where its words stand in the query, in bytes.
    pub words: Range<usize>,
    /// Where words are that say nothing beside a time: "happened".
    pub fillers: Vec<Range<usize>>,
}

/// The longest phrase of time in a query, read on a day. Each of the languages reads by itself.
pub fn time_phrase(query: &str, now: Day) -> Option<TimePhrase> {
    let tokens = tokens(query);
    let mut best: Option<(usize, usize, TimePhrase)> = None;
    for language in languages(&tokens) {
        let reader = Reader::new(query, &tokens, language, now);
        for at in reader.starts() {
            let Some((days, end)) = reader.phrase(at, now) else { continue };
            let words = reader.lexemes[at].at.start..reader.lexemes[end - 1].at.end;
            let rank = (words.len(), reader.votes);
            if best.as_ref().is_none_or(|(length, votes, _)| rank > (*length, *votes)) {
                let is_outside = |at: &Range<usize>| at.end <= words.start || words.end <= at.start;
                let fillers = reader.fillers().filter(is_outside).collect();
                best = Some((rank.0, rank.1, TimePhrase { days, words, fillers }));
            }
        }
    }
    best.map(|(_, _, phrase)| phrase)
}

/// The languages to read a query in: those of which it has a word without which no phrase of time is made. Most queries
/// have none, and are not read. A number needs no such word, only one of its language; numbers alone are read in the
/// first.
fn languages(tokens: &[Token]) -> impl Iterator<Item = usize> {
    use Sense::{Day, Month, Night, Q, Season, Unit, WeekNo, Weekday};
    let is_core =
        |sense: &Sense| matches!(sense, Day(_) | Night | Unit(_) | Month(_) | Weekday(_) | Season(_) | Q | WeekNo);
    let vocabulary = Vocabulary::shipped();
    let has_number = tokens.iter().any(|token| matches!(token.kind, Kind::Number(..)));
    let mut are_read: SmallVec<[bool; 16]> = smallvec![false; vocabulary.languages.len()];
    are_read[0] = has_number;
    for at in 0..tokens.len() {
        for (meaning, _) in vocabulary.meanings(&tokens[at..]) {
            are_read[meaning.language] |= has_number || meaning.senses.iter().any(is_core);
        }
    }
    are_read.into_iter().enumerate().filter_map(|(language, is_read)| is_read.then_some(language))
}

impl Reader {
    /// The longest phrase that begins at a word, and where it ends.
    fn phrase(&self, at: usize, now: Day) -> Option<(Days, usize)> {
        let found = [
            self.bounded(at, now),
            self.since_amount(at, now),
            self.two_points(at),
            self.bounded_behind(at, now),
            self.led(at),
            self.point(at, false).map(|point| (point.days, point.end)),
        ];
        found.into_iter().flatten().reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// "In June", "on Monday".
    fn led(&self, at: usize) -> Option<(Days, usize)> {
        let mut end = self.eat_one(at, Sense::In)?;
        while let Some(further) = self.eat_one(end, Sense::In) {
            end = further;
        }
        self.point(end, true).map(|point| (point.days, point.end))
    }

    /// "Since Monday", "before 3 March".
    fn bounded(&self, at: usize, now: Day) -> Option<(Days, usize)> {
        let (bound, end) = self.eat(at, |sense, _| if let Sense::Bound(bound) = sense { Some(bound) } else { None })?;
        let end = self.eat_one(end, Sense::In).unwrap_or(end);
        let point = self.point(end, true)?;
        Some((beyond(bound, point.days, now), point.end))
    }

    /// "Seit drei Tagen".
    fn since_amount(&self, at: usize, now: Day) -> Option<(Days, usize)> {
        let end = self.eat_one(at, Sense::Bound(Bound::Since))?;
        let (count, end) = self.eat_number(end)?;
        let (unit, end) = self.eat_unit(end)?;
        Some((Days::new(back(now, unit, count), now), end))
    }

    /// "6月以来", "pazartesiden beri".
    fn bounded_behind(&self, at: usize, now: Day) -> Option<(Days, usize)> {
        let point = self.point(at, true)?;
        let wanted = |sense, _| if let Sense::BoundBehind(bound) = sense { Some(bound) } else { None };
        let (bound, end) = self.eat(point.end, wanted)?;
        Some((beyond(bound, point.days, now), end))
    }

    /// "Between March and May", "from June to August".
    fn two_points(&self, at: usize) -> Option<(Days, usize)> {
        let started = |start: Sense, middle: Sense| {
            let first = self.point(self.eat_one(at, start)?, true)?;
            let last = self.point(self.eat_one(first.end, middle)?, true)?;
            Some((first, last, last.end))
        };
        let closed = |middle: Sense, closing: Sense| {
            let first = self.point(at, true)?;
            let last = self.point(self.eat_one(first.end, middle)?, true)?;
            Some((first, last, self.eat_one(last.end, closing)?))
        };
        let (first, last, end) = started(Sense::Between, Sense::And)
            .or_else(|| started(Sense::From, Sense::To))
            .or_else(|| closed(Sense::And, Sense::BetweenBehind))
            .or_else(|| closed(Sense::FromBehind, Sense::BoundBehind(Bound::Until)))?;
        Some((spanned(first, last)?, end))
    }
}

/// From one date to another. A first date without a year is the newest one before the last.
fn spanned(first: Point, last: Point) -> Option<Days> {
    let moved = |day: Day, years: i32| {
        let (year, month, of_month) = civil(day);
        let of_month = if exists(year + years, month, of_month) { of_month } else { 28 };
        day_of(year + years, month, of_month)
    };
    let mut start = first.days.first;
    if !first.has_year {
        start = moved(start, civil(last.days.first).0 - civil(start).0);
        start = if start > last.days.last { moved(start, -1) } else { start };
    }
    (start <= last.days.last).then(|| Days::new(start, last.days.last))
}

/// The days on one side of a date. What has begun lasts until today.
fn beyond(bound: Bound, days: Days, now: Day) -> Days {
    let from = |first: Day| Days::new(first, if first <= now { now } else { Days::OPEN_LAST });
    match bound {
        Bound::Since => from(days.first),
        Bound::After => from(days.last + 1),
        Bound::Until => Days::new(Days::OPEN_FIRST, days.last),
        Bound::Before => Days::new(Days::OPEN_FIRST, days.first - 1),
    }
}
