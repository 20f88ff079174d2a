//! Which records still hold for one caller, and which ones a filter admits.

use smallvec::SmallVec;

use super::{NONE, Truth};
use crate::bits::Bits;

/// Says of records whether they still hold, for one caller at one moment.
pub(crate) struct Judge<'a> {
    pub(super) truth: &'a Truth,
    pub(super) now: i64,
    /// Sources of which the caller knows another hash than everybody does, with that hash. Nearly always none.
    pub(super) otherwise: SmallVec<[(u32, u32); 2]>,
}

impl Judge<'_> {
    /// Whether a record's time has passed, or its source has changed since.
    pub(crate) fn is_stale(&self, slot: u32) -> bool {
        let truth = self.truth;
        if !truth.valid_until.is_empty() && truth.valid_until.get(&slot).is_some_and(|&end| end <= self.now) {
            return true;
        }
        if self.otherwise.is_empty() {
            return truth.outdated.contains(slot);
        }
        let source = truth.source_of.get(slot);
        match self.otherwise.iter().find(|(known, _)| *known == source) {
            Some(&(_, hash)) => truth.is_outdated(slot, hash),
            None => truth.outdated.contains(slot),
        }
    }

    /// Whether another record that holds says something else under the key of this one. `sees` says of other records
    /// whether they count.
    pub(crate) fn is_disputed(&self, slot: u32, sees: impl Fn(u32) -> bool) -> bool {
        let truth = self.truth;
        let key = truth.key_of.get(slot);
        let differs = |other: &u32| truth.content_hashes[*other as usize] != truth.content_hashes[slot as usize];
        key != NONE && truth.holders.of(key).filter(differs).any(|other| !self.is_stale(other) && sees(other))
    }

    /// All records whose time has passed, or whose source has changed since.
    pub(crate) fn stale(&self) -> Bits {
        let truth = self.truth;
        let mut stale = truth.outdated.clone();
        for &(source, hash) in &self.otherwise {
            truth.source_of.each(source, |slot| stale.set(slot, truth.is_outdated(slot, hash)));
        }
        let expired = truth.valid_until.iter().filter(|(_, end)| **end <= self.now);
        expired.for_each(|(&slot, _)| stale.set(slot, true));
        stale
    }

    /// The records that `filter` admits.
    pub(crate) fn admit(&self, filter: &Narrowing<'_>, slots: usize) -> Bits {
        let truth = self.truth;
        let mut admitted = Bits::full(slots);
        if filter.exclude_stale {
            admitted.remove_all(&self.stale());
        }
        for (texts, column, wanted) in
            [(&truth.keys, &truth.key_of, filter.fact_key), (&truth.sources, &truth.source_of, filter.source_id)]
        {
            let Some(wanted) = wanted else { continue };
            let having = texts.find(wanted).map(|wanted| column.having(|number| number == wanted));
            admitted.keep_only(&having.unwrap_or_default());
        }
        if !filter.tags.is_empty() {
            admitted.keep_only(&self.tagged(filter.tags));
        }
        if let Some(slots_of) = filter.slots {
            let mut asked = Bits::empty(slots);
            slots_of.iter().for_each(|&slot| asked.set(slot, true));
            admitted.keep_only(&asked);
        }
        if filter.since.is_some() || filter.until.is_some() {
            let (since, until) = (filter.since.unwrap_or(i64::MIN), filter.until.unwrap_or(i64::MAX));
            admitted.keep_only(&Bits::of(&truth.times, |at| (since..=until).contains(at)));
        }
        admitted
    }

    /// The records that have all of these tags.
    fn tagged(&self, wanted: &[String]) -> Bits {
        let truth = self.truth;
        let has_all = |set: u32| {
            let own = truth.tag_sets.text(set);
            wanted.iter().all(|tag| own.split('\n').any(|known| known == tag))
        };
        // The last is for records without tags: asking for those first would be a branch that no processor guesses.
        let mut admits: Vec<bool> = (0..truth.tag_sets.len() as u32).map(has_all).collect();
        admits.push(false);
        let last = admits.len() - 1;
        truth.tags_of.having(|set| admits[(set as usize).min(last)])
    }
}

/// Which records a caller asks for, as this crate numbers them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Narrowing<'a> {
    pub(crate) exclude_stale: bool,
    pub(crate) fact_key: Option<&'a str>,
    pub(crate) source_id: Option<&'a str>,
    pub(crate) tags: &'a [String],
    pub(crate) slots: Option<&'a [u32]>,
    pub(crate) since: Option<i64>,
    pub(crate) until: Option<i64>,
}
