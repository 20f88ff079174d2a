//! Whose key this is.

use mnemon_agent::settings::WorkspaceChoice;
use mnemon_core::WorkspaceName;
use mnemon_protocol::admin::{MeJson, PlanJson};

use super::client;
use crate::arguments::Whoami;
use crate::connecting;
use crate::printer::Printer;

pub fn whoami(arguments: &Whoami, printer: &Printer) -> anyhow::Result<()> {
    let mut answer = client(&arguments.connection)?.get("/me")?;
    let auto = connecting::workspace(Some(&WorkspaceChoice::Auto));
    if printer.is_json() {
        answer["auto_workspace"] = auto.into();
        printer.value(&answer);
        return Ok(());
    }
    let me: MeJson = serde_json::from_value(answer)?;
    for (name, value) in lines(&me, auto) {
        printer.text(&format!("{name:<16} {value}"));
    }
    Ok(())
}

fn lines(me: &MeJson, auto: Option<String>) -> Vec<(&'static str, String)> {
    let named = |name, thing: &Option<mnemon_protocol::admin::NamedJson>| {
        thing.as_ref().map(|thing| (name, format!("{} ({})", thing.name, thing.id)))
    };
    let plain = |name, value: &Option<String>| value.clone().map(|value| (name, value));
    let subscription = me.subscription.as_ref().map(|subscription| {
        let end = subscription.paid_until.as_ref().map(|end| format!(", paid until {end}")).unwrap_or_default();
        ("subscription", format!("{}{end}", subscription.state))
    });
    let is_key = me.key_id.is_some();
    let workspace = me.workspace.clone().unwrap_or_else(|| WorkspaceName::default().to_string());
    let auto = auto.unwrap_or_else(|| format!("{workspace} (this folder is in no git repository)"));
    let lines = [
        named("member", &me.member),
        Some(("role", me.role.clone())),
        named("department", &me.department),
        named("account", &me.account),
        named("project", &me.project),
        plain("key", &me.key_id),
        plain("access", &me.access),
        plain("expires", &me.expires_at),
        is_key.then_some(("workspace", workspace)),
        is_key.then_some(("workspace auto", auto)),
        me.plan.as_ref().map(|plan| ("plan", plan_line(plan))),
        subscription,
    ];
    lines.into_iter().flatten().collect()
}

fn plan_line(plan: &PlanJson) -> String {
    let limits = [
        plan.records_max.map(|max| format!("{max} records")),
        plan.workspaces_max.map(|max| format!("{max} workspaces")),
        plan.connection_calls_max.map(|max| format!("{max} calls a minute per connection")),
        plan.project_calls_max.map(|max| format!("{max} per project")),
        plan.history_bytes_max.map(|max| format!("{} MB of session histories", max / 1_000_000)),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if limits.is_empty() {
        format!("{}: no limits", plan.name)
    } else {
        format!("{}: {}", plan.name, limits.join(", "))
    }
}
