//! The keys that credentials are sealed with: checked at the start, changed by the operator.

use mnemon_store::{Resealed, StoreError};

use crate::Engine;
use crate::admin::{AdminContext, AdminError};
use crate::integrations::{NotOpened, Place};

pub(super) const NO_KEY: &str =
    "credentials can't be kept: the operator has to set gateway.encryption_key (MNEMON_ENCRYPTION_KEY) first";

/// Why the service must not start with these keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyMismatch {
    /// Some credentials were sealed with another key.
    #[error(
        "the credentials of {count} integration(s) were encrypted with another key (named {name}); nothing was changed. Start \
         with that key as gateway.encryption_key (MNEMON_ENCRYPTION_KEY), or, to replace it, with the new one there and \
         the old one as gateway.previous_encryption_key, and run: mnemon integration rotate-key"
    )]
    OtherKey {
        /// How many.
        count: usize,
        /// What the key is called by.
        name: String,
    },
    /// It could not be found out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Seals every credential anew with the present key: the operator's act, after the keys in the configuration changed.
    /// Answers how many were sealed with another.
    pub async fn rotate_integration_key(&self, ctx: &AdminContext) -> Result<u64, AdminError> {
        ctx.need_operator()?;
        if !self.integrations.sealer.can_seal() {
            return Err(AdminError::Invalid(NO_KEY.to_owned()));
        }
        let (mut rows, mut accounts) = (Vec::new(), Vec::new());
        for old in self.store.list_all_sealed().await? {
            if self.integrations.sealer.is_current(&old.sealed) {
                continue;
            }
            let place = Place { project: old.project, name: &old.name };
            let opened = self.integrations.sealer.open(&place, &old.sealed);
            let plain = opened.map_err(|_| {
                let text = format!("the credential of '{}' in project {} can't be opened", old.name, old.project);
                AdminError::Conflict(format!("{text}; nothing was changed. Give gateway.previous_encryption_key"))
            })?;
            let sealed = self.integrations.sealer.seal(&place, &plain, self.ids.secret());
            let sealed = sealed.ok_or_else(|| AdminError::Invalid(NO_KEY.to_owned()))?;
            accounts.push(old.account);
            rows.push(Resealed { old, sealed });
        }
        accounts.sort();
        accounts.dedup();
        let line = |account| self.admin_audit(ctx, account, None, "integration.rotate_key", account);
        let audit = accounts.into_iter().map(line).collect();
        Ok(self.store.replace_sealed(rows, audit).await?)
    }

    /// Whether every sealed credential can be opened with the keys of the configuration: asked at the start, so that a
    /// wrong key is seen before anything is done with it.
    pub async fn check_integration_keys(&self) -> Result<(), KeyMismatch> {
        let mut other: Option<KeyMismatch> = None;
        for row in self.store.list_all_sealed().await? {
            let place = Place { project: row.project, name: &row.name };
            match (self.integrations.sealer.open(&place, &row.sealed), &mut other) {
                (Err(NotOpened::OtherKey(_)), Some(KeyMismatch::OtherKey { count, .. })) => *count += 1,
                (Err(NotOpened::OtherKey(name)), _) => other = Some(KeyMismatch::OtherKey { count: 1, name }),
                (Err(NotOpened::Broken), _) => {
                    tracing::error!(project.id = %row.project, integration = row.name, "a credential is broken");
                }
                (Ok(_), _) => {}
            }
        }
        other.map_or(Ok(()), Err)
    }
}
