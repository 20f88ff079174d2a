//! Indexes as bytes, so that a start need not read a whole workspace again. Derived and disposable: bytes that do not
//! decode, or that are ahead of the log, are ignored and the index is built from the log.

use mnemon_core::{Audience, AudienceBytes, Seq};
use mnemon_recall::{Model, WorkspaceIndex};

/// Below this many records, building an index from the log is about as fast as reading it.
pub(crate) const RECORDS_MIN: usize = 2_000;

const MAGIC: &[u8; 4] = b"MNS2";

/// How many changes justify a new snapshot: half of the workspace, so that writing stays a small part of the work and a
/// start reads at most half of a workspace from the log.
pub(crate) fn is_due(records: usize, snapshot: Seq, applied: Seq) -> bool {
    let changes = applied.0.saturating_sub(snapshot.0);
    records >= RECORDS_MIN && changes >= (records as u64 / 2).max(RECORDS_MIN as u64)
}

/// The bytes of an index and of the audiences that its numbers stand for.
pub(crate) fn encode(audiences: &[Audience], index: &WorkspaceIndex) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((audiences.len() as u32).to_le_bytes());
    for audience in audiences {
        let audience = AudienceBytes::of(*audience);
        bytes.push(audience.as_slice().len() as u8);
        bytes.extend(audience.as_slice());
    }
    bytes.extend(index.to_snapshot());
    bytes
}

/// Decodes what [`encode`] wrote. `None` if anything is wrong.
pub(crate) fn decode(bytes: &[u8], model: &'static Model) -> Option<(Vec<Audience>, WorkspaceIndex)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let mut audiences = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (len, behind) = rest.split_first()?;
        let (audience, behind) = behind.split_at_checked(usize::from(*len))?;
        audiences.push(Audience::from_bytes(audience)?);
        rest = behind;
    }
    let index = WorkspaceIndex::from_snapshot(model, rest).ok()?;
    Some((audiences, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mnemon_core::MemberId;
    use mnemon_recall::{AudienceNo, NewDoc};

    #[test]
    fn what_was_written_decodes_and_anything_else_does_not() {
        let model = Model::shipped();
        let mut index = WorkspaceIndex::new(model);
        let doc = NewDoc { audience: AudienceNo(1), counted: false, ..NewDoc::new(7, "the boiler code") };
        index.add(doc);
        let audiences = [Audience::Shared, Audience::Author(MemberId::from_bytes([3; 16]))];
        let bytes = encode(&audiences, &index);
        let (read, read_index) = decode(&bytes, model).unwrap();
        assert_eq!(read, audiences);
        assert!(read_index.contains(7));
        for cut in [0, 3, 7, 20, bytes.len() - 1] {
            assert!(decode(&bytes[..cut], model).is_none(), "{cut}");
        }
        for at in [0, 4, 8, bytes.len() / 2, bytes.len() - 1] {
            let mut broken = bytes.clone();
            broken[at] ^= 0xff;
            let is_wrong = decode(&broken, model).is_some_and(|(read, _)| read == audiences);
            assert!(!is_wrong, "a flipped byte at {at} went unseen");
        }
    }

    #[test]
    fn small_or_barely_changed_workspaces_are_not_written() {
        assert!(!is_due(1_999, Seq(0), Seq(1_999)));
        assert!(is_due(2_000, Seq(0), Seq(2_000)));
        assert!(!is_due(2_100, Seq(2_000), Seq(2_100)));
        assert!(is_due(100_000, Seq(0), Seq(100_000)));
        assert!(!is_due(100_000, Seq(100_000), Seq(149_999)));
        assert!(is_due(100_000, Seq(100_000), Seq(150_000)));
    }
}
