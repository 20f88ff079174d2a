//! Writes usage figures and the uses of keys: of many projects together, by a few statements whatever their number.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::rows::{integer, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::{SeenKey, StoreError, Usage};

/// How many rows go together: a transaction names all its projects.
const ROWS_MAX: usize = 500;

/// Nodes add at the same time: all go through projects, keys and days in one order, so that none waits for one that
/// waits for it.
pub(super) async fn add(store: &PostgresStore, rows: Vec<Usage>) -> Result<(), StoreError> {
    let mut by_key: BTreeMap<(Uuid, Uuid, i32), Usage> = BTreeMap::new();
    for row in rows {
        let key = (row.project.uuid(), row.key.uuid(), row.day.0);
        by_key.entry(key).and_modify(|sum| sum.add(&row)).or_insert(row);
    }
    let rows: Vec<Usage> = by_key.into_values().collect();
    for part in rows.chunks(ROWS_MAX) {
        add_part(store, part).await?;
    }
    Ok(())
}

async fn add_part(store: &PostgresStore, rows: &[Usage]) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO usage (project_id, day, key_id, calls, saves, searches, rejections, bytes, last_used_at,
            refused_by_connection, refused_by_project)
        SELECT g.project_id, g.day, k.id, g.calls, g.saves, g.searches, g.rejections, g.bytes, g.last_used_at,
            g.refused_by_connection, g.refused_by_project
        FROM unnest($1::uuid[], $2::int[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::bigint[], $10::bigint[], $11::bigint[])
            AS g (project_id, day, key_id, calls, saves, searches, rejections, bytes, last_used_at,
                refused_by_connection, refused_by_project)
        JOIN LATERAL (SELECT k.id FROM api_key k WHERE k.id = g.key_id AND k.project_id = g.project_id LIMIT 1) AS k ON TRUE
        ON CONFLICT (project_id, day, key_id) DO UPDATE
        SET calls = usage.calls + excluded.calls, saves = usage.saves + excluded.saves,
            searches = usage.searches + excluded.searches, rejections = usage.rejections + excluded.rejections,
            bytes = usage.bytes + excluded.bytes,
            refused_by_connection = usage.refused_by_connection + excluded.refused_by_connection,
            refused_by_project = usage.refused_by_project + excluded.refused_by_project,
            last_used_at = GREATEST(usage.last_used_at, excluded.last_used_at)";
    // A late row does not move the last use back.
    const NOTE_USES: &str = "
        UPDATE api_key k
        SET last_used_at = g.last_used_at
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS g (project_id, key_id, last_used_at)
        WHERE k.id = g.key_id AND k.project_id = g.project_id
            AND (k.last_used_at IS NULL OR k.last_used_at < g.last_used_at)";
    // The day's last figures count.
    const NOTE_RECORDS: &str = "
        INSERT INTO record_day (project_id, day, records)
        SELECT g.project_id, g.day, p.live_records
        FROM unnest($1::uuid[], $2::int[]) AS g (project_id, day)
        JOIN LATERAL (SELECT p.live_records FROM project p WHERE p.id = g.project_id LIMIT 1) AS p ON TRUE
        ON CONFLICT (project_id, day) DO UPDATE
        SET records = excluded.records";
    let projects: Vec<Uuid> = rows.iter().map(|row| row.project.uuid()).collect();
    let days: Vec<i32> = rows.iter().map(|row| row.day.0).collect();
    let keys: Vec<Uuid> = rows.iter().map(|row| row.key.uuid()).collect();
    let counts = |count: fn(&Usage) -> u64| rows.iter().map(|row| integer(count(row))).collect::<Vec<i64>>();
    let [calls, saves, searches] = [counts(|row| row.calls), counts(|row| row.saves), counts(|row| row.searches)];
    let [rejections, bytes] = [counts(|row| row.rejections), counts(|row| row.bytes)];
    let by_connection = counts(|row| row.refused_by_connection);
    let by_project = counts(|row| row.refused_by_project);
    let used_at: Vec<i64> = rows.iter().map(|row| micros(row.last_used_at)).collect();
    let figures: [&(dyn ToSql + Sync); 11] = [
        &projects,
        &days,
        &keys,
        &calls,
        &saves,
        &searches,
        &rejections,
        &bytes,
        &used_at,
        &by_connection,
        &by_project,
    ];
    let mut uses: BTreeMap<(Uuid, Uuid), i64> = BTreeMap::new();
    for ((project, key), at) in projects.iter().zip(&keys).zip(&used_at) {
        uses.entry((*project, *key)).and_modify(|last| *last = (*last).max(*at)).or_insert(*at);
    }
    let (used, used_at): (Vec<(Uuid, Uuid)>, Vec<i64>) = uses.into_iter().unzip();
    let (used_projects, used_keys): (Vec<Uuid>, Vec<Uuid>) = used.into_iter().unzip();
    let project_days: BTreeSet<(Uuid, i32)> = projects.iter().copied().zip(days.iter().copied()).collect();
    let (day_projects, project_days): (Vec<Uuid>, Vec<i32>) = project_days.into_iter().unzip();
    store
        .attempt(|| async {
            let tx = Tx::write(&store.pool, together(&projects)).await?;
            let asks = vec![
                ask(UPSERT, &figures),
                ask(NOTE_USES, &[&used_projects, &used_keys, &used_at]),
                ask(NOTE_RECORDS, &[&day_projects, &project_days]),
            ];
            tx.finish(asks).await.map(|_| ())
        })
        .await
}

/// Notes the latest requests of keys, each key once.
pub(super) async fn note_seen(store: &PostgresStore, seen: Vec<SeenKey>) -> Result<(), StoreError> {
    const UPDATE: &str = "
        UPDATE api_key k
        SET seen_at = g.seen_at, seen_client = COALESCE(g.client, k.seen_client)
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) AS g (project_id, key_id, seen_at, client)
        WHERE k.id = g.key_id AND k.project_id = g.project_id AND (k.seen_at IS NULL OR k.seen_at <= g.seen_at)";
    let mut by_key: BTreeMap<(Uuid, Uuid), SeenKey> = BTreeMap::new();
    for seen in seen {
        let last = by_key.entry((seen.project.uuid(), seen.key.uuid())).or_insert_with(|| seen.clone());
        if last.at <= seen.at {
            *last = SeenKey { client: seen.client.clone().or_else(|| last.client.take()), ..seen };
        }
    }
    let seen: Vec<SeenKey> = by_key.into_values().collect();
    for part in seen.chunks(ROWS_MAX) {
        let projects: Vec<Uuid> = part.iter().map(|seen| seen.project.uuid()).collect();
        let keys: Vec<Uuid> = part.iter().map(|seen| seen.key.uuid()).collect();
        let times: Vec<i64> = part.iter().map(|seen| micros(seen.at)).collect();
        let clients: Vec<Option<&str>> = part.iter().map(|seen| seen.client.as_deref()).collect();
        let noting = store.attempt(|| async {
            let tx = Tx::write(&store.pool, together(&projects)).await?;
            tx.finish(vec![ask(UPDATE, &[&projects, &keys, &times, &clients])]).await.map(|_| ())
        });
        noting.await?;
    }
    Ok(())
}

/// All of the projects, which come in order.
fn together(projects: &[Uuid]) -> Tenant {
    let mut projects = projects.to_vec();
    projects.dedup();
    Tenant::projects(&projects)
}
