//! What goes into the acts of storage and what comes out.

use std::borrow::Cow;
use std::sync::Arc;

use mnemon_core::{
    Access, AccountId, Audience, AuditId, ContentHash, CredentialHash, DepartmentId, KeyId, MemberId, NewRecord,
    ProjectId, Record, RecordId, Role, Seq, SourceState, Subscription, Timestamp, Viewer, WorkspaceNo,
};

use crate::CallsElsewhere;

/// A save, with everything that has to be decided inside its transaction.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The record.
    pub record: NewRecord,
    /// How many live records the project may have; decided inside, so concurrent saves never exceed it.
    pub records_max: Option<u64>,
    /// Makes a repeated save answer as the first one did.
    pub idempotency: Option<Idempotency>,
}

/// An idempotency key with what it was used for. Keys are apart per member: one member's key never answers with
/// another's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Whose key it is.
    pub member: MemberId,
    /// The key.
    pub key: String,
    /// A hash of the arguments of the call.
    pub arguments_hash: [u8; 32],
    /// Rows made before this moment no longer count.
    pub valid_since: Timestamp,
}

/// What became of a save.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    /// It was stored.
    New {
        /// Its place in the log.
        seq: Seq,
        /// The workspace it joined.
        workspace_no: WorkspaceNo,
    },
    /// An equal record is there already: same content, workspace, audience, `source` and `source_id`. Its hash,
    /// revision, confidence and end of validity were brought up to date where the save gave them.
    Duplicate(Box<Record>),
    /// The idempotency key was used before with the same arguments.
    Replayed(Box<Replay>),
    /// The idempotency key was used before with other arguments. Nothing was stored.
    KeyReused,
    /// The project is full. Nothing was stored.
    LimitReached,
}

/// What the first use of an idempotency key led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The record as it is now, even if it was forgotten since. `None` after it was purged.
    pub record: Option<Record>,
    /// Whether the first save found a duplicate.
    pub was_duplicate: bool,
    /// What [`crate::Records::save_answer`] kept, if the first call came that far.
    pub answer: Option<String>,
}

/// What is needed to judge a record without reading its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// The record's id.
    pub id: RecordId,
    /// Its place in the log.
    pub seq: Seq,
    /// The workspace it belongs to.
    pub workspace_no: WorkspaceNo,
    /// Who may see it.
    pub audience: Audience,
    /// Its fact key, only if the caller chose it.
    pub given_fact_key: Option<String>,
    /// A fingerprint of its text.
    pub content_hash: ContentHash,
    /// Its source.
    pub source_id: Option<String>,
    /// The source's hash when the fact was taken from it.
    pub source_hash: Option<String>,
    /// From this moment on it is stale.
    pub valid_until: Option<Timestamp>,
}

/// What is known of one source by one audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePart {
    /// The source.
    pub source_id: String,
    /// Who may know it.
    pub audience: Audience,
    /// What is known.
    pub state: SourceState,
}

/// An active workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Names this life of the workspace.
    pub no: WorkspaceNo,
    /// Every audience that something was ever saved for in it. Who sees none of them sees no workspace.
    pub audiences: Vec<Audience>,
}

/// A piece of a workspace's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// Everything up to here is contained.
    pub upto: Seq,
    /// Whether `upto` is the end of the log.
    pub is_end: bool,
    /// Whether this life of the workspace goes on; when not, the rest is empty.
    pub is_active: bool,
    /// The workspace's audiences, as in [`Workspace`].
    pub audiences: Vec<Audience>,
    /// The records touched in this piece, as they are now. The order does not matter, each record occurs once.
    pub changes: Vec<Change>,
}

/// A record touched in a piece of log, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It is alive.
    Present(Present),
    /// It is forgotten, purged or moved elsewhere.
    Absent(Seq),
}

/// A living record, with what an index needs of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Present {
    /// Its place in the log.
    pub seq: Seq,
    /// Who may see it.
    pub audience: Audience,
    /// Its text.
    pub content: String,
    /// What the ranking derived from the text when it was saved.
    pub embedding: Vec<u8>,
}

/// Who did something that the audit log notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A member, through a key.
    Member(MemberId),
    /// The operator.
    Operator,
    /// The service itself.
    Service,
}

/// A line of the audit log: who, what, when. It never holds record text, queries or secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its id.
    pub id: AuditId,
    /// The account whose log it is.
    pub account: AccountId,
    /// The project, where one is concerned.
    pub project: Option<ProjectId>,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What, as `thing.verb`: `record.forget`, `key.revoke`.
    pub action: Cow<'static, str>,
    /// To what: an id, or a source's id.
    pub subject: String,
}

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Its id.
    pub id: KeyId,
    /// The hash of the secret.
    pub hash: CredentialHash,
    /// The project it opens.
    pub project: ProjectId,
    /// The member it acts for.
    pub member: MemberId,
    /// What it may do.
    pub access: Access,
    /// What people call it.
    pub label: Option<String>,
    /// From this moment on it is no longer accepted.
    pub expires_at: Option<Timestamp>,
    /// When it is made.
    pub created_at: Timestamp,
}

/// Everything that follows from a credential, but for the judgement whether it is accepted now.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    /// The key.
    pub key: KeyId,
    /// What it may do.
    pub access: Access,
    /// From this moment on it is no longer accepted.
    pub expires_at: Option<Timestamp>,
    /// Whether it was revoked.
    pub is_revoked: bool,
    /// The project it opens.
    pub project: ProjectId,
    /// The account of that project.
    pub account: AccountId,
    /// The account's subscription.
    pub subscription: Subscription,
    /// The member it acts for.
    pub member: MemberId,
    /// That member's name.
    pub member_name: String,
    /// What the member may administer.
    pub role: Role,
    /// From this moment on the member's keys are no longer accepted.
    pub access_until: Option<Timestamp>,
    /// The member's department.
    pub department: Option<DepartmentId>,
    /// That department's name.
    pub department_name: Option<String>,
    /// The member as a reader.
    pub viewer: Viewer,
}

/// A credential together with everything else that a call begins with: one round trip for all of it.
#[derive(Debug, Clone)]
pub struct Presented {
    /// The credential.
    pub credential: Arc<Credential>,
    /// The last seq of the project's log that any reader may already have seen acknowledged.
    pub seq: Seq,
    /// What other nodes let through lately.
    pub elsewhere: CallsElsewhere,
}
