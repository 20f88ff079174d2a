//! The endpoint's protocol and HTTP, rule by rule: who is accepted, what a message is, both eras, the tool list.

mod doors;
mod eras;
mod listing;
mod messages;

use mnemon_testkit::Answer;
use serde_json::Value;

/// The status and the JSON-RPC error code of a refused request.
fn refusal(answer: &Answer) -> (u16, i64) {
    let code = answer.json()["error"]["code"].as_i64();
    (answer.status, code.unwrap_or_else(|| panic!("no error code in {}", answer.text)))
}

/// The result of a request that must have worked.
fn result(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let result = answer.json()["result"].clone();
    assert!(result.is_object(), "{}", answer.text);
    result
}
