//! Calling the admin API from the command line.

use std::time::Duration;

use anyhow::{Context, bail};
use mnemon_agent::places::{Environment, Places};
use mnemon_agent::settings::{Flags, Settings};
use mnemon_core::{DepartmentId, nearest};
use mnemon_protocol::admin::DepartmentJson;
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{AdminConnection, OwnConnection};
use crate::http_client::{Answer, HttpClient};

const TIMEOUT: Duration = Duration::from_secs(60);
/// More departments than this are not listed in an error.
const DEPARTMENTS_LISTED_MAX: usize = 20;

/// A service, and a credential for its admin API.
pub struct AdminClient {
    url: String,
    credential: String,
    http: HttpClient,
}

impl AdminClient {
    pub fn new(connection: &AdminConnection) -> anyhow::Result<Self> {
        let given = [&connection.operator_token, &connection.key].into_iter().flatten();
        let credential = given.into_iter().find(|credential| !credential.is_empty()).cloned().context(
            "no credential; pass --operator-token (MNEMON_OPERATOR_TOKEN) or an admin's --key (MNEMON_API_KEY)",
        )?;
        let url = connection.url.trim_end_matches('/').to_owned();
        Ok(Self { url, credential, http: HttpClient::new(TIMEOUT)? })
    }

    /// For commands that belong to the holder of a key, and know what the local agent knows.
    pub fn with_key(connection: &OwnConnection) -> anyhow::Result<Self> {
        let mut environment: Environment =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        // Without a home there is no configuration of the agent; flags and variables still count.
        environment.entry("HOME".to_owned()).or_insert_with(|| "/nonexistent".into());
        let places = Places::find(&environment)?;
        let flags = Flags { url: connection.url.clone(), key: connection.key.clone(), workspace: None };
        let settings = Settings::load(&flags, &environment, &places)?;
        let Some(key) = settings.key else {
            bail!("no API key; pass --key or set MNEMON_API_KEY. `mnemon serve` prints a key on its first start");
        };
        let key = Some(key.expose().to_owned());
        Self::new(&AdminConnection { url: settings.url, key, operator_token: None })
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

    fn send(&self, method: Method, path: &str, body: Option<String>) -> anyhow::Result<Value> {
        let bearer = format!("Bearer {}", self.credential);
        let headers = [("Authorization", bearer.as_str())];
        let Answer { status, text } = self.http.send(method, &self.url, &format!("/admin/v1{path}"), &headers, body)?;
        let answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} answered {status} with something that is not JSON", self.url))?;
        if status.is_success() {
            return Ok(answer);
        }
        bail!("{}", answer["message"].as_str().unwrap_or("the service refused the request without a reason"))
    }

    /// The account given, or the key's own, as a path segment.
    pub fn account(&self, named: Option<&String>) -> anyhow::Result<String> {
        self.own(named, "account", "--account")
    }

    /// The project given, or the key's own, as a path segment.
    pub fn project(&self, named: Option<&String>) -> anyhow::Result<String> {
        self.own(named, "project", "--project")
    }

    /// The id of a department that was given by id or by name.
    pub fn department(&self, account: &str, named: &str) -> anyhow::Result<String> {
        if named.parse::<DepartmentId>().is_ok() {
            return Ok(named.to_owned());
        }
        let mut answer = self.get(&format!("/accounts/{account}/departments"))?;
        let departments: Vec<DepartmentJson> = serde_json::from_value(answer["departments"].take())?;
        let mut called = departments.iter().filter(|department| department.name == named);
        match (called.next(), called.next()) {
            (Some(found), None) => Ok(found.id.clone()),
            (Some(_), Some(_)) => bail!("several departments are called `{named}`; give the id of one of them"),
            (None, _) => bail!("no department is called `{named}`; {}", known(named, &departments)),
        }
    }

    fn own(&self, named: Option<&String>, field: &str, flag: &str) -> anyhow::Result<String> {
        if let Some(named) = named {
            return Ok(encode(named));
        }
        if !self.credential.starts_with("mnm_") {
            bail!("{flag} is required with the operator token");
        }
        let me = self.get("/me")?;
        me[field]["id"].as_str().map(str::to_owned).with_context(|| format!("pass {flag}"))
    }
}

/// Which departments there are; of many, the one that was probably meant.
fn known(named: &str, departments: &[DepartmentJson]) -> String {
    let names = || departments.iter().map(|department| department.name.as_str());
    if departments.len() <= DEPARTMENTS_LISTED_MAX {
        let all: Vec<&str> = names().collect();
        return if all.is_empty() { "there are none".to_owned() } else { format!("departments: {}", all.join(", ")) };
    }
    match nearest(named, names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`mnemon department list` shows them".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_departments_are_listed_and_of_many_the_nearest_is_named() {
        let departments = |count: usize| -> Vec<DepartmentJson> {
            let named = |n: usize| DepartmentJson { id: String::new(), name: format!("Sales {n}"), parent_id: None };
            (0..count).map(named).collect()
        };
        assert_eq!(known("Sals 1", &[]), "there are none");
        assert_eq!(known("Sals 1", &departments(2)), "departments: Sales 0, Sales 1");
        assert!(known("Sals 1", &departments(20)).ends_with(", Sales 18, Sales 19"));
        assert_eq!(known("Sals 1", &departments(21)), "did you mean `Sales 1`?");
        assert_eq!(known("Legal", &departments(21)), "`mnemon department list` shows them");
    }
}
