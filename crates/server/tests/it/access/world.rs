//! An organization with every kind of caller in it.

use std::cell::Cell;
use std::collections::HashMap;

use mnemon_core::{Access, Clock, DepartmentId, MemberId, Role};
use mnemon_engine::integrations::{LocalCommand, SealingKey};
use mnemon_testkit::{Caller, ConsoleVisitor, MemberSpec, Organization, TestServer, TestServerOptions};
use serde_json::{Value, json};

/// Everybody, in the order of the columns of the table.
pub(crate) const WHO: [&str; 11] = [
    "nobody",    // no credential at all
    "revoked",   // a revoked key of the admin
    "expired",   // an expired key of the admin
    "stranger",  // the admin of another account
    "member",    // a plain member of the department
    "rival",     // the head of another department
    "head",      // the head of the department
    "reader",    // a read-only key of the admin
    "elsewhere", // a key of the admin for another project of the account
    "admin",     // the admin
    "operator",  // the operator
];

const ABSENT: &str = "01980000-0000-7000-8000-00000000dead";

pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) organization: Organization,
    pub(crate) sales: DepartmentId,
    pub(crate) support: DepartmentId,
    /// A member of the department, who owns the record in question.
    pub(crate) author: Caller,
    pub(crate) author_id: MemberId,
    callers: HashMap<&'static str, Caller>,
    serial: Cell<usize>,
}

/// With a key for credentials, and a command for integrations that ends at once.
fn options() -> TestServerOptions {
    let mut options = TestServerOptions::default();
    options.integrations.key = SealingKey::parse(&"0f".repeat(32)).ok();
    options.integrations.allowances.commands.insert("none".to_owned(), LocalCommand::for_all(["false"]));
    options
}

impl World {
    pub(crate) async fn make() -> Self {
        let server = TestServer::start_with(options()).await;
        let organization = server.organization().await;
        let elsewhere =
            Organization { account: organization.account, project: server.project(organization.account).await };
        let sales = server.department(organization.account, "Sales", None).await;
        let support = server.department(organization.account, "Support", None).await;
        let in_sales = |role| MemberSpec { role, department: Some(sales), ..MemberSpec::default() };
        let admin = MemberSpec { role: Role::Admin, name: "Ada", ..MemberSpec::default() };
        let admin_id = server.new_member(&organization, admin.clone()).await;
        let key = async |organization: &Organization, access| server.key(organization, admin_id, access, None).await;
        let (revoked_id, revoked) = key(&organization, Access::Write).await;
        let expired = server.key(&organization, admin_id, Access::Write, Some(server.clock.now())).await.1;
        let rival = MemberSpec { role: Role::Head, department: Some(support), ..MemberSpec::default() };
        let author_id = server.new_member(&organization, in_sales(Role::Member)).await;
        let callers = HashMap::from([
            ("nobody", server.caller("")),
            ("revoked", revoked),
            ("expired", expired),
            ("stranger", server.member(&server.organization().await, admin).await),
            ("member", server.member(&organization, in_sales(Role::Member)).await),
            ("rival", server.member(&organization, rival).await),
            ("head", server.member(&organization, in_sales(Role::Head)).await),
            ("reader", key(&organization, Access::Read).await.1),
            ("elsewhere", key(&elsewhere, Access::Write).await.1),
            ("admin", key(&organization, Access::Write).await.1),
            ("operator", server.operator().await),
        ]);
        server.revoke(&organization, revoked_id).await;
        let author = server.key(&organization, author_id, Access::Write, None).await.1;
        author.remember("the default workspace is there").await;
        Self { server, organization, sales, support, author, author_id, callers, serial: Cell::new(0) }
    }

    pub(crate) fn caller(&self, who: &str) -> &Caller {
        &self.callers[who]
    }

    /// A number that was not given out before.
    pub(crate) fn serial(&self) -> usize {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    /// A new member of the department, for one try.
    async fn colleague(&self) -> MemberId {
        let spec = MemberSpec { department: Some(self.sales), ..MemberSpec::default() };
        self.server.new_member(&self.organization, spec).await
    }

    /// Saves a record of the author's.
    pub(crate) async fn save(&self, arguments: Value) -> String {
        let answer = self.author.call("remember", arguments).await;
        answer.structured()["id"].as_str().expect("an id").to_owned()
    }

    async fn record(&self, is_forgotten: bool) -> String {
        let id = self.save(json!({"content": format!("record number {}", self.serial())})).await;
        if is_forgotten {
            self.author.call("forget", json!({"memory_id": id})).await.structured();
        }
        id
    }

    /// A session history of the author's.
    async fn session(&self) -> String {
        let path = format!("/agent/v1/sessions/codex/s{}?offset=0", self.serial());
        let bearer = format!("Bearer {}", self.author.key);
        let sent = self.author.send("POST", &path, &[("authorization", &bearer)], "{}\n").await;
        assert_eq!(sent.status, 200, "{}", sent.text);
        let list = format!("/projects/{}/sessions?limit=1000", self.organization.project);
        let listed = self.caller("operator").admin("GET", &list, Value::Null).await.json();
        let newest = listed["sessions"].as_array().and_then(|sessions| sessions.last()).expect("it was uploaded");
        newest["id"].as_str().expect("an id").to_owned()
    }

    /// A colleague signs in to the console.
    async fn console_session(&self) -> String {
        let key = self.server.key(&self.organization, self.colleague().await, Access::Write, None).await.1;
        ConsoleVisitor::sign_in(&key).await.expect("the key is accepted");
        let list = format!("/projects/{}/console-sessions", self.organization.project);
        let listed = key.admin("GET", &list, Value::Null).await.json();
        listed["console_sessions"][0]["console_session_id"].as_str().expect("an id").to_owned()
    }

    /// A path and a body about things that exist, made for this one try.
    pub(crate) async fn fill(&self, method: &str, path: &str, body: &str) -> (String, Value) {
        let mut filled = path.replace("{account}", &self.organization.account.to_string());
        if (method, path) == ("DELETE", "/projects/{project}") {
            filled = filled.replace("{project}", &self.server.project(self.organization.account).await.to_string());
        }
        filled = filled.replace("{project}", &self.organization.project.to_string());
        if path.contains("{department}") {
            let fresh = self.server.department(self.organization.account, "Fresh", None).await;
            filled = filled.replace("{department}", &fresh.to_string());
        }
        if path.contains("{member}") {
            filled = filled.replace("{member}", &self.colleague().await.to_string());
        }
        if path.contains("{key}") {
            let (member, access) = (self.colleague().await, Access::Write);
            let key = self.server.key(&self.organization, member, access, None).await.0;
            filled = filled.replace("{key}", &key.to_string());
        }
        if path.contains("{connection}") {
            let key = self.server.key(&self.organization, self.colleague().await, Access::Write, None).await.1;
            let connection = self.server.connect(&key.key).await;
            filled = filled.replace("{connection}", &self.server.connection_of(&connection).await.to_string());
        }
        if path.contains("{console_session}") {
            filled = filled.replace("{console_session}", &self.console_session().await);
        }
        if path.contains("{workspace}") {
            let name = format!("w{}", self.serial());
            self.save(json!({"content": "in a workspace of its own", "workspace": name})).await;
            filled = filled.replace("{workspace}", &name);
            if path.ends_with("/restore") {
                self.server.delete_workspace(&self.organization, &name).await.expect("it was there");
            }
        }
        if path.contains("{session}") {
            filled = filled.replace("{session}", &self.session().await);
        }
        if path.contains("{integration}") {
            let name = format!("i{}", self.serial());
            let path = format!("/projects/{}/integrations/{name}", self.organization.project);
            self.caller("admin").manage("PUT", &path, json!({"command": "none"})).await;
            filled = filled.replace("{integration}", &name);
        }
        if path.contains("{record}") {
            filled = filled.replace("{record}", &self.record(path.ends_with("/restore")).await);
        }
        if body.is_empty() {
            return (filled, Value::Null);
        }
        let body = if body.contains("{record}") {
            body.replace("{record}", &self.record(false).await)
        } else {
            body.to_owned()
        };
        let body = body.replace("{sales}", &self.sales.to_string());
        let body = body.replace("{own_project}", &self.organization.project.to_string());
        let body = body.replace("{colleague}", &self.author_id.to_string());
        (filled, serde_json::from_str(&body).expect("a row's body is JSON"))
    }

    /// The same path, with something that does not exist in place of the innermost thing.
    pub(crate) fn fill_absent(&self, filled: &str, template: &str) -> String {
        let parts: Vec<&str> = template.split('/').collect();
        let Some(last) = parts.iter().rposition(|part| part.starts_with('{')) else { return filled.to_owned() };
        let is_named = matches!(parts[last], "{workspace}" | "{integration}");
        let absent = if is_named { "never-was" } else { ABSENT };
        let (filled, query) = filled.split_once('?').map_or((filled, None), |(path, query)| (path, Some(query)));
        let mut parts: Vec<&str> = filled.split('/').collect();
        parts[last] = absent;
        query.map_or_else(|| parts.join("/"), |query| format!("{}?{query}", parts.join("/")))
    }
}
