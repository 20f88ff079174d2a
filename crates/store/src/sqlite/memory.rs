//! What is kept in memory because only this process writes the file: the end of each log, and who calls. Both are
//! updated after a commit and before its acts are answered, so no reader is ahead of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mnemon_core::{CredentialHash, ProjectId, Seq};
use parking_lot::RwLock;

use crate::{CallsElsewhere, Credential, Grant, Presented};

/// How many credentials are kept. At about half a kilobyte each, this is 16 MB.
const CREDENTIALS_MAX: usize = 32_768;

#[derive(Default)]
pub(super) struct Memory {
    pub(super) seqs: LastSeqs,
    pub(super) credentials: KnownCredentials,
}

/// The last acknowledged seq of every project that was read or written: about 60 bytes each, never dropped.
#[derive(Default)]
pub(super) struct LastSeqs {
    cells: RwLock<HashMap<ProjectId, Arc<AtomicU64>>>,
}

impl LastSeqs {
    pub(super) fn find(&self, project: ProjectId) -> Option<Seq> {
        self.cells.read().get(&project).map(|cell| Seq(cell.load(Ordering::Acquire)))
    }

    /// Records a seq that was read from storage or committed. A late reader with an old number changes nothing.
    pub(super) fn raise(&self, project: ProjectId, seq: Seq) -> Arc<AtomicU64> {
        let known = self.cells.read().get(&project).cloned();
        let cell = known.unwrap_or_else(|| Arc::clone(self.cells.write().entry(project).or_default()));
        cell.fetch_max(seq.0, Ordering::AcqRel);
        cell
    }

    /// Everything that was acknowledged, to be compared with what is stored.
    pub(super) fn all(&self) -> Vec<(ProjectId, Seq)> {
        self.cells.read().iter().map(|(project, cell)| (*project, Seq(cell.load(Ordering::Acquire)))).collect()
    }
}

/// The credentials that were presented since the last change to anything they depend on.
#[derive(Default)]
pub(super) struct KnownCredentials {
    inner: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    /// Counts the changes. A result that was read from storage before a change must not be put here after it.
    generation: u64,
    entries: HashMap<CredentialHash, (Arc<Credential>, Arc<AtomicU64>)>,
    /// The OAuth connections, each of which leads to one of the above.
    grants: HashMap<CredentialHash, Grant>,
}

impl KnownCredentials {
    /// The credential, or the generation to pass to [`Self::keep`] after reading it from storage.
    pub(super) fn find(&self, hash: &CredentialHash) -> Result<Presented, u64> {
        let known = self.inner.read();
        match known.entries.get(hash) {
            Some((credential, seq)) => {
                let (credential, seq) = (Arc::clone(credential), Seq(seq.load(Ordering::Acquire)));
                Ok(Presented { credential, seq, elsewhere: CallsElsewhere::default() })
            }
            None => Err(known.generation),
        }
    }

    pub(super) fn keep(&self, hash: CredentialHash, credential: Arc<Credential>, seq: Arc<AtomicU64>, generation: u64) {
        let mut known = self.inner.write();
        if known.generation != generation {
            return;
        }
        // Dropping all at the limit is crude and never wrong: each comes back with one read.
        if known.entries.len() >= CREDENTIALS_MAX {
            known.entries.clear();
        }
        known.entries.insert(hash, (credential, seq));
    }

    /// The connection, or the generation to hand to [`Self::keep_grant`] after reading it from storage.
    pub(super) fn find_grant(&self, hash: &CredentialHash) -> Result<Grant, u64> {
        let known = self.inner.read();
        known.grants.get(hash).cloned().ok_or(known.generation)
    }

    pub(super) fn keep_grant(&self, hash: CredentialHash, grant: Grant, generation: u64) {
        let mut known = self.inner.write();
        if known.generation != generation {
            return;
        }
        if known.grants.len() >= CREDENTIALS_MAX {
            known.grants.clear();
        }
        known.grants.insert(hash, grant);
    }

    pub(super) fn forget_all(&self) {
        let mut known = self.inner.write();
        known.generation += 1;
        known.entries.clear();
        known.grants.clear();
    }
}
