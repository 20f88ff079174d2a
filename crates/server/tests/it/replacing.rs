//! Records that take the place of others: `supersedes`, `replace`, and what a model is told about a disputed key.

use mnemon_core::{Access, PlanLimits, PlanName, Subscription};
use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

use crate::admin::Office;
use crate::errors::{advice, plan, reason};

const UNKNOWN_ID: &str = "01890000-0000-7000-8000-000000000000";

async fn save(caller: &Caller, arguments: Value) -> Value {
    caller.call("remember", arguments).await.structured().clone()
}

async fn on_plan(limits: PlanLimits) -> (TestServer, Caller) {
    let server = TestServer::start_with(plan(limits)).await;
    let free = Subscription { plan: Some(PlanName::Free), paid_until: None, is_suspended: false };
    let organization = server.organization_on(free).await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, caller)
}

async fn found(caller: &Caller, query: &str) -> Vec<String> {
    let answer = caller.call("search", json!({"query": query, "limit": 50})).await;
    let hits = answer.structured()["result"].as_array().expect("a list").clone();
    let mut texts: Vec<String> =
        hits.iter().map(|hit| hit["content"].as_str().unwrap_or_default().to_owned()).collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn a_disputed_key_comes_with_a_hint_that_works() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    let old = save(&caller, json!({"content": "the release is on Tuesday", "fact_key": "release.day"})).await;
    assert_eq!((old.get("hint"), old.get("superseded")), (None, None));
    let arguments = json!({"content": "the release is on Friday", "fact_key": "release.day"});
    let new = save(&caller, arguments.clone()).await;
    assert_eq!((&new["status"], &new["conflicts_with"]), (&json!("conflict"), &json!([old["id"]])));
    let id = new["id"].as_str().expect("an id");
    let hint = format!(
        "Other records under fact_key 'release.day' say something else. If this one is right, call remember again with the \
         same arguments and replace: true; the others are then forgotten and can be restored. If another one is right, call \
         forget with memory_id '{id}'."
    );
    assert_eq!(new["hint"], hint);
    let mut again = arguments;
    again["replace"] = json!(true);
    let settled = save(&caller, again).await;
    assert_eq!((&settled["id"], &settled["duplicate"]), (&json!(id), &json!(true)));
    assert_eq!((&settled["status"], &settled["superseded"]), (&json!("unverified"), &json!([old["id"]])));
    assert_eq!((settled.get("conflicts_with"), settled.get("hint")), (None, None));
    assert_eq!(found(&caller, "release").await, ["the release is on Friday"]);
}

#[tokio::test]
async fn the_very_next_search_finds_the_new_and_not_the_old() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    caller.remember("harbour master: Ines").await;
    for n in 0..20 {
        let old = save(&caller, json!({"content": format!("harbour crane {n}"), "fact_key": "crane"})).await;
        let arguments = json!({"content": format!("harbour lift {n}"), "supersedes": [old["id"]]});
        assert_eq!(save(&caller, arguments).await["superseded"], json!([old["id"]]));
        assert!(!found(&caller, "harbour crane").await.iter().any(|text| text.contains("crane")), "{n}");
        assert!(found(&caller, "harbour lift").await.contains(&format!("harbour lift {n}")), "{n}");
    }
}

#[tokio::test]
async fn a_draft_is_published_by_saving_it_again() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let ben = server.member(&organization, MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    ben.remember("something else").await;
    let draft = save(&ana, json!({"content": "the boiler is in the attic", "scope": "draft"})).await;
    assert_eq!(found(&ben, "boiler").await, Vec::<String>::new());
    let arguments = json!({"content": "the boiler is in the attic", "scope": "shared", "supersedes": [draft["id"]]});
    let shared = save(&ana, arguments).await;
    assert_eq!((shared.get("duplicate"), &shared["superseded"]), (None, &json!([draft["id"]])));
    assert_eq!(found(&ben, "boiler").await, ["the boiler is in the attic"]);
    assert_eq!(found(&ana, "boiler").await.len(), 1);
}

#[tokio::test]
async fn what_the_caller_does_not_see_is_neither_replaced_nor_told() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let ben = server.member(&organization, MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    let hidden = save(&ana, json!({"content": "port 1", "fact_key": "port", "scope": "draft"})).await;
    let stranger = server.new_user().await;
    let foreign = save(&stranger, json!({"content": "port 9", "fact_key": "port"})).await;
    let gone = save(&ben, json!({"content": "port 2", "fact_key": "port"})).await;
    ben.call("forget", json!({"memory_id": gone["id"]})).await.structured();
    for id in [&hidden["id"], &foreign["id"], &gone["id"], &json!(UNKNOWN_ID), &json!("no id")] {
        let answer = ben.call("remember", json!({"content": "port 3", "supersedes": [id]})).await;
        assert_eq!(reason("remember", &answer), format!("memory '{}' not found", id.as_str().expect("a text")));
        assert_eq!(advice(&answer), None);
    }
    let new = save(&ben, json!({"content": "port 4", "fact_key": "port", "replace": true})).await;
    assert_eq!((new.get("superseded"), &new["status"]), (None, &json!("unverified")));
    assert_eq!(found(&ana, "port").await, ["port 1", "port 4"], "nothing else was stored or lost");
}

#[tokio::test]
async fn replaced_records_are_restored_like_forgotten_ones() {
    let server = TestServer::start().await;
    let caller = server.first_caller().await;
    let old = save(&caller, json!({"content": "the valve is blue", "fact_key": "valve"})).await;
    save(&caller, json!({"content": "the valve is red", "fact_key": "valve", "replace": true})).await;
    let id = old["id"].as_str().expect("an id");
    caller.manage("POST", &format!("/records/{id}/restore"), Value::Null).await;
    assert_eq!(found(&caller, "valve").await, ["the valve is blue", "the valve is red"]);
}

#[tokio::test]
async fn a_repeated_replace_answers_as_the_first_and_other_arguments_do_not() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    let old = save(&caller, json!({"content": "port 1", "fact_key": "port"})).await;
    let arguments = json!({"content": "port 2", "fact_key": "port", "replace": true});
    let call = async |arguments: &Value| {
        caller.call_with("remember", arguments.clone(), &[("x-idempotency-key", "once")]).await
    };
    let first = call(&arguments).await.structured().clone();
    assert_eq!(first["superseded"], json!([old["id"]]));
    save(&caller, json!({"content": "port 3", "fact_key": "port"})).await;
    assert_eq!(call(&arguments).await.structured(), &first);
    assert_eq!(found(&caller, "port").await, ["port 2", "port 3"], "the repeated call replaced nothing");
    for (name, other) in [("replace", json!(false)), ("supersedes", json!([old["id"]]))] {
        let mut changed = arguments.clone();
        changed[name] = other;
        let answer = call(&changed).await;
        assert_eq!(reason("remember", &answer), "idempotency key was already used with different arguments");
    }
}

#[tokio::test]
async fn a_full_project_can_be_corrected() {
    let (_server, caller) = on_plan(PlanLimits { records_max: Some(2), ..PlanLimits::default() }).await;
    let one = save(&caller, json!({"content": "port 1", "fact_key": "port"})).await;
    save(&caller, json!({"content": "host 1"})).await;
    let full = caller.call("remember", json!({"content": "host 2"})).await;
    assert_eq!(reason("remember", &full), "project memory limit exceeded");
    let new = save(&caller, json!({"content": "port 2", "fact_key": "port", "replace": true})).await;
    assert_eq!(new["superseded"], json!([one["id"]]));
    let full = caller.call("remember", json!({"content": "host 2"})).await;
    assert_eq!(reason("remember", &full), "project memory limit exceeded");
}

#[tokio::test]
async fn a_read_only_key_replaces_nothing() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let writer = server.member(&organization, MemberSpec::default()).await;
    let reader = server.member(&organization, MemberSpec { access: Access::Read, ..MemberSpec::default() }).await;
    let old = save(&writer, json!({"content": "port 1"})).await;
    let answer = reader.call("remember", json!({"content": "port 2", "supersedes": [old["id"]]})).await;
    assert_eq!(reason("remember", &answer), "this key is read-only");
    assert_eq!(found(&writer, "port").await, ["port 1"]);
}

#[tokio::test]
async fn the_audit_log_notes_what_replaced_and_how_many() {
    let office = Office::open().await;
    let caller = &office.admin;
    save(caller, json!({"content": "port 1", "fact_key": "port"})).await;
    save(caller, json!({"content": "port 2", "fact_key": "port"})).await;
    let new = save(caller, json!({"content": "port 3", "fact_key": "port", "replace": true})).await;
    let log = office.get(&office.account("/audit?limit=1")).await;
    let line = &log["audit"][0];
    assert_eq!((&line["action"], &line["subject"]), (&json!("record.supersede"), &new["id"]));
    assert_eq!((&line["affected"], &line["member_id"]), (&json!(2), &json!(office.admin_id.to_string())));
    assert!(!line.to_string().contains("port"), "never the text");
}

#[tokio::test]
async fn an_inactive_workspace_is_followed_by_the_active_ones_that_the_caller_sees() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let ben = server.member(&organization, MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    let nowhere = async |caller: &Caller| caller.call("search", json!({"query": "x", "workspace": "nowhere"})).await;
    let answer = nowhere(&ana).await;
    assert_eq!(reason("search", &answer), "workspace 'nowhere' is not active");
    assert_eq!(advice(&answer), None, "there is none to name");
    save(&ana, json!({"content": "secret", "workspace": "a hidden one", "scope": "draft"})).await;
    for n in (1..=21).rev() {
        save(&ana, json!({"content": "shown", "workspace": format!("w{n:02}")})).await;
    }
    let names: Vec<String> = (1..=20).map(|n| format!("w{n:02}")).collect();
    let expected = format!("Active workspaces: {}", names.join(", "));
    assert_eq!(advice(&nowhere(&ben).await), Some(expected.as_str()), "twenty at most, and no hidden one");
    assert!(advice(&nowhere(&ana).await).expect("some").starts_with("Active workspaces: a hidden one, w01, "));
}

#[tokio::test]
async fn a_rate_limit_is_followed_by_when_to_try_again() {
    let (_server, caller) = on_plan(PlanLimits { connection_calls_max: Some(1), ..PlanLimits::default() }).await;
    caller.remember("one call").await;
    let answer = caller.call("search", json!({"query": "call"})).await;
    assert_eq!(reason("search", &answer), "MCP rate limit exceeded");
    assert_eq!(advice(&answer), Some("Try again in 60 s."));
}
