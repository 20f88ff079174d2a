//! Records: listed, forgotten, restored, purged.

use mnemon_core::{PlanLimits, PlanName, PlanTable, Role, Subscription};
use mnemon_testkit::{MemberSpec, TestServer, TestServerOptions};
use serde_json::{Value, json};

use super::{Office, id_of, pluck};

#[tokio::test]
async fn records_are_listed_newest_first_and_filtered() {
    let office = Office::open().await;
    let admin = &office.admin;
    for (content, workspace, source) in
        [("one", "a", "x"), ("two", "a", "y"), ("three", "b", "x"), ("four", "b", "y"), ("five", "b", "x")]
    {
        let body = json!({"content": content, "workspace": workspace, "source_id": source});
        admin.call("remember", body).await.structured();
    }
    let (_, member) = office.hire(MemberSpec::default()).await;
    member.call("remember", json!({"content": "not yours", "workspace": "a", "scope": "draft"})).await.structured();
    let list = async |query: &str| {
        let page = office.get(&office.project(&format!("/records{query}"))).await;
        assert_eq!(page["next"], Value::Null);
        pluck(&page["records"], "content").join(" ")
    };
    assert_eq!(list("").await, "five four three two one");
    assert_eq!(list("?workspace=a").await, "two one");
    assert_eq!(list("?source_id=x").await, "five three one");
    assert_eq!(list("?source_id=x&workspace=b&state=live").await, "five three");
    assert_eq!(list("?workspace=nowhere").await, "");
    assert_eq!(list("?state=forgotten").await, "");
    admin.call("forget", json!({"source_id": "y"})).await.structured();
    assert_eq!(list("").await, "five three one");
    assert_eq!(list("?state=forgotten").await, "four two");
    assert_eq!(list("?state=forgotten&workspace=a").await, "two");
    let forgotten = office.get(&office.project("/records?state=forgotten&workspace=a")).await;
    assert_eq!(forgotten["records"][0]["forgotten_at"], "2027-01-15T08:00:00Z");
}

#[tokio::test]
async fn a_listed_record_has_the_fields_and_the_status_that_search_shows() {
    let office = Office::open().await;
    let admin = &office.admin;
    admin.call("remember", json!({"content": "a claim", "fact_key": "k", "confidence": 0.5})).await.structured();
    admin.call("remember", json!({"content": "a counter claim", "fact_key": "k"})).await.structured();
    let mut found = admin.search("claim").await;
    found.sort_by_key(|record| record["id"].as_str().map(str::to_owned));
    let mut listed = office.get(&office.project("/records")).await["records"].as_array().expect("a list").clone();
    listed.reverse();
    for (found, listed) in found.iter_mut().zip(&mut listed) {
        found.as_object_mut().expect("an object").remove("score");
        listed.as_object_mut().expect("an object").remove("score");
        assert_eq!(found, listed);
        assert_eq!(found["status"], "conflict");
    }
}

#[tokio::test]
async fn pages_join_to_the_whole_list_whatever_their_size_and_whatever_is_hidden_between() {
    let office = Office::open().await;
    let (_, member) = office.hire(MemberSpec::default()).await;
    for n in 0..230 {
        let scope = if n % 3 == 0 { "shared" } else { "draft" };
        let body = json!({"content": format!("shelf {n} of the library holds maps"), "scope": scope});
        member.call("remember", body).await.structured();
    }
    let whole = office.get(&office.project("/records?limit=1000")).await;
    let whole: Vec<String> = pluck(&whole["records"], "id").into_iter().map(str::to_owned).collect();
    assert_eq!(whole.len(), 77);
    for size in [1, 7, 76, 77, 78] {
        let (mut seen, mut path) = (Vec::new(), office.project(&format!("/records?limit={size}")));
        loop {
            let page = office.get(&path).await;
            let shown = pluck(&page["records"], "id");
            assert!(shown.len() <= size, "{size}");
            seen.extend(shown.into_iter().map(str::to_owned));
            let Some(next) = page["next"].as_str() else { break };
            path = office.project(&format!("/records?limit={size}&before={next}"));
        }
        assert_eq!(seen, whole, "pages of {size}");
    }
}

#[tokio::test]
async fn a_forgotten_record_is_restored_with_everything_it_had() {
    let office = Office::open().await;
    let admin = &office.admin;
    let saved =
        admin.call("remember", json!({"content": "back from the dead", "source_id": "s", "fact_key": "k"})).await;
    let id = id_of(saved.structured());
    let before = admin.search("dead").await;
    let (forget, restore) = (format!("/records/{id}"), format!("/records/{id}/restore"));
    let refused = admin.refusal("POST", &restore, Value::Null).await;
    assert_eq!(refused, (409, "the record is not forgotten".to_owned()));
    assert_eq!(admin.manage("DELETE", &forget, Value::Null).await, json!({"forgotten": true}));
    assert_eq!(admin.refusal("DELETE", &forget, Value::Null).await, (404, "no such record".to_owned()));
    assert!(admin.search("dead").await.is_empty());
    let restored = admin.manage("POST", &restore, Value::Null).await;
    assert_eq!((&restored["content"], restored.get("forgotten_at")), (&json!("back from the dead"), None));
    assert_eq!(admin.search("dead").await, before);
}

#[tokio::test]
async fn a_purged_record_can_not_be_restored() {
    let office = Office::open().await;
    let admin = &office.admin;
    for is_forgotten in [false, true] {
        let id = id_of(&admin.remember("gone for good").await);
        if is_forgotten {
            admin.call("forget", json!({"memory_id": id})).await.structured();
        }
        let purge = format!("/records/{id}?purge=true");
        assert_eq!(admin.manage("DELETE", &purge, Value::Null).await, json!({"purged": true}));
        assert!(admin.search("gone").await.is_empty());
        for (method, path) in [("DELETE", purge), ("POST", format!("/records/{id}/restore"))] {
            assert_eq!(admin.refusal(method, &path, Value::Null).await.0, 404);
        }
    }
    let forgotten = office.get(&office.project("/records?state=forgotten")).await;
    assert_eq!(forgotten["records"], json!([]));
}

#[tokio::test]
async fn a_record_is_not_restored_into_a_full_project_and_brings_back_a_workspace_that_is_gone() {
    let mut plans = PlanTable::default();
    *plans.limits_mut(PlanName::Free) = PlanLimits { records_max: Some(1), ..PlanLimits::default() };
    let server = TestServer::start_with(TestServerOptions { plans, ..TestServerOptions::default() }).await;
    let free = Subscription { plan: Some(PlanName::Free), ..Subscription::default() };
    let organization = server.organization_on(free).await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let text = "can't restore the record: it was forgotten more than 30 days ago, or the project is full";
    let first = id_of(&admin.remember("first in the room").await);
    admin.call("forget", json!({"memory_id": first})).await.structured();
    let second = id_of(&admin.remember("second in the room").await);
    let restore = format!("/records/{first}/restore");
    assert_eq!(admin.refusal("POST", &restore, Value::Null).await, (409, text.to_owned()));
    admin.call("forget", json!({"memory_id": second})).await.structured();
    admin.manage("POST", &restore, Value::Null).await;
    let full = admin.reason("remember", json!({"content": "a third"})).await;
    assert!(full.ends_with("project memory limit exceeded"), "the restored one counts: {full}");
    let workspace = format!("/projects/{}/workspaces/default", organization.project);
    admin.manage("DELETE", &workspace, Value::Null).await;
    let back = admin.manage("POST", &format!("/records/{second}/restore"), Value::Null).await;
    assert_eq!((&back["workspace"], &back["content"]), (&json!("default"), &json!("second in the room")));
    assert_eq!(admin.search_texts("room").await, ["second in the room"], "it alone");
    assert_eq!(admin.refusal("POST", &restore, Value::Null).await, (409, text.to_owned()), "the project is full again");
}
