//! Administering the guard: reading and setting an account's mode, listing what was rejected, releasing a text. What
//! the mode does to a call is decided in `guarding.rs`, one room up.

use futures_util::future::try_join_all;
use mnemon_core::{AccountId, ContentHash, KeyId, MemberId, Project, ProjectId, RecordId, Timestamp, parse_hex};
use mnemon_store::{Actor, AuditEntry, AuditFilter, StoreError};

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::guarding::{CAUTIONED, Found, GuardMode, REJECTED, REPORTED, reference};

/// A finding of the guard, by the text's hash. The text itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub at: Timestamp,
    pub project: Option<ProjectId>,
    pub member: Option<MemberId>,
    /// That member's name at the time.
    pub member_name: Option<String>,
    pub key: Option<KeyId>,
    /// What kind of text it was, and how long, for example "content, 1240 characters".
    pub what: Option<String>,
    /// What the text does, as a clause about it.
    pub does: Option<String>,
    /// Where it came from, if everybody in the project may know that.
    pub source: Option<String>,
    /// A fingerprint of what it says.
    pub content: Option<ContentHash>,
    /// SHA-256 of the text in hex, used to release it.
    pub hash: String,
    /// The reference in the refused caller's answer; it also releases the text.
    pub reference: String,
    /// Whether the guard was only unsure, so that the text was stored with a mark.
    pub is_caution: bool,
    /// Whether it was stored, with a mark or because the mode was `report`.
    pub was_stored: bool,
}

/// A finding, with what became of its text since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRejection {
    pub rejection: Rejection,
    /// The label of the key that brought it, or its last characters.
    pub key_label: Option<String>,
    pub is_released: bool,
    /// The newest record with the text, of those that the admin sees.
    pub record: Option<RecordId>,
}

/// Which text to release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// The text with this SHA-256, in hex.
    Hash(String),
    /// The refused text with this reference.
    Reference(String),
}

/// How far back the audit log is read for rejections.
const AUDIT_ROWS: usize = 10_000;

impl Engine {
    /// The current mode, for people.
    pub async fn show_guard(&self, ctx: &AdminContext, account: AccountId) -> Result<GuardMode, AdminError> {
        self.admin_account(ctx, account).await?;
        Ok(self.guard_mode(account).await?)
    }

    /// Sets the mode (operator).
    pub async fn set_guard(&self, ctx: &AdminContext, account: AccountId, mode: GuardMode) -> Result<(), AdminError> {
        ctx.need_operator()?;
        let audit = self.admin_audit(ctx, account, None, "guard.mode", mode.as_str());
        let is_known = self.store.set_guard_mode(account, mode.as_str(), audit).await?;
        if is_known { Ok(()) } else { Err(AdminError::NotFound("account")) }
    }

    /// Recent findings, newest first.
    pub async fn list_rejections(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        wanted: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Rejection>, AdminError> {
        self.admin_account(ctx, account).await?;
        let all = self.rejections(account).await?.into_iter();
        Ok(all.filter(|found| wanted.is_none_or(|wanted| found.reference == wanted)).take(limit).collect())
    }

    /// What became of the texts of findings, for those who decide about them.
    pub async fn follow_rejections(
        &self,
        ctx: &AdminContext,
        found: Vec<Rejection>,
    ) -> Result<Vec<ShownRejection>, AdminError> {
        Ok(try_join_all(found.into_iter().map(|rejection| self.follow_rejection(ctx, rejection))).await?)
    }

    async fn follow_rejection(&self, ctx: &AdminContext, rejection: Rejection) -> Result<ShownRejection, StoreError> {
        let is_released = match (rejection.project, parse_hex(&rejection.hash)) {
            (Some(project), Some(hash)) => self.store.is_released(project, hash).await?,
            _ => false,
        };
        let record = match (rejection.project, rejection.content) {
            (Some(project), Some(content)) if is_released || rejection.was_stored => {
                let copies = self.store.list_saying(project, content).await?;
                copies.into_iter().find(|(_, audience)| ctx.viewer().sees(audience)).map(|(id, _)| id)
            }
            _ => None,
        };
        let key = match rejection.key {
            Some(key) => self.store.find_key(key).await?,
            None => None,
        };
        let key_label = key.and_then(|row| row.label.or_else(|| Some(format!("…{}", row.hint?))));
        Ok(ShownRejection { rejection, key_label, is_released, record })
    }

    async fn rejections(&self, account: AccountId) -> Result<Vec<Rejection>, AdminError> {
        let actions = Some([REJECTED, REPORTED, CAUTIONED].map(str::to_owned).to_vec());
        let filter = AuditFilter { actions, ..AuditFilter::default() };
        let found = self.store.search_audit(account, filter, AUDIT_ROWS).await?.into_iter();
        Ok(found.map(|(entry, _)| to_rejection(entry)).collect())
    }

    /// Releases one false positive in a project: the account's admins decide that for their own. Answers with the hash.
    pub async fn release_text(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        release: Release,
    ) -> Result<String, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let hash = match release {
            Release::Hash(hash) => hash.trim().to_ascii_lowercase(),
            Release::Reference(reference) => self.refused_as(&project, reference.trim()).await?,
        };
        let invalid = || {
            AdminError::Invalid("hash must be 64 hexadecimal characters, as shown in the list of rejections".to_owned())
        };
        let bytes = parse_hex(&hash).ok_or_else(invalid)?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "guard.release", &hash);
        self.store.release_text(project.id, bytes, audit).await?;
        Ok(hash)
    }

    /// The hash of the text that was refused in this project under a reference.
    async fn refused_as(&self, project: &Project, reference: &str) -> Result<String, AdminError> {
        let found = self.rejections(project.account).await?.into_iter();
        let here = found.filter(|found| found.project == Some(project.id));
        here.map(|found| (found.reference, found.hash))
            .find_map(|(known, hash)| (known == reference).then_some(hash))
            .ok_or(AdminError::NotFound("rejection with this reference in the project"))
    }
}

fn to_rejection(entry: AuditEntry) -> Rejection {
    let found = entry.subject_name.as_deref().map(Found::read);
    let (what, does, content, source) = match found {
        Some(found) => (Some(found.what), found.does, found.content, found.source),
        None => (None, None, None, None),
    };
    Rejection {
        at: entry.at,
        project: entry.project,
        member: match entry.actor {
            Actor::Member(member) => Some(member),
            _ => None,
        },
        member_name: entry.actor_name,
        key: entry.key,
        what,
        does,
        source,
        content,
        is_caution: entry.action == CAUTIONED,
        was_stored: entry.action != REJECTED,
        reference: reference(&entry.subject).to_owned(),
        hash: entry.subject,
    }
}
