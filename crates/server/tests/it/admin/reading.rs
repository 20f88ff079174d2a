//! What a plain member reads: what it sees in its own project, and what is in its own name.

use mnemon_core::{Access, Role};
use mnemon_testkit::{Caller, MemberSpec};
use serde_json::{Value, json};

use super::{Office, pluck};

async fn office_with_two() -> (Office, (String, Caller), (String, Caller)) {
    let office = Office::open().await;
    let ana = office.hire(MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let ben = office.hire(MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    (office, ana, ben)
}

#[tokio::test]
async fn a_member_lists_what_it_sees_and_nothing_else() {
    let (office, (_, ana), (_, ben)) = office_with_two().await;
    for (caller, content, scope, workspace) in [
        (&ana, "deploys run from the release branch", "shared", "team"),
        (&ana, "the spare key is under the mat", "draft", "secret"),
        (&ben, "lunch with the landlord on monday", "draft", "team"),
    ] {
        let body = json!({"content": content, "scope": scope, "workspace": workspace});
        caller.call("remember", body).await.structured();
    }
    let records = ben.manage("GET", &office.project("/records"), Value::Null).await;
    assert_eq!(
        pluck(&records["records"], "content"),
        ["lunch with the landlord on monday", "deploys run from the release branch"]
    );
    let workspaces = ben.manage("GET", &office.project("/workspaces"), Value::Null).await;
    assert_eq!(pluck(&workspaces["workspaces"], "name"), ["team"]);
    assert_eq!(workspaces["workspaces"][0]["records"], 2);
    let usage = ben.manage("GET", &office.project("/usage"), Value::Null).await;
    assert_eq!(usage["records"], 2);
    let explained = json!({"query": "landlord", "workspace": "team"});
    let explained = ben.manage("POST", &office.project("/explain"), explained).await;
    assert_eq!(pluck(&explained["hits"], "content"), ["lunch with the landlord on monday"]);
    let hidden =
        ben.admin("POST", &office.project("/explain"), json!({"query": "spare key", "workspace": "secret"})).await;
    assert_eq!(hidden.status, 404, "a workspace with nothing to see does not exist");
}

#[tokio::test]
async fn keys_usage_and_sessions_are_ones_own() {
    let (office, (ana_id, ana), (_, ben)) = office_with_two().await;
    ana.remember("one").await;
    ben.remember("two").await;
    let bearer = format!("Bearer {}", ben.key);
    let sent = ben.send("POST", "/agent/v1/sessions/codex/bens?offset=0", &[("authorization", &bearer)], "{}\n").await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let keys = ana.manage("GET", &office.project("/keys"), Value::Null).await;
    assert_eq!(pluck(&keys["keys"], "member_id"), [ana_id.as_str()]);
    let own = keys["keys"][0]["key_id"].as_str().expect("an id");
    let usage = ana.manage("GET", &office.project("/usage"), Value::Null).await;
    assert_eq!(pluck(&usage["keys"], "key_id"), [own]);
    assert_eq!(usage["days"][29]["saves"], 1);
    let sessions = ana.manage("GET", &office.project("/sessions"), Value::Null).await;
    assert_eq!(sessions["sessions"], json!([]));
    let sessions = ben.manage("GET", &office.project("/sessions"), Value::Null).await;
    assert_eq!(pluck(&sessions["sessions"], "name"), ["bens"]);
    assert_eq!(office.get(&office.project("/sessions")).await["sessions"].as_array().map(Vec::len), Some(1));
    let connections = ana.manage("GET", &office.project("/connections"), Value::Null).await;
    assert_eq!(connections["connections"], json!([]));
}

#[tokio::test]
async fn another_project_of_the_account_is_absent_for_those_who_do_not_administer_it() {
    let (office, (_, ana), _) = office_with_two().await;
    let other = office.server.project(office.organization.account).await;
    let head = office.hire(MemberSpec { role: Role::Head, ..MemberSpec::default() }).await.1;
    for caller in [&ana, &head] {
        for list in ["records", "workspaces", "usage", "sessions"] {
            let answer = caller.admin("GET", &format!("/projects/{other}/{list}"), Value::Null).await;
            let absent = "/projects/01980000-0000-7000-8000-00000000dead";
            let absent = caller.admin("GET", &format!("{absent}/{list}"), Value::Null).await;
            assert_eq!((answer.status, &answer.text), (404, &absent.text), "{list}");
        }
    }
    assert_eq!(office.admin.admin("GET", &format!("/projects/{other}/records"), Value::Null).await.status, 200);
}

#[tokio::test]
async fn forgotten_records_are_listed_for_those_who_may_restore_them() {
    let (office, (_, ana), _) = office_with_two().await;
    ana.remember("a passing thought").await;
    let path = office.project("/records?state=forgotten");
    assert_eq!(office.get(&path).await["records"], json!([]));
    let others = office.admin.remember("the admin's").await;
    office.server.clock.advance(std::time::Duration::from_secs(1));
    office.admin.call("forget", json!({"memory_id": others["id"]})).await.structured();
    assert_eq!(office.get(&path).await["records"].as_array().map(Vec::len), Some(1));
    assert_eq!(ana.manage("GET", &path, Value::Null).await["records"], json!([]), "another one forgot it");
}

#[tokio::test]
async fn a_read_only_key_reads() {
    let office = Office::open().await;
    office.admin.remember("readable").await;
    let reader = office.hire(MemberSpec { access: Access::Read, ..MemberSpec::default() }).await.1;
    let records = reader.manage("GET", &office.project("/records"), Value::Null).await;
    assert_eq!(pluck(&records["records"], "content"), ["readable"]);
}
