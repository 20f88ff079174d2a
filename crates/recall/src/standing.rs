//! Every record of a workspace that a caller sees, with what the index knows of its status: what counts and lists are
//! made from. Whether a source was confirmed is not in the index; the caller adds it.

use std::cell::OnceCell;

use crate::bits::Bits;
use crate::index::WorkspaceIndex;
use crate::records::AudienceNo;
use crate::truth::Truth;

/// The records of a workspace that somebody sees, at one moment. Little is computed before it is asked for: most counts
/// need a small part of what is known.
pub struct Standings<'a> {
    index: &'a WorkspaceIndex,
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
}

impl WorkspaceIndex {
    /// The records of the audiences that `visible` has a `true` for. `now` is in microseconds since 1970.
    pub fn standings(&self, visible: &[bool], now: i64) -> Standings<'_> {
        let sees = |audience| sees(visible, audience);
        let (visible, stale) = (self.records.seen_by(&sees).into_members(), self.truth.judge(&sees, now).stale());
        Standings { index: self, visible, stale, disputed: OnceCell::new() }
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

    #[test]
    fn a_key_is_disputed_by_what_the_caller_sees_and_what_still_holds() {
        let mut index = WorkspaceIndex::new(Model::shipped());
        let keyed = |seq, audience, content_hash| NewDoc {
            audience: AudienceNo(audience),
            fact_key: Some("port"),
            content_hash,
            ..NewDoc::new(seq, "the port is open")
        };
        index.add(keyed(1, 0, 10));
        index.add(keyed(2, 0, 10));
        index.add(keyed(3, 1, 11));
        index.add(NewDoc { source_id: Some("page"), source_hash: Some("old"), ..keyed(4, 0, 12) });
        index.add(NewDoc::new(5, "no key"));
        index.sight("page", None, Some("new"), 6);
        let seqs = |visible: [bool; 2], fits: fn(Standing<'_>) -> bool| {
            let standings = index.standings(&visible, 0);
            let mut seqs: Vec<u64> =
                standings.records().filter(|record| fits(*record)).map(|record| record.seq()).collect();
            seqs.sort_unstable();
            seqs
        };
        let disputed = |visible| seqs(visible, |record| record.is_disputed());
        assert!(disputed([true, false]).is_empty(), "they say the same, and the stale one disputes nothing");
        assert_eq!(disputed([true, true]), [1, 2, 3]);
        assert_eq!(seqs([true, true], |record| record.is_stale()), [4]);
    }
}
