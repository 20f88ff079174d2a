//! Working in the console: finding, writing, undoing, and what a page does when it is asked for the wrong thing.

use mnemon_testkit::{Answer, ConsoleVisitor};
use serde_json::json;

use super::{House, house};

/// Style and script, which every page loads, leave this much of its 100 kB for the page itself.
const PAGE_BYTES_MAX: usize = 100_000 - 44_000;

async fn save(house: &House, arguments: serde_json::Value) -> String {
    house.admin.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
}

async fn contents(house: &House, query: &str) -> Vec<String> {
    let mut found = house.admin.search_texts(query).await;
    found.sort();
    found
}

/// The address behind the word of a link.
fn link(page: &str, word: &str) -> Option<String> {
    let before = page.split(&format!(">{word}</a>")).next().filter(|before| before.len() < page.len())?;
    let address = before.rsplit("href=\"").next()?.split('"').next()?;
    Some(address.replace("&#38;", "&").replace("&amp;", "&"))
}

#[tokio::test]
async fn every_source_is_on_some_page() {
    let house = house().await;
    for at in 0..60 {
        save(&house, json!({"content": format!("fact {at}"), "source_id": format!("file-{at:02}.md")})).await;
    }
    let (mut path, mut seen) = (Some("/console/sources".to_owned()), 0);
    for pages in 1.. {
        let page = house.visitor.get(&path.expect("there is another page")).await.text;
        seen += (0..60).filter(|at| page.contains(&format!("<bdi>file-{at:02}.md</bdi>"))).count();
        path = link(&page, "Next");
        if path.is_none() {
            assert_eq!((pages, seen), (3, 60), "every source once");
            return;
        }
    }
}

#[tokio::test]
async fn a_search_looks_through_every_workspace_unless_one_is_chosen() {
    let house = house().await;
    save(&house, json!({"content": "Parcel weights come in grams.", "workspace": "infra"})).await;
    save(&house, json!({"content": "Parcels leave at noon."})).await;
    let page = house.visitor.get("/console/memory?q=parcel+weights+in+grams").await.text;
    assert!(page.contains("weights") && page.contains("<bdi>infra</bdi>"), "{page}");
    let page = house.visitor.get("/console/memory?q=parcel+weights+in+grams&workspace=default").await.text;
    assert!(!page.contains("<bdi>infra</bdi>") && page.to_lowercase().contains("search all workspaces"), "{page}");
}

#[tokio::test]
async fn an_act_in_an_ended_session_leads_to_its_page_and_says_that_nothing_was_changed() {
    let house = house().await;
    let id = save(&house, json!({"content": "The kettle boils."})).await;
    let stranger = ConsoleVisitor::stranger(&house.admin);
    let answer = stranger.submit(&format!("/console/records/{id}/forget"), &[]).await;
    let to = answer.header("location").to_owned();
    assert_eq!(
        (answer.status, to.as_str()),
        (303, &*format!("/console/sign-in?to=%2Fconsole%2Frecords%2F{id}&ended=act"))
    );
    let form = stranger.get(&to).await.text;
    assert!(form.contains("nothing was changed") && form.contains(&format!("/console/records/{id}\"")), "{form}");
    assert_eq!(contents(&house, "kettle").await.len(), 1);
}

#[tokio::test]
async fn every_mistyped_address_is_answered_by_a_page() {
    let house = house().await;
    let location = |answer: &Answer| (answer.status, answer.header("location").to_owned());
    for path in ["/", "/console/"] {
        assert_eq!(location(&house.visitor.get(path).await), (303, "/console".to_owned()), "{path}");
    }
    for (path, status) in [("/console/memroy", 404), ("/console/records/x/forget", 405), ("/console/people/a/b/c", 404)]
    {
        let answer = house.visitor.get(path).await;
        assert_eq!((answer.status, answer.header("content-type")), (status, "text/html; charset=utf-8"), "{path}");
        assert!(answer.text.contains("No such page"), "{}", answer.text);
    }
    let answer = house.admin.send("POST", "/", &[], "").await;
    assert!(answer.status == 404 && answer.text.contains("POST /mcp"), "a client is told where to go: {}", answer.text);
}

#[tokio::test]
async fn one_undo_brings_back_all_that_was_forgotten_of_a_source() {
    let house = house().await;
    let of = |content: &str| json!({"content": content, "source_id": "a.md"});
    let early = save(&house, of("The lamp is green.")).await;
    house.visitor.submit(&format!("/console/records/{early}/forget"), &[]).await;
    house.server.clock.advance(std::time::Duration::from_secs(60));
    for at in 0..30 {
        save(&house, of(&format!("The lamp number {at} is red."))).await;
    }
    let about = [("source", "a.md"), ("workspace", "default")];
    let answer = house.visitor.submit("/console/sources/forget", &about).await;
    let place = answer.header("location").to_owned();
    assert_eq!(contents(&house, "lamp").await.len(), 0);
    let page = house.visitor.get(&place).await.text;
    assert!(page.contains("30 records forgotten") && page.contains("1 record forgotten"), "{page}");
    let moment = mnemon_testkit::hidden(&page, "moment").expect("an undo");
    let fields = [about[0], about[1], ("moment", moment.as_str())];
    assert_eq!(house.visitor.submit("/console/sources/restore", &fields).await.header("location"), place);
    let found = house.admin.call("search", json!({"query": "lamp", "limit": 50})).await;
    assert_eq!(found.structured()["result"].as_array().map(Vec::len), Some(30), "but the one forgotten before");
    let path = format!("/projects/{}/sources/restore", house.organization.project);
    let body = json!({"source_id": "a.md", "workspace": "default"});
    assert_eq!(house.admin.manage("POST", &path, body.clone()).await, json!({"restored": 1}));
    assert_eq!(house.admin.manage("POST", &path, body).await, json!({"restored": 0}));
}

#[tokio::test]
async fn a_record_is_added_and_replaced_and_keeps_its_place() {
    let house = house().await;
    let fields = [("content", "We deploy on Mondays."), ("fact_key", "deploy.day"), ("source_id", "docs/deploy.md")];
    let answer =
        house.visitor.submit("/console/records", &[fields[0], fields[1], fields[2], ("workspace", "infra")]).await;
    let old = answer.header("location").to_owned();
    assert!(answer.status == 303 && old.starts_with("/console/records/"), "{}", answer.text);
    let answer = house.visitor.submit(&format!("{old}/replace"), &[("content", "We deploy on Tuesdays.")]).await;
    let new = answer.header("location").to_owned();
    let id = new.rsplit('/').next().expect("an id");
    let shown = house.admin.manage("GET", &format!("/records/{id}"), json!(null)).await;
    let told = ["content", "fact_key", "source_id", "workspace"].map(|name| shown["record"][name].clone());
    let told = if told[0].is_null() {
        ["content", "fact_key", "source_id", "workspace"].map(|name| shown[name].clone())
    } else {
        told
    };
    assert_eq!(
        told,
        ["We deploy on Tuesdays.", "deploy.day", "docs/deploy.md", "infra"].map(|text| json!(text)),
        "{shown}"
    );
    let page = house.visitor.get(&old).await.text;
    assert!(page.contains("took its place") && page.contains("Restore"), "{page}");
    let refused = house.visitor.submit(&format!("{new}/replace"), &[]).await;
    assert!(refused.status == 400 && refused.text.contains("Replace this record"), "{}", refused.text);
}

#[tokio::test]
async fn a_dispute_is_settled_by_a_new_text() {
    let house = house().await;
    let of = |content: &str| json!({"content": content, "fact_key": "kettle.colour"});
    let red = save(&house, of("The kettle is red.")).await;
    save(&house, of("The kettle is blue.")).await;
    let fields = [("content", "The kettle is green."), ("settle", "yes")];
    assert_eq!(house.visitor.submit(&format!("/console/records/{red}/replace"), &fields).await.status, 303);
    assert_eq!(contents(&house, "kettle").await, ["The kettle is green."]);
}

#[tokio::test]
async fn a_refused_form_keeps_what_was_typed_but_secrets() {
    let house = house().await;
    let typed =
        [("name", "My Wiki"), ("kind", "url"), ("address", "https://wiki.example/mcp"), ("token", "s3cret-token")];
    let answer = house.visitor.submit("/console/integrations", &typed).await;
    assert_eq!(answer.status, 400);
    for kept in [
        "value=\"My Wiki\"",
        "value=\"https://wiki.example/mcp\"",
        "<option value=\"url\" selected>",
        "lowercase letters",
    ] {
        assert!(answer.text.contains(kept), "{kept}: {}", answer.text);
    }
    assert!(!answer.text.contains("s3cret-token"), "{}", answer.text);
    let beside = answer.text.split("id=\"i-n\"").nth(1).and_then(|rest| rest.split("</div>").next()).expect("a field");
    assert!(beside.contains("class=\"error\"") && beside.contains("Name must be"), "beside its field: {beside}");
    let long = "x".repeat(129);
    let ben = house.server.new_member(&house.organization, mnemon_testkit::MemberSpec::default()).await;
    let member = format!("/console/people/{ben}");
    for (path, fields) in [
        ("/console/people", vec![("name", long.as_str()), ("role", "head")]),
        ("/console/departments", vec![("name", long.as_str())]),
        ("/console/records", vec![("content", "  "), ("fact_key", long.as_str())]),
        (member.as_str(), vec![("name", long.as_str()), ("role", "member")]),
    ] {
        let answer = house.visitor.submit(path, &fields).await;
        assert!(answer.status == 400 && answer.text.contains(&format!("value=\"{long}\"")), "{path}: {}", answer.text);
    }
}

#[tokio::test]
async fn pages_stay_small_with_many_people_and_keys_and_everybody_is_found() {
    let house = house().await;
    let (account, project) = (house.organization.account, house.organization.project);
    for at in 0..130 {
        let member = json!({"name": format!("Person Number {at:03}"), "role": "member"});
        let member = house.admin.manage("POST", &format!("/accounts/{account}/members"), member).await;
        let key = json!({"member_id": member["id"], "access": "read", "label": format!("laptop {at:03}")});
        house.admin.manage("POST", &format!("/projects/{project}/keys"), key).await;
        save(&house, json!({"content": "A place.", "workspace": format!("place-{at:03}")})).await;
    }
    for path in ["people", "keys", "workspaces", "memory", "sources", "audit", "connect", "connections", "usage"] {
        let page = house.visitor.get(&format!("/console/{path}")).await.text;
        assert!(page.len() < PAGE_BYTES_MAX, "/console/{path} has {} bytes", page.len());
    }
    for (path, found) in [("people?q=number+117", "Person Number 117"), ("keys?q=LAPTOP+117", "laptop 117")] {
        let page = house.visitor.get(&format!("/console/{path}")).await.text;
        assert!(page.contains(found) && !page.contains("116"), "{path}: {page}");
    }
    let second = house.visitor.get("/console/people?page=2").await.text;
    assert!(second.contains("26 to 50 of 131"), "{second}");
    // Too many for a list: the member is named.
    let once = mnemon_testkit::hidden(&house.visitor.get("/console/keys").await.text, "once").expect("a form");
    let fields = |member: &'static str| {
        [
            ("once", once.clone()),
            ("member", member.to_owned()),
            ("access", "read".to_owned()),
            ("ends", "90".to_owned()),
        ]
    };
    for (member, status) in [("Nobody", 400), ("Person Number 042", 200)] {
        let fields = fields(member);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(house.visitor.submit("/console/keys", &fields).await.status, status, "{member}");
    }
}

#[tokio::test]
async fn the_audit_log_tells_names_and_leaves_as_a_file() {
    let house = house().await;
    let account = house.organization.account;
    let path = format!("/accounts/{account}/departments");
    house.admin.manage("POST", &path, json!({"name": "Sales"})).await;
    let other = json!({"name": "Ben Okafor", "role": "member"});
    let other = house.admin.manage("POST", &format!("/accounts/{account}/members"), other).await;
    let page = house.visitor.get("/console/audit").await.text;
    assert!(page.contains("made the department “<bdi>Sales</bdi>”"), "{page}");
    let nobody = house.visitor.get(&format!("/console/audit?who={}", other["id"].as_str().expect("an id"))).await.text;
    assert!(nobody.contains("Nothing here"), "{nobody}");
    let file = house.visitor.get("/console/audit/csv?what=people").await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert!(file.text.contains("department.create") && file.text.contains("Sales"), "{}", file.text);
    assert!(!file.text.contains("project.create"), "{}", file.text);
}
