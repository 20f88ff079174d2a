//! What people do in the console, and what they see of it.

use mnemon_core::Role;
use mnemon_testkit::{ConsoleVisitor, MemberSpec};
use serde_json::json;

use super::house;

#[tokio::test]
async fn a_stale_record_still_holds_once_somebody_says_so() {
    let house = house().await;
    let save = async |hash: &str, content: &str| {
        let arguments = json!({"content": content, "fact_key": content, "source_id": "a.md", "source_hash": hash});
        house.admin.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
    };
    let old = save("one", "The kettle boils.").await;
    save("two", "The toaster toasts.").await;
    let path = format!("/console/records/{old}");
    let page = house.visitor.get(&path).await.text;
    assert!(
        page.contains("Why it is stale") && page.contains("<bdi>one</bdi>") && page.contains("<bdi>two</bdi>"),
        "{page}"
    );
    let answer = house.visitor.submit(&format!("{path}/hold"), &[]).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, path.as_str()),
        "it is brought up to date in its place"
    );
    let page = house.visitor.get(&path).await.text;
    assert!(page.contains("nobody has checked it against its source"), "{page}");
    assert_eq!(house.visitor.submit(&format!("{path}/hold"), &[]).await.status, 409);
}

#[tokio::test]
async fn somebody_elses_stale_record_is_not_left_beside_the_one_that_holds() {
    let house = house().await;
    let author = house.server.member(&house.organization, MemberSpec::default()).await;
    let arguments = |hash: &str, content: &str| json!({"content": content, "source_id": "a.md", "source_hash": hash});
    let old = author.call("remember", arguments("one", "The kettle boils.")).await.structured()["id"].clone();
    author.call("remember", arguments("two", "The toaster toasts.")).await;
    let path = format!("/console/records/{}", old.as_str().expect("an id"));
    assert_eq!(house.visitor.submit(&format!("{path}/hold"), &[]).await.status, 303);
    let found: Vec<_> = house.admin.search("kettle boils").await;
    let kettles: Vec<_> = found.iter().filter(|record| record["content"] == "The kettle boils.").collect();
    assert_eq!(kettles.len(), 1, "one record says so: {found:?}");
    assert_eq!(kettles[0]["status"], "unverified");
}

#[tokio::test]
async fn a_dispute_is_decided_and_taken_back() {
    let house = house().await;
    let save = async |content: &str| {
        let arguments = json!({"content": content, "fact_key": "kettle.colour"});
        house.admin.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
    };
    let (red, blue) = (save("The kettle is red.").await, save("The kettle is blue.").await);
    let page = house.visitor.get(&format!("/console/records/{red}")).await.text;
    assert!(page.contains("2 records disagree") && page.contains("The kettle is blue."), "{page}");
    let answer = house.visitor.submit(&format!("/console/records/{red}/keep"), &[]).await;
    assert_eq!(answer.status, 303);
    assert_eq!(house.admin.search_texts("kettle").await, ["The kettle is red."]);
    assert_eq!(house.visitor.submit("/console/records/restore", &[("ids", &blue)]).await.status, 303);
    assert_eq!(house.admin.search_texts("kettle").await.len(), 2);
}

#[tokio::test]
async fn a_member_sees_what_the_tools_show_it_and_nothing_else() {
    let house = house().await;
    let hidden = MemberSpec { name: "Hidden Person", ..MemberSpec::default() };
    let other = house.server.member(&house.organization, hidden).await;
    let draft = json!({"content": "A plan about kettles that nobody else knows.", "scope": "draft", "fact_key": "plan.kept",
        "source_id": "kept.md", "workspace": "kept-place"});
    let id = other.call("remember", draft).await.structured()["id"].as_str().expect("an id").to_owned();
    let spec = MemberSpec { role: Role::Member, ..MemberSpec::default() };
    let visitor = ConsoleVisitor::sign_in(&house.server.member(&house.organization, spec).await).await;
    let visitor = visitor.expect("the key is accepted");
    let paths = [
        "/console/overview",
        "/console/memory",
        "/console/memory?state=forgotten",
        "/console/memory?sort=fact_key",
        "/console/memory?q=plan+about+kettles",
        "/console/memory?q=kettles&workspace=kept-place",
        "/console/memory?workspace=kept-place",
        "/console/memory?source=kept.md",
        "/console/memory?key=plan.kept",
        "/console/sources",
        "/console/sources?one=kept.md",
        "/console/workspaces",
        "/console/keys",
        "/console/usage",
    ];
    for path in paths {
        let page = visitor.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        let asked = path.split('?').nth(1).unwrap_or_default();
        for word in ["nobody else knows", "plan.kept", "kept.md", "kept-place", "Hidden Person", id.as_str()] {
            let is_echo = asked.contains(word);
            assert!(is_echo || !page.text.contains(word), "{path} tells {word}: {}", page.text);
        }
    }
    assert_eq!(visitor.get(&format!("/console/records/{id}")).await.status, 404);
    assert_eq!(house.visitor.get(&format!("/console/records/{id}")).await.status, 404, "the admin neither");
}

#[tokio::test]
async fn usage_says_the_same_in_the_page_and_in_the_file() {
    let house = house().await;
    for at in 0..3 {
        house.admin.remember(&format!("fact number {at}")).await;
    }
    house.admin.search("fact").await;
    // A page that reads records counts as a call, as the one after signing in did; other pages do not.
    house.visitor.get("/console/memory").await;
    let csv = house.visitor.get("/console/usage/csv?days=7").await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<&str> = csv.text.lines().collect();
    assert_eq!(lines.len(), 8, "a line for each day: {lines:?}");
    assert!(lines[7].ends_with(",6,1,3,0,3"), "{lines:?}");
    let page = house.visitor.get("/console/usage?days=7").await.text;
    assert!(page.contains(r#"data-v="0,0,0,0,0,0,6""#) && page.contains(r#"data-v="0,0,0,0,0,0,3""#), "{page}");
}

#[tokio::test]
async fn a_deleted_workspace_asks_for_its_name_and_comes_back() {
    let house = house().await;
    house.admin.call("remember", json!({"content": "in a place", "workspace": "place"})).await;
    let delete = async |typed: &str| {
        house.visitor.submit("/console/workspaces/delete", &[("name", "place"), ("typed", typed)]).await.status
    };
    assert_eq!(
        [delete("").await, delete("plac").await, delete("place").await, delete("place").await],
        [400, 400, 303, 404]
    );
    assert!(house.visitor.get("/console/workspaces").await.text.contains("Deleted in the last 30 days"));
    assert_eq!(house.visitor.submit("/console/workspaces/restore", &[("name", "place")]).await.status, 303);
    assert!(!house.visitor.get("/console/workspaces").await.text.contains("Deleted in the last 30 days"));
}
