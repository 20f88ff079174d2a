//! Random forms, URLs and JSON at every OAuth endpoint: each is refused and never causes an internal error.

use mnemon_testkit::TestServer;
use mnemon_testkit::oauth::encode;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const ROUNDS: usize = 3_000;

/// Pieces that trip parsers of forms and URLs.
const PIECES: [&str; 16] = [
    "&",
    "=",
    "%",
    "%00",
    "%zz",
    "%ff%fe",
    "client_id=",
    "redirect_uri=https%3A%2F%2F",
    "state=",
    "code=",
    "form=1.",
    "key=mnm_",
    "\u{202e}",
    "[::1]",
    "..",
    "a",
];

/// A valid query with such pieces inserted anywhere.
fn spoiled(good: String) -> impl Strategy<Value = Vec<u8>> {
    vec((any::<prop::sample::Index>(), 0..PIECES.len(), any::<bool>()), 1..6).prop_map(move |changes| {
        let mut bytes = good.clone().into_bytes();
        for (at, piece, is_cut) in changes {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            if is_cut {
                bytes.truncate(at);
            }
            bytes.splice(at..at, PIECES[piece].bytes());
        }
        bytes
    })
}

#[tokio::test]
async fn noise_is_refused_at_every_door() {
    let server = TestServer::start().await;
    let flow = server.flow("https://chat.example/cb").await;
    let register = r#"{"client_name":"x","redirect_uris":["https://a.example/"]}"#.to_owned();
    let doors = [
        ("GET", "/authorize", encode(&flow.request)),
        ("POST", "/authorize", encode(&flow.request)),
        ("POST", "/token", encode(&flow.exchange("mnc_x"))),
        ("POST", "/revoke", "token=mno_x&client_id=x".to_owned()),
        ("POST", "/register", register),
    ];
    for (method, path, good) in doors {
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let strategy = prop_oneof![4 => spoiled(good), 1 => vec(any::<u8>(), 0..200)];
        for round in 0..ROUNDS / 5 {
            let bytes = strategy.new_tree(&mut runner).expect("a case").current();
            let in_address: String =
                bytes.iter().filter(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect();
            let uri = if method == "GET" { format!("{path}?{in_address}") } else { path.to_owned() };
            let request = http::Request::builder().method(method).uri(uri);
            let request = request.header("content-type", "application/x-www-form-urlencoded").body(bytes.clone());
            // What is not a valid request never reaches the service.
            let Ok(request) = request else { continue };
            let answer = server.deliver(request).await;
            assert!(
                answer.status < 500,
                "{method} {path} {round}: {} {:?}",
                answer.status,
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}
