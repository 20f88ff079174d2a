//! Integrations of a project: an admin creates, changes and tests them, and accepts changed tools. Credentials go in
//! and never come out.

mod request;
mod sealing;

use mnemon_core::{Project, ProjectId, Timestamp, to_hex};
use mnemon_gateway::{Health, UpstreamTool};
use mnemon_store::{IntegrationRow, UpstreamAddress};

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::integrations::{Looked, Silence, ToolNames, ToolState, check_name, is_allowed, state_of};

pub use request::IntegrationRequest;
pub use sealing::KeyMismatch;

/// An integration's tool, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTool {
    pub name: String,
    pub title: String,
    pub description: String,
    pub state: ToolState,
    /// The fingerprint of its description, in hex, used to accept it.
    pub hash: String,
    /// The hash of a text that the guard rejected, in hex, used to release it.
    pub refused_text: Option<String>,
    /// Its whole description, as JSON.
    pub definition: String,
    /// The description that was accepted, as JSON, if it was kept.
    pub accepted_definition: Option<String>,
    pub accepted_at: Option<Timestamp>,
}

/// An integration for people, without its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownIntegration {
    pub name: String,
    pub title: String,
    /// The preset it was made from.
    pub preset: Option<String>,
    pub address: UpstreamAddress,
    pub has_credential: bool,
    pub allow: Vec<String>,
    pub is_enabled: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When its tools were last listed.
    pub seen_at: Option<Timestamp>,
    /// Its tools, by name.
    pub tools: Vec<ShownTool>,
    /// How calls to it went, as far as this node made any.
    pub health: Health,
    /// Why it did not answer when this node asked for its tools the last time, if it did not.
    pub silence: Option<Silence>,
}

/// The result of a test: which server answered, or why none did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The outcome, in the words callers see.
    pub outcome: Result<Looked, String>,
    /// The integration after the test.
    pub integration: ShownIntegration,
}

impl Engine {
    /// The integrations of a project, by name.
    pub async fn list_integrations(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<(ToolNames, Vec<ShownIntegration>), AdminError> {
        let project = self.admin_project(ctx, project).await?;
        let found = self.store.list_integrations(project.id).await?;
        let style = found.tool_names.as_deref().and_then(ToolNames::parse).unwrap_or_default();
        let mut shown = Vec::new();
        for row in &found.rows {
            shown.push(self.show_row(&project, row).await?);
        }
        Ok((style, shown))
    }

    pub async fn show_integration(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &str,
    ) -> Result<ShownIntegration, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        self.show_row(&project, &self.integration_row(project.id, name).await?).await
    }

    /// Creates or changes an integration, and lists its tools for the first time. One that does not answer is kept
    /// anyway: it may only be down, and its first answer counts.
    pub async fn put_integration(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &str,
        request: IntegrationRequest,
    ) -> Result<Tested, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        check_name(name).map_err(AdminError::Invalid)?;
        self.check_name(ctx, "name", name).await?;
        let found = self.store.list_integrations(project.id).await?;
        let known = found.rows.into_iter().find(|row| row.name == name);
        let saved = self.merge(ctx, &project, name, known.as_ref(), request).await?;
        let action = if known.is_some() { "integration.change" } else { "integration.create" };
        let audit = self.admin_audit(ctx, project.account, Some(project.id), action, name);
        if !self.store.save_integration(saved, audit).await? {
            return Err(AdminError::NotFound("project"));
        }
        self.integrations.forget(project.id, name);
        self.look_and_show(&project, name).await
    }

    /// Takes a tool off the allow-list. An entry that admits others too is replaced by their names.
    pub async fn leave_out_tool(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &str,
        tool: &str,
    ) -> Result<Tested, AdminError> {
        let shown = self.show_integration(ctx, project, name).await?;
        ctx.need_write()?;
        if !shown.tools.iter().any(|known| known.name == tool) {
            return Err(AdminError::Invalid(format!("'{name}' has no tool '{tool}'")));
        }
        let names = shown.tools.iter().map(|tool| tool.name.as_str());
        let allow = Some(without_tool(&shown.allow, names, tool));
        self.put_integration(ctx, project, name, IntegrationRequest { allow, ..IntegrationRequest::default() }).await
    }

    /// Deletes an integration and its credential.
    pub async fn delete_integration(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &str,
    ) -> Result<(), AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        self.integration_row(project.id, name).await?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "integration.delete", name);
        let is_known = self.store.delete_integration(project.id, name, audit).await?;
        self.integrations.forget(project.id, name);
        if is_known { Ok(()) } else { Err(AdminError::NotFound("integration")) }
    }

    /// Tests an upstream now, and returns what works.
    pub async fn test_integration(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &str,
    ) -> Result<Tested, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        self.look_and_show(&project, name).await
    }

    /// Accepts tools as they were last seen: those named (at the given hash, if there is one), or all that are held
    /// back.
    pub async fn accept_tools(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &str,
        tools: Option<Vec<(String, Option<String>)>>,
    ) -> Result<(u64, ShownIntegration), AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let row = self.integration_row(project.id, name).await?;
        let shown = self.show_row(&project, &row).await?;
        let mut accepted = Vec::new();
        for tool in shown.tools.iter().filter(|tool| tools.is_some() || tool.state.waits_for_admin()) {
            let named = tools.iter().flatten().find(|(name, _)| *name == tool.name);
            let is_same = |hash: &Option<String>| hash.as_ref().is_none_or(|hash| *hash == tool.hash);
            match named {
                Some((name, hash)) if !is_same(hash) => {
                    let text =
                        format!("tool '{name}' has changed since you reviewed it; review it again before accepting it");
                    return Err(AdminError::Conflict(text));
                }
                None if tools.is_some() => {}
                _ => accepted.push(tool.name.clone()),
            }
        }
        if let Some((unknown, _)) = tools.iter().flatten().find(|(name, _)| !accepted.contains(name)) {
            return Err(AdminError::Invalid(format!("'{name}' has no tool '{unknown}'")));
        }
        let hash_of = |wanted: &String| row.tools.iter().find(|tool| tool.seen.name == *wanted);
        let pairs: Vec<_> = accepted.iter().filter_map(|name| Some((name.clone(), hash_of(name)?.seen.hash))).collect();
        let subject = format!("{name}: {}", accepted.join(", "));
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "integration.accept", subject);
        let count = self.store.accept_tools(project.id, name, pairs, audit).await?;
        let row = self.integration_row(project.id, name).await?;
        Ok((count, self.show_row(&project, &row).await?))
    }

    /// Sets how the integration tools of a project are named.
    pub async fn set_tool_names(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        style: ToolNames,
    ) -> Result<(), AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "project.tool_names", style.as_str());
        let is_known = self.store.set_tool_names(project.id, style.as_str(), audit).await?;
        if is_known { Ok(()) } else { Err(AdminError::NotFound("project")) }
    }

    async fn integration_row(&self, project: ProjectId, name: &str) -> Result<IntegrationRow, AdminError> {
        let found = self.store.list_integrations(project).await?;
        found.rows.into_iter().find(|row| row.name == name).ok_or(AdminError::NotFound("integration"))
    }

    async fn look_and_show(&self, project: &Project, name: &str) -> Result<Tested, AdminError> {
        let row = self.integration_row(project.id, name).await?;
        let looked = self.integrations.look(project.into(), &row).await?;
        let outcome = looked.map_err(|error| format!("'{name}' {error}"));
        let row = self.integration_row(project.id, name).await?;
        Ok(Tested { outcome, integration: self.show_row(project, &row).await? })
    }

    async fn show_row(&self, project: &Project, row: &IntegrationRow) -> Result<ShownIntegration, AdminError> {
        let mut tools = Vec::new();
        for tool in &row.tools {
            let read = UpstreamTool::from_definition(&tool.seen.definition);
            let is_released = match tool.seen.refused_text {
                None => true,
                Some(hash) => self.is_let_through(project.account, project.id, hash).await?,
            };
            let state = state_of(row, tool, read.as_ref(), is_released);
            tools.push(ShownTool {
                name: tool.seen.name.clone(),
                title: read.as_ref().map(|read| read.title().to_owned()).unwrap_or_default(),
                description: read.as_ref().map(|read| read.description().to_owned()).unwrap_or_default(),
                state,
                hash: to_hex(tool.seen.hash),
                refused_text: tool.seen.refused_text.map(to_hex),
                definition: tool.seen.definition.clone(),
                accepted_definition: tool.accepted_definition.clone(),
                accepted_at: tool.accepted_at,
            });
        }
        Ok(ShownIntegration {
            name: row.name.clone(),
            title: row.title.clone(),
            preset: row.preset.clone(),
            address: row.address.clone(),
            has_credential: row.sealed.is_some(),
            allow: row.allow.clone(),
            is_enabled: row.is_enabled,
            created_at: row.created_at,
            updated_at: row.updated_at,
            seen_at: row.seen_at,
            tools,
            health: self.integrations.gateway.health(project.id.to_bytes(), &row.name, self.clock.now()),
            silence: self.integrations.silence(project.id, &row.name),
        })
    }
}

/// An allow-list that admits the same of these tools but for one.
fn without_tool<'a>(allow: &[String], tools: impl Iterator<Item = &'a str> + Clone, tool: &str) -> Vec<String> {
    let mut rest: Vec<String> = Vec::new();
    for entry in allow {
        if !is_allowed(std::slice::from_ref(entry), tool) {
            rest.push(entry.clone());
            continue;
        }
        let admitted = tools.clone().filter(|name| *name != tool && is_allowed(std::slice::from_ref(entry), name));
        rest.extend(admitted.map(str::to_owned));
    }
    rest.dedup();
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_left_out_and_no_other() {
        let tools = ["get_me", "get_file", "list_tags"];
        let without = |allow: &[&str], tool| {
            let allow: Vec<String> = allow.iter().map(|entry| (*entry).to_owned()).collect();
            without_tool(&allow, tools.into_iter(), tool)
        };
        assert_eq!(without(&["get_me", "get_file"], "get_me"), ["get_file"]);
        assert_eq!(without(&["get_*", "list_*"], "get_me"), ["get_file", "list_*"]);
        assert_eq!(without(&["*"], "list_tags"), ["get_me", "get_file"]);
        assert_eq!(without(&["get_me"], "list_tags"), ["get_me"]);
    }
}
