//! `search`: every argument, the form of what is found, order and scores, workspaces.

use std::time::Duration;

use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

use crate::errors::reason;

async fn server_and_caller() -> (TestServer, Caller) {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    (server, caller)
}

async fn find(caller: &Caller, arguments: Value) -> Vec<Value> {
    caller.call("search", arguments).await.structured()["result"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_found_record_has_its_members_in_the_documented_order() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let department = server.department(organization.account, "Platform", None).await;
    let spec = MemberSpec { name: "Ana", department: Some(department), ..MemberSpec::default() };
    let caller = server.member(&organization, spec).await;
    caller.remember("a plain lighthouse").await;
    let full = json!({
        "content": "a full windmill", "fact_key": "k", "source": "s", "source_id": "i", "source_hash": "h",
        "source_revision": "r", "confidence": 1, "valid_until": "2030-01-01T00:00:00.123456Z",
    });
    caller.call("remember", full).await.structured();
    let members = |record: &Value| record.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let plain = &find(&caller, json!({"query": "lighthouse"})).await[0];
    let always = ["id", "workspace", "scope", "content", "fact_key", "status", "score"];
    let after = ["author", "department", "created_at"];
    assert_eq!(members(plain), [&always[..], &after[..]].concat());
    let full = &find(&caller, json!({"query": "windmill"})).await[0];
    let sources = ["source", "source_id", "source_hash", "source_revision", "confidence", "author", "department"];
    let moments = ["valid_until", "created_at"];
    assert_eq!(members(full), [&always[..], &sources[..], &moments[..]].concat());
    assert_eq!((&full["valid_until"], &full["confidence"]), (&json!("2030-01-01T00:00:00Z"), &json!(1.0)));
}

#[tokio::test]
async fn the_default_limit_is_ten_and_strings_stand_for_numbers() {
    let (_server, caller) = server_and_caller().await;
    for n in 0..60 {
        caller.remember(&format!("harbour note number {n}")).await;
    }
    let check = async |limit: Value, expected: usize| {
        let found = find(&caller, json!({"query": "harbour", "limit": limit})).await;
        assert_eq!(found.len(), expected, "{limit}");
    };
    assert_eq!(find(&caller, json!({"query": "harbour"})).await.len(), 10);
    check(Value::Null, 10).await;
    check(json!(1), 1).await;
    check(json!("7"), 7).await;
    check(json!(" 7 "), 7).await;
    check(json!(3.0), 3).await;
    check(json!(50), 50).await;
}

#[tokio::test]
async fn scores_fall_with_rank_and_lie_between_zero_and_one() {
    let (_server, caller) = server_and_caller().await;
    for text in [
        "the payment service retries failed charges three times",
        "payment retries",
        "the invoice service has nothing to do with charges",
        "failed charges are reported to the payment team every Monday",
        "lunch is at noon",
    ] {
        caller.remember(text).await;
    }
    for query in ["payment retries", "failed charges", "what does the payment service do with failed charges"] {
        let found = find(&caller, json!({"query": query})).await;
        assert!(!found.is_empty(), "{query}");
        let scores: Vec<f64> = found.iter().map(|record| record["score"].as_f64().expect("a number")).collect();
        assert!(scores.iter().all(|score| *score > 0.0 && *score <= 1.0), "{query}: {scores:?}");
        assert!(scores.is_sorted_by(|better, worse| better >= worse), "{query}: {scores:?}");
    }
    assert_eq!(caller.search("payment retries").await[0]["content"], "payment retries");
}

#[tokio::test]
async fn among_equals_the_newest_comes_first() {
    let (server, caller) = server_and_caller().await;
    let mut ids = Vec::new();
    for source in ["one", "two", "three"] {
        let saved = caller.call("remember", json!({"content": "equal in every word", "source": source})).await;
        ids.insert(0, saved.structured()["id"].clone());
        server.clock.advance(Duration::from_secs(1));
    }
    let found: Vec<Value> = caller.search("equal word").await.iter().map(|record| record["id"].clone()).collect();
    assert_eq!(found, ids);
}

#[tokio::test]
async fn nothing_fits_means_an_empty_list() {
    let (_server, caller) = server_and_caller().await;
    caller.remember("the release train leaves on Tuesdays").await;
    for query in ["zebra quantum xylophone", "?!", "...", "🦀", "\u{200b}"] {
        assert_eq!(find(&caller, json!({"query": query})).await, Vec::<Value>::new(), "{query}");
    }
}

#[tokio::test]
async fn searching_changes_nothing() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    caller.remember("as it was").await;
    let position = server.log_position(&organization).await;
    let first = caller.call("search", json!({"query": "was"})).await;
    for _ in 0..20 {
        server.clock.advance(Duration::from_secs(1));
        assert_eq!(caller.call("search", json!({"query": "was"})).await.result, first.result);
    }
    assert_eq!(server.log_position(&organization).await, position);
}

#[tokio::test]
async fn a_workspace_is_active_from_the_first_save_on() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    let search = json!({"query": "plan", "workspace": "new"});
    for _ in 0..2 {
        let answer = caller.call("search", search.clone()).await;
        assert_eq!(reason("search", &answer), "workspace 'new' is not active");
    }
    assert_eq!(server.log_position(&organization).await, 0, "searching creates no workspace");
    let saved = caller.call("remember", json!({"content": "the plan", "workspace": "new"})).await;
    assert_eq!(find(&caller, search.clone()).await[0]["id"], saved.structured()["id"]);
    assert_eq!(
        reason("search", &caller.call("search", json!({"query": "plan"})).await),
        "workspace 'default' is not active"
    );
    caller.call("forget", json!({"memory_id": saved.structured()["id"]})).await.structured();
    assert_eq!(find(&caller, search).await, Vec::<Value>::new(), "of forgotten records: active and empty");
}

#[tokio::test]
async fn a_deleted_workspace_is_not_active_and_comes_back_empty() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    let search = json!({"query": "plan", "workspace": "w"});
    for n in 0..3 {
        caller.call("remember", json!({"content": format!("plan {n}"), "workspace": "w", "source_id": "s"})).await;
    }
    caller.remember("plan elsewhere").await;
    assert_eq!(find(&caller, search.clone()).await.len(), 3);
    assert_eq!(server.delete_workspace(&organization, "w").await, Some(3));
    let gone = caller.call("search", search.clone()).await;
    assert_eq!(reason("search", &gone), "workspace 'w' is not active");
    assert_eq!(caller.call("forget", json!({"source_id": "s"})).await.structured()["forgotten"], 0);
    assert_eq!(caller.search("plan").await.len(), 1);
    let fresh = caller.call("remember", json!({"content": "plan 0", "workspace": "w", "source_id": "s"})).await;
    assert_eq!(fresh.structured().get("duplicate"), None);
    assert_eq!(find(&caller, search).await.len(), 1);
}

#[tokio::test]
async fn workspaces_are_apart_and_their_names_are_trimmed() {
    let (_server, caller) = server_and_caller().await;
    for workspace in ["default", "Default", "work", "wörk 🦀"] {
        let arguments =
            json!({"content": format!("kept in {workspace}"), "workspace": format!("  {workspace}\u{3000}")});
        assert_eq!(caller.call("remember", arguments).await.structured()["workspace"], workspace);
    }
    for workspace in ["default", "Default", "work", "wörk 🦀"] {
        let found = find(&caller, json!({"query": "kept", "workspace": format!(" {workspace} ")})).await;
        assert_eq!(found.len(), 1, "{workspace}");
        assert_eq!(found[0]["workspace"], workspace);
    }
}

#[tokio::test]
async fn scope_filters_and_unknown_arguments_are_named() {
    let (_server, caller) = server_and_caller().await;
    caller.call("remember", json!({"content": "The garden gate is painted green"})).await.structured();
    let draft = json!({"content": "The garden shed is probably locked", "scope": "draft"});
    caller.call("remember", draft).await.structured();
    let scopes = async |scope: Value| {
        let found = find(&caller, json!({"query": "garden", "scope": scope})).await;
        found.iter().map(|record| record["scope"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(scopes(json!("shared")).await, ["shared"]);
    assert_eq!(scopes(json!(" draft ")).await, ["draft"]);
    assert_eq!(scopes(json!("department")).await, Vec::<String>::new());
    assert_eq!(scopes(Value::Null).await.len(), 2);
    let answer = caller.call("search", json!({"q": "x", "query": "garden", "top_k": 3, "Limit": 1})).await;
    assert_eq!(answer.structured()["ignored_arguments"], json!(["q", "top_k", "Limit"]));
    let members: Vec<&String> = answer.structured().as_object().expect("an object").keys().collect();
    assert_eq!(members, ["result", "ignored_arguments", "api_version", "tenant_id", "project_id"]);
}

#[tokio::test]
async fn a_call_that_names_no_workspace_means_the_one_of_the_header() {
    let (_server, caller) = server_and_caller().await;
    let call = async |tool: &str, arguments: Value, header: Option<&str>| {
        let headers: Vec<(&str, &str)> = header.map(|name| ("mnemon-workspace", name)).into_iter().collect();
        caller.call_with(tool, arguments, &headers).await
    };
    let saved = call("remember", json!({"content": "the harbour is deep"}), Some(" plans ")).await;
    assert_eq!(saved.structured()["workspace"], "plans");
    let named = json!({"content": "the harbour is wide", "workspace": "notes"});
    assert_eq!(call("remember", named, Some("plans")).await.structured()["workspace"], "notes", "the argument wins");
    assert_eq!(call("remember", json!({"content": "calm"}), None).await.structured()["workspace"], "default");
    let query = json!({"query": "harbour"});
    let found = call("search", query.clone(), Some("plans")).await;
    assert_eq!(found.structured()["result"].as_array().map(Vec::len), Some(1));
    assert_eq!(found.structured()["result"][0]["content"], "the harbour is deep");
    assert_eq!(call("search", query.clone(), None).await.structured()["result"], json!([]));
    let nowhere = call("search", query.clone(), Some("nowhere")).await;
    assert_eq!(reason("search", &nowhere), "workspace 'nowhere' is not active");
    let wrong = json!({"query": "harbour", "workspace": "x".repeat(65)});
    let refusal = reason("search", &caller.call("search", wrong).await);
    assert_eq!(reason("search", &call("search", query, Some(&"x".repeat(65))).await), refusal);
}

/// Paragraphs and headings of the handbook: texts as people write them.
fn handbook() -> (Vec<String>, Vec<String>) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (mut paragraphs, mut headings) = (Vec::new(), Vec::new());
    for folder in ["guides", "operations", "concepts"] {
        let files = std::fs::read_dir(root.join(folder)).expect("the handbook is there");
        let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|kind| kind == "md")) {
            let text = std::fs::read_to_string(path).expect("text");
            let (titles, rest): (Vec<&str>, Vec<&str>) =
                text.split("\n\n").flat_map(|part| part.split_inclusive('\n')).partition(|line| line.starts_with('#'));
            headings.extend(titles.iter().map(|title| title.trim_start_matches(['#', ' ']).trim().to_owned()));
            paragraphs.extend(rest.iter().filter(|line| line.len() > 60).map(|line| (*line).to_owned()));
        }
    }
    (paragraphs, headings)
}

#[tokio::test(flavor = "multi_thread")]
async fn within_a_status_lists_are_in_the_order_of_their_scores() {
    let (server, caller) = server_and_caller().await;
    let (paragraphs, mut queries) = handbook();
    for (n, text) in paragraphs.iter().take(400).enumerate() {
        let source = format!("page {}.md", n % 7);
        let mut record = json!({"content": text, "source_id": source, "source_hash": format!("h{}", n % 2)});
        if n % 9 == 0 {
            record["fact_key"] = json!(format!("key {}", n % 27));
        }
        caller.call("remember", record).await.structured();
        server.clock.advance(Duration::from_secs(1));
    }
    for n in 0..4 {
        let seen = json!({"source_id": format!("page {n}.md"), "current_source_hash": "h1"});
        caller.call("validate_memory", seen).await.structured();
    }
    let words: Vec<&str> = paragraphs.iter().flat_map(|text| text.split_whitespace()).collect();
    queries.extend(words.chunks(3).step_by(11).map(|words| words.join(" ")));
    let (mut statuses, mut asked) = (std::collections::BTreeSet::new(), 0);
    for query in queries.iter().filter(|query| !query.is_empty()).step_by(queries.len() / 200) {
        let found = find(&caller, json!({"query": query, "limit": 50})).await;
        let mut last = std::collections::BTreeMap::new();
        for record in &found {
            let (status, score) = (record["status"].as_str().expect("a word"), record["score"].as_f64());
            let score = score.expect("a number");
            let before = last.insert(status, score).unwrap_or(1.0);
            assert!(before >= score, "{query}: {score} of a record that is {status} stands behind {before}");
            statuses.insert(status.to_owned());
        }
        asked += 1;
    }
    assert!(asked >= 200, "{asked} queries");
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), ["conflict", "stale", "unverified", "verified"]);
}
