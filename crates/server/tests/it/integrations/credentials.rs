//! Credentials of upstreams: they reach the upstream and nothing else. Credentials of callers reach no upstream.

use mnemon_engine::admin::KeyMismatch;
use mnemon_engine::integrations::SealingKey;
use serde_json::{Value, json};

use super::{KEY, World, failure, options};

const CANARY: &str = "upstream-secret-4711-canary";

#[tokio::test]
async fn a_credential_reaches_its_upstream_and_no_answer_and_no_file() {
    let world = World::without_integration().await;
    world.upstream.want_credential(&format!("Bearer {CANARY}"));
    let mut answers =
        vec![world.put("host", json!({"url": world.upstream.url, "allow": ["*"], "bearer": CANARY})).await];
    assert_eq!(answers[0]["works"], true, "{}", answers[0]);
    let body = json!({"url": world.upstream.url, "headers": {"X-Api-Key": CANARY}});
    answers.push(world.put("other", body).await);
    assert_eq!(
        answers[1]["problem"],
        "'other' rejected its credential (HTTP 401); an admin must give the integration a new one"
    );
    answers.push(world.admin.manage("GET", &world.path(""), Value::Null).await);
    answers.push(world.admin.manage("GET", &world.path("/host"), Value::Null).await);
    answers.push(world.admin.manage("POST", &world.path("/host/test"), Value::Null).await);
    answers.push(world.member.call("host_readonly.echo", json!({"text": "x"})).await.result);
    answers.push(world.member.call("gateway_call", json!({"server": "other", "tool": "echo"})).await.result);
    answers.push(json!(world.server.audit_log(&world.organization).await));
    let said = format!("{answers:?}");
    assert!(!said.contains(CANARY), "{said}");
    assert_eq!(answers[3]["has_credential"], true);
    let sent = world.upstream.recorded();
    assert!(sent.iter().any(|request| request.header("x-api-key") == CANARY));
    assert_eq!(world.server.data_files_with(CANARY), Vec::<String>::new());
    assert_ne!(world.server.data_files_with(&world.upstream.url), Vec::<String>::new(), "the search would find it");
}

#[tokio::test]
async fn a_credential_is_not_sent_to_another_address_than_it_was_given_for() {
    let world = World::without_integration().await;
    world.put("host", json!({"url": world.upstream.url, "allow": ["*"], "bearer": CANARY})).await;
    let elsewhere = mnemon_testkit::TestUpstream::start().await;
    let moved = world.put("host", json!({"url": elsewhere.url})).await;
    assert_eq!(moved["integration"]["has_credential"], false);
    assert!(elsewhere.recorded().iter().all(|request| !request.head.contains(CANARY)));
    assert!(!elsewhere.recorded().is_empty());
}

#[tokio::test]
async fn a_credential_can_be_changed_kept_and_taken_away() {
    let world = World::without_integration().await;
    let last = || world.upstream.recorded().last().expect("a request").header("authorization").to_owned();
    world.put("host", json!({"url": world.upstream.url, "allow": ["echo"], "bearer": "first"})).await;
    assert_eq!(last(), "Bearer first");
    world.put("host", json!({"bearer": "second"})).await;
    assert_eq!(last(), "Bearer second");
    world.put("host", json!({"title": "Renamed"})).await;
    assert_eq!(last(), "Bearer second");
    world.member.call("host_readonly.echo", json!({})).await;
    assert_eq!(last(), "Bearer second");
    let without = world.put("host", json!({"bearer": null})).await;
    assert_eq!((last().as_str(), &without["integration"]["has_credential"]), ("", &json!(false)));
}

#[tokio::test]
async fn the_callers_key_is_never_seen_upstream_in_a_thousand_calls() {
    let world = World::make().await;
    let key = world.member.key.strip_prefix("mnm_").expect("a key").to_owned();
    let calls = (0..10).map(|batch| {
        let member = world.member.clone();
        tokio::spawn(async move {
            for number in 0..100 {
                let arguments = json!({"text": format!("{batch}-{number}")});
                let answer = match number % 2 {
                    0 => {
                        member
                            .call_with("host_readonly.echo", arguments, &[("x-custom", "mine"), ("cookie", "c=1")])
                            .await
                    }
                    _ => {
                        member
                            .call("gateway_call", json!({"server": "host", "tool": "echo", "arguments": arguments}))
                            .await
                    }
                };
                // Ten at once are more than a project may have running; those refused try again.
                if answer.is_error() {
                    assert!(answer.text().contains("calls running, the limit"), "{}", answer.text());
                }
            }
        })
    });
    for batch in calls.collect::<Vec<_>>() {
        batch.await.expect("no panic");
    }
    while world.upstream.calls() < 1_000 {
        world.member.call("host_readonly.echo", json!({"text": "more"})).await;
    }
    let recorded = world.upstream.recorded();
    assert!(recorded.len() >= 1_000);
    for request in &recorded {
        let whole = format!("{}\n{}", request.head, request.body);
        assert!(!whole.contains(&key) && !whole.contains("mnm_"), "{whole}");
        assert_eq!(
            (request.header("authorization"), request.header("cookie"), request.header("x-custom")),
            ("", "", "")
        );
    }
}

#[tokio::test]
async fn without_an_encryption_key_credentials_are_refused_and_nothing_is_kept() {
    let mut open = options();
    open.integrations.key = None;
    let world = World::with(open, mnemon_testkit::TestUpstream::start().await).await;
    let body = json!({"url": world.upstream.url, "allow": ["echo"], "bearer": CANARY});
    let refused = world.admin.refusal("PUT", &world.path("/host"), body).await;
    let text = "can't store a credential: the operator must set gateway.encryption_key (MNEMON_ENCRYPTION_KEY) first";
    assert_eq!(refused, (400, text.to_owned()));
    let listed = world.admin.manage("GET", &world.path(""), Value::Null).await;
    assert_eq!(listed["integrations"], json!([]));
    let open = world.put("host", json!({"url": world.upstream.url, "allow": ["echo"]})).await;
    assert_eq!(open["works"], true, "one without a credential needs no key");
}

#[tokio::test]
async fn a_wrong_key_is_seen_at_the_start_and_loses_nothing() {
    let mut world = World::without_integration().await;
    world.upstream.want_credential(&format!("Bearer {CANARY}"));
    world.put("host", json!({"url": world.upstream.url, "allow": ["*"], "bearer": CANARY})).await;
    let key = world.member.key.clone();
    let wrong = SealingKey::parse(&"ab".repeat(32)).expect("a key");
    let with = |key: Option<SealingKey>, previous_key: Option<SealingKey>| {
        let mut settings = options().integrations;
        (settings.key, settings.previous_key) = (key, previous_key);
        settings
    };
    for keys in [with(Some(wrong.clone()), None), with(None, None)] {
        world.server.restart_with(keys).await;
        let error = world.server.engine.check_integration_keys().await.expect_err("the key is wrong");
        assert!(matches!(error, KeyMismatch::OtherKey { count: 1, .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("the credentials of 1 integration(s) were encrypted with another key (id "), "{text}");
        assert!(text.contains("nothing was changed") && text.contains("mnemon integration rotate-key"), "{text}");
        // If it runs anyway, the call says what is wrong, and the upstream is not called without a credential.
        let before = world.upstream.recorded().len();
        let reason =
            failure(&world.server.caller(&key), "gateway_call", json!({"server": "host", "tool": "echo"})).await;
        assert!(reason.contains("'host' may not be called: its credential can't be decrypted"), "{reason}");
        assert_eq!(world.upstream.recorded().len(), before);
    }
    let right = SealingKey::parse(KEY).expect("a key");
    world.server.restart_with(with(Some(right.clone()), None)).await;
    world.server.engine.check_integration_keys().await.expect("the right key opens everything");
    assert!(!world.server.caller(&key).call("host_readonly.echo", json!({})).await.is_error(), "nothing was lost");
    world.server.restart_with(with(Some(wrong.clone()), Some(right))).await;
    world.server.engine.check_integration_keys().await.expect("the previous key still opens");
    let operator = world.server.operator().await;
    assert_eq!(operator.manage("POST", "/integrations/rotate-key", Value::Null).await, json!({"rotated": 1}));
    assert_eq!(operator.manage("POST", "/integrations/rotate-key", Value::Null).await, json!({"rotated": 0}));
    world.server.restart_with(with(Some(wrong), None)).await;
    world.server.engine.check_integration_keys().await.expect("the old key is no longer needed");
    assert!(!world.server.caller(&key).call("host_readonly.echo", json!({})).await.is_error());
    let log = world.server.audit_log(&world.organization).await;
    assert!(log.iter().any(|(action, ..)| action == "integration.rotate_key"));
}
