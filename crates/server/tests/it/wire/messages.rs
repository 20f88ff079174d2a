//! What one POST may carry: one JSON-RPC object, read strictly.

use mnemon_testkit::{Caller, Organization, TestServer};
use serde_json::{Value, json};

use super::{refusal, result};

async fn set_up() -> (TestServer, Organization, Caller) {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, Default::default()).await;
    (server, organization, caller)
}

/// A request to save, with these members instead of the usual ones.
fn save_with(members: Value) -> Value {
    let mut request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "remember", "arguments": {"content": "a message was executed"}},
    });
    for (name, value) in members.as_object().expect("members") {
        request[name] = value.clone();
    }
    request
}

#[tokio::test]
async fn what_is_not_json_is_32700_with_a_null_id() {
    let (server, organization, caller) = set_up().await;
    let before = server.log_position(&organization).await;
    let valid = save_with(json!({})).to_string();
    let cut = &valid[..valid.len() - 1];
    let double = format!("{valid}{valid}");
    let repeated = valid.replacen('{', r#"{"id":2,"#, 1);
    let bodies = ["", " ", "{", "nul", "NaN", "{'a':1}", "{\"a\":1,}", "\u{feff}{}", cut, &double, &repeated];
    for body in bodies {
        let answer = caller.post(body.to_owned(), &[]).await;
        assert_eq!(refusal(&answer), (400, -32700), "{body}");
        assert_eq!(answer.json()["id"], Value::Null, "{body}");
        assert_eq!(answer.json()["jsonrpc"], "2.0", "{body}");
    }
    assert_eq!(server.log_position(&organization).await, before);
}

#[tokio::test]
async fn what_is_no_request_is_32600() {
    let (server, organization, caller) = set_up().await;
    let before = server.log_position(&organization).await;
    let bodies = [
        json!([]),
        json!([save_with(json!({}))]),
        json!([save_with(json!({})), save_with(json!({"id": 2}))]),
        json!("text"),
        json!(1),
        json!(null),
        json!(true),
        json!({}),
        save_with(json!({"jsonrpc": "1.0"})),
        save_with(json!({"jsonrpc": 2.0})),
        save_with(json!({"jsonrpc": null})),
        save_with(json!({"method": 5})),
        save_with(json!({"method": null})),
        json!({"jsonrpc": "2.0", "id": 1}),
        save_with(json!({"id": null})),
        save_with(json!({"id": 1.5})),
        save_with(json!({"id": 1e30})),
        save_with(json!({"id": true})),
        save_with(json!({"id": {}})),
        save_with(json!({"id": [1]})),
    ];
    for body in bodies {
        let answer = caller.post(body.to_string(), &[]).await;
        assert_eq!(refusal(&answer), (400, -32600), "{body}");
        assert_eq!(answer.json()["id"], Value::Null, "{body}");
    }
    assert_eq!(server.log_position(&organization).await, before);
}

#[tokio::test]
async fn an_id_comes_back_as_it_came() {
    let (_server, _organization, caller) = set_up().await;
    let ids = [json!(0), json!(-1), json!(i64::MIN), json!(u64::MAX), json!(""), json!("a\"\\\u{1F600}\n"), json!("1")];
    for id in ids {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        assert_eq!(
            caller.post(request.to_string(), &[]).await.json(),
            json!({"jsonrpc": "2.0", "id": id, "result": {}})
        );
    }
}

#[tokio::test]
async fn a_notification_is_accepted_and_nothing_is_executed() {
    let (server, organization, caller) = set_up().await;
    let before = server.log_position(&organization).await;
    let mut save = save_with(json!({}));
    save.as_object_mut().expect("an object").remove("id");
    let notifications = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "no/such/thing", "params": 7}),
        save,
    ];
    for body in notifications {
        let answer = caller.post(body.to_string(), &[]).await;
        assert_eq!((answer.status, answer.text.as_str()), (202, ""), "{body}");
    }
    assert_eq!(server.log_position(&organization).await, before);
}

#[tokio::test]
async fn a_posted_response_is_accepted_and_dropped() {
    let (_server, _organization, caller) = set_up().await;
    for body in [
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}),
    ] {
        let answer = caller.post(body.to_string(), &[]).await;
        assert_eq!((answer.status, answer.text.as_str()), (202, ""), "{body}");
    }
}

#[tokio::test]
async fn json_nests_sixty_four_deep_and_not_sixty_five() {
    let (server, organization, caller) = set_up().await;
    // The request itself, its params and its arguments are three levels.
    let nested = |depth: usize| {
        let filler = format!("{}{}", "[".repeat(depth - 3), "]".repeat(depth - 3));
        let request = save_with(json!({
            "params": {"name": "remember", "arguments": {"content": "deep", "filler": "HERE"}}
        }));
        request.to_string().replace("\"HERE\"", &filler)
    };
    let answer = caller.post(nested(65), &[]).await;
    assert_eq!(refusal(&answer), (400, -32700));
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("the JSON is nested deeper than 64 levels"), "{message}");
    assert_eq!(server.log_position(&organization).await, 0);
    let answer = result(&caller.post(nested(64), &[]).await);
    assert_eq!(answer["structuredContent"]["ignored_arguments"], json!(["filler"]));
    assert_eq!(caller.post("[".repeat(500_000), &[]).await.status, 400);
}

/// The value itself, and those in it.
fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(members) => members.values().map(count_values).sum(),
        _ => 0,
    }
}

#[tokio::test]
async fn json_has_sixteen_thousand_values_and_not_one_more() {
    let (server, organization, caller) = set_up().await;
    let filled = |items: usize| {
        let arguments = json!({"content": "wide", "filler": vec![1; items]});
        save_with(json!({"params": {"name": "remember", "arguments": arguments}}))
    };
    let items_max = 16_384 - count_values(&filled(0));
    let answer = caller.post(filled(items_max + 1).to_string(), &[]).await;
    assert_eq!(refusal(&answer), (400, -32700));
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("the JSON has more than 16384 values"), "{message}");
    assert_eq!(server.log_position(&organization).await, 0);
    let answer = result(&caller.post(filled(items_max).to_string(), &[]).await);
    assert_eq!(answer["structuredContent"]["ignored_arguments"], json!(["filler"]));
}

#[tokio::test]
async fn a_repeated_key_is_refused_at_any_depth() {
    let (server, organization, caller) = set_up().await;
    let valid = save_with(json!({})).to_string();
    for (once, twice) in [
        (r#""id":1"#, r#""id":1,"id":1"#),
        (r#""name":"remember""#, r#""name":"search","name":"remember""#),
        (r#""content":"#, r#""content":"other","content":"#),
        (r#""content":"#, r#""content":"other","c\u006fntent":"#),
    ] {
        let body = valid.replace(once, twice);
        assert_ne!(body, valid);
        assert_eq!(refusal(&caller.post(body, &[]).await), (400, -32700), "{twice}");
    }
    assert_eq!(server.log_position(&organization).await, 0);
}

#[tokio::test]
async fn params_and_arguments_are_objects_or_absent() {
    let (_server, _organization, caller) = set_up().await;
    for params in [json!([]), json!("x"), json!(5), json!(null)] {
        for method in ["tools/list", "tools/call", "initialize"] {
            assert_eq!(refusal(&caller.request(method, params.clone()).await), (200, -32602), "{method} {params}");
        }
    }
    for arguments in [json!([]), json!("{}"), json!(5), json!(false)] {
        let params = json!({"name": "search", "arguments": arguments});
        assert_eq!(refusal(&caller.request("tools/call", params).await), (200, -32602), "{arguments}");
    }
    for params in [json!({}), json!({"name": 5}), json!({"name": null}), json!({"name": ["search"]})] {
        assert_eq!(refusal(&caller.request("tools/call", params.clone()).await), (200, -32602), "{params}");
    }
    for params in [json!({"name": "search"}), json!({"name": "search", "arguments": null})] {
        let answer = result(&caller.request("tools/call", params).await);
        assert_eq!(answer["content"][0]["text"], "Error executing tool search: query must not be empty");
    }
    let without_params = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    result(&caller.post(without_params.to_string(), &[]).await);
}

#[tokio::test]
async fn an_unknown_tool_is_named_in_the_error() {
    let (_server, _organization, caller) = set_up().await;
    for name in ["rememberr", "Remember", "", " search", "agent_sync_status", "github_readonly.get_me"] {
        let answer = caller.request("tools/call", json!({"name": name, "arguments": {}})).await;
        assert_eq!(refusal(&answer), (200, -32602), "{name}");
        assert_eq!(answer.json()["error"]["message"], format!("Unknown tool: {name}"));
        assert_eq!(answer.json()["id"], 1);
        let modern = caller.modern("tools/call", json!({"name": name})).await;
        if !name.is_empty() && name.trim() == name {
            assert_eq!(refusal(&modern), (200, -32602), "{name}");
        }
    }
}
