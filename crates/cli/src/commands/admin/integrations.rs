//! Integrations of a project: tools of other systems.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context, bail};
use mnemon_protocol::admin::{
    AcceptTool, AcceptTools, AcceptedJson, IntegrationJson, IntegrationToolJson, IntegrationsJson, PutIntegration,
    TestedJson,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AdminClient, client, encode, show_list, show_one};
use crate::arguments::{Integration, IntegrationCommand, IntegrationSource, ProjectIntegrationCommand};
use crate::printer::Printer;
use crate::visible;

pub fn integration(arguments: &Integration, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        IntegrationCommand::RotateKey => {
            show_one(printer, &client.post("/integrations/rotate-key", json!({}))?);
            Ok(())
        }
        IntegrationCommand::OfProject(command) => {
            let project = client.project(arguments.project.as_ref())?;
            of_project(&client, command, &format!("/projects/{project}/integrations"), printer)
        }
    }
}

fn of_project(
    client: &AdminClient,
    command: &ProjectIntegrationCommand,
    all: &str,
    printer: &Printer,
) -> anyhow::Result<()> {
    let one = |name: &str| format!("{all}/{}", encode(name));
    match command {
        ProjectIntegrationCommand::Add(source) => {
            let name = source.name.as_ref().or(source.preset.as_ref()).context("give the integration a name")?;
            let present = IntegrationsJson::deserialize(&client.get(all)?)?.integrations;
            if present.iter().any(|integration| integration.name == *name) {
                bail!("integration '{name}' already exists; change it with `mnemon integration change {name}`");
            }
            show_tested(printer, name, &client.put(&one(name), body(source)?)?)
        }
        ProjectIntegrationCommand::Change(source) => {
            let name = source.name.as_ref().context("name the integration to change")?;
            client.get(&one(name))?;
            show_tested(printer, name, &client.put(&one(name), body(source)?)?)
        }
        ProjectIntegrationCommand::List => {
            let columns = ["name", "title", "url", "command", "enabled", "offered", "waiting", "has_credential"];
            show_list(printer, &client.get(all)?, "integrations", &columns);
            Ok(())
        }
        ProjectIntegrationCommand::Test { name } => {
            show_tested(printer, name, &client.post(&format!("{}/test", one(name)), json!({}))?)
        }
        ProjectIntegrationCommand::Tools { name } => {
            show_list(printer, &client.get(&one(name))?, "tools", &["name", "state", "title", "description"]);
            Ok(())
        }
        ProjectIntegrationCommand::Accept { name, tools } => accept(client, printer, &one(name), tools),
        ProjectIntegrationCommand::Enable { name } => switch(client, printer, &one(name), true),
        ProjectIntegrationCommand::Disable { name } => switch(client, printer, &one(name), false),
        ProjectIntegrationCommand::Remove { name, confirmation } => {
            client.get(&one(name))?;
            let note = "Its credential is deleted with it and can't be restored.";
            confirmation.ask(&format!("remove the integration '{name}'"), note)?;
            show_one(printer, &client.delete(&one(name))?);
            Ok(())
        }
    }
}

/// The request body for an integration.
fn body(source: &IntegrationSource) -> anyhow::Result<PutIntegration> {
    let header = |header: &String| {
        let (name, value) = header.split_once(':').context("--header must be 'Name: value'")?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    let headers = source.headers.iter().map(header).collect::<anyhow::Result<BTreeMap<_, _>>>()?;
    Ok(PutIntegration {
        preset: source.preset.clone(),
        url: source.endpoint.clone(),
        command: source.command.clone(),
        title: source.title.clone(),
        bearer: bearer(source)?.map(Some),
        headers: (!headers.is_empty()).then_some(Some(headers)),
        allow: (!source.allow.is_empty()).then(|| source.allow.clone()),
        enabled: None,
    })
}

fn bearer(source: &IntegrationSource) -> anyhow::Result<Option<String>> {
    if !source.bearer_stdin {
        return Ok(source.bearer.clone());
    }
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token).context("no token on standard input")?;
    Ok(Some(token.trim().to_owned()))
}

/// Shows what works, and fails if nothing does.
fn show_tested(printer: &Printer, name: &str, answer: &Value) -> anyhow::Result<()> {
    let tested = TestedJson::deserialize(answer)?;
    if printer.is_json() {
        printer.value(answer);
    } else {
        for line in plainly(name, &tested) {
            printer.text(&visible::one_line(&line));
        }
    }
    if tested.works {
        Ok(())
    } else {
        bail!("{}", tested.problem.as_deref().unwrap_or("the integration does not work"))
    }
}

fn plainly(name: &str, tested: &TestedJson) -> Vec<String> {
    let IntegrationJson { url, command, tools, enabled, .. } = &tested.integration;
    let place = url.as_ref().or(command.as_ref()).map_or("", String::as_str);
    if !tested.works {
        let kept = format!("'{name}' is saved; its tools are offered once it answers.");
        return vec![format!("no   {place} does not answer"), kept];
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (server, version) = (text(&tested.server), text(&tested.protocol_version));
    let mut lines = vec![format!("ok   {place} answers: {server}, protocol {version}")];
    let tools = tools.as_deref().unwrap_or_default();
    let of = |state: &str| -> Vec<&str> {
        tools.iter().filter(|tool| tool.state == state).map(|tool| tool.name.as_str()).collect()
    };
    let present = tools.len() - of("gone").len();
    let offered = of("offered");
    let mark = if offered.is_empty() { "no  " } else { "ok  " };
    lines.push(format!("{mark} {} of {present} tools are offered: {}", offered.len(), list_or_none(&offered)));
    for (state, meaning) in [
        ("not_allowed", "read-only, but not on the allow-list (--allow)"),
        ("not_read_only", "not offered: the upstream does not mark them read-only"),
        ("new", "new, held back: review with `tools`, then `accept`"),
        ("changed", "changed, held back: review with `tools`, then `accept`"),
        ("rejected", "held back by the guard: their descriptions address agents"),
        ("unusable", "not offered: their name or schema can't be passed on"),
        ("gone", "no longer there"),
    ] {
        let names = of(state);
        if !names.is_empty() {
            lines.push(format!("     {} {meaning}: {}", names.len(), names.join(", ")));
        }
    }
    if !enabled {
        lines.push(format!("no   it is disabled; enable it with `mnemon integration enable {name}`"));
    }
    lines
}

fn list_or_none(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Accepts what is shown now: a tool that changes between showing and accepting is refused.
fn accept(client: &AdminClient, printer: &Printer, one: &str, named: &[String]) -> anyhow::Result<()> {
    let tools = IntegrationJson::deserialize(&client.get(one)?)?.tools.unwrap_or_default();
    let waits = |tool: &&IntegrationToolJson| matches!(tool.state.as_str(), "new" | "changed");
    let is_named = |tool: &&IntegrationToolJson| named.contains(&tool.name);
    let wanted: Vec<&IntegrationToolJson> =
        if named.is_empty() { tools.iter().filter(waits).collect() } else { tools.iter().filter(is_named).collect() };
    if let Some(unknown) = named.iter().find(|name| wanted.iter().all(|tool| tool.name != **name)) {
        bail!("no tool is called '{unknown}'");
    }
    if wanted.is_empty() {
        printer.text("no tools are waiting to be accepted");
        return Ok(());
    }
    if !printer.is_json() {
        for IntegrationToolJson { name, state, description, .. } in &wanted {
            let (name, description) = (visible::one_line(name), visible::block(description, 4));
            printer.text(&format!("{name} ({state}): {description}"));
        }
    }
    let seen = |tool: &&IntegrationToolJson| AcceptTool::Seen { name: tool.name.clone(), hash: tool.hash.clone() };
    let body = AcceptTools { tools: Some(wanted.iter().map(seen).collect()) };
    let answer = client.post(&format!("{one}/accept"), body)?;
    if printer.is_json() {
        printer.value(&answer);
    } else {
        printer.text(&format!("accepted {}", AcceptedJson::deserialize(&answer)?.accepted));
    }
    Ok(())
}

fn switch(client: &AdminClient, printer: &Printer, one: &str, is_enabled: bool) -> anyhow::Result<()> {
    client.get(one)?;
    let answer = client.put(one, PutIntegration { enabled: Some(is_enabled), ..PutIntegration::default() })?;
    if printer.is_json() {
        printer.value(&answer);
    } else {
        printer.text(if is_enabled { "enabled" } else { "disabled" });
    }
    Ok(())
}
