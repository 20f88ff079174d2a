//! Records, as visible to the caller, and compaction.

use mnemon_core::{RecordId, Scope, Seq, Status, WorkspaceName};
use mnemon_engine::Forgotten;
use mnemon_engine::admin::{AdminError, ExplainQuery, RecordQuery, RecordSort, SeveralAct};
use mnemon_protocol::admin::{ChangeSeveral, ExplainSearch, KeptJson};
use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Query, Sent, flag, id, limit, word};
use super::show;
use crate::http::Reply;

const STATUSES: &str = "stale, conflict, verified, unverified";
const SORTS: &str = "newest, oldest, changed, fact_key, source";

#[derive(Debug, Deserialize)]
pub(crate) struct Filter {
    workspace: Option<String>,
    source_id: Option<String>,
    state: Option<String>,
    status: Option<String>,
    scope: Option<String>,
    author: Option<String>,
    fact_key: Option<String>,
    has_source: Option<String>,
    sort: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Removal {
    purge: Option<String>,
}

fn scope(text: &str) -> Result<Scope, AdminError> {
    word(text, "scope", Scope::parse, "draft, department, shared")
}

fn query(filter: Filter) -> Result<RecordQuery, AdminError> {
    let invalid = |text: &str| AdminError::Invalid(text.to_owned());
    let workspace = filter.workspace.map(|name| WorkspaceName::parse(&name));
    Ok(RecordQuery {
        workspace: workspace.transpose().map_err(|error| invalid(&error.to_string()))?,
        source_id: filter.source_id,
        is_forgotten: match filter.state.as_deref() {
            None | Some("live") => false,
            Some("forgotten") => true,
            Some(_) => return Err(invalid("state must be one of live, forgotten")),
        },
        status: filter.status.map(|text| word(&text, "status", Status::parse, STATUSES)).transpose()?,
        scope: filter.scope.as_deref().map(scope).transpose()?,
        author: filter.author,
        fact_key: filter.fact_key,
        has_source: filter.has_source.map(|text| flag(&text, "has_source")).transpose()?,
        sort: filter.sort.map(|text| word(&text, "sort", RecordSort::parse, SORTS)).transpose()?.unwrap_or_default(),
        before: match filter.before {
            None => None,
            Some(text) => {
                Some(Seq(text.parse().map_err(|_| invalid("before must be the `next` value of the previous page"))?))
            }
        },
        limit: limit(filter.limit.as_deref())?,
    })
}

pub(crate) async fn list(
    admin: Admin,
    Path(project): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Reply, Failure> {
    let query = query(filter)?;
    let page = admin.engine.list_records(&admin.ctx, id(&project, "project")?, query).await?;
    Ok(show::records(page))
}

pub(crate) async fn standing(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let standing = admin.engine.show_standing(&admin.ctx, id(&project, "project")?).await?;
    Ok(show::ok(&show::standing::standing(&standing)))
}

pub(crate) async fn overview(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let overview = admin.engine.show_overview(&admin.ctx, id(&project, "project")?).await?;
    Ok(show::ok(&show::overview::overview(&overview)))
}

pub(crate) async fn several(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<ChangeSeveral>,
) -> Result<Reply, Failure> {
    let project = id(&project, "project")?;
    let (act, ids) = read_several(sent)?;
    let several = admin.engine.change_several(&admin.ctx, project, &ids, &act).await?;
    Ok(show::ok(&show::overview::several(&several)))
}

/// What is to be done, and to which records.
pub(crate) fn read_several(sent: ChangeSeveral) -> Result<(SeveralAct, Vec<RecordId>), AdminError> {
    let ids = sent.memory_ids.iter().map(|text| id(text, "record")).collect::<Result<Vec<_>, _>>()?;
    let invalid = |text: String| AdminError::Invalid(text);
    let act = match sent.act.as_str() {
        "forget" => SeveralAct::Forget,
        "restore" => SeveralAct::Restore,
        "tag" => SeveralAct::Tag { add: sent.add_tags, remove: sent.remove_tags },
        "move" => SeveralAct::Move {
            workspace: sent
                .workspace
                .as_deref()
                .map(WorkspaceName::parse)
                .transpose()
                .map_err(|error| invalid(error.to_string()))?,
            scope: sent.scope.as_deref().map(scope).transpose()?,
        },
        _ => return Err(invalid("act must be one of forget, restore, tag, move".to_owned())),
    };
    Ok((act, ids))
}

pub(crate) async fn show(admin: Admin, Path(record): Path<String>) -> Result<Reply, Failure> {
    let detail = admin.engine.show_record(&admin.ctx, id(&record, "record")?).await?;
    let history = admin.engine.show_history(&admin.ctx, &detail).await?;
    Ok(show::ok(&show::record::detail(&detail, &history)))
}

pub(crate) async fn keep(admin: Admin, Path(record): Path<String>) -> Result<Reply, Failure> {
    let Forgotten { ids, purged } = admin.engine.keep_record(&admin.ctx, id(&record, "record")?).await?;
    let memory_ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    Ok(show::ok(&KeptJson { forgotten: memory_ids.len(), memory_ids, purged: (purged > 0).then_some(purged) }))
}

pub(crate) async fn restore(admin: Admin, Path(record): Path<String>) -> Result<Reply, Failure> {
    let restored = admin.engine.restore_record(&admin.ctx, id(&record, "record")?).await?;
    Ok(show::ok(&show::record(&restored)))
}

pub(crate) async fn remove(
    admin: Admin,
    Path(record): Path<String>,
    Query(removal): Query<Removal>,
) -> Result<Reply, Failure> {
    let is_purge = removal.purge.map(|text| flag(&text, "purge")).transpose()?.unwrap_or(false);
    let older = admin.engine.delete_record(&admin.ctx, id(&record, "record")?, is_purge).await?;
    let done = if is_purge { json!({"purged": true}) } else { json!({"forgotten": true}) };
    Ok(show::ok(&show::with_older_purged(done, older)))
}

pub(crate) async fn compact(admin: Admin) -> Result<Reply, Failure> {
    admin.engine.compact(&admin.ctx).await?;
    Ok(show::ok(&json!({"compacted": true})))
}

pub(crate) async fn explain(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<ExplainSearch>,
) -> Result<Reply, Failure> {
    let workspace = sent.workspace.as_deref().map(WorkspaceName::parse).transpose();
    let workspace = workspace.map_err(|error| AdminError::Invalid(error.to_string()))?;
    let asked = ExplainQuery {
        query: sent.query,
        limit: sent.limit.unwrap_or(mnemon_core::SEARCH_LIMIT_DEFAULT),
        workspace,
        scope: sent.scope.as_deref().map(scope).transpose()?,
        exclude_stale: sent.exclude_stale.unwrap_or(false),
    };
    let explained = admin.engine.explain(&admin.ctx, id(&project, "project")?, asked).await?;
    Ok(show::ok(&show::explained::explained(&explained)))
}
