//! Access by OAuth through the public interface: from the first 401 to a tool call, and everything that can go wrong.

mod attacks;
mod callers;
mod canary;
mod connections;
mod documents;
mod forms;
mod lifetimes;
mod metadata;
mod noise;
mod pages;

use mnemon_testkit::oauth::{Flow, Pairs};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, TestServerOptions};

/// A service, somebody with a key, and a client that wants to be connected.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) organization: Organization,
    pub(crate) person: Caller,
    pub(crate) flow: Flow,
}

pub(crate) const CALLBACK: &str = "https://chat.example/callback?from=mnemon";

impl Scene {
    pub(crate) async fn set() -> Self {
        Self::set_with(TestServerOptions::default()).await
    }

    /// A service whose address does not change with its port.
    pub(crate) async fn set_public() -> Self {
        let base_url = Some("https://memory.example".to_owned());
        Self::set_with(TestServerOptions { base_url, ..TestServerOptions::default() }).await
    }

    pub(crate) async fn set_with(options: TestServerOptions) -> Self {
        let server = TestServer::start_with(options).await;
        let organization = server.organization().await;
        let person = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
        let flow = server.flow(CALLBACK).await;
        Self { server, organization, person, flow }
    }

    /// A new code.
    pub(crate) async fn code(&self) -> String {
        self.flow.agree(&mut self.server.browser(), &self.person.key).await
    }

    /// A caller with a token.
    pub(crate) async fn connect(&self) -> Caller {
        self.server.connect(&self.person.key).await
    }
}

/// Sets a field, in its place or at the end.
pub(crate) fn set(fields: &mut Pairs, name: &str, value: &str) {
    match fields.iter_mut().find(|(given, _)| given == name) {
        Some(pair) => value.clone_into(&mut pair.1),
        None => fields.push((name.to_owned(), value.to_owned())),
    }
}

/// Removes a field.
pub(crate) fn unset(fields: &mut Pairs, name: &str) {
    fields.retain(|(given, _)| given != name);
}

/// The status that a caller gets from `/mcp`.
pub(crate) async fn status_of(caller: &Caller) -> u16 {
    caller.request("tools/list", serde_json::json!({})).await.status
}
