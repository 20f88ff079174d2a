//! Read replicas: standbys that searches may read instead of the primary.
//!
//! A search knows from its look-up, which the primary answered, how far the project's log had come. A replica's answer
//! counts only if the same view of the replica shows that it has replayed that much, and that it follows the same
//! history; otherwise the primary is asked. So a caller never sees less than with the primary alone, and a replica that
//! is behind, slow or gone costs a search a little time and nothing else.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;

use super::connect::{Pool, PostgresConfig};
use super::error::Fault;
use super::transaction::{Ask, Tenant, Tx, ask};
use crate::{ReplicaReads, StoreError};

/// How long a replica is left alone that has not replayed enough: lags pass.
const BEHIND_REST: Duration = Duration::from_millis(100);
/// The same for one that failed, or did not answer in time.
const FAILED_REST: Duration = Duration::from_secs(5);

/// What kind of server this is, and which history it follows. The timeline is the one of the last restart point: after
/// a failover, a standby is used again when it has made one (within `checkpoint_timeout`).
const STANDING: &str = "
    SELECT pg_is_in_recovery(), c.timeline_id::bigint, s.system_identifier
    FROM pg_control_checkpoint() AS c, pg_control_system() AS s";

/// The replicas of this node.
pub(super) struct Replicas {
    servers: Vec<Replica>,
    primary: Arc<Pool>,
    /// The primary's own identifier, which its standbys share.
    system: i64,
    patience: Duration,
    next: AtomicUsize,
    reads: Counts,
}

struct Replica {
    pool: Arc<Pool>,
    rests_until: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    behind: AtomicU64,
    failed: AtomicU64,
}

/// What a replica answered, and whether it was too far behind for some of it.
pub(super) struct Answer<T> {
    pub(super) value: T,
    pub(super) is_behind: bool,
}

impl<T> Answer<Option<T>> {
    /// An answer that counts, or none.
    pub(super) fn of(value: Option<T>) -> Self {
        let is_behind = value.is_none();
        Self { value, is_behind }
    }
}

/// A replica's server during one read, and the history that counts.
pub(super) struct Visit {
    pub(super) pool: Arc<Pool>,
    system: i64,
    timeline: u64,
}

impl Visit {
    /// The question that [`Self::is_of_the_primary`] reads. It goes first: whatever is read after it is at least as
    /// new.
    pub(super) fn standing() -> Ask<'static> {
        ask(STANDING, &[])
    }

    /// Whether the server is a standby of the primary.
    pub(super) fn is_of_the_primary(&self, standing: &[Row]) -> bool {
        let is = |row: &Row| {
            let timeline: i64 = row.try_get(1).unwrap_or_default();
            let (is_standby, system) = (row.try_get(0).unwrap_or(false), row.try_get(2).unwrap_or(0_i64));
            is_standby && system == self.system && self.timeline != 0 && timeline.unsigned_abs() == self.timeline
        };
        standing.first().is_some_and(is)
    }
}

impl Replicas {
    /// `None` if there are none, or if the primary does not say who it is.
    pub(super) async fn open(config: &PostgresConfig, primary: &Arc<Pool>) -> Result<Option<Arc<Self>>, StoreError> {
        if config.replicas.is_empty() {
            return Ok(None);
        }
        let mut servers = Vec::new();
        for url in &config.replicas {
            let own = PostgresConfig { url: url.clone(), ..config.clone() };
            let pool = Pool::new(&own).map_err(|error| StoreError::Failed(format!("a read replica: {error}")))?;
            servers.push(Replica { pool: Arc::new(pool), rests_until: Mutex::new(None) });
        }
        let system = match system(primary).await {
            Ok(system) => system,
            Err(fault) => {
                tracing::warn!("PostgreSQL does not tell who it is, so read replicas are not used: {}", fault.error);
                return Ok(None);
            }
        };
        let (primary, patience, reads) = (Arc::clone(primary), config.replica_patience, Counts::default());
        Ok(Some(Arc::new(Self { servers, primary, system, patience, next: AtomicUsize::new(0), reads })))
    }

    /// Reads from one of the replicas. `None` if none of them answers now: ask the primary.
    pub(super) async fn read<T, F>(&self, act: impl FnOnce(Visit) -> F) -> Option<T>
    where
        F: Future<Output = Result<Answer<T>, Fault>>,
    {
        let (nth, replica) = self.pick()?;
        match timeout(self.patience, act(self.visit(replica))).await {
            Ok(Ok(Answer { value, is_behind })) => {
                let count = if is_behind { &self.reads.behind } else { &self.reads.answered };
                count.fetch_add(1, Ordering::Relaxed);
                if is_behind {
                    replica.rest(BEHIND_REST);
                }
                Some(value)
            }
            failed => {
                let why = match failed {
                    Ok(Err(fault)) => fault.error.to_string(),
                    _ => format!("no answer within {:?}", self.patience),
                };
                tracing::warn!("read replica {} is left alone for {FAILED_REST:?}: {why}", nth + 1);
                self.reads.failed.fetch_add(1, Ordering::Relaxed);
                replica.rest(FAILED_REST);
                None
            }
        }
    }

    fn visit(&self, replica: &Replica) -> Visit {
        Visit { pool: Arc::clone(&replica.pool), system: self.system, timeline: self.primary.epoch() }
    }

    /// The next one that does not rest.
    fn pick(&self) -> Option<(usize, &Replica)> {
        let (first, now) = (self.next.fetch_add(1, Ordering::Relaxed), Instant::now());
        let mut turns = (0..self.servers.len()).map(|turn| first.wrapping_add(turn) % self.servers.len());
        turns.find_map(|nth| {
            let replica = self.servers.get(nth)?;
            let rests = replica.rests_until.lock().is_some_and(|until| now < until);
            (!rests).then_some((nth, replica))
        })
    }

    /// How often they were read.
    pub(super) fn reads(&self) -> ReplicaReads {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { answered, behind, failed } = &self.reads;
        ReplicaReads { answered: get(answered), behind: get(behind), failed: get(failed) }
    }

    /// Whether each of them can be used now, for the operator.
    pub(super) async fn check(&self) -> Vec<Result<(), StoreError>> {
        let mut outcomes = Vec::new();
        for replica in &self.servers {
            let visit = self.visit(replica);
            let outcome = async {
                let tx = Tx::read(&visit.pool, Tenant::nobody()).await?;
                let standing = tx.finish(vec![Visit::standing()]).await?.pop().unwrap_or_default();
                if visit.is_of_the_primary(&standing) {
                    return Ok(());
                }
                Err(Fault::from(StoreError::Failed(
                    "this server is no standby of the primary, or has not followed its last failover yet".to_owned(),
                )))
            };
            outcomes.push(outcome.await.map_err(|fault: Fault| fault.error));
        }
        outcomes
    }

    pub(super) fn close(&self) {
        self.servers.iter().for_each(|replica| replica.pool.close());
    }
}

impl Replica {
    fn rest(&self, time: Duration) {
        *self.rests_until.lock() = Some(Instant::now() + time);
    }
}

async fn system(primary: &Arc<Pool>) -> Result<i64, Fault> {
    let tx = Tx::read(primary, Tenant::nobody()).await?;
    let rows = tx.finish(vec![Visit::standing()]).await?.pop().unwrap_or_default();
    let system = rows.first().and_then(|row| row.try_get(2).ok());
    system.ok_or_else(|| Fault::away("PostgreSQL left an answer out"))
}
