//! Explaining a search.

use serde_json::{Value, json};

use super::Office;

#[tokio::test]
async fn an_explanation_names_the_records_that_a_search_finds_with_their_scores() {
    let office = Office::open().await;
    for text in ["the boiler code is 4711", "the boiler room is in the cellar", "lunch is at noon"] {
        office.admin.remember(text).await;
    }
    let found = office.admin.search("boiler code").await;
    let path = office.project("/explain");
    let explained = office.admin.manage("POST", &path, json!({"query": "boiler code"})).await;
    let pairs = |list: &Value| -> Vec<(Value, Value)> {
        let score = |hit: &Value| json!((hit["score"].as_f64().expect("a score") * 100.0).round() / 100.0);
        list.as_array().expect("a list").iter().map(|hit| (hit["id"].clone(), score(hit))).collect()
    };
    assert_eq!(pairs(&explained["hits"]), pairs(&Value::from(found)));
    assert!(explained["words"].as_array().is_some_and(|words| words.len() == 2), "{explained}");
    let one = office.admin.manage("POST", &path, json!({"query": "boiler", "limit": 1})).await;
    assert_eq!(one["hits"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_explanation_shows_records_as_the_search_does_and_where_the_words_stand() {
    let office = Office::open().await;
    let old =
        json!({"content": "Café: the boiler's codes", "source_id": "page", "source_hash": "h1", "scope": "draft"});
    office.admin.call("remember", old).await.structured();
    office.admin.remember("the boiler room").await;
    office.admin.call("validate_memory", json!({"source_id": "page", "current_source_hash": "h2"})).await.structured();
    let path = office.project("/explain");
    let explain = async |more: Value| {
        let mut body = json!({"query": "boiler code"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        office.admin.manage("POST", &path, body).await["hits"].as_array().expect("a list").clone()
    };
    let all = explain(json!({})).await;
    let codes = all.iter().find(|hit| hit["source_id"] == "page").expect("found");
    assert_eq!(
        (&codes["status"], &codes["author"], &codes["scope"]),
        (&json!("stale"), &json!("Ada"), &json!("draft"))
    );
    // `é` has two bytes.
    assert_eq!(codes["spans"], json!([[11, 17], [20, 25]]));
    assert_eq!(all.len(), 2);
    assert_eq!(explain(json!({"scope": "draft"})).await.len(), 1);
    assert_eq!(explain(json!({"exclude_stale": true})).await[0]["content"], "the boiler room");
    let scope = office.admin.refusal("POST", &path, json!({"query": "q", "scope": "all"})).await;
    assert_eq!(scope, (400, "scope must be one of draft, department, shared".to_owned()));
}

#[tokio::test]
async fn an_explanation_checks_what_it_is_asked() {
    let office = Office::open().await;
    office.admin.remember("anything").await;
    let path = office.project("/explain");
    let query = "query must be 1 to 4096 bytes long";
    let limit = "limit must be between 1 and 50";
    for (body, expected) in [
        (json!({"query": ""}), query),
        (json!({"query": " \n"}), query),
        (json!({"query": "q".repeat(4_097)}), query),
        (json!({"query": "q", "limit": 0}), limit),
        (json!({"query": "q", "limit": 51}), limit),
    ] {
        assert_eq!(office.admin.refusal("POST", &path, body).await, (400, expected.to_owned()));
    }
    for body in [json!({}), json!({"query": 5}), json!({"query": "q", "limit": "3"}), json!({"query": "q", "x": 1})] {
        assert_eq!(office.admin.refusal("POST", &path, body.clone()).await.0, 400, "{body}");
    }
    let name = json!({"query": "q", "workspace": ""});
    assert_eq!(office.admin.refusal("POST", &path, name).await.0, 400);
    let nowhere = json!({"query": "q", "workspace": "nowhere"});
    let refused = office.admin.refusal("POST", &path, nowhere).await;
    assert_eq!(refused, (404, "no such workspace".to_owned()));
    let longest = json!({"query": "q".repeat(4_096), "limit": 50});
    office.admin.manage("POST", &path, longest).await;
}
