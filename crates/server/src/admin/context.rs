//! Digests for assistants.

use mnemon_core::WorkspaceName;
use mnemon_engine::admin::{AdminError, BUDGET_TOKENS_DEFAULT, ContextQuery};
use mnemon_protocol::admin::AskContext;

use super::error::Failure;
use super::extract::{Admin, Path, Sent, id};
use super::show;
use crate::http::Reply;

pub(crate) async fn show(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<AskContext>,
) -> Result<Reply, Failure> {
    let workspace = sent.workspace.as_deref().map(WorkspaceName::parse).transpose();
    let workspace = workspace.map_err(|error| AdminError::Invalid(error.to_string()))?;
    let budget_tokens = sent.budget.unwrap_or(BUDGET_TOKENS_DEFAULT);
    let asked =
        ContextQuery { query: sent.query, workspace, budget_tokens, score_min: sent.min_score.unwrap_or_default() };
    let shown = admin.engine.show_context(&admin.ctx, id(&project, "project")?, asked).await?;
    Ok(show::ok(&show::context::context(shown, budget_tokens)))
}
