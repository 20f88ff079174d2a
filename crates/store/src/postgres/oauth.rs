//! Clients, codes and connections.

use async_trait::async_trait;
use mnemon_core::CredentialHash;

use super::PostgresStore;
use super::error::Fault;
use super::statement::Act;
use super::transaction::{Ask, Tenant, Tx, ask};
use super::twice;
use crate::interface::oauth::{self, read_grant};
use crate::interface::redeem;
use crate::{Grant, Oauth, Redeemed, Redemption, StoreError};

#[async_trait]
impl Oauth for PostgresStore {
    async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::credential(&redemption.code)).await?;
            let redeemed = redeem::redeem(&mut act, &redemption).await?;
            act.end(redeemed).await
        })
        .await
    }

    async fn find_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, StoreError> {
        twice(|| self.load_grant(hash)).await.map_err(|fault| fault.error)
    }
}

impl PostgresStore {
    async fn load_grant(&self, hash: &CredentialHash) -> Result<Option<Grant>, Fault> {
        let (bytes, find) = (hash.as_bytes().as_slice(), oauth::find_grant(hash));
        let tx = Tx::read_latest(&self.pool, Tenant::credential(hash)).await?;
        let answers = tx.finish(vec![ask(OPEN_KEY, &[&bytes]), Ask::from(&find)]).await?;
        let [_, found] = answers.as_slice() else { return Err(Fault::away("PostgreSQL left an answer out")) };
        Ok(found.first().map(|row| read_grant(row, 0)).transpose()?)
    }
}

/// The holder of the token may see its connection, which opens the row of its key.
pub(super) const OPEN_KEY: &str = "
    SELECT set_config('mnemon.key', c.key_id::text, true)
    FROM connection c
    WHERE c.hash = $1";
