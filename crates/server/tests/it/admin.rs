//! Managing accounts through the admin API, story by story.

mod accounts;
mod bad_input;
mod context;
mod departments;
mod explain;
mod keys;
mod me;
mod members;
mod projects;
mod reading;
mod record;
mod records;
mod standing;
mod usage;
mod workspaces;

use mnemon_core::{Access, KeyId, MemberId, Role};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::Value;

/// A service, an account with an admin, and the operator.
pub(crate) struct Office {
    pub(crate) server: TestServer,
    pub(crate) organization: Organization,
    pub(crate) operator: Caller,
    pub(crate) admin: Caller,
    pub(crate) admin_id: MemberId,
    pub(crate) admin_key: KeyId,
}

impl Office {
    pub(crate) async fn open() -> Self {
        let server = TestServer::start().await;
        let operator = server.operator().await;
        let organization = server.organization().await;
        let spec = MemberSpec { name: "Ada", role: Role::Admin, ..MemberSpec::default() };
        let admin_id = server.new_member(&organization, spec).await;
        let (admin_key, admin) = server.key(&organization, admin_id, Access::Write, None).await;
        Self { server, organization, operator, admin, admin_id, admin_key }
    }

    /// A path under the account.
    pub(crate) fn account(&self, rest: &str) -> String {
        format!("/accounts/{}{rest}", self.organization.account)
    }

    /// A path under the project.
    pub(crate) fn project(&self, rest: &str) -> String {
        format!("/projects/{}{rest}", self.organization.project)
    }

    /// A new member, and its id.
    pub(crate) async fn hire(&self, spec: MemberSpec) -> (String, Caller) {
        let access = spec.access;
        let id = self.server.new_member(&self.organization, spec).await;
        let (_, caller) = self.server.key(&self.organization, id, access, None).await;
        (id.to_string(), caller)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.admin.manage("GET", path, Value::Null).await
    }
}

/// The status that a key gets from `/mcp`.
pub(crate) async fn status_of(caller: &Caller) -> u16 {
    caller.request("tools/list", serde_json::json!({})).await.status
}

pub(crate) fn id_of(value: &Value) -> String {
    value["id"].as_str().expect("an id").to_owned()
}

/// One member of every element of a list.
pub(crate) fn pluck<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|item| item[name].as_str().unwrap_or_default()).collect()
}
