//! What a phrase of time in the query does: records of the days that it means gain, and nothing is filtered. Its words
//! do not count, for "last week" says nothing of what is looked for.

use std::borrow::Cow;

use crate::meaning::NO_VECTOR;
use crate::recipe::{Recipe, Timing};
use crate::records::NOBODY;
use crate::search::SearchRequest;
use crate::time::{Days, TimePhrase};

use super::{Candidate, Ranking};

/// The days that a query means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    days: Days,
    timing: Timing,
    /// Whether nothing else is asked for: "what did we do last week?"
    is_all: bool,
}

/// The query but for its phrase of time.
pub(crate) fn without_phrase<'a>(request: &SearchRequest<'a>) -> Cow<'a, str> {
    match request.time {
        None => Cow::Borrowed(request.query),
        Some(phrase) => {
            let mut rest = request.query.to_owned();
            // As many spaces as bytes: the other places stay where they are.
            for words in std::iter::once(&phrase.words).chain(&phrase.fillers) {
                rest.replace_range(words.clone(), &" ".repeat(words.len()));
            }
            Cow::Owned(rest)
        }
    }
}

/// Where nothing else is asked for, the phrase is the only word of the query, and the records of its days have it.
/// Elsewhere it is a word that no record has: it moves records, and says nothing of how well they answer. A poem about
/// afternoons "in winter" must not bring along what was saved in winter.
pub(crate) fn with_time(wanted: Option<Wanted>, count: f64, terms: u32, is_in_time: bool) -> (f64, u32) {
    match wanted {
        None => (count, terms),
        Some(wanted) if wanted.is_all => (f64::from(u8::from(is_in_time)), 1),
        Some(_) => (count, terms + 1),
    }
}

impl Wanted {
    pub(crate) fn new(recipe: &Recipe, phrase: &TimePhrase, is_all: bool) -> Self {
        Self { days: phrase.days, timing: recipe.time, is_all }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.is_all
    }

    /// What a record gains that lies `distance` days outside.
    pub(crate) fn gain(&self, distance: i64) -> f64 {
        let (least, most) = self.timing.reach_days;
        let reach = self.days.count().clamp(least, most);
        match distance {
            0 => self.timing.inside,
            _ => self.timing.near * (1.0 - distance as f64 / (reach + 1) as f64).max(0.0),
        }
    }
}

/// How many days lie between what is meant and the nearest day of a record: when it happened, or was saved, and the
/// dates in its text.
pub(crate) fn distance(days: Days, time: i64, dates: impl Iterator<Item = Days>) -> i64 {
    const SECONDS_PER_DAY: i64 = 86_400;
    let own = i32::try_from(time.div_euclid(SECONDS_PER_DAY)).unwrap_or(if time < 0 { i32::MIN } else { i32::MAX });
    dates.map(|date| days.distance(date)).fold(days.distance(Days::one(own)), i64::min)
}

impl Ranking<'_> {
    /// Adds what the candidates gain by their time.
    pub(super) fn add_time(&self, candidates: &mut [Candidate]) {
        let Some(wanted) = &self.wanted else { return };
        for candidate in candidates {
            let distance = self.distance(wanted, candidate.slot);
            candidate.is_in_time = distance == 0;
            candidate.time_share = wanted.gain(distance);
            candidate.strength += candidate.time_share;
        }
    }

    /// Where nothing but a time is asked for, the newest records of it need no word of the query.
    pub(super) fn let_in_timely(&mut self) {
        let Some(wanted) = self.wanted.filter(Wanted::is_all) else { return };
        let slots = self.index.records.order().slots().iter().rev().copied();
        let is_one = |&slot: &u32| slot != NOBODY && self.seen.contains(slot) && self.distance(&wanted, slot) == 0;
        let mut timely: Vec<u32> = slots.filter(is_one).take(self.recipe.bounds.company).collect();
        timely.retain(|slot| self.kindred.binary_search_by_key(slot, |&(known, _)| known).is_err());
        let nearness = match &self.near {
            None => vec![NO_VECTOR; timely.len()],
            Some(near) => self.index.vectors.nearness_at(near, &timely),
        };
        self.kindred.extend(timely.into_iter().zip(nearness));
        self.kindred.sort_unstable_by_key(|&(slot, _)| slot);
    }

    fn distance(&self, wanted: &Wanted, slot: u32) -> i64 {
        distance(wanted.days, self.index.truth.time_of(slot), self.index.records.dates(slot))
    }
}
