//! The next call sees whatever was acknowledged: saved records are found at once, forgotten ones never again.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mnemon_testkit::{Caller, TestServer};
use parking_lot::Mutex;
use serde_json::{Value, json};

const CALLERS: usize = 16;
/// Callers meet in a few workspaces: every search of one looks at all of its records, and ten thousand in one workspace
/// would measure that and not freshness.
const WORKSPACES: usize = 4;

/// A word that occurs in no other record.
fn marker(n: usize) -> String {
    format!("marker{n:05}x")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_saves_by_sixteen_callers_are_each_found_by_the_next_search() {
    const SAVES: usize = 10_000;
    let server = Arc::new(TestServer::start().await);
    let organization = server.organization().await;
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for place in 0..CALLERS {
        let workspace = format!("w{}", place % WORKSPACES);
        let caller = server.member(&organization, Default::default()).await;
        let (next, server) = (Arc::clone(&next), Arc::clone(&server));
        tasks.push(tokio::spawn(async move {
            let mut found = 0;
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= SAVES {
                    return found;
                }
                found += usize::from(save_and_find(&server, &caller, &workspace, n).await);
            }
        }));
    }
    let mut found = 0;
    for task in tasks {
        found += task.await.expect("no caller fails");
    }
    assert_eq!(found, SAVES);
    assert_eq!(server.log_position(&organization).await, SAVES as u64);
}

/// Saves into a searched workspace wait in memory until everything before them is in its index; here a save into
/// another workspace holds them up. However many wait, the next search finds them all, except what was forgotten
/// meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saves_after_a_gap_are_all_found_by_the_next_search() {
    for count in [1, 255, 256, 257, 600] {
        let server = TestServer::start().await;
        let organization = server.organization().await;
        let caller = server.member(&organization, Default::default()).await;
        assert!(save_and_find(&server, &caller, "searched", 0).await);
        call(&server, &caller, "remember", &json!({"content": "elsewhere", "workspace": "other"})).await;
        let mut ids = Vec::new();
        for n in 1..=count {
            let save = json!({"content": format!("{} noted", marker(n)), "workspace": "searched"});
            let saved = call(&server, &caller, "remember", &save).await;
            ids.push(saved["structuredContent"]["id"].clone());
        }
        let forgotten = count / 2;
        call(&server, &caller, "forget", &json!({"memory_id": ids[forgotten]})).await;
        for n in [0, forgotten, count - 1] {
            let search = json!({"query": marker(n + 1), "limit": 1, "workspace": "searched"});
            let found = call(&server, &caller, "search", &search).await;
            let is_found = found["structuredContent"]["result"][0]["id"] == ids[n];
            assert_eq!(is_found, n != forgotten, "record {n} of {count}");
        }
    }
}

/// Saves a marked record and looks for it with the very next call.
async fn save_and_find(server: &TestServer, caller: &Caller, workspace: &str, n: usize) -> bool {
    let marker = marker(n);
    let save = json!({"content": format!("{marker} noted"), "workspace": workspace});
    let saved = call(server, caller, "remember", &save).await;
    let found = call(server, caller, "search", &json!({"query": marker, "limit": 1, "workspace": workspace})).await;
    let (saved, found) = (&saved["structuredContent"]["id"], &found["structuredContent"]["result"][0]["id"]);
    assert!(saved.is_string(), "{saved}");
    saved == found
}

/// Calls a tool through the router, without a connection: twenty thousand calls should exercise the service, not
/// sockets.
async fn call(server: &TestServer, caller: &Caller, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let request = http::Request::post("/mcp").header("authorization", format!("Bearer {}", caller.key));
    let answer = server.deliver(request.body(body.into_bytes()).expect("a request")).await;
    answer.json()["result"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_record_is_never_returned_while_searches_run() {
    const RECORDS: usize = 400;
    let server = Arc::new(TestServer::start().await);
    let caller = server.new_user().await;
    let mut ids = Vec::new();
    for n in 0..RECORDS {
        let arguments = json!({"content": format!("common {} words", marker(n)), "source_id": format!("s{}", n / 4)});
        let saved = call(&server, &caller, "remember", &arguments).await;
        ids.push(saved["structuredContent"]["id"].as_str().expect("an id").to_owned());
    }
    let gone: Arc<Mutex<HashSet<String>>> = Arc::default();
    let is_done = Arc::new(AtomicBool::new(false));
    let searchers: Vec<_> = (0..CALLERS)
        .map(|n| {
            tokio::spawn(search_on(Arc::clone(&server), caller.clone(), Arc::clone(&gone), Arc::clone(&is_done), n))
        })
        .collect();
    let ids: Arc<[String]> = ids.into();
    let forgetters: Vec<_> = (0..4)
        .map(|n| {
            tokio::spawn(forget_share(Arc::clone(&server), caller.clone(), Arc::clone(&gone), Arc::clone(&ids), n))
        })
        .collect();
    for forgetter in forgetters {
        forgetter.await.expect("forgetting works");
    }
    is_done.store(true, Ordering::Release);
    let mut searches = 0;
    for searcher in searchers {
        searches += searcher.await.expect("no search returns what was forgotten before it began");
    }
    assert!(searches >= CALLERS, "{searches} searches ran");
    assert_eq!(gone.lock().len(), RECORDS);
    let left = call(&server, &caller, "search", &json!({"query": "common words", "limit": 50})).await;
    assert_eq!(left["structuredContent"]["result"], json!([]));
}

/// Searches until all forgetting is done; returns how often.
async fn search_on(
    server: Arc<TestServer>,
    caller: Caller,
    gone: Arc<Mutex<HashSet<String>>>,
    is_done: Arc<AtomicBool>,
    n: usize,
) -> usize {
    let mut searches = 0;
    loop {
        let is_last = is_done.load(Ordering::Acquire);
        let gone_before = gone.lock().clone();
        let query = if n.is_multiple_of(2) { "common words".to_owned() } else { marker(searches * 7 % 400) };
        let found = call(&server, &caller, "search", &json!({"query": query, "limit": 50})).await;
        let found = found["structuredContent"]["result"].as_array().expect("a list").clone();
        for record in found {
            let id = record["id"].as_str().expect("an id");
            assert!(!gone_before.contains(id), "{id} was forgotten before this search began");
        }
        searches += 1;
        // A search in memory never waits, so sixteen of them would never let `forget` run.
        tokio::task::yield_now().await;
        if is_last {
            return searches;
        }
    }
}

/// Forgets a quarter of the records, one by one and by source, and saves others meanwhile.
async fn forget_share(
    server: Arc<TestServer>,
    caller: Caller,
    gone: Arc<Mutex<HashSet<String>>>,
    ids: Arc<[String]>,
    share: usize,
) {
    for (n, of_source) in ids.chunks(4).enumerate().filter(|(n, _)| n % 4 == share) {
        if n.is_multiple_of(2) {
            for id in of_source {
                let answer = call(&server, &caller, "forget", &json!({"memory_id": id})).await;
                assert_eq!(answer["structuredContent"]["forgotten"], 1, "{answer}");
                gone.lock().insert(id.clone());
            }
        } else {
            let answer = call(&server, &caller, "forget", &json!({"source_id": format!("s{n}")})).await;
            assert_eq!(answer["structuredContent"]["memory_ids"], json!(of_source), "{answer}");
            gone.lock().extend(of_source.iter().cloned());
        }
        let other = json!({"content": format!("something else number {n}")});
        call(&server, &caller, "remember", &other).await;
    }
}
