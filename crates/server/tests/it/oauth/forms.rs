//! The seal on the form: only this browser, only this request, not forever, and two windows do not invalidate each
//! other.

use std::time::Duration;

use mnemon_testkit::oauth::filled;

use super::{Scene, set};

#[tokio::test]
async fn two_windows_of_one_browser_both_work() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let first = browser.get(&scene.flow.path()).await;
    let second = browser.get(&scene.flow.path()).await;
    for page in [&first, &second, &first] {
        let answer = browser.post_form("/authorize", &filled(page, &scene.person.key)).await;
        assert_eq!(answer.status, 303);
    }
}

#[tokio::test]
async fn a_form_of_another_browser_or_request_does_nothing() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let good = filled(&page, &scene.person.key);
    let mut others = scene.server.browser();
    let theirs = filled(&others.get(&scene.flow.path()).await, &scene.person.key);

    let answer = scene.server.browser().post_form("/authorize", &good).await;
    assert_eq!(answer.status, 403, "a browser without the cookie");
    assert!(answer.text.contains("was not sent from this page in this browser"), "{}", answer.text);
    assert_eq!(browser.post_form("/authorize", &theirs).await.status, 403, "another browser's form");
    for (name, value) in [
        ("state", "other"),
        ("code_challenge", "0000000000000000000000000000000000000000000"),
        ("scope", "mcp more"),
        ("resource", &format!("{}/mcp", scene.server.url)),
        ("form", "1.x"),
        ("form", "nonsense"),
        ("form", ""),
    ] {
        let mut fields = good.clone();
        set(&mut fields, name, value);
        assert_eq!(browser.post_form("/authorize", &fields).await.status, 403, "{name}={value}");
    }
    let (expiry, mac) =
        good.iter().find(|(name, _)| name == "form").and_then(|(_, seal)| seal.split_once('.')).expect("a seal");
    let mut later = good.clone();
    set(&mut later, "form", &format!("{}.{mac}", expiry.parse::<i64>().expect("seconds") + 1));
    assert_eq!(browser.post_form("/authorize", &later).await.status, 403, "the end of the form can't be moved");
    assert_eq!(browser.post_form("/authorize", &good).await.status, 303);
}

#[tokio::test]
async fn a_form_is_taken_for_ten_minutes_and_then_asked_for_again() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    scene.server.clock.advance(Duration::from_secs(599));
    assert_eq!(browser.post_form("/authorize", &filled(&page, &scene.person.key)).await.status, 303);
    scene.server.clock.advance(Duration::from_secs(1));
    let answer = browser.post_form("/authorize", &filled(&page, &scene.person.key)).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("This page was open for too long, so nothing happened."), "{}", answer.text);
    assert_eq!(browser.post_form("/authorize", &filled(&answer, &scene.person.key)).await.status, 303);
}

#[tokio::test]
async fn a_form_sent_by_another_site_does_nothing() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let fields = filled(&page, &scene.person.key);
    let own = scene.server.url.clone();
    for (headers, expected) in [
        (vec![("origin", "https://evil.example")], 403),
        (vec![("origin", "null"), ("sec-fetch-site", "cross-site")], 403),
        (vec![("origin", "null"), ("sec-fetch-site", "same-site")], 403),
        (vec![("origin", own.as_str()), ("origin", "https://evil.example")], 403),
        (vec![("origin", own.as_str()), ("sec-fetch-site", "same-origin")], 303),
        (vec![("origin", "null"), ("sec-fetch-site", "same-origin")], 303),
        (vec![], 303),
    ] {
        let answer = browser.post_form_with("/authorize", &fields, &headers).await;
        assert_eq!(answer.status, expected, "{headers:?}");
    }
}

/// Which origins may call tools has nothing to do with who may send the form.
#[tokio::test]
async fn an_origin_that_may_call_tools_may_not_send_the_form() {
    let allowed_origins = vec!["https://app.example".to_owned(), "*".to_owned()];
    let options = mnemon_testkit::TestServerOptions { allowed_origins, ..Default::default() };
    let scene = Scene::set_with(options).await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let headers = [("origin", "https://app.example")];
    let answer = browser.post_form_with("/authorize", &filled(&page, &scene.person.key), &headers).await;
    assert_eq!(answer.status, 403);
}
