//! Look-ups of credentials, which are made together (`together.rs`): many calls by one statement.
//!
//! The statement is a function of the database: it takes on the service's role and opens what the presented hashes lead
//! to, and nothing else (`look_up`, `migrations/postgres/0001_schema.sql`). Of keys that this node knows, it asks only
//! whether that still holds, where their logs end, and how often they were used elsewhere (`look_again`,
//! `0001_schema.sql`): less than half the work.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{CredentialHash, Seq};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::coalesce::{Coalesced, Question};
use super::connect::Pool;
use super::known_keys::KnownKeys;
use super::rates::read_calls;
use super::rows::{Cells, read_tree};
use super::transaction::ask_alone;
use super::twice;
use crate::interface::credentials::read_credential;
use crate::interface::oauth::read_grant;
use crate::{Calls, CallsElsewhere, Credential, Grant, Presented, StoreError};

/// Where the columns of a row begin.
const DEPARTMENTS: usize = 19;
const PARENTS: usize = 20;
const GRANT: usize = 21;
const ASKED: usize = 27;
const COUNTERS: usize = 28;
const CALLS: usize = 29;
/// The same, where a known key was asked about.
const AGAIN_COUNTERS: usize = 3;
const AGAIN_CALLS: usize = 4;

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
    pub(super) known: KnownKeys,
}

/// A key that this node knows.
type Known = (CredentialHash, Arc<Credential>);

/// The look-ups of this node.
pub(super) type LookUps = Coalesced<LookUp>;

#[async_trait]
impl Question for LookUp {
    type Asked = Asked;
    type Answer = Option<Found>;
    const CALLERS_MAX: usize = 4_096;

    async fn ask_all(&self, asked: &[Asked]) -> Vec<Result<Option<Found>, StoreError>> {
        let found = self.look(asked).await;
        let of = |asked| found.as_ref().map(|found| found.get(asked).cloned()).map_err(StoreError::clone);
        asked.iter().map(of).collect()
    }
}

impl LookUp {
    async fn look(&self, asked: &[Asked]) -> Result<HashMap<Asked, Found>, StoreError> {
        let (mut known, mut keys, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        for asked in asked.iter().copied().collect::<HashSet<Asked>>() {
            match asked {
                Asked::Key(hash) => match self.known.find(&hash) {
                    Some(credential) => known.push((hash, credential)),
                    None => keys.push(hash),
                },
                Asked::Token(hash) => tokens.push(hash),
            }
        }
        let (again, fresh) = tokio::join!(self.look_again(&known), self.look_up_fresh(&keys, &tokens));
        let (mut found, mut fresh) = (again?, fresh?);
        let changed = known.iter().map(|(hash, _)| *hash).filter(|hash| !found.contains_key(&Asked::Key(*hash)));
        let changed: Vec<CredentialHash> = changed.collect();
        fresh.extend(self.look_up_fresh(&changed, &[]).await?);
        // A key that is gone altogether has no row.
        changed.iter().filter(|hash| !fresh.contains_key(&Asked::Key(**hash))).for_each(|hash| self.known.forget(hash));
        for (asked, (_, presented)) in &fresh {
            if let Asked::Key(hash) = asked {
                self.known.note(*hash, &presented.credential);
            }
        }
        found.extend(fresh);
        Ok(found)
    }

    /// Those of the known keys that still are what they were.
    async fn look_again(&self, known: &[Known]) -> Result<HashMap<Asked, Found>, StoreError> {
        const LOOK_AGAIN: &str = "SELECT * FROM look_again($1, $2, $3, $4, $5, $6)";
        if known.is_empty() {
            return Ok(HashMap::new());
        }
        let keys: Vec<Uuid> = known.iter().map(|(_, credential)| credential.key.uuid()).collect();
        let projects: Vec<Uuid> = known.iter().map(|(_, credential)| credential.project.uuid()).collect();
        let mut accounts: Vec<Uuid> = known.iter().map(|(_, credential)| credential.account.uuid()).collect();
        accounts.sort_unstable();
        accounts.dedup();
        let limits = self.pool.limits();
        let values: [&(dyn ToSql + Sync); 6] =
            [&limits.role, &limits.lock_timeout_ms, &keys, &projects, &accounts, &self.node];
        let rows = self.ask(LOOK_AGAIN, &values).await?;
        let still = rows.iter().filter_map(|row| read_again(row, known).transpose());
        still.collect()
    }

    async fn look_up_fresh(
        &self,
        keys: &[CredentialHash],
        tokens: &[CredentialHash],
    ) -> Result<HashMap<Asked, Found>, StoreError> {
        const LOOK_UP: &str = "SELECT * FROM look_up($1, $2, $3, $4, $5)";
        if keys.is_empty() && tokens.is_empty() {
            return Ok(HashMap::new());
        }
        let [keys, tokens] =
            [keys, tokens].map(|hashes| hashes.iter().map(|hash| hash.as_bytes().as_slice()).collect::<Vec<&[u8]>>());
        let limits = self.pool.limits();
        let values: [&(dyn ToSql + Sync); 5] = [&limits.role, &limits.lock_timeout_ms, &keys, &tokens, &self.node];
        self.ask(LOOK_UP, &values).await?.iter().map(read).collect()
    }

    async fn ask(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        twice(|| ask_alone(&self.pool, sql, values)).await.map_err(|fault| fault.error)
    }
}

/// A known key, or nothing where its account has changed.
fn read_again(row: &Row, known: &[Known]) -> Result<Option<(Asked, Found)>, StoreError> {
    // SQL counts from one.
    let nth = usize::try_from(row.get::<_, i64>(0) - 1).ok();
    let Some((hash, credential)) = nth.and_then(|nth| known.get(nth)) else {
        return Err(Cells::new(row, "look_again", String::new).broken("nth"));
    };
    let cells = Cells::new(row, "look_again", || credential.key.to_string());
    if cells.count(2, "account_version")? != credential.account_version {
        return Ok(None);
    }
    let elsewhere = calls_elsewhere(credential, credential.key.uuid(), row, [AGAIN_COUNTERS, AGAIN_CALLS])?;
    let (credential, seq) = (Arc::clone(credential), Seq(cells.count(1, "seq")?));
    Ok(Some((Asked::Key(*hash), (None, Presented { credential, seq, elsewhere }))))
}

fn read(row: &Row) -> Result<(Asked, Found), StoreError> {
    let (credential, seq) = read_credential(row, |account| read_tree(row, DEPARTMENTS, PARENTS, account))?;
    let key = credential.key;
    let cells = Cells::new(row, "look_up", || key.to_string());
    let asked = CredentialHash::from_bytes(cells.bytes(ASKED, "asked")?);
    let is_token = cells.id_opt::<Uuid>(GRANT, "connection_id")?.is_some();
    let grant = is_token.then(|| read_grant(row, GRANT)).transpose()?;
    let counter = grant.as_ref().map_or_else(|| key.uuid(), |grant| grant.id.uuid());
    let elsewhere = calls_elsewhere(&credential, counter, row, [COUNTERS, CALLS])?;
    let presented = Presented { credential: Arc::new(credential), seq, elsewhere };
    Ok((if is_token { Asked::Token(asked) } else { Asked::Key(asked) }, (grant, presented)))
}

/// The calls of other nodes: those under `counter`, and those of the credential's whole project.
fn calls_elsewhere(
    credential: &Credential,
    counter: Uuid,
    row: &Row,
    columns: [usize; 2],
) -> Result<CallsElsewhere, StoreError> {
    let (counters, calls): (Vec<Uuid>, Vec<Vec<u8>>) = (row.get(columns[0]), row.get(columns[1]));
    let of = |wanted: Uuid| -> Result<Vec<Calls>, StoreError> {
        let rows = counters.iter().zip(&calls).filter(|(counter, _)| **counter == wanted);
        read_calls(rows.map(|(_, calls)| calls.as_slice()), wanted)
    };
    Ok(CallsElsewhere { connection: of(counter)?, project: of(credential.project.uuid())? })
}
