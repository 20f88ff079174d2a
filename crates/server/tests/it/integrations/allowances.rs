//! Commands and private hosts belong to the accounts that the operator names. For everybody else they do not exist.

use mnemon_core::{AccountId, Role};
use mnemon_engine::integrations::{Accounts, IntegrationSettings, LocalCommand};
use mnemon_gateway::Outgoing;
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, TestUpstream};
use serde_json::{Value, json};

use super::options;

/// Two accounts, of which the first is named in the configuration.
struct Neighbours {
    server: TestServer,
    first: Neighbour,
    second: Neighbour,
}

struct Neighbour {
    organization: Organization,
    key: String,
}

impl Neighbours {
    /// `settings` makes the operator's settings from the first account's id.
    async fn move_in(settings: impl Fn(AccountId, &mut IntegrationSettings)) -> Self {
        let mut server =
            TestServer::start_with(super::TestServerOptions { outgoing: Outgoing::default(), ..options() }).await;
        let (first, second) = (Neighbour::of(&server).await, Neighbour::of(&server).await);
        let mut integrations = server.options.integrations.clone();
        settings(first.organization.account, &mut integrations);
        server.restart_with(integrations).await;
        Self { server, first, second }
    }
}

impl Neighbour {
    async fn of(server: &TestServer) -> Self {
        let organization = server.organization().await;
        let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
        Self { organization, key: admin.key }
    }

    fn admin(&self, server: &TestServer) -> Caller {
        server.caller(&self.key)
    }

    fn path(&self, name: &str) -> String {
        format!("/projects/{}/integrations/{name}", self.organization.project)
    }

    async fn refusal(&self, server: &TestServer, body: Value) -> (u16, String) {
        self.admin(server).refusal("PUT", &self.path("host"), body).await
    }
}

fn only(account: AccountId) -> Accounts {
    Accounts::Named([account].into())
}

#[tokio::test]
async fn a_command_of_one_account_is_none_to_another() {
    let neighbours = Neighbours::move_in(|account, settings| {
        let command = LocalCommand { accounts: only(account), ..LocalCommand::for_all(["false"]) };
        settings.allowances.commands.insert("git".to_owned(), command);
    });
    let mut neighbours = neighbours.await;
    let server = &neighbours.server;
    let put =
        neighbours.first.admin(server).manage("PUT", &neighbours.first.path("host"), json!({"command": "git"})).await;
    assert_eq!(put["integration"]["command"], "git", "{put}");
    let foreign = neighbours.second.refusal(server, json!({"command": "git"})).await;
    let unknown = neighbours.second.refusal(server, json!({"command": "absent"})).await;
    assert_eq!(foreign, unknown, "whether others have it is not told");
    let text = "the operator has not configured this command for this account (gateway.commands)";
    assert_eq!(foreign, (400, text.to_owned()));
    // Once it is taken away, it no longer runs for those who had it.
    let mut without = neighbours.server.options.integrations.clone();
    let command =
        LocalCommand { accounts: only(neighbours.second.organization.account), ..LocalCommand::for_all(["false"]) };
    without.allowances.commands.insert("git".to_owned(), command);
    neighbours.server.restart_with(without).await;
    let test = format!("{}/test", neighbours.first.path("host"));
    let tested = neighbours.first.admin(&neighbours.server).manage("POST", &test, json!({})).await;
    let problem = "'host' can't be started: no command is called 'git'; the operator must check gateway.commands";
    assert_eq!(tested["problem"], problem);
}

#[tokio::test]
async fn a_private_host_of_one_account_is_closed_to_another() {
    let upstream = TestUpstream::start().await;
    let neighbours = Neighbours::move_in(|account, settings| {
        settings.allowances.hosts.insert("127.0.0.1".to_owned(), only(account));
    });
    let mut neighbours = neighbours.await;
    let server = &neighbours.server;
    let body = json!({"url": upstream.url, "allow": ["*"]});
    let put = neighbours.first.admin(server).manage("PUT", &neighbours.first.path("host"), body.clone()).await;
    assert_eq!(put["works"], true, "{put}");
    let before = upstream.recorded().len();
    let (status, text) = neighbours.second.refusal(server, body).await;
    assert!(status == 400 && text.contains("must be an https URL"), "{text}");
    let by_https = json!({"url": upstream.url.replace("http://", "https://")});
    let (status, text) = neighbours.second.refusal(server, by_https).await;
    assert!(status == 400 && text.contains("is not on the public internet"), "{text}");
    assert_eq!(upstream.recorded().len(), before, "nothing was called");
    // Once it is taken away, it is no longer called for those who had it.
    neighbours.server.restart_with(options().integrations).await;
    let test = format!("{}/test", neighbours.first.path("host"));
    let tested = neighbours.first.admin(&neighbours.server).manage("POST", &test, json!({})).await;
    assert_eq!(tested["works"], false, "{tested}");
    assert_eq!(upstream.recorded().len(), before);
}
