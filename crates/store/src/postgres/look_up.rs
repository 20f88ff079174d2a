//! Look-ups of credentials, which fly together: calls that arrive while one is on its way wait for the next, and that one
//! asks for all of them by one statement. A look-up serves only those who were there when it left, so what it finds is at
//! least as new as they are. A caller that is alone waits for nobody.
//!
//! The statement is a function of the database (`migrations/postgres/0012_together.sql`): it takes on the service's role and
//! opens what the presented hashes lead to, and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use mnemon_core::{CredentialHash, Seq};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::Pool;
use super::error::{Again, Fault};
use super::rates::read_calls;
use super::rows::{Cells, read_tree};
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

type Outcome = Result<Option<Found>, StoreError>;

/// The look-ups of this node.
pub(super) struct LookUps {
    pool: Arc<Pool>,
    node: Uuid,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    /// Whether somebody leads: flies, and passes the lead on afterwards.
    is_led: bool,
    waiting: Vec<Waiting>,
    /// How many the last look-up served.
    company: usize,
}

struct Waiting {
    asked: Asked,
    reply: oneshot::Sender<Outcome>,
}

impl LookUps {
    pub(super) fn new(pool: &Arc<Pool>, node: Uuid) -> Arc<Self> {
        Arc::new(Self { pool: Arc::clone(pool), node, line: Mutex::default() })
    }

    /// Looks a credential up, together with whoever else waits.
    pub(super) async fn find(self: &Arc<Self>, asked: Asked) -> Outcome {
        loop {
            let (reply, answer) = oneshot::channel();
            if self.join(Waiting { asked, reply }) {
                // The first to come flies at once, on its own task: a hop to another one would take longer than many a look-up.
                Lead(Arc::clone(self)).fly().await;
            }
            // A leader whose caller hung up answers nobody: whoever flew with it asks again.
            if let Ok(outcome) = answer.await {
                return outcome;
            }
        }
    }

    /// Waits for the next flight. `true` for whoever has to lead it.
    fn join(&self, waiting: Waiting) -> bool {
        let mut line = self.line.lock();
        line.waiting.push(waiting);
        !std::mem::replace(&mut line.is_led, true)
    }

    async fn look(&self, flight: &[Waiting]) -> Result<HashMap<Asked, Found>, StoreError> {
        let (mut keys, mut tokens) = (Vec::new(), Vec::new());
        for waiting in flight {
            match &waiting.asked {
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

/// Whoever leads. The lead goes on when this is dropped, also where the leader's caller hung up in the middle of a flight.
struct Lead(Arc<LookUps>);

impl Lead {
    /// Asks for all who wait now.
    async fn fly(self) {
        if self.0.line.lock().company > 1 {
            // Where many call, others are about to: they get their turn first and come along.
            tokio::task::yield_now().await;
        }
        let flight = self.take();
        let found = self.0.look(&flight).await;
        for Waiting { asked, reply } in flight {
            let outcome = found.as_ref().map(|found| found.get(&asked).cloned()).map_err(StoreError::clone);
            // Whoever stopped waiting needs no answer.
            let _ = reply.send(outcome);
        }
    }

    fn take(&self) -> Vec<Waiting> {
        let mut line = self.0.line.lock();
        line.company = line.waiting.len();
        std::mem::take(&mut line.waiting)
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let mut line = self.0.line.lock();
        let runtime = tokio::runtime::Handle::try_current();
        let (false, Ok(runtime)) = (line.waiting.is_empty(), runtime) else {
            // Without a runtime nobody can fly, and nobody waits any more.
            line.waiting.clear();
            line.is_led = false;
            return;
        };
        drop(line);
        runtime.spawn(Lead(Arc::clone(&self.0)).fly());
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
