//! The people side of the console: invitations and the links that hand keys over, projects, and the way in and out.

use std::time::Duration;

use mnemon_core::{Access, Role};
use mnemon_testkit::{Answer, ConsoleVisitor, MemberSpec, hidden};
use serde_json::{Value, json};

use super::{House, house};

const CODE: &str = "/console/link/";

/// The path of the link that a page shows.
fn link_in(page: &str) -> String {
    let code = page.split(CODE).nth(1).expect("the page shows a link").split('<').next().expect("it ends");
    format!("{CODE}{code}")
}

fn key_in(page: &str) -> String {
    let after = page.split("id=\"secret\">").nth(1).expect("the page shows a key");
    after.split('<').next().expect("it ends").to_owned()
}

async fn once(house: &House) -> String {
    hidden(&house.visitor.get("/console/people").await.text, "once").expect("a form")
}

async fn invite(house: &House, name: &str) -> Answer {
    let (once, project) = (once(house).await, house.organization.project.to_string());
    let fields = [
        ("once", once.as_str()),
        ("name", name),
        ("role", "member"),
        ("department", "none"),
        ("project", project.as_str()),
        ("access", "write"),
        ("ends", "365"),
        ("hours", "72"),
    ];
    house.visitor.submit("/console/people/invite", &fields).await
}

fn stranger(house: &House) -> ConsoleVisitor {
    ConsoleVisitor::stranger(&house.admin)
}

async fn audit(house: &House) -> Vec<String> {
    let path = format!("/accounts/{}/audit", house.organization.account);
    let rows = house.admin.manage("GET", &path, Value::Null).await;
    let rows = rows["audit"].as_array().expect("a list").clone();
    rows.iter().map(|row| row["action"].as_str().expect("an action").to_owned()).collect()
}

#[tokio::test]
async fn an_invitation_is_one_form_and_its_link_shows_the_key_once() {
    let house = house().await;
    let page = invite(&house, "Ben Okafor").await;
    assert!(page.status == 200 && page.text.contains("Ben Okafor") && !page.text.contains("mnm_"), "{}", page.text);
    let link = link_in(&page.text);
    let before = stranger(&house).get(&link).await;
    assert!(before.status == 200 && before.text.contains("Ben Okafor") && !before.text.contains("mnm_"));
    assert_eq!(stranger(&house).get(&link).await.status, 200, "looking opens nothing");
    let opened = stranger(&house).submit(&link, &[]).await;
    let key = key_in(&opened.text);
    let ben = house.server.caller(&key);
    assert_eq!(ben.admin("GET", "/me", Value::Null).await.json()["member"]["name"], "Ben Okafor");
    for again in [stranger(&house).get(&link).await, stranger(&house).submit(&link, &[]).await] {
        assert!(again.status == 410 && again.text.contains("opened before"), "{}", again.text);
        assert!(!again.text.contains("mnm_"), "{}", again.text);
    }
    let told = audit(&house).await;
    assert_eq!(told[..3], ["key.open", "key.create", "member.create"].map(str::to_owned));
    assert!(house.visitor.get("/console/audit").await.text.contains("opened the link of the key"));
}

#[tokio::test]
async fn a_link_opens_for_one_reader_however_many_come_at_once() {
    let house = house().await;
    let link = link_in(&invite(&house, "Ben").await.text);
    let many = (0..8).map(|_| {
        let (visitor, link) = (stranger(&house), link.clone());
        async move { visitor.submit(&link, &[]).await.status }
    });
    let mut statuses = futures_util::future::join_all(many).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410, 410, 410, 410, 410, 410, 410]);
}

#[tokio::test]
async fn a_link_ends_at_its_hour_and_with_its_key_and_wrong_ones_are_counted() {
    let house = house().await;
    let (ends, revoked) = (link_in(&invite(&house, "Ben").await.text), link_in(&invite(&house, "Cleo").await.text));
    let keys = format!("/projects/{}/keys", house.organization.project);
    let keys = house.admin.manage("GET", &keys, Value::Null).await;
    let waiting = keys["keys"].as_array().expect("a list").last().expect("there are some").clone();
    assert!(waiting["link_ends_at"].is_string() && waiting["hint"].is_null(), "{waiting}");
    let path = format!("/keys/{}", waiting["key_id"].as_str().expect("an id"));
    house.admin.manage("DELETE", &path, Value::Null).await;
    let gone = stranger(&house).submit(&revoked, &[]).await;
    assert!(gone.status == 410 && gone.text.contains("withdrawn"), "{}", gone.text);
    house.server.clock.advance(Duration::from_secs(72 * 3_600 - 1));
    assert_eq!(stranger(&house).get(&ends).await.status, 200);
    house.server.clock.advance(Duration::from_secs(1));
    let gone = stranger(&house).submit(&ends, &[]).await;
    assert!(gone.status == 410 && gone.text.contains("has ended"), "{}", gone.text);
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(stranger(&house).get(&format!("{CODE}mnl_wrong")).await.status);
    }
    assert_eq!((statuses.first(), statuses.last()), (Some(&404), Some(&429)));
    assert!(statuses.iter().all(|status| [404, 429].contains(status)), "{statuses:?}");
}

#[tokio::test]
async fn a_links_code_is_no_key_and_a_form_from_elsewhere_opens_nothing() {
    let house = house().await;
    let link = link_in(&invite(&house, "Ben").await.text);
    let code = link.trim_start_matches(CODE);
    assert_eq!(house.server.caller(code).admin("GET", "/me", Value::Null).await.status, 401);
    assert!(ConsoleVisitor::sign_in(&house.server.caller(code)).await.is_none());
    for site in ["cross-site", "same-site", "none"] {
        let answer = stranger(&house).submit_with(&link, &[], &[("sec-fetch-site", site)]).await;
        assert_eq!(answer.status, 403, "{site}");
    }
    assert_eq!(stranger(&house).submit(&link, &[]).await.status, 200);
}

#[tokio::test]
async fn a_refused_invitation_keeps_what_was_typed_and_makes_nobody() {
    let house = house().await;
    let long = "x".repeat(129);
    let answer = invite(&house, &long).await;
    assert!(answer.status == 400 && answer.text.contains(&format!("value=\"{long}\"")), "{}", answer.text);
    let sent = once(&house).await;
    let project = house.organization.project.to_string();
    let fields = [
        ("once", sent.as_str()),
        ("name", "Ben"),
        ("role", "member"),
        ("project", &project),
        ("access", "write"),
        ("ends", "90"),
    ];
    assert_eq!(house.visitor.submit("/console/people/invite", &fields).await.status, 200);
    assert_eq!(house.visitor.submit("/console/people/invite", &fields).await.status, 409, "sent twice");
    let members = format!("/accounts/{}/members", house.organization.account);
    let members = house.admin.manage("GET", &members, Value::Null).await;
    let named =
        |name: &str| members["members"].as_array().expect("a list").iter().filter(|m| m["name"] == name).count();
    assert_eq!(named("Ben"), 1);
}

#[tokio::test]
async fn a_key_is_changed_without_its_secret() {
    let house = house().await;
    let ben = house.server.member(&house.organization, MemberSpec::default()).await;
    let keys = ben.manage("GET", "/me/keys", Value::Null).await;
    let id = keys["keys"][0]["key_id"].as_str().expect("an id").to_owned();
    let page = house.visitor.get(&format!("/console/keys?change={id}")).await.text;
    assert!(page.contains("name=\"until-before\""), "{page}");
    let fields = [("label", "desk"), ("access", "read"), ("until", "2100-01-31"), ("workspace", "infra")];
    assert_eq!(house.visitor.submit(&format!("/console/keys/{id}"), &fields).await.status, 303);
    let keys = ben.manage("GET", "/me/keys", Value::Null).await;
    let told = ["label", "access", "expires_at", "workspace"].map(|name| keys["keys"][0][name].clone());
    assert_eq!(told, ["desk", "read", "2100-01-31T23:59:59Z", "infra"].map(|text| json!(text)));
    let refused = ben.call("remember", json!({"content": "The lamp is red."})).await;
    assert!(refused.is_error(), "the key only reads now");
    let long = "x".repeat(65);
    let bad = [("label", "desk"), ("access", "read"), ("workspace", long.as_str())];
    let answer = house.visitor.submit(&format!("/console/keys/{id}"), &bad).await;
    assert!(answer.status == 400 && answer.text.contains(&format!("value=\"{long}\"")), "{}", answer.text);
    let path = format!("/keys/{id}");
    let changed = house.admin.manage("PATCH", &path, json!({"expires_at": null})).await;
    assert_eq!((&changed["expires_at"], &changed["label"]), (&Value::Null, &json!("desk")));
}

#[tokio::test]
async fn people_and_keys_are_sorted_by_the_head_of_a_column() {
    let house = house().await;
    house.server.member(&house.organization, MemberSpec { name: "Aaron", ..MemberSpec::default() }).await;
    let me = house.admin.manage("GET", "/me", Value::Null).await["member"]["id"].clone();
    for label in ["Alpha", "Beta"] {
        house.server.clock.advance(Duration::from_secs(60));
        let key = json!({"member_id": me, "access": "read", "label": label});
        house.admin.manage("POST", &format!("/projects/{}/keys", house.organization.project), key).await;
    }
    let is_first = async |path: &str, one: &str, other: &str| {
        let page = house.visitor.get(path).await.text;
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{path}: {text}: {page}"));
        place(one) < place(other)
    };
    let (aaron, ada) = ("?author=Aaron\"", "?author=Ada\"");
    assert!(is_first("/console/people", aaron, ada).await, "by name");
    assert!(is_first("/console/people?sort=role", ada, aaron).await);
    assert!(is_first("/console/people?sort=keys", ada, aaron).await);
    let (alpha, beta) = ("<bdi>Alpha</bdi>", "<bdi>Beta</bdi>");
    assert!(is_first("/console/keys", beta, alpha).await, "the newest first");
    assert!(is_first("/console/keys?sort=label", alpha, beta).await);
    let page = house.visitor.get("/console/people?sort=role").await.text;
    assert!(page.contains("aria-sort=\"other\"><a class=\"quiet\" href=\"/console/people?sort=role\""), "{page}");
}

async fn projects_of(house: &House) -> (String, String) {
    let here = house.organization.project.to_string();
    let page = house.visitor.get("/console/projects").await.text;
    let once = hidden(&page, "once").expect("a form");
    let made = house.visitor.submit("/console/projects", &[("name", "Website"), ("once", &once)]).await;
    assert!(made.status == 200 && made.text.contains("mnm_"), "{}", made.text);
    let there = made.text.split("name=\"project\" value=\"").nth(1).expect("a way there");
    (here, there.split('"').next().expect("it ends").to_owned())
}

#[tokio::test]
async fn an_admin_makes_a_project_and_goes_there_and_back() {
    let house = house().await;
    house.admin.remember("The kettle is red.").await;
    let (here, there) = projects_of(&house).await;
    let place = |page: &str| page.contains("<b><bdi>Website</bdi></b>");
    assert_eq!(house.visitor.submit("/console/projects/switch", &[("project", &there)]).await.status, 303);
    let page = house.visitor.get("/console/memory").await.text;
    assert!(place(&page) && !page.contains("kettle"), "{page}");
    assert_eq!(house.visitor.submit("/console/projects/switch", &[("project", &here)]).await.status, 303);
    assert!(house.visitor.get("/console/memory").await.text.contains("kettle"));
}

#[tokio::test]
async fn a_session_in_another_project_ends_with_either_key_and_is_never_stronger() {
    let house = house().await;
    let (here, there) = projects_of(&house).await;
    let own = house.admin.manage("GET", "/me/keys", Value::Null).await["keys"].as_array().expect("a list").clone();
    let id_of = |project: &str| {
        own.iter()
            .find(|key| key["project_id"] == project)
            .and_then(|key| key["key_id"].as_str())
            .expect("an id")
            .to_owned()
    };
    // A session of a read key finds no write key to go on with.
    let member = own[0]["member_id"].as_str().expect("an id").parse().expect("an id");
    let reader = house.server.key(&house.organization, member, Access::Read, None).await.1;
    let reading = ConsoleVisitor::sign_in(&reader).await.expect("the key is accepted");
    assert_eq!(reading.submit("/console/projects/switch", &[("project", &there)]).await.status, 404);
    assert_eq!(house.visitor.submit("/console/projects/switch", &[("project", &there)]).await.status, 303);
    assert_eq!(house.visitor.get("/console/keys").await.status, 200);
    let operator = house.server.operator().await;
    operator.manage("DELETE", &format!("/keys/{}", id_of(&here)), Value::Null).await;
    assert_eq!(house.visitor.get("/console/keys").await.status, 303, "the key that it signed in with is gone");
}

#[tokio::test]
async fn the_operator_fills_an_account_by_one_form() {
    let house = house().await;
    let caller = house.server.operator().await;
    let operator = ConsoleVisitor::sign_in(&caller).await.expect("the token is accepted");
    let once = hidden(&operator.get("/console/operator").await.text, "once").expect("a form");
    let fields = [
        ("once", once.as_str()),
        ("name", "Lumen"),
        ("plan", "free"),
        ("admin", "Nia"),
        ("project", "Website"),
        ("guard", "report"),
    ];
    let page = operator.submit("/console/operator/accounts", &fields).await;
    let opened = stranger(&house).submit(&link_in(&page.text), &[]).await;
    let nia = house.server.caller(&key_in(&opened.text));
    let me = nia.manage("GET", "/me", Value::Null).await;
    assert_eq!([&me["member"]["name"], &me["account"]["name"], &me["project"]["name"]], ["Nia", "Lumen", "Website"]);
    let account = me["account"]["id"].as_str().expect("an id");
    assert_eq!(nia.manage("GET", &format!("/accounts/{account}/guard"), Value::Null).await["mode"], "report");
    let half = json!({"name": "Half", "admin": "Nia"});
    let answer = caller.admin("POST", "/accounts", half).await;
    assert!(answer.status == 400 && answer.text.contains("both project and admin"), "{}", answer.text);
}

#[tokio::test]
async fn a_head_invites_to_its_department_and_the_projects_it_has_keys_of() {
    let house = house().await;
    let sales = house.server.department(house.organization.account, "Sales", None).await;
    let spec = MemberSpec { role: Role::Head, department: Some(sales), ..MemberSpec::default() };
    let head = house.server.member(&house.organization, spec).await;
    let other = house.server.project(house.organization.account).await;
    let path = format!("/accounts/{}/invitations", house.organization.account);
    let body = |role: &str, project: &str| json!({"name": "Ben", "role": role, "department_id": sales.to_string(), "project_id": project, "access": "read"});
    let own = house.organization.project.to_string();
    assert_eq!(head.admin("POST", &path, body("admin", &own)).await.status, 403);
    assert_eq!(head.admin("POST", &path, body("member", &other.to_string())).await.status, 403);
    let made = head.admin("POST", &path, body("member", &own)).await.json();
    assert!(made["link"].as_str().is_some_and(|link| link.contains(CODE)), "{made}");
    for (hours, status) in [(0, 400), (720, 201), (721, 400)] {
        let mut body = body("member", &own);
        body["link_hours"] = json!(hours);
        assert_eq!(head.admin("POST", &path, body).await.status, status, "{hours}");
    }
}

#[tokio::test]
async fn what_goes_out_comes_in_again_after_a_look() {
    let house = house().await;
    for text in ["The kettle is red.", "The lamp is green.\n# Not a heading"] {
        house.admin.remember(text).await;
    }
    let lines = house.visitor.get("/console/moving/export?format=jsonl").await;
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    assert!(lines.header("content-disposition").contains("mnemon-export.jsonl"));
    let text = house.visitor.get("/console/moving/export?format=markdown").await.text;
    assert!(text.contains("> The kettle is red.") && text.contains("\n> # Not a heading\n"), "{text}");
    assert!(text.ends_with("Records: 2. This is all of them.\n"), "{text}");
    assert_eq!(house.visitor.get("/console/moving/export?format=pdf").await.status, 400);
    let (_, there) = projects_of(&house).await;
    house.visitor.submit("/console/projects/switch", &[("project", &there)]).await;
    let send = |way: &'static str| {
        let fields = [("way", way), ("file", lines.text.as_str())];
        let visitor = &house.visitor;
        async move { visitor.submit("/console/moving/import", &fields).await.text }
    };
    let look = send("look").await;
    assert!(look.contains("2 would be saved") && look.contains("Nothing was changed"), "{look}");
    assert!(!house.visitor.get("/console/memory").await.text.contains("kettle"));
    let done = send("import").await;
    assert!(done.contains("2 saved"), "{done}");
    assert!(house.visitor.get("/console/memory").await.text.contains("kettle"));
    assert!(send("import").await.contains("2 here already"));
    let seal = [("way", "import"), ("file", "x"), ("seal", "wrong")];
    let foreign =
        house.visitor.submit_with("/console/moving/import", &seal, &[("sec-fetch-site", "same-origin")]).await;
    assert_eq!(foreign.status, 403);
}

#[tokio::test]
async fn a_deleted_workspace_is_told_with_its_records() {
    let house = house().await;
    for at in 0..14 {
        let fact = json!({"content": format!("fact {at}"), "workspace": "fair"});
        house.admin.call("remember", fact).await;
    }
    let fields = [("name", "fair"), ("typed", "fair")];
    assert_eq!(house.visitor.submit("/console/workspaces/delete", &fields).await.status, 303);
    let page = house.visitor.get("/console/audit").await.text;
    assert!(page.contains("deleted the workspace <bdi>fair</bdi> with 14 records"), "{page}");
}
