//! Clients whose id is the URL of a document: a real site on loopback serves it, and every way to abuse such a URL
//! against us is tried.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mnemon_engine::oauth::DocumentHosts;
use mnemon_gateway::{Outgoing, OutgoingConfig, Resolver};
use mnemon_testkit::oauth::Flow;
use mnemon_testkit::{Answer, Page, TestServerOptions, Web};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Scene, status_of};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The answer for every URL that is not reached.
const NOT_REACHED: &str = "its URL is not reachable from this service";
const CALLBACK: &str = "https://app.example/cb";

/// Names that resolve to what the test says, one answer after another; the last one stays.
#[derive(Default)]
struct Names(Mutex<HashMap<String, Vec<IpAddr>>>);

#[async_trait::async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock();
        let answers = names.get_mut(host).ok_or_else(|| io::Error::other("there is no such name"))?;
        Ok(vec![if answers.len() > 1 { answers.remove(0) } else { answers[0] }])
    }
}

/// A service that may fetch from `app.example`, and nothing else on this machine.
struct Place {
    scene: Scene,
    web: Web,
}

impl Place {
    async fn make() -> Self {
        let web = Web::start(&["app.example", "inside.example", "changing.example"]).await;
        let elsewhere = IpAddr::V4(Ipv4Addr::new(8, 8, 4, 4));
        let names = HashMap::from([
            ("app.example".to_owned(), vec![LOOPBACK]),
            ("inside.example".to_owned(), vec![LOOPBACK]),
            ("metadata.example".to_owned(), vec![IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))]),
            ("changing.example".to_owned(), vec![elsewhere, LOOPBACK]),
            ("localhost".to_owned(), vec![LOOPBACK]),
        ]);
        let config =
            OutgoingConfig { allowed_hosts: vec!["app.example".to_owned()], trusted: vec![web.certificate.clone()] };
        let outgoing = Outgoing::with_resolver(&config, Arc::new(Names(Mutex::new(names)))).expect("a client");
        let base_url = Some("https://memory.example".to_owned());
        let scene = Scene::set_with(TestServerOptions { outgoing, base_url, ..TestServerOptions::default() }).await;
        Self { scene, web }
    }

    fn id(&self, path: &str) -> String {
        self.web.url("app.example", path)
    }

    /// Publishes a document and returns its URL.
    fn put(&self, path: &str, change: impl Fn(&mut Value)) -> String {
        let id = self.id(path);
        let mut document =
            json!({"client_id": id, "client_name": "App", "redirect_uris": [CALLBACK, "http://localhost/cb"]});
        change(&mut document);
        self.web.put(path, Page::Json(document.to_string()));
        id
    }

    async fn open(&self, id: &str) -> Answer {
        self.scene.server.browser().get(&Flow::new(id, CALLBACK).path()).await
    }

    async fn refused(&self, id: &str, part: &str) {
        let answer = self.open(id).await;
        assert_eq!((answer.status, answer.header("location")), (400, ""), "{id}: {}", answer.text);
        assert!(answer.text.contains(part), "{id}: {}", answer.text);
        assert!(!answer.text.contains("name=\"key\""), "{id}: nobody is asked for a key");
    }
}

#[tokio::test]
async fn a_client_with_a_document_is_connected_without_registering() {
    let place = Place::make().await;
    let id = place.put("/client.json", |_| {});
    let page = place.open(&id).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("<strong>App</strong> (described at <strong>app.example</strong>)"), "{}", page.text);
    let flow = Flow::new(&id, CALLBACK);
    let code = flow.agree(&mut place.scene.server.browser(), &place.scene.person.key).await;
    let answer = place.scene.server.browser().post_form("/token", &flow.exchange(&code)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let caller = place.scene.server.caller(answer.json()["access_token"].as_str().expect("a token"));
    assert_eq!(status_of(&caller).await, 200);
    assert_eq!(place.web.connections(), 1, "page, form and exchange needed the document once");
}

#[tokio::test]
async fn a_document_is_asked_for_again_after_ten_minutes_and_never_before_five() {
    let mut place = Place::make().await;
    let id = place.put("/client.json", |_| {});
    for (minutes, expected) in [(0, 1), (5, 1), (4, 1), (1, 2)] {
        place.scene.server.clock.advance(Duration::from_secs(60 * minutes));
        assert_eq!(place.open(&id).await.status, 200);
        assert_eq!(place.web.connections(), expected, "after {minutes} more minutes");
    }
    place.scene.server.restart().await;
    assert_eq!(place.open(&id).await.status, 200);
    assert_eq!(place.web.connections(), 2, "a restart forgets nothing");
    place.web.put("/client.json", Page::Plain(500, "text/plain", "broken".to_owned()));
    place.scene.server.clock.advance(Duration::from_secs(601));
    place.refused(&id, "status 500").await;
}

#[tokio::test]
async fn a_bad_document_is_refused_and_says_why() {
    let place = Place::make().await;
    let mismatch = "its client_id is not its own URL";
    type Change = fn(&mut Value);
    let rows: [(&str, Change, &str); 10] = [
        ("/another-id", |d| d["client_id"] = json!("https://app.example/other"), mismatch),
        ("/slash", |d| d["client_id"] = json!(format!("{}/", d["client_id"].as_str().unwrap_or_default())), mismatch),
        ("/no-id", |d| d["client_id"] = Value::Null, "not a JSON object with client_id"),
        ("/no-redirects", |d| d["redirect_uris"] = json!([]), "has no redirect URI"),
        ("/http-redirect", |d| d["redirect_uris"] = json!(["http://app.example/cb"]), "has no redirect URI"),
        (
            "/text-redirects",
            |d| d["redirect_uris"] = json!("https://app.example/cb"),
            "not a JSON object with client_id",
        ),
        (
            "/other-redirect",
            |d| d["redirect_uris"] = json!(["https://app.example/elsewhere"]),
            "not one this client has",
        ),
        ("/secret", |d| d["token_endpoint_auth_method"] = json!("client_secret_basic"), "only public clients"),
        ("/jwt", |d| d["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]), "only public clients"),
        ("/list", |d| *d = json!([1, 2]), "not a JSON object with client_id"),
    ];
    for (path, change, part) in rows {
        place.refused(&place.put(path, change), part).await;
    }
    for (path, page, part) in [
        ("/missing", Page::Plain(404, "text/html", "no".to_owned()), "status 404"),
        ("/html", Page::Plain(200, "text/html", "<html>".to_owned()), "not a JSON object with client_id"),
        ("/empty", Page::Plain(204, "text/plain", String::new()), "status 204"),
        ("/redirect", Page::Redirect(place.id("/client.json")), "redirect, which is not followed"),
        ("/redirect-inside", Page::Redirect("http://127.0.0.1/".to_owned()), "redirect, which is not followed"),
        ("/huge", Page::Long { bytes: (64 << 10) + 1, is_told: true }, "larger than 65536 bytes"),
        ("/huge-untold", Page::Long { bytes: 50 << 20, is_told: false }, "larger than 65536 bytes"),
    ] {
        place.web.put(path, page);
        place.refused(&place.id(path), part).await;
    }
    for allowed in [json!("none"), Value::Null] {
        let id = place
            .put(&format!("/allowed-{}", allowed.is_null()), |d| d["token_endpoint_auth_method"] = allowed.clone());
        assert_eq!(place.open(&id).await.status, 200, "{allowed}");
    }
}

#[tokio::test]
async fn a_document_of_sixty_four_kibibytes_is_read_and_a_byte_more_is_not() {
    let place = Place::make().await;
    for (path, bytes, expected) in [("/full", 64 << 10, 200), ("/over", (64 << 10) + 1, 400)] {
        let mut text = json!({"client_id": place.id(path), "redirect_uris": [CALLBACK]}).to_string();
        text.push_str(&" ".repeat(bytes - text.len()));
        place.web.put(path, Page::Json(text));
        assert_eq!(place.open(&place.id(path)).await.status, expected, "{path}");
    }
}

#[tokio::test]
async fn a_slow_document_ends_after_five_seconds() {
    let place = Place::make().await;
    place.web.put("/drip", Page::Drip);
    let began = Instant::now();
    place.refused(&place.id("/drip"), "no answer within 5 s").await;
    let took = began.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(8)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn no_document_is_fetched_from_inside() {
    let place = Place::make().await;
    let port = place.web.address.port();
    let before = place.web.connections();
    for id in [
        "https://nowhere.example/client.json".to_owned(),
        place.web.url("inside.example", "/client.json"),
        "https://metadata.example/latest".to_owned(),
        format!("https://localhost:{port}/client.json"),
        format!("https://127.0.0.1:{port}/client.json"),
        format!("https://[::1]:{port}/client.json"),
        format!("https://[::ffff:7f00:1]:{port}/client.json"),
        format!("https://[64:ff9b::7f00:1]:{port}/client.json"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.0.0.1/x".to_owned(),
        "https://100.64.0.1/x".to_owned(),
        "https://[fd00::1]/x".to_owned(),
        "https://[fe80::1]/x".to_owned(),
    ] {
        place.refused(&id, NOT_REACHED).await;
    }
    for id in [
        format!("https://0x7f.1:{port}/x"),
        format!("https://2130706433:{port}/x"),
        format!("https://017700000001:{port}/x"),
        format!("https://127.1:{port}/x"),
        format!("https://[0:0:0:0:0:0:0:1]:{port}/x"),
        format!("http://app.example:{port}/client.json"),
        "https://app.example".to_owned(),
        "https://app.example/".to_owned(),
        "https://app.example/a/../b".to_owned(),
        "https://user@app.example/x".to_owned(),
        "https://app.example/x#y".to_owned(),
        "ftp://app.example/x".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        place.refused(&id, "must be https, with a path").await;
    }
    assert_eq!(place.web.connections(), before, "nothing was called");
}

#[tokio::test]
async fn only_hosts_of_the_operators_list_are_asked_for_documents() {
    let mut place = Place::make().await;
    let id = place.put("/client.json", |_| {});
    place.scene.server.options.document_hosts =
        DocumentHosts { any_public: false, named: ["claude.ai".to_owned()].into() };
    place.scene.server.restart().await;
    place.refused(&id, NOT_REACHED).await;
    assert_eq!(place.web.connections(), 0);
    place.scene.server.options.document_hosts =
        DocumentHosts { any_public: false, named: ["app.example".to_owned()].into() };
    place.scene.server.restart().await;
    assert_eq!(place.open(&id).await.status, 200);
    assert_eq!(place.web.connections(), 1);
}

/// The name is harmless when it is first resolved, and leads to an internal address from then on.
#[tokio::test]
async fn a_name_that_changes_leads_nowhere() {
    let place = Place::make().await;
    let id = place.web.url("changing.example", "/client.json");
    place.web.put("/client.json", Page::Json(json!({"client_id": id, "redirect_uris": [CALLBACK]}).to_string()));
    let first = place.open(&id).await;
    assert_eq!(first.status, 400, "{}", first.text);
    for _ in 0..3 {
        place.scene.server.clock.advance(Duration::from_secs(61));
        place.refused(&id, NOT_REACHED).await;
    }
    assert_eq!(place.web.connections(), 0);
}

/// A rejected document is not fetched again within a minute, and one address can make us fetch thirty a minute at most.
#[tokio::test]
async fn nobody_makes_us_call_without_end() {
    let place = Place::make().await;
    let id = place.id("/missing");
    for _ in 0..5 {
        place.refused(&id, "status 404").await;
    }
    assert_eq!(place.web.connections(), 1);
    place.scene.server.clock.advance(Duration::from_secs(60));
    place.refused(&id, "status 404").await;
    assert_eq!(place.web.connections(), 2);
    for n in 2..=30 {
        place.refused(&place.id(&format!("/missing/{n}")), "status 404").await;
    }
    let answer = place.open(&place.id("/missing/31")).await;
    assert_eq!(answer.status, 429, "{}", answer.text);
    assert_eq!(place.web.connections(), 31);
}

#[tokio::test]
async fn a_registered_client_can_not_take_the_place_of_a_document() {
    let place = Place::make().await;
    let id = place.put("/client.json", |_| {});
    assert_eq!(place.open(&id).await.status, 200);
    let body = json!({"client_id": id, "redirect_uris": ["https://evil.example/cb"]});
    let answer = place.scene.server.browser().post_json("/register", &body).await;
    assert_eq!(answer.status, 201);
    assert_ne!(answer.json()["client_id"], id);
    let evil = place.scene.server.browser().get(&Flow::new(&id, "https://evil.example/cb").path()).await;
    assert_eq!(evil.status, 400);
}
