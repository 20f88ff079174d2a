//! Clients, codes and connections.

use async_trait::async_trait;
use mnemon_core::CredentialHash;

use super::SqliteStore;
use super::statement::{at_once, run};
use crate::interface::oauth::{self, read_grant};
use crate::interface::redeem;
use crate::{Grant, Oauth, Redeemed, Redemption, StoreError};

#[async_trait]
impl Oauth for SqliteStore {
    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError> {
        self.writer.write(move |tx| at_once(redeem::redeem(tx, &redemption))).await
    }

    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError> {
        let generation = match self.memory.credentials.find_grant(hash) {
            Ok(grant) => return Ok(Some(grant)),
            Err(generation) => generation,
        };
        let found = self.readers.read(|conn| run(conn, &oauth::find_grant(hash)))?;
        let grant = found.first().map(|row| read_grant(row, 0)).transpose()?;
        if let Some(grant) = &grant {
            self.memory.credentials.keep_grant(*hash, grant.clone(), generation);
        }
        Ok(grant)
    }
}
