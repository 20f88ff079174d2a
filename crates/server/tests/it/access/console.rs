//! The table of the console: every route, tried by every kind of caller. Who is not signed in is led to the form that
//! asks for a key, whatever it asks for.

use mnemon_testkit::{ConsoleVisitor, hidden};

use super::world::{WHO, World};
use super::{NOBODYS, without_memory};

/// A route, the fields of its form, and the status for each caller who can sign in, in the order of `WHO`:
/// stranger, member, rival, head, reader, elsewhere, admin, operator
pub(super) type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)], [u16; 8]);

/// Pages of the key's own project, which everybody has but the operator.
const OWN: [u16; 8] = [200, 200, 200, 200, 200, 200, 200, 404];
/// What an admin sees of its account.
const ADMINS_SEE: [u16; 8] = [200, 403, 403, 403, 200, 200, 200, 404];
/// What an admin does in its account; the stranger does it in another one.
const ADMINS_DO: [u16; 8] = [303, 403, 403, 403, 403, 303, 303, 404];
/// What an admin does to a thing of the project: another account's admin, and a key of another project, find none.
const OF_THE_PROJECT: [u16; 8] = [404, 403, 403, 403, 403, 404, 303, 404];
/// What an admin does to a thing of the account.
const OF_THE_ACCOUNT: [u16; 8] = [404, 403, 403, 403, 403, 303, 303, 404];
/// What a head does to a member of its department.
const OF_THE_DEPARTMENT: [u16; 8] = [404, 403, 404, 303, 403, 303, 303, 404];
/// The same by the acts that the operator has too.
const BY_THE_OPERATOR_TOO: [u16; 8] = [404, 403, 404, 303, 403, 303, 303, 303];
const RESTORING: [u16; 8] = [404, 403, 403, 403, 403, 303, 303, 303];
const OPERATOR_ONLY: [u16; 8] = [403, 403, 403, 403, 403, 403, 403, 303];

pub(super) const ROWS: &[Row] = &[
    ("GET", "/console", &[], [303; 8]),
    ("POST", "/console/sign-out", &[], [303; 8]),
    ("POST", "/console/theme", &[("theme", "dark")], [303; 8]),
    ("GET", "/console/overview", &[], OWN),
    ("GET", "/console/memory", &[], OWN),
    ("POST", "/console/records", &[("content", "The kettle boils.")], [303, 303, 303, 303, 403, 303, 303, 403]),
    (
        "POST",
        "/console/records/several",
        &[("ids", "{record}"), ("act", "tag"), ("add", "tried")],
        [409, 303, 303, 303, 403, 409, 303, 404],
    ),
    (
        "POST",
        "/console/records/several/undo",
        &[("acts", r#"[{"act":"tag","memory_ids":["{record}"],"add_tags":["again"]}]"#)],
        [409, 303, 303, 303, 403, 409, 303, 404],
    ),
    ("POST", "/console/records/restore", &[("ids", "{forgotten}")], RESTORING),
    ("GET", "/console/records/{record}", &[], [404, 200, 200, 200, 200, 200, 200, 200]),
    ("POST", "/console/records/{record}/forget", &[], [404, 303, 303, 303, 403, 303, 303, 303]),
    (
        "POST",
        "/console/records/{record}/replace",
        &[("content", "The kettle boils at once.")],
        [404, 303, 303, 303, 403, 409, 303, 403],
    ),
    ("POST", "/console/records/{record}/purge", &[], RESTORING),
    ("POST", "/console/records/{record}/keep", &[], [404, 303, 303, 303, 403, 303, 303, 303]),
    ("POST", "/console/records/{record}/hold", &[], [404, 409, 409, 409, 403, 409, 409, 403]),
    ("GET", "/console/sources", &[], OWN),
    (
        "POST",
        "/console/sources/check",
        &[("source", "absent"), ("workspace", "default")],
        [303, 303, 303, 303, 303, 303, 303, 403],
    ),
    (
        "POST",
        "/console/sources/forget",
        &[("source", "absent"), ("workspace", "default")],
        [303, 303, 303, 303, 403, 303, 303, 403],
    ),
    (
        "POST",
        "/console/sources/restore",
        &[("source", "absent"), ("workspace", "default")],
        [303, 303, 303, 303, 403, 303, 303, 404],
    ),
    ("GET", "/console/workspaces", &[], OWN),
    ("POST", "/console/workspaces/delete", &[("name", "{workspace}"), ("typed", "{workspace}")], OF_THE_PROJECT),
    ("POST", "/console/workspaces/restore", &[("name", "{deleted}")], OF_THE_PROJECT),
    ("GET", "/console/keys", &[], OWN),
    (
        "POST",
        "/console/keys",
        &[("member", "{colleague}"), ("access", "read"), ("ends", "90"), ("once", "{once}")],
        // Who may make none gets no form that could be sent.
        [404, 400, 404, 200, 400, 200, 200, 404],
    ),
    ("POST", "/console/keys/{key}", &[("label", "A label"), ("access", "read")], BY_THE_OPERATOR_TOO),
    ("POST", "/console/keys/{key}/revoke", &[], BY_THE_OPERATOR_TOO),
    ("GET", "/console/connections", &[], OWN),
    ("POST", "/console/connections/{connection}/end", &[], BY_THE_OPERATOR_TOO),
    ("POST", "/console/connections/browsers/{console_session}/end", &[], [404, 404, 404, 303, 403, 404, 303, 404]),
    ("GET", "/console/people", &[], [200, 403, 200, 200, 200, 200, 200, 403]),
    ("POST", "/console/people", &[("name", "New"), ("role", "member"), ("department", "{sales}")], OF_THE_DEPARTMENT),
    (
        "POST",
        "/console/people/invite",
        &[
            ("name", "New"),
            ("role", "member"),
            ("department", "{sales}"),
            ("project", "{project}"),
            ("ends", "90"),
            ("once", "{once}"),
        ],
        [404, 403, 404, 200, 400, 200, 200, 404],
    ),
    (
        "POST",
        "/console/people/{member}",
        &[("name", "Renamed"), ("role", "member"), ("department", "{sales}")],
        OF_THE_DEPARTMENT,
    ),
    ("POST", "/console/people/{member}/remove", &[], OF_THE_DEPARTMENT),
    ("POST", "/console/departments", &[("name", "New")], ADMINS_DO),
    ("POST", "/console/departments/{department}", &[("name", "Renamed")], OF_THE_ACCOUNT),
    ("POST", "/console/departments/{department}/remove", &[], OF_THE_ACCOUNT),
    ("GET", "/console/moving", &[], OWN),
    ("GET", "/console/moving/export", &[], OWN),
    ("POST", "/console/moving/import", &[("way", "look"), ("file", "\n")], [200, 200, 200, 200, 403, 200, 200, 404]),
    ("GET", "/console/projects", &[], OWN),
    ("POST", "/console/projects", &[("name", "New"), ("once", "{once}")], [200, 400, 403, 403, 400, 200, 200, 404]),
    (
        "POST",
        "/console/projects/key",
        &[("project", "{project}"), ("once", "{once}")],
        [404, 400, 403, 403, 400, 200, 200, 400],
    ),
    ("POST", "/console/projects/switch", &[("project", "{project}")], [404, 303, 303, 303, 303, 303, 303, 404]),
    ("GET", "/console/integrations", &[], ADMINS_SEE),
    ("POST", "/console/integrations", &[("name", "{fresh}"), ("kind", "command"), ("address", "none")], ADMINS_DO),
    ("POST", "/console/integrations/names", &[("names", "dots")], ADMINS_DO),
    ("GET", "/console/integrations/{integration}", &[], [404, 403, 403, 403, 200, 404, 200, 404]),
    ("POST", "/console/integrations/{integration}/change", &[], OF_THE_PROJECT),
    ("POST", "/console/integrations/{integration}/test", &[], OF_THE_PROJECT),
    (
        "POST",
        "/console/integrations/{integration}/accept",
        &[("tool", "none"), ("hash", "none")],
        [404, 403, 403, 403, 403, 404, 400, 404],
    ),
    (
        "POST",
        "/console/integrations/{integration}/leave-out",
        &[("tool", "none")],
        [404, 403, 403, 403, 403, 404, 400, 404],
    ),
    ("POST", "/console/integrations/{integration}/enable", &[("enabled", "no")], OF_THE_PROJECT),
    ("POST", "/console/integrations/{integration}/remove", &[], OF_THE_PROJECT),
    ("GET", "/console/sessions", &[], OWN),
    ("POST", "/console/sessions/{session}/delete", &[], OF_THE_PROJECT),
    ("GET", "/console/usage", &[], OWN),
    ("GET", "/console/usage/csv", &[], OWN),
    ("GET", "/console/audit", &[], [200, 403, 403, 403, 200, 200, 200, 200]),
    ("GET", "/console/audit/csv", &[], [200, 403, 403, 403, 200, 200, 200, 200]),
    ("GET", "/console/guard", &[], ADMINS_SEE),
    (
        "POST",
        "/console/guard/release",
        &[("hash", "0000000000000000000000000000000000000000000000000000000000000000")],
        ADMINS_DO,
    ),
    ("GET", "/console/connect", &[], OWN),
    ("GET", "/console/connect/seen", &[], OWN),
    ("GET", "/console/operator", &[], [403, 403, 403, 403, 403, 403, 403, 200]),
    ("POST", "/console/operator/accounts", &[("name", "New"), ("plan", "free")], OPERATOR_ONLY),
    ("POST", "/console/operator/accounts/{account}/plan", &[("plan", "unlimited")], OPERATOR_ONLY),
    ("POST", "/console/operator/accounts/{account}/suspension", &[("suspended", "no")], OPERATOR_ONLY),
];

/// What is open to all: the form that asks for a key, and files without any data.
const OPEN: [(&str, &str); 6] = [
    ("GET", "/console/link/{code}"),
    ("POST", "/console/link/{code}"),
    ("GET", "/console/assets/{file}"),
    ("GET", "/console/"),
    ("GET", "/console/sign-in"),
    ("POST", "/console/sign-in"),
];

#[test]
fn every_route_of_the_console_has_a_row() {
    let mut expected = without_memory(mnemon_server::console_route_table());
    let rows = ROWS.iter().map(|(method, path, ..)| (*method, *path)).chain(OPEN);
    let mut rows: Vec<(&str, String)> = rows.map(|(method, path)| (method, path.to_owned())).collect();
    expected.sort();
    rows.sort();
    assert_eq!(rows, expected);
}

/// Path and fields about things that exist, made for this one try.
pub(super) async fn fill(world: &World, visitor: &ConsoleVisitor, row: &Row) -> (String, Vec<(&'static str, String)>) {
    let (method, path, fields, _) = row;
    let (path, _) = world.fill(method, path, "").await;
    let mut filled = Vec::new();
    for (name, value) in *fields {
        let value = match *value {
            "{record}" => world.fill("", "{record}", "").await.0,
            acts if acts.contains("{record}") => acts.replace("{record}", &world.fill("", "{record}", "").await.0),
            "{forgotten}" => world.fill("", "{record}/restore", "").await.0.replace("/restore", ""),
            "{workspace}" => filled
                .iter()
                .find(|(name, _)| *name == "name")
                .map_or_else(String::new, |(_, v): &(_, String)| v.clone()),
            "{deleted}" => world.fill("", "{workspace}/restore", "").await.0.replace("/restore", ""),
            "{colleague}" => world.author_id.to_string(),
            "{project}" => world.organization.project.to_string(),
            "{sales}" => world.sales.to_string(),
            "{fresh}" => format!("n{}", world.serial()),
            "{once}" => hidden(&visitor.get("/console/keys").await.text, "once").unwrap_or_default(),
            plain => plain.to_owned(),
        };
        let value = if value.is_empty() && *name == "name" { world.fill("", "{workspace}", "").await.0 } else { value };
        filled.push((*name, value));
    }
    (path, filled)
}

#[tokio::test]
async fn everybody_tries_every_route_of_the_console() {
    let world = World::make().await;
    let known = &WHO[NOBODYS.len()..];
    for row in ROWS {
        let (method, template, _, expected) = row;
        for (who, expected) in known.iter().zip(expected) {
            let visitor = ConsoleVisitor::sign_in(world.caller(who)).await.expect("the key is accepted");
            let (path, fields) = fill(&world, &visitor, row).await;
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = match *method {
                "GET" => visitor.get(&path).await,
                _ => visitor.submit(&path, &fields).await,
            };
            assert_eq!(answer.status, *expected, "{who}: {method} {template} {}", answer.text);
            assert!(
                answer.header("content-security-policy").contains("trusted-types 'none'"),
                "{who}: {method} {template}"
            );
        }
    }
}

#[tokio::test]
async fn no_form_of_the_console_is_taken_without_the_seal_of_its_session() {
    let world = World::make().await;
    for row in ROWS.iter().filter(|row| row.0 == "POST") {
        let who = if row.1.starts_with("/console/operator") { "operator" } else { "admin" };
        let sign_in = async || ConsoleVisitor::sign_in(world.caller(who)).await.expect("the key is accepted");
        let (visitor, other) = (sign_in().await, sign_in().await);
        let (path, fields) = fill(&world, &visitor, row).await;
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let foreign = [&fields[..], &[("seal", other.seal.as_str())]].concat();
        for fields in [fields, foreign] {
            let answer = visitor.submit_with(&path, &fields, &[("sec-fetch-site", "same-origin")]).await;
            assert_eq!(answer.status, 403, "{} {fields:?} {}", row.1, answer.text);
        }
        assert_eq!(visitor.get("/console/projects").await.status, if who == "admin" { 200 } else { 404 }, "{}", row.1);
    }
}

#[tokio::test]
async fn who_is_not_signed_in_is_asked_for_a_key_everywhere() {
    let world = World::make().await;
    for who in NOBODYS {
        assert!(ConsoleVisitor::sign_in(world.caller(who)).await.is_none(), "{who}");
    }
    let stranger = ConsoleVisitor::stranger(world.caller("nobody"));
    for row in ROWS {
        let (path, _) = fill(&world, &stranger, row).await;
        let answer = match row.0 {
            "GET" => stranger.get(&path).await,
            _ => stranger.submit(&path, row.2).await,
        };
        let place = answer.header("location").to_owned();
        assert_eq!((answer.status, answer.text.as_str()), (303, ""), "{} {}", row.0, row.1);
        assert!(place.starts_with("/console/sign-in?to=%2Fconsole"), "{} {}: {place}", row.0, row.1);
    }
}
