//! Calling the admin API from the command line.

use std::time::Duration;

use anyhow::{Context, bail};
use mnemon_protocol::admin::MeJson;
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{AdminConnection, Connection};
use crate::connecting;
use crate::http_client::{Answer, HttpClient};
use crate::naming::{self, ACCOUNT, DEPARTMENT, Kind, MEMBER, Named, PROJECT, is_id, pick};

const TIMEOUT: Duration = Duration::from_secs(60);

/// In more accounts than this the operator's project is not looked for by its name: each takes a request.
const ACCOUNTS_MAX: usize = 100;

/// A service, and a credential for its admin API.
pub struct AdminClient {
    url: String,
    credential: String,
    http: HttpClient,
}

impl AdminClient {
    pub fn new(connection: &AdminConnection) -> anyhow::Result<Self> {
        let (url, credential) = connecting::find_with_credential(connection)?;
        Self::at(&url, &credential)
    }

    /// For commands that belong to the holder of a key.
    pub fn with_key(connection: &Connection) -> anyhow::Result<Self> {
        let (url, key) = connecting::find_with_key(connection)?;
        Self::at(&url, &key)
    }

    /// With a known address and credential.
    pub fn at(url: &str, credential: &str) -> anyhow::Result<Self> {
        Ok(Self { url: url.to_owned(), credential: credential.to_owned(), http: HttpClient::new(TIMEOUT)? })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::GET, path, None)
    }

    pub fn post(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::POST, path, Some(serde_json::to_string(&body)?))
    }

    pub fn put(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::PUT, path, Some(serde_json::to_string(&body)?))
    }

    pub fn patch(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::PATCH, path, Some(serde_json::to_string(&body)?))
    }

    pub fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::DELETE, path, None)
    }

    pub fn delete_with(&self, path: &str, body: impl Serialize) -> anyhow::Result<Value> {
        self.send(Method::DELETE, path, Some(serde_json::to_string(&body)?))
    }

    /// Sends lines of JSON.
    pub fn upload(&self, path: &str, body: String) -> anyhow::Result<Value> {
        self.send(Method::POST, path, Some(body))
    }

    /// Fetches a body of any length.
    pub fn download(&self, path: &str, take: &mut dyn FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let bearer = format!("Bearer {}", self.credential);
        let headers = [("Authorization", bearer.as_str())];
        match self.http.download(&self.url, &format!("/admin/v1{path}"), &headers, take)? {
            Some(Answer { status, text }) => self.read(status, &text).map(|_| ()),
            None => Ok(()),
        }
    }

    fn send(&self, method: Method, path: &str, body: Option<String>) -> anyhow::Result<Value> {
        let bearer = format!("Bearer {}", self.credential);
        let headers = [("Authorization", bearer.as_str())];
        let Answer { status, text } = self.http.send(method, &self.url, &format!("/admin/v1{path}"), &headers, body)?;
        self.read(status, &text)
    }

    /// The answer's JSON, or the service's own message as the error.
    fn read(&self, status: StatusCode, text: &str) -> anyhow::Result<Value> {
        let answer: Value = serde_json::from_str(text)
            .with_context(|| format!("{} answered {status} with something that is not JSON", self.url))?;
        if status.is_success() {
            return Ok(answer);
        }
        bail!("{}", answer["message"].as_str().unwrap_or("the service refused the request without a reason"))
    }

    /// Whose key this is, told to somebody who has just typed it.
    pub fn whose(&self) -> anyhow::Result<MeJson> {
        let bearer = format!("Bearer {}", self.credential);
        let headers = [("Authorization", bearer.as_str())];
        let Answer { status, text } = self.http.send(Method::GET, &self.url, "/admin/v1/me", &headers, None)?;
        if status == StatusCode::UNAUTHORIZED {
            bail!(
                "{} does not know this key; copy all of it, and ask the person who made it whether it was revoked",
                self.url
            );
        }
        serde_json::from_value(self.read(status, &text)?).context("can't read the service's answer")
    }

    /// Whose key this is.
    pub fn me(&self) -> anyhow::Result<MeJson> {
        serde_json::from_value(self.get("/me")?).context("can't read the service's answer")
    }

    /// The account given by id or name, or the key's own, as a path segment.
    pub fn account(&self, typed: Option<&String>) -> anyhow::Result<String> {
        match typed {
            None => self.own("account", "--account"),
            Some(typed) if is_id(typed) => Ok(encode(typed)),
            Some(typed) if self.is_operator() => pick(ACCOUNT, &self.accounts()?, typed),
            // Of other accounts an admin knows nothing.
            Some(typed) => {
                let me = self.get("/me")?;
                let own = me["account"]["id"].as_str().filter(|_| me["account"]["name"] == typed.as_str());
                own.map(str::to_owned).context("no such account")
            }
        }
    }

    /// The project given by id or name, or the key's own, as a path segment.
    pub fn project(&self, typed: Option<&String>) -> anyhow::Result<String> {
        let Some(typed) = typed else { return self.own("project", "--project") };
        if is_id(typed) {
            return Ok(encode(typed));
        }
        if !self.is_operator() {
            return pick(PROJECT, &self.all(&self.account(None)?, PROJECT)?, typed);
        }
        let accounts = self.accounts()?;
        if accounts.len() > ACCOUNTS_MAX {
            bail!(
                "there are more than {ACCOUNTS_MAX} accounts; give the project's id, which `mnemon project list --account \
                 ACCOUNT` shows"
            );
        }
        let mut projects = Vec::new();
        for account in accounts {
            projects.extend(self.all(&account.id, PROJECT)?);
        }
        pick(PROJECT, &projects, typed)
    }

    /// The id of a department that was given by id or by name.
    pub fn department(&self, account: &str, typed: &str) -> anyhow::Result<String> {
        self.of_account(account, DEPARTMENT, typed)
    }

    /// The id of a member that was given by id or by name.
    pub fn member(&self, account: &str, typed: &str) -> anyhow::Result<String> {
        self.of_account(account, MEMBER, typed)
    }

    fn of_account(&self, account: &str, kind: Kind, typed: &str) -> anyhow::Result<String> {
        if is_id(typed) {
            return Ok(typed.to_owned());
        }
        pick(kind, &self.all(account, kind)?, typed)
    }

    /// Everything of a kind that an account has and the caller sees.
    pub fn all(&self, account: &str, kind: Kind) -> anyhow::Result<Vec<Named>> {
        let list = self.get(&format!("/accounts/{account}/{}", kind.many))?;
        Ok(naming::read(&list[kind.many]))
    }

    /// All accounts, for the operator.
    fn accounts(&self) -> anyhow::Result<Vec<Named>> {
        let (mut all, mut query) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("/accounts{query}"))?;
            all.extend(naming::read(&page["accounts"]));
            match page["next"].as_str() {
                Some(next) => query = format!("?after={}", encode(next)),
                None => return Ok(all),
            }
        }
    }

    /// The account of a project.
    pub fn account_of(&self, project: &str) -> anyhow::Result<String> {
        if !self.is_operator() {
            return self.account(None);
        }
        let shown = self.get(&format!("/projects/{project}"))?;
        shown["account_id"].as_str().map(str::to_owned).context("give the member's id")
    }

    fn is_operator(&self) -> bool {
        !self.credential.starts_with("mnm_")
    }

    fn own(&self, field: &str, flag: &str) -> anyhow::Result<String> {
        if self.is_operator() {
            bail!("{flag} is required with the operator token");
        }
        let me = self.get("/me")?;
        me[field]["id"].as_str().map(str::to_owned).with_context(|| format!("pass {flag}"))
    }
}

/// A path segment or query value. What was typed must not lead anywhere else: `..` and `?purge=true` are not ids.
pub fn encode(part: &str) -> String {
    // A URL has no way to say that a segment of dots is only a name, encoded or not; this one names nothing.
    if matches!(part, "." | "..") {
        return "%252E".repeat(part.len());
    }
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    part.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
