//! What `/mcp` checks before it reads a message: origin, credential, method, `Accept`, size. In this order.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use mnemon_core::{Access, Clock, CredentialKind, PlanName, REQUEST_BYTES_MAX, Subscription, make_token};
use mnemon_testkit::{Answer, Caller, MemberSpec, TestServer, TestServerOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{refusal, result};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

async fn server_and_caller() -> (TestServer, Caller) {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    (server, caller)
}

#[tokio::test]
async fn only_our_own_and_configured_origins_may_call_from_a_browser() {
    let options =
        TestServerOptions { allowed_origins: vec!["https://app.example.com".to_owned()], ..Default::default() };
    let server = TestServer::start_with(options).await;
    let caller = server.new_user().await;
    let own = server.url.clone();
    let by_name = own.replace("127.0.0.1", "localhost");
    let check = async |origin: &str, expected: u16| {
        let answer = caller.post(LIST, &[("origin", origin)]).await;
        assert_eq!(answer.status, expected, "{origin}");
        if expected == 403 {
            assert_eq!(answer.json()["error"], "forbidden_origin", "{origin}");
        }
    };
    check(&own, 200).await;
    check(&by_name, 200).await;
    check("https://app.example.com", 200).await;
    check("https://app.example.com.evil.example", 403).await;
    check("http://app.example.com", 403).await;
    check("https://evil.example", 403).await;
    check("null", 403).await;
    check("", 403).await;
}

#[tokio::test]
async fn a_foreign_origin_is_refused_before_the_key_is_looked_at() {
    let (_server, caller) = server_and_caller().await;
    let headers = [("origin", "https://evil.example"), ("authorization", "Bearer wrong")];
    for method in ["POST", "GET", "DELETE"] {
        assert_eq!(caller.send(method, "/mcp", &headers, "not JSON").await.status, 403, "{method}");
    }
}

/// Every way in which one header can fail to authenticate.
fn unacceptable_headers(key: &str) -> Vec<(&'static str, String)> {
    let changed = if key.ends_with('x') { "y" } else { "x" };
    vec![
        ("no header at all", String::new()),
        ("half of the key", format!("Bearer {}", &key[..key.len() / 2])),
        ("one character short", format!("Bearer {}", &key[..key.len() - 1])),
        ("one character changed", format!("Bearer {}{changed}", &key[..key.len() - 1])),
        ("one character more", format!("Bearer {key}0")),
        ("two spaces", format!("Bearer  {key}")),
        ("a tab instead of the space", format!("Bearer\t{key}")),
        ("a space inside", format!("Bearer {} {}", &key[..9], &key[9..])),
        ("something after", format!("Bearer {key} x")),
        ("a comma after", format!("Bearer {key},")),
        ("quotes", format!("Bearer \"{key}\"")),
        ("lower-case scheme", format!("bearer {key}")),
        ("upper-case scheme", format!("BEARER {key}")),
        ("another scheme", format!("Basic {key}")),
        ("no scheme", key.to_owned()),
        ("scheme alone", "Bearer".to_owned()),
        ("upper-case key", format!("Bearer {}", key.to_uppercase())),
        ("a token of another kind", format!("Bearer mno_{}", &key[4..])),
        ("not ASCII", format!("Bearer {key}é")),
        ("something else", "Bearer mnm_".to_owned()),
    ]
}

#[tokio::test]
async fn every_refused_credential_gets_the_same_401() {
    let (server, caller) = server_and_caller().await;
    let unknown = make_token(CredentialKind::ApiKey, &[7; 32]);
    let mut cases = unacceptable_headers(&caller.key);
    cases.push(("well formed and unknown", format!("Bearer {}", unknown.expose())));
    cases.extend(dead_keys(&server).await);
    let mut bodies = Vec::new();
    for (what, value) in &cases {
        let headers: Vec<(&str, &str)> = if value.is_empty() { vec![] } else { vec![("authorization", value)] };
        let answer = caller.send("POST", "/mcp", &headers, LIST).await;
        check_challenge(&answer, &server.url, !value.is_empty(), what);
        bodies.push(answer.text);
    }
    let twice = [("authorization", format!("Bearer {}", caller.key)), ("authorization", "Bearer x".to_owned())];
    let twice: Vec<(&str, &str)> = twice.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = caller.send("POST", "/mcp", &twice, LIST).await;
    check_challenge(&answer, &server.url, true, "two headers");
    bodies.push(answer.text);
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

/// Keys that used to be valid.
async fn dead_keys(server: &TestServer) -> Vec<(&'static str, String)> {
    let organization = server.organization().await;
    let member = server.new_member(&organization, MemberSpec::default()).await;
    let (id, revoked) = server.key(&organization, member, Access::Write, None).await;
    server.revoke(&organization, id).await;
    let now = Some(server.clock.now());
    let expired = server.member(&organization, MemberSpec { expires_at: now, ..MemberSpec::default() }).await;
    let left = server.member(&organization, MemberSpec { access_until: now, ..MemberSpec::default() }).await;
    let plan = Some(PlanName::Unlimited);
    let suspended = server.organization_on(Subscription { plan, is_suspended: true, paid_until: None }).await;
    let suspended = server.member(&suspended, MemberSpec::default()).await;
    let bearer = |caller: Caller| format!("Bearer {}", caller.key);
    vec![
        ("revoked", bearer(revoked)),
        ("expired", bearer(expired)),
        ("of a member who left", bearer(left)),
        ("of a suspended account", bearer(suspended)),
    ]
}

fn check_challenge(answer: &Answer, url: &str, was_presented: bool, what: &str) {
    assert_eq!(answer.status, 401, "{what}");
    assert_eq!(answer.json()["error"], "invalid_token", "{what}");
    assert!(answer.json()["error_description"].is_string(), "{what}");
    let metadata = format!("{url}/.well-known/oauth-protected-resource/mcp");
    let error = if was_presented { r#", error="invalid_token""# } else { "" };
    let expected = format!(r#"Bearer resource_metadata="{metadata}", scope="mcp"{error}"#);
    assert_eq!(answer.header("www-authenticate"), expected, "{what}");
    assert_eq!(answer.header("content-type"), "application/json", "{what}");
}

#[tokio::test]
async fn the_challenge_names_the_configured_address_whatever_host_was_called() {
    let (server, caller) = server_and_caller().await;
    let answer = caller.send("POST", "/mcp", &[("host", "evil.example")], LIST).await;
    check_challenge(&answer, &server.url, false, "foreign host");
}

#[tokio::test]
async fn the_credential_is_asked_for_on_every_method_and_before_everything_else() {
    let (_server, caller) = server_and_caller().await;
    for method in ["GET", "DELETE", "PUT", "PATCH", "POST"] {
        assert_eq!(caller.send(method, "/mcp", &[("accept", "text/html")], "not JSON").await.status, 401, "{method}");
    }
    let oversized = "x".repeat(REQUEST_BYTES_MAX + 1);
    assert_eq!(caller.send("POST", "/mcp", &[], oversized).await.status, 401);
}

#[tokio::test]
async fn other_methods_than_post_are_told_so() {
    let (_server, caller) = server_and_caller().await;
    let bearer = format!("Bearer {}", caller.key);
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
        let headers = [("authorization", bearer.as_str()), ("accept", "text/event-stream")];
        let answer = caller.send(method, "/mcp", &headers, "").await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{method}");
        assert_eq!(answer.json()["error"], "method_not_allowed", "{method}");
    }
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_and_its_connection_goes_on() {
    let (_server, caller) = server_and_caller().await;
    let bearer = format!("Bearer {}", caller.key);
    let headers = [("authorization", bearer.as_str())];
    for _ in 0..2 {
        let answer = caller.send("HEAD", "/mcp", &headers, "").await;
        assert_eq!((answer.status, answer.header("allow"), answer.text.as_str()), (405, "POST", ""));
    }
}

#[tokio::test]
async fn an_accept_that_admits_json_is_served_and_any_other_is_406() {
    let (_server, caller) = server_and_caller().await;
    let check = async |accept: &str, expected: u16| {
        let answer = caller.post(LIST, &[("accept", accept)]).await;
        assert_eq!(answer.status, expected, "{accept}");
        if expected == 406 {
            assert_eq!(refusal(&answer), (406, -32600), "{accept}");
        }
    };
    check("application/json, text/event-stream", 200).await;
    check("application/json", 200).await;
    check("*/*", 200).await;
    check("application/*;q=0.1", 200).await;
    check("text/event-stream", 406).await;
    check("text/html", 406).await;
    check("application/json;q=0", 406).await;
    let bearer = format!("Bearer {}", caller.key);
    assert_eq!(caller.send("POST", "/mcp", &[("authorization", &bearer)], LIST).await.status, 200, "no Accept");
}

#[tokio::test]
async fn the_content_type_is_not_asked_about() {
    let (_server, caller) = server_and_caller().await;
    for kind in ["application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8"] {
        result(&caller.post(LIST, &[("content-type", kind)]).await);
    }
}

/// A request that is exactly this many bytes long.
fn request_of(size_bytes: usize) -> String {
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"filler": ""}}).to_string();
    let filled = "x".repeat(size_bytes - bare.len());
    let request = bare.replace(r#""filler":"""#, &format!(r#""filler":"{filled}""#));
    assert_eq!(request.len(), size_bytes);
    request
}

#[tokio::test]
async fn a_body_of_one_mebibyte_is_read_and_one_byte_more_is_413() {
    let (_server, caller) = server_and_caller().await;
    result(&caller.post(request_of(REQUEST_BYTES_MAX), &[]).await);
    let answer = caller.post(request_of(REQUEST_BYTES_MAX + 1), &[]).await;
    assert_eq!(refusal(&answer), (413, -32600));
    assert_eq!(answer.json()["error"]["message"], "the request body is larger than 1048576 bytes");
    assert_eq!(answer.json()["id"], json!(null));
}

#[tokio::test]
async fn who_sends_all_of_a_body_before_reading_is_told_the_limit_too() {
    let (server, caller) = server_and_caller().await;
    for mebibytes in [2, 16] {
        let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("it accepts");
        let bytes = mebibytes << 20;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: mnemon\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-length: {bytes}\r\n\r\n",
            caller.key
        );
        stream.write_all(head.as_bytes()).await.expect("the head is sent");
        stream.write_all(&vec![b'x'; bytes]).await.expect("all of the body is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 413"), "{mebibytes} MiB: {answer}");
        assert!(answer.contains("larger than 1048576 bytes"), "{answer}");
    }
}

/// A body in chunks, without a length.
struct Pieces(VecDeque<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

#[tokio::test]
async fn a_body_that_does_not_say_its_length_is_bounded_too() {
    let (_server, caller) = server_and_caller().await;
    for (size_bytes, status) in [(REQUEST_BYTES_MAX, 200), (REQUEST_BYTES_MAX + 1, 413)] {
        let pieces = request_of(size_bytes).into_bytes().chunks(10_000).map(Bytes::copy_from_slice).collect();
        let answer = caller.post(reqwest::Body::wrap(Pieces(pieces)), &[]).await;
        assert_eq!(answer.status, status, "{size_bytes}");
    }
}

#[tokio::test]
async fn size_is_checked_before_json() {
    let (_server, caller) = server_and_caller().await;
    assert_eq!(caller.post("{".repeat(REQUEST_BYTES_MAX + 1), &[]).await.status, 413);
    assert_eq!(caller.post("{".repeat(REQUEST_BYTES_MAX), &[]).await.status, 400);
}

#[tokio::test]
async fn a_compressed_body_is_refused_and_identity_is_not() {
    let (_server, caller) = server_and_caller().await;
    for encoding in ["gzip", "br", "deflate", "zstd", "gzip, identity"] {
        let answer = caller.post(LIST, &[("content-encoding", encoding)]).await;
        assert_eq!(refusal(&answer), (415, -32600), "{encoding}");
    }
    result(&caller.post(LIST, &[("content-encoding", "identity")]).await);
}

#[tokio::test]
async fn answers_are_json_that_no_cache_keeps_and_no_session_is_named() {
    let (_server, caller) = server_and_caller().await;
    let headers = [("mcp-session-id", "abc"), ("last-event-id", "7")];
    let answers = [
        caller.post(LIST, &headers).await,
        caller.post("not JSON", &headers).await,
        caller.post("[]", &headers).await,
        caller.send("POST", "/mcp", &[], LIST).await,
        caller.send("GET", "/elsewhere", &[], "").await,
        caller.send("GET", "/health/live", &[], "").await,
    ];
    for answer in answers {
        assert_eq!(answer.header("content-type"), "application/json", "{}", answer.text);
        assert_eq!(answer.header("cache-control"), "no-store", "{}", answer.text);
        assert!(!answer.headers.contains_key("mcp-session-id"), "{}", answer.text);
    }
}

#[tokio::test]
async fn other_paths_are_nothing_and_health_needs_no_key() {
    let (_server, caller) = server_and_caller().await;
    let check = async |method: &str, path: &str, status: u16, body: serde_json::Value| {
        let answer = caller.send(method, path, &[], "").await;
        assert_eq!((answer.status, answer.json()), (status, body), "{method} {path}");
    };
    let nothing = json!({"error": "not_found", "message": "not found; the MCP endpoint is POST /mcp"});
    for path in ["/", "/mcp/", "/mcp/x", "/MCP", "/health", "/admin", "/..%2fmcp"] {
        check("POST", path, 404, nothing.clone()).await;
    }
    check("GET", "/health/live", 200, json!({"status": "live"})).await;
    check("GET", "/health/ready", 200, json!({"status": "ready"})).await;
}
