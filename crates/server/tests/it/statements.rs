//! How many statements a call sends to PostgreSQL, so that nobody adds one unseen. Alone, and with 64 callers at once, who
//! share them.

use mnemon_store::statements_sent;
use mnemon_testkit::{Caller, TestServer, TestServerOptions, TestStore};
use serde_json::{Value, json};

const CALLERS: usize = 64;
const ROUNDS: usize = 4;

async fn server() -> TestServer {
    TestServer::start_with(TestServerOptions { store: TestStore::Postgres, ..TestServerOptions::default() }).await
}

/// What a call sends. Background work may come in between, so the cheapest of several runs counts.
async fn alone(caller: &Caller, tool: &str, arguments: impl Fn(usize) -> Value) -> u64 {
    let mut least = u64::MAX;
    for n in 0..6 {
        let before = statements_sent();
        caller.call(tool, arguments(n)).await.structured();
        least = least.min(statements_sent() - before);
    }
    least
}

/// What a call sends where many call at once.
async fn together(server: &TestServer, key: &str, tool: &'static str, arguments: impl Fn(usize) -> Value) -> f64 {
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
async fn a_search_sends_one_statement_alone_and_a_share_of_one_among_many() {
    let server = server().await;
    let caller = server.first_caller().await;
    for n in 0..5 {
        caller.remember(&format!("the boiler number {n} is in the cellar")).await;
    }
    let search = |_| json!({"query": "boiler"});
    assert_eq!(alone(&caller, "search", search).await, 1);
    let shared = together(&server, &caller.key, "search", search).await;
    assert!(shared < 0.5, "{shared}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_by_token_sends_as_many_as_one_by_key() {
    let server = server().await;
    let caller = server.first_caller().await;
    caller.remember("the boiler code is 4711").await;
    let by_token = server.connect(&caller.key).await;
    let search = |_| json!({"query": "boiler"});
    assert_eq!(alone(&by_token, "search", search).await, 1);
    let shared = together(&server, &by_token.key, "search", search).await;
    assert!(shared < 0.5, "{shared}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_sends_two_by_a_known_key_and_three_by_token_and_many_saves_share_them() {
    let server = server().await;
    let caller = server.first_caller().await;
    let save = |n| json!({"content": format!("the boiler number {n} is in the cellar")});
    assert_eq!(alone(&caller, "remember", save).await, 2);
    let by_token = server.connect(&caller.key).await;
    assert_eq!(alone(&by_token, "remember", |n| save(n + 100)).await, 3, "a token is looked up first");
    let shared = together(&server, &caller.key, "remember", |n| save(n + 1_000)).await;
    assert!(shared < 1.0, "{shared}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_sends_the_same_few_for_any_number_of_records() {
    let server = server().await;
    let caller = server.first_caller().await;
    let validate = |_| json!({"source_id": "wiki", "current_source_hash": "a"});
    let mut costs = Vec::new();
    for n in 0..3 {
        let content = format!("the boiler number {n} is in the cellar");
        caller
            .call("remember", json!({"content": content, "source_id": "wiki", "source_hash": "a"}))
            .await
            .structured();
        costs.push(alone(&caller, "validate_memory", validate).await);
    }
    assert_eq!(costs, [VALIDATION; 3]);
    let shared = together(&server, &caller.key, "validate_memory", validate).await;
    assert!(shared < VALIDATION as f64, "{shared}");
}

/// The look-up; the project's lock, the workspaces of the source, what is known of it there and the confirmation; its records;
/// and what is known of it once more, for the answer.
const VALIDATION: u64 = 7;
