//! Sessions of the console: who sees them, and who ends them.

use mnemon_core::Access;
use mnemon_testkit::{Caller, ConsoleVisitor, MemberSpec};
use serde_json::{Value, json};

use super::{House, house};

async fn listed(house: &House, caller: &Caller) -> Vec<Value> {
    let path = format!("/projects/{}/console-sessions", house.organization.project);
    let answer = caller.admin("GET", &path, Value::Null).await.json();
    answer["console_sessions"].as_array().cloned().unwrap_or_default()
}

async fn end(house: &House, caller: &Caller, session: &Value) -> u16 {
    let id = session["console_session_id"].as_str().expect("an id");
    let path = format!("/projects/{}/console-sessions/{id}", house.organization.project);
    caller.admin("DELETE", &path, Value::Null).await.status
}

#[tokio::test]
async fn a_session_is_ended_by_its_holder_and_by_an_admin_and_by_nobody_else() {
    let house = house().await;
    let ben = house.server.member(&house.organization, MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    let cleo = house.server.member(&house.organization, MemberSpec { name: "Cleo", ..MemberSpec::default() }).await;
    let browser = ConsoleVisitor::sign_in(&ben).await.expect("the key is accepted");
    let other = ConsoleVisitor::sign_in(&ben).await.expect("the key is accepted");
    let own = listed(&house, &ben).await;
    assert_eq!((own.len(), listed(&house, &house.admin).await.len()), (2, 3), "the admin has one too");
    assert_eq!((&own[0]["browser"], own[0].get("hash")), (&json!("A browser"), None));
    assert_eq!(listed(&house, &cleo).await, Vec::<Value>::new());
    assert_eq!(end(&house, &cleo, &own[0]).await, 404);
    assert_eq!(browser.get("/console/memory").await.status, 200);
    assert_eq!(end(&house, &ben, &own[0]).await, 200);
    assert_eq!(end(&house, &ben, &own[0]).await, 404, "once");
    assert_eq!(browser.get("/console/memory").await.status, 303);
    assert_eq!(other.get("/console/memory").await.status, 200);
    let id = own[1]["console_session_id"].as_str().expect("an id");
    let path = format!("/console/connections/browsers/{id}/end");
    assert!(house.visitor.get("/console/connections").await.text.contains(&path));
    assert_eq!(house.visitor.submit(&path, &[]).await.status, 303);
    assert_eq!(other.get("/console/memory").await.status, 303);
    ben.remember("the key of an ended session stays").await;
    let audit = house.visitor.get("/console/audit").await.text;
    assert!(audit.contains("ended a console session of “<bdi>Ben</bdi>”"), "{audit}");
}

#[tokio::test]
async fn a_read_key_sees_its_sessions_and_ends_its_own() {
    let house = house().await;
    let spec = MemberSpec { access: Access::Read, ..MemberSpec::default() };
    let reader = house.server.member(&house.organization, spec).await;
    let browser = ConsoleVisitor::sign_in(&reader).await.expect("the key is accepted");
    let own = listed(&house, &reader).await;
    assert_eq!(own.len(), 1);
    let page = browser.get("/console/connections").await.text;
    assert!(page.contains("this one") && !page.contains("/end\""), "{page}");
    assert_eq!(end(&house, &reader, &own[0]).await, 200);
    assert_eq!(browser.get("/console/connections").await.status, 303, "it is over");
}

#[tokio::test]
async fn a_key_has_twenty_sessions_and_one_more_ends_the_oldest() {
    let house = house().await;
    let ben = house.server.member(&house.organization, MemberSpec::default()).await;
    let mut browsers = Vec::new();
    for _ in 0..20 {
        house.server.clock.advance(std::time::Duration::from_secs(1));
        browsers.push(ConsoleVisitor::sign_in(&ben).await.expect("the key is accepted"));
    }
    assert_eq!(browsers[0].get("/console/connections").await.status, 200, "the limit itself");
    assert_eq!(listed(&house, &ben).await.len(), 20);
    house.server.clock.advance(std::time::Duration::from_secs(1));
    browsers.push(ConsoleVisitor::sign_in(&ben).await.expect("the key is accepted"));
    assert_eq!(listed(&house, &ben).await.len(), 20, "one more");
    let mut statuses = Vec::new();
    for browser in &browsers {
        statuses.push(browser.get("/console/connections").await.status);
    }
    assert_eq!((statuses[0], statuses[1], statuses[20]), (303, 200, 200), "{statuses:?}");
    assert_eq!(house.visitor.get("/console/connections").await.status, 200, "another key has its own");
}
