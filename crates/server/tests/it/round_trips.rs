//! How many round trips and statements a call costs on PostgreSQL, so that nobody adds one unseen: alone, and with 64
//! callers at once, who share them.

use mnemon_core::{PlanName, Subscription};
use mnemon_store::statements_sent;
use mnemon_testkit::{Caller, MemberSpec, TestServer, TestServerOptions, TestStore};
use serde_json::{Value, json};

const CALLERS: usize = 64;
const ROUNDS: usize = 4;

/// Texts without a word in common: a save that names similar records also reads their texts.
const WORDS: [&str; 8] = ["boiler", "invoice", "vineyard", "telescope", "harbour", "saxophone", "glacier", "passport"];

/// The look-up of a key.
const LOOK_UP: u64 = 1;

async fn server() -> TestServer {
    TestServer::start_with(TestServerOptions { store: TestStore::Postgres, ..TestServerOptions::default() }).await
}

/// A caller with its own project, on a plan.
async fn caller_on(server: &TestServer, plan: PlanName) -> Caller {
    let organization = server.organization_on(Subscription { plan: Some(plan), ..Subscription::default() }).await;
    server.member(&organization, MemberSpec::default()).await
}

/// Round trips and statements of a call. Background work may come in between, so the cheapest of several runs counts.
async fn cost(server: &TestServer, caller: &Caller, tool: &str, arguments: impl Fn(usize) -> Value) -> (u64, u64) {
    let now = || (server.engine.figures().store.connections.round_trips, statements_sent());
    let mut least = (u64::MAX, u64::MAX);
    for n in 0..WORDS.len() {
        let before = now();
        caller.call(tool, arguments(n)).await.structured();
        let after = now();
        least = (least.0.min(after.0 - before.0), least.1.min(after.1 - before.1));
    }
    least
}

/// How many statements a call sends where many call at once.
async fn shared(server: &TestServer, key: &str, tool: &'static str, arguments: impl Fn(usize) -> Value) -> f64 {
    let before = statements_sent();
    let calls = (0..CALLERS).map(|caller| {
        let arguments: Vec<Value> = (0..ROUNDS).map(|round| arguments(caller * ROUNDS + round)).collect();
        let caller = server.caller(key);
        tokio::spawn(async move {
            for arguments in arguments {
                caller.call(tool, arguments).await.structured();
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("no call fails");
    }
    (statements_sent() - before) as f64 / (CALLERS * ROUNDS) as f64
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_takes_two_round_trips_after_its_look_up_whatever_it_says_and_on_every_plan() {
    let server = server().await;
    for plan in [PlanName::Unlimited, PlanName::Enterprise] {
        let caller = caller_on(&server, plan).await;
        let trips = async |arguments: fn(usize) -> Value| cost(&server, &caller, "remember", arguments).await.0;
        let bare = trips(|n| json!({"content": WORDS[n]})).await;
        let keyed = trips(|n| {
            let content = format!("{} with a key", WORDS[n]);
            json!({"content": content, "fact_key": format!("key {n}"), "workspace": "keyed"})
        });
        let keyed = keyed.await;
        let full = trips(|n| {
            let (content, key) = (format!("{} of a file", WORDS[n]), format!("key {n}"));
            json!({"content": content, "fact_key": key, "source_id": "a.md", "source_hash": "h", "workspace": "full"})
        });
        let full = full.await;
        let disputed = trips(|n| {
            let (content, source) = (format!("{} disputed", WORDS[n]), format!("{n}.md"));
            json!({"content": content, "fact_key": "key", "source_id": source, "source_hash": "h", "workspace": "all"})
        });
        let disputed = disputed.await;
        assert_eq!([bare, keyed, full, disputed], [LOOK_UP + 2; 4], "{plan:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_knows_its_conflicts_and_its_source_without_asking_again() {
    let server = server().await;
    let caller = caller_on(&server, PlanName::Enterprise).await;
    let save = async |content: &str, hash: &str| {
        let arguments = json!({"content": content, "fact_key": "port", "source_id": "a.md", "source_hash": hash});
        caller.call("remember", arguments).await.structured().clone()
    };
    let first = save("the port is 80", "one").await;
    assert_eq!((&first["status"], &first["conflicts_with"]), (&json!("unverified"), &Value::Null));
    let second = save("the port is 81", "one").await;
    assert_eq!((&second["status"], &second["conflicts_with"]), (&json!("conflict"), &json!([first["id"]])));
    // The new hash makes the others stale, and a stale record disputes nothing.
    let third = save("the port is 82", "two").await;
    assert_eq!((&third["status"], &third["conflicts_with"]), (&json!("unverified"), &Value::Null));
    let again = save("the port is 80", "two").await;
    assert_eq!((&again["duplicate"], &again["status"]), (&json!(true), &json!("conflict")));
    assert_eq!(again["conflicts_with"], json!([third["id"]]));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_saves_with_key_and_source_share_their_statements() {
    let server = server().await;
    let caller = caller_on(&server, PlanName::Unlimited).await;
    let save = |n: usize| {
        let (content, key) = (format!("fact {n} of {}", WORDS[n % WORDS.len()]), format!("key {n}"));
        json!({"content": content, "fact_key": key, "source_id": format!("{}.md", n % 9), "source_hash": "h"})
    };
    let shared = shared(&server, &caller.key, "remember", save).await;
    assert!(shared < 2.0, "{shared}, of five that one sends alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_sends_one_statement_alone_and_a_share_of_one_among_many_by_key_and_by_token() {
    let server = server().await;
    let caller = server.first_caller().await;
    for n in 0..5 {
        let content = format!("the boiler number {n} is in the cellar");
        let save = json!({"content": content, "fact_key": "boiler", "source_id": "a.md", "source_hash": "h"});
        caller.call("remember", save).await.structured();
    }
    let by_token = server.connect(&caller.key).await;
    let search = |_| json!({"query": "boiler"});
    for caller in [caller, by_token] {
        assert_eq!(cost(&server, &caller, "search", search).await, (1, 1));
        let shared = shared(&server, &caller.key, "search", search).await;
        assert!(shared < 0.5, "{shared}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_sends_the_same_few_for_any_number_of_records() {
    let server = server().await;
    let caller = server.first_caller().await;
    let validate = |_| json!({"source_id": "wiki", "current_source_hash": "a"});
    let mut costs = Vec::new();
    for n in 0..3 {
        let content = format!("the boiler number {n} is in the cellar");
        let save = json!({"content": content, "source_id": "wiki", "source_hash": "a"});
        caller.call("remember", save).await.structured();
        costs.push(cost(&server, &caller, "validate_memory", validate).await.1);
    }
    assert_eq!(costs, [VALIDATION; 3]);
    let shared = shared(&server, &caller.key, "validate_memory", validate).await;
    assert!(shared < VALIDATION as f64, "{shared}");
}

/// The look-up; the source's records, and what their status depends on; the project's lock, the workspaces of the
/// source and what is known of it there; the confirmation, and who looked.
const VALIDATION: u64 = 8;

/// Round trips of each tool, by plan: what `docs/operations/sizing.md` says.
#[tokio::test(flavor = "multi_thread")]
async fn each_tool_costs_what_the_guide_says_on_every_plan() {
    let server = server().await;
    for plan in [PlanName::Unlimited, PlanName::Enterprise] {
        let caller = caller_on(&server, plan).await;
        let mut ids = Vec::new();
        for (n, word) in WORDS.iter().enumerate() {
            let (content, key, source) = (format!("{word} number {n}"), format!("key {n}"), format!("{n}.md"));
            let save = json!({"content": content, "fact_key": key, "source_id": source, "source_hash": "a"});
            ids.push(caller.call("remember", save).await.structured()["id"].clone());
        }
        let trips =
            async |tool: &str, arguments: &dyn Fn(usize) -> Value| cost(&server, &caller, tool, arguments).await.0;
        let search = trips("search", &|_| json!({"query": WORDS[0]})).await;
        let save =
            trips("remember", &|n| json!({"content": format!("{} again", WORDS[n]), "fact_key": WORDS[n]})).await;
        let again =
            trips("remember", &|n| json!({"content": format!("{} again", WORDS[n]), "fact_key": WORDS[n]})).await;
        let replacing = |n| {
            let content = format!("{} at last", WORDS[n]);
            json!({"content": content, "fact_key": WORDS[n], "replace": true, "source_id": "x.md", "source_hash": "b"})
        };
        let replace = trips("remember", &replacing).await;
        let refresh = |n| {
            let content = format!("{} at last", WORDS[n]);
            json!({"content": content, "fact_key": WORDS[n], "source_id": "x.md", "source_hash": format!("c{n}")})
        };
        let refresh = trips("remember", &refresh).await;
        let check = json!({"source_id": "7.md", "current_source_hash": "a"});
        let validation = trips("validate_memory", &|_| check.clone()).await;
        let forget = trips("forget", &|n| json!({"memory_id": ids[n]})).await;
        let costs = [search, save, again, replace, refresh, validation, forget];
        assert_eq!(costs, [0, 2, 3, 3, 3, 3, 3].map(|trips| LOOK_UP + trips), "{plan:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_are_written_by_a_few_statements_and_read_alike_however_many_tenants_were_active() {
    let server = server().await;
    let reader = caller_on(&server, PlanName::Pro).await;
    reader.remember("a fact").await;
    let project = reader.manage("GET", "/me", Value::Null).await["project"]["id"].clone();
    let path = format!("/projects/{}/usage", project.as_str().expect("an id"));
    let mut others = Vec::new();
    for _ in 0..12 {
        others.push(caller_on(&server, PlanName::Pro).await);
    }
    let (mut alone, mut among, mut writing) = (u64::MAX, u64::MAX, u64::MAX);
    for n in 0..4 {
        let read = async |least: &mut u64| {
            let before = statements_sent();
            reader.manage("GET", &path, Value::Null).await;
            *least = (*least).min(statements_sent() - before);
        };
        server.engine.flush_usage().await.expect("storage works");
        read(&mut alone).await;
        for other in &others {
            other.remember(&format!("fact {n}")).await;
        }
        read(&mut among).await;
        let before = statements_sent();
        server.engine.flush_usage().await.expect("storage works");
        writing = writing.min(statements_sent() - before);
    }
    assert_eq!(among, alone, "a reader writes the figures of nobody else");
    assert!(writing <= 4, "{writing} statements for twelve tenants");
}
