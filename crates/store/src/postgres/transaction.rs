//! One transaction, and whose rows it uses.
//!
//! Nothing is sent on its own: the beginning, the tenant and the first statements go out together, and so do the last
//! statements and the commit. A handful of questions then costs one round trip, however far away the server is.
//!
//! Every transaction runs as the service's own role, which owns nothing, and declares whose rows it uses; row-level
//! security shows it no others. Both end with the transaction, so a connection carries nothing from one caller to the
//! next, and a pooler may hand it to anybody in between.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::connect::Pool;
use super::error::{Again, Fault};
pub(super) use crate::tenant::Tenant;

/// How long one round trip may take, including the network, before its connection is given up. The server's own limits
/// (`connect.rs`) are shorter: this is for a server that no longer answers at all.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(40);

impl Tenant {
    /// Switches a transaction to another tenant.
    pub(super) fn turn(&self) -> Ask<'_> {
        const TURN: &str = "
            SELECT set_config('mnemon.project', $1, true), set_config('mnemon.account', $2, true)";
        ask(TURN, &[&self.project, &self.account])
    }
}

/// Opens the account of the transaction's project, by the project's own row.
const OPEN_PEOPLE: &str = "
    SELECT set_config('mnemon.account', p.account_id::text, true)
    FROM project p
    WHERE p.id = NULLIF(current_setting('mnemon.project', true), '')::uuid";

/// A statement with its values.
pub(super) struct Ask<'a> {
    sql: &'static str,
    values: Vec<&'a (dyn ToSql + Sync)>,
}

pub(super) fn ask<'a>(sql: &'static str, values: &[&'a (dyn ToSql + Sync)]) -> Ask<'a> {
    Ask { sql, values: values.to_vec() }
}

/// Opens the account of the project that the transaction was switched to.
pub(super) fn open_people() -> Ask<'static> {
    ask(OPEN_PEOPLE, &[])
}

/// A transaction. Without [`Tx::finish`] it is rolled back in the background.
pub(super) struct Tx {
    client: Option<Object>,
    pool: Arc<Pool>,
    begin: &'static str,
    is_writing: bool,
    tenant: Tenant,
    round_trip_max: Duration,
    is_begun: AtomicBool,
    is_broken: AtomicBool,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

impl Tx {
    /// Reads one consistent view, however many statements it takes.
    pub(super) async fn read(pool: &Arc<Pool>, tenant: Tenant) -> Result<Self, Fault> {
        Self::new(pool, tenant, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", false).await
    }

    /// Reads what is newest, statement by statement, where one decides what the next may see.
    pub(super) async fn read_latest(pool: &Arc<Pool>, tenant: Tenant) -> Result<Self, Fault> {
        Self::new(pool, tenant, "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", false).await
    }

    /// Writes. Every statement sees what was committed before it began; an act that needs more locks the project's row
    /// first.
    pub(super) async fn write(pool: &Arc<Pool>, tenant: Tenant) -> Result<Self, Fault> {
        Self::new(pool, tenant, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", true).await
    }

    async fn new(pool: &Arc<Pool>, tenant: Tenant, begin: &'static str, is_writing: bool) -> Result<Self, Fault> {
        let client = Some(pool.get().await?);
        let (is_begun, is_broken) = (AtomicBool::new(false), AtomicBool::new(false));
        let (pool, round_trip_max) = (Arc::clone(pool), ROUND_TRIP_MAX);
        Ok(Self { client, pool, begin, is_writing, tenant, round_trip_max, is_begun, is_broken })
    }

    /// Gives up sooner, for saves and searches, which touch few rows: a machine that froze must not hold callers up
    /// longer than another one takes to become the primary.
    pub(super) fn of_a_call(mut self) -> Self {
        self.round_trip_max = self.pool.limits().call_max;
        self
    }

    /// One statement's rows.
    pub(super) async fn rows(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        Ok(self.ask_all(vec![ask(sql, values)]).await?.pop().unwrap_or_default())
    }

    /// One statement's only row.
    pub(super) async fn row(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, Fault> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Many statements, sent together and run one after the other. The first failure is the answer.
    pub(super) async fn ask_all(&self, asks: Vec<Ask<'_>>) -> Result<Vec<Vec<Row>>, Fault> {
        self.send(asks, None).await
    }

    /// The last statements and the commit, sent together. If one of them fails, nothing is stored.
    pub(super) async fn finish(self, asks: Vec<Ask<'_>>) -> Result<Vec<Vec<Row>>, Fault> {
        let is_writing = self.is_writing;
        let answers = self.end(asks).await;
        if is_writing { answers.map_err(Fault::while_committing) } else { answers }
    }

    /// As [`Self::finish`], for an act that recognises its own writes: if the connection is lost, it may be repeated.
    pub(super) async fn finish_repeatable(self, asks: Vec<Ask<'_>>) -> Result<Vec<Vec<Row>>, Fault> {
        let answers = self.end(asks).await;
        answers.map_err(|fault| if fault.again == Again::Lost { fault } else { fault.while_committing() })
    }

    async fn end(mut self, asks: Vec<Ask<'_>>) -> Result<Vec<Vec<Row>>, Fault> {
        let is_nothing = asks.is_empty() && !self.is_begun.load(Ordering::Acquire);
        if is_nothing {
            self.client = None;
            return Ok(Vec::new());
        }
        let answers = self.send(asks, Some("COMMIT")).await;
        if answers.is_ok() {
            self.client = None;
        }
        answers
    }

    async fn send(&self, asks: Vec<Ask<'_>>, last: Option<&'static str>) -> Result<Vec<Vec<Row>>, Fault> {
        let sent = tokio::time::timeout(self.round_trip_max, self.send_all(asks, last)).await;
        sent.unwrap_or_else(|_| {
            self.is_broken.store(true, Ordering::Release);
            self.pool.distrust();
            Err(Fault::away("PostgreSQL does not answer"))
        })
    }

    async fn send_all(&self, mut asks: Vec<Ask<'_>>, last: Option<&'static str>) -> Result<Vec<Vec<Row>>, Fault> {
        self.pool.note_round_trip();
        let client = self.client.as_ref().expect("a transaction has its connection until it ends");
        let is_first = !self.is_begun.swap(true, Ordering::AcqRel);
        let own = usize::from(is_first && self.tenant.has_people);
        if own > 0 {
            asks.insert(0, open_people());
        }
        // It reads no table, so preparing it waits for no lock.
        let enter = if is_first { Some(client.prepare_cached(ENTER).await?) } else { None };
        let begin = async {
            match &enter {
                Some(enter) => self.begin(client, enter).await,
                None => Ok(()),
            }
        };
        // In this order: a statement prepared for the first time waits for locks, within the limits set at the
        // beginning.
        let (begun, answers) = tokio::join!(biased; begin, send_asks(client, &asks, last));
        begun?;
        let answers = answers?;
        Ok(answers.into_iter().skip(own).take(asks.len() - own).collect())
    }

    /// Begins, takes on the service's role, and declares whose rows are used. Sends all of it before waiting for
    /// anything.
    async fn begin(&self, client: &Object, enter: &Statement) -> Result<(), Fault> {
        let (limits, tenant) = (self.pool.limits(), &self.tenant);
        let values: [&(dyn ToSql + Sync); 9] = [
            &limits.role,
            &limits.statement_timeout_ms,
            &limits.lock_timeout_ms,
            &tenant.project,
            &tenant.account,
            &tenant.credential,
            &tenant.key,
            &tenant.pass,
            &tenant.projects,
        ];
        let begin = Box::pin(async { client.batch_execute(self.begin).await.map(|()| Vec::new()) });
        let enter = Box::pin(client.query(enter, &values));
        InOrder::new(vec![begin, enter]).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(())
    }
}

/// Every statement touches few rows of one tenant among many others': use indexes, row by row. A young table would
/// tempt the server to read all of it, or all of a project by a bitmap, with a plan that it keeps when the table has
/// grown. Compiling (JIT) such a statement never pays.
const ENTER: &str = "
    SELECT set_config('role', $1, true), set_config('statement_timeout', $2, true),
        set_config('lock_timeout', $3, true), set_config('mnemon.project', $4, true),
        set_config('mnemon.account', $5, true), set_config('mnemon.credential', $6, true),
        set_config('mnemon.key', $7, true), set_config('mnemon.pass', $8, true), set_config('mnemon.batch', $9, true),
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
        set_config('jit', 'off', true)";

/// Sends statements, and whatever ends the transaction, in this order and without waiting in between.
async fn send_asks(client: &Object, asks: &[Ask<'_>], last: Option<&str>) -> Result<Vec<Vec<Row>>, Fault> {
    #[cfg(feature = "testing")]
    crate::statements::count_statements(asks.len());
    // All are prepared before the first is sent: preparing waits for the server, and would let later ones overtake.
    let mut statements = Vec::with_capacity(asks.len());
    for ask in asks {
        statements.push(client.prepare_cached(ask.sql).await?);
    }
    let mut answers: Vec<Answer<'_>> = Vec::with_capacity(asks.len() + 1);
    for (ask, statement) in asks.iter().zip(&statements) {
        answers.push(Box::pin(client.query(statement, &ask.values)));
    }
    if let Some(last) = last {
        answers.push(Box::pin(async move { client.batch_execute(last).await.map(|()| Vec::new()) }));
    }
    Ok(InOrder::new(answers).await.into_iter().collect::<Result<Vec<_>, _>>()?)
}

/// One statement outside of any transaction of ours, for a function of the database that takes on the role and opens
/// rows by itself. Whatever it sets ends with it.
pub(super) async fn ask_alone(
    pool: &Arc<Pool>,
    sql: &'static str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Fault> {
    #[cfg(feature = "testing")]
    crate::statements::count_statements(1);
    let client = pool.get().await?;
    pool.note_round_trip();
    let asked = async {
        let statement = client.prepare_cached(sql).await?;
        client.query(&statement, values).await
    };
    match tokio::time::timeout(pool.limits().look_up_max, asked).await {
        Ok(rows) => Ok(rows?),
        Err(_) => {
            drop(Object::take(client));
            pool.distrust();
            Err(Fault::away("PostgreSQL does not answer"))
        }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        if self.is_broken.load(Ordering::Acquire) {
            drop(Object::take(client));
            return;
        }
        if !self.is_begun.load(Ordering::Acquire) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            drop(Object::take(client));
            return;
        };
        // The connection goes back to the pool only when the server has finished the transaction.
        // A caller that gave up may have done so because the server is gone, and its connection must not stay taken.
        let pool = Arc::clone(&self.pool);
        runtime.spawn(async move {
            let rolled_back = tokio::time::timeout(pool.limits().call_max, client.batch_execute("ROLLBACK")).await;
            if !matches!(rolled_back, Ok(Ok(()))) {
                drop(Object::take(client));
            }
            if rolled_back.is_err() {
                pool.distrust();
            }
        });
    }
}

/// All of the futures, polled in order: each sends its message when it is first polled, and the messages must leave in
/// this order.
struct InOrder<'a> {
    waiting: Vec<Option<Answer<'a>>>,
    done: Vec<Option<Result<Vec<Row>, tokio_postgres::Error>>>,
}

impl<'a> InOrder<'a> {
    fn new(futures: Vec<Answer<'a>>) -> Self {
        let done = futures.iter().map(|_| None).collect();
        Self { waiting: futures.into_iter().map(Some).collect(), done }
    }
}

impl Future for InOrder<'_> {
    type Output = Vec<Result<Vec<Row>, tokio_postgres::Error>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        for (slot, done) in this.waiting.iter_mut().zip(&mut this.done) {
            if let Some(future) = slot
                && let Poll::Ready(answer) = future.as_mut().poll(context)
            {
                *done = Some(answer);
                *slot = None;
            }
        }
        if this.waiting.iter().all(Option::is_none) {
            Poll::Ready(this.done.iter_mut().filter_map(Option::take).collect())
        } else {
            Poll::Pending
        }
    }
}
