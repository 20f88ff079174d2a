//! The admin API's document, held against what a real service answers.

use mnemon_core::Role;
use mnemon_testkit::{MemberSpec, TestServer};
use serde_json::{Value, json};

/// What is wrong with a value, by the part of JSON Schema that our documents use.
fn mismatch(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).expect("references lead somewhere");
        return mismatch(document, schema, value, at);
    }
    if let Some(parts) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let fits = parts.iter().any(|part| mismatch(document, part, value, at).is_none());
        return (!fits).then(|| format!("{at}: {value} fits none of {parts:?}"));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{at}: {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(is) {
        return Some(format!("{at}: {value} is not {kinds:?}"));
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        return Some(format!("{at}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{at}: {value} is not one of {}", schema["enum"]));
    }
    if let (Some(items), true) = (value.as_array(), schema["items"].is_object()) {
        return items.iter().find_map(|item| mismatch(document, &schema["items"], item, &format!("{at}[]")));
    }
    let (Some(members), Some(properties)) = (value.as_object(), schema["properties"].as_object()) else { return None };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.into_iter().find(|name| !members.contains_key(*name));
    if let Some(name) = missing {
        return Some(format!("{at}: {name} is missing"));
    }
    members.iter().find_map(|(name, value)| match properties.get(name) {
        Some(schema) => mismatch(document, schema, value, &format!("{at}.{name}")),
        None => Some(format!("{at}: {name} is not described")),
    })
}

#[tokio::test]
async fn answers_have_the_form_that_the_document_describes() {
    let document = mnemon_server::admin_openapi();
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let operator = server.operator().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let saved = admin.remember("We deploy on Tuesdays at ten.").await;
    admin
        .call("remember", json!({"content": "The boiler code is 4711.", "source_id": "a.md", "source_hash": "h1"}))
        .await;
    let me = admin.admin("GET", "/me", Value::Null).await.json();
    let (account, project) = (me["account"]["id"].as_str().unwrap(), me["project"]["id"].as_str().unwrap());
    let (member, record) = (me["member"]["id"].as_str().unwrap(), saved["id"].as_str().unwrap());
    let bodies = [
        ("/projects/{project}/context", json!({})),
        ("/projects/{project}/explain", json!({"query": "deploy"})),
        (
            "/projects/{project}/sources/validate",
            json!({"sources": [{"source_id": "a.md", "current_source_hash": "h2"}]}),
        ),
        ("/accounts/{account}/members", json!({"name": "Ben", "role": "member"})),
        ("/accounts/{account}/departments", json!({"name": "Sales"})),
        ("/accounts/{account}/projects", json!({"name": "Second"})),
        ("/projects/{project}/keys", json!({"member_id": member, "access": "read"})),
    ];
    let mut compared = 0;
    for (pattern, methods) in document["paths"].as_object().unwrap() {
        let short = pattern.strip_prefix("/admin/v1").unwrap();
        let path = short.replace("{account}", account).replace("{project}", project).replace("{member}", member);
        let path = path.replace("{record}", record);
        for (method, operation) in methods.as_object().unwrap() {
            let body = bodies.iter().find(|(path, _)| *path == short && method == "post").map(|(_, body)| body.clone());
            if path.contains('{') || !(method == "get" || body.is_some()) {
                continue;
            }
            let caller = if matches!(short, "/accounts" | "/plans" | "/nodes") { &operator } else { &admin };
            let answer = caller.admin(&method.to_uppercase(), &path, body.unwrap_or(Value::Null)).await;
            let described = operation["responses"].get(answer.status.to_string());
            let described = described.unwrap_or_else(|| panic!("{method} {path}: {} {}", answer.status, answer.text));
            // Lines have tests of their own (`moving.rs`).
            if described["content"].get("application/x-ndjson").is_some() {
                continue;
            }
            let schema = &described["content"]["application/json"]["schema"];
            let wrong = mismatch(&document, schema, &answer.json(), &format!("{method} {short}"));
            assert_eq!(wrong, None, "{}", answer.text);
            compared += 1;
        }
    }
    assert!(compared >= 25, "{compared}");
    let plain = mismatch(&document, &json!({"type": "object", "properties": {}}), &json!({"more": 1}), "x");
    assert_eq!(plain.as_deref(), Some("x: more is not described"), "the comparison can fail");
}
