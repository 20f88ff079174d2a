//! Several nodes on one PostgreSQL: each is a whole service and shares nothing but the database.

use std::sync::Arc;

use mnemon_core::{PlanLimits, PlanName, PlanTable};
use mnemon_testkit::{Caller, TestServer, TestServerOptions, TestStore};
use serde_json::json;

fn on_postgres() -> TestServerOptions {
    TestServerOptions { store: TestStore::Postgres, ..TestServerOptions::default() }
}

#[tokio::test]
async fn a_save_on_one_node_is_found_on_the_next() {
    let first = TestServer::start_with(on_postgres()).await;
    let second = first.one_more_node().await;
    let ana = first.first_caller().await;
    let elsewhere = second.caller(&ana.key);
    for n in 0..25 {
        let (save, search) = if n % 2 == 0 { (&ana, &elsewhere) } else { (&elsewhere, &ana) };
        let text = format!("the valve number {n} is in cellar{n}");
        save.remember(&text).await;
        let found = search.search_texts(&format!("cellar{n}")).await;
        assert_eq!(found.first(), Some(&text), "read your writes, wherever they were made");
    }
    let saved = ana.call("remember", json!({"content": "the attic is locked"})).await;
    let id = saved.structured()["id"].as_str().expect("an id").to_owned();
    assert_eq!(elsewhere.search_texts("attic").await.len(), 1);
    elsewhere.call("forget", json!({"memory_id": id})).await.structured();
    assert_eq!(ana.search_texts("attic").await, Vec::<String>::new());
}

#[tokio::test]
async fn one_of_the_nodes_makes_the_first_account() {
    let first = TestServer::start_with(on_postgres()).await;
    let mut engines = vec![Arc::clone(&first.engine)];
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let node = first.one_more_node().await;
        engines.push(Arc::clone(&node.engine));
        nodes.push(node);
    }
    let starts = engines.into_iter().map(|engine| tokio::spawn(async move { engine.first_start().await }));
    let mut made = 0;
    for start in starts.collect::<Vec<_>>() {
        made += usize::from(start.await.expect("no panic").expect("storage works").is_some());
    }
    assert_eq!(made, 1);
}

async fn calls_until_refused(callers: &[&Caller], servers: &[&TestServer]) -> usize {
    for passed in 0..1_000 {
        // As each node does every half second.
        for server in servers {
            server.engine.publish_calls().await.expect("storage works");
        }
        let answer = callers[passed % callers.len()].call("search", json!({"query": "x"})).await;
        let text = answer.result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        if text.contains("rate limit exceeded") || text.contains("call limit exceeded") {
            return passed;
        }
    }
    panic!("no limit held");
}

#[tokio::test]
async fn a_limit_holds_for_all_nodes_together() {
    let mut plans = PlanTable::default();
    *plans.limits_mut(PlanName::Unlimited) =
        PlanLimits { connection_calls_max: Some(7), project_calls_max: Some(10), ..PlanLimits::default() };
    let first = TestServer::start_with(TestServerOptions { plans, ..on_postgres() }).await;
    let (second, third) = (first.one_more_node().await, first.one_more_node().await);
    let ana = first.first_caller().await;
    ana.remember("x").await;
    let servers = [&first, &second, &third];
    let (on_second, on_third) = (second.caller(&ana.key), third.caller(&ana.key));
    assert_eq!(calls_until_refused(&[&ana, &on_second, &on_third], &servers).await, 6, "seven with the save");
    first.clock.advance(std::time::Duration::from_secs(61));
    assert_eq!(calls_until_refused(&[&on_third, &on_second], &servers).await, 7, "all passes again");
}
