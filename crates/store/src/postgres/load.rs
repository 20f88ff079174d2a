//! The bodies of many searches, of whatever projects, by one statement (`coalesce.rs`). On a replica the same view also
//! says whether it has replayed what each of the searches needs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{ProjectId, Record, Seq};
use tokio_postgres::Row;
use uuid::Uuid;

use super::coalesce::{Coalesced, Question};
use super::connect::Pool;
use super::error::Fault;
use super::replicas::{Answer, Replicas, Visit};
use super::rows::{Cells, integer};
use super::transaction::{Tenant, Tx, ask};
use super::twice;
use crate::interface::stored::read_stored;
use crate::{AtLeast, StoreError};

/// Records of one project.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) project: ProjectId,
    pub(super) seqs: Vec<Seq>,
    /// What a replica must have replayed.
    pub(super) at_least: AtLeast,
}

/// From the primary.
pub(super) struct Load {
    pub(super) pool: Arc<Pool>,
}

pub(super) type Loads = Coalesced<Load>;

/// From a replica; `None` for those that the primary has to answer.
pub(super) struct ReplicaLoad {
    pub(super) replicas: Arc<Replicas>,
}

pub(super) type ReplicaLoads = Coalesced<ReplicaLoad>;

const CALLERS_MAX: usize = 256;

#[async_trait]
impl Question for Load {
    type Asked = Asked;
    type Answer = Vec<Record>;
    const CALLERS_MAX: usize = CALLERS_MAX;

    async fn ask_all(&self, asked: &[Asked]) -> Vec<Result<Vec<Record>, StoreError>> {
        match twice(|| read(&self.pool, asked, false)).await {
            Ok(read) => asked.iter().map(|asked| read.take(asked, |read| self.pool.damaged.leave_out(read))).collect(),
            Err(fault) => asked.iter().map(|_| Err(fault.error.clone())).collect(),
        }
    }
}

#[async_trait]
impl Question for ReplicaLoad {
    type Asked = Asked;
    type Answer = Option<Vec<Record>>;
    const CALLERS_MAX: usize = CALLERS_MAX;

    async fn ask_all(&self, asked: &[Asked]) -> Vec<Result<Option<Vec<Record>>, StoreError>> {
        let found = self.replicas.read(|visit| visited(visit, asked)).await;
        let found = found.unwrap_or_else(|| vec![None; asked.len()]);
        found.into_iter().map(Ok).collect()
    }
}

/// What a replica has for each of them. What it can't read is the primary's to explain.
async fn visited(visit: Visit, asked: &[Asked]) -> Result<Answer<Vec<Option<Vec<Record>>>>, Fault> {
    let read = read(&visit.pool, asked, true).await?;
    let is_ours = visit.is_of_the_primary(&read.standing);
    let of = |asked: &Asked| if is_ours && read.has(asked) { read.take(asked, |read| read).ok() } else { None };
    let value: Vec<Option<Vec<Record>>> = asked.iter().map(of).collect();
    let is_behind = value.iter().any(Option::is_none);
    Ok(Answer { value, is_behind })
}

type Place = (ProjectId, Seq);

/// A live record, or none, or why it can't be read.
type Loaded = Result<Option<Record>, StoreError>;

/// What one question brought back.
struct Read {
    records: HashMap<Place, Loaded>,
    standing: Vec<Row>,
    replayed: HashMap<ProjectId, AtLeast>,
}

impl Read {
    fn has(&self, asked: &Asked) -> bool {
        self.replayed.get(&asked.project).is_some_and(|replayed| replayed.contains(asked.at_least))
    }

    /// The live records among those asked for, in their order. A position that is requested twice is answered twice.
    fn take(&self, asked: &Asked, judge: impl Fn(Loaded) -> Loaded) -> Result<Vec<Record>, StoreError> {
        let found = asked.seqs.iter().filter_map(|seq| self.records.get(&(asked.project, *seq)).cloned());
        found.map(judge).filter_map(Result::transpose).collect()
    }
}

/// Opens the accounts of the projects whose memory is open.
const OPEN_ACCOUNTS: &str = "
    SELECT set_config('mnemon.accounts', COALESCE(array_agg(DISTINCT p.account_id), '{}')::text, true)
    FROM project p
    WHERE p.id = ANY ($1)";

const REPLAYED: &str = "
    SELECT p.id, p.seq, a.account_version
    FROM project p
    JOIN account a ON a.id = p.account_id
    WHERE p.id = ANY ($1)";

// LATERAL with a limit looks up each place on its own; with any other join, the server may read all records per place.
const BODIES: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
        r.valid_until, r.created_at, r.updated_at, r.fact_key, r.source, r.source_id, r.source_hash,
        r.source_revision, r.content, r.checksum, r.is_cautioned, r.tags, r.occurred_at, r.forgotten_at,
        r.superseded_by,
        w.name, w.deleted_at, m.name, d.name, g.project_id
    FROM unnest($1::uuid[], $2::bigint[]) AS g (project_id, seq)
    JOIN LATERAL (
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
            r.valid_until, r.created_at, r.updated_at, r.fact_key, r.source, r.source_id, r.source_hash,
            r.source_revision, r.content, r.checksum, r.is_cautioned, r.tags, r.occurred_at, r.forgotten_at,
            r.superseded_by
        FROM record r
        WHERE r.project_id = g.project_id AND r.seq = g.seq
        LIMIT 1) AS r ON TRUE
    LEFT JOIN LATERAL (
        SELECT w.name, w.deleted_at
        FROM workspace w
        WHERE w.project_id = g.project_id AND w.no = r.workspace_no
        LIMIT 1) AS w ON TRUE
    LEFT JOIN LATERAL (SELECT p.account_id FROM project p WHERE p.id = g.project_id LIMIT 1) AS p ON TRUE
    LEFT JOIN LATERAL (
        SELECT m.name FROM member m WHERE m.account_id = p.account_id AND m.id = r.author_id LIMIT 1) AS m ON TRUE
    LEFT JOIN LATERAL (
        SELECT d.name FROM department d WHERE d.account_id = p.account_id AND d.id = r.department_id LIMIT 1) AS d
        ON TRUE";

async fn read(pool: &Arc<Pool>, asked: &[Asked], is_replica: bool) -> Result<Read, Fault> {
    let projects: BTreeSet<Uuid> = asked.iter().map(|asked| asked.project.uuid()).collect();
    let projects: Vec<Uuid> = projects.into_iter().collect();
    let places = asked.iter().flat_map(|asked| asked.seqs.iter().map(|seq| (asked.project.uuid(), integer(seq.0))));
    let places: HashSet<(Uuid, i64)> = places.collect();
    let (of_projects, seqs): (Vec<Uuid>, Vec<i64>) = places.into_iter().unzip();
    let tx = Tx::read(pool, Tenant::projects(&projects)).await?.of_a_call();
    let mut asks = vec![ask(OPEN_ACCOUNTS, &[&projects]), ask(BODIES, &[&of_projects, &seqs])];
    if is_replica {
        asks.splice(0..0, [Visit::standing()]);
        asks.push(ask(REPLAYED, &[&projects]));
    }
    let mut answers = tx.finish(asks).await?.into_iter();
    let mut next = || answers.next().ok_or_else(|| Fault::away("PostgreSQL left an answer out"));
    let standing = if is_replica { next()? } else { Vec::new() };
    next()?;
    let records = next()?.iter().map(read_record).collect::<Result<_, StoreError>>()?;
    let replayed = if is_replica { next()? } else { Vec::new() };
    let replayed = replayed.iter().map(read_replayed).collect::<Result<_, StoreError>>()?;
    Ok(Read { records, standing, replayed })
}

/// A record with its place. One that can't be read fails only the call that asked for it.
fn read_record(row: &Row) -> Result<(Place, Loaded), StoreError> {
    let project: ProjectId = Cells::new(row, "record", String::new).id(27, "project_id")?;
    let seq = Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?);
    let record = read_stored(row, project).map(|stored| stored.is_alive().then_some(stored.record));
    Ok(((project, seq), record))
}

fn read_replayed(row: &Row) -> Result<(ProjectId, AtLeast), StoreError> {
    let project: ProjectId = Cells::new(row, "project", String::new).id(0, "id")?;
    let cells = Cells::new(row, "project", || project.to_string());
    Ok((project, AtLeast { seq: Seq(cells.count(1, "seq")?), account_version: cells.count(2, "account_version")? }))
}
