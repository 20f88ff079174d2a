//! Look-ups of credentials, which fly together (`together.rs`): many calls by one statement.
//!
//! The statement is a function of the database (`migrations/postgres/0020_lean.sql`): it takes on the service's role and
//! opens what the presented hashes lead to, and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{CredentialHash, Seq};
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::Pool;
use super::error::{Again, Fault};
use super::rates::read_calls;
use super::rows::{Cells, read_tree};
use super::together::{Flight, Together};
use super::transaction::ask_alone;
use crate::acts::credentials::read_credential;
use crate::acts::oauth::read_grant;
use crate::{Calls, CallsElsewhere, Credential, Grant, Presented, SavedLooks, StoreError};

/// Where the columns of a row begin.
const DEPARTMENTS: usize = 19;
const PARENTS: usize = 20;
const GRANT: usize = 21;
const ASKED: usize = 27;
const COUNTERS: usize = 28;
const CALLS: usize = 29;

/// What is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Key(CredentialHash),
    Token(CredentialHash),
}

/// A credential, and the connection where a token led to it.
pub(super) type Found = (Option<Grant>, Presented);

/// A look-up by this node.
pub(super) struct LookUp {
    pub(super) pool: Arc<Pool>,
    pub(super) node: Uuid,
}

/// The look-ups of this node.
pub(super) type LookUps = Together<LookUp>;

#[async_trait]
impl Flight for LookUp {
    type Asked = Asked;
    type Answer = Option<Found>;
    const CALLERS_MAX: usize = 4_096;

    async fn fly(&self, asked: &[Asked]) -> Vec<Result<Option<Found>, StoreError>> {
        let found = self.look(asked).await;
        let of = |asked| found.as_ref().map(|found| found.get(asked).cloned()).map_err(StoreError::clone);
        asked.iter().map(of).collect()
    }
}

impl LookUp {
    async fn look(&self, asked: &[Asked]) -> Result<HashMap<Asked, Found>, StoreError> {
        let (mut keys, mut tokens) = (Vec::new(), Vec::new());
        for asked in asked {
            match asked {
                Asked::Key(hash) => keys.push(hash.as_bytes().as_slice()),
                Asked::Token(hash) => tokens.push(hash.as_bytes().as_slice()),
            }
        }
        for hashes in [&mut keys, &mut tokens] {
            hashes.sort_unstable();
            hashes.dedup();
        }
        let rows = match self.ask(&keys, &tokens).await {
            // Reading twice changes nothing, so a connection lost on the way costs a caller nothing.
            Err(Fault { again: Again::Lost, .. }) => self.ask(&keys, &tokens).await,
            rows => rows,
        };
        rows.map_err(|fault| fault.error)?.iter().map(read).collect()
    }

    async fn ask(&self, keys: &[&[u8]], tokens: &[&[u8]]) -> Result<Vec<Row>, Fault> {
        const LOOK_UP: &str = "SELECT * FROM look_up($1, $2, $3, $4, $5)";
        let limits = self.pool.limits();
        ask_alone(&self.pool, LOOK_UP, &[&limits.role, &limits.lock_timeout_ms, &keys, &tokens, &self.node]).await
    }
}

fn read(row: &Row) -> Result<(Asked, Found), StoreError> {
    let (credential, seq) = read_credential(row, |account| read_tree(row, DEPARTMENTS, PARENTS, account))?;
    let key = credential.key;
    let cells = Cells::new(row, "look_up", || key.to_string());
    let asked = CredentialHash::from_bytes(cells.bytes(ASKED, "asked")?);
    let is_token = cells.id_opt::<Uuid>(GRANT, "connection_id")?.is_some();
    let grant = is_token.then(|| read_grant(row, GRANT)).transpose()?;
    let counter = grant.as_ref().map_or_else(|| key.uuid(), |grant| grant.id.uuid());
    let presented = present(credential, seq, counter, row)?;
    Ok((if is_token { Asked::Token(asked) } else { Asked::Key(asked) }, (grant, presented)))
}

/// A credential with the calls of other nodes: those under `counter`, and those of its whole project.
fn present(credential: Credential, seq: Seq, counter: Uuid, row: &Row) -> Result<Presented, StoreError> {
    let (counters, calls): (Vec<Uuid>, Vec<Vec<u8>>) = (row.get(COUNTERS), row.get(CALLS));
    let of = |wanted: Uuid| -> Result<Vec<Calls>, StoreError> {
        let rows = counters.iter().zip(&calls).filter(|(counter, _)| **counter == wanted);
        read_calls(rows.map(|(_, calls)| calls.as_slice()), wanted)
    };
    let elsewhere = CallsElsewhere { connection: of(counter)?, project: of(credential.project.uuid())? };
    Ok(Presented { credential: Arc::new(credential), seq, elsewhere, saved: SavedLooks::default() })
}
