//! Where records are stored. A few traits grouped by subject, joined as [`Store`] and used as `Arc<dyn Store>`. No
//! ranking, no permissions, no HTTP and no messages for people live here.
//!
//! One trait method is one meaningful act and one transaction. Every project has a change log: each save, forget and
//! restore takes the project's next `seq` inside the writing transaction, so that commit order equals seq order and
//! "everything after S" never misses a row.
//!
//! To add an act: 1. its trait method, values and shared rules in the file of its subject in `interface/`. If both
//! engines understand its statements, that is all: the method has a body, made of `statement.rs`. 2. Otherwise the file
//! of the same name in `sqlite/` and `postgres/`. 3. A test in the crate `store-conformance`, which every engine runs
//! unchanged.

// Unit tests that reach behind the traits share the fixtures of the conformance suite: that crate depends on this one,
// so its types are others than those of this crate under test.
#[cfg(test)]
extern crate self as mnemon_store;

mod checksum;
mod damaged;
mod encoding;
mod error;
mod figures;
#[cfg(test)]
#[path = "../../store-conformance/src/fixtures.rs"]
#[expect(dead_code, unreachable_pub, reason = "some of them are needed by the suite only")]
mod fixtures;
mod interface;
pub mod postgres;
mod rows;
pub mod sqlite;
mod statement;
#[cfg(feature = "testing")]
mod statements;
mod tenant;
mod transfer;

pub use error::StoreError;
pub use figures::{COMMIT_SIZE_BOUNDS, CommitSizes, DatabaseConnections, StoreFigures};
pub use interface::*;
#[cfg(feature = "testing")]
pub use statements::statements_sent;
pub use transfer::{Progress, Step, StorageEnd, Transferred, transfer_everything};
