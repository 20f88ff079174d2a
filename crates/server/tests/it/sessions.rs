//! Session histories through the agent's routes: appended, repeated, refused, kept within the volume, deleted.

use mnemon_core::{Access, PlanLimits, PlanName, PlanTable, Role, Subscription};
use mnemon_protocol::sessions::{APPEND_BYTES_MAX, Chain};
use mnemon_testkit::{Answer, Caller, MemberSpec, Organization, TestServer, TestServerOptions};
use serde_json::{Value, json};

async fn send(caller: &Caller, method: &str, path: &str, body: impl Into<Vec<u8>>) -> Answer {
    let bearer = format!("Bearer {}", caller.key);
    let headers = [("authorization", bearer.as_str())];
    let headers = if caller.key.is_empty() { &[][..] } else { &headers[..] };
    caller.send(method, &format!("/agent/v1/sessions{path}"), headers, body.into()).await
}

async fn append(caller: &Caller, name: &str, offset: usize, text: &str) -> Answer {
    send(caller, "POST", &format!("/codex/{name}?offset={offset}"), text).await
}

async fn appended(caller: &Caller, name: &str, offset: usize, text: &str) -> Value {
    let answer = append(caller, name, offset, text).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// Everything that is kept of a session.
async fn text(caller: &Caller, name: &str) -> String {
    let (mut whole, mut next) = (String::new(), Some(0));
    while let Some(offset) = next {
        let piece = send(caller, "GET", &format!("/codex/{name}/text?offset={offset}"), "").await.json();
        whole.push_str(piece["text"].as_str().expect("a text"));
        next = piece["next"].as_u64();
    }
    whole
}

fn lines(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("{{\"kind\":\"text\",\"text\":\"line {n}\"}}\n")).collect()
}

#[tokio::test]
async fn a_session_grows_at_its_end_and_comes_back_whole() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let (first, second) = (lines(0, 10), lines(10, 3_000));
    let state = appended(&ana, "s1", 0, &first).await;
    assert_eq!((&state["bytes"], &state["redacted"]), (&json!(first.len()), &json!(0)));
    assert_eq!(state["chain"], Chain::default().after_all(first.as_bytes()).to_hex());
    let state = appended(&ana, "s1", first.len(), &second).await;
    assert_eq!(state["bytes"], json!(first.len() + second.len()));
    let third: String = lines(3_000, 12_000);
    appended(&ana, "s1", first.len() + second.len(), &third).await;
    assert_eq!(text(&ana, "s1").await, first + &second + &third);
    let listed = send(&ana, "GET", "", "").await.json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1));
    let shown = send(&ana, "GET", "/codex/s1", "").await.json();
    assert_eq!(shown, listed["sessions"][0]);
}

#[tokio::test]
async fn a_repeated_append_changes_nothing_and_a_wrong_place_is_told() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let (first, second) = (lines(0, 5), lines(5, 9));
    appended(&ana, "s", 0, &first).await;
    let state = appended(&ana, "s", first.len(), &second).await;
    assert_eq!(appended(&ana, "s", first.len(), &second).await, state, "the last append once more");
    let wrong = [(0, first.as_str()), (first.len() + 1, "{}\n"), (first.len(), "{}\n"), (9_999, "{}\n")];
    for (offset, body) in wrong {
        let answer = append(&ana, "s", offset, body).await;
        assert_eq!((answer.status, &answer.json()["error"]), (409, &json!("elsewhere")), "{offset}");
        assert_eq!((&answer.json()["bytes"], &answer.json()["chain"]), (&state["bytes"], &state["chain"]));
    }
    let other_past = format!("/codex/s?offset={}&chain={}", state["bytes"], Chain::default().to_hex());
    assert_eq!(send(&ana, "POST", &other_past, "{}\n").await.status, 409);
    let late = append(&ana, "never-begun", 5, "{}\n").await;
    assert_eq!((late.status, &late.json()["bytes"]), (409, &json!(0)));
    assert_eq!(text(&ana, "s").await, first + &second);
}

#[tokio::test]
async fn concurrent_appends_neither_lose_nor_double() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let tries: Vec<_> = (0..16)
        .map(|_| {
            let ana = ana.clone();
            tokio::spawn(async move {
                for n in 0..20 {
                    // Everybody sends the same next line and continues from wherever the session is.
                    let offset = lines(0, n).len();
                    append(&ana, "s", offset, &lines(n, n + 1)).await;
                }
            })
        })
        .collect();
    for tried in tries {
        tried.await.expect("the calls end");
    }
    assert_eq!(text(&ana, "s").await, lines(0, 20));
}

#[tokio::test]
async fn bad_input_is_refused_in_words_and_stores_nothing() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let long = format!("{{\"text\":\"{}\"}}\n", "a".repeat(APPEND_BYTES_MAX - 11));
    let checks: Vec<(&str, String, u16, &str)> = vec![
        ("/codex/s", "{}\n".into(), 400, "offset is required"),
        ("/codex/s?offset=-1", "{}\n".into(), 400, "offset is invalid"),
        ("/codex/s?offset=0&chain=xyz", "{}\n".into(), 400, "chain must be 64 hexadecimal digits"),
        ("/codex/s?offset=0&modified=x", "{}\n".into(), 400, "modified is invalid"),
        ("/codex/s?offset=0&offset=1", "{}\n".into(), 400, "give each parameter once"),
        ("/codex/s?offset=0", String::new(), 400, "send 1 to 524288 bytes"),
        ("/codex/s?offset=0", "{}".into(), 400, "must end with a newline"),
        ("/codex/s?offset=0", "{}\nnonsense\n".into(), 400, "line 2: "),
        ("/codex/s?offset=0", long, 400, "not 524289"),
        ("/codex/s?offset=0", "x".repeat(1_100_000), 413, "larger than"),
        ("/word/s?offset=0", "{}\n".into(), 400, "client must be one of claude-code, codex"),
        ("/codex/a%20b?offset=0", "{}\n".into(), 400, "1 to 128 letters"),
    ];
    for (path, body, status, words) in checks {
        let answer = send(&ana, "POST", path, body).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert!(answer.json()["message"].as_str().unwrap_or_default().contains(words), "{path}: {}", answer.text);
    }
    assert_eq!(send(&ana, "GET", "", "").await.json(), json!({"sessions": [], "next": null}));
    assert_eq!(send(&ana, "GET", "/codex/s", "").await.status, 404);
    assert_eq!(send(&ana, "DELETE", "/codex/s", "").await.status, 404);
    assert_eq!(send(&ana, "PUT", "/codex/s", "").await.status, 405);
    assert_eq!(send(&ana, "GET", "/codex/s/nothing", "").await.status, 404);
}

#[tokio::test]
async fn secrets_that_the_agent_left_are_replaced_and_counted() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let (mut sent, mut offset) = (0, 0);
    let canaries = mnemon_guard::canary::all();
    for (_, secret) in &canaries {
        let line = json!({"kind": "text", "text": format!("see {}", secret.text)}).to_string() + "\n";
        let state = appended(&ana, "s", offset, &line).await;
        offset += line.len();
        assert_eq!(state["bytes"], json!(offset), "what was received is counted, whatever is kept");
        sent = state["redacted"].as_u64().unwrap_or_default();
    }
    assert!(sent >= canaries.len() as u64);
    let kept = text(&ana, "s").await;
    let mut server = server;
    server.stop().await;
    for (kind, secret) in canaries {
        assert!(!kept.contains(&secret.hidden), "{kind} came back");
        assert_eq!(server.data_files_with(&secret.hidden), Vec::<String>::new(), "{kind} is on disk");
    }
}

#[tokio::test]
async fn a_secret_of_every_kind_is_replaced_after_every_boundary_and_in_json_encoded_twice() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let encoded = |text: &str| json!({"output": text}).to_string();
    for (at, (kind, secret)) in mnemon_guard::canary::all().into_iter().enumerate() {
        let line = |boundary: &&str| {
            let text = format!("out{boundary}{}", secret.text);
            json!({"text": text, "again": encoded(&encoded(&text))}).to_string() + "\n"
        };
        let lines: String = mnemon_guard::canary::BOUNDARIES.iter().map(line).collect();
        let name = format!("s{at}");
        let state = appended(&ana, &name, 0, &lines).await;
        let found = state["redacted"].as_u64().unwrap_or_default();
        assert!(found >= 2 * mnemon_guard::canary::BOUNDARIES.len() as u64, "{kind}: {found}");
        let kept = text(&ana, &name).await;
        for hidden in secret.hidden.lines() {
            assert!(!kept.contains(hidden), "{kind}: {kept}");
        }
    }
}

#[tokio::test]
async fn histories_are_their_members_own() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec::default()).await;
    let ben = server.member(&organization, MemberSpec::default()).await;
    appended(&ana, "s", 0, &lines(0, 3)).await;
    for other in [&ben, &server.new_user().await] {
        assert_eq!(send(other, "GET", "/codex/s", "").await.status, 404);
        assert_eq!(send(other, "GET", "/codex/s/text", "").await.status, 404);
        assert_eq!(send(other, "DELETE", "/codex/s", "").await.status, 404);
        appended(other, "s", 0, "{}\n").await;
    }
    assert_eq!(text(&ana, "s").await, lines(0, 3));
    ana.remember("The kettle is in the kitchen").await;
    assert_eq!(ana.search("line").await.len(), 0, "histories are not searched");
}

#[tokio::test]
async fn who_may_not_write_uploads_nothing() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let reader = MemberSpec { access: Access::Read, ..MemberSpec::default() };
    let reader = server.member(&organization, reader).await;
    let refused = append(&reader, "s", 0, "{}\n").await;
    assert_eq!((refused.status, refused.json()["message"].as_str()), (403, Some("this key is read-only")));
    for wrong in [server.caller(""), server.caller("mnm_wrong")] {
        for (method, path) in [("POST", "/codex/s?offset=0"), ("GET", ""), ("GET", "/codex/s"), ("DELETE", "/codex/s")]
        {
            assert_eq!(send(&wrong, method, path, "{}\n").await.status, 401, "{method} {path}");
        }
    }
    let lapsed = server.organization_on(Subscription::default()).await;
    let lapsed = server.member(&lapsed, MemberSpec::default()).await;
    let refused = append(&lapsed, "s", 0, "{}\n").await;
    assert_eq!((refused.status, &refused.json()["error"]), (403, &json!("subscription")), "{}", refused.text);
}

async fn with_volume(bytes: u64) -> (TestServer, Organization) {
    let mut plans = PlanTable::default();
    *plans.limits_mut(PlanName::Free) = PlanLimits { history_bytes_max: Some(bytes), ..PlanLimits::default() };
    let server = TestServer::start_with(TestServerOptions { plans, ..TestServerOptions::default() }).await;
    let free = Subscription { plan: Some(PlanName::Free), ..Subscription::default() };
    let organization = server.organization_on(free).await;
    (server, organization)
}

#[tokio::test]
async fn the_newest_stay_within_the_plans_volume() {
    // Parts are merged up to 256 KiB, so three of 200,000 bytes stay separate.
    let part = |n: usize| format!("{{\"text\":\"{}\"}}\n", n.to_string().repeat(199_988));
    let size = part(1).len();
    let (server, organization) = with_volume(3 * size as u64).await;
    let ana = server.member(&organization, MemberSpec::default()).await;
    let put = async |name: &str, offset: usize, modified: u64, n: usize| {
        let path = format!("/codex/{name}?offset={offset}&modified={modified}");
        let answer = send(&ana, "POST", &path, part(n)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    put("old", 0, 1_000, 1).await;
    put("old", size, 1_001, 2).await;
    put("new", 0, 2_000, 3).await;
    assert_eq!(text(&ana, "old").await, part(1) + &part(2), "at the volume everything stays");
    put("new", size, 2_001, 4).await;
    assert_eq!(text(&ana, "old").await, part(2), "one past it the oldest part goes");
    let state = send(&ana, "GET", "/codex/old", "").await.json();
    assert_eq!((&state["bytes"], &state["kept_bytes"]), (&json!(2 * size), &json!(size)));
    // A clock that runs ahead does not make a history outlive the others.
    put("future", 0, 9_999_999_999, 5).await;
    assert_eq!(text(&ana, "old").await, "");
    assert_eq!(text(&ana, "new").await, part(3) + &part(4));
    assert_eq!(text(&ana, "future").await, part(5));
}

#[tokio::test]
async fn an_admin_lists_and_removes_without_reading() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let ana_id = server.new_member(&organization, MemberSpec::default()).await;
    let ana = server.key(&organization, ana_id, Access::Write, None).await.1;
    for name in ["a", "b", "c"] {
        appended(&ana, name, 0, "{\"text\":\"a word of mine\"}\n").await;
    }
    let path = format!("/projects/{}/sessions", organization.project);
    let first = admin.manage("GET", &format!("{path}?limit=2"), Value::Null).await;
    assert_eq!(first["sessions"].as_array().map(Vec::len), Some(2));
    assert!(!first.to_string().contains("a word of mine"));
    assert_eq!(first["sessions"][0]["member_id"], ana_id.to_string());
    let next = first["next"].as_str().expect("there is more");
    let second = admin.manage("GET", &format!("{path}?limit=2&after={next}"), Value::Null).await;
    assert_eq!((&second["sessions"][0]["name"], &second["next"]), (&json!("a"), &Value::Null), "the latest first");
    let sums = ["count", "kept_bytes", "history_bytes_max"].map(|sum| second[sum].clone());
    assert_eq!(sums, [json!(3), json!(3 * 26), Value::Null]);
    let id = second["sessions"][0]["id"].as_str().expect("an id");
    assert_eq!(admin.manage("DELETE", &format!("{path}/{id}"), Value::Null).await, json!({"deleted": true}));
    let again = admin.refusal("DELETE", &format!("{path}/{id}"), Value::Null).await;
    assert_eq!(again, (404, "no such session".to_owned()));
    assert_eq!(send(&ana, "GET", "/codex/a", "").await.status, 404);
    assert_eq!(send(&ana, "DELETE", "/codex/b", "").await.json(), json!({"deleted": true}));
    let audit = server.audit_log(&organization).await;
    assert_eq!(audit.iter().filter(|(action, ..)| action == "session.delete").count(), 2, "{audit:?}");
    for wrong in ["?limit=0", "?limit=1001", "?after=x"] {
        assert_eq!(admin.refusal("GET", &format!("{path}{wrong}"), Value::Null).await.0, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_deleted_member_leaves_no_history_in_the_files() {
    let mut server = TestServer::start().await;
    let organization = server.organization().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let ana_id = server.new_member(&organization, MemberSpec::default()).await;
    let ana = server.key(&organization, ana_id, Access::Write, None).await.1;
    // The name of a session is not compressed, so it can be searched for.
    let name = "zqhistorythatmustgo";
    appended(&ana, name, 0, &lines(0, 100)).await;
    let gone =
        admin.manage("DELETE", &format!("/accounts/{}/members/{ana_id}", organization.account), Value::Null).await;
    assert_eq!(gone["keys_revoked"], json!(1), "{gone}");
    let path = format!("/projects/{}/sessions", organization.project);
    assert_eq!(admin.manage("GET", &path, Value::Null).await["sessions"], json!([]));
    assert_eq!(append(&ana, name, 0, "{}\n").await.status, 401);
    // Some storage keeps deleted data until it is rewritten; rewriting removes it.
    server.operator().await.manage("POST", "/compact", Value::Null).await;
    server.stop().await;
    assert_eq!(server.data_files_with(name), Vec::<String>::new());
}
