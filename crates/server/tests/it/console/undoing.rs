//! One Undo on the page that follows an act on several records.

use mnemon_testkit::{Answer, MemberSpec, hidden};
use serde_json::{Value, json};

use super::{House, house};

async fn save(house: &House, arguments: Value) -> String {
    house.admin.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
}

async fn boxes(house: &House, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.push(save(house, json!({"content": format!("box number {n}"), "tags": ["wood"]})).await);
    }
    ids
}

async fn several(house: &House, ids: &[String], fields: &[(&str, &str)]) -> Answer {
    let back = ("back", "/console/memory?sort=oldest");
    let all: Vec<_> = ids.iter().map(|id| ("ids", id.as_str())).chain([back]).chain(fields.iter().copied()).collect();
    house.visitor.submit("/console/records/several", &all).await
}

/// The page that follows a form, with what the browser keeps until then.
async fn next_page(house: &House, answer: &Answer) -> Answer {
    assert_eq!(answer.status, 303, "{}", answer.text);
    let told = answer.header("set-cookie").split(';').next().expect("what happened").to_owned();
    assert!(told.len() <= 4_096, "no browser keeps {} bytes", told.len());
    let both = format!("{}; {told}", house.visitor.cookie());
    let headers = [("cookie", both.as_str()), ("sec-fetch-site", "same-origin")];
    house.admin.send("GET", answer.header("location"), &headers, "").await
}

/// Presses Undo on a page.
async fn undo(house: &House, page: &Answer) -> Answer {
    let after = page.text.split("<div class=\"toast\"").nth(1).expect("a toast");
    let toast = after.split("</form>").next().expect("with a form");
    let action = toast.split("action=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an address");
    let field = |name: &str| hidden(toast, name).map(|value| value.replace("&#34;", "\"")).unwrap_or_default();
    let (back, acts, ids) = (field("back"), field("acts"), field("ids"));
    let fields = [("back", back.as_str()), ("acts", acts.as_str()), ("ids", ids.as_str())];
    house.visitor.submit(action, &fields).await
}

/// Workspace, tags and whether it is live, of each.
async fn shown(house: &House, ids: &[String]) -> Vec<(Value, Value, bool)> {
    let mut all = Vec::new();
    for id in ids {
        let record = house.admin.manage("GET", &format!("/records/{id}"), Value::Null).await;
        all.push((record["workspace"].clone(), record["tags"].clone(), record["forgotten_at"].is_null()));
    }
    all
}

#[tokio::test]
async fn a_whole_page_of_moved_records_is_brought_back_by_one_undo() {
    let house = house().await;
    let ids = boxes(&house, 25).await;
    let before = shown(&house, &ids).await;
    let page = next_page(&house, &several(&house, &ids, &[("act", "move"), ("to", "cellar")]).await).await;
    assert!(page.text.contains("25 records moved."), "{}", page.text);
    assert!(shown(&house, &ids).await.iter().all(|(_, _, is_live)| !is_live));
    let undone = undo(&house, &page).await;
    assert_eq!(undone.header("location"), "/console/memory?sort=oldest", "back to where it was pressed");
    assert_eq!(shown(&house, &ids).await, before);
    let path = format!("/projects/{}/records?workspace=cellar", house.organization.project);
    let left = house.admin.manage("GET", &path, Value::Null).await;
    assert_eq!(left["records"], json!([]), "nothing stays where it was moved");
}

#[tokio::test]
async fn undoing_a_move_leaves_what_was_there_before_it() {
    let house = house().await;
    let ids = boxes(&house, 2).await;
    let there = save(&house, json!({"content": "box number 0", "workspace": "cellar"})).await;
    let page = next_page(&house, &several(&house, &ids, &[("act", "move"), ("to", "cellar")]).await).await;
    undo(&house, &page).await;
    assert!(shown(&house, &ids).await.iter().all(|(_, _, is_live)| *is_live));
    assert!(shown(&house, &[there]).await[0].2, "it was there before");
}

#[tokio::test]
async fn undoing_tags_gives_each_record_its_own_back() {
    let house = house().await;
    let ids = boxes(&house, 3).await;
    assert_eq!(several(&house, &ids[..1], &[("act", "tag"), ("add", "red")]).await.status, 303);
    let before = shown(&house, &ids).await;
    let fields = [("act", "tag"), ("add", "red, round"), ("had", "wood")];
    let page = next_page(&house, &several(&house, &ids, &fields).await).await;
    assert_eq!(shown(&house, &ids).await[2].1, json!(["red", "round"]));
    undo(&house, &page).await;
    let sorted = |all: Vec<(Value, Value, bool)>| -> Vec<Vec<String>> {
        let tags = all.iter().map(|(_, tags, _)| tags.as_array().cloned().unwrap_or_default());
        let words = |tags: Vec<Value>| tags.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
        let mut all: Vec<Vec<String>> = tags.map(words).collect();
        all.iter_mut().for_each(|tags| tags.sort());
        all
    };
    assert_eq!(sorted(shown(&house, &ids).await), sorted(before));
}

#[tokio::test]
async fn forgetting_several_is_undone_and_only_with_the_seal() {
    let house = house().await;
    let ids = boxes(&house, 25).await;
    let page = next_page(&house, &several(&house, &ids, &[("act", "forget")]).await).await;
    let acts = json!([{"act": "restore", "memory_ids": ids}]).to_string();
    let unsealed = [("acts", acts.as_str())];
    let forged =
        house.visitor.submit_with("/console/records/several/undo", &unsealed, &[("sec-fetch-site", "same-origin")]);
    assert_eq!(forged.await.status, 403);
    assert_eq!(undo(&house, &page).await.status, 303);
    assert!(shown(&house, &ids).await.iter().all(|(_, _, is_live)| *is_live));
    for nonsense in ["", "x", "{}", "[{\"act\":\"purge\",\"memory_ids\":[]}]"] {
        let answer = house.visitor.submit("/console/records/several/undo", &[("acts", nonsense)]).await;
        assert_eq!(answer.status, 400, "{nonsense}");
    }
}

#[tokio::test]
async fn a_member_undoes_its_own_move_and_the_api_tells_how() {
    let house = house().await;
    let ben = MemberSpec { name: "Ben", ..MemberSpec::default() };
    let member = house.server.member(&house.organization, ben).await;
    let id = member.call("remember", json!({"content": "mine"})).await.structured()["id"].as_str().unwrap().to_owned();
    house.server.clock.advance(std::time::Duration::from_secs(5));
    let path = format!("/projects/{}/records/several", house.organization.project);
    let body = json!({"act": "move", "memory_ids": [id], "workspace": "shed"});
    let moved = member.manage("POST", &path, body).await;
    let acts = moved["undo"].as_array().expect("what takes it back").clone();
    assert_eq!(
        acts,
        [json!({"memory_ids": moved["memory_ids"], "act": "forget"}), json!({"memory_ids": [id], "act": "restore"})]
    );
    house.server.clock.advance(std::time::Duration::from_secs(5));
    for act in acts {
        assert_eq!(member.manage("POST", &path, act).await["left"], json!([]));
    }
    assert_eq!(shown(&house, &[id]).await[0].0, json!("default"));
}
