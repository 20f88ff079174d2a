//! The reference pages, made from the code that they describe: command line, configuration, tools.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::CommandFactory;
use mnemon_protocol::tools::Tool;
use mnemon_server::config::{DEFAULTS, ENVIRONMENT};
use serde_json::Value;

use crate::arguments::{Arguments, Reference};
use crate::printer::Printer;

const MADE: &str = "<!-- Made by `cargo run -- reference docs/reference`; edit the code, not this page. -->\n";

pub fn run(reference: &Reference, printer: &Printer) -> anyhow::Result<ExitCode> {
    let pages = [("cli.md", command_line()), ("configuration.md", configuration()), ("tools.md", tools())];
    if !reference.check {
        std::fs::create_dir_all(&reference.folder)?;
    }
    for (name, page) in pages {
        let path = reference.folder.join(name);
        if !reference.check {
            std::fs::write(&path, page).with_context(|| format!("can't write {}", path.display()))?;
        } else if std::fs::read_to_string(&path).ok().as_deref() != Some(page.as_str()) {
            bail!("{} is not what the code says; run `cargo run -- reference docs/reference`", path.display());
        }
    }
    printer.text("The reference pages are current.");
    Ok(ExitCode::SUCCESS)
}

fn command_line() -> String {
    let mut page = format!("{MADE}# Command line\n");
    let command = Arguments::command().term_width(100);
    describe_command(&mut page, command, "mnemon");
    page
}

fn describe_command(page: &mut String, mut command: clap::Command, path: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{path}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        let path = format!("{path} {}", inner.get_name());
        describe_command(page, inner.clone().bin_name(&path).term_width(100), &path);
    }
}

fn configuration() -> String {
    let mut page = format!("{MADE}# Configuration\n\nEvery setting with its default:\n\n```toml\n{DEFAULTS}```\n");
    page.push_str(
        "\nThe environment, each variable setting what stands beside it:\n\n| variable | setting |\n| --- | --- |\n",
    );
    for variable in ENVIRONMENT {
        let _ = writeln!(page, "| `{}` | `{}` |", variable.name, variable.setting);
    }
    page.push_str(
        "\n`mnemon config check` reports every mistake at once; `mnemon config print` shows what is in force.\n",
    );
    page
}

fn tools() -> String {
    let mut page = format!("{MADE}# Tools\n\nEndpoint: `POST {{base_url}}/mcp`, one JSON-RPC request per call.\n");
    for tool in mnemon_server::tool_descriptions() {
        describe_tool(&mut page, tool);
    }
    page.push_str("\nThe next tool is the local agent's: who talks to the service directly does not see it.\n");
    describe_tool(&mut page, &mnemon_agent::own_tool_description());
    page
}

fn describe_tool(page: &mut String, tool: &Tool) {
    let title = tool.title.as_deref().map(|title| format!(": {title}")).unwrap_or_default();
    let _ = write!(page, "\n## `{}`{title}\n\n{}\n", tool.name, tool.description);
    let hints = &tool.annotations;
    let _ = write!(
        page,
        "\nHints: read-only {}, destructive {}, idempotent {}, open world {}.\n",
        hints.read_only,
        hint(hints.destructive),
        hints.idempotent,
        hint(hints.open_world)
    );
    let required = |schema: &Value, name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    let mut table = |heading: &str, schema: &Value| {
        let _ = write!(page, "\n| {heading} | type | | meaning |\n| --- | --- | --- | --- |\n");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let kind = property["type"].as_str().map_or_else(|| property["type"].to_string(), str::to_owned);
            let need = if required(schema, name) { "always" } else { "" };
            let meaning = property["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "| `{name}` | {} | {need} | {meaning} |", kind.replace('|', "\\|"));
        }
    };
    table("argument", &tool.input_schema);
    if let Some(schema) = &tool.output_schema {
        table("result", schema);
    }
}

fn hint(hint: Option<bool>) -> &'static str {
    match hint {
        Some(true) => "true",
        Some(false) => "false",
        None => "unset",
    }
}
