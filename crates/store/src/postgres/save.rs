//! A save on its way into a batch, and what became of it.

use mnemon_core::ContentHash;

use crate::{Insert, Inserted, Standing, StoreError};

/// A save, with the hash that its duplicates have.
pub(super) struct Save {
    pub(super) insert: Insert,
    pub(super) content_hash: ContentHash,
    /// Whether the caller wants to know what the record's status depends on.
    pub(super) wants_standing: bool,
}

/// What became of a save.
pub(super) type Outcome = Result<(Inserted, Option<Standing>), StoreError>;

/// What to do about a project whose lock somebody else holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Wait,
    /// Its saves are left out.
    Skip,
}
