//! Lifetimes: a code lasts a minute and one use, a token thirty days and no longer than its key.

use std::time::Duration;

use mnemon_core::{Access, Clock};
use mnemon_testkit::oauth::Flow;
use mnemon_testkit::{Caller, MemberSpec};
use serde_json::{Value, json};

use super::{Scene, status_of};

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn the_whole_way_from_the_first_401_to_a_tool_call() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let first = browser.request("POST", "/mcp", &[]).await;
    assert_eq!(first.status, 401);
    let challenge = first.header("www-authenticate").to_owned();
    let at =
        challenge.split_once("resource_metadata=\"").and_then(|(_, rest)| rest.split_once('"')).expect("an address").0;
    let resource = browser.get(at.strip_prefix(&scene.server.url).expect("our own")).await.json();
    assert_eq!(resource["resource"], format!("{}/mcp", scene.server.url));
    assert_eq!(resource["authorization_servers"][0], scene.server.url);
    let server = browser.get("/.well-known/oauth-authorization-server").await.json();
    let path = |name: &str| {
        server[name].as_str().expect("an endpoint").strip_prefix(&scene.server.url).expect("ours").to_owned()
    };
    let body = json!({"client_name": "Chat", "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "logo_uri": "https://x.example/"});
    let client = browser.post_json(&path("registration_endpoint"), &body).await;
    assert_eq!(client.status, 201);
    let client = client.json();
    assert_eq!(client["token_endpoint_auth_method"], "none");
    assert!(client.get("client_secret").is_none());
    let mut flow = Flow::new(client["client_id"].as_str().expect("an id"), "http://127.0.0.1:9321/cb");
    flow.request.push(("resource".to_owned(), format!("{}/mcp", scene.server.url)));
    let code = flow.agree(&mut browser, &scene.person.key).await;
    let mut exchange = flow.exchange(&code);
    exchange.push(("resource".to_owned(), format!("{}/mcp", scene.server.url)));
    let token = browser.post_form(&path("token_endpoint"), &exchange).await;
    assert_eq!((token.status, token.header("cache-control")), (200, "no-store"));
    let token = token.json();
    let expected =
        json!({"access_token": token["access_token"], "token_type": "Bearer", "expires_in": 2_592_000, "scope": "mcp"});
    assert_eq!(token, expected);
    let secret = token["access_token"].as_str().expect("a token");
    assert_eq!((secret.len(), &secret[..4]), (53, "mno_"));
    scene.server.caller(secret).remember("connected").await;
    let revoked = browser.post_form(&path("revocation_endpoint"), &vec![("token".to_owned(), secret.to_owned())]).await;
    assert_eq!(revoked.status, 200);
    assert_eq!(status_of(&scene.server.caller(secret)).await, 401);
}

#[tokio::test]
async fn a_token_lives_for_thirty_days_to_the_second() {
    let scene = Scene::set().await;
    let caller = scene.connect().await;
    scene.server.clock.advance(30 * DAY - Duration::from_secs(1));
    assert_eq!(status_of(&caller).await, 200, "day 30 minus a second");
    scene.server.clock.advance(Duration::from_secs(1));
    assert_eq!(status_of(&caller).await, 401, "day 30");
    scene.server.clock.advance(Duration::from_secs(1));
    let answer = caller.request("tools/list", json!({})).await;
    assert_eq!(answer.status, 401, "day 30 plus a second");
    assert!(
        answer.header("www-authenticate").contains(r#"error="invalid_token""#),
        "the client connects again from here"
    );
    assert_eq!(answer.json()["error"], "invalid_token");
}

#[tokio::test]
async fn a_code_lives_for_sixty_seconds() {
    let scene = Scene::set().await;
    for (seconds, expected) in [(59, 200), (60, 400)] {
        let code = scene.code().await;
        scene.server.clock.advance(Duration::from_secs(seconds));
        let answer = scene.server.browser().post_form("/token", &scene.flow.exchange(&code)).await;
        assert_eq!(answer.status, expected, "{seconds}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_code_used_twice_ends_what_it_gave() {
    let scene = Scene::set().await;
    let code = scene.code().await;
    let mut browser = scene.server.browser();
    let token = browser.post_form("/token", &scene.flow.exchange(&code)).await.json();
    let caller = scene.server.caller(token["access_token"].as_str().expect("a token"));
    assert_eq!(status_of(&caller).await, 200);
    let again = browser.post_form("/token", &scene.flow.exchange(&code)).await;
    assert_eq!((again.status, &again.json()["error"]), (400, &json!("invalid_grant")));
    assert_eq!(status_of(&caller).await, 401);
}

async fn dies(scene: &Scene, caller: &Caller, what: &str) {
    assert_eq!(status_of(caller).await, 401, "{what}");
    let _ = scene;
}

#[tokio::test]
async fn a_token_dies_with_its_key() {
    let scene = Scene::set().await;
    let (server, organization) = (&scene.server, &scene.organization);
    let member = server.new_member(organization, MemberSpec::default()).await;
    let (id, key) = server.key(organization, member, Access::Write, None).await;
    let caller = server.connect(&key.key).await;
    assert_eq!(status_of(&caller).await, 200);
    server.revoke(organization, id).await;
    dies(&scene, &caller, "revoked").await;

    let soon = server.clock.now() + jiff_hours(1);
    let (_, key) = server.key(organization, member, Access::Write, Some(soon)).await;
    let caller = server.connect(&key.key).await;
    assert_eq!(status_of(&caller).await, 200);
    server.clock.advance(Duration::from_secs(3_600));
    dies(&scene, &caller, "expired").await;

    let operator = server.operator().await;
    let (_, key) = server.key(organization, member, Access::Write, None).await;
    let caller = server.connect(&key.key).await;
    operator.manage("DELETE", &format!("/accounts/{}/members/{member}", organization.account), Value::Null).await;
    dies(&scene, &caller, "its member left").await;

    let caller = scene.connect().await;
    operator.manage("DELETE", &format!("/projects/{}", organization.project), Value::Null).await;
    dies(&scene, &caller, "its project is gone").await;
}

fn jiff_hours(hours: i64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_hours(hours)
}

#[tokio::test]
async fn a_token_of_another_address_is_refused() {
    let mut scene = Scene::set_public().await;
    let caller = scene.connect().await;
    scene.server.options.base_url = Some("https://other.example".to_owned());
    scene.server.restart().await;
    assert_eq!(status_of(&scene.server.caller(&caller.key)).await, 401);
    scene.server.options.base_url = Some("https://memory.example/".to_owned());
    scene.server.restart().await;
    assert_eq!(status_of(&scene.server.caller(&caller.key)).await, 200, "the same but for a slash");
}

/// Client, code, form and token survive a restart: any node may take the next step.
#[tokio::test]
async fn every_step_survives_a_restart() {
    let mut scene = Scene::set_public().await;
    let cookie_and_page = {
        let mut browser = scene.server.browser();
        let page = browser.get(&scene.flow.path()).await;
        (browser.cookie, page)
    };
    scene.server.restart().await;
    let mut browser = scene.server.browser();
    browser.cookie = cookie_and_page.0;
    let fields = mnemon_testkit::oauth::filled(&cookie_and_page.1, &scene.person.key);
    let answer = browser.post_form("/authorize", &fields).await;
    let code = mnemon_testkit::oauth::returned(&answer, "code").expect("a code");
    scene.server.restart().await;
    let answer = scene.server.browser().post_form("/token", &scene.flow.exchange(&code)).await;
    let token = answer.json()["access_token"].as_str().expect("a token").to_owned();
    scene.server.restart().await;
    assert_eq!(status_of(&scene.server.caller(&token)).await, 200);
    let again = scene.server.browser().post_form("/token", &scene.flow.exchange(&code)).await;
    assert_eq!(again.status, 400);
    scene.server.restart().await;
    assert_eq!(status_of(&scene.server.caller(&token)).await, 401, "and so does its end");
}

#[tokio::test]
async fn what_ended_is_listed_for_a_month_and_then_removed() {
    let scene = Scene::set().await;
    scene.connect().await;
    let operator = scene.server.operator().await;
    let path = format!("/projects/{}/connections", scene.organization.project);
    let count = async || operator.manage("GET", &path, Value::Null).await["connections"].as_array().map(Vec::len);
    scene.server.clock.advance(60 * DAY);
    scene.server.engine.purge_oauth().await.expect("storage works");
    assert_eq!(count().await, Some(1), "ended thirty days ago");
    scene.server.clock.advance(2 * DAY);
    scene.server.engine.purge_oauth().await.expect("storage works");
    assert_eq!(count().await, Some(0));
    let page = scene.server.browser().get(&scene.flow.path()).await;
    assert_eq!(page.status, 400, "a client that nobody used is gone long before");
}

#[tokio::test]
async fn a_client_that_no_connection_leads_to_goes_after_seven_days() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let body = json!({"client_name": "Never used", "redirect_uris": ["http://127.0.0.1/cb"]});
    let unused = browser.post_json("/register", &body).await.json()["client_id"].as_str().expect("an id").to_owned();
    let code = scene.code().await;
    assert_eq!(browser.post_form("/token", &scene.flow.exchange(&code)).await.status, 200);
    let unused = Flow::new(&unused, "http://127.0.0.1:9321/cb");
    let is_known = async |flow: &Flow| scene.server.browser().get(&flow.path()).await.status == 200;
    scene.server.clock.advance(7 * DAY);
    scene.server.engine.purge_oauth().await.expect("storage works");
    assert!(is_known(&unused).await, "to the second");
    scene.server.clock.advance(Duration::from_secs(1));
    scene.server.engine.purge_oauth().await.expect("storage works");
    assert!(!is_known(&unused).await);
    assert!(is_known(&scene.flow).await, "one that is used stays");
}
