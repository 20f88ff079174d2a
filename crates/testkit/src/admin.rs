//! Calls to the admin API.

use serde_json::Value;

use crate::{Answer, Caller, TestServer};

impl TestServer {
    /// The operator, with the token of the first start. May be called only once.
    pub async fn operator(&self) -> Caller {
        let token = self.engine.first_operator_token().await.expect("the store works");
        self.caller(token.expect("the token was not made before").expose())
    }
}

impl Caller {
    /// Sends a request to the admin API. The path is what follows `/admin/v1`; null means no body. A caller without a
    /// key sends no credential.
    pub async fn admin(&self, method: &str, path: &str, body: Value) -> Answer {
        let bearer = format!("Bearer {}", self.key);
        let mut headers = vec![("content-type", "application/json")];
        if !self.key.is_empty() {
            headers.push(("authorization", &bearer));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, &format!("/admin/v1{path}"), &headers, body).await
    }

    /// Makes a request that must succeed, and returns the answer.
    pub async fn manage(&self, method: &str, path: &str, body: Value) -> Value {
        let answer = self.admin(method, path, body).await;
        assert!(matches!(answer.status, 200 | 201), "{method} {path}: {} {}", answer.status, answer.text);
        answer.json()
    }

    /// Makes a request that must be refused, and returns the status and the message after checking the form.
    pub async fn refusal(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let answer = self.admin(method, path, body).await;
        let code = match answer.status {
            400 => "invalid",
            401 => "unauthorized",
            403 => "forbidden",
            404 => "not_found",
            409 => "conflict",
            413 => "too_large",
            status => panic!("{method} {path} was not refused: {status} {}", answer.text),
        };
        let json = answer.json();
        assert_eq!(json["error"], code, "{method} {path}: {}", answer.text);
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(2), "{}", answer.text);
        (answer.status, json["message"].as_str().unwrap_or_default().to_owned())
    }
}
