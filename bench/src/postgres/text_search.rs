//! The same searches with PostgreSQL's own tools: `tsvector`, a GIN index, `ts_rank_cd`. The words of a query are
//! joined by OR, as in our ranking, and the ten best are requested without their texts.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use mnemon_recall::{Model, NewDoc, SearchRequest, WorkspaceIndex};
use mnemon_scratch_postgres::Cluster;
use serde::Serialize;

use crate::load::progress;
use crate::recall_speed::texts::Texts;

const LIMIT: usize = 10;
/// Each search counts as the fastest of this many, on both sides: neighbours on the machine only slow things down.
const ROUNDS: usize = 3;

const TABLE: &str = "
    CREATE TABLE note (
        project_id INTEGER NOT NULL,
        id BIGINT NOT NULL,
        words TSVECTOR NOT NULL,
        PRIMARY KEY (project_id, id)
    )";
const INSERT: &str = "
    INSERT INTO note (project_id, id, words)
    SELECT 1, t.id, to_tsvector('english', t.content)
    FROM unnest($1::bigint[], $2::text[]) AS t (id, content)";
const SEARCH: &str = "
    SELECT id
    FROM note, to_tsquery('english', $1) AS query
    WHERE project_id = 1 AND words @@ query
    ORDER BY ts_rank_cd(words, query) DESC, id DESC
    LIMIT 10";

/// Means, and how many records both found.
#[derive(Serialize)]
pub(super) struct TextSearch {
    tsvector_us: f64,
    tsvector_found: usize,
    index_us: f64,
    index_found: usize,
}

impl TextSearch {
    /// How many times as long PostgreSQL takes.
    pub(super) fn ratio(&self) -> f64 {
        self.tsvector_us / self.index_us
    }
}

pub(super) async fn compare(cluster: &Cluster, sentences: &Path, records: u64, queries: u64) -> Result<TextSearch> {
    progress("PostgreSQL's own search: storing");
    let texts = Texts::load(sentences)?;
    let all: Vec<String> = (0..records).map(|number| texts.record(number)).collect();
    cluster.sql("postgres", "CREATE DATABASE text_search")?;
    let (client, connection) = tokio_postgres::connect(&cluster.url("text_search"), tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(TABLE).await?;
    for (piece, texts) in all.chunks(1_000).enumerate() {
        let ids: Vec<i64> = (0..texts.len()).map(|at| (piece * 1_000 + at) as i64).collect();
        client.execute(INSERT, &[&ids, &texts.to_vec()]).await?;
    }
    client.batch_execute("CREATE INDEX note_words ON note USING GIN (words)").await?;
    // Separately: several statements sent together are one transaction, and this one must be outside.
    client.batch_execute("VACUUM ANALYZE note").await?;
    let mut index = WorkspaceIndex::new(Model::shipped());
    for (seq, text) in (1..).zip(&all) {
        index.add(NewDoc::new(seq, text));
    }
    progress("PostgreSQL's own search: searching");
    let search = client.prepare(SEARCH).await?;
    let (mut theirs, mut ours, mut tsvector_found, mut index_found) = (0.0, 0.0, 0, 0);
    for number in 0..queries {
        let query = texts.query(number, records);
        let (mut their_best, mut our_best) = (f64::INFINITY, f64::INFINITY);
        let words = joined_by_or(&query);
        for round in 0..ROUNDS {
            let began = Instant::now();
            let rows = client.query(&search, &[&words]).await?;
            their_best = their_best.min(began.elapsed().as_secs_f64());
            tsvector_found += if round == 0 { rows.len() } else { 0 };
        }
        // Each side has the caches to itself during its rounds, as it would in its own service.
        for round in 0..ROUNDS {
            let began = Instant::now();
            let hits = index.search(&SearchRequest::new(&query, LIMIT));
            our_best = our_best.min(began.elapsed().as_secs_f64());
            index_found += if round == 0 { hits.len() } else { 0 };
        }
        theirs += their_best;
        ours += our_best;
    }
    let mean = |seconds: f64| 1e6 * seconds / queries as f64;
    let (tsvector_us, index_us) = (mean(theirs), mean(ours));
    println!("\n{records} records, {queries} queries, the ten best        mean µs   found");
    println!("  tsvector, GIN, ts_rank_cd                   {tsvector_us:>9.0} {tsvector_found:>7}");
    println!("  Mnemon's index, the whole ranking           {index_us:>9.0} {index_found:>7}");
    Ok(TextSearch { tsvector_us, tsvector_found, index_us, index_found })
}

/// The words of a query in the syntax of `to_tsquery`.
fn joined_by_or(query: &str) -> String {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" | ")
}
