//! Who calls: credentials, keys and the operator token. Every call asks the database, because another node may have
//! changed them. Calls that arrive together look their credentials up together (`look_up.rs`).

use async_trait::async_trait;
use mnemon_core::CredentialHash;

use super::PostgresStore;
use super::look_up::Asked;
use super::usage;
use crate::{Credentials, Grant, Presented, SeenKey, StoreError};

#[async_trait]
impl Credentials for PostgresStore {
    async fn find_credential(&self, hash: &CredentialHash) -> Result<Option<Presented>, StoreError> {
        let found = self.look_ups.ask(Asked::Key(*hash)).await?;
        Ok(found.map(|(_, presented)| presented))
    }

    async fn find_credential_by_token(&self, hash: &CredentialHash) -> Result<Option<(Grant, Presented)>, StoreError> {
        let found = self.look_ups.ask(Asked::Token(*hash)).await?;
        Ok(found.and_then(|(grant, presented)| Some((grant?, presented))))
    }

    async fn note_seen(&self, seen: Vec<SeenKey>) -> Result<(), StoreError> {
        usage::note_seen(self, seen).await
    }
}
