//! Rejected credentials: thirty a minute from one address, and a valid credential always works.

use std::time::Duration;

use mnemon_core::{CredentialKind, make_token};
use mnemon_server::config::Network;
use mnemon_testkit::{Answer, Caller, TestServer, TestServerOptions};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
const REFUSED_MAX: usize = 30;

/// The endpoints that need a credential: method, path, and the member that contains the text of their errors.
const DOORS: [(&str, &str, &str); 3] = [
    ("POST", "/mcp", "error_description"),
    ("GET", "/admin/v1/accounts", "message"),
    ("GET", "/agent/v1/sessions", "error_description"),
];

/// Sends a request with this credential as it is.
async fn knock(caller: &Caller, door: (&str, &str, &str), authorization: &str, more: &[(&str, &str)]) -> Answer {
    let headers = [&[("authorization", authorization)], more].concat();
    caller.send(door.0, door.1, &headers, LIST).await
}

fn unknown_key(n: u8) -> String {
    format!("Bearer {}", make_token(CredentialKind::ApiKey, &[n; 32]).expose())
}

#[tokio::test]
async fn the_thirty_first_refused_credential_of_a_minute_is_told_to_wait() {
    for door in DOORS {
        let server = TestServer::start().await;
        let nobody = server.caller("");
        for n in 0..REFUSED_MAX {
            // Every rejection counts, whether or not the text could be a credential.
            let authorization = if n % 2 == 0 { unknown_key(1) } else { "Bearer garbage".to_owned() };
            assert_eq!(knock(&nobody, door, &authorization, &[]).await.status, 401, "{door:?} {n}");
        }
        for authorization in [unknown_key(2), "Bearer garbage".to_owned(), "Basic x".to_owned(), "mnp_x".to_owned()] {
            let answer = knock(&nobody, door, &authorization, &[]).await;
            assert_eq!((answer.status, answer.header("retry-after")), (429, "60"), "{door:?} {authorization}");
            assert_eq!(answer.json()["error"], "too_many_refused", "{door:?}");
            assert!(answer.json()[door.2].as_str().unwrap().contains("try again in 60 s"), "{}", answer.text);
        }
        server.clock.advance(Duration::from_secs(59));
        assert_eq!(knock(&nobody, door, &unknown_key(3), &[]).await.status, 429, "{door:?}");
        server.clock.advance(Duration::from_secs(1));
        assert_eq!(knock(&nobody, door, &unknown_key(3), &[]).await.status, 401, "{door:?} a minute later");
    }
}

#[tokio::test]
async fn guesses_at_the_operators_token_count_and_the_token_itself_always_works() {
    let server = TestServer::start().await;
    let operator = server.operator().await;
    let door = DOORS[1];
    for n in 0..=REFUSED_MAX {
        let guess = format!("Bearer mnp_{n:040}");
        let expected = if n < REFUSED_MAX { 401 } else { 429 };
        assert_eq!(knock(&operator, door, &guess, &[]).await.status, expected, "{n}");
    }
    assert_eq!(knock(&operator, door, &format!("Bearer {}", operator.key), &[]).await.status, 200);
}

#[tokio::test]
async fn a_key_that_works_is_never_refused_for_the_guesses_of_its_neighbours() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    for n in 0..2 * REFUSED_MAX {
        let _ = knock(&caller, DOORS[0], &unknown_key(9), &[]).await;
        assert_eq!(caller.post(LIST, &[]).await.status, 200, "{n}");
    }
    let connected = server.connect(&caller.key).await;
    assert_eq!(connected.post(LIST, &[]).await.status, 200, "nor is a token");
}

#[tokio::test]
async fn a_request_without_a_credential_is_asked_for_one_however_often_it_comes() {
    let server = TestServer::start().await;
    let nobody = server.caller("");
    for n in 0..=2 * REFUSED_MAX {
        assert_eq!(nobody.send("POST", "/mcp", &[], LIST).await.status, 401, "{n}");
    }
    for _ in 0..=REFUSED_MAX {
        let _ = knock(&nobody, DOORS[0], "Bearer garbage", &[]).await;
    }
    let challenged = nobody.send("POST", "/mcp", &[], LIST).await;
    assert_eq!(challenged.status, 401, "a client finds out where to sign in, whatever its neighbours do");
    assert!(challenged.header("www-authenticate").starts_with("Bearer resource_metadata="));
}

#[tokio::test]
async fn addresses_behind_a_trusted_proxy_are_counted_apart_and_a_callers_own_claim_is_not_believed() {
    let trusted = Network::parse("127.0.0.0/8").expect("a network");
    let behind_proxy = TestServerOptions { trusted_proxies: vec![trusted], ..Default::default() };
    let server = TestServer::start_with(behind_proxy).await;
    let nobody = server.caller("");
    for _ in 0..REFUSED_MAX {
        let _ = knock(&nobody, DOORS[0], "Bearer garbage", &[("x-forwarded-for", "198.51.100.7")]).await;
    }
    let from = async |address: &str| knock(&nobody, DOORS[0], "Bearer x", &[("x-forwarded-for", address)]).await.status;
    assert_eq!(from("198.51.100.7").await, 429);
    assert_eq!(from("198.51.100.8").await, 401);
    assert_eq!(from("203.0.113.1, 198.51.100.7").await, 429, "what stands before the proxy's word is a claim");
    let direct = TestServer::start().await;
    let nobody = direct.caller("");
    for n in 0..REFUSED_MAX {
        let claim = format!("198.51.100.{n}");
        let _ = knock(&nobody, DOORS[0], "Bearer garbage", &[("x-forwarded-for", &claim)]).await;
    }
    let answer = knock(&nobody, DOORS[0], "Bearer garbage", &[("x-forwarded-for", "198.51.100.99")]).await;
    assert_eq!(answer.status, 429, "nobody is a proxy here");
}
