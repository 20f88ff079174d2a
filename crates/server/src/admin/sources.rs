//! Sources, as visible to the caller.

use mnemon_engine::admin::SeenSource;
use mnemon_protocol::admin::{SeenSourceJson, ValidateSources};
use serde::Deserialize;

use super::error::Failure;
use super::extract::{Admin, Path, Query, Sent, id, limit};
use super::show;
use crate::http::Reply;

#[derive(Debug, Deserialize)]
pub(crate) struct Filter {
    after: Option<String>,
    limit: Option<String>,
}

pub(crate) async fn list(
    admin: Admin,
    Path(project): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Reply, Failure> {
    let (project, limit) = (id(&project, "project")?, limit(filter.limit.as_deref())?);
    let page = admin.engine.list_sources(&admin.ctx, project, filter.after.as_deref(), limit).await?;
    Ok(show::ok(&show::sources(page)))
}

pub(crate) async fn validate(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<ValidateSources>,
) -> Result<Reply, Failure> {
    let seen = |sent: SeenSourceJson| {
        let SeenSourceJson { source_id, current_source_hash, equal_hashes, unknown_hashes } = sent;
        SeenSource { source_id, current_source_hash, equal_hashes, unknown_hashes }
    };
    let seen: Vec<SeenSource> = sent.sources.into_iter().map(seen).collect();
    let checked = admin.engine.check_sources(&admin.ctx, id(&project, "project")?, &seen).await?;
    Ok(show::ok(&show::checked_sources(checked)))
}
