//! Imports of what an earlier version exported, and dry runs.

use mnemon_core::Role;
use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

/// As the program wrote it when a source belonged to its project: its lines of sources name no workspace, and records
/// know neither tags nor when something happened.
const BEFORE_WORKSPACES: &str = include_str!("imports/before-workspaces.jsonl");

async fn import(caller: &Caller, more: &str, lines: &str) -> Value {
    let project = caller.admin("GET", "/me", Value::Null).await.json()["project"]["id"].clone();
    let path = format!("/admin/v1/projects/{}/import{more}", project.as_str().expect("an id"));
    let bearer = format!("Bearer {}", caller.key);
    let answer = caller.send("POST", &path, &[("authorization", &bearer)], lines.to_owned()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// Text, workspace and status of each record, in the order of an export.
fn statuses(lines: &str) -> Vec<[Value; 3]> {
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let records = lines.filter(|line| line["type"] == "record");
    records.map(|line| ["content", "workspace", "status"].map(|field| line[field].clone())).collect()
}

#[tokio::test]
async fn an_export_from_before_sources_had_workspaces_keeps_every_status() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ada =
        server.member(&organization, MemberSpec { name: "Ada", role: Role::Admin, ..MemberSpec::default() }).await;
    let report = import(&ada, "", BEFORE_WORKSPACES).await;
    let counts = |report: &Value| ["saved", "present", "refused", "sources"].map(|count| report[count].clone());
    assert_eq!(counts(&report), [json!(6), json!(0), json!(0), json!(2)], "{report}");
    let exported = ada.admin("GET", &format!("/projects/{}/export", organization.project), Value::Null).await.text;
    assert_eq!(statuses(&exported), statuses(BEFORE_WORKSPACES));
    let again = import(&ada, "", BEFORE_WORKSPACES).await;
    assert_eq!(counts(&again), [json!(0), json!(6), json!(0), json!(0)], "{again}");
}

#[tokio::test]
async fn a_dry_run_counts_what_is_there_already() {
    let server = TestServer::start().await;
    let caller = server.first_caller().await;
    let line = |content: &str, more: Value| {
        let mut line = json!({"type": "record", "content": content});
        line.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        line.to_string() + "\n"
    };
    let first = line("We deploy on Tuesdays", json!({}))
        + &line("The boiler is in the cellar", json!({"source": "A page", "source_id": "page", "workspace": "house"}))
        + &line("Mine alone", json!({"scope": "draft"}));
    assert_eq!(import(&caller, "", &first).await["saved"], 3);
    let second = first.clone()
        + &line("We deploy on Tuesdays.", json!({}))
        + &line("We deploy on Tuesdays", json!({"workspace": "house"}))
        + &line("The boiler is in the cellar", json!({"source_id": "page", "workspace": "house"}))
        + &line("Mine alone", json!({}))
        + &line("New here", json!({}));
    let dry = import(&caller, "?dry_run=true", &second).await;
    let real = import(&caller, "", &second).await;
    assert_eq!((&dry["saved"], &dry["present"], &dry["dry_run"]), (&json!(4), &json!(4), &json!(true)), "{dry}");
    assert_eq!((&real["saved"], &real["present"]), (&dry["saved"], &dry["present"]), "{real}");
}
