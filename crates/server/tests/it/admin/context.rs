//! Digests for assistants.

use serde_json::{Value, json};

use super::Office;

fn ids(digest: &Value) -> Vec<&str> {
    digest["memory_ids"].as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn a_digest_shows_what_holds_first_and_marks_the_rest() {
    let office = Office::open().await;
    let save = async |arguments: Value| {
        let saved = office.admin.call("remember", arguments).await;
        saved.structured()["id"].as_str().expect("an id").to_owned()
    };
    let verified =
        save(json!({"content": "the printer is upstairs", "source_id": "printer.md", "source_hash": "aa"})).await;
    let stale = save(json!({"content": "the boat is red", "source_id": "boat.md", "source_hash": "aa"})).await;
    let unverified = save(json!({"content": "lunch is at noon"})).await;
    let first = save(json!({"content": "invoices go out on Friday", "fact_key": "ship.day"})).await;
    let second = save(json!({"content": "invoices go out on Monday", "fact_key": "ship.day"})).await;
    for (source, hash) in [("printer.md", "aa"), ("boat.md", "bb")] {
        let seen = json!({"source_id": source, "current_source_hash": hash});
        office.admin.call("validate_memory", seen).await;
    }
    let path = office.project("/context");
    let digest = office.admin.manage("POST", &path, json!({})).await;
    assert_eq!(ids(&digest), [&*verified, &unverified, &second, &first, &stale]);
    assert_eq!((&digest["workspace"], &digest["budget"]), (&json!("default"), &json!(2_000)));
    let markdown = digest["markdown"].as_str().expect("a text");
    let mark = mark_of(markdown);
    let markdown = markdown.replace(&mark, "[mark]");
    assert_ne!(
        mark_of(office.admin.manage("POST", &path, json!({})).await["markdown"].as_str().expect("a text")),
        mark
    );
    for part in [
        "### Verified: the source is unchanged\n- [mark] the printer is upstairs (printer.md, Ada, ",
        "### Not verified\n- [mark] lunch is at noon (Ada, ",
        "### Disputed: records under the same key disagree\n- [mark] `ship.day`: invoices go out on Monday (",
        "### Stale: the source has changed or is gone, or the time is over\n- [mark] the boat is red (boat.md, Ada, ",
    ] {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }
    let asked = office.admin.manage("POST", &path, json!({"query": "red boat"})).await;
    assert_eq!(ids(&asked), [&*stale]);
    assert!(asked["markdown"].as_str().is_some_and(|text| text.contains(" [stale] the boat is red (boat.md, ")));
    let question = "boat insurance papers of the harbour office";
    let score = office.admin.search(question).await[0]["score"].as_f64().expect("a score");
    assert!((0.02..0.98).contains(&score), "{score}");
    let from = async |min_score: f64| {
        let asked = json!({"query": question, "min_score": min_score});
        office.admin.manage("POST", &path, asked).await
    };
    assert!(!ids(&from(score - 0.01).await).is_empty());
    let high = from(score + 0.01).await;
    assert_eq!((ids(&high).len(), &high["markdown"]), (0, &json!("")));
    let none = office.admin.manage("POST", &path, json!({"query": "zebra"})).await;
    assert_eq!((&none["markdown"], &none["tokens"]), (&json!(""), &json!(0)));
}

#[tokio::test]
async fn a_digest_shows_tags_and_when_it_happened() {
    let office = Office::open().await;
    let lift = json!({"content": "the lift was repaired", "tags": ["House 7", "lift"], "occurred_at": "2026-01-31"});
    office.admin.call("remember", lift).await.structured();
    let digest = office.admin.manage("POST", &office.project("/context"), json!({})).await;
    let markdown = digest["markdown"].as_str().expect("a text");
    assert!(markdown.contains(" the lift was repaired (Ada, 2026-01-31, #House 7, #lift)\n"), "{markdown}");
}

/// The mark that stands before each record of a digest.
fn mark_of(markdown: &str) -> String {
    let start = markdown.find("Each line with [").expect("a note about the mark") + "Each line with ".len();
    markdown[start..].split(' ').next().expect("a mark").to_owned()
}

#[tokio::test]
async fn a_digest_keeps_its_budget_and_says_what_it_left_out() {
    let office = Office::open().await;
    for number in 0..60 {
        office.admin.remember(&format!("box {number} stands in the hall next to the door of the cold room")).await;
    }
    let path = office.project("/context");
    for budget in [200, 500, 20_000] {
        let digest = office.admin.manage("POST", &path, json!({"budget": budget})).await;
        assert!(digest["tokens"].as_u64().is_some_and(|tokens| tokens <= budget), "{digest}");
        let left_out = digest["not_shown"]["unverified"].as_u64().expect("a count");
        assert_eq!(ids(&digest).len() as u64 + left_out, 60);
        assert_eq!(left_out == 0, budget == 20_000);
    }
}

#[tokio::test]
async fn a_digest_checks_what_it_is_asked() {
    let office = Office::open().await;
    office.admin.remember("anything").await;
    let path = office.project("/context");
    let (query, budget) = ("query must be 1 to 4096 bytes long", "budget must be between 200 and 20000 tokens");
    let score = "min_score must be between 0 and 1";
    for (body, expected) in [
        (json!({"query": ""}), query),
        (json!({"query": " \n"}), query),
        (json!({"query": "q".repeat(4_097)}), query),
        (json!({"budget": 199}), budget),
        (json!({"budget": 20_001}), budget),
        (json!({"query": "q", "min_score": 1.01}), score),
        (json!({"query": "q", "min_score": -0.01}), score),
    ] {
        assert_eq!(office.admin.refusal("POST", &path, body).await, (400, expected.to_owned()));
    }
    for body in [json!({"query": 5}), json!({"budget": "many"}), json!({"budget": -1}), json!({"x": 1})] {
        assert_eq!(office.admin.refusal("POST", &path, body.clone()).await.0, 400, "{body}");
    }
    let nowhere = office.admin.refusal("POST", &path, json!({"workspace": "nowhere"})).await;
    assert_eq!(nowhere, (404, "no such workspace".to_owned()));
    for body in [
        json!({"query": "q".repeat(4_096), "min_score": 0.0}),
        json!({"query": "q", "min_score": 1.0}),
        json!({"budget": 200}),
        json!({"budget": 20_000}),
    ] {
        office.admin.manage("POST", &path, body).await;
    }
}
