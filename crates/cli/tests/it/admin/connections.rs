//! `mnemon connection`, after a complete OAuth flow with the real process. Its log, at the most verbose level, has no
//! secret.

use mnemon_testkit::oauth::{Browser, Flow, filled};
use mnemon_testkit::{Page, Web};
use serde_json::{Value, json};

use super::house::{House, masked, text};
use crate::process::{NAMED_CONFIG, Place};

const CALLBACK: &str = "https://chat.example/callback";

/// Registers, pastes wrong keys and the right one, and exchanges the code. Returns every secret involved.
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
    let table = "CONNECTION ID CLIENT NAME RETURN HOST CREATED AT LAST USED AT EXPIRES AT REVOKED AT\n<id> Chat chat.example <time> - <time> -";
    assert_eq!(masked(&listed), table);
    let rows = house.operator_json(&["connection", "list", "--project", &house.project()]);
    let id = text(&rows["connections"][0], "connection_id");
    assert_eq!(house.admin_json(&["connection", "revoke", &id, "--yes"]), json!({"revoked": true}));
    let gone = house.admin(&["connection", "revoke", &id, "--yes"]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "error: no such connection\n"));
    let rows = house.admin_json(&["connection", "list"]);
    assert!(rows["connections"][0]["revoked_at"].is_string(), "{rows}");
    assert_ne!(rows["connections"][0]["expires_at"], Value::Null);
    house.admin(&["remember", "a fact that is not logged"]);
    let ended = house.service.stop();
    assert!(ended.err.contains("\"level\":\"DEBUG\"") || ended.err.contains("TRACE"), "the log was talkative");
    for line in ended.err.lines() {
        for secret in &secrets {
            assert!(!line.contains(&secret[4..40]), "{line}");
        }
    }
}

/// What a stranger is told about every URL that is not reached.
const NOT_REACHED: &str = "its URL is not reachable from this service";

/// A client whose id is the URL of a document on this machine. The operator's file allows the host and trusts its
/// certificate; without that nothing is called.
#[test]
fn a_document_on_an_allowed_host_is_fetched_as_the_configuration_says() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let web = runtime.block_on(Web::start(&["localhost"]));
    let id = web.url("localhost", "/client.json");
    web.put("/client.json", Page::Json(json!({"client_id": id, "redirect_uris": [CALLBACK]}).to_string()));
    for (settings, expected, said) in [
        (
            "[outgoing]\ndocument_hosts = [\"localhost\"]\nca_file = \"ca.pem\"\n",
            200,
            "described at <strong>localhost</strong>",
        ),
        ("[outgoing]\ndocument_hosts = [\"localhost\"]\n", 400, NOT_REACHED),
        ("[outgoing]\nca_file = \"ca.pem\"\n", 400, NOT_REACHED),
        (
            "[outgoing]\nca_file = \"ca.pem\"\n[outgoing.allowed_hosts]\nlocalhost = { accounts = [\"*\"] }\n",
            400,
            NOT_REACHED,
        ),
    ] {
        let place = Place::new();
        place.write("ca.pem", &web.certificate_pem);
        place.write(NAMED_CONFIG, settings);
        let service = place.serve(&[]);
        let page = runtime.block_on(Browser::at(&service.url).get(&Flow::new(&id, CALLBACK).path()));
        assert_eq!(page.status, expected, "{settings}: {}", page.text);
        assert!(page.text.contains(said), "{settings}: {}", page.text);
    }
    assert_eq!(web.connections(), 2, "what integrations may reach is closed to strangers");
}

#[test]
fn a_file_of_certificates_that_is_none_is_named() {
    let place = Place::new();
    place.write("empty.pem", "nothing");
    for (file, said) in
        [("empty.pem", "it contains no certificate"), ("absent.pem", "can't read outgoing.ca_file absent.pem")]
    {
        place.write(NAMED_CONFIG, &format!("[outgoing]\nca_file = \"{file}\"\n"));
        let done = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
        assert_eq!(done.code, 1);
        assert!(done.err.contains(said), "{}", done.err);
    }
}
