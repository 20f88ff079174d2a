//! The acts of storage, one file per subject: the trait, its values, and the rules that both engines share. The
//! engines' files and the tests in the crate `store-conformance` have the same names.

pub(crate) mod audit;
pub(crate) mod audit_entry;
pub(crate) mod console;
pub(crate) mod credentials;
pub(crate) mod deletions;
pub(crate) mod forgetting;
pub(crate) mod integrations;
mod listing;
pub(crate) mod lists;
pub(crate) mod log;
pub(crate) mod nodes;
pub(crate) mod oauth;
pub(crate) mod observing;
pub(crate) mod people;
mod rates;
pub(crate) mod records;
pub(crate) mod redeem;
pub(crate) mod remove_member;
pub(crate) mod retention;
pub(crate) mod saving;
pub(crate) mod sessions;
pub(crate) mod sources;
pub(crate) mod stored;
pub(crate) mod summaries;
pub(crate) mod trail;
pub(crate) mod workspaces;

use async_trait::async_trait;

pub use self::audit::{ActorKind, Audit, AuditFilter, Day, Size, Usage};
pub use self::audit_entry::{Actor, AuditEntry};
pub use self::console::{Console, ConsoleSession, OpenSession, SessionHolder, TurnedSession};
pub use self::credentials::{
    Credential, Credentials, KeyChange, KeyLink, KeyRow, NewKey, NewLink, OpenedLink, Presented, SeenKey,
};
pub use self::integrations::{
    IntegrationRow, Integrations, ProjectIntegrations, Resealed, SavedIntegration, Sealed, SeenTool, ToolRow,
    UpstreamAddress,
};
pub use self::lists::{DeletedWorkspace, Listed, Portion, RecordFilter, RestoredWorkspace, Stretch, WorkspaceRow};
pub use self::log::{AtLeast, Change, KeptImage, Log, Present, Sighting, Snapshot, SnapshotImage, Tail, Workspace};
pub use self::nodes::{NodeRow, Nodes};
pub use self::oauth::{ClientKind, ConnectionRow, Grant, NewCode, Oauth, OauthClient, Redeemed, Redemption};
pub use self::people::{DepartmentDeleted, Holdings, MemberDeleted, People};
pub use self::rates::{CallWindow, Calls, CallsElsewhere, Rates};
pub use self::records::{Basis, Idempotency, Insert, Inserted, Records, Replay, Standing, Supersede, audit_subject};
pub use self::retention::{PurgedBeyond, Retention};
pub use self::sessions::{Session, SessionAppend, SessionAppended, SessionPart, Sessions};
pub use self::sources::{AdoptedSource, Confirmation, Look, Observation, Seen, SourcePart, Sources};
pub use self::summaries::RecordSummary;
pub use self::trail::{Deed, DeedKind, SourceLook, Trails};
use crate::{StoreError, StoreFigures};

/// All acts together.
#[async_trait]
pub trait Store:
    Records
    + Log
    + Sources
    + Credentials
    + People
    + Audit
    + Retention
    + Oauth
    + Integrations
    + Sessions
    + Rates
    + Console
    + Nodes
    + Trails
{
    /// Checks that reading works now, by the reads that a search makes. The error says why it does not.
    async fn check_reads(&self) -> Result<(), StoreError>;

    /// Checks that writing works now, by a write that changes nothing visible.
    async fn check_writes(&self) -> Result<(), StoreError>;

    /// Checks both.
    async fn check(&self) -> Result<(), StoreError> {
        self.check_reads().await?;
        self.check_writes().await
    }

    /// How often searches read from replicas.
    fn replica_reads(&self) -> ReplicaReads {
        ReplicaReads::default()
    }

    /// Whether each of the replicas can be used now, in their order. The errors say why not.
    async fn check_replicas(&self) -> Vec<Result<(), StoreError>> {
        Vec::new()
    }

    /// What was counted since the store was opened, and what waits now.
    fn figures(&self) -> StoreFigures;

    /// Finishes what is running and closes the store. Later calls fail.
    async fn close(&self);
}

/// How often searches turned to a replica, and what came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplicaReads {
    pub answered: u64,
    /// It had not replayed enough, so the primary answered.
    pub behind: u64,
    /// It failed or was too slow, so the primary answered.
    pub failed: u64,
}
