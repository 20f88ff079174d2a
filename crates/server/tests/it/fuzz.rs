//! Random request bodies: noise, and valid requests with bytes flipped, cut, doubled and spliced.
//!
//! 20,000 bodies from a fixed seed run with the other tests. For a long run with a fresh seed, give the number:
//! `MNEMON_FUZZ_BODIES=2000000 cargo test --release -p mnemon-server --test it fuzz`.

use std::cell::Cell;

use mnemon_protocol::mcp::{MODERN_VERSION, header, meta};
use mnemon_testkit::{Answer, Caller, MemberSpec, Organization, TestServer};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const BODIES: u32 = 20_000;

/// The only statuses that a valid key may get from `POST /mcp` with JSON accepted and a small body.
const STATUSES: [u16; 4] = [200, 202, 400, 404];

fn call(tool: &str, arguments: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

/// Valid requests to start from.
fn corpus() -> Vec<String> {
    let modern = json!({meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: {}});
    let full = json!({
        "content": "We deploy on \u{1F680} Tuesdays\n", "workspace": "plans", "scope": "draft", "fact_key": "k",
        "source": "s", "source_id": "i", "source_hash": "h", "source_revision": "r", "confidence": "0.5",
        "valid_until": "2030-01-01T00:00:00Z", "unknown": [1, 2.5e3, null, {"a": true}],
    });
    vec![
        call("search", json!({"query": "deploy", "limit": "5", "exclude_stale": "true", "scope": "shared"})),
        call("search", json!({"query": "tuesdays"})),
        call("remember", full),
        call("forget", json!({"memory_id": "01890000-0000-7000-8000-000000000000"})),
        call("forget", json!({"source_id": "nowhere", "workspace": "plans"})),
        call("validate_memory", json!({"source_id": "i"})),
        call("gateway_call", json!({"server": "github", "tool": "get_me", "arguments": {"a": [[]]}})),
        json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list", "params": {"_meta": modern}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
            .to_string(),
        json!({"jsonrpc": "2.0", "id": -1, "method": "server/discover"}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(),
        "[]".to_owned(),
    ]
}

/// One change to a body.
#[derive(Debug, Clone)]
enum Change {
    Flip { at: prop::sample::Index, bits: u8 },
    Cut { at: prop::sample::Index },
    Remove { at: prop::sample::Index, bytes: usize },
    Insert { at: prop::sample::Index, what: &'static [u8] },
    Double { at: prop::sample::Index, bytes: usize },
    Splice { at: prop::sample::Index, other: prop::sample::Index },
}

/// Pieces that trip parsers.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"null",
    b"1e999",
    b"-0",
    b"18446744073709551616",
    b"\xef\xbb\xbf",
    b"true",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"\"id\":1,",
    b"\"_meta\":{},",
    b" ",
    b"\n",
    b"\xe2\x80\xae",
    b"\"jsonrpc\":\"2.0\",",
];

impl Change {
    fn strategy() -> impl Strategy<Value = Self> {
        let at = any::<prop::sample::Index>;
        prop_oneof![
            (at(), 1..=255_u8).prop_map(|(at, bits)| Self::Flip { at, bits }),
            at().prop_map(|at| Self::Cut { at }),
            (at(), 1..20_usize).prop_map(|(at, bytes)| Self::Remove { at, bytes }),
            (at(), prop::sample::select(PIECES)).prop_map(|(at, what)| Self::Insert { at, what }),
            (at(), 1..60_usize).prop_map(|(at, bytes)| Self::Double { at, bytes }),
            (at(), at()).prop_map(|(at, other)| Self::Splice { at, other }),
        ]
    }

    fn apply(&self, body: &mut Vec<u8>, corpus: &[String]) {
        let place = |at: &prop::sample::Index, body: &[u8]| at.index(body.len() + 1);
        match self {
            Self::Flip { at, bits } => {
                let at = place(at, body);
                if let Some(byte) = body.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Cut { at } => body.truncate(place(at, body)),
            Self::Remove { at, bytes } => {
                let at = place(at, body);
                body.drain(at..(at + bytes).min(body.len()));
            }
            Self::Insert { at, what } => {
                let at = place(at, body);
                body.splice(at..at, what.iter().copied());
            }
            Self::Double { at, bytes } => {
                let at = place(at, body);
                let piece = body[at..(at + bytes).min(body.len())].to_vec();
                body.splice(at..at, piece);
            }
            Self::Splice { at, other } => {
                let other = corpus[other.index(corpus.len())].as_bytes();
                let (at, from) = (place(at, body), place(at, other));
                body.truncate(at);
                body.extend_from_slice(&other[from..]);
            }
        }
    }
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let mutated = (any::<prop::sample::Index>(), vec(Change::strategy(), 1..4)).prop_map(|(start, changes)| {
        let corpus = corpus();
        let mut body = corpus[start.index(corpus.len())].clone().into_bytes();
        changes.iter().for_each(|change| change.apply(&mut body, &corpus));
        body
    });
    let noise = vec(any::<u8>(), 0..300);
    let almost_json = "[\\[\\]{}\",:0-9a-z\\\\ .eE+-]{0,120}".prop_map(String::into_bytes);
    prop_oneof![16 => mutated, 2 => noise, 2 => almost_json]
}

struct Target {
    server: TestServer,
    organization: Organization,
    caller: Caller,
    position: Cell<u64>,
}

impl Target {
    async fn deliver(&self, body: Vec<u8>, is_modern: bool) -> Answer {
        let mut request = http::Request::post("/mcp")
            .header("authorization", format!("Bearer {}", self.caller.key))
            .header("accept", "application/json, text/event-stream");
        if is_modern {
            request = request.header(header::PROTOCOL_VERSION, MODERN_VERSION).header(header::METHOD, "tools/list");
        }
        self.server.deliver(request.body(body).expect("a request")).await
    }

    /// Nothing panics, every answer is one that the contract knows, and only an acknowledged write changes anything.
    async fn check(&self, body: Vec<u8>, is_modern: bool) -> Result<(), TestCaseError> {
        let answer = self.deliver(body, is_modern).await;
        prop_assert!(STATUSES.contains(&answer.status), "status {}: {}", answer.status, answer.text);
        prop_assert_eq!(answer.text.is_empty(), answer.status == 202);
        let position = self.server.log_position(&self.organization).await;
        let is_write = position != self.position.replace(position);
        if answer.text.is_empty() {
            prop_assert!(!is_write, "a notification was executed");
            return Ok(());
        }
        let json: Value = serde_json::from_str(&answer.text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&json["jsonrpc"], "2.0");
        prop_assert_eq!(json.get("result").is_some(), json.get("error").is_none());
        if json["error"].is_object() {
            prop_assert!(json["error"]["code"].is_i64() && json["error"]["message"].is_string());
        }
        if is_write {
            prop_assert_eq!(&json["result"]["isError"], &json!(false), "a failed call has written");
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration to read the number from")]
fn asked_for() -> Option<u32> {
    std::env::var("MNEMON_FUZZ_BODIES").ok().map(|text| text.parse().expect("MNEMON_FUZZ_BODIES is a number"))
}

#[test]
fn no_request_body_breaks_anything() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let target = runtime.block_on(async {
        let server = TestServer::start().await;
        let organization = server.organization().await;
        let caller = server.member(&organization, MemberSpec::default()).await;
        caller.remember("We deploy on Tuesdays").await;
        let position = Cell::new(server.log_position(&organization).await);
        Target { server, organization, caller, position }
    });
    let asked_for = asked_for();
    let config = Config { cases: asked_for.unwrap_or(BODIES), failure_persistence: None, ..Config::default() };
    let mut runner = match asked_for {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let outcome = runner.run(&(bodies(), any::<bool>()), |(body, is_modern)| {
        let shown = String::from_utf8_lossy(&body).into_owned();
        let checked = runtime.block_on(target.check(body, is_modern));
        checked.map_err(|error| TestCaseError::fail(format!("{error}; the body: {shown}")))
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn the_corpus_itself_is_answered() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    for body in corpus() {
        let answer = caller.post(body.clone(), &[]).await;
        let expected = if body == "[]" || body.contains("_meta") { 400 } else { answer.status.min(202) };
        assert_eq!(answer.status, expected, "{body}: {}", answer.text);
    }
}
