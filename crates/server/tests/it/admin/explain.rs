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
