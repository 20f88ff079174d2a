//! The page: what a person reads, what the browser is told, and what a wrong key does.

use std::time::Duration;

use mnemon_testkit::oauth::{Flow, filled, returned};
use serde_json::json;

use super::{CALLBACK, Scene};

#[tokio::test]
async fn the_page_says_who_asks_where_it_returns_what_it_may_and_how_to_undo_it() {
    let scene = Scene::set().await;
    let page = scene.server.browser().get(&scene.flow.path()).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    for part in [
        "Connect <span class=\"client\">Chat</span>?",
        "<p class=\"host\">chat.example</p>",
        "search, save and delete memories, and check their freshness",
        "only in your key's project",
        "<strong>30 days</strong>",
        "mnemon connection revoke",
        "type=\"password\" autocomplete=\"off\"",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    assert!(!page.text.contains("<script"), "it works without script");
    assert!(!page.text.contains("This is a program on your own computer"));
    assert!(page.text.len() < 12_000, "{} bytes", page.text.len());
}

#[tokio::test]
async fn a_return_to_the_persons_own_machine_is_said_loudly() {
    let scene = Scene::set().await;
    let flow = scene.server.flow("http://localhost/callback").await;
    let any_port = Flow::new(&flow.client_id, "http://localhost:53682/callback");
    let page = scene.server.browser().get(&any_port.path()).await;
    assert!(page.text.contains("<p class=\"host\">localhost:53682</p>"), "{}", page.text);
    assert!(page.text.contains("This is a program on your own computer."));
}

#[tokio::test]
async fn what_a_client_calls_itself_is_text_and_nothing_else() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let name = "<script>alert(1)</script>\u{202e}\" onfocus=x & 'co'";
    let body = json!({"client_name": name, "redirect_uris": [CALLBACK]});
    let client = browser.post_json("/register", &body).await.json();
    let page = browser.get(&Flow::new(client["client_id"].as_str().expect("an id"), CALLBACK).path()).await;
    assert!(!page.text.contains("<script>") && !page.text.contains('\u{202e}'), "{}", page.text);
    assert!(page.text.contains("&#60;script&#62;alert(1)&#60;/script&#62;"), "{}", page.text);
    let body = json!({"redirect_uris": [CALLBACK]});
    let client = browser.post_json("/register", &body).await.json();
    let page = browser.get(&Flow::new(client["client_id"].as_str().expect("an id"), CALLBACK).path()).await;
    assert!(page.text.contains("An unnamed program"));
}

/// No script, no frame, no cache, no referrer; and no `form-action`, which would stop the redirect.
#[tokio::test]
async fn every_answer_of_the_page_is_guarded() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let gone = browser.post_form("/authorize", &filled(&page, &scene.person.key)).await;
    let wrong = browser.post_form("/authorize", &filled(&page, "mnm_wrong")).await;
    let error = browser.get("/authorize?client_id=nobody").await;
    assert_eq!([page.status, gone.status, wrong.status, error.status], [200, 303, 400, 400]);
    for answer in [&page, &gone, &wrong, &error] {
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{policy}");
        assert!(!policy.contains("form-action") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn the_cookie_is_for_this_host_and_for_no_script() {
    for (scene, expected) in [
        (Scene::set().await, ("mnemon-form=", "; Path=/; HttpOnly; SameSite=Lax")),
        (Scene::set_public().await, ("__Host-mnemon-form=", "; Path=/; HttpOnly; SameSite=Lax; Secure")),
    ] {
        let page = scene.server.browser().get(&scene.flow.path()).await;
        let cookie = page.header("set-cookie");
        assert!(cookie.starts_with(expected.0) && cookie.ends_with(expected.1), "{cookie}");
    }
}

#[tokio::test]
async fn a_pasted_key_leads_back_with_code_state_and_issuer() {
    let scene = Scene::set_public().await;
    let answer = scene.flow.paste(&mut scene.server.browser(), &format!(" {}\n", scene.person.key)).await;
    assert_eq!((answer.status, answer.text.as_str()), (303, ""));
    assert!(answer.header("location").starts_with("https://chat.example/callback?from=mnemon&code=mnc_"));
    assert_eq!(returned(&answer, "state").as_deref(), Some("st/at e&="));
    assert_eq!(returned(&answer, "iss").as_deref(), Some("https://memory.example"));
}

#[tokio::test]
async fn without_a_state_none_comes_back() {
    let mut scene = Scene::set().await;
    super::unset(&mut scene.flow.request, "state");
    let answer = scene.flow.paste(&mut scene.server.browser(), &scene.person.key).await;
    assert_eq!((answer.status, returned(&answer, "state")), (303, None));
}

#[tokio::test]
async fn who_cancels_is_sent_back_with_the_refusal() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let mut fields = filled(&page, "");
    super::set(&mut fields, "answer", "no");
    let answer = browser.post_form("/authorize", &fields).await;
    assert_eq!((answer.status, returned(&answer, "error").as_deref()), (303, Some("access_denied")));
    assert_eq!(returned(&answer, "iss").as_deref(), Some(scene.server.url.as_str()));
    assert_eq!(returned(&answer, "code"), None);
}

#[tokio::test]
async fn a_wrong_key_is_said_clearly_and_the_form_stays() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let half = &scene.person.key[..30];
    for (pasted, text) in [
        (half, "This key was rejected."),
        ("mno_0000000000000000000000000000000000000000000000000", "This key was rejected."),
        ("", "Paste an API key first."),
    ] {
        let again = browser.post_form("/authorize", &filled(&page, pasted)).await;
        assert_eq!(again.status, 400, "{pasted}");
        assert!(again.text.contains(text) && again.text.contains("role=\"alert\""), "{}", again.text);
        assert!(pasted.is_empty() || !again.text.contains(pasted), "the page does not repeat what was pasted");
        let answer = browser.post_form("/authorize", &filled(&again, &scene.person.key)).await;
        assert_eq!(answer.status, 303, "the form that came back works");
    }
}

#[tokio::test]
async fn the_sixth_wrong_key_in_a_minute_waits_and_a_right_one_always_works() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    for _ in 0..3 {
        let answer = browser.post_form("/authorize", &filled(&page, &scene.person.key)).await;
        assert_eq!(answer.status, 303, "right keys do not count");
    }
    for attempt in 1..=5 {
        let answer = browser.post_form("/authorize", &filled(&page, "mnm_wrong")).await;
        assert_eq!(answer.status, 400, "{attempt}");
    }
    let answer = browser.post_form("/authorize", &filled(&page, "mnm_wrong")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, "60"));
    assert!(answer.text.contains("Wait 60 seconds"), "{}", answer.text);
    let answer = browser.post_form("/authorize", &filled(&page, &scene.person.key)).await;
    assert_eq!(answer.status, 303, "others behind the address lock nobody out");
    scene.server.clock.advance(Duration::from_secs(60));
    assert_eq!(browser.post_form("/authorize", &filled(&page, "mnm_wrong")).await.status, 400);
}

/// Many at the same moment are counted one by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_thirty_wrong_keys_at_once_five_are_tried() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let page = browser.get(&scene.flow.path()).await;
    let cookie = browser.cookie.clone();
    let tries: Vec<_> = (0..30)
        .map(|_| {
            let (mut browser, fields) = (scene.server.browser(), filled(&page, "mnm_wrong"));
            browser.cookie.clone_from(&cookie);
            tokio::spawn(async move { browser.post_form("/authorize", &fields).await.status })
        })
        .collect();
    let mut statuses = Vec::new();
    for running in tries {
        statuses.push(running.await.expect("the request ends"));
    }
    statuses.sort_unstable();
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 5, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 25, "{statuses:?}");
}

/// Behind a proxy each caller is counted by its own address; anybody else can't claim another's.
#[tokio::test]
async fn wrong_keys_are_counted_by_the_callers_own_address() {
    let mut options = mnemon_testkit::TestServerOptions::default();
    options.trusted_proxies.extend(mnemon_server::config::Network::parse("127.0.0.1"));
    for (scene, is_trusted) in [(Scene::set_with(options).await, true), (Scene::set().await, false)] {
        let mut browser = scene.server.browser();
        let page = browser.get(&scene.flow.path()).await;
        let mut last = 0;
        for n in 0..6 {
            let header = [("x-forwarded-for", format!("198.51.100.{n}"))];
            let header: Vec<(&str, &str)> = header.iter().map(|(name, value)| (*name, value.as_str())).collect();
            last = browser.post_form_with("/authorize", &filled(&page, "mnm_wrong"), &header).await.status;
        }
        assert_eq!(last, if is_trusted { 400 } else { 429 });
    }
}
