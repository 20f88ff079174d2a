//! The record side of the console: the overview, several records at once, who did what, and orders of lists.

use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::{House, house};

async fn save(house: &House, arguments: Value) -> String {
    house.admin.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
}

/// Where each of these stands on a page.
fn places(page: &str, texts: &[&str]) -> Vec<usize> {
    texts.iter().map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not on the page"))).collect()
}

#[tokio::test]
async fn the_overview_says_what_waits_and_leads_to_it() {
    let house = house().await;
    let empty = house.visitor.get("/console/overview").await.text;
    assert!(empty.contains("No record yet") && empty.contains("Nothing: no conflict"), "{empty}");
    save(&house, json!({"content": "Port 1.", "fact_key": "port"})).await;
    save(&house, json!({"content": "Port 2.", "fact_key": "port", "source": "chat"})).await;
    save(&house, json!({"content": "Old.", "source_id": "a.md", "source_hash": "h1"})).await;
    save(&house, json!({"content": "New.", "source_id": "a.md", "source_hash": "h2"})).await;
    let page = house.visitor.get("/console/overview").await.text;
    for part in [
        "1 fact key is disputed",
        "1 source has changed",
        "/console/memory?key=port",
        "/console/sources?one=a.md",
        "/console/memory?status=stale",
        "<b>4</b>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let project = house.organization.project;
    let told = house.admin.manage("GET", &format!("/projects/{project}/overview"), Value::Null).await;
    assert_eq!(told["waiting"]["disputed_keys"], json!([{"workspace": "default", "name": "port", "records": 2}]));
    assert_eq!(told["waiting"]["changed_sources"], json!([{"workspace": "default", "name": "a.md", "records": 1}]));
    assert_eq!((told["week"]["saved"].as_u64(), told["days"].as_array().map(Vec::len)), (Some(4), Some(14)));
}

#[tokio::test]
async fn a_list_is_sorted_and_continued_in_its_order() {
    let house = house().await;
    for n in 0..30 {
        let key = format!("key.{:02}", (n * 7) % 30);
        save(&house, json!({"content": format!("fact {n}"), "fact_key": key, "source_id": format!("s{}", n % 3)}))
            .await;
    }
    save(&house, json!({"content": "without a key"})).await;
    let path = format!("/projects/{}/records?sort=fact_key&limit=12", house.organization.project);
    let (mut keys, mut next) = (Vec::new(), String::new());
    loop {
        let page = house.admin.manage("GET", &format!("{path}{next}"), Value::Null).await;
        let records = page["records"].as_array().expect("records").clone();
        keys.extend(records.iter().map(|record| record["fact_key"].as_str().unwrap_or_default().to_owned()));
        match page["next"].as_u64().map(|next| next.to_string()).or(page["next"].as_str().map(str::to_owned)) {
            Some(place) => next = format!("&before={place}"),
            None => break,
        }
    }
    let mut sorted = keys[..30].to_vec();
    sorted.sort();
    assert_eq!((keys.len(), &keys[..30]), (31, &sorted[..]), "those without a key come last");
    let page = house.visitor.get("/console/memory?sort=oldest").await.text;
    assert!(places(&page, &["fact 0<", "fact 1<", "fact 2<"]).is_sorted(), "{page}");
    let refused = house.admin.admin("GET", &format!("{path}&author=Ada"), Value::Null).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
}

#[tokio::test]
async fn several_records_are_changed_by_one_form() {
    let house = house().await;
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(
            save(&house, json!({"content": format!("box {n}"), "source_id": "boxes.md", "source_hash": "h1"})).await,
        );
    }
    save(&house, json!({"content": "another box", "source_id": "boxes.md", "source_hash": "h2"})).await;
    let several = async |act: &str, fields: &[(&str, &str)]| {
        let mut all = vec![("act", act), ("ids", ids[0].as_str()), ("ids", ids[1].as_str())];
        all.extend_from_slice(fields);
        house.visitor.submit("/console/records/several", &all).await
    };
    assert_eq!(several("tag", &[("add", "red, square")]).await.status, 303);
    assert_eq!(several("tag", &[("add", "round"), ("had", "square")]).await.status, 303);
    let record = house.admin.manage("GET", &format!("/records/{}", ids[0]), Value::Null).await;
    assert_eq!(record["tags"], json!(["red", "round"]));
    assert_eq!(several("move", &[("to", "cellar")]).await.status, 303);
    let path = format!("/projects/{}/records?workspace=cellar", house.organization.project);
    let moved = house.admin.manage("GET", &path, Value::Null).await;
    assert_eq!(moved["records"].as_array().map(Vec::len), Some(2));
    assert_eq!(moved["records"][0]["status"], "stale", "a stale record stays so where it goes");
    assert_eq!(moved["records"][0]["tags"], json!(["red", "round"]));
    let old = house.visitor.get(&format!("/console/records/{}", ids[0])).await.text;
    assert!(old.contains("Another record</a> took its place"), "{old}");
    let nothing = house.visitor.submit("/console/records/several", &[("act", "forget")]).await;
    assert_eq!(nothing.status, 400, "nothing was chosen");
    let many: Vec<(&str, &str)> = std::iter::repeat_n(("ids", ids[2].as_str()), 201).collect();
    let many = [many, vec![("act", "forget")]].concat();
    assert_eq!(house.visitor.submit("/console/records/several", &many).await.status, 400, "one more than 200");
    assert_eq!(house.visitor.submit("/console/records/several", &many[1..]).await.status, 303, "200");
}

#[tokio::test]
async fn what_was_forgotten_comes_latest_first_and_members_see_their_own() {
    let house = house().await;
    let ids = [save(&house, json!({"content": "first"})).await, save(&house, json!({"content": "second"})).await];
    for id in [&ids[1], &ids[0]] {
        house.server.clock.advance(std::time::Duration::from_secs(5));
        house.visitor.submit(&format!("/console/records/{id}/forget"), &[]).await;
    }
    let page = house.visitor.get("/console/memory?state=forgotten").await.text;
    assert!(places(&page, &[&ids[0], &ids[1]]).is_sorted(), "{page}");
    let ben = MemberSpec { name: "Ben", ..MemberSpec::default() };
    let member = house.server.member(&house.organization, ben).await;
    let own = member.call("remember", json!({"content": "mine"})).await.structured()["id"].as_str().unwrap().to_owned();
    house.server.clock.advance(std::time::Duration::from_secs(5));
    member.call("forget", json!({"memory_id": own})).await;
    let path = format!("/projects/{}/records?state=forgotten", house.organization.project);
    let seen = member.manage("GET", &path, Value::Null).await;
    let seen: Vec<&str> = seen["records"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(seen, [own.as_str()]);
    assert_eq!(member.admin("POST", &format!("/records/{}/restore", ids[0]), json!({})).await.status, 403);
    assert_eq!(member.admin("POST", &format!("/records/{own}/restore"), json!({})).await.status, 200);
}
