//! Limits: what is allowed at the limit, refused one past it, and when there is room again.

use std::time::Duration;

use mnemon_core::{PlanLimits, PlanName, PlanTable, Subscription};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, TestServerOptions};
use serde_json::{Value, json};

use crate::errors::reason;

async fn on_plan(server: &TestServer, plan: PlanName) -> Organization {
    server.organization_on(Subscription { plan: Some(plan), ..Subscription::default() }).await
}

/// A server whose plan `free` has these limits, and somebody on that plan.
async fn set_up(limits: PlanLimits) -> (TestServer, Organization, Caller) {
    let mut plans = PlanTable::default();
    *plans.limits_mut(PlanName::Free) = limits;
    let server = TestServer::start_with(TestServerOptions { plans, ..TestServerOptions::default() }).await;
    let organization = on_plan(&server, PlanName::Free).await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, organization, caller)
}

#[tokio::test]
async fn texts_at_their_limit_are_taken() {
    let (_server, _organization, caller) = set_up(PlanLimits::default()).await;
    let (source, hash) = ("é".repeat(512), "Za9:+/=._-\"".repeat(24)[..256].to_owned());
    let arguments = json!({
        "content": "é".repeat(8_192), "workspace": "w".repeat(64), "fact_key": "é".repeat(128), "source": source,
        "source_id": source, "source_hash": hash, "source_revision": hash, "confidence": 1,
    });
    let answer = caller.call("remember", arguments.clone()).await;
    for (name, value) in arguments.as_object().expect("an object").iter().filter(|(name, _)| *name != "confidence") {
        assert_eq!(&answer.structured()[name], value, "{name}");
    }
    assert_eq!(answer.structured()["confidence"], json!(1.0));
    let query = json!({"query": "q".repeat(4_096), "limit": 50, "workspace": "w".repeat(64)});
    assert_eq!(caller.call("search", query).await.structured()["result"], json!([]));
    let validate = json!({"source_id": source, "current_source_hash": hash, "workspace": "w".repeat(64)});
    assert_eq!(caller.call("validate_memory", validate).await.structured()["verified_count"], 1);
    assert_eq!(caller.call("forget", json!({"source_id": source})).await.structured()["forgotten"], 1);
}

#[tokio::test]
async fn a_project_holds_as_many_records_as_its_plan_allows_and_not_one_more() {
    let (server, organization, caller) = set_up(PlanLimits { records_max: Some(3), ..PlanLimits::default() }).await;
    let save = async |text: &str| caller.call("remember", json!({"content": text})).await;
    let mut ids = Vec::new();
    for text in ["first fact", "second fact", "third fact"] {
        ids.push(save(text).await.structured()["id"].clone());
    }
    let full = save("fourth fact").await;
    assert_eq!(reason("remember", &full), "project memory limit exceeded");
    // A duplicate adds nothing, so it needs no room; and another workspace is no way around the limit.
    assert_eq!(save("first fact").await.structured()["duplicate"], true);
    let elsewhere = caller.call("remember", json!({"content": "fact", "workspace": "other"})).await;
    assert_eq!(reason("remember", &elsewhere), "project memory limit exceeded");
    let hidden = caller.call("search", json!({"query": "fact", "workspace": "other"})).await;
    assert_eq!(reason("search", &hidden), "workspace 'other' is not active");
    // Another project of the account has its own limit.
    let other = Organization { account: organization.account, project: server.project(organization.account).await };
    server.member(&other, MemberSpec::default()).await.remember("room of its own").await;
    caller.call("forget", json!({"memory_id": ids[0]})).await.structured();
    save("fourth fact").await.structured();
    assert_eq!(reason("remember", &save("fifth fact").await), "project memory limit exceeded");
}

#[tokio::test]
async fn saves_side_by_side_never_exceed_the_limit() {
    let (_server, _organization, caller) = set_up(PlanLimits { records_max: Some(10), ..PlanLimits::default() }).await;
    let saves: Vec<_> = (0..40)
        .map(|n| {
            let caller = caller.clone();
            tokio::spawn(async move { caller.call("remember", json!({"content": format!("racing fact {n}")})).await })
        })
        .collect();
    let mut saved = 0;
    for save in saves {
        let answer = save.await.expect("the call ends");
        if answer.is_error() {
            assert_eq!(reason("remember", &answer), "project memory limit exceeded");
        } else {
            saved += 1;
        }
    }
    assert_eq!(saved, 10);
    assert_eq!(
        caller.call("search", json!({"query": "racing", "limit": 50})).await.structured()["result"][9]["scope"],
        "shared"
    );
    assert_eq!(caller.search("racing fact").await.len(), 10);
}

/// A call that passes the limits, whatever it then answers.
async fn call(caller: &Caller) -> Result<(), (String, u64)> {
    let answer = caller.call("gateway_call", json!({"server": "s", "tool": "t"})).await;
    let reason = reason("gateway_call", &answer);
    match answer.result["_meta"]["retry_after_seconds"].as_u64() {
        Some(seconds) => Err((reason, seconds)),
        None => {
            assert_eq!(reason, "integration 's' is not enabled for this project");
            Ok(())
        }
    }
}

#[tokio::test]
async fn the_free_plan_lets_sixty_calls_a_minute_through_and_120_of_a_project() {
    let server = TestServer::start().await;
    let organization = on_plan(&server, PlanName::Free).await;
    let mut callers = Vec::new();
    for _ in 0..3 {
        callers.push(server.member(&organization, MemberSpec::default()).await);
    }
    for n in 0..60 {
        assert_eq!(call(&callers[0]).await, Ok(()), "call {n}");
    }
    server.clock.advance(Duration::from_secs(20));
    assert_eq!(call(&callers[0]).await, Err(("MCP rate limit exceeded".to_owned(), 40)));
    for n in 0..60 {
        assert_eq!(call(&callers[1]).await, Ok(()), "call {n}");
    }
    assert_eq!(call(&callers[2]).await, Err(("project call limit exceeded".to_owned(), 40)));
    // Listing tools does not count as a call.
    assert_eq!(callers[0].request("tools/list", json!({})).await.status, 200);
    server.clock.advance(Duration::from_secs(39));
    assert_eq!(call(&callers[0]).await, Err(("MCP rate limit exceeded".to_owned(), 1)));
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(call(&callers[0]).await, Ok(()));
    assert_eq!(call(&callers[2]).await, Ok(()));
    assert_eq!(call(&callers[1]).await, Err(("MCP rate limit exceeded".to_owned(), 20)));
}

#[tokio::test]
async fn a_refused_call_does_nothing_and_does_not_count() {
    let (server, organization, caller) =
        set_up(PlanLimits { connection_calls_max: Some(1), ..PlanLimits::default() }).await;
    caller.remember("the one call").await;
    for _ in 0..5 {
        let answer = caller.call("remember", json!({"content": "one too many"})).await;
        assert_eq!(reason("remember", &answer), "MCP rate limit exceeded");
        assert_eq!(answer.result["_meta"], json!({"api_version": "1.0", "retry_after_seconds": 60}));
    }
    assert_eq!(server.log_position(&organization).await, 1);
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(caller.search("many").await, Vec::<Value>::new());
}

#[tokio::test]
async fn other_projects_are_not_slowed_down_by_a_busy_one() {
    let (server, organization, busy) = set_up(PlanLimits { project_calls_max: Some(2), ..PlanLimits::default() }).await;
    let other = Organization { account: organization.account, project: server.project(organization.account).await };
    let other = server.member(&other, MemberSpec::default()).await;
    while call(&busy).await.is_ok() {}
    assert_eq!(call(&other).await, Ok(()));
    assert_eq!(call(&other).await, Ok(()));
    assert_eq!(call(&other).await, Err(("project call limit exceeded".to_owned(), 60)));
}

#[tokio::test]
async fn the_unlimited_plan_has_no_limits() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    for _ in 0..310 {
        assert_eq!(call(&caller).await, Ok(()));
    }
}

#[tokio::test]
async fn the_free_plan_holds_250_records() {
    let server = TestServer::start().await;
    let organization = on_plan(&server, PlanName::Free).await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    for n in 0..250 {
        if n % 60 == 0 {
            server.clock.advance(Duration::from_secs(60));
        }
        caller.remember(&format!("fact number {n}")).await;
    }
    server.clock.advance(Duration::from_secs(60));
    let answer = caller.call("remember", json!({"content": "fact number 250"})).await;
    assert_eq!(reason("remember", &answer), "project memory limit exceeded");
}
