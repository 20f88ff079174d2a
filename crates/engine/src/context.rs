//! Who calls, and when: the first argument of every use case.

use std::sync::Arc;

use mnemon_core::{AccountId, ConnectionId, KeyId, ProjectId, Seq, SubscriptionState, Timestamp, Viewer};
use mnemon_store::{Actor, AuditEntry, CallsElsewhere, Credential};
use uuid::Uuid;

use crate::Engine;

/// How the caller came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// With an API key.
    Key,
    /// With an OAuth token, which was granted by a key: only the memory tools, and no internal fields in answers.
    Oauth(ConnectionId),
}

/// One call: its credential, its time, and the end of the project's log when it began. Created only in
/// [`Engine::authenticate`] and its counterpart for tokens.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Everything that follows from the credential.
    pub credential: Arc<Credential>,
    pub connection: Connection,
    /// The time of the call; one call has one "now".
    pub now: Timestamp,
    /// Everything up to here must be visible to the call.
    pub seq: Seq,
    /// What other nodes recently admitted.
    pub elsewhere: CallsElsewhere,
    pub subscription: SubscriptionState,
}

/// Whose a request is, in ids: for the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub account: AccountId,
    pub project: ProjectId,
    /// The key, also where an OAuth token stood for it.
    pub key: KeyId,
}

impl Identity {
    pub(crate) fn of(credential: &Credential) -> Self {
        Self { account: credential.account, project: credential.project, key: credential.key }
    }
}

impl CallContext {
    pub fn identity(&self) -> Identity {
        Identity::of(&self.credential)
    }

    /// The project whose memory the call works on.
    pub fn project(&self) -> ProjectId {
        self.credential.project
    }

    /// What calls are counted by: one credential, key or token.
    pub fn connection_id(&self) -> Uuid {
        match self.connection {
            Connection::Key => self.credential.key.uuid(),
            Connection::Oauth(id) => id.uuid(),
        }
    }

    /// The caller as a reader.
    pub fn viewer(&self) -> &Viewer {
        &self.credential.viewer
    }
}

impl Engine {
    /// A reference under which one of our own faults is logged and reported.
    pub fn new_reference(&self, ctx: &CallContext) -> String {
        self.ids.uuid(ctx.now).simple().to_string()
    }

    /// An audit row about what this caller does.
    pub(crate) fn audit(&self, ctx: &CallContext, action: &'static str, subject: String) -> AuditEntry {
        AuditEntry {
            id: mnemon_core::AuditId::new(self.ids.uuid(ctx.now)),
            account: ctx.credential.account,
            project: Some(ctx.project()),
            at: ctx.now,
            actor: Actor::Member(ctx.credential.member),
            action: action.into(),
            subject,
            actor_name: None,
            subject_name: None,
            key: Some(ctx.credential.key),
        }
    }
}
