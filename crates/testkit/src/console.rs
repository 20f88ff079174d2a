//! A person in the console: signs in, opens pages and sends their forms, as a browser does.

use url::form_urlencoded;

use crate::{Answer, Caller};

/// Somebody who is signed in.
#[derive(Debug, Clone)]
pub struct ConsoleVisitor {
    caller: Caller,
    cookie: String,
    /// What every form of the session carries; empty for somebody who is not signed in.
    pub seal: String,
}

impl ConsoleVisitor {
    /// Signs in with the caller's key, if it is accepted.
    pub async fn sign_in(caller: &Caller) -> Option<Self> {
        let caller = own_client(caller);
        let form = form(&[("key", &caller.key)]);
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
        let answer = caller.send("POST", "/console/sign-in", &headers, form).await;
        let cookie = answer.header("set-cookie").split(';').next()?.to_owned();
        if answer.status != 303 || cookie.is_empty() {
            return None;
        }
        let mut visitor = Self { caller, cookie, seal: String::new() };
        let home = visitor.get("/console").await;
        let page = visitor.get(home.header("location")).await;
        visitor.seal = hidden(&page.text, "seal")?;
        Some(visitor)
    }

    /// Somebody who is not signed in.
    pub fn stranger(caller: &Caller) -> Self {
        Self { caller: own_client(caller), cookie: String::new(), seal: String::new() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.caller.send("GET", path, &[("cookie", &self.cookie), ("sec-fetch-site", "same-origin")], "").await
    }

    /// Sends a form of one of our pages.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let sealed: Vec<(&str, &str)> = fields.iter().copied().chain([("seal", self.seal.as_str())]).collect();
        self.submit_with(path, &sealed, &[("sec-fetch-site", "same-origin")]).await
    }

    /// Sends exactly these fields with these headers, and the cookie.
    pub async fn submit_with(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let usual = [("content-type", "application/x-www-form-urlencoded"), ("cookie", self.cookie.as_str())];
        let all: Vec<(&str, &str)> = usual.into_iter().chain(headers.iter().copied()).collect();
        self.caller.send("POST", path, &all, form(fields)).await
    }

    /// The cookie, as the browser sends it.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }
}

/// The same caller, who follows no redirect by itself.
fn own_client(caller: &Caller) -> Caller {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build();
    Caller::new(client.expect("a client without special needs"), &caller.url, &caller.key)
}

/// The value of a hidden field of a page.
pub fn hidden(page: &str, name: &str) -> Option<String> {
    let after = page.split(&format!("name=\"{name}\" value=\"")).nth(1)?;
    after.split('"').next().map(str::to_owned)
}

fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
