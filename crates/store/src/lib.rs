//! Where records are stored. A few traits grouped by subject, joined as [`Store`] and used as `Arc<dyn Store>`. No
//! ranking, no permissions, no HTTP and no messages for people live here.
//!
//! One trait method is one meaningful act and one transaction. Every project has a change log: each save, forget and
//! restore takes the project's next `seq` inside the writing transaction, so that commit order equals seq order and
//! "everything after S" never misses a row.
//!
//! To add an act: 1. its trait method, values and shared rules in the file of its subject in `acts/`, 2. the file of
//! the same name in `sqlite/` and `postgres/`, 3. a test in `conformance/`, which every engine runs unchanged.

mod checksum;
#[cfg(feature = "testing")]
pub mod conformance;
mod damaged;
mod encoding;
mod error;
mod figures;
mod interface;
pub mod postgres;
mod rows;
pub mod sqlite;
#[cfg(feature = "testing")]
mod statements;
mod transfer;

pub use error::StoreError;
pub use figures::{COMMIT_SIZE_BOUNDS, CommitSizes, DatabaseConnections, StoreFigures};
pub use interface::*;
#[cfg(feature = "testing")]
pub use statements::statements_sent;
pub use transfer::{Progress, Step, StorageEnd, Transferred, transfer_everything};
