//! How the guard works for an account: its mode, what it rejected, and what was let through by hand.

use mnemon_core::{AccountId, MemberId, ProjectId, Timestamp};
use mnemon_store::Actor;

use super::{AdminContext, AdminError};
use crate::Engine;

/// What happens to a text that the guard would reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuardMode {
    /// It is refused.
    #[default]
    Reject,
    /// It is stored, and the audit log notes it.
    Report,
    /// It is not looked at.
    Off,
}

impl GuardMode {
    /// The word used in storage and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Report => "report",
            Self::Off => "off",
        }
    }

    /// The mode that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Reject, Self::Report, Self::Off].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// A text that the guard found, by its hash. The text itself is kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// When.
    pub at: Timestamp,
    /// In which project.
    pub project: Option<ProjectId>,
    /// By whom it was sent.
    pub member: Option<MemberId>,
    /// SHA-256 of the text, in hex: what a release is made for.
    pub hash: String,
    /// Whether it was stored all the same, because the mode was `report`.
    pub was_stored: bool,
}

pub(crate) const REJECTED: &str = "guard.reject";
pub(crate) const REPORTED: &str = "guard.report";
/// How far back the audit log is read for rejections.
const AUDIT_ROWS: usize = 10_000;

impl Engine {
    /// The mode in force for an account.
    pub(crate) async fn guard_mode(&self, account: AccountId) -> Result<GuardMode, mnemon_store::StoreError> {
        let stored = self.store.find_guard_mode(account).await?;
        Ok(stored.and_then(|word| GuardMode::parse(&word)).unwrap_or_default())
    }

    /// The mode in force, for people.
    pub async fn show_guard(&self, ctx: &AdminContext, account: AccountId) -> Result<GuardMode, AdminError> {
        self.admin_account(ctx, account).await?;
        Ok(self.guard_mode(account).await?)
    }

    /// Sets the mode: the operator's decision.
    pub async fn set_guard(&self, ctx: &AdminContext, account: AccountId, mode: GuardMode) -> Result<(), AdminError> {
        ctx.need_operator()?;
        let audit = self.admin_audit(ctx, account, None, "guard.mode", mode.as_str());
        let is_known = self.store.set_guard_mode(account, mode.as_str(), audit).await?;
        if is_known { Ok(()) } else { Err(AdminError::NotFound("account")) }
    }

    /// What the guard found lately, newest first.
    pub async fn list_rejections(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        limit: usize,
    ) -> Result<Vec<Rejection>, AdminError> {
        self.admin_account(ctx, account).await?;
        let rows = self.store.list_audit(account, AUDIT_ROWS).await?;
        let found = rows.into_iter().filter(|(entry, _)| entry.action == REJECTED || entry.action == REPORTED);
        let shown = found.take(limit).map(|(entry, _)| Rejection {
            at: entry.at,
            project: entry.project,
            member: match entry.actor {
                Actor::Member(member) => Some(member),
                _ => None,
            },
            was_stored: entry.action == REPORTED,
            hash: entry.subject,
        });
        Ok(shown.collect())
    }

    /// Lets one false positive pass in a project from now on.
    pub async fn release_text(&self, ctx: &AdminContext, project: ProjectId, hash: &str) -> Result<(), AdminError> {
        ctx.need_operator()?;
        let project = self.reachable_project(ctx, project).await?;
        let invalid =
            || AdminError::Invalid("hash must be 64 hexadecimal characters, as a rejection shows it".to_owned());
        let bytes = parse_hex(hash.trim()).ok_or_else(invalid)?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "guard.release", hash.trim());
        self.store.release_text(project.id, bytes, audit).await?;
        Ok(())
    }
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}
