//! Connecting an assistant: what to paste into each client.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_engine::console::ConsoleError;

use super::parts as p;
use super::shell::{Place, Shell};
use super::visit::Visit;
use crate::http::Fields;

const PATH: &str = "/console/connect";

#[derive(Template)]
#[template(path = "console/connect.html")]
struct Page<'a> {
    shell: Shell<'a>,
    tabs: Vec<(String, &'static str, bool)>,
    snippet: Snippet,
    check: String,
    manages: bool,
}

/// What is pasted, and where.
struct Snippet {
    place: &'static str,
    text: String,
}

/// The clients, by what stands in the address.
const CLIENTS: [(&str, &str); 7] = [
    ("claude-code", "Claude Code"),
    ("codex", "Codex"),
    ("cursor", "Cursor"),
    ("vscode", "VS Code"),
    ("claude-desktop", "Claude Desktop"),
    ("web", "claude.ai, ChatGPT"),
    ("curl", "curl"),
];

/// `GET /console/connect`
pub(super) async fn show(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields))
}

fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    visit.member()?;
    let url = visit.shared().issuer.resource();
    let asked = fields.find("client").unwrap_or_default();
    let client = CLIENTS.iter().map(|(name, _)| *name).find(|name| *name == asked).unwrap_or(CLIENTS[0].0);
    Ok(Page {
        shell: Shell::new(visit, Place::Connect, "Connect"),
        tabs: CLIENTS.map(|(name, word)| (format!("{PATH}?client={name}"), word, name == client)).into(),
        snippet: snippet(client, url),
        check: curl(url),
        manages: visit.manages() && visit.may_write(),
    })
}

fn curl(url: &str) -> String {
    format!(
        "curl -s {url} -H \"Authorization: Bearer $MNEMON_API_KEY\" \\\n  -H 'Content-Type: application/json' -d \
         '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{}}}}'"
    )
}

fn snippet(client: &str, url: &str) -> Snippet {
    let base = url.trim_end_matches("/mcp");
    let (place, text) = match client {
        "codex" | "cursor" | "vscode" | "claude-desktop" => {
            ("In a terminal", format!("mnemon agent install --client {client} --url {base} --key \"$MNEMON_API_KEY\""))
        }
        "web" => ("As the address of a custom connector; you paste a key on the page that opens", url.to_owned()),
        "curl" => ("In a terminal", curl(url)),
        _ => {
            let header = "--header \"Authorization: Bearer $MNEMON_API_KEY\"";
            ("In a terminal", format!("claude mcp add --transport http -s user mnemon {url} \\\n  {header}"))
        }
    };
    Snippet { place, text }
}
