//! What clients and browsers read about the service first.

use mnemon_testkit::{TestServer, TestServerOptions};
use serde_json::json;

use super::Scene;

#[tokio::test]
async fn the_resource_says_who_gives_tokens_for_it() {
    let scene = Scene::set_public().await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let answer = scene.server.browser().get(path).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"), "{path}");
        let expected = json!({
            "resource": "https://memory.example/mcp", "resource_name": "Mnemon",
            "authorization_servers": ["https://memory.example"], "scopes_supported": ["mcp"],
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(answer.json(), expected, "{path}");
    }
}

#[tokio::test]
async fn the_server_says_what_it_can_at_every_place_that_clients_look() {
    let scene = Scene::set_public().await;
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
    ] {
        let answer = scene.server.browser().get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        let expected = json!({
            "issuer": "https://memory.example",
            "authorization_endpoint": "https://memory.example/authorize",
            "token_endpoint": "https://memory.example/token",
            "registration_endpoint": "https://memory.example/register",
            "revocation_endpoint": "https://memory.example/revoke",
            "scopes_supported": ["mcp"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": true,
        });
        assert_eq!(answer.json(), expected, "{path}");
    }
}

/// The address comes from the configuration, whatever host a request names.
#[tokio::test]
async fn no_header_changes_what_we_are_called() {
    let scene = Scene::set_public().await;
    let headers = [("host", "evil.example"), ("x-forwarded-host", "evil.example"), ("forwarded", "host=evil.example")];
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"] {
        let answer = scene.server.browser().request("GET", path, &headers).await;
        assert!(answer.text.contains("https://memory.example") && !answer.text.contains("evil"), "{}", answer.text);
    }
    let answer = scene.server.browser().request("POST", "/mcp", &headers).await;
    let expected =
        r#"Bearer resource_metadata="https://memory.example/.well-known/oauth-protected-resource/mcp", scope="mcp""#;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, expected));
}

/// The endpoints for programs are open to pages of every origin; they use no cookies.
#[tokio::test]
async fn any_page_may_read_metadata_register_and_exchange() {
    let scene = Scene::set().await;
    let mut browser = scene.server.browser();
    let origin = ("origin", "https://app.example");
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/token",
        "/register",
        "/revoke",
    ] {
        let asks =
            [origin, ("access-control-request-method", "POST"), ("access-control-request-headers", "content-type")];
        let leave = browser.request("OPTIONS", path, &asks).await;
        assert_eq!(leave.status, 200, "{path}");
        assert_eq!(leave.header("access-control-allow-origin"), "*", "{path}");
        assert!(leave.header("access-control-allow-methods").contains("POST"), "{path}");
        assert!(leave.header("access-control-allow-headers").contains("content-type"), "{path}");
        let method = if path.starts_with("/.well") { "GET" } else { "POST" };
        let answer = browser.request(method, path, &[origin]).await;
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}: errors too");
        assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
    }
    let page = browser.request("GET", &scene.flow.path(), &[origin]).await;
    assert_eq!((page.status, page.header("access-control-allow-origin")), (200, ""), "no page reads the page");
}

/// `/mcp` is open to the origins that the operator named, and says so to browsers.
#[tokio::test]
async fn a_page_calls_tools_only_from_an_origin_that_may() {
    let allowed_origins = vec!["https://app.example".to_owned()];
    let server = TestServer::start_with(TestServerOptions { allowed_origins, ..TestServerOptions::default() }).await;
    let mut browser = server.browser();
    let asks = |origin| [("origin", origin), ("access-control-request-method", "POST")];
    let leave = browser.request("OPTIONS", "/mcp", &asks("https://app.example")).await;
    assert_eq!((leave.status, leave.header("access-control-allow-origin")), (204, "https://app.example"));
    assert_eq!(leave.header("access-control-allow-methods"), "POST");
    const SENT: [&str; 7] = [
        "authorization",
        "content-type",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "accept",
        "mnemon-workspace",
    ];
    for header in SENT {
        assert!(leave.header("access-control-allow-headers").contains(header), "{header}");
    }
    assert_eq!(leave.header("vary"), "origin");
    let refused = browser.request("OPTIONS", "/mcp", &asks("https://evil.example")).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, ""));
    let challenge = browser.request("POST", "/mcp", &[("origin", "https://app.example")]).await;
    assert_eq!((challenge.status, challenge.header("access-control-allow-origin")), (401, "https://app.example"));
    assert_eq!(
        challenge.header("access-control-expose-headers"),
        "www-authenticate",
        "the page finds the way from here"
    );
    let caller = server.new_user().await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let answer = caller.post(list, &[("origin", "https://app.example")]).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "https://app.example"));
    let answer = caller.post(list, &[]).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, ""));
    let star = TestServerOptions { allowed_origins: vec!["*".to_owned()], ..TestServerOptions::default() };
    let server = TestServer::start_with(star).await;
    let leave = server.browser().request("OPTIONS", "/mcp", &asks("https://any.example")).await;
    assert_eq!((leave.status, leave.header("access-control-allow-origin")), (204, "https://any.example"));
}
