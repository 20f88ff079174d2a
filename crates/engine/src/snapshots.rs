//! Indexes as they are kept, so that a start need not read a whole workspace again. Derived and disposable: what can't
//! be read, or is ahead of the log, is ignored, and the index is built from the log.

use std::fs::File;
use std::io;
use std::sync::Arc;

use mnemon_core::{Audience, AudienceBytes, Seq};
use mnemon_recall::{Image, Model, WorkspaceIndex};
use mnemon_store::{KeptImage, SnapshotImage};

/// Below this many records, building an index from the log is no noticeable part of a search.
pub(crate) const RECORDS_MIN: usize = 500;

const MAGIC: &[u8; 4] = b"MNS3";

/// How many bytes of snapshots may be written a second, on average over a long time: some 40 MB, which 100,000 records
/// take, every five minutes.
const BYTES_PER_SECOND: u64 = 128 << 10;

/// Reading fewer changes than this from the log is no noticeable part of a start.
const CHANGES_MIN: u64 = 250;

/// How far an index has come since its last snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grown {
    pub(crate) records: usize,
    pub(crate) size_bytes: usize,
    /// The log position of the last snapshot.
    pub(crate) snapshot: Seq,
    pub(crate) applied: Seq,
    /// Since the last snapshot was written.
    pub(crate) seconds: u64,
}

impl Grown {
    pub(crate) fn changes(&self) -> u64 {
        self.applied.0.saturating_sub(self.snapshot.0)
    }
}

/// Reading this many changes from the log takes about half a second.
const BURST_MAX: u64 = 10_000;

/// Whether a new snapshot is justified. A first one is, and one for which the last is so long ago that writing stays a
/// small part of the work, if there are enough changes to delay a start. In between, an eighth of a large workspace
/// justifies one, so that a start never reads more than that from the log; in a small one, as many changes as are read
/// quickly, because a burst of saves would write it several times a second, and hold up others that wait for the same
/// disk.
pub(crate) fn is_due(grown: &Grown) -> bool {
    let (records, changes) = (grown.records as u64, grown.changes());
    let is_rested = grown.snapshot == Seq(0) || grown.seconds >= grown.size_bytes as u64 / BYTES_PER_SECOND;
    let enough = if is_rested { RECORDS_MIN as u64 } else { (records / 8).max(BURST_MAX) };
    grown.records >= RECORDS_MIN && changes >= enough
}

/// Whether a service that stops should write a snapshot for the next start.
pub(crate) fn is_worth_a_stop(grown: &Grown) -> bool {
    grown.records >= RECORDS_MIN && grown.changes() >= CHANGES_MIN
}

/// An index, and the audiences behind its numbers.
pub(crate) fn image(audiences: &[Audience], index: &WorkspaceIndex) -> Arc<dyn SnapshotImage> {
    let mut note = MAGIC.to_vec();
    note.extend((audiences.len() as u32).to_le_bytes());
    for audience in audiences {
        let audience = AudienceBytes::of(*audience);
        note.push(audience.as_slice().len() as u8);
        note.extend(audience.as_slice());
    }
    Arc::new(IndexImage(index.to_snapshot(&note)))
}

struct IndexImage(Image);

impl SnapshotImage for IndexImage {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    fn write_to(&self, file: &File) -> io::Result<()> {
        self.0.write_to(file)
    }

    fn size_bytes(&self) -> usize {
        self.0.size_bytes()
    }
}

/// Reads what [`image`] made. `None` if anything is wrong.
pub(crate) fn read(kept: &KeptImage, model: &'static Model) -> Option<(Vec<Audience>, WorkspaceIndex)> {
    let read = match kept {
        KeptImage::Bytes(bytes) => WorkspaceIndex::from_snapshot(model, bytes),
        KeptImage::File(file) => WorkspaceIndex::from_snapshot_file(model, file),
    };
    let (note, index) = read.ok()?;
    Some((read_audiences(&note)?, index))
}

fn read_audiences(note: &[u8]) -> Option<Vec<Audience>> {
    let rest = note.strip_prefix(MAGIC)?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let mut audiences = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (len, behind) = rest.split_first()?;
        let (audience, behind) = behind.split_at_checked(usize::from(*len))?;
        audiences.push(Audience::from_bytes(audience)?);
        rest = behind;
    }
    Some(audiences)
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
        let bytes = image(&audiences, &index).to_bytes();
        let decode = |bytes: &[u8]| read(&KeptImage::Bytes(bytes.to_vec()), model);
        let (kept, read_index) = decode(&bytes).unwrap();
        assert_eq!(kept, audiences);
        assert!(read_index.contains(7));
        for cut in [0, 3, 7, 20, bytes.len() - 1] {
            assert!(decode(&bytes[..cut]).is_none(), "{cut}");
        }
        for at in [0, 4, 8, bytes.len() / 2, bytes.len() - 1] {
            let mut broken = bytes.clone();
            broken[at] ^= 0xff;
            assert!(decode(&broken).is_none(), "a flipped byte at {at} went unseen");
        }
    }

    #[test]
    fn small_or_barely_changed_workspaces_are_not_written() {
        let is_due = |records, snapshot, applied| is_due(&grown(records, snapshot, applied, 0));
        assert!(!is_due(499, 0, 499));
        assert!(is_due(500, 0, 500));
        assert!(!is_due(600, 500, 600));
        assert!(is_due(100_000, 0, 100_000));
        assert!(!is_due(100_000, 100_000, 112_499));
        assert!(is_due(100_000, 100_000, 112_500));
    }

    #[test]
    fn a_burst_is_not_written_again_and_again() {
        let is_due = |records, changes: u64| is_due(&grown(records, 1, changes + 1, 0));
        assert!(!is_due(20_000, 9_999) && is_due(20_000, 10_000), "as many as are read quickly");
        assert!(!is_due(160_000, 19_999) && is_due(160_000, 20_000), "an eighth of a large one");
    }

    #[test]
    fn fewer_changes_suffice_if_the_last_snapshot_is_long_ago() {
        // 100,000 records of 400 bytes may be written every 305 seconds.
        assert!(!is_due(&grown(100_000, 100_000, 100_500, 304)));
        assert!(is_due(&grown(100_000, 100_000, 100_500, 305)));
        assert!(!is_due(&grown(100_000, 100_000, 100_499, 1_000_000)), "these few are read quickly");
        assert!(!is_due(&grown(499, 0, 5_000, 1_000_000)), "so is a small workspace");
    }

    #[test]
    fn a_stop_writes_what_would_delay_the_next_start() {
        assert!(is_worth_a_stop(&grown(500, 250, 500, 0)));
        assert!(!is_worth_a_stop(&grown(500, 251, 500, 0)));
        assert!(!is_worth_a_stop(&grown(499, 0, 499, 0)));
    }

    fn grown(records: usize, snapshot: u64, applied: u64, seconds: u64) -> Grown {
        Grown { records, size_bytes: records * 400, snapshot: Seq(snapshot), applied: Seq(applied), seconds }
    }
}
