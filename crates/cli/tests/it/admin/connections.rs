//! `mnemon connection`, after the whole way of OAuth with the real process, whose log at its most talkative tells no secret.

use mnemon_testkit::oauth::{Browser, Flow, filled};
use serde_json::{Value, json};

use super::house::{House, masked, text};

const CALLBACK: &str = "https://chat.example/callback";

/// Registers, pastes wrong keys and the right one, and exchanges the code; all secrets that were on the way.
fn connect(house: &House) -> Vec<String> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut browser = Browser::at(&house.service.url);
        let body = json!({"client_name": "Chat", "redirect_uris": [CALLBACK]});
        let client = browser.post_json("/register", &body).await.json();
        let flow = Flow::new(&text(&client, "client_id"), CALLBACK);
        let page = browser.get(&flow.path()).await;
        for wrong in [format!("{}x", house.key), house.key[..40].to_owned()] {
            assert_eq!(browser.post_form("/authorize", &filled(&page, &wrong)).await.status, 400);
        }
        let mut twice = filled(&page, &house.key);
        twice.push(("state".to_owned(), "again".to_owned()));
        assert_eq!(browser.post_form("/authorize", &twice).await.status, 303);
        let code = flow.agree(&mut browser, &house.key).await;
        let token = text(&browser.post_form("/token", &flow.exchange(&code)).await.json(), "access_token");
        let again = browser.post_form("/token", &flow.exchange(&format!("{code}x"))).await;
        assert_eq!(again.status, 400);
        vec![house.key.clone(), code, token, flow.verifier]
    })
}

#[test]
fn connections_are_listed_and_ended_and_no_secret_is_logged() {
    let house = House::open_with(&["--log-level", "trace"]);
    let secrets = connect(&house);
    let listed = house.admin(&["connection", "list"]);
    let table = "CONNECTION ID CLIENT NAME CREATED AT LAST USED AT EXPIRES AT REVOKED AT\n<id> Chat <time> - <time> -";
    assert_eq!(masked(&listed), table);
    let rows = house.operator_json(&["connection", "list", "--project", &house.project()]);
    let id = text(&rows["connections"][0], "connection_id");
    assert_eq!(house.admin_json(&["connection", "revoke", &id]), json!({"revoked": true}));
    let gone = house.admin(&["connection", "revoke", &id]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "error: there is no such connection\n"));
    let rows = house.admin_json(&["connection", "list"]);
    assert!(rows["connections"][0]["revoked_at"].is_string(), "{rows}");
    assert_ne!(rows["connections"][0]["expires_at"], Value::Null);
    let ended = house.service.stop();
    assert!(ended.err.contains("\"level\":\"DEBUG\"") || ended.err.contains("TRACE"), "the log was talkative");
    for line in ended.err.lines() {
        for secret in &secrets {
            assert!(!line.contains(&secret[4..40]), "{line}");
        }
    }
}
