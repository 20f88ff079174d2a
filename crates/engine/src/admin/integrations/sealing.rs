//! The keys that encrypt credentials: checked at startup, rotated by the operator.

use mnemon_store::{Resealed, StoreError};

use crate::Engine;
use crate::admin::{AdminContext, AdminError};
use crate::integrations::{NotOpened, Place};

pub(super) const NO_KEY: &str =
    "can't store a credential: the operator must set gateway.encryption_key (MNEMON_ENCRYPTION_KEY) first";

/// Why the service must not start with these keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyMismatch {
    /// Some credentials were encrypted with another key.
    #[error(
        "the credentials of {count} integration(s) were encrypted with another key (id {name}); nothing was changed. Start \
         with that key as gateway.encryption_key (MNEMON_ENCRYPTION_KEY). To replace it, set the new one there and \
         the old one as gateway.previous_encryption_key, then run: mnemon integration rotate-key"
    )]
    OtherKey {
        count: usize,
        /// The id of that key.
        name: String,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Re-encrypts every credential with the current key, after the operator changed the keys in the configuration.
    /// Returns how many had been encrypted with another key.
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
                let text = format!("can't decrypt the credential of '{}' in project {}", old.name, old.project);
                AdminError::Conflict(format!("{text}; nothing was changed. Set gateway.previous_encryption_key"))
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

    /// Whether the configured keys can decrypt every stored credential: checked at startup, so that a wrong key is
    /// noticed before anything is done with it.
    pub async fn check_integration_keys(&self) -> Result<(), KeyMismatch> {
        let mut other: Option<KeyMismatch> = None;
        for row in self.store.list_all_sealed().await? {
            let place = Place { project: row.project, name: &row.name };
            match (self.integrations.sealer.open(&place, &row.sealed), &mut other) {
                (Err(NotOpened::OtherKey(_)), Some(KeyMismatch::OtherKey { count, .. })) => *count += 1,
                (Err(NotOpened::OtherKey(name)), _) => other = Some(KeyMismatch::OtherKey { count: 1, name }),
                (Err(NotOpened::Broken), _) => {
                    tracing::error!(project.id = %row.project, integration = row.name, "a stored credential can't be decrypted");
                }
                (Ok(_), _) => {}
            }
        }
        other.map_or(Ok(()), Err)
    }
}
