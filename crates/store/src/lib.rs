//! Where records rest. A few traits grouped by who needs them, joined as [`Store`] and used as `Arc<dyn Store>`.
//! No ranking, no permissions, no HTTP and no words meant for people live here.
//!
//! One trait method is one meaningful act and one transaction. Every project has a change log: each save, forget and
//! restore takes the project's next `seq` inside the writing transaction, so that commit order equals seq order and
//! "everything after S" never misses a row.
//!
//! To add an act: 1. the trait in `traits.rs` and its values in `values.rs`, or both in a file of
//! their own such as `administration.rs`, `oauth.rs` or `integrations.rs`, 2. `sqlite/`,
//! in the file of the same name, 3. a story in `conformance/`, which every engine runs unchanged.

mod administration;
mod checksum;
#[cfg(feature = "testing")]
pub mod conformance;
mod encoding;
mod error;
mod integrations;
mod oauth;
pub mod postgres;
mod rates;
mod sessions;
pub mod sqlite;
mod traits;
mod transfer;
mod values;

pub use administration::{
    Administration, Day, DepartmentDeleted, KeyRow, Listed, MemberDeleted, RecordFilter, Size, Snapshot, Usage,
    WorkspaceRow,
};
pub use error::StoreError;
pub use integrations::{
    IntegrationRow, Integrations, ProjectIntegrations, Resealed, SavedIntegration, Sealed, SeenTool, ToolRow,
    UpstreamAddress,
};
pub use oauth::{ClientKind, ConnectionRow, Grant, NewCode, Oauth, OauthClient, Redeemed, Redemption};
pub use rates::{CallWindow, Calls, CallsElsewhere, Rates};
pub use sessions::{Session, SessionAppend, SessionAppended, SessionPart, Sessions};
pub use traits::{Accounts, Credentials, Log, Records, Sources, Store};
pub use transfer::{Moved, Progress, Step, StorageEnd, move_everything};
pub use values::{
    Actor, AuditEntry, Brief, Change, Credential, Idempotency, Insert, Inserted, NewKey, Present, Presented, Replay,
    SourcePart, Tail, Workspace,
};
