//! A person with a browser and a client that wants to connect, without the browser: what both would send, step by step,
//! so that a test can do any step wrong.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mnemon_core::{ConnectionId, CredentialHash};
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

use crate::{Answer, Caller, TestServer};

/// Names and values, in their order.
pub type Pairs = Vec<(String, String)>;

/// A registered client, and the request it makes.
#[derive(Debug, Clone)]
pub struct Flow {
    pub client_id: String,
    pub redirect_uri: String,
    /// What it proves the code with.
    pub verifier: String,
    pub request: Pairs,
}

/// A browser: it keeps cookies and follows no redirect by itself.
pub struct Browser {
    client: reqwest::Client,
    url: String,
    /// The cookies, as it sends them.
    pub cookie: Option<String>,
}

impl TestServer {
    /// A browser that has never been here.
    pub fn browser(&self) -> Browser {
        Browser::at(&self.url)
    }

    /// Registers a client with this redirect URI, and makes its request.
    pub async fn flow(&self, redirect_uri: &str) -> Flow {
        let body = json!({"client_name": "Chat", "redirect_uris": [redirect_uri]});
        let answer = self.browser().post_json("/register", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let client_id = answer.json()["client_id"].as_str().expect("an id").to_owned();
        Flow::new(&client_id, redirect_uri)
    }

    /// The whole way from registration to a caller with a token, for the holder of this key.
    pub async fn connect(&self, key: &str) -> Caller {
        let flow = self.flow("https://chat.example/callback").await;
        let mut browser = self.browser();
        let code = flow.agree(&mut browser, key).await;
        let answer = browser.post_form("/token", &flow.exchange(&code)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        self.caller(answer.json()["access_token"].as_str().expect("a token"))
    }
}

impl TestServer {
    /// The connection of a caller with a token.
    pub async fn connection_of(&self, caller: &Caller) -> ConnectionId {
        let grant = self.store.find_grant(&CredentialHash::of(&caller.key)).await.expect("the store works");
        grant.expect("the token is known").id
    }
}

impl Flow {
    /// A registered client, and the request it makes.
    pub fn new(client_id: &str, redirect_uri: &str) -> Self {
        let verifier = "a-verifier-of-the-least-length-which-is-43c".to_owned();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let request = [
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", redirect_uri),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", "st/at e&="),
            ("scope", "mcp"),
        ];
        let request = request.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { client_id: client_id.to_owned(), redirect_uri: redirect_uri.to_owned(), verifier, request }
    }

    /// The path of the page.
    pub fn path(&self) -> String {
        format!("/authorize?{}", encode(&self.request))
    }

    /// The form that exchanges a code for a token.
    pub fn exchange(&self, code: &str) -> Pairs {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &self.verifier),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Opens the page, pastes the key, and returns the code that the client gets.
    pub async fn agree(&self, browser: &mut Browser, key: &str) -> String {
        let answer = self.paste(browser, key).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        returned(&answer, "code").expect("a code")
    }

    /// Opens the page, pastes the key, and returns what the browser gets.
    pub async fn paste(&self, browser: &mut Browser, key: &str) -> Answer {
        let page = browser.get(&self.path()).await;
        assert_eq!(page.status, 200, "{}", page.text);
        browser.post_form("/authorize", &filled(&page, key)).await
    }
}

impl Browser {
    pub fn at(url: &str) -> Self {
        // Another client of this process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        Self { client: client.expect("a client"), url: url.to_owned(), cookie: None }
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        let request = self.client.get(format!("{}{path}", self.url));
        self.send(request).await
    }

    pub async fn post_form(&mut self, path: &str, fields: &Pairs) -> Answer {
        self.post_form_with(path, fields, &[]).await
    }

    /// Sends a form with more headers.
    pub async fn post_form_with(&mut self, path: &str, fields: &Pairs, headers: &[(&str, &str)]) -> Answer {
        let request = self.client.post(format!("{}{path}", self.url)).body(encode(fields));
        let has_type = headers.iter().any(|(name, _)| *name == "content-type");
        let kind = (!has_type).then_some(("content-type", "application/x-www-form-urlencoded"));
        let all = headers.iter().copied().chain(kind);
        self.send(all.fold(request, |request, (name, value)| request.header(name, value))).await
    }

    pub async fn post_json(&mut self, path: &str, body: &Value) -> Answer {
        let request = self.client.post(format!("{}{path}", self.url)).body(body.to_string());
        self.send(request.header("content-type", "application/json")).await
    }

    /// Sends any request.
    pub async fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let method = method.parse().expect("a test's method");
        let request = self.client.request(method, format!("{}{path}", self.url));
        self.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Answer {
        let request = match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        };
        let response = request.send().await.expect("the service answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if let Some(set) = headers.get(SET_COOKIE).and_then(|value| value.to_str().ok()) {
            self.cookie = set.split(';').next().map(str::to_owned);
        }
        Answer { status, headers, text: response.text().await.expect("the answer is text") }
    }
}

/// A form's fields as they are sent.
pub fn encode(fields: &Pairs) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// The hidden fields of a page's form, and the key.
pub fn filled(page: &Answer, key: &str) -> Pairs {
    let mut fields = hidden_fields(&page.text);
    fields.push(("key".to_owned(), key.to_owned()));
    fields.push(("answer".to_owned(), "yes".to_owned()));
    fields
}

/// What an answer returns to the client under this name.
pub fn returned(answer: &Answer, name: &str) -> Option<String> {
    let location = Url::parse(answer.header(LOCATION.as_str())).expect("a whole address");
    location.query_pairs().find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
}

fn hidden_fields(html: &str) -> Pairs {
    let inputs = html.split("<input type=\"hidden\" name=\"").skip(1);
    let pair = |input: &str| {
        let (name, rest) = input.split_once("\" value=\"")?;
        Some((unescaped(name), unescaped(rest.split_once("\">")?.0)))
    };
    inputs.filter_map(pair).collect()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("&#") {
        let end = at + rest[at..].find(';').expect("an escape ends");
        plain.push_str(&rest[..at]);
        let code: u32 = rest[at + 2..end].parse().expect("a decimal escape");
        plain.push(char::from_u32(code).expect("a character"));
        rest = &rest[end + 1..];
    }
    plain + rest
}
