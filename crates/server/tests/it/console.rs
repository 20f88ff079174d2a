//! The console's safety: cookies, seals, headers, and what ends a session.

mod actions;
mod people;
mod record;
mod sessions;
mod undoing;
mod work;

use std::time::Duration;

use mnemon_core::{Access, Role};
use mnemon_testkit::{Caller, ConsoleVisitor, MemberSpec, Organization, TestServer, TestServerOptions, hidden};
use serde_json::json;

/// A server, an organization, and its admin in the console.
pub(crate) struct House {
    pub(crate) server: TestServer,
    pub(crate) organization: Organization,
    pub(crate) admin: Caller,
    pub(crate) visitor: ConsoleVisitor,
}

pub(crate) async fn house() -> House {
    house_with(TestServerOptions::default()).await
}

async fn house_with(options: TestServerOptions) -> House {
    let server = TestServer::start_with(options).await;
    let organization = server.organization().await;
    let spec = MemberSpec { role: Role::Admin, name: "Ada", ..MemberSpec::default() };
    let admin = server.member(&organization, spec).await;
    let visitor = ConsoleVisitor::sign_in(&admin).await.expect("the key is accepted");
    House { server, organization, admin, visitor }
}

#[tokio::test]
async fn every_page_has_the_headers_that_keep_others_out() {
    let house = house().await;
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                  form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                  trusted-types 'none'";
    let stranger = ConsoleVisitor::stranger(&house.admin);
    let pages = ["/console/memory", "/console/keys", "/console/nothing", "/console/usage/csv"];
    let mut answers = vec![stranger.get("/console/sign-in").await, stranger.get("/console/memory").await];
    for path in pages {
        answers.push(house.visitor.get(path).await);
    }
    answers.push(house.visitor.submit("/console/theme", &[("theme", "dark")]).await);
    for answer in answers.iter().filter(|answer| answer.status != 404) {
        let header = |name| answer.header(name);
        assert_eq!(header("content-security-policy"), policy, "{}", answer.text);
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert!(!answer.text.contains(" style="), "inline style: {}", answer.text);
    }
}

#[tokio::test]
async fn files_are_kept_for_good_under_a_name_with_their_hash() {
    let house = house().await;
    let page = house.visitor.get("/console/memory").await.text;
    for ending in ["css", "js", "svg"] {
        let marked = page.split('"').find(|part| part.starts_with("/console/assets/") && part.ends_with(ending));
        let path = marked.expect("the page refers to it");
        let answer = house.visitor.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("cache-control"), "public, max-age=31536000, immutable");
        let other = format!("/console/assets/console.0000000000000000.{ending}");
        assert_eq!(house.visitor.get(&other).await.status, 404);
    }
}

#[tokio::test]
async fn the_cookie_is_for_our_pages_alone() {
    let house = house().await;
    let browser = ConsoleVisitor::stranger(&house.admin);
    let answer = browser
        .submit_with("/console/sign-in", &[("key", &house.admin.key)], &[("sec-fetch-site", "same-origin")])
        .await;
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("mnemon-console="), "on plain HTTP there is no prefix: {cookie}");
    for part in ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    let value = cookie.split(['=', ';']).nth(1).expect("a value");
    assert_eq!(value.len(), 43, "256 bits in base64url");
    let cookie = [("cookie", house.visitor.cookie()), ("content-type", "application/json")];
    for path in ["/admin/v1/me", "/agent/v1/sessions", "/metrics"] {
        assert_eq!(house.admin.send("GET", path, &cookie, "").await.status, 401, "{path}");
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    assert_eq!(house.admin.send("POST", "/mcp", &cookie, body).await.status, 401);
}

#[tokio::test]
async fn with_https_the_cookie_has_the_hosts_prefix() {
    let options =
        TestServerOptions { base_url: Some("https://memory.example".to_owned()), ..TestServerOptions::default() };
    let server = TestServer::start_with(options).await;
    let organization = server.organization().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let headers = [("sec-fetch-site", "same-origin")];
    let browser = ConsoleVisitor::stranger(&admin);
    let answer = browser.submit_with("/console/sign-in", &[("key", &admin.key)], &headers).await;
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-mnemon-console=") && cookie.contains("; Secure"), "{cookie}");
}

#[tokio::test]
async fn a_form_needs_its_seal_and_our_own_page() {
    let house = house().await;
    let other = ConsoleVisitor::sign_in(&house.admin).await.expect("the key is accepted");
    let id = house.admin.remember("the kettle is in the kitchen").await["id"].as_str().expect("an id").to_owned();
    let path = format!("/console/records/{id}/forget");
    let (own, seal, foreign) = (house.server.url.as_str(), house.visitor.seal.as_str(), other.seal.as_str());
    let check = async |fields: &[(&str, &str)], headers: &[(&str, &str)], expected: u16| {
        let answer = house.visitor.submit_with(&path, fields, headers).await;
        assert_eq!(answer.status, expected, "{fields:?} {headers:?} {}", answer.text);
    };
    let ours = [("sec-fetch-site", "same-origin")];
    check(&[], &ours, 403).await;
    check(&[("seal", "x")], &ours, 403).await;
    check(&[("seal", foreign)], &ours, 403).await;
    for site in ["cross-site", "same-site", "none"] {
        check(&[("seal", seal)], &[("sec-fetch-site", site)], 403).await;
    }
    check(&[("seal", seal)], &[], 403).await;
    check(&[("seal", seal)], &[("origin", "null")], 403).await;
    check(&[("seal", seal)], &[("origin", "https://evil.example")], 403).await;
    check(&[("seal", seal)], &[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")], 403).await;
    assert_eq!(house.admin.search_texts("kettle").await.len(), 1, "nothing was changed");
    check(&[("seal", seal)], &[("origin", own)], 303).await;
    assert_eq!(house.admin.search_texts("kettle").await.len(), 0);
    assert_eq!(house.visitor.get(&path).await.status, 405, "nothing changes by GET");
}

#[tokio::test]
async fn a_link_from_elsewhere_gets_a_page_that_goes_on_by_itself() {
    let house = house().await;
    let from = |site| [("sec-fetch-site", site)];
    let knock = async |site| house.admin.send("GET", "/console/memory?q=%3Cb%3E", &from(site), "").await;
    let answer = knock("cross-site").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.text.contains(r#"http-equiv="refresh" content="0; url=/console/memory?q=%3Cb%3E""#),
        "{}",
        answer.text
    );
    assert!(!answer.text.contains("id=\"key\""));
    for site in ["same-origin", "none"] {
        let client = ConsoleVisitor::stranger(&house.admin);
        let answer = client.get("/console/memory").await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, "/console/sign-in?to=%2Fconsole%2Fmemory"),
            "{site}"
        );
    }
}

#[tokio::test]
async fn a_session_ends_by_its_time_its_key_and_its_account() {
    let House { server, organization, visitor, admin, .. } = house().await;
    let opened = async |visitor: &ConsoleVisitor| visitor.get("/console/memory").await.status == 200;
    server.clock.advance(Duration::from_secs(12 * 3600 - 1));
    assert!(opened(&visitor).await);
    server.clock.advance(Duration::from_secs(1));
    assert!(!opened(&visitor).await, "twelve hours are over");

    let operator = server.operator().await;
    let visitor = ConsoleVisitor::sign_in(&operator).await.expect("the token is accepted");
    server.clock.advance(Duration::from_secs(3599));
    assert_eq!(visitor.get("/console/operator").await.status, 200);
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(visitor.get("/console/operator").await.status, 303, "an hour is over");

    let member = server.new_member(&organization, MemberSpec::default()).await;
    let (id, key) = server.key(&organization, member, Access::Write, None).await;
    let visitor = ConsoleVisitor::sign_in(&key).await.expect("the key is accepted");
    assert!(opened(&visitor).await);
    server.revoke(&organization, id).await;
    let answer = visitor.get("/console/memory").await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("set-cookie").contains("Max-Age=0"), "{}", answer.header("set-cookie"));

    let visitor = ConsoleVisitor::sign_in(&admin).await.expect("the key is accepted");
    let path = format!("/accounts/{}/suspension", organization.account);
    operator.manage("PUT", &path, json!({"suspended": true})).await;
    assert!(!opened(&visitor).await, "the account is suspended");
    operator.manage("PUT", &path, json!({"suspended": false})).await;
    assert!(opened(&visitor).await, "and is no longer");

    visitor.submit("/console/sign-out", &[]).await;
    assert!(!opened(&visitor).await, "signed out");
}

#[tokio::test]
async fn wrong_keys_are_counted_together_with_those_of_the_other_page() {
    let house = house().await;
    let browser = ConsoleVisitor::stranger(&house.admin);
    let headers = [("sec-fetch-site", "same-origin")];
    let paste = async |key: &str| browser.submit_with("/console/sign-in", &[("key", key)], &headers).await;
    for _ in 0..5 {
        let answer = paste("mnm_wrong").await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains("This key was not accepted"), "{}", answer.text);
    }
    let answer = paste("mnm_wrong").await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, "60"), "{}", answer.text);
    let flow = house.server.flow("https://chat.example/callback").await;
    let mut other = house.server.browser();
    assert_eq!(flow.paste(&mut other, "mnm_wrong").await.status, 429, "the other page counts them too");
    assert_eq!(paste(&house.admin.key).await.status, 303, "a right key always works");
    house.server.clock.advance(Duration::from_secs(60));
    assert_eq!(paste("mnm_wrong").await.status, 400);
    assert_eq!(paste("").await.status, 400);
    let answer = browser.submit_with("/console/sign-in", &[("key", &house.admin.key)], &[]).await;
    assert_eq!(answer.status, 403, "a form of nobody knows where");
}

#[tokio::test]
async fn a_made_key_is_shown_once() {
    let house = house().await;
    let member = house.server.new_member(&house.organization, MemberSpec::default()).await.to_string();
    let once = hidden(&house.visitor.get("/console/keys").await.text, "once").expect("the form has it");
    let fields =
        [("member", member.as_str()), ("access", "write"), ("ends", "never"), ("label", "Once"), ("once", &once)];
    let made = house.visitor.submit("/console/keys", &fields).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let secret = made.text.split("id=\"secret\">").nth(1).and_then(|rest| rest.split('<').next()).expect("a secret");
    house.server.caller(secret).remember("the new key works").await;
    let again = house.visitor.submit("/console/keys", &fields).await;
    assert_eq!(again.status, 409, "{}", again.text);
    assert!(!again.text.contains(secret));
    let keys = house.visitor.get("/console/keys").await.text;
    assert_eq!(keys.matches("<bdi>Once</bdi>").count(), 1, "one key was made");
    assert!(!keys.contains(secret));
    let forged = once.replacen(&once[..8], "00000000", 1);
    let fields = [("member", member.as_str()), ("access", "write"), ("ends", "never"), ("once", &forged)];
    assert_eq!(house.visitor.submit("/console/keys", &fields).await.status, 400);
}

#[tokio::test]
async fn what_happened_is_told_once_and_only_by_us() {
    let house = house().await;
    let id = house.admin.remember("the kettle is in the kitchen").await["id"].as_str().expect("an id").to_owned();
    let answer = house.visitor.submit(&format!("/console/records/{id}/forget"), &[]).await;
    let told = answer.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let both = format!("{}; {told}", house.visitor.cookie());
    let page = house.admin.send("GET", "/console/memory?state=forgotten", &[("cookie", &both)], "").await;
    assert!(page.text.contains("Record forgotten."), "{}", page.text);
    assert!(page.header("set-cookie").contains("mnemon-told=; ") && page.header("set-cookie").contains("Max-Age=0"));
    let forged = format!("{}; {}", house.visitor.cookie(), told.replacen('.', "A.", 1));
    let page = house.admin.send("GET", "/console/memory?state=forgotten", &[("cookie", &forged)], "").await;
    assert!(!page.text.contains("Record forgotten."));
}
