//! What the console shows and does, the admin API or a tool does too: no page can do what a program can't.

use super::without_memory;

/// A route of the console, and what a program uses in its place; nothing where only a browser has a use for it.
const BESIDE: &[(&str, &str, &[&str])] = &[
    ("GET", "/console/overview", &["GET /projects/{project}/overview"]),
    ("GET", "/console/memory", &["GET /projects/{project}/records", "POST /projects/{project}/explain"]),
    ("POST", "/console/records", &["remember"]),
    ("POST", "/console/records/several", &["POST /projects/{project}/records/several"]),
    ("POST", "/console/records/several/undo", &["POST /projects/{project}/records/several"]),
    ("POST", "/console/records/restore", &["POST /records/{record}/restore"]),
    ("GET", "/console/records/{record}", &["GET /records/{record}"]),
    ("POST", "/console/records/{record}/forget", &["DELETE /records/{record}"]),
    ("POST", "/console/records/{record}/replace", &["remember"]),
    ("POST", "/console/records/{record}/purge", &["DELETE /records/{record}"]),
    ("POST", "/console/records/{record}/keep", &["POST /records/{record}/keep"]),
    ("POST", "/console/records/{record}/hold", &["remember"]),
    ("GET", "/console/sources", &["GET /projects/{project}/sources"]),
    ("POST", "/console/sources/check", &["POST /projects/{project}/sources/validate", "validate_memory"]),
    ("POST", "/console/sources/forget", &["forget"]),
    ("POST", "/console/sources/restore", &["POST /projects/{project}/sources/restore"]),
    ("GET", "/console/workspaces", &["GET /projects/{project}/workspaces", "GET /projects/{project}/standing"]),
    ("POST", "/console/workspaces/delete", &["DELETE /projects/{project}/workspaces/{workspace}"]),
    ("POST", "/console/workspaces/restore", &["POST /projects/{project}/workspaces/{workspace}/restore"]),
    ("GET", "/console/keys", &["GET /projects/{project}/keys", "GET /me/keys"]),
    ("POST", "/console/keys", &["POST /projects/{project}/keys", "POST /projects/{project}/links"]),
    ("POST", "/console/keys/{key}", &["PATCH /keys/{key}"]),
    ("POST", "/console/keys/{key}/revoke", &["DELETE /keys/{key}"]),
    (
        "GET",
        "/console/connections",
        &["GET /projects/{project}/connections", "GET /projects/{project}/console-sessions"],
    ),
    ("POST", "/console/connections/{connection}/end", &["DELETE /connections/{connection}"]),
    (
        "POST",
        "/console/connections/browsers/{console_session}/end",
        &["DELETE /projects/{project}/console-sessions/{console_session}"],
    ),
    ("GET", "/console/people", &["GET /accounts/{account}/members", "GET /accounts/{account}/departments"]),
    ("POST", "/console/people", &["POST /accounts/{account}/members"]),
    ("POST", "/console/people/invite", &["POST /accounts/{account}/invitations"]),
    ("POST", "/console/people/{member}", &["PATCH /accounts/{account}/members/{member}"]),
    ("POST", "/console/people/{member}/remove", &["DELETE /accounts/{account}/members/{member}"]),
    ("POST", "/console/departments", &["POST /accounts/{account}/departments"]),
    ("POST", "/console/departments/{department}", &["PATCH /accounts/{account}/departments/{department}"]),
    ("POST", "/console/departments/{department}/remove", &["DELETE /accounts/{account}/departments/{department}"]),
    ("GET", "/console/moving", &["GET /projects/{project}/workspaces"]),
    ("GET", "/console/moving/export", &["GET /projects/{project}/export"]),
    ("POST", "/console/moving/import", &["POST /projects/{project}/import"]),
    ("GET", "/console/projects", &["GET /accounts/{account}/projects"]),
    ("POST", "/console/projects", &["POST /accounts/{account}/projects"]),
    ("POST", "/console/projects/key", &["POST /projects/{project}/keys"]),
    ("GET", "/console/integrations", &["GET /projects/{project}/integrations"]),
    ("POST", "/console/integrations", &["PUT /projects/{project}/integrations/{integration}"]),
    ("POST", "/console/integrations/names", &["PUT /projects/{project}/tool-names"]),
    ("GET", "/console/integrations/{integration}", &["GET /projects/{project}/integrations/{integration}"]),
    ("POST", "/console/integrations/{integration}/change", &["PUT /projects/{project}/integrations/{integration}"]),
    ("POST", "/console/integrations/{integration}/test", &["POST /projects/{project}/integrations/{integration}/test"]),
    (
        "POST",
        "/console/integrations/{integration}/accept",
        &["POST /projects/{project}/integrations/{integration}/accept"],
    ),
    ("POST", "/console/integrations/{integration}/leave-out", &["PUT /projects/{project}/integrations/{integration}"]),
    ("POST", "/console/integrations/{integration}/enable", &["PUT /projects/{project}/integrations/{integration}"]),
    ("POST", "/console/integrations/{integration}/remove", &["DELETE /projects/{project}/integrations/{integration}"]),
    ("GET", "/console/sessions", &["GET /projects/{project}/sessions"]),
    ("POST", "/console/sessions/{session}/delete", &["DELETE /projects/{project}/sessions/{session}"]),
    ("GET", "/console/usage", &["GET /projects/{project}/usage"]),
    ("GET", "/console/usage/csv", &["GET /projects/{project}/usage"]),
    ("GET", "/console/audit", &["GET /accounts/{account}/audit"]),
    ("GET", "/console/audit/csv", &["GET /accounts/{account}/audit"]),
    ("GET", "/console/guard", &["GET /accounts/{account}/guard", "GET /accounts/{account}/guard/rejections"]),
    ("POST", "/console/guard/release", &["POST /projects/{project}/guard/releases"]),
    ("GET", "/console/connect", &["GET /me/keys"]),
    ("GET", "/console/connect/seen", &["GET /me/keys"]),
    ("GET", "/console/operator", &["GET /accounts", "GET /plans", "GET /nodes"]),
    ("POST", "/console/operator/accounts", &["POST /accounts"]),
    ("POST", "/console/operator/accounts/{account}/plan", &["PUT /accounts/{account}/subscription"]),
    ("POST", "/console/operator/accounts/{account}/suspension", &["PUT /accounts/{account}/suspension"]),
    // A browser's own session, its looks, and a key that waits behind a link.
    ("GET", "/console", &[]),
    ("GET", "/console/", &[]),
    ("GET", "/console/assets/{file}", &[]),
    ("GET", "/console/sign-in", &[]),
    ("POST", "/console/sign-in", &[]),
    ("POST", "/console/sign-out", &[]),
    ("POST", "/console/theme", &[]),
    ("POST", "/console/projects/switch", &[]),
    ("GET", "/console/link/{code}", &[]),
    ("POST", "/console/link/{code}", &[]),
];

#[test]
fn whatever_the_console_does_a_program_can_do_too() {
    let mut routes = without_memory(mnemon_server::console_route_table());
    let mut named: Vec<(&str, String)> = BESIDE.iter().map(|(method, path, _)| (*method, (*path).to_owned())).collect();
    routes.sort();
    named.sort();
    assert_eq!(named, routes, "every route of the console has a row above");
    let api = without_memory(mnemon_server::admin_route_table());
    let mut known: Vec<String> =
        api.iter().map(|(method, path)| format!("{method} {}", path.trim_start_matches("/admin/v1"))).collect();
    known.extend(mnemon_server::tool_descriptions().iter().map(|tool| tool.name.clone()));
    for (method, path, ways) in BESIDE {
        for way in *ways {
            assert!(known.iter().any(|known| known == way), "{method} {path}: there is no {way}");
        }
    }
}
