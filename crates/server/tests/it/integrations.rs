//! Other systems' tools beside a project's memory, against an upstream that behaves and one that does not.

mod accepting;
mod administration;
mod allowances;
mod calling;
mod credentials;
mod echoes;
mod eras;
mod hostile;
mod isolation;
mod listing;

use std::time::Duration;

use mnemon_core::Role;
use mnemon_engine::integrations::{IntegrationSettings, Limits, SealingKey};
use mnemon_gateway::{Outgoing, OutgoingConfig};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, TestServerOptions, TestUpstream};
use serde_json::{Value, json};

/// How long a call may take where it is meant to take too long; elsewhere a busy machine gets more.
pub(crate) const CALL_SECONDS: u64 = 1;
const PATIENT_SECONDS: u64 = 10;
pub(crate) const KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) organization: Organization,
    pub(crate) admin: Caller,
    pub(crate) member: Caller,
    pub(crate) upstream: TestUpstream,
}

/// A way out that reaches loopback.
pub(crate) fn open_outgoing() -> Outgoing {
    let config = OutgoingConfig { allowed_hosts: vec!["127.0.0.1".to_owned()], ..OutgoingConfig::default() };
    Outgoing::new(&config).expect("a client can be made")
}

pub(crate) fn options() -> TestServerOptions {
    options_within(PATIENT_SECONDS)
}

/// With deadlines that a test can wait for.
pub(crate) fn impatient() -> TestServerOptions {
    options_within(CALL_SECONDS)
}

fn options_within(seconds: u64) -> TestServerOptions {
    let timeout = Duration::from_secs(seconds);
    let limits = Limits { call_timeout: timeout, list_timeout: timeout, ..Limits::default() };
    let key = Some(SealingKey::parse(KEY).expect("a key"));
    let integrations = IntegrationSettings { limits, key, ..IntegrationSettings::default() };
    TestServerOptions { outgoing: open_outgoing(), integrations, ..TestServerOptions::default() }
}

impl World {
    /// A project with the integration `host`, of which the tool `echo` is allowed.
    pub(crate) async fn make() -> Self {
        Self::make_with(options()).await
    }

    pub(crate) async fn make_with(options: TestServerOptions) -> Self {
        let world = Self::with(options, TestUpstream::start().await).await;
        let added = world.put("host", json!({"url": world.upstream.url, "allow": ["echo"]})).await;
        assert_eq!(added["works"], true, "{added}");
        world
    }

    pub(crate) async fn without_integration() -> Self {
        Self::with(options(), TestUpstream::start().await).await
    }

    pub(crate) async fn with(options: TestServerOptions, upstream: TestUpstream) -> Self {
        let server = TestServer::start_with(options).await;
        let organization = server.organization().await;
        let role = Role::Admin;
        let admin = server.member(&organization, MemberSpec { role, ..MemberSpec::default() }).await;
        let member = server.member(&organization, MemberSpec::default()).await;
        Self { server, organization, admin, member, upstream }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/projects/{}/integrations{rest}", self.organization.project)
    }

    pub(crate) async fn put(&self, name: &str, body: Value) -> Value {
        self.admin.manage("PUT", &self.path(&format!("/{name}")), body).await
    }

    /// Makes the stored list old, so that the next caller asks the upstream again.
    pub(crate) fn grow_old(&self) {
        self.server.clock.advance(Duration::from_secs(61));
    }

    /// The states of all tools, as an admin sees them.
    pub(crate) async fn states(&self, name: &str) -> Vec<(String, String)> {
        let shown = self.admin.manage("GET", &self.path(&format!("/{name}")), Value::Null).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tools = shown["tools"].as_array().expect("a list").iter();
        tools.map(|tool| (text(&tool["name"]), text(&tool["state"]))).collect()
    }
}

/// The names of a caller's tools beyond our own.
pub(crate) async fn listed(caller: &Caller) -> Vec<String> {
    let tools = listed_tools(caller).await;
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

pub(crate) async fn listed_tools(caller: &Caller) -> Vec<Value> {
    let answer = caller.request("tools/list", json!({})).await.json();
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    assert_eq!(tools[4]["name"], "gateway_call", "our own come first");
    tools[5..].to_vec()
}

/// The text of a tool's failure.
pub(crate) async fn failure(caller: &Caller, tool: &str, arguments: Value) -> String {
    caller.reason(tool, arguments).await
}
