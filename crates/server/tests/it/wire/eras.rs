//! Both eras of the protocol: 2026-07-28, where every request describes itself, and the older ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mnemon_protocol::mcp::{MODERN_VERSION, header, meta};
use mnemon_testkit::{Caller, TestServer};
use serde_json::{Value, json};

use super::{refusal, result};

async fn server_and_caller() -> (TestServer, Caller) {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    (server, caller)
}

fn describes_itself() -> Value {
    json!({meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: {}})
}

fn request(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).to_string()
}

const VERSION: (&str, &str) = (header::PROTOCOL_VERSION, MODERN_VERSION);
const TOOLS: &[&str] = &["remember", "search", "forget", "validate_memory", "gateway_call"];

#[tokio::test]
async fn a_modern_result_has_its_extras_and_a_legacy_one_has_none() {
    let (_server, caller) = server_and_caller().await;
    caller.remember("the era of a request").await;
    let search = json!({"name": "search", "arguments": {"query": "era"}});
    for (method, params) in [("tools/list", json!({})), ("server/discover", json!({})), ("tools/call", search)] {
        let modern = result(&caller.modern(method, params.clone()).await);
        assert_eq!(modern["resultType"], "complete", "{method}");
        let info = json!({"name": "Mnemon", "version": env!("CARGO_PKG_VERSION")});
        assert_eq!(modern["_meta"][meta::SERVER_INFO], info, "{method}");
        assert_eq!(modern["_meta"]["api_version"], "1.0", "{method}");
        let legacy = result(&caller.request(method, params).await);
        assert_eq!(legacy["_meta"], json!({"api_version": "1.0"}), "{method}");
        for extra in ["resultType", "ttlMs", "cacheScope"] {
            assert_eq!(legacy[extra], Value::Null, "{method} {extra}");
        }
        if method != "tools/call" {
            assert_eq!((&modern["ttlMs"], &modern["cacheScope"]), (&json!(300_000), &json!("private")), "{method}");
        }
    }
}

#[tokio::test]
async fn both_eras_answer_a_call_alike() {
    let (_server, caller) = server_and_caller().await;
    caller.remember("one truth for both eras").await;
    for arguments in [json!({"query": "truth"}), json!({"query": ""})] {
        let params = json!({"name": "search", "arguments": arguments});
        let modern = result(&caller.modern("tools/call", params.clone()).await);
        let legacy = result(&caller.request("tools/call", params).await);
        for member in ["content", "structuredContent", "isError"] {
            assert_eq!(modern[member], legacy[member], "{member}");
        }
    }
}

#[tokio::test]
async fn discover_names_versions_and_capabilities_in_both_eras() {
    let (_server, caller) = server_and_caller().await;
    for answer in
        [caller.modern("server/discover", json!({})).await, caller.request("server/discover", json!({})).await]
    {
        let discovered = result(&answer);
        let versions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
        assert_eq!(discovered["supportedVersions"], json!(versions));
        assert_eq!(discovered["capabilities"], json!({"tools": {}}));
        assert!(discovered["instructions"].as_str().is_some_and(|text| !text.is_empty()));
    }
}

#[tokio::test]
async fn a_modern_header_that_says_something_else_than_the_body_is_32020() {
    let (_server, caller) = server_and_caller().await;
    let call =
        request("tools/call", &json!({"name": "search", "arguments": {"query": "x"}, "_meta": describes_itself()}));
    let method = (header::METHOD, "tools/call");
    let name = (header::NAME, "search");
    let mismatches: [&[(&str, &str)]; 10] = [
        &[],
        &[VERSION],
        &[VERSION, method],
        &[VERSION, name],
        &[method, name],
        &[(header::PROTOCOL_VERSION, "2025-11-25"), method, name],
        &[VERSION, (header::METHOD, "Tools/Call"), name],
        &[VERSION, (header::METHOD, "tools/list"), name],
        &[VERSION, method, (header::NAME, "forget")],
        &[VERSION, method, (header::NAME, "SEARCH")],
    ];
    for headers in mismatches {
        let answer = caller.post(call.clone(), headers).await;
        assert_eq!(refusal(&answer), (400, -32020), "{headers:?}");
        assert_eq!(answer.json()["id"], "a", "{headers:?}");
    }
    // Header names are case-insensitive.
    let shouted = [("MCP-PROTOCOL-VERSION", MODERN_VERSION), ("MCP-METHOD", "tools/call"), ("MCP-NAME", "search")];
    result(&caller.post(call, &shouted).await);
}

#[tokio::test]
async fn a_wrapped_header_is_unwrapped_before_it_is_compared() {
    let (_server, caller) = server_and_caller().await;
    let wrapped = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
    let check = async |name: &str, in_header: &str, expected: (u16, i64)| {
        let body = request("tools/call", &json!({"name": name, "arguments": {}, "_meta": describes_itself()}));
        let headers = [VERSION, (header::METHOD, "tools/call"), (header::NAME, in_header)];
        let answer = caller.post(body, &headers).await;
        let code = answer.json()["error"]["code"].as_i64().unwrap_or(0);
        assert_eq!((answer.status, code), expected, "{name} {in_header}");
    };
    check("search", &wrapped("search"), (200, 0)).await;
    check("помнить", &wrapped("помнить"), (200, -32602)).await;
    check("search", &wrapped("forget"), (400, -32020)).await;
    check("search", "=?base64?***?=", (400, -32020)).await;
    check("search", "=?base64?/w==?=", (400, -32020)).await; // A byte that is no UTF-8.
    check("=?base64?", "=?base64?", (200, -32602)).await; // Not wrapped: only looks as if it began to be.
}

#[tokio::test]
async fn a_modern_request_describes_itself_or_is_32602() {
    let (_server, caller) = server_and_caller().await;
    let headers = [VERSION, (header::METHOD, "tools/list")];
    for incomplete in [
        json!({}),
        json!({"_meta": null}),
        json!({"_meta": {}}),
        json!({"_meta": {meta::CLIENT_CAPABILITIES: {}}}),
        json!({"_meta": {meta::PROTOCOL_VERSION: MODERN_VERSION}}),
        json!({"_meta": {meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: null}}),
        json!({"_meta": {meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: "x"}}),
        json!({"_meta": {meta::PROTOCOL_VERSION: 20_260_728, meta::CLIENT_CAPABILITIES: {}}}),
    ] {
        let answer = caller.post(request("tools/list", &incomplete), &headers).await;
        assert_eq!(refusal(&answer), (400, -32602), "{incomplete}");
    }
    let with_more = json!({"_meta": {
        meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: {"roots": {}}, "progressToken": 5,
        "io.modelcontextprotocol/clientInfo": {"name": "anybody", "version": "0"},
    }});
    result(&caller.post(request("tools/list", &with_more), &headers).await);
}

#[tokio::test]
async fn a_version_that_is_not_served_is_32022_and_names_those_that_are() {
    let (_server, caller) = server_and_caller().await;
    for version in ["2027-01-01", "1.0", "2026-07-29"] {
        let headers = [(header::PROTOCOL_VERSION, version), (header::METHOD, "tools/list")];
        let described = json!({"_meta": {meta::PROTOCOL_VERSION: version, meta::CLIENT_CAPABILITIES: {}}});
        for params in [described, json!({})] {
            let answer = caller.post(request("tools/list", &params), &headers).await;
            assert_eq!(refusal(&answer), (400, -32022), "{version} {params}");
            let supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
            let data = json!({"supported": supported, "requested": version});
            assert_eq!(answer.json()["error"]["data"], data);
        }
    }
}

#[tokio::test]
async fn an_unknown_method_is_404_in_modern_and_200_in_legacy() {
    let (_server, caller) = server_and_caller().await;
    for method in ["prompts/list", "resources/list", "tools/List", "", "completion/complete", "logging/setLevel"] {
        let modern = caller.modern(method, json!({})).await;
        assert_eq!(refusal(&modern), (404, -32601), "{method}");
        let legacy = caller.request(method, json!({})).await;
        assert_eq!(refusal(&legacy), (200, -32601), "{method}");
    }
    for legacy_only in ["ping", "initialize"] {
        assert_eq!(refusal(&caller.modern(legacy_only, json!({})).await), (404, -32601), "{legacy_only}");
    }
}

#[tokio::test]
async fn initialize_speaks_the_version_asked_for_or_the_newest_legacy_one() {
    let (_server, caller) = server_and_caller().await;
    let check = async |asked: Value, expected: &str| {
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
        let answer = result(&caller.request("initialize", params).await);
        assert_eq!(answer["protocolVersion"], expected, "{asked}");
        assert_eq!(answer["capabilities"], json!({"tools": {"listChanged": false}}));
        assert_eq!(answer["serverInfo"], json!({"name": "Mnemon", "version": env!("CARGO_PKG_VERSION")}));
        assert!(answer["instructions"].is_string());
    };
    for spoken in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        check(json!(spoken), spoken).await;
    }
    for other in ["2026-07-28", "2024-10-07", "", "9999-99-99"] {
        check(json!(other), "2025-11-25").await;
    }
    assert_eq!(refusal(&caller.request("initialize", json!({"protocolVersion": 7})).await), (200, -32602));
    // A client that tries the modern version first sends its header along; it is still a legacy handshake.
    let body = request("initialize", &json!({"protocolVersion": MODERN_VERSION}));
    assert_eq!(result(&caller.post(body, &[VERSION]).await)["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn legacy_headers_are_taken_and_an_unknown_version_is_400() {
    let (_server, caller) = server_and_caller().await;
    let list = request("tools/list", &json!({}));
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        result(&caller.post(list.clone(), &[(header::PROTOCOL_VERSION, version)]).await);
    }
    let answer = caller.post(list, &[(header::PROTOCOL_VERSION, "2020-01-01")]).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn ping_is_an_empty_object() {
    let (_server, caller) = server_and_caller().await;
    assert_eq!(caller.request("ping", json!({})).await.text, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    // The revision of 2026-07-28 has no ping.
    let modern = caller.modern("ping", json!({})).await;
    assert_eq!((modern.status, &modern.json()["error"]["code"]), (404, &json!(-32601)));
}

#[tokio::test]
async fn a_request_stands_alone_without_any_handshake() {
    let (_server, caller) = server_and_caller().await;
    for tool in TOOLS {
        let answer = caller.request("tools/call", json!({"name": tool, "arguments": {}})).await;
        assert_eq!(result(&answer)["isError"], true, "{tool}");
    }
}

#[tokio::test]
async fn a_modern_tool_that_fails_is_a_result_and_not_an_error() {
    let (_server, caller) = server_and_caller().await;
    let answer = caller.modern("tools/call", json!({"name": "remember", "arguments": {"content": ""}})).await;
    let failed = result(&answer);
    assert_eq!((&failed["isError"], &failed["resultType"]), (&json!(true), &json!("complete")));
    assert_eq!(failed["structuredContent"], Value::Null);
}
