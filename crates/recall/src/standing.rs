//! Whether records still hold, for one caller: of the few that a search found, and of every record of a workspace that
//! the caller sees, which counts and lists are made from.

use std::cell::OnceCell;

use crate::bits::Bits;
use crate::index::WorkspaceIndex;
use crate::records::AudienceNo;
use crate::search::Hit;
use crate::truth::Truth;

/// Whether a record still holds. The first that applies counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// Its time has passed, or its source has changed or is gone.
    Stale,
    /// Another record that is not stale says something else under its key.
    Disputed,
    /// Its source was confirmed to be as it was.
    Confirmed,
    /// Nothing is known against it.
    Unconfirmed,
}

impl Holding {
    fn first(is_stale: bool, is_disputed: impl FnOnce() -> bool, is_confirmed: impl FnOnce() -> bool) -> Self {
        if is_stale {
            Self::Stale
        } else if is_disputed() {
            Self::Disputed
        } else if is_confirmed() {
            Self::Confirmed
        } else {
            Self::Unconfirmed
        }
    }
}

/// The records of a workspace that somebody sees, at one moment. Little is computed before it is asked for: most counts
/// need a small part of what is known.
pub struct Standings<'a> {
    index: &'a WorkspaceIndex,
    /// By audience.
    sees: &'a [bool],
    visible: Bits,
    /// Also of records that are not visible.
    stale: Bits,
    /// By number of key.
    disputed: OnceCell<Bits>,
}

impl Standings<'_> {
    /// In no particular order.
    pub fn records(&self) -> impl Iterator<Item = Standing<'_>> {
        self.visible.iter().map(|slot| Standing { all: self, slot })
    }

    fn disputed(&self) -> &Bits {
        self.disputed.get_or_init(|| {
            let mut holding = self.visible.clone();
            holding.remove_all(&self.stale);
            self.index.truth.disputed_keys(&holding)
        })
    }
}

fn sees(visible: &[bool], audience: AudienceNo) -> bool {
    visible.get(audience.0 as usize).copied().unwrap_or(false)
}

/// A record without its text.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    all: &'a Standings<'a>,
    slot: u32,
}

impl<'a> Standing<'a> {
    fn truth(self) -> &'a Truth {
        &self.all.index.truth
    }

    /// Its number in the change log.
    pub fn seq(self) -> u64 {
        self.all.index.records.seq(self.slot)
    }

    /// Who may see it.
    pub fn audience(self) -> AudienceNo {
        self.all.index.records.audience(self.slot)
    }

    /// The number of its source within the index: below [`WorkspaceIndex::sources`]' length.
    pub fn source_no(self) -> Option<u32> {
        self.truth().source_number_of(self.slot)
    }

    /// The source it was taken from.
    pub fn source_id(self) -> Option<&'a str> {
        self.source_no().map(|number| self.truth().source_text(number))
    }

    /// The number of its source's state within the index: records with the same one have the same.
    pub fn source_hash_no(self) -> Option<u32> {
        self.truth().hash_number_of(self.slot)
    }

    /// The state of the source it was taken from.
    pub fn source_hash(self) -> Option<&'a str> {
        self.source_hash_no().map(|number| self.truth().hash_text(number))
    }

    /// Its key, if a caller chose it.
    pub fn fact_key(self) -> Option<&'a str> {
        self.truth().key_of(self.slot).map(|number| self.truth().key_text(number))
    }

    /// When it was last saved, in seconds since 1970.
    pub fn updated_at(self) -> u32 {
        self.truth().updated_at(self.slot)
    }

    /// Whether its time has passed, or its source has changed or is gone.
    pub fn is_stale(self) -> bool {
        self.all.stale.contains(self.slot)
    }

    /// Whether it is not stale, and neither is another record that says something else under its key.
    pub fn is_disputed(self) -> bool {
        let key = self.truth().key_of(self.slot);
        !self.is_stale() && key.is_some_and(|key| self.all.disputed().contains(key))
    }

    /// Whether it still holds.
    pub fn holding(self) -> Holding {
        let knows = |audience| sees(self.all.sees, audience);
        let is_confirmed = || self.truth().is_confirmed(self.slot, knows);
        Holding::first(self.is_stale(), || self.is_disputed(), is_confirmed)
    }
}

impl WorkspaceIndex {
    /// The records of the audiences that `visible` has a `true` for. `now` is in microseconds since 1970.
    pub fn standings<'a>(&'a self, visible: &'a [bool], now: i64) -> Standings<'a> {
        let knows = |audience| sees(visible, audience);
        let (members, stale) = (self.records.seen_by(&knows).into_members(), self.truth.judge(&knows, now).stale());
        Standings { index: self, sees: visible, visible: members, stale, disputed: OnceCell::new() }
    }

    /// Whether these records still hold, each at its place, for a caller who knows of these audiences. `now` is in
    /// microseconds since 1970.
    pub fn holding(&self, hits: &[Hit], knows: &dyn Fn(AudienceNo) -> bool, now: i64) -> Vec<Holding> {
        let (judge, is_seen) = (self.truth.judge(knows, now), self.records.sight(knows));
        let of = |slot| {
            let is_confirmed = || self.truth.is_confirmed(slot, knows);
            Holding::first(judge.is_stale(slot), || judge.is_disputed(slot, &is_seen), is_confirmed)
        };
        // A hit is a record of this index; one that is not would have nothing known against it.
        hits.iter().map(|hit| self.records.find(hit.seq).map_or(Holding::Unconfirmed, of)).collect()
    }

    /// The number of a source that was ever named.
    pub fn source_no(&self, source_id: &str) -> Option<u32> {
        self.truth.find_source(source_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, NewDoc};

    fn keyed(seq: u64, audience: u32, content_hash: u64) -> NewDoc<'static> {
        let (audience, fact_key) = (AudienceNo(audience), Some("port"));
        NewDoc { audience, fact_key, content_hash, ..NewDoc::new(seq, "the port is open") }
    }

    fn of_page(seq: u64, hash: &'static str) -> NewDoc<'static> {
        NewDoc { source_id: Some("page"), source_hash: Some(hash), ..NewDoc::new(seq, "the page says so") }
    }

    /// What holds for a caller, by record: the same whether few are asked about or all.
    fn holding(index: &WorkspaceIndex, visible: [bool; 2]) -> Vec<(u64, Holding)> {
        let standings = index.standings(&visible, 0);
        let mut all: Vec<(u64, Holding)> = standings.records().map(|record| (record.seq(), record.holding())).collect();
        all.sort_unstable_by_key(|(seq, _)| *seq);
        let hits: Vec<Hit> = all.iter().map(|&(seq, _)| Hit { seq, score: 1.0, is_in_time: false }).collect();
        let few = index.holding(&hits, &|audience| visible[audience.0 as usize], 0);
        assert_eq!(few, all.iter().map(|(_, holding)| *holding).collect::<Vec<_>>());
        all
    }

    #[test]
    fn a_key_is_disputed_by_what_the_caller_sees_and_what_still_holds() {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for doc in [keyed(1, 0, 10), keyed(2, 0, 10), keyed(3, 1, 11), NewDoc::new(5, "no key")] {
            index.add(doc);
        }
        index.add(NewDoc { source_id: Some("page"), source_hash: Some("old"), ..keyed(4, 0, 12) });
        index.sight("page", None, Some("new"), 6);
        let [free, disputed] = [Holding::Unconfirmed, Holding::Disputed];
        let stale = (4, Holding::Stale);
        assert_eq!(holding(&index, [true, false]), [(1, free), (2, free), stale, (5, free)], "they say the same");
        let all = [(1, disputed), (2, disputed), (3, disputed), stale, (5, free)];
        assert_eq!(holding(&index, [true, true]), all);
        index.remove(3);
        assert_eq!(holding(&index, [true, true]), [(1, free), (2, free), stale, (5, free)]);
    }

    #[test]
    fn what_was_confirmed_last_counts_for_those_who_know_of_it() {
        let mut index = WorkspaceIndex::new(Model::shipped());
        index.add(NewDoc { audience: AudienceNo(0), ..of_page(1, "a") });
        index.add(NewDoc { audience: AudienceNo(1), ..of_page(2, "b c") });
        let both = [true, true];
        index.sight("page", None, Some("a b c"), 3);
        assert_eq!(holding(&index, both), [(1, Holding::Unconfirmed), (2, Holding::Stale)]);
        index.confirm("page", None, "a b c", 3);
        assert_eq!(holding(&index, both)[0], (1, Holding::Confirmed));
        index.confirm("page", None, "b", 2);
        assert_eq!(holding(&index, both)[0], (1, Holding::Confirmed), "older news");
        // A save brings a hash and confirms nothing.
        index.sight("page", Some(AudienceNo(1)), Some("b c"), 4);
        assert_eq!(holding(&index, both), [(1, Holding::Stale), (2, Holding::Confirmed)]);
        index.confirm("page", Some(AudienceNo(1)), "d", 5);
        assert_eq!(holding(&index, both), [(1, Holding::Stale), (2, Holding::Unconfirmed)]);
        assert_eq!(holding(&index, [true, false]), [(1, Holding::Confirmed)], "who does not know of it");
        let again = WorkspaceIndex::from_snapshot(Model::shipped(), &index.to_snapshot(&[]).to_bytes()).unwrap().1;
        assert_eq!(holding(&again, both), holding(&index, both));
    }
}
