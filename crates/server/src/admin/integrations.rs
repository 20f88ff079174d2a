//! Integrations of a project.

use mnemon_core::Secret;
use mnemon_engine::admin::IntegrationRequest;
use mnemon_engine::integrations::ToolNames;
use mnemon_protocol::admin::{AcceptTool, AcceptTools, AcceptedJson, IntegrationsJson, NameTools, PutIntegration};
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Sent, id, word};
use super::show;
use crate::http::Reply;

pub(crate) async fn list(admin: Admin, Path(project): Path<String>) -> Result<Reply, Failure> {
    let (style, found) = admin.engine.list_integrations(&admin.ctx, id(&project, "project")?).await?;
    let integrations = found.iter().map(|integration| show::integration(integration, false)).collect();
    Ok(show::ok(&IntegrationsJson { tool_names: style.as_str().to_owned(), integrations }))
}

pub(crate) async fn show(admin: Admin, Path((project, name)): Path<(String, String)>) -> Result<Reply, Failure> {
    let found = admin.engine.show_integration(&admin.ctx, id(&project, "project")?, &name).await?;
    Ok(show::ok(&show::integration(&found, true)))
}

pub(crate) async fn put(
    admin: Admin,
    Path((project, name)): Path<(String, String)>,
    Sent(sent): Sent<PutIntegration>,
) -> Result<Reply, Failure> {
    let secret = |(name, value)| (name, Secret::new(value));
    let drops_credential = matches!(sent.bearer, Some(None)) || matches!(sent.headers, Some(None));
    let request = IntegrationRequest {
        preset: sent.preset,
        url: sent.url,
        command: sent.command,
        title: sent.title,
        bearer: sent.bearer.flatten().map(Secret::new),
        headers: sent.headers.flatten().map(|headers| headers.into_iter().map(secret).collect()),
        drops_credential,
        allow: sent.allow,
        is_enabled: sent.enabled,
    };
    let tested = admin.engine.put_integration(&admin.ctx, id(&project, "project")?, &name, request).await?;
    Ok(show::ok(&show::tested(&tested)))
}

pub(crate) async fn remove(admin: Admin, Path((project, name)): Path<(String, String)>) -> Result<Reply, Failure> {
    admin.engine.delete_integration(&admin.ctx, id(&project, "project")?, &name).await?;
    Ok(show::ok(&json!({"deleted": true})))
}

pub(crate) async fn test(admin: Admin, Path((project, name)): Path<(String, String)>) -> Result<Reply, Failure> {
    let tested = admin.engine.test_integration(&admin.ctx, id(&project, "project")?, &name).await?;
    Ok(show::ok(&show::tested(&tested)))
}

pub(crate) async fn accept(
    admin: Admin,
    Path((project, name)): Path<(String, String)>,
    Sent(sent): Sent<AcceptTools>,
) -> Result<Reply, Failure> {
    let pair = |tool| match tool {
        AcceptTool::Name(name) => (name, None),
        AcceptTool::Seen { name, hash } => (name, Some(hash)),
    };
    let tools = sent.tools.map(|tools| tools.into_iter().map(pair).collect());
    let (accepted, found) = admin.engine.accept_tools(&admin.ctx, id(&project, "project")?, &name, tools).await?;
    Ok(show::ok(&AcceptedJson { accepted, integration: show::integration(&found, true) }))
}

pub(crate) async fn rotate_key(admin: Admin) -> Result<Reply, Failure> {
    let count = admin.engine.rotate_integration_key(&admin.ctx).await?;
    Ok(show::ok(&json!({"rotated": count})))
}

pub(crate) async fn name_tools(
    admin: Admin,
    Path(project): Path<String>,
    Sent(sent): Sent<NameTools>,
) -> Result<Reply, Failure> {
    let style = word(&sent.tool_names, "tool_names", ToolNames::parse, "dots, underscores")?;
    admin.engine.set_tool_names(&admin.ctx, id(&project, "project")?, style).await?;
    Ok(show::ok(&json!({"tool_names": style.as_str()})))
}
