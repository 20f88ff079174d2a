//! Projects are isolated: nobody sees, finds, changes or even shifts what belongs to another project.

use std::sync::Arc;

use mnemon_core::{Access, Clock, Fact, Scope, Timestamp, WorkspaceName};
use mnemon_engine::Remember;
use mnemon_testkit::{Answer, Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

const WORDS: [&str; 12] = [
    "deploy", "release", "tuesday", "payment", "retry", "queue", "invoice", "timeout", "cache", "region", "backup",
    "owner",
];

/// Texts over one small vocabulary, so that every record has words in common with many others.
fn text(n: usize) -> String {
    let word = |k: usize| WORDS[(n * 7 + k * k * 5 + n / 12 * k) % WORDS.len()];
    format!("The {} of the {} was moved from {} to {} in entry {n}.", word(1), word(2), word(3), word(4))
}

/// Saves many records through the engine, concurrently.
async fn fill(server: &Arc<TestServer>, caller: &Caller, count: usize) {
    const SIDE_BY_SIDE: usize = 64;
    let tasks: Vec<_> = (0..SIDE_BY_SIDE)
        .map(|lane| {
            let (server, key) = (Arc::clone(server), caller.key.clone());
            tokio::spawn(async move {
                for n in (lane..count).step_by(SIDE_BY_SIDE) {
                    let ctx = server.engine.authenticate(&key).await.expect("a good key");
                    let admission = server.engine.admit(&ctx).expect("no limits");
                    server.engine.remember(&ctx, admission, plain(text(n))).await.expect("it is saved");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("saving works");
    }
}

fn plain(content: String) -> Remember {
    Remember {
        fact: Fact::new(content),
        workspace: WorkspaceName::default(),
        scope: Scope::Shared,
        fact_key: None,
        supersedes: Vec::new(),
        replace: false,
        idempotency_key: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_records_of_another_project_shift_neither_order_nor_scores() {
    let server = Arc::new(TestServer::start().await);
    let (ana, ben) = (server.new_user().await, server.new_user().await);
    fill(&server, &ana, 150).await;
    let queries =
        ["deploy release", "payment", "who is the owner of the invoice queue", "entry 17", "backup region cache"];
    let mut before = Vec::new();
    for query in queries {
        let answer = ana.call("search", json!({"query": query, "limit": 50})).await;
        assert!(!answer.structured()["result"].as_array().expect("a list").is_empty(), "{query}");
        before.push(answer.result);
    }
    fill(&server, &ben, 10_000).await;
    for (query, before) in queries.into_iter().zip(before) {
        assert_eq!(ana.call("search", json!({"query": query, "limit": 50})).await.result, before, "{query}");
    }
    let own = ben.call("search", json!({"query": "entry 9999"})).await;
    assert_eq!(own.structured()["result"][0]["content"], text(9_999));
    assert_ne!(
        own.structured()["project_id"],
        ana.call("search", json!({"query": "entry"})).await.structured()["project_id"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_keys_find_their_own_canary_and_no_other() {
    const KEYS: usize = 200;
    let server = Arc::new(TestServer::start().await);
    let tasks: Vec<_> = (0..KEYS)
        .map(|n| {
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                let caller = server.new_user().await;
                caller.remember(&format!("canary number{n} sings the common song")).await;
                caller
            })
        })
        .collect();
    let mut callers = Vec::new();
    for task in tasks {
        callers.push(task.await.expect("saving works"));
    }
    let searches: Vec<_> = callers
        .into_iter()
        .enumerate()
        .map(|(n, caller)| {
            tokio::spawn(async move {
                for query in ["canary sings the common song".to_owned(), format!("number{}", (n + 1) % KEYS)] {
                    for found in caller.search_texts(&query).await {
                        assert_eq!(found, format!("canary number{n} sings the common song"));
                    }
                }
                assert_eq!(caller.search("canary").await.len(), 1);
            })
        })
        .collect();
    for search in searches {
        search.await.expect("no foreign canary");
    }
}

/// Every call that takes an id or a source, made by this caller.
async fn ask_all(caller: &Caller, id: &str, source_id: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (tool, arguments) in [
        ("forget", json!({"memory_id": id})),
        ("forget", json!({"source_id": source_id})),
        ("forget", json!({"source_id": source_id, "workspace": "vault"})),
        ("validate_memory", json!({"source_id": source_id})),
        ("validate_memory", json!({"source_id": source_id, "workspace": "vault"})),
        ("search", json!({"query": "buried treasure"})),
        ("search", json!({"query": "buried treasure", "workspace": "vault"})),
    ] {
        answers.push(caller.request("tools/call", json!({"name": tool, "arguments": arguments})).await);
    }
    answers
}

#[tokio::test]
async fn foreign_ids_and_sources_answer_byte_for_byte_like_unknown_ones() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let engineering = server.department(organization.account, "Engineering", None).await;
    let sales = server.department(organization.account, "Sales", None).await;
    let spec = MemberSpec { department: Some(engineering), ..MemberSpec::default() };
    let owner = server.member(&organization, spec).await;
    let colleague = server.member(&organization, MemberSpec { department: Some(sales), ..MemberSpec::default() }).await;
    let same_account =
        Organization { account: organization.account, project: server.project(organization.account).await };
    let elsewhere = server.member(&same_account, MemberSpec::default()).await;
    let stranger = server.new_user().await;
    for caller in [&colleague, &elsewhere, &stranger] {
        caller.remember("nothing of interest").await;
    }
    let save = async |scope: &str| {
        let arguments = json!({
            "content": "buried treasure", "scope": scope, "workspace": "vault", "source_id": "map", "source_hash": "x"
        });
        owner.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
    };
    let (draft, department) = (save("draft").await, save("department").await);
    let unknown = "01890000-0000-7000-8000-000000000000";
    let check = async |who: &str, caller: &Caller, id: &str| {
        let absent = ask_all(caller, unknown, "xyz").await;
        for (foreign, absent) in ask_all(caller, id, "map").await.iter().zip(absent) {
            let foreign_text =
                foreign.text.replace(id, unknown).replace("\"map\"", "\"xyz\"").replace("\\\"map\\\"", "\\\"xyz\\\"");
            assert_eq!(foreign_text, absent.text, "{who}");
            assert_eq!(foreign.status, absent.status, "{who}");
        }
    };
    check("a colleague asks for a draft", &colleague, &draft).await;
    check("a colleague asks for another department's record", &colleague, &department).await;
    // From now on the workspace is known in the owner's project, and to nobody outside of it.
    let shared = save("shared").await;
    check("another project asks", &elsewhere, &shared).await;
    check("another account asks", &stranger, &shared).await;
    assert_eq!(owner.call("validate_memory", json!({"source_id": "map"})).await.structured()["checked"], 3);
}

#[tokio::test]
async fn a_source_a_key_and_a_workspace_of_the_same_name_are_apart_in_each_project() {
    let server = TestServer::start().await;
    let (ana, ben) = (server.new_user().await, server.new_user().await);
    let save = |content: &str, hash: &str| json!({"content": content, "workspace": "w", "fact_key": "k", "source_id": "s", "source_hash": hash});
    let first = ana.call("remember", save("ana's truth", "h1")).await.structured().clone();
    let second = ben.call("remember", save("ben's truth", "h2")).await.structured().clone();
    assert_eq!((&first["status"], &second["status"]), (&json!("unverified"), &json!("unverified")));
    assert_eq!(second.get("conflicts_with"), None);
    let same = ben.call("remember", save("ana's truth", "h2")).await.structured().clone();
    assert_eq!(same.get("duplicate"), None);
    ben.call("validate_memory", json!({"source_id": "s", "current_source_hash": "h9"})).await.structured();
    assert_eq!(ben.call("forget", json!({"source_id": "s"})).await.structured()["forgotten"], 2);
    let found = ana.call("search", json!({"query": "truth", "workspace": "w"})).await.structured()["result"].clone();
    assert_eq!((&found[0]["id"], &found[0]["status"]), (&first["id"], &json!("unverified")));
}

#[tokio::test]
async fn a_revoked_key_is_refused_on_the_next_request() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let member = server.new_member(&organization, MemberSpec::default()).await;
    let (id, lost) = server.key(&organization, member, Access::Write, None).await;
    let (_, kept) = server.key(&organization, member, Access::Write, None).await;
    lost.remember("written before").await;
    server.revoke(&organization, id).await;
    let answer = lost.request("tools/call", json!({"name": "search", "arguments": {"query": "before"}})).await;
    assert_eq!(answer.status, 401);
    assert_eq!(kept.search("before").await.len(), 1, "the member's other key still works");
}

#[tokio::test]
async fn a_key_ends_with_its_own_time_or_with_its_members() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let end = Timestamp::from_second(server.clock.now().as_second() + 3_600).ok();
    let expiring = server.member(&organization, MemberSpec { expires_at: end, ..MemberSpec::default() }).await;
    let leaving = server.member(&organization, MemberSpec { access_until: end, ..MemberSpec::default() }).await;
    let start = server.clock.now().as_second();
    for (second, status) in [(0, 200), (3_599, 200), (3_600, 401), (3_601, 401)] {
        server.clock.set(Timestamp::from_second(start + second).expect("in the calendar"));
        for caller in [&expiring, &leaving] {
            assert_eq!(
                caller.request("tools/list", Value::Object(Default::default())).await.status,
                status,
                "{second}"
            );
        }
    }
}
