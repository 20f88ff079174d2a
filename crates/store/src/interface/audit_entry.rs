//! A row of the audit log.

use std::borrow::Cow;

use mnemon_core::{AccountId, AuditId, KeyId, MemberId, ProjectId, Timestamp};

/// Who did something that the audit log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A member, through a key.
    Member(MemberId),
    Operator,
    Service,
}

/// An audit row: who, what, when. It never contains record text, queries or secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: AuditId,
    pub account: AccountId,
    /// The project, if one is concerned.
    pub project: Option<ProjectId>,
    pub at: Timestamp,
    pub actor: Actor,
    /// What, as `thing.verb`: `record.forget`, `key.revoke`.
    pub action: Cow<'static, str>,
    /// To what: an id, or a source's id.
    pub subject: String,
    /// The name of the member who acted, at that time. Storage fills it in.
    pub actor_name: Option<String>,
    /// The name of the subject at that time, if it has one.
    pub subject_name: Option<String>,
    /// With which key, if a member acted.
    pub key: Option<KeyId>,
}

impl AuditEntry {
    /// The same, with the name that the subject has now.
    #[must_use]
    pub fn about(self, name: &str) -> Self {
        Self { subject_name: Some(name.to_owned()), ..self }
    }
}
