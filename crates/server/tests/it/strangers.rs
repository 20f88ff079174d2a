//! What somebody without a credential can take from the service: few bytes, few connections, and no seat of a caller's.

use std::time::Duration;

use mnemon_testkit::{Caller, TestServer, TestServerOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
const OPEN_DOOR_BYTES_MAX: usize = 64 << 10;
const HEAD_BYTES_MAX: usize = 64 << 10;

async fn connect(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("the service accepts")
}

/// Sends these bytes on a connection of their own and returns the status that comes back; 0 where the connection ends
/// without one.
async fn status_of(server: &TestServer, bytes: &[u8]) -> u16 {
    let mut stream = connect(server).await;
    // The service may answer and hang up before it has read everything.
    let _ = stream.write_all(bytes).await;
    read_status(&mut stream).await
}

/// The status of the next answer; what else is in it is read as far as it came along.
async fn read_status(stream: &mut TcpStream) -> u16 {
    let mut answer = vec![0; 64 << 10];
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut answer)).await;
    let length = read.expect("the service answers or hangs up").unwrap_or(0);
    let status = answer[..length].get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    status.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn list_request(caller: &Caller) -> String {
    let (key, length) = (&caller.key, LIST.len());
    format!("POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n{LIST}")
}

#[tokio::test]
async fn a_request_without_a_host_or_with_two_is_refused() {
    let server = TestServer::start().await;
    for (head, expected) in [
        ("GET /health/live HTTP/1.1\r\nhost: a.example\r\n\r\n", 200),
        ("GET /health/live HTTP/1.1\r\n\r\n", 400),
        ("GET /health/live HTTP/1.1\r\nhost: a.example\r\nhost: b.example\r\n\r\n", 400),
        ("GET /health/live HTTP/1.1\r\nHost: a.example\r\nhost: a.example\r\n\r\n", 400),
        ("GET /health/live HTTP/1.0\r\n\r\n", 200),
        ("GET http://a.example/health/live HTTP/1.1\r\n\r\n", 400),
    ] {
        assert_eq!(status_of(&server, head.as_bytes()).await, expected, "{head:?}");
    }
}

#[tokio::test]
async fn a_head_of_65536_bytes_is_read_and_one_byte_more_is_431() {
    let server = TestServer::start().await;
    let head = |bytes: usize| {
        let frame = "GET /health/live HTTP/1.1\r\nhost: a\r\nx-filler: \r\n\r\n".len();
        format!("GET /health/live HTTP/1.1\r\nhost: a\r\nx-filler: {}\r\n\r\n", "x".repeat(bytes - frame))
    };
    assert_eq!(status_of(&server, head(HEAD_BYTES_MAX).as_bytes()).await, 200);
    assert_eq!(status_of(&server, head(HEAD_BYTES_MAX + 1).as_bytes()).await, 431);
}

#[tokio::test]
async fn half_a_head_is_not_waited_for_past_its_limit() {
    let server = TestServer::start().await;
    let half = format!("GET /health/live HTTP/1.1\r\nhost: a\r\nx-filler: {}", "x".repeat(2 * HEAD_BYTES_MAX));
    assert_eq!(status_of(&server, half.as_bytes()).await, 431, "although it never ends");
}

/// The fields of a form or the members of a registration, with a filler that makes the body exactly so long.
fn body_of(path: &str, bytes: usize) -> String {
    if path == "/register" {
        let bare = json!({"redirect_uris": ["https://a.example/cb"], "filler": ""}).to_string();
        let filled = "x".repeat(bytes - bare.len());
        return bare.replace(r#""filler":"""#, &format!(r#""filler":"{filled}""#));
    }
    format!("filler={}", "x".repeat(bytes - "filler=".len()))
}

#[tokio::test]
async fn bodies_at_the_open_doors_have_at_most_64_kib() {
    let server = TestServer::start().await;
    let stranger = server.caller("");
    for path in ["/register", "/token", "/revoke", "/authorize"] {
        let kind = if path == "/register" { "application/json" } else { "application/x-www-form-urlencoded" };
        let headers = [("content-type", kind)];
        let read = stranger.send("POST", path, &headers, body_of(path, OPEN_DOOR_BYTES_MAX)).await;
        assert_ne!(read.status, 413, "{path}: {}", read.text);
        let refused = stranger.send("POST", path, &headers, body_of(path, OPEN_DOOR_BYTES_MAX + 1)).await;
        assert_eq!(refused.status, 413, "{path}: {}", refused.text);
        assert!(refused.text.contains("larger than 65536 bytes"), "{path}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_registration_has_redirect_uris_of_4_kib_together() {
    let server = TestServer::start().await;
    let stranger = server.caller("");
    for (bytes, expected) in [(4_096, 201), (4_097, 400)] {
        let uri = |bytes: usize| format!("https://a.example/{}", "x".repeat(bytes - "https://a.example/".len()));
        let uris = [uri(2_000), uri(bytes - 2_000 - 100), uri(100)];
        assert_eq!(uris.iter().map(String::len).sum::<usize>(), bytes);
        let body = json!({"redirect_uris": uris}).to_string();
        let answer = stranger.send("POST", "/register", &[("content-type", "application/json")], body).await;
        assert_eq!(answer.status, expected, "{}", answer.text);
        if expected == 400 {
            let text = "redirect_uris must have at most 4096 bytes together";
            assert_eq!(
                (&answer.json()["error"], &answer.json()["error_description"]),
                (&json!("invalid_redirect_uri"), &json!(text))
            );
        }
    }
}

async fn small_server() -> TestServer {
    TestServer::start_with(TestServerOptions { connections_max: 16, ..Default::default() }).await
}

#[tokio::test]
async fn a_crowd_of_silent_strangers_keeps_no_caller_out() {
    let server = small_server().await;
    let caller = server.new_user().await;
    let mut crowd = Vec::new();
    for _ in 0..100 {
        crowd.push(connect(&server).await);
    }
    assert_eq!(caller.remember("there is room for me").await["searchable"], json!(true));
    // Those who came first had to leave.
    assert_eq!(crowd[0].read(&mut [0; 1]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_callers_connection_outlives_any_crowd_of_strangers() {
    let server = small_server().await;
    let caller = server.new_user().await;
    let mut known = connect(&server).await;
    known.write_all(list_request(&caller).as_bytes()).await.unwrap();
    assert_eq!(read_status(&mut known).await, 200);
    let mut stranger = connect(&server).await;
    let mut crowd = Vec::new();
    for _ in 0..100 {
        crowd.push(connect(&server).await);
    }
    assert_eq!(stranger.read(&mut [0; 1]).await.unwrap_or(0), 0, "the stranger beside it had to leave");
    known.write_all(list_request(&caller).as_bytes()).await.unwrap();
    assert_eq!(read_status(&mut known).await, 200);
}

#[tokio::test]
async fn a_refused_credential_makes_nobody_known() {
    let server = small_server().await;
    let mut guesser = connect(&server).await;
    let request = list_request(&server.caller("mnm_guess"));
    guesser.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(read_status(&mut guesser).await, 401);
    let mut crowd = Vec::new();
    for _ in 0..100 {
        crowd.push(connect(&server).await);
    }
    assert_eq!(guesser.read(&mut [0; 1]).await.unwrap_or(0), 0);
}
