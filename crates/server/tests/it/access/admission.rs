//! The column of the tables that says what a route does with records. Each such route is admitted as a tool call is: it
//! counts towards the plan's calls, and the subscription binds it. Every one is tried in every state.

use mnemon_core::Clock;
use mnemon_engine::MemoryUse::{self, Reads, Writes};
use mnemon_testkit::{Caller, ConsoleVisitor};
use serde_json::{Value, json};

use super::world::World;
use super::{console, routes};

/// Everything that shows or changes records. Whatever is not here does neither.
const MEMORY: [(&str, &str, MemoryUse); 41] = [
    ("GET", "/admin/v1/projects/{project}/workspaces", Reads),
    ("DELETE", "/admin/v1/projects/{project}/workspaces/{workspace}", Writes),
    ("POST", "/admin/v1/projects/{project}/workspaces/{workspace}/restore", Writes),
    ("GET", "/admin/v1/projects/{project}/records", Reads),
    ("GET", "/admin/v1/projects/{project}/overview", Reads),
    ("POST", "/admin/v1/projects/{project}/records/several", Writes),
    ("GET", "/admin/v1/projects/{project}/standing", Reads),
    ("GET", "/admin/v1/projects/{project}/export", Reads),
    ("POST", "/admin/v1/projects/{project}/import", Writes),
    ("GET", "/admin/v1/projects/{project}/sources", Reads),
    ("POST", "/admin/v1/projects/{project}/sources/validate", Reads),
    ("POST", "/admin/v1/projects/{project}/sources/restore", Writes),
    ("POST", "/admin/v1/projects/{project}/context", Reads),
    ("POST", "/admin/v1/projects/{project}/explain", Reads),
    ("GET", "/admin/v1/records/{record}", Reads),
    ("POST", "/admin/v1/records/{record}/keep", Writes),
    ("POST", "/admin/v1/records/{record}/restore", Writes),
    ("DELETE", "/admin/v1/records/{record}", Writes),
    ("GET", "/console/overview", Reads),
    ("GET", "/console/memory", Reads),
    ("POST", "/console/records", Writes),
    ("POST", "/console/records/several", Writes),
    ("POST", "/console/records/several/undo", Writes),
    ("POST", "/console/records/restore", Writes),
    ("GET", "/console/records/{record}", Reads),
    ("POST", "/console/records/{record}/forget", Writes),
    ("POST", "/console/records/{record}/replace", Writes),
    ("POST", "/console/records/{record}/purge", Writes),
    ("POST", "/console/records/{record}/keep", Writes),
    ("POST", "/console/records/{record}/hold", Writes),
    ("GET", "/console/sources", Reads),
    ("POST", "/console/sources/check", Reads),
    ("POST", "/console/sources/forget", Writes),
    ("POST", "/console/sources/restore", Writes),
    ("GET", "/console/moving", Reads),
    ("GET", "/console/moving/export", Reads),
    ("POST", "/console/moving/import", Writes),
    ("GET", "/console/workspaces", Reads),
    ("POST", "/console/workspaces/delete", Writes),
    ("POST", "/console/workspaces/restore", Writes),
    // The tools are in `subscription.rs` and `limits.rs`; here one stands for all.
    ("POST", "/mcp", Reads),
];

#[test]
fn every_route_to_records_is_named_here() {
    let all = [
        mnemon_server::admin_route_table(),
        mnemon_server::console_route_table(),
        mnemon_server::agent_route_table(),
        mnemon_server::oauth_route_table(),
    ];
    let used = |(method, path, memory): (&'static str, String, Option<MemoryUse>)| Some((method, path, memory?));
    let mut offered: Vec<_> = all.into_iter().flatten().filter_map(used).collect();
    let mut named: Vec<_> =
        MEMORY.iter().map(|(method, path, memory)| (*method, (*path).to_owned(), *memory)).collect();
    named.retain(|(_, path, _)| path != "/mcp");
    offered.sort();
    named.sort();
    assert_eq!(offered, named);
}

/// Puts the account on a plan that is paid until `days` from now.
async fn subscribe(world: &World, plan: &str, days: i64) {
    let until = world.server.clock.now() + jiff::SignedDuration::from_hours(24 * days);
    let body = json!({"plan": plan, "paid_until": until.to_string()});
    let path = format!("/accounts/{}/subscription", world.organization.account);
    world.caller("operator").manage("PUT", &path, body).await;
}

/// One request to a route, about things that exist. What it needs is made while the account has a plan without limits.
struct Try {
    path: String,
    body: Value,
    fields: Vec<(&'static str, String)>,
    visitor: Option<ConsoleVisitor>,
}

async fn prepare(world: &World, method: &str, template: &str, admin: &Caller) -> Try {
    subscribe(world, "unlimited", 365).await;
    if let Some(row) = console::ROWS.iter().find(|row| row.0 == method && row.1 == template) {
        let visitor = ConsoleVisitor::sign_in(admin).await.expect("the key is accepted");
        let (path, fields) = console::fill(world, &visitor, row).await;
        return Try { path, body: Value::Null, fields, visitor: Some(visitor) };
    }
    let inner = template.trim_start_matches("/admin/v1");
    let rows = routes::rows();
    let row = rows.iter().find(|row| row.method == method && row.path == inner);
    let (path, body) = match row {
        Some(row) => world.fill(row.method, row.path, row.body).await,
        None => (template.to_owned(), Value::Null),
    };
    Try { path, body, fields: Vec::new(), visitor: None }
}

/// The status, what the answer says, and when to try again.
async fn send(admin: &Caller, method: &str, tried: &Try) -> (u16, String, String) {
    let fields: Vec<(&str, &str)> = tried.fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = match &tried.visitor {
        Some(visitor) if method == "GET" => visitor.get(&tried.path).await,
        Some(visitor) => visitor.submit(&tried.path, &fields).await,
        None if tried.path == "/mcp" => {
            let answer = admin.call("search", json!({"query": "default"})).await;
            let after = answer.result["_meta"]["retry_after_seconds"].as_u64().map(|after| after.to_string());
            let status = match (answer.is_error(), &after) {
                (true, Some(_)) => 429,
                (true, None) => 403,
                (false, _) => 200,
            };
            return (status, answer.result.to_string(), after.unwrap_or_default());
        }
        None => admin.admin(method, &tried.path, tried.body.clone()).await,
    };
    let after = answer.header("retry-after").to_owned();
    (answer.status, answer.text, after)
}

#[tokio::test]
async fn every_route_to_records_obeys_the_subscription() {
    let world = World::make().await;
    let admin = world.caller("admin");
    // Expired yesterday: read-only. Expired long ago: nothing at all.
    for (days, is_readable, notice) in [(-1, true, "subscription has expired"), (-20, false, "is suspended because")] {
        for (method, template, memory) in MEMORY {
            let tried = prepare(&world, method, template, admin).await;
            subscribe(&world, "pro", days).await;
            let (status, text, _) = send(admin, method, &tried).await;
            let context = format!("{method} {template} after {days} days: {status} {text}");
            if is_readable && memory == Reads {
                assert!(status < 400, "{context}");
            } else {
                assert_eq!(status, 403, "{context}");
                assert!(text.contains(notice), "{context}");
            }
        }
    }
    // Nothing was forgotten, and what is not about records still works: somebody has to renew the plan.
    let me = admin.manage("GET", "/me", Value::Null).await;
    assert_eq!(me["subscription"]["state"], "suspended", "{me}");
    let keys = admin.admin("GET", &format!("/projects/{}/keys", world.organization.project), Value::Null).await;
    assert_eq!(keys.status, 200);
}

#[tokio::test]
async fn every_route_to_records_counts_as_a_call() {
    let world = World::make().await;
    let admin = world.caller("admin");
    for (method, template, _) in MEMORY {
        let tried = prepare(&world, method, template, admin).await;
        subscribe(&world, "free", 365).await;
        world.server.clock.advance(std::time::Duration::from_secs(61));
        // The free plan has 60 calls a minute; the last one is left for the route.
        for _ in 0..59 {
            assert!(!admin.call("search", json!({"query": "default"})).await.is_error());
        }
        let (status, text, _) = send(admin, method, &tried).await;
        assert!(status < 400 || status == 409, "{method} {template}: the sixtieth call: {status} {text}");
        let (status, text, after) = send(admin, method, &tried).await;
        assert_eq!(status, 429, "{method} {template}: the one after it: {text}");
        assert_eq!(after, "60", "{method} {template}");
        assert!(
            admin.call("search", json!({"query": "default"})).await.is_error(),
            "it was counted once, and once only"
        );
    }
}
