//! The table of attacks and mistakes, endpoint by endpoint. Each row is tried on the real service and has one right
//! answer.

use mnemon_testkit::oauth::{Flow, Pairs, returned};
use mnemon_testkit::{Answer, MemberSpec};
use serde_json::{Value, json};

use super::{CALLBACK, Scene, set, status_of, unset};

/// The expected outcome of a request to the page.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The person is asked.
    Asked,
    /// The person is told here, and nobody is sent anywhere.
    Shown,
    /// The client is told at its own address, with the state and our name.
    Returned(&'static str),
}
use Outcome::{Asked, Returned, Shown};

/// A row: its name, what is done to the valid request, and the outcome.
type Row<T> = (&'static str, fn(&mut Pairs), T);

fn repeat(fields: &mut Pairs, name: &str) {
    let found = fields.iter().find(|(given, _)| given == name).cloned();
    fields.extend(found);
}

fn redirects() -> Vec<Row<Outcome>> {
    vec![
        ("the good request", |_| {}, Asked),
        ("no redirect", |r| unset(r, "redirect_uri"), Shown),
        ("an empty redirect", |r| set(r, "redirect_uri", ""), Shown),
        ("another host", |r| set(r, "redirect_uri", "https://evil.example/callback?from=mnemon"), Shown),
        (
            "our host as a prefix",
            |r| set(r, "redirect_uri", "https://chat.example.evil.example/callback?from=mnemon"),
            Shown,
        ),
        ("a subdomain", |r| set(r, "redirect_uri", "https://x.chat.example/callback?from=mnemon"), Shown),
        ("another path", |r| set(r, "redirect_uri", "https://chat.example/other?from=mnemon"), Shown),
        ("a longer path", |r| set(r, "redirect_uri", "https://chat.example/callback/more?from=mnemon"), Shown),
        ("a path that climbs", |r| set(r, "redirect_uri", "https://chat.example/x/../callback?from=mnemon"), Shown),
        ("an encoded climb", |r| set(r, "redirect_uri", "https://chat.example/x/%2e%2e/callback?from=mnemon"), Shown),
        ("another query", |r| set(r, "redirect_uri", "https://chat.example/callback?from=evil"), Shown),
        ("a longer query", |r| set(r, "redirect_uri", "https://chat.example/callback?from=mnemon&to=evil"), Shown),
        ("no query", |r| set(r, "redirect_uri", "https://chat.example/callback"), Shown),
        ("a slash at the end", |r| set(r, "redirect_uri", "https://chat.example/callback?from=mnemon/"), Shown),
        ("a fragment", |r| set(r, "redirect_uri", "https://chat.example/callback?from=mnemon#x"), Shown),
        ("plain http", |r| set(r, "redirect_uri", "http://chat.example/callback?from=mnemon"), Shown),
        ("another port", |r| set(r, "redirect_uri", "https://chat.example:8443/callback?from=mnemon"), Shown),
        ("the usual port", |r| set(r, "redirect_uri", "https://chat.example:443/callback?from=mnemon"), Shown),
        ("capital letters", |r| set(r, "redirect_uri", "https://CHAT.example/callback?from=mnemon"), Shown),
        ("a user", |r| set(r, "redirect_uri", "https://chat.example@evil.example/callback?from=mnemon"), Shown),
        ("a backslash", |r| set(r, "redirect_uri", "https://chat.example\\@evil.example/callback"), Shown),
        ("a script", |r| set(r, "redirect_uri", "javascript:alert(1)"), Shown),
        ("a data address", |r| set(r, "redirect_uri", "data:text/html,x"), Shown),
        ("no scheme", |r| set(r, "redirect_uri", "//chat.example/callback?from=mnemon"), Shown),
        ("loopback that was not registered", |r| set(r, "redirect_uri", "http://localhost:1/callback"), Shown),
        (
            "a line break",
            |r| set(r, "redirect_uri", "https://chat.example/callback?from=mnemon\r\nset-cookie: a=b"),
            Shown,
        ),
        ("the redirect twice", |r| repeat(r, "redirect_uri"), Shown),
    ]
}

fn clients() -> Vec<Row<Outcome>> {
    vec![
        ("no client", |r| unset(r, "client_id"), Shown),
        ("an unknown client", |r| set(r, "client_id", "01980000-0000-7000-8000-00000000dead"), Shown),
        ("a client with capital letters", |r| set(r, "client_id", "CHAT"), Shown),
        ("a client with SQL", |r| set(r, "client_id", "' OR 1=1 --"), Shown),
        ("a very long client", |r| set(r, "client_id", &"x".repeat(20_000)), Shown),
        ("the client twice", |r| repeat(r, "client_id"), Shown),
        (
            "an unknown client with a bad request",
            |r| {
                set(r, "client_id", "x");
                unset(r, "code_challenge")
            },
            Shown,
        ),
    ]
}

fn requests() -> Vec<Row<Outcome>> {
    vec![
        ("no response_type", |r| unset(r, "response_type"), Returned("invalid_request")),
        ("response_type token", |r| set(r, "response_type", "token"), Returned("unsupported_response_type")),
        ("response_type code token", |r| set(r, "response_type", "code token"), Returned("unsupported_response_type")),
        ("no challenge", |r| unset(r, "code_challenge"), Returned("invalid_request")),
        ("no method, which would mean plain", |r| unset(r, "code_challenge_method"), Returned("invalid_request")),
        ("method plain", |r| set(r, "code_challenge_method", "plain"), Returned("invalid_request")),
        ("method in small letters", |r| set(r, "code_challenge_method", "s256"), Returned("invalid_request")),
        ("a short challenge", |r| set(r, "code_challenge", &"a".repeat(42)), Returned("invalid_request")),
        ("a long challenge", |r| set(r, "code_challenge", &"a".repeat(44)), Returned("invalid_request")),
        (
            "a challenge that is no base64url",
            |r| set(r, "code_challenge", &"+".repeat(43)),
            Returned("invalid_request"),
        ),
        ("another resource", |r| set(r, "resource", "https://evil.example/mcp"), Returned("invalid_target")),
        ("a resource that is no address", |r| set(r, "resource", "mcp"), Returned("invalid_target")),
        ("the challenge twice", |r| repeat(r, "code_challenge"), Returned("invalid_request")),
        ("the state twice", |r| repeat(r, "state"), Returned("invalid_request")),
        ("the response_type twice", |r| repeat(r, "response_type"), Returned("invalid_request")),
        ("a scope with a quote", |r| set(r, "scope", "mcp\""), Returned("invalid_scope")),
        ("a scope with a line break", |r| set(r, "scope", "mcp\nadmin"), Returned("invalid_scope")),
        ("a scope that is not ours", |r| set(r, "scope", "admin offline_access"), Asked),
        ("no scope", |r| unset(r, "scope"), Asked),
        ("no state", |r| unset(r, "state"), Asked),
        ("the longest state", |r| set(r, "state", &"s".repeat(4_096)), Asked),
        ("something unknown", |r| set(r, "prompt", "none"), Asked),
    ]
}

async fn check_page(scene: &Scene, name: &str, request: &Pairs, expected: &Outcome) {
    let answer = scene.server.browser().get(&format!("/authorize?{}", mnemon_testkit::oauth::encode(request))).await;
    match expected {
        Asked => {
            assert_eq!(answer.status, 200, "{name}: {}", answer.text);
            assert!(answer.text.contains("name=\"key\""), "{name}: {}", answer.text);
        }
        Shown => {
            assert_eq!((answer.status, answer.header("location")), (400, ""), "{name}: {}", answer.text);
            assert!(answer.text.contains("Can't connect"), "{name}");
            assert!(!answer.text.contains("name=\"key\""), "{name}: nobody is asked for a key");
        }
        Returned(error) => {
            assert_eq!(answer.status, 303, "{name}: {}", answer.text);
            assert!(
                answer.header("location").starts_with(&format!("{CALLBACK}&")),
                "{name}: {}",
                answer.header("location")
            );
            assert_eq!(returned(&answer, "error").as_deref(), Some(*error), "{name}");
            assert_eq!(returned(&answer, "state").as_deref(), Some("st/at e&="), "{name}");
            assert_eq!(returned(&answer, "iss").as_deref(), Some(scene.server.url.as_str()), "{name}: mix-up");
            assert_eq!(returned(&answer, "code"), None, "{name}");
        }
    }
}

#[tokio::test]
async fn every_wrong_request_to_the_page_has_its_one_answer() {
    let scene = Scene::set().await;
    let rows: Vec<Row<Outcome>> = redirects().into_iter().chain(clients()).chain(requests()).collect();
    assert!(rows.len() >= 50, "{}", rows.len());
    for (name, change, expected) in rows {
        let mut request = scene.flow.request.clone();
        change(&mut request);
        check_page(&scene, name, &request, &expected).await;
    }
}

#[tokio::test]
async fn a_state_past_its_limit_is_said_without_it() {
    let mut scene = Scene::set().await;
    set(&mut scene.flow.request, "state", &"s".repeat(4_097));
    let answer = scene.server.browser().get(&scene.flow.path()).await;
    assert_eq!(returned(&answer, "error").as_deref(), Some("invalid_request"));
    assert_eq!(returned(&answer, "state"), None);
}

/// What is done to the valid form that the page sends. It is judged like the page itself.
#[tokio::test]
async fn a_form_is_judged_as_the_page_was() {
    let scene = Scene::set().await;
    let rows: [Row<u16>; 6] = [
        ("another redirect", |f| set(f, "redirect_uri", "https://evil.example/"), 400),
        ("another client", |f| set(f, "client_id", "nobody"), 400),
        ("no client", |f| unset(f, "client_id"), 400),
        ("no challenge", |f| unset(f, "code_challenge"), 303),
        ("plain", |f| set(f, "code_challenge_method", "plain"), 303),
        ("another resource", |f| set(f, "resource", "https://evil.example/mcp"), 303),
    ];
    for (name, change, expected) in rows {
        let mut browser = scene.server.browser();
        let page = browser.get(&scene.flow.path()).await;
        let mut fields = mnemon_testkit::oauth::filled(&page, &scene.person.key);
        change(&mut fields);
        let answer = browser.post_form("/authorize", &fields).await;
        assert_eq!(answer.status, expected, "{name}");
        if expected == 303 {
            assert_eq!((returned(&answer, "code"), returned(&answer, "error").is_some()), (None, true), "{name}");
        }
    }
}

fn check_error(answer: &Answer, name: &str, status: u16, error: &str) {
    assert_eq!((answer.status, answer.json()["error"].as_str()), (status, Some(error)), "{name}: {}", answer.text);
    assert!(answer.json()["error_description"].as_str().is_some_and(|text| text.len() > 10), "{name}: {}", answer.text);
    assert_eq!(answer.header("content-type"), "application/json", "{name}");
    assert_eq!(answer.header("cache-control"), "no-store", "{name}");
}

/// What is done to the valid exchange of a new code.
fn exchanges() -> Vec<Row<(u16, &'static str)>> {
    vec![
        ("no grant_type", |f| unset(f, "grant_type"), (400, "invalid_request")),
        ("a password", |f| set(f, "grant_type", "password"), (400, "unsupported_grant_type")),
        ("client credentials", |f| set(f, "grant_type", "client_credentials"), (400, "unsupported_grant_type")),
        ("a refresh token", |f| set(f, "grant_type", "refresh_token"), (400, "unsupported_grant_type")),
        ("no client", |f| unset(f, "client_id"), (401, "invalid_client")),
        ("an unknown client", |f| set(f, "client_id", "nobody"), (401, "invalid_client")),
        (
            "an unknown address as client",
            |f| set(f, "client_id", "https://evil.example/client"),
            (401, "invalid_client"),
        ),
        ("no code", |f| unset(f, "code"), (400, "invalid_request")),
        ("an empty code", |f| set(f, "code", ""), (400, "invalid_request")),
        (
            "a made-up code",
            |f| set(f, "code", "mnc_0000000000000000000000000000000000000000000000000"),
            (400, "invalid_grant"),
        ),
        ("nonsense for a code", |f| set(f, "code", "%00'\""), (400, "invalid_grant")),
        ("no verifier", |f| unset(f, "code_verifier"), (400, "invalid_request")),
        ("another verifier", |f| set(f, "code_verifier", &"b".repeat(43)), (400, "invalid_grant")),
        ("a short verifier", |f| set(f, "code_verifier", "short"), (400, "invalid_request")),
        ("a long verifier", |f| set(f, "code_verifier", &"b".repeat(129)), (400, "invalid_request")),
        (
            "the challenge as verifier",
            |f| {
                set(f, "code_verifier", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
            },
            (400, "invalid_grant"),
        ),
        ("another redirect", |f| set(f, "redirect_uri", "https://evil.example/"), (400, "invalid_grant")),
        (
            "the redirect but for a slash",
            |f| set(f, "redirect_uri", "https://chat.example/callback?from=mnemon/"),
            (400, "invalid_grant"),
        ),
        ("another resource", |f| set(f, "resource", "https://evil.example/mcp"), (400, "invalid_target")),
        ("the code twice", |f| repeat(f, "code"), (400, "invalid_request")),
        ("the client twice", |f| repeat(f, "client_id"), (400, "invalid_request")),
        ("the verifier twice", |f| repeat(f, "code_verifier"), (400, "invalid_request")),
        (
            "an API key as code",
            |f| set(f, "code", "mnm_0000000000000000000000000000000000000000000000000"),
            (400, "invalid_grant"),
        ),
    ]
}

#[tokio::test]
async fn every_wrong_exchange_has_its_one_answer() {
    let scene = Scene::set().await;
    for (name, change, (status, error)) in exchanges() {
        let mut fields = scene.flow.exchange(&scene.code().await);
        change(&mut fields);
        let answer = scene.server.browser().post_form("/token", &fields).await;
        check_error(&answer, name, status, error);
    }
    // The redirect may be left out, as in OAuth 2.1: the verifier proves the same.
    let mut fields = scene.flow.exchange(&scene.code().await);
    unset(&mut fields, "redirect_uri");
    assert_eq!(scene.server.browser().post_form("/token", &fields).await.status, 200);
    let listed = scene.server.operator().await;
    let path = format!("/projects/{}/connections", scene.organization.project);
    let listed = listed.manage("GET", &path, Value::Null).await;
    assert_eq!(listed["connections"].as_array().map(Vec::len), Some(1), "no row above left a connection");
}

#[tokio::test]
async fn an_exchange_is_a_form_that_is_posted() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let fields = scene.flow.exchange(&scene.code().await);
    let as_json = [("content-type", "application/json")];
    check_error(&browser.post_form_with("/token", &fields, &as_json).await, "JSON", 400, "invalid_request");
    for path in ["/token", "/register", "/revoke"] {
        let in_the_open = format!("{path}?{}", mnemon_testkit::oauth::encode(&fields));
        check_error(&browser.get(&in_the_open).await, path, 405, "invalid_request");
    }
    let empty = browser.post_form(&format!("/token?{}", mnemon_testkit::oauth::encode(&fields)), &Pairs::new()).await;
    check_error(&empty, "everything in the address", 400, "invalid_request");
    let huge = vec![("code".to_owned(), "x".repeat(1 << 20))];
    check_error(&browser.post_form("/token", &huge).await, "a megabyte", 413, "invalid_request");
    assert_eq!(browser.post_form("/token", &fields).await.status, 200, "the code was not touched by any of it");
}

/// A code belongs to one client. Anybody else who presents it gets nothing and uses it up.
#[tokio::test]
async fn a_code_of_another_client_is_worth_nothing() {
    let scene = Scene::set().await;
    let other = scene.server.flow(CALLBACK).await;
    let code = scene.code().await;
    let mut browser = scene.server.browser();
    check_error(&browser.post_form("/token", &other.exchange(&code)).await, "other client", 400, "invalid_grant");
    check_error(&browser.post_form("/token", &scene.flow.exchange(&code)).await, "afterwards", 400, "invalid_grant");
}

/// The person's key was revoked while the code was on its way.
#[tokio::test]
async fn a_code_whose_key_was_revoked_is_worth_nothing() {
    let scene = Scene::set().await;
    let member = scene.server.new_member(&scene.organization, MemberSpec::default()).await;
    let (id, key) = scene.server.key(&scene.organization, member, mnemon_core::Access::Write, None).await;
    let code = scene.flow.agree(&mut scene.server.browser(), &key.key).await;
    scene.server.revoke(&scene.organization, id).await;
    let answer = scene.server.browser().post_form("/token", &scene.flow.exchange(&code)).await;
    check_error(&answer, "revoked", 400, "invalid_grant");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_exchanges_at_once_none_leaves_a_token_alive() {
    let scene = Scene::set().await;
    let code = scene.code().await;
    let tries: Vec<_> = (0..20)
        .map(|_| {
            let (mut browser, fields) = (scene.server.browser(), scene.flow.exchange(&code));
            tokio::spawn(async move { browser.post_form("/token", &fields).await })
        })
        .collect();
    let mut tokens = Vec::new();
    for running in tries {
        let answer = running.await.expect("the request ends");
        tokens.extend(answer.json()["access_token"].as_str().map(str::to_owned));
    }
    assert_eq!(tokens.len(), 1, "one of them was the first");
    assert_eq!(status_of(&scene.server.caller(&tokens[0])).await, 401, "and a second use ended it");
}

#[tokio::test]
async fn every_wrong_registration_has_its_one_answer() {
    let scene = Scene::set().await;
    let uri = |uri: &str| json!({"redirect_uris": [uri]});
    let many = |count: usize| json!({"redirect_uris": (0..count).map(|n| format!("https://a.example/{n}")).collect::<Vec<_>>()});
    let rows = [
        ("nothing", json!({}), "invalid_redirect_uri"),
        ("no redirects", json!({"redirect_uris": []}), "invalid_redirect_uri"),
        ("too many redirects", many(21), "invalid_redirect_uri"),
        ("plain http", uri("http://chat.example/cb"), "invalid_redirect_uri"),
        ("an own scheme", uri("cursor://callback"), "invalid_redirect_uri"),
        ("a script", uri("javascript:alert(1)"), "invalid_redirect_uri"),
        ("a fragment", uri("https://chat.example/#x"), "invalid_redirect_uri"),
        ("a wildcard", uri("https://*.example/"), "invalid_redirect_uri"),
        ("a user", uri("https://user:pw@chat.example/"), "invalid_redirect_uri"),
        ("a relative address", uri("/callback"), "invalid_redirect_uri"),
        (
            "one bad among good",
            json!({"redirect_uris": ["https://a.example/", "http://a.example/"]}),
            "invalid_redirect_uri",
        ),
        ("redirects that are no list", json!({"redirect_uris": "https://a.example/"}), "invalid_client_metadata"),
        (
            "a name that is no text",
            json!({"redirect_uris": ["https://a.example/"], "client_name": 5}),
            "invalid_client_metadata",
        ),
        (
            "other grants alone",
            json!({"redirect_uris": ["https://a.example/"], "grant_types": ["implicit"]}),
            "invalid_client_metadata",
        ),
        (
            "other answers alone",
            json!({"redirect_uris": ["https://a.example/"], "response_types": ["token"]}),
            "invalid_client_metadata",
        ),
        ("a list", json!([1]), "invalid_client_metadata"),
        ("null", Value::Null, "invalid_client_metadata"),
    ];
    for (name, body, error) in rows {
        check_error(&scene.server.browser().post_json("/register", &body).await, name, 400, error);
    }
    let mut browser = scene.server.browser();
    assert_eq!(browser.post_json("/register", &many(20)).await.status, 201);
    let odd = json!({"redirect_uris": ["https://a.example/"], "unknown": {"deep": [1]}, "client_secret": "x",
        "token_endpoint_auth_method": "client_secret_basic"});
    let answer = browser.post_json("/register", &odd).await;
    assert_eq!(answer.status, 201, "unknown fields are ignored");
    assert_eq!(
        (&answer.json()["token_endpoint_auth_method"], answer.json().get("client_secret")),
        (&json!("none"), None)
    );
    let broken = browser.request("POST", "/register", &[("content-type", "application/json")]).await;
    check_error(&broken, "no JSON at all", 400, "invalid_client_metadata");
}

#[tokio::test]
async fn the_thirty_first_registration_of_an_address_in_a_minute_waits() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let body = json!({"redirect_uris": ["https://a.example/"]});
    for n in 2..=30 {
        assert_eq!(browser.post_json("/register", &body).await.status, 201, "{n}");
    }
    let answer = browser.post_json("/register", &body).await;
    check_error(&answer, "the next", 429, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), "60");
    scene.server.clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(browser.post_json("/register", &body).await.status, 201);
}

#[tokio::test]
async fn giving_back_what_is_not_yours_changes_nothing() {
    let scene = Scene::set().await;
    let caller = scene.connect().await;
    let mut browser = scene.server.browser();
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    check_error(&browser.post_form("/revoke", &vec![]).await, "no token", 400, "invalid_request");
    let twice = vec![field("token", "a"), field("token", "b")];
    check_error(&browser.post_form("/revoke", &twice).await, "two tokens", 400, "invalid_request");
    let others = vec![field("token", &caller.key), field("client_id", &scene.flow.client_id)];
    check_error(&browser.post_form("/revoke", &others).await, "another client's", 401, "invalid_client");
    for token in ["nonsense", "mno_0000000000000000000000000000000000000000000000000", scene.person.key.as_str()] {
        assert_eq!(browser.post_form("/revoke", &vec![field("token", token)]).await.status, 200, "as good as ended");
    }
    assert_eq!([status_of(&caller).await, status_of(&scene.person).await], [200, 200], "a key can't be revoked here");
    let hinted = vec![field("token", &caller.key), field("token_type_hint", "refresh_token")];
    assert_eq!(browser.post_form("/revoke", &hinted).await.status, 200);
    assert_eq!(status_of(&caller).await, 401);
    assert_eq!(browser.post_form("/revoke", &hinted).await.status, 200, "once more changes nothing");
}

/// Credentials of one kind where another kind is expected.
#[tokio::test]
async fn no_secret_opens_another_secrets_door() {
    let scene = Scene::set().await;
    let code = scene.code().await;
    let token = scene.connect().await.key;
    for wrong in [
        code.as_str(),
        &token.replace("mno_", "mnm_"),
        &scene.person.key.replace("mnm_", "mno_"),
        &token.to_uppercase(),
        &token[..token.len() - 1],
        &format!("{token}0"),
    ] {
        assert_eq!(status_of(&scene.server.caller(wrong)).await, 401, "{}", &wrong[..4]);
    }
    let answer = scene.flow.paste(&mut scene.server.browser(), &token).await;
    assert_eq!(answer.status, 400, "a token is no key: who has one can't make more of them");
    for scheme in
        [format!("bearer {token}"), format!("Bearer  {token}"), format!("Bearer {token} "), format!("Basic {token}")]
    {
        let headers = [("authorization", scheme.as_str())];
        let answer = scene.server.browser().request("POST", "/mcp", &headers).await;
        assert_eq!(answer.status, if scheme.ends_with(' ') { answer.status } else { 401 }, "{scheme}");
    }
    let in_the_address = scene.server.browser().request("POST", &format!("/mcp?access_token={token}"), &[]).await;
    assert_eq!(in_the_address.status, 401);
}

#[tokio::test]
async fn a_registered_loopback_takes_any_port_and_nothing_else() {
    let scene = Scene::set().await;
    let flow = scene.server.flow("http://127.0.0.1:7000/cb").await;
    for (uri, expected) in [
        ("http://127.0.0.1:1/cb", 200),
        ("http://127.0.0.1/cb", 200),
        ("http://localhost:7000/cb", 400),
        ("http://[::1]:7000/cb", 400),
        ("http://127.0.0.1:7000/other", 400),
        ("https://127.0.0.1:7000/cb", 400),
        (concat!("http://127.0.0.1:", "7000@evil.example/cb"), 400),
        ("http://127.0.0.1.evil.example:7000/cb", 400),
    ] {
        let page = scene.server.browser().get(&Flow::new(&flow.client_id, uri).path()).await;
        assert_eq!(page.status, expected, "{uri}");
    }
    let asked = Flow::new(&flow.client_id, "http://127.0.0.1:4711/cb");
    let code = asked.agree(&mut scene.server.browser(), &scene.person.key).await;
    let answer = scene.server.browser().post_form("/token", &flow.exchange(&code)).await;
    check_error(&answer, "the port of the request counts at the exchange", 400, "invalid_grant");
}
