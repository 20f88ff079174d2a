//! Who may do what: every route of the admin API, of the agent and of OAuth, and every tool, tried by every kind of
//! caller. The tables are compared with what the service offers, so a new route without a row fails.

mod absent;
mod admission;
mod beside;
mod console;
mod doors;
mod drafts;
mod routes;
mod tools;
mod world;

use world::{WHO, World};

const NOBODYS: [&str; 3] = ["nobody", "revoked", "expired"];

/// A table of routes without the column that `admission.rs` is about.
fn without_memory<Memory>(table: Vec<(&'static str, String, Memory)>) -> Vec<(&'static str, String)> {
    table.into_iter().map(|(method, path, _)| (method, path)).collect()
}

#[tokio::test]
async fn every_door_has_a_row() {
    let mut expected: Vec<(&str, String)> = without_memory(mnemon_server::admin_route_table());
    let mut rows: Vec<(&str, String)> =
        routes::rows().into_iter().map(|row| (row.method, format!("/admin/v1{}", row.path))).collect();
    expected.sort();
    rows.sort();
    assert_eq!(rows, expected);
    let offered: Vec<&str> = mnemon_server::tool_descriptions().iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools::NAMES.as_slice(), offered.as_slice());
}

/// Calls every route as every caller. A caller who may not know that something exists gets, to the byte, the answer for
/// something that does not exist.
#[tokio::test]
async fn everybody_tries_every_route_of_the_admin_api() {
    let world = World::make().await;
    for row in routes::rows() {
        // More than thirty rejected credentials in a minute would get 429 (`refused.rs`).
        world.server.clock.advance(std::time::Duration::from_secs(60));
        for (who, expected) in WHO.into_iter().zip(row.expected) {
            let caller = world.caller(who);
            let (path, body) = world.fill(row.method, row.path, row.body).await;
            let answer = caller.admin(row.method, &path, body.clone()).await;
            assert_eq!(answer.status, expected, "{who}: {} {} {}", row.method, row.path, answer.text);
            let is_ignorant = match expected {
                // A head knows its own account and projects; what it may not know is named in the body (`absent.rs`).
                404 if who == "rival" => {
                    ["{member}", "{key}", "{connection}"].iter().any(|end| row.path.ends_with(end))
                }
                401 | 404 => true,
                // A caller who may read an account knows what is in it; only writing is refused.
                403 => who != "reader",
                _ => false,
            };
            if is_ignorant {
                let absent = caller.admin(row.method, &world.fill_absent(&path, row.path), body).await;
                let context = format!("{who}: {} {}", row.method, row.path);
                assert_eq!((absent.status, absent.text), (answer.status, answer.text), "{context}");
            }
        }
    }
}

#[tokio::test]
async fn a_refused_credential_is_told_the_same_whatever_was_wrong_with_it() {
    let world = World::make().await;
    let mut texts = Vec::new();
    for who in NOBODYS {
        let answer = world.caller(who).admin("GET", "/accounts", serde_json::Value::Null).await;
        texts.push((answer.status, answer.text));
    }
    for wrong in ["mnm_", "mnp_", "x", "mnp_0000000000000000000000000000000000000000000000000"] {
        let answer = world.server.caller(wrong).admin("GET", "/accounts", serde_json::Value::Null).await;
        texts.push((answer.status, answer.text));
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(texts[0].0, 401);
}

#[tokio::test]
async fn a_route_that_does_not_exist_is_not_found_by_anybody() {
    let world = World::make().await;
    for who in WHO {
        let answer = world.caller(who).admin("GET", "/nothing/here", serde_json::Value::Null).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (404, Some("not_found")), "{who}");
        let answer = world.caller(who).admin("PATCH", "/accounts", serde_json::Value::Null).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (405, Some("method_not_allowed")), "{who}");
    }
}
