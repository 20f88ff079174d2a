//! Every record of a workspace that a caller sees, with what the index knows of its status: what counts and lists are
//! made from. Whether a source was confirmed is not in the index; the caller adds it.

use crate::index::WorkspaceIndex;
use crate::records::AudienceNo;

/// A record without its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing<'a> {
    /// Its number in the change log.
    pub seq: u64,
    /// Who may see it.
    pub audience: AudienceNo,
    /// The number of its source within the index: below [`WorkspaceIndex::sources`]' length.
    pub source_no: Option<u32>,
    /// The source it was taken from.
    pub source_id: Option<&'a str>,
    /// The state of the source it was taken from.
    pub source_hash: Option<&'a str>,
    /// Its key, if a caller chose it.
    pub fact_key: Option<&'a str>,
    /// When it was last saved, in seconds since 1970.
    pub updated_at: u32,
    /// Whether its time has passed, or its source has changed or is gone.
    pub is_stale: bool,
    /// Whether it is not stale, and neither is another record that says something else under its key.
    pub is_disputed: bool,
}

impl WorkspaceIndex {
    /// The records of the audiences that `visible` has a `true` for, in no particular order. `now` is in microseconds
    /// since 1970.
    pub fn standings(&self, visible: &[bool], now: i64) -> impl Iterator<Item = Standing<'_>> {
        let is_visible = |audience: AudienceNo| visible.get(audience.0 as usize).copied().unwrap_or(false);
        let judge = self.truth.judge(&is_visible, now);
        let seen: Vec<u32> =
            self.records.live_slots().filter(|slot| is_visible(self.records.facts(*slot).audience)).collect();
        let disputed = self.truth.disputed_keys(seen.iter().copied(), &judge);
        seen.into_iter().map(move |slot| {
            let (facts, claim) = (self.records.facts(slot), self.truth.claim(slot));
            let is_stale = judge.is_stale(slot);
            Standing {
                seq: facts.seq,
                audience: facts.audience,
                source_no: self.truth.source_number_of(slot),
                source_id: claim.source_id,
                source_hash: claim.source_hash,
                fact_key: claim.fact_key,
                updated_at: claim.updated_at,
                is_stale,
                is_disputed: !is_stale && self.truth.key_of(slot).is_some_and(|key| disputed.contains(key)),
            }
        })
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
        let disputed = |visible: &[bool]| {
            let mut seqs: Vec<u64> =
                index.standings(visible, 0).filter(|record| record.is_disputed).map(|record| record.seq).collect();
            seqs.sort_unstable();
            seqs
        };
        assert!(disputed(&[true, false]).is_empty(), "they say the same, and the stale one disputes nothing");
        assert_eq!(disputed(&[true, true]), [1, 2, 3]);
        let mut stale: Vec<u64> = index.standings(&[true, true], 0).filter(|r| r.is_stale).map(|r| r.seq).collect();
        stale.sort_unstable();
        assert_eq!(stale, [4]);
    }
}
