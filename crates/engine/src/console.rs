//! The console: a person signs in with a key, and the browser keeps a random value that leads to it. Every request
//! looks the key up again, so whatever ends the key ends the session at the next click.

mod actions;
mod because;

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::SignedDuration;
use mnemon_core::{
    Access, ConsoleSessionId, CredentialHash, CredentialKind, KeyId, PlanLimits, PlanName, Project, ProjectId, Secret,
    Timestamp,
};
use mnemon_store::{ConsoleSession, SessionHolder, StoreError, TurnedSession};
use sha2::Sha256;

use crate::admin::{AdminContext, AdminError};
use crate::usage::Counted;
use crate::{CallContext, CallError, Connection, Engine, NotAuthenticated};

pub use because::{Because, Explained, Explanations};

/// How long a session lasts.
pub const SESSION_LIFE: SignedDuration = SignedDuration::from_hours(12);
/// How long a session of the operator lasts.
pub const OPERATOR_SESSION_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// How many sessions of one key are open at most. One more ends the oldest.
pub const SESSIONS_MAX: usize = 20;

/// A new session. Its value can be seen only now.
#[derive(Debug)]
pub struct SignedIn {
    pub value: Secret<String>,
    pub life: SignedDuration,
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("the credential was rejected")]
    WrongKey,
    #[error("too many wrong keys from this address")]
    TooMany { retry_after_seconds: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an act in the console was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsoleError {
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<StoreError> for ConsoleError {
    fn from(error: StoreError) -> Self {
        Self::Admin(error.into())
    }
}

/// A person in the console. Created only in [`Engine::enter_console`].
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The person as a reader and administrator.
    pub admin: AdminContext,
    /// The person as a caller of tools; the operator calls none.
    pub call: Option<CallContext>,
    pub ends_at: Timestamp,
    /// What the key may do that the person signed in with; the session may go on with another.
    pub access: Access,
    /// The session; the operator's is not listed.
    pub session: Option<ConsoleSessionId>,
}

impl Engine {
    /// Opens a session with a pasted key or operator's token. Wrong ones are counted together with those of OAuth's
    /// page. `browser` is what the person will know the session by.
    pub async fn sign_in(&self, pasted: &str, caller: IpAddr, browser: &str) -> Result<SignedIn, SignInError> {
        // People copy keys together with surrounding whitespace.
        let pasted = pasted.trim();
        let admin = self.authenticate_admin(pasted).await.map_err(|error| match error {
            NotAuthenticated::Rejected => match self.count_wrong_key(caller) {
                Ok(()) => SignInError::WrongKey,
                Err(retry_after_seconds) => SignInError::TooMany { retry_after_seconds },
            },
            NotAuthenticated::Store(error) => SignInError::Store(error),
        })?;
        let is_operator = CredentialKind::of(pasted) == Some(CredentialKind::Operator);
        let life = if is_operator { OPERATOR_SESSION_LIFE } else { SESSION_LIFE };
        let value = URL_SAFE_NO_PAD.encode(self.ids.secret());
        let now = self.clock.now();
        let session = ConsoleSession {
            hash: CredentialHash::of(&value),
            key_hash: CredentialHash::of(pasted),
            created_at: now,
            expires_at: now + life,
            acting_hash: None,
            holder: admin.credential().map(|credential| SessionHolder {
                id: ConsoleSessionId::new(self.ids.uuid(now)),
                project: credential.project,
                member: credential.member,
                key: credential.key,
                browser: browser.to_owned(),
            }),
        };
        self.make_room_for_session(&admin, now).await?;
        self.store.insert_console_session(session).await?;
        Ok(SignedIn { value: Secret::new(value), life })
    }

    /// Ends the oldest sessions of a key that has as many as it may have.
    async fn make_room_for_session(&self, admin: &AdminContext, now: Timestamp) -> Result<(), StoreError> {
        let Some(own) = admin.call() else { return Ok(()) };
        let mut open = self.store.list_console_sessions(own.project(), now).await?;
        open.retain(|session| session.holder.key == own.credential.key);
        for session in open.iter().take((open.len() + 1).saturating_sub(SESSIONS_MAX)) {
            let id = session.holder.id;
            let audit = self.audit(own, "console.end", id.to_string()).about(&own.credential.member_name);
            self.store.end_console_session(own.project(), id, audit).await?;
        }
        Ok(())
    }

    /// The person behind a browser's value, if its session and its key are accepted now.
    pub async fn enter_console(&self, value: &str) -> Result<Visitor, NotAuthenticated> {
        let now = self.clock.now();
        let session = self.store.find_console_session(&CredentialHash::of(value)).await?;
        let session = session.filter(|session| now < session.expires_at).ok_or(NotAuthenticated::Rejected)?;
        let (ends_at, own) = (session.expires_at, session.holder.map(|holder| holder.id));
        let Some(presented) = self.store.find_credential(&session.key_hash).await? else {
            let admin = self.operator_by_hash(session.key_hash).await?;
            return Ok(Visitor { admin, call: None, ends_at, access: Access::Write, session: None });
        };
        let mut call = self.accept(Some(presented), Connection::Key, now)?;
        let access = call.credential.access;
        if let Some(acting) = session.acting_hash.filter(|acting| *acting != session.key_hash) {
            let found = self.store.find_credential(&acting).await?;
            let acting = self.accept(found, Connection::Key, now)?;
            let is_same = acting.credential.member == call.credential.member;
            if !is_same || !is_within(access, acting.credential.access) {
                return Err(NotAuthenticated::Rejected);
            }
            call = acting;
        }
        self.usage.count(&call, Counted::Administration);
        let admin = AdminContext::of_member(call.clone());
        Ok(Visitor { admin, call: Some(call), ends_at, access, session: own })
    }

    /// The keys that a session may go on with: one of each project that the person has a key of, the strongest that is
    /// no stronger than the one that the person signed in with. Projects by name.
    pub async fn list_own_projects(&self, visitor: &Visitor) -> Result<Vec<(Project, KeyId)>, ConsoleError> {
        let Some(call) = &visitor.call else { return Ok(Vec::new()) };
        let (own, now) = (&call.credential, call.now);
        let mut keys = self.store.list_member_keys(own.account, own.member).await?;
        keys.retain(|key| {
            let is_handed_over = key.link.is_none_or(|link| link.opened_at.is_some());
            let is_alive = key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end);
            is_alive && is_handed_over && is_within(visitor.access, key.access)
        });
        // The key that is in use stays the one of its project.
        keys.sort_by_key(|key| (key.id != own.key, key.access != Access::Write, std::cmp::Reverse(key.created_at)));
        let projects = self.store.list_projects(own.account).await?.into_iter();
        let mut reached: Vec<(Project, KeyId)> = projects
            .filter_map(|project| {
                let key = keys.iter().find(|key| key.project == project.id)?.id;
                Some((project, key))
            })
            .collect();
        reached.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        Ok(reached)
    }

    /// Lets a session go on in another project that the person has a key of. It ends when it would have, and with
    /// either key.
    pub async fn turn_session(
        &self,
        visitor: &Visitor,
        value: &str,
        project: ProjectId,
    ) -> Result<Project, ConsoleError> {
        let reached = self.list_own_projects(visitor).await?.into_iter();
        let absent = || AdminError::NotFound("project that you have a key of");
        let (project, key) = reached.into_iter().find(|(own, _)| own.id == project).ok_or_else(absent)?;
        let acting_hash = self.store.find_key_hash(key).await?.ok_or_else(absent)?;
        let to = TurnedSession { acting_hash, project: project.id, key };
        if !self.store.turn_console_session(&CredentialHash::of(value), to).await? {
            return Err(absent().into());
        }
        Ok(project)
    }

    /// Ends a session.
    pub async fn sign_out(&self, value: &str) -> Result<(), StoreError> {
        self.store.delete_console_session(&CredentialHash::of(value)).await.map(|_| ())
    }

    /// Removes the sessions that have ended.
    pub(crate) async fn purge_console(&self) -> Result<u64, StoreError> {
        self.store.purge_console_sessions(self.clock.now()).await
    }

    /// Proves to this session that we wrote a text: what every form carries, so that no other page can send one, and
    /// what the browser keeps from one page to the next.
    pub fn seal_console(&self, value: &str, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(mac(value, text).finalize().into_bytes())
    }

    /// Whether a seal was made for this session and this text.
    pub fn is_console_seal(&self, value: &str, text: &str, seal: Option<&str>) -> bool {
        let given = seal.and_then(|seal| URL_SAFE_NO_PAD.decode(seal).ok());
        given.is_some_and(|given| mac(value, text).verify_slice(&given).is_ok())
    }

    /// What a plan allows.
    pub fn limits_of(&self, plan: PlanName) -> PlanLimits {
        *self.plans.limits(plan)
    }

    /// The id of a key that a form will make.
    pub fn new_key_id(&self) -> KeyId {
        KeyId::new(self.ids.uuid(self.clock.now()))
    }

    /// A reference under which one of our own faults is logged and shown.
    pub fn fault_reference(&self) -> String {
        self.ids.uuid(self.clock.now()).simple().to_string()
    }
}

/// Whether a session of a key with the first access may act with a key that has the second.
fn is_within(own: Access, other: Access) -> bool {
    own == Access::Write || other == Access::Read
}

fn mac(value: &str, text: &str) -> Hmac<Sha256> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(value.as_bytes()).expect("a key of any length will do");
    mac.update(b"console:");
    mac.update(text.as_bytes());
    mac
}
