//! Everything that depends on the clock: a second before its moment, at it, and a second after. No test waits: the
//! clock is passed in.

use mnemon_core::{Access, Clock, PlanLimits, PlanName, PlanTable, Role, Subscription, Timestamp};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, TestServerOptions};
use serde_json::{Value, json};

const DAY: i64 = 86_400;

fn later(server: &TestServer, seconds: i64) -> Timestamp {
    Timestamp::from_second(server.clock.now().as_second() + seconds).expect("in the calendar")
}

/// Checks something one second before a moment, at it, and one second after it.
async fn around<T: PartialEq + std::fmt::Debug>(
    server: &TestServer,
    moment: Timestamp,
    expected: [T; 3],
    look: impl AsyncFn() -> T,
) {
    for (offset, expected) in [-1, 0, 1].into_iter().zip(expected) {
        server.clock.set(Timestamp::from_second(moment.as_second() + offset).expect("in the calendar"));
        assert_eq!(look().await, expected, "{offset} s from the moment");
    }
}

async fn status(caller: &Caller) -> u16 {
    caller.request("tools/list", json!({})).await.status
}

async fn started() -> (TestServer, Organization) {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    (server, organization)
}

#[tokio::test]
async fn a_key_ends_at_its_expiry() {
    let (server, organization) = started().await;
    let end = later(&server, 1_000);
    let spec = MemberSpec { expires_at: Some(end), role: Role::Admin, ..MemberSpec::default() };
    let caller = server.member(&organization, spec).await;
    let account = format!("/accounts/{}", organization.account);
    around(&server, end, [(200, 200), (401, 401), (401, 401)], async || {
        (status(&caller).await, caller.admin("GET", &account, Value::Null).await.status)
    })
    .await;
}

#[tokio::test]
async fn a_member_is_out_at_the_end_of_its_access() {
    let (server, organization) = started().await;
    let end = later(&server, 1_000);
    let caller = server.member(&organization, MemberSpec { access_until: Some(end), ..MemberSpec::default() }).await;
    around(&server, end, [200, 401, 401], async || status(&caller).await).await;
}

#[tokio::test]
async fn an_end_of_access_set_over_the_api_holds_to_the_second_and_can_be_lifted() {
    let (server, organization) = started().await;
    let operator = server.operator().await;
    let member = server.new_member(&organization, MemberSpec::default()).await;
    let caller = server.key(&organization, member, Access::Write, None).await.1;
    let end = later(&server, 60);
    let path = format!("/accounts/{}/members/{member}", organization.account);
    operator.manage("PATCH", &path, json!({"access_until": end.to_string()})).await;
    around(&server, end, [200, 401, 401], async || status(&caller).await).await;
    operator.manage("PATCH", &path, json!({"access_until": null})).await;
    assert_eq!(status(&caller).await, 200);
}

#[tokio::test]
async fn the_paid_time_and_the_grace_after_it_end_to_the_second() {
    let server = TestServer::start().await;
    let paid_until = later(&server, 1_000);
    let subscription = Subscription { plan: Some(PlanName::Pro), paid_until: Some(paid_until), is_suspended: false };
    let organization = server.organization_on(subscription).await;
    let operator = server.operator().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    caller.remember("paid for").await;
    let look = async || {
        let account = operator.manage("GET", &format!("/accounts/{}", organization.account), Value::Null).await;
        let search = caller.call("search", json!({"query": "paid"})).await.is_error();
        let save = caller.call("remember", json!({"content": "more"})).await.is_error();
        (account["state"].as_str().unwrap_or_default().to_owned(), !search, !save)
    };
    let (active, grace) = (("active".to_owned(), true, true), ("grace".to_owned(), true, false));
    let suspended = ("suspended".to_owned(), false, false);
    around(&server, paid_until, [active, grace.clone(), grace.clone()], look).await;
    let end = Timestamp::from_second(paid_until.as_second() + 14 * DAY).expect("in the calendar");
    around(&server, end, [grace, suspended.clone(), suspended], look).await;
}

#[tokio::test]
async fn a_record_is_stale_from_its_end_on_in_every_list() {
    let (server, organization) = started().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let end = later(&server, 1_000);
    let body = json!({"content": "the offer stands", "valid_until": end.to_string(), "source_id": "s"});
    admin.call("remember", body).await.structured();
    let path = format!("/projects/{}/records", organization.project);
    let fresh = ["unverified".to_owned(), "unverified".to_owned(), "0".to_owned()];
    let stale = ["stale".to_owned(), "stale".to_owned(), "1".to_owned()];
    around(&server, end, [fresh, stale.clone(), stale], async || {
        let found = admin.search("offer").await[0]["status"].as_str().unwrap_or_default().to_owned();
        let listed = admin.manage("GET", &path, Value::Null).await["records"][0]["status"].clone();
        let validated = admin.call("validate_memory", json!({"source_id": "s"})).await;
        let count = validated.structured()["stale_count"].to_string();
        [found, listed.as_str().unwrap_or_default().to_owned(), count]
    })
    .await;
}

#[tokio::test]
async fn the_rate_window_opens_sixty_seconds_after_the_call_that_filled_it() {
    let mut plans = PlanTable::default();
    *plans.limits_mut(PlanName::Free) = PlanLimits { connection_calls_max: Some(1), ..PlanLimits::default() };
    let server = TestServer::start_with(TestServerOptions { plans, ..TestServerOptions::default() }).await;
    let free = Subscription { plan: Some(PlanName::Free), ..Subscription::default() };
    let organization = server.organization_on(free).await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    caller.remember("the one call").await;
    let opens = later(&server, 60);
    // The call that passes at that moment fills the window again.
    around(&server, opens, [Some(1), None, Some(59)], async || {
        let answer = caller.call("search", json!({"query": "one"})).await;
        answer.result["_meta"]["retry_after_seconds"].as_u64()
    })
    .await;
}

#[tokio::test]
async fn an_idempotency_key_is_free_again_after_twenty_four_hours() {
    let (server, organization) = started().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    let save = async |content: &str| {
        caller.call_with("remember", json!({"content": content}), &[("x-idempotency-key", "k")]).await.is_error()
    };
    assert!(!save("said first").await);
    let end = later(&server, DAY);
    around(&server, end, [true, true, false], async || save("said later").await).await;
}

#[tokio::test]
async fn a_forgotten_record_can_be_restored_for_thirty_days() {
    let (server, organization) = started().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let id = admin.remember("forgotten for a while").await["id"].as_str().expect("an id").to_owned();
    let restore = format!("/records/{id}/restore");
    for (offset, expected) in [(-1, 200), (0, 200), (1, 409)] {
        admin.call("forget", json!({"memory_id": id})).await.structured();
        server.clock.set(later(&server, 30 * DAY + offset));
        let purged = server.engine.purge_old().await.expect("storage works");
        assert_eq!(purged, u64::from(expected == 409), "what can be restored is kept, {offset} s from the moment");
        let answer = admin.admin("POST", &restore, Value::Null).await;
        let expected = if purged > 0 { 404 } else { expected };
        assert_eq!(answer.status, expected, "{offset} s from the moment: {}", answer.text);
    }
}

#[tokio::test]
async fn a_record_past_its_thirty_days_is_refused_even_before_the_clean_up_has_come_by() {
    let (server, organization) = started().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let id = admin.remember("forgotten for long").await["id"].as_str().expect("an id").to_owned();
    admin.call("forget", json!({"memory_id": id})).await.structured();
    server.clock.set(later(&server, 30 * DAY + 1));
    let refused = admin.refusal("POST", &format!("/records/{id}/restore"), Value::Null).await;
    assert_eq!(refused.0, 409);
    assert_eq!(server.engine.purge_old().await.expect("storage works"), 1);
    assert_eq!(server.engine.purge_old().await.expect("storage works"), 0);
    assert_eq!(admin.refusal("POST", &format!("/records/{id}/restore"), Value::Null).await.0, 404);
}
