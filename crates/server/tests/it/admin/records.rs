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
async fn lists_are_narrowed_by_what_is_known_of_a_record() {
    let office = Office::open().await;
    let admin = &office.admin;
    let (ben, member) = office.hire(MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    for body in [
        json!({"content": "bare"}),
        json!({"content": "checked", "source_id": "page", "source_hash": "h2"}),
        json!({"content": "left", "fact_key": "k"}),
        json!({"content": "outdated", "source_id": "file", "source_hash": "h1"}),
        json!({"content": "ends", "valid_until": "2027-01-15T08:00:01Z"}),
    ] {
        admin.call("remember", body).await.structured();
    }
    member.call("remember", json!({"content": "right", "fact_key": "k"})).await.structured();
    member.call("remember", json!({"content": "private", "scope": "draft", "fact_key": "k"})).await.structured();
    admin.call("validate_memory", json!({"source_id": "page", "current_source_hash": "h2"})).await.structured();
    admin.call("validate_memory", json!({"source_id": "file", "current_source_hash": "h2"})).await.structured();
    let of = async |caller: &mnemon_testkit::Caller, query: &str| {
        let page = caller.manage("GET", &office.project(&format!("/records?{query}")), Value::Null).await;
        pluck(&page["records"], "content").join(" ")
    };
    assert_eq!(of(admin, "status=stale").await, "outdated");
    assert_eq!(of(admin, "status=conflict").await, "right left");
    assert_eq!(of(&member, "status=conflict").await, "private right left");
    assert_eq!(of(admin, "status=verified").await, "checked");
    assert_eq!(of(admin, "status=unverified").await, "ends bare");
    assert_eq!(of(admin, "scope=draft").await, "");
    assert_eq!(of(&member, "scope=draft").await, "private");
    assert_eq!(of(admin, "author=Ben").await, "right");
    assert_eq!(of(&member, &format!("author={ben}")).await, "private right");
    assert_eq!(of(admin, "author=nobody").await, "");
    assert_eq!(of(admin, "fact_key=k&author=Ada").await, "left");
    assert_eq!(of(admin, "has_source=true").await, "outdated checked");
    assert_eq!(of(admin, "has_source=false&status=conflict&author=Ada").await, "left");
    office.server.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(of(admin, "status=stale").await, "ends outdated");
    assert_eq!(of(admin, "status=unverified").await, "bare");
    for (query, text) in [
        ("status=old", "status must be one of stale, conflict, verified, unverified"),
        ("scope=team", "scope must be one of draft, department, shared"),
        ("has_source=maybe", "has_source must be true or false"),
    ] {
        let refused = admin.refusal("GET", &office.project(&format!("/records?{query}")), Value::Null).await;
        assert_eq!(refused, (400, text.to_owned()));
    }
}

#[tokio::test]
async fn a_place_is_told_by_status_as_the_reader_sees_it() {
    let office = Office::open().await;
    let admin = &office.admin;
    let (_, member) = office.hire(MemberSpec::default()).await;
    let save = async |caller: &mnemon_testkit::Caller, body: Value| {
        caller.call("remember", body).await.structured();
    };
    let standing =
        async |caller: &mnemon_testkit::Caller| caller.manage("GET", &office.project("/standing"), Value::Null).await;
    let none = json!({"verified": 0, "unverified": 0, "stale": 0, "conflict": 0});
    let empty = json!({"records": 0, "by_status": none, "without_source": 0, "workspaces": []});
    assert_eq!(standing(admin).await, empty);
    save(admin, json!({"content": "one", "source_id": "page", "source_hash": "h1", "fact_key": "k"})).await;
    save(admin, json!({"content": "two", "source_id": "page", "source_hash": "h1"})).await;
    save(admin, json!({"content": "three", "workspace": "team"})).await;
    save(&member, json!({"content": "four", "fact_key": "k", "scope": "draft"})).await;
    admin.call("validate_memory", json!({"source_id": "page", "current_source_hash": "h1"})).await.structured();
    let told = standing(admin).await;
    assert_eq!(told["by_status"], json!({"verified": 2, "unverified": 1, "stale": 0, "conflict": 0}));
    assert_eq!((&told["records"], &told["without_source"]), (&json!(3), &json!(1)));
    assert_eq!(pluck(&told["workspaces"], "name"), ["default", "team"]);
    assert_eq!(told["workspaces"][1]["by_status"]["unverified"], 1);
    assert_eq!(told["workspaces"][0]["last_saved_at"], "2027-01-15T08:00:00Z");
    let told = standing(&member).await;
    assert_eq!(told["by_status"], json!({"verified": 1, "unverified": 1, "stale": 0, "conflict": 2}));
    // A confirmation of what is known already takes no place in the log, and counts at once.
    save(admin, json!({"content": "two", "source_id": "page", "source_hash": "h2"})).await;
    assert_eq!(standing(admin).await["by_status"], json!({"verified": 0, "unverified": 2, "stale": 1, "conflict": 0}));
    admin.call("validate_memory", json!({"source_id": "page", "current_source_hash": "h2"})).await.structured();
    assert_eq!(standing(admin).await["by_status"], json!({"verified": 1, "unverified": 1, "stale": 1, "conflict": 0}));
    let workspaces = office.get(&office.project("/workspaces")).await;
    let stale = json!({"verified": 1, "unverified": 0, "stale": 1, "conflict": 0});
    assert_eq!(workspaces["workspaces"][0]["by_status"], stale);
    let sources = office.get(&office.project("/sources")).await;
    let source = &sources["sources"][0];
    assert_eq!((&source["stale"], &source["verified"], &source["conflict"]), (&json!(1), &json!(1), &json!(0)));
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
