//! Bad input: each kind gets its exact answer, and nothing is stored. And whatever is stored comes back byte for byte,
//! however odd it is.

use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

use crate::errors::reason;

async fn set_up() -> (TestServer, Organization, Caller) {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, organization, caller)
}

/// The required arguments of a call, all valid.
fn required(tool: &str) -> Value {
    match tool {
        "remember" => json!({"content": "c"}),
        "search" => json!({"query": "q"}),
        "validate_memory" => json!({"source_id": "s"}),
        "gateway_call" => json!({"server": "s", "tool": "t"}),
        _ => json!({}),
    }
}

#[tokio::test]
async fn a_wrong_type_is_named_with_the_type_expected() {
    let (server, organization, caller) = set_up().await;
    let texts = [json!(5), json!(1.5), json!(true), json!([]), json!(["x"]), json!({}), json!({"a": 1})];
    let no_number = [json!(true), json!([]), json!({}), json!("five"), json!("1,5"), json!("0x1")];
    let no_boolean = [json!(0), json!(1), json!([]), json!({}), json!("yes"), json!("1")];
    let no_object = [json!(5), json!(true), json!([]), json!("x"), json!("[]"), json!("{")];
    let mut rows: Vec<(&str, &str, &[Value], &str)> = Vec::new();
    for name in [
        "content",
        "workspace",
        "scope",
        "fact_key",
        "source",
        "source_id",
        "source_hash",
        "source_revision",
        "valid_until",
    ] {
        rows.push(("remember", name, &texts, "a string"));
    }
    rows.push(("remember", "confidence", &no_number, "a number"));
    for name in ["query", "workspace", "scope"] {
        rows.push(("search", name, &texts, "a string"));
    }
    let no_integer = [&no_number[..], &[json!(1.5), json!("1.5")]].concat();
    rows.push(("search", "limit", &no_integer, "an integer"));
    rows.push(("search", "exclude_stale", &no_boolean, "a boolean"));
    for name in ["memory_id", "source_id"] {
        rows.push(("forget", name, &texts, "a string"));
    }
    for name in ["source_id", "current_source_hash", "workspace"] {
        rows.push(("validate_memory", name, &texts, "a string"));
    }
    for name in ["server", "tool"] {
        rows.push(("gateway_call", name, &texts, "a string"));
    }
    rows.push(("gateway_call", "arguments", &no_object, "an object"));
    for (tool, name, values, expected) in rows {
        for value in values {
            let mut arguments = required(tool);
            arguments[name] = value.clone();
            let answer = caller.call(tool, arguments.clone()).await;
            assert_eq!(reason(tool, &answer), format!("{name} must be {expected}"), "{tool} {arguments}");
        }
    }
    let workspace = caller.call("forget", json!({"source_id": "s", "workspace": 5})).await;
    assert_eq!(reason("forget", &workspace), "workspace must be a string");
    assert_eq!(server.log_position(&organization).await, 0);
}

/// A save whose content is these bytes, between its quotes.
fn save_of(content: &[u8]) -> Vec<u8> {
    let before =
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"content":""#;
    [&before[..], content, br#""}}}"#].concat()
}

#[tokio::test]
async fn bytes_that_are_no_text_are_32700_and_store_nothing() {
    let (server, organization, caller) = set_up().await;
    let broken: [(&str, &[u8]); 14] = [
        ("a lone byte above ASCII", b"a\xffb"),
        ("a continuation without a start", b"\x80"),
        ("a start without a continuation", b"\xc3"),
        ("an overlong slash", b"\xc0\xaf"),
        ("an encoded surrogate", b"\xed\xa0\x80"),
        ("beyond Unicode", b"\xf4\x90\x80\x80"),
        ("UTF-16", b"a\x00b\x00"),
        ("a raw NUL", b"a\0b"),
        ("a raw line break", b"a\nb"),
        ("a raw tab", b"a\tb"),
        ("an escaped lone high surrogate", br"\ud800"),
        ("an escaped lone low surrogate", br"\udc00 x"),
        ("surrogates the wrong way round", br"\ude00\ud83d"),
        ("an unknown escape", br"\x41"),
    ];
    for (what, content) in broken {
        let answer = caller.post(save_of(content), &[]).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32700)), "{what}");
        assert_eq!(answer.json()["id"], Value::Null, "{what}");
    }
    assert_eq!(server.log_position(&organization).await, 0);
}

#[tokio::test]
async fn an_escaped_nul_is_valid_json_and_no_valid_content() {
    let (server, organization, caller) = set_up().await;
    let answer = caller.post(save_of(br"a\u0000b"), &[]).await;
    let text = "Error executing tool remember: content must not contain the NUL character";
    assert_eq!((answer.status, &answer.json()["result"]["content"][0]["text"]), (200, &json!(text)));
    assert_eq!(server.log_position(&organization).await, 0);
    caller.remember("something to search in").await;
    assert_eq!(caller.search("a\u{0}b").await, Vec::<Value>::new(), "a query is not stored, so it may hold anything");
}

#[tokio::test]
async fn what_is_stored_comes_back_byte_for_byte() {
    let (_server, _organization, caller) = set_up().await;
    let odd = [
        "lines\r\nof\nall\rkinds\u{2028}and\u{2029}more\u{85}",
        "\t tabs and spaces \u{a0}\u{3000} at both ends \t",
        "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇦 \u{1f9d1}\u{1f3fd}",
        "combining e\u{301} and precomposed \u{e9} stay apart",
        "a pile: Z\u{351}\u{36b}\u{343}\u{32a}\u{302}\u{36b}a\u{33d}\u{34f}",
        "right to left: שלום עליכם and السلام عليكم, mixed",
        "controls \u{1} \u{7f} \u{1b}[31m and a \u{feff} mark",
        "quotes \" ' ` \\ / \\u0041 </script> <!-- ${x} %s %00 ;--",
        "astral 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \u{10ffff} \u{e000} \u{fffd} \u{fffe}",
        "日本語のテキスト、한국어, ไทย, हिन्दी",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}",
    ];
    for (n, text) in odd.into_iter().enumerate() {
        let marker = format!("anchor{n} ");
        let content = format!("{marker}{text}");
        // A source takes everything but control characters.
        let source = content.replace(char::is_control, "");
        let saved = caller.call("remember", json!({"content": content, "source": source})).await;
        assert_eq!(saved.structured()["content"], content);
        let found = caller.search(&marker).await;
        assert_eq!((&found[0]["content"], &found[0]["source"]), (&json!(content), &json!(source)));
        let again = caller.call("remember", json!({"content": content, "source": source})).await;
        assert_eq!(again.structured()["duplicate"], true, "{text}");
    }
}

#[tokio::test]
async fn escapes_and_plain_characters_are_one_text() {
    let (_server, _organization, caller) = set_up().await;
    let answer = caller.post(save_of(br"caf\u00e9 \ud83d\ude00 \/ \b"), &[]).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["content"], "café 😀 / \u{8}");
}

#[tokio::test]
async fn a_text_of_exactly_sixteen_kibibytes_comes_back_whole() {
    let (_server, _organization, caller) = set_up().await;
    let mut content = "monolith".to_owned();
    for n in 0.. {
        let line = format!("\nOn day {n} the café in Malmö served {} cups – 日本 tea among them.", n * 7 % 90);
        if content.len() + line.len() > 16_384 {
            break;
        }
        content.push_str(&line);
    }
    content.push_str(&" ".repeat(16_384 - content.len()));
    assert_eq!(content.len(), 16_384);
    assert_eq!(caller.remember(&content).await["content"], content);
    assert_eq!(caller.search("monolith").await[0]["content"], content);
}

#[tokio::test]
async fn of_two_idempotency_headers_the_first_counts() {
    let (_server, _organization, caller) = set_up().await;
    // Two different values contradict each other; refusing the call would be better.
    let twice = [("x-idempotency-key", "a"), ("x-idempotency-key", "b")];
    let first = caller.call_with("remember", json!({"content": "c"}), &twice).await;
    let again = caller.call_with("remember", json!({"content": "c"}), &[("x-idempotency-key", "a")]).await;
    assert_eq!(again.result, first.result);
}
