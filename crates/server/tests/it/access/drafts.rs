//! Records that an admin may not see either: others' drafts and other departments' records.

use serde_json::{Value, json};

use super::world::World;

const ABSENT: &str = "01980000-0000-7000-8000-00000000dead";

/// A draft of the author and a record of the author's department, live or forgotten.
async fn hidden(world: &World, is_forgotten: bool) -> Vec<String> {
    let mut ids = Vec::new();
    for scope in ["draft", "department"] {
        let content = format!("hidden record {}", world.serial());
        let id = world.save(json!({"content": content, "scope": scope, "workspace": "hidden"})).await;
        if is_forgotten {
            world.author.call("forget", json!({"memory_id": id})).await.structured();
        }
        ids.push(id);
    }
    ids
}

#[tokio::test]
async fn what_an_admin_may_not_see_can_be_neither_restored_nor_forgotten_nor_purged() {
    let world = World::make().await;
    for who in ["admin", "reader", "elsewhere", "stranger"] {
        let caller = world.caller(who);
        for is_forgotten in [false, true] {
            for id in hidden(&world, is_forgotten).await {
                for (method, path) in [
                    ("POST", "/records/{record}/restore"),
                    ("DELETE", "/records/{record}"),
                    ("DELETE", "/records/{record}?purge=true"),
                ] {
                    let foreign = caller.admin(method, &path.replace("{record}", &id), Value::Null).await;
                    let absent = caller.admin(method, &path.replace("{record}", ABSENT), Value::Null).await;
                    assert_eq!(foreign.status, 404, "{who} {method} {path} {}", foreign.text);
                    assert_eq!(foreign.text, absent.text, "{who} {method} {path}");
                }
            }
        }
    }
    let still =
        world.author.call("search", json!({"query": "hidden record", "workspace": "hidden", "limit": 50})).await;
    assert_eq!(still.structured()["result"].as_array().map(Vec::len), Some(8), "four tries left two records each");
}

#[tokio::test]
async fn the_operator_may_purge_what_it_can_not_read_and_nothing_else() {
    let world = World::make().await;
    let operator = world.caller("operator");
    for is_forgotten in [false, true] {
        for id in hidden(&world, is_forgotten).await {
            for (method, path) in [("POST", format!("/records/{id}/restore")), ("DELETE", format!("/records/{id}"))] {
                let refused = operator.refusal(method, &path, Value::Null).await;
                assert_eq!(refused, (404, "no such record".to_owned()), "{method}");
            }
            let purged = operator.manage("DELETE", &format!("/records/{id}?purge=true"), Value::Null).await;
            assert_eq!(purged, json!({"purged": true}));
        }
    }
}

/// A digest without its mark, which is another one each time.
fn unmarked(mut digest: Value) -> Value {
    let markdown = digest["markdown"].as_str().unwrap_or_default().to_owned();
    let (_, rest) = markdown.split_once("Each line with ").expect("a note about the mark");
    let (mark, _) = rest.split_once(' ').expect("a mark");
    digest["markdown"] = json!(markdown.replace(mark, "[mark]"));
    digest
}

#[tokio::test]
async fn lists_counts_and_reasons_leave_out_what_the_administrator_may_not_see() {
    let world = World::make().await;
    let project = world.organization.project;
    world
        .save(json!({"content": "open to all", "workspace": "mixed", "source_id": "open.md", "source_hash": "a"}))
        .await;
    let ask = async |who: &str| {
        let caller = world.caller(who);
        let get = async |path: &str| caller.manage("GET", &format!("/projects/{project}{path}"), Value::Null).await;
        let explain = json!({"query": "hidden open record", "workspace": "mixed"});
        let usage = get("/usage").await;
        vec![
            get("/records?limit=1000").await,
            get("/records?state=forgotten").await,
            get("/workspaces").await,
            get("/sources").await,
            json!([usage["records"], usage["bytes"]]),
            caller.manage("POST", &format!("/projects/{project}/explain"), explain).await,
            unmarked(
                caller.manage("POST", &format!("/projects/{project}/context"), json!({"workspace": "mixed"})).await,
            ),
        ]
    };
    let callers = ["admin", "reader", "elsewhere", "operator"];
    let mut before = Vec::new();
    for who in callers {
        before.push(ask(who).await);
    }
    hidden(&world, false).await;
    hidden(&world, true).await;
    for scope in ["draft", "department"] {
        world.save(json!({"content": "hidden open record", "scope": scope, "workspace": "mixed"})).await;
        for source in ["open.md", "hidden.md"] {
            let content = format!("an open record from {source}");
            let sourced = json!({"content": content, "scope": scope, "source_id": source, "source_hash": "b"});
            world.save(sourced).await;
        }
    }
    for (who, before) in callers.into_iter().zip(before) {
        assert_eq!(ask(who).await, before, "{who}");
    }
    let never = json!({"query": "hidden", "workspace": "hidden"});
    for who in callers {
        let refused = world.caller(who).refusal("POST", &format!("/projects/{project}/explain"), never.clone()).await;
        assert_eq!(refused, (404, "no such workspace".to_owned()), "{who}: a workspace of others' drafts");
        let refused = world.caller(who).refusal("POST", &format!("/projects/{project}/context"), never.clone()).await;
        assert_eq!(refused, (404, "no such workspace".to_owned()), "{who}: a digest of others' drafts");
    }
}

/// A shared record that somebody replaced by a draft: who may not see the draft learns neither its id nor that there is
/// one.
#[tokio::test]
async fn a_draft_that_took_a_records_place_is_named_to_nobody_else() {
    let world = World::make().await;
    let admin = world.caller("admin");
    let old = world.save(json!({"content": "we deploy on Mondays"})).await;
    let draft = json!({"content": "we deploy on Fridays, I think", "scope": "draft", "supersedes": [old]});
    let draft = world.save(draft).await;
    let detail = admin.admin("GET", &format!("/records/{old}"), Value::Null).await;
    assert_eq!(detail.json()["superseded_by"], Value::Null, "{}", detail.text);
    let list = format!("/projects/{}/records?state=forgotten", world.organization.project);
    let list = admin.admin("GET", &list, Value::Null).await;
    assert!(list.text.contains(&old), "{}", list.text);
    world.author.call("forget", json!({"memory_id": draft})).await.structured();
    let audit = admin.admin("GET", &format!("/accounts/{}/audit", world.organization.account), Value::Null).await;
    assert!(audit.text.contains("record.supersede") && audit.text.contains("(a draft)"), "{}", audit.text);
    for text in [detail.text, list.text, audit.text] {
        assert!(!text.contains(&draft), "{text}");
    }
}
