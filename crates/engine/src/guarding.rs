//! What the guard's verdict means to an account: the account's mode, and the texts that were released by hand. Saving
//! and calling other systems both ask here. How admins read and change it is in `admin/guarding.rs`.

mod found;

use mnemon_core::{AccountId, ProjectId, to_hex};
use mnemon_guard::{Field, Verdict};
use mnemon_store::StoreError;
use sha2::{Digest, Sha256};

use crate::usage::Counted;
use crate::{CallContext, CallError, Engine};

pub(crate) use found::Found;

/// What happens to a text that the guard would reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuardMode {
    #[default]
    Reject,
    /// It is stored, and the audit log records it.
    Report,
    /// It is not checked.
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

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Reject, Self::Report, Self::Off].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// The audit log's word for a refused text.
pub(crate) const REJECTED: &str = "guard.reject";
/// The audit log's word for a text that was stored although the guard found it.
pub(crate) const REPORTED: &str = "guard.report";

/// The audit log's word for a text that was stored with a mark, because the guard was unsure.
pub(crate) const CAUTIONED: &str = "guard.caution";

/// How many hexadecimal digits of a text's hash make its reference: few enough to read out, and enough that two
/// refusals of one account do not share them by chance.
const REFERENCE_DIGITS: usize = 16;

/// The reference of a refused text: the beginning of its hash, in hex.
pub(crate) fn reference(hash_hex: &str) -> &str {
    &hash_hex[..REFERENCE_DIGITS.min(hash_hex.len())]
}

impl Engine {
    /// The current mode of an account.
    pub(crate) async fn guard_mode(&self, account: AccountId) -> Result<GuardMode, StoreError> {
        let stored = self.store.find_guard_mode(account).await?;
        Ok(stored.and_then(|word| GuardMode::parse(&word)).unwrap_or_default())
    }

    /// Judges texts that a call brings in: agents read every one of them later. Answers whether the guard is unsure
    /// about one that is let in. A key whose texts were refused too often waits, whatever it brings: otherwise a
    /// refusal and a limit would reveal the same. `source`: where the texts come from, if everybody in the project may
    /// know that.
    pub(crate) async fn check_texts(
        &self,
        ctx: &CallContext,
        source: Option<&str>,
        texts: impl Iterator<Item = (Field, &str)>,
    ) -> Result<bool, CallError> {
        self.rates.check_rejections(ctx.credential.key, &self.plan_limits(ctx), ctx.now)?;
        let mut is_cautioned = false;
        for (field, text) in texts {
            let verdict = self.guard.judge(field, text);
            if verdict != Verdict::Pass {
                is_cautioned |= self.found_by_guard(ctx, verdict, (field, text), source).await?;
            }
        }
        Ok(is_cautioned)
    }

    /// Whether the guard refuses a label: a name, a hash, a path. Every mode refuses these, and a refusal costs what
    /// that of a saved text costs. The operator has no budget.
    pub(crate) async fn is_refused_label(
        &self,
        ctx: Option<&CallContext>,
        fields: &[Field],
        text: &str,
    ) -> Result<bool, CallError> {
        if let Some(ctx) = ctx {
            self.rates.check_rejections(ctx.credential.key, &self.plan_limits(ctx), ctx.now)?;
        }
        let mut is_refused = fields.iter().any(|field| self.guard.judge(*field, text) == Verdict::Refuse);
        if let Some(ctx) = ctx.filter(|_| is_refused) {
            let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
            is_refused = !self.store.is_released(ctx.project(), hash).await?;
            if is_refused {
                self.note_refusal(ctx, to_hex(hash), &self.found(fields[0], text, None)).await?;
            }
        }
        Ok(is_refused)
    }

    /// What is kept of a text. A source that the guard would not let in itself is left out.
    fn found(&self, field: Field, text: &str, source: Option<&str>) -> Found {
        let source = source.filter(|source| self.guard.judge(Field::Source, source) == Verdict::Pass);
        Found::new(field, text, self.guard.family(field, text), source)
    }

    async fn note_refusal(&self, ctx: &CallContext, hash: String, found: &Found) -> Result<(), CallError> {
        self.counts.refused_texts.add(1);
        self.store.insert_audit(self.audit(ctx, REJECTED, hash).about(&found.to_note())).await?;
        self.usage.count(ctx, Counted::Rejection);
        self.rates.count_rejection(ctx.credential.key, &self.plan_limits(ctx), ctx.now);
        Ok(())
    }

    /// Whether a text that the guard found passes anyway: it is released for the project, or the account's mode does
    /// not reject.
    pub(crate) async fn is_let_through(
        &self,
        account: AccountId,
        project: ProjectId,
        text_hash: [u8; 32],
    ) -> Result<bool, StoreError> {
        Ok(self.store.is_released(project, text_hash).await? || self.guard_mode(account).await? != GuardMode::Reject)
    }

    /// Decides about a text that the guard found, and answers whether it is stored with a mark. The audit log keeps its
    /// hash, by which an admin can release it.
    async fn found_by_guard(
        &self,
        ctx: &CallContext,
        verdict: Verdict,
        (field, text): (Field, &str),
        source: Option<&str>,
    ) -> Result<bool, CallError> {
        let mode = self.guard_mode(ctx.credential.account).await?;
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        if mode == GuardMode::Off || self.store.is_released(ctx.project(), hash).await? {
            return Ok(false);
        }
        let (hash, found) = (to_hex(hash), self.found(field, text, source));
        if (verdict, mode) == (Verdict::Refuse, GuardMode::Reject) {
            let reference = reference(&hash).to_owned();
            self.note_refusal(ctx, hash, &found).await?;
            return Err(CallError::Guard { reference });
        }
        let (action, count) = match verdict {
            Verdict::Refuse => (REPORTED, &self.counts.reported_texts),
            _ => (CAUTIONED, &self.counts.cautioned_texts),
        };
        count.add(1);
        self.store.insert_audit(self.audit(ctx, action, hash).about(&found.to_note())).await?;
        if action == REPORTED {
            self.usage.count(ctx, Counted::Rejection);
        }
        Ok(true)
    }
}
