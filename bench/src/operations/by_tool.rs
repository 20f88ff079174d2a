//! What a call of each tool costs on PostgreSQL, by plan: round trips between node and database, and statements. By a
//! caller alone, by sixteen at once, and by a mixed load, which has the work in the background in it.

use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use mnemon_scratch_postgres::{Cluster, ClusterOptions};
use serde::Serialize;
use serde_json::{Value, json};

use super::figures::Figures as Published;
use super::http::Http;
use super::mixed::Mix;
use super::projects::Projects;
use super::service::{OPERATOR, Service, usual_binary};
use crate::figures::rounded;

const PLANS: [&str; 3] = ["pro", "enterprise", "unlimited"];
/// Few enough for the rates of each plan.
const CALLS: usize = 10;
const CALLERS: usize = 16;
const MIXED: Duration = Duration::from_secs(30);

/// The kinds of calls: a name, the tool, and the arguments of the n-th call.
type Kind = (&'static str, &'static str, fn(usize) -> Value);

const KINDS: [Kind; 7] = [
    ("save", "remember", |n| fact(n, "plain", json!({}))),
    ("save with key and source", "remember", |n| {
        let (key, source) = (format!("key {n}"), format!("{n}.md"));
        fact(n, "of a file", json!({"fact_key": key, "source_id": source, "source_hash": "a"}))
    }),
    ("save with key", "remember", |n| fact(n, "for now", json!({"fact_key": format!("other key {n}")}))),
    ("save that replaces", "remember", |n| {
        fact(n, "at last", json!({"fact_key": format!("other key {n}"), "replace": true}))
    }),
    ("search", "search", |n| json!({"query": format!("note {n}")})),
    ("check of a source", "validate_memory", |n| json!({"source_id": format!("{n}.md"), "current_source_hash": "b"})),
    ("forget", "forget", |n| json!({"source_id": format!("{n}.md")})),
];

fn fact(n: usize, what: &str, mut more: Value) -> Value {
    more["content"] = json!(format!("note {n} is {what}, written down at place {}", n * 7919));
    more
}

#[derive(Serialize)]
pub(crate) struct Figures {
    rows: Vec<Row>,
    mixed_calls: u64,
    mixed: Counts,
}

/// By a caller alone, and by several at once.
#[derive(Serialize)]
struct Row {
    call: &'static str,
    plan: &'static str,
    alone: Counts,
    shared: Counts,
}

/// What was counted since the start, or per call.
#[derive(Clone, Copy, Serialize)]
struct Counts {
    trips: f64,
    statements: f64,
}

impl Counts {
    async fn take(service: &Service, cluster: &Cluster) -> Result<Self> {
        // Beginnings, settings and ends of transactions travel with the others.
        const SELECT: &str = "
            SELECT COALESCE(SUM(calls), 0)
            FROM pg_stat_statements
            WHERE toplevel AND query !~* '^\\s*(BEGIN|COMMIT|ROLLBACK|START)' AND query !~ '^\\s*SELECT set_config'
                AND query !~ 'pg_stat_statements'";
        let trips = Published::read(service).await?.get("mnemon_database_round_trips_total")?;
        let statements = cluster.sql("postgres", SELECT)?;
        let statements = statements.parse().with_context(|| format!("the server counts statements: {statements}"))?;
        Ok(Self { trips, statements })
    }

    fn per_call(self, before: Self, calls: usize) -> Self {
        let per_call = |now: f64, before: f64| rounded((now - before) / calls as f64, 2);
        Self { trips: per_call(self.trips, before.trips), statements: per_call(self.statements, before.statements) }
    }
}

pub(crate) async fn measure() -> Result<Figures> {
    let settings = vec![("shared_preload_libraries".to_owned(), "pg_stat_statements".to_owned())];
    let cluster = Cluster::start(ClusterOptions { is_durable: true, settings, ..ClusterOptions::default() })?;
    cluster.sql("postgres", "CREATE EXTENSION pg_stat_statements")?;
    let scratch = tempfile::tempdir()?;
    let url = cluster.url("postgres");
    let service = Service::start(&usual_binary()?, &scratch.path().join("data"), &[("MNEMON_DATABASE", url.as_str())])?;
    println!(
        "a call                          plan        alone: trips  statements   {CALLERS} at once: trips  statements"
    );
    let mut rows = Vec::new();
    for plan in PLANS {
        let keys = keys_on(&service, plan, CALLERS + 1).await?;
        for kind in &KINDS {
            let before = Counts::take(&service, &cluster).await?;
            call(&service, &keys[..1], kind, 0).await?;
            let alone = Counts::take(&service, &cluster).await?.per_call(before, CALLS);
            let before = Counts::take(&service, &cluster).await?;
            call(&service, &keys[1..], kind, CALLS).await?;
            let shared = Counts::take(&service, &cluster).await?.per_call(before, CALLS * CALLERS);
            println!(
                "{:<31} {plan:<12} {:>11.2} {:>11.2} {:>20.2} {:>11.2}",
                kind.0, alone.trips, alone.statements, shared.trips, shared.statements
            );
            rows.push(Row { call: kind.0, plan, alone, shared });
        }
    }
    let projects = Projects::create(&service, 50, 5_000).await?;
    let before = Counts::take(&service, &cluster).await?;
    let mixed_calls = Mix::new(8, MIXED).run(&service, &projects).await?.total();
    let mixed = Counts::take(&service, &cluster).await?.per_call(before, usize::try_from(mixed_calls)?);
    println!(
        "{mixed_calls} mixed calls of 8 clients in 50 projects, with all that runs beside them: {:.2} trips, {:.2} statements each",
        mixed.trips, mixed.statements
    );
    Ok(Figures { rows, mixed_calls, mixed })
}

/// Each caller makes the same number of calls; no two save the same.
async fn call(service: &Service, keys: &[String], kind: &Kind, first: usize) -> Result<()> {
    let (_, tool, arguments) = kind;
    let callers = keys.iter().enumerate().map(|(caller, key)| async move {
        let mut http = Http::connect(service.address).await?;
        for n in 0..CALLS {
            let answer = http.call(key, tool, &arguments(first + caller * CALLS + n)).await?;
            let is_ok = answer.status == 200 && !answer.is_tool_error();
            anyhow::ensure!(is_ok, "{tool}: {} {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(())
    });
    try_join_all(callers).await.map(|_| ())
}

/// Keys of one project, whose account has a plan.
async fn keys_on(service: &Service, plan: &str, count: usize) -> Result<Vec<String>> {
    let mut http = Http::connect(service.address).await?;
    let mut post = async |path: String, body: Value| http.admin("POST", &path, OPERATOR, &body).await;
    let id = |made: &Value| made["id"].as_str().unwrap_or_default().to_owned();
    let account =
        format!("/accounts/{}", id(&post("/accounts".to_owned(), json!({"name": plan, "plan": plan})).await?));
    let member = post(format!("{account}/members"), json!({"name": "Ana", "role": "admin"})).await?;
    let project = id(&post(format!("{account}/projects"), json!({"name": "One"})).await?);
    let mut keys = Vec::new();
    for _ in 0..count {
        let made = post(format!("/projects/{project}/keys"), json!({"member_id": member["id"], "access": "write"}));
        keys.push(made.await?["key"].as_str().context("a key")?.to_owned());
    }
    Ok(keys)
}
