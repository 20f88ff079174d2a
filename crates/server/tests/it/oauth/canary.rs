//! The pasted key, the code and the token are nowhere but where they belong: not in an address, a header, an answer, a
//! stored row or the write-ahead log. (The log of the real process: `crates/cli/tests/it/admin/connections.rs`.)

use mnemon_testkit::oauth::{filled, returned};
use serde_json::Value;

use super::{Scene, set};

#[tokio::test]
async fn the_secrets_stand_in_no_answer_and_in_no_row() {
    let mut scene = Scene::set_public().await;
    let key = scene.person.key.clone();
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let mut shown = vec![page.clone()];
    // The key is sent with every mistake possible around it.
    for (name, value) in
        [("form", "1.x"), ("client_id", "nobody"), ("code_challenge_method", "plain"), ("redirect_uri", "x")]
    {
        let mut fields = filled(&page, &key);
        set(&mut fields, name, value);
        shown.push(browser.post_form("/authorize", &fields).await);
    }
    for wrong in [format!("{key}x"), key[..52].to_owned(), format!("{key} {key}")] {
        shown.push(browser.post_form("/authorize", &filled(&page, &wrong)).await);
    }
    let gone = browser.post_form("/authorize", &filled(&page, &key)).await;
    let code = returned(&gone, "code").expect("a code");
    shown.push(gone.clone());
    let exchanged = browser.post_form("/token", &scene.flow.exchange(&code)).await;
    let token = exchanged.json()["access_token"].as_str().expect("a token").to_owned();
    let operator = scene.server.operator().await;
    for path in ["/connections", "/keys", "/usage"] {
        let path = format!("/projects/{}{path}", scene.organization.project);
        let text = operator.manage("GET", &path, Value::Null).await.to_string();
        assert!([&key, &code, &token].iter().all(|secret| !text.contains(&secret[4..47])), "{path}");
    }
    for answer in &shown {
        let headers = format!("{:?}", answer.headers);
        assert!(!answer.text.contains(&key[4..47]) && !headers.contains(&key[4..47]), "{}", answer.text);
    }
    assert!(!format!("{:?}", gone.headers).contains("mnm_"));
    assert!(!exchanged.text.contains("mnm_"), "{}", exchanged.text);
    scene.server.stop().await;
    for secret in [&key, &code, &token, &scene.flow.verifier] {
        let files = scene.server.data_files_with(&secret.as_bytes()[4..43]);
        assert_eq!(files, Vec::<String>::new(), "a secret lies in the data directory");
    }
}
