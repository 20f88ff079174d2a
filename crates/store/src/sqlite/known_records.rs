//! Recently read live records. Reading ten from the file takes about 100 µs of CPU time, most of a search that is not
//! ranking; from here it takes a few.
//!
//! A record is here as it is, or not at all. Every act drops all of them after its commit, unless it has said which project's
//! it may have changed, or that it changed none ([`super::batch::Tx::touch_records`]): an act that says nothing costs time
//! and is never wrong.

use std::collections::HashMap;
use std::sync::Arc;

use mnemon_core::{ProjectId, Record, Seq};
use parking_lot::RwLock;

/// How many bytes of records are kept.
const BYTES_MAX: usize = 32 << 20;
/// What a record takes besides its texts.
const RECORD_BYTES: usize = size_of::<Record>() + 128;

#[derive(Default)]
pub(super) struct KnownRecords {
    inner: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    /// Counts the changes. Whoever read storage before a change must not put the result here after it.
    generation: u64,
    projects: HashMap<ProjectId, HashMap<Seq, Arc<Record>>>,
    bytes: usize,
}

/// Whose records an act may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touched {
    Nothing,
    Project(ProjectId),
    Everything,
}

impl KnownRecords {
    /// The known ones of these records, each at its position, and the generation to pass to [`Self::keep`].
    pub(super) fn find(&self, project: ProjectId, seqs: &[Seq]) -> (Vec<Option<Arc<Record>>>, u64) {
        let known = self.inner.read();
        let records = known.projects.get(&project);
        let found = seqs.iter().map(|seq| records.and_then(|records| records.get(seq)).cloned()).collect();
        (found, known.generation)
    }

    /// Keeps live records that were read from storage since that generation.
    pub(super) fn keep(&self, project: ProjectId, records: &[Arc<Record>], generation: u64) {
        let mut known = self.inner.write();
        if known.generation != generation {
            return;
        }
        let bytes: usize = records.iter().map(|record| size_bytes(record)).sum();
        // Dropping all at the limit is crude and never wrong: each comes back with one read.
        if known.bytes + bytes > BYTES_MAX {
            known.projects.clear();
            known.bytes = 0;
        }
        if bytes > BYTES_MAX {
            return;
        }
        let kept = known.projects.entry(project).or_default();
        let before: usize = records.iter().filter_map(|record| kept.get(&record.seq)).map(|old| size_bytes(old)).sum();
        kept.extend(records.iter().map(|record| (record.seq, Arc::clone(record))));
        known.bytes = known.bytes + bytes - before;
    }

    /// Drops what may no longer be true.
    pub(super) fn forget(&self, touched: Touched) {
        if touched == Touched::Nothing {
            return;
        }
        let mut known = self.inner.write();
        known.generation += 1;
        match touched {
            Touched::Project(project) => {
                let gone = known.projects.remove(&project).unwrap_or_default();
                known.bytes -= gone.values().map(|record| size_bytes(record)).sum::<usize>();
            }
            _ => {
                known.projects.clear();
                known.bytes = 0;
            }
        }
    }
}

fn size_bytes(record: &Record) -> usize {
    let optional =
        [&record.fact.source, &record.fact.source_id, &record.fact.source_hash, &record.fact.source_revision];
    let optional: usize = optional.into_iter().flatten().map(String::len).sum();
    RECORD_BYTES + record.fact.content.len() + record.fact_key.text.len() + optional
}
