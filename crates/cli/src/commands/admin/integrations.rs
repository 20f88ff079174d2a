//! Integrations of a project: tools of other systems.

use std::io::Read;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

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
            if client.get(all)?["integrations"]
                .as_array()
                .is_some_and(|rows| rows.iter().any(|row| row["name"] == *name))
            {
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
        ProjectIntegrationCommand::Remove { name } => {
            show_one(printer, &client.delete(&one(name))?);
            Ok(())
        }
    }
}

/// The request body for an integration.
fn body(source: &IntegrationSource) -> anyhow::Result<Value> {
    let mut body = Map::new();
    let texts =
        [("preset", &source.preset), ("url", &source.endpoint), ("command", &source.command), ("title", &source.title)];
    for (name, text) in texts {
        if let Some(text) = text {
            body.insert(name.to_owned(), json!(text));
        }
    }
    if source.bearer_stdin {
        let mut token = String::new();
        std::io::stdin().read_to_string(&mut token).context("no token on standard input")?;
        body.insert("bearer".to_owned(), json!(token.trim()));
    } else if let Some(token) = &source.bearer {
        body.insert("bearer".to_owned(), json!(token));
    }
    if !source.headers.is_empty() {
        let mut headers = Map::new();
        for header in &source.headers {
            let (name, value) = header.split_once(':').context("--header must be 'Name: value'")?;
            headers.insert(name.trim().to_owned(), json!(value.trim()));
        }
        body.insert("headers".to_owned(), Value::Object(headers));
    }
    if !source.allow.is_empty() {
        body.insert("allow".to_owned(), json!(source.allow));
    }
    Ok(Value::Object(body))
}

/// Shows what works, and fails if nothing does.
fn show_tested(printer: &Printer, name: &str, tested: &Value) -> anyhow::Result<()> {
    if printer.is_json() {
        printer.value(tested);
    } else {
        for line in plainly(name, tested) {
            printer.text(&visible::one_line(&line));
        }
    }
    if tested["works"] == json!(true) {
        Ok(())
    } else {
        bail!("{}", tested["problem"].as_str().unwrap_or("the integration does not work"))
    }
}

fn plainly(name: &str, tested: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let integration = &tested["integration"];
    let place = integration["url"].as_str().or(integration["command"].as_str()).unwrap_or_default();
    if tested["works"] != json!(true) {
        let kept = format!("'{name}' is saved; its tools are offered once it answers.");
        return vec![format!("no   {place} does not answer"), kept];
    }
    let (server, version) = (text(&tested["server"]), text(&tested["protocol_version"]));
    let mut lines = vec![format!("ok   {place} answers: {server}, protocol {version}")];
    let tools = integration["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |state: &str| -> Vec<String> {
        tools.iter().filter(|tool| tool["state"] == state).map(|tool| text(&tool["name"])).collect()
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
    if integration["enabled"] != json!(true) {
        lines.push(format!("no   it is disabled; enable it with `mnemon integration enable {name}`"));
    }
    lines
}

fn list_or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Accepts what is shown now: a tool that changes between showing and accepting is refused.
fn accept(client: &AdminClient, printer: &Printer, one: &str, named: &[String]) -> anyhow::Result<()> {
    let shown = client.get(one)?;
    let tools = shown["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let waits = |tool: &&Value| matches!(tool["state"].as_str(), Some("new" | "changed"));
    let is_named = |tool: &&Value| named.iter().any(|name| tool["name"] == **name);
    let wanted: Vec<&Value> =
        if named.is_empty() { tools.iter().filter(waits).collect() } else { tools.iter().filter(is_named).collect() };
    if let Some(unknown) = named.iter().find(|name| wanted.iter().all(|tool| tool["name"] != ***name)) {
        bail!("no tool is called '{unknown}'");
    }
    if wanted.is_empty() {
        printer.text("no tools are waiting to be accepted");
        return Ok(());
    }
    if !printer.is_json() {
        for tool in &wanted {
            let text = |name: &str| tool[name].as_str().unwrap_or_default();
            let (name, description) = (visible::one_line(text("name")), visible::block(text("description"), 4));
            printer.text(&format!("{name} ({}): {description}", text("state")));
        }
    }
    let pairs: Vec<Value> = wanted.iter().map(|tool| json!({"name": tool["name"], "hash": tool["hash"]})).collect();
    let answer = client.post(&format!("{one}/accept"), json!({"tools": pairs}))?;
    if printer.is_json() {
        printer.value(&answer);
    } else {
        printer.text(&format!("accepted {}", answer["accepted"]));
    }
    Ok(())
}

fn switch(client: &AdminClient, printer: &Printer, one: &str, is_enabled: bool) -> anyhow::Result<()> {
    client.get(one)?;
    let answer = client.put(one, json!({"enabled": is_enabled}))?;
    if printer.is_json() {
        printer.value(&answer);
    } else {
        printer.text(if is_enabled { "enabled" } else { "disabled" });
    }
    Ok(())
}
