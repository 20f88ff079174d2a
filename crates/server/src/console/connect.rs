//! Connecting an assistant: what to paste into each client, and a light that shows the first call.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mnemon_engine::admin::AdminError;
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::KeyRow;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::page;
use super::parts as p;
use super::people::CHOICES_MAX;
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
    /// A link that opens the client and sets it up, with its words.
    opens: Option<(String, &'static str)>,
    /// The file in which a client looks for rules.
    rules_file: Option<&'static str>,
    check: String,
    manages: bool,
    /// The keys that a call can be waited for by, and the chosen one.
    keys: Vec<(String, String, bool)>,
    light: Option<Light>,
}

/// Whether the chosen key was seen.
struct Light {
    ask: String,
    look_again: String,
    is_on: bool,
    title: String,
    text: String,
}

/// What is pasted, and where.
struct Snippet {
    place: &'static str,
    text: String,
}

/// The clients, by their name in the address.
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
    visit.show(build(&visit, &fields).await)
}

/// `GET /console/connect/seen`: what the light asks every two seconds.
pub(super) async fn seen(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    let keys = match living(&visit).await {
        Ok(keys) => keys,
        Err(error) => return visit.trouble(&error),
    };
    let Some(key) = chosen(&visit, &keys, fields.find("key")) else {
        return visit.trouble(&ConsoleError::Admin(AdminError::NotFound("key")));
    };
    let told = json!({"at": key.seen_at.map(|at| at.to_string()), "title": ON, "text": words(&visit, key)});
    page::data(&told)
}

const ON: &str = "First call seen";

/// The keys that this person sees, newest first.
async fn living(visit: &Visit) -> Result<Vec<KeyRow>, ConsoleError> {
    let keys = visit.engine().list_keys(&visit.visitor.admin, visit.project()?).await?;
    let mut keys: Vec<KeyRow> = keys.into_iter().map(|shown| shown.key).collect();
    keys.retain(|key| key.revoked_at.is_none() && key.expires_at.is_none_or(|end| visit.now < end));
    keys.reverse();
    Ok(keys)
}

/// The key that was asked for, else the newest of one's own.
fn chosen<'a>(visit: &Visit, keys: &'a [KeyRow], asked: Option<&str>) -> Option<&'a KeyRow> {
    let own = visit.me.as_ref().map(|me| me.credential.member);
    match asked {
        Some(asked) => keys.iter().find(|key| key.id.to_string() == asked),
        None => keys.iter().find(|key| Some(key.member) == own).or_else(|| keys.first()),
    }
}

fn label(key: &KeyRow) -> String {
    let name = key.label.clone().unwrap_or_else(|| "without a label".to_owned());
    match &key.hint {
        Some(hint) => format!("{name}, mnm_…{hint}"),
        None => name,
    }
}

/// Who called, and when.
fn words(visit: &Visit, key: &KeyRow) -> String {
    let Some(at) = key.seen_at else { return "Start the client. This page looks every two seconds.".to_owned() };
    let client = key.seen_client.as_ref().map(|client| format!("{client}, ")).unwrap_or_default();
    format!("{client}by “{}”, {}.", label(key), p::distance(at, visit.now))
}

fn light(visit: &Visit, client: &str, key: &KeyRow) -> Light {
    Light {
        ask: format!("{PATH}/seen?key={}", key.id),
        look_again: format!("{PATH}?client={client}&key={}", key.id),
        is_on: key.seen_at.is_some(),
        title: if key.seen_at.is_some() {
            ON.to_owned()
        } else {
            format!("Waiting for a first call by “{}” …", label(key))
        },
        text: words(visit, key),
    }
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let keys = living(visit).await?;
    let key = chosen(visit, &keys, fields.find("key"));
    let url = visit.shared().issuer.resource();
    let asked = fields.find("client").unwrap_or_default();
    let client = CLIENTS.iter().map(|(name, _)| *name).find(|name| *name == asked).unwrap_or(CLIENTS[0].0);
    let with_key = fields.find("key").and(key).map(|key| format!("&key={}", key.id)).unwrap_or_default();
    Ok(Page {
        shell: Shell::new(visit, Place::Connect, "Connect"),
        tabs: CLIENTS.map(|(name, word)| (format!("{PATH}?client={name}{with_key}"), word, name == client)).into(),
        snippet: snippet(client, url),
        opens: opens(client, url),
        rules_file: rules_file(client),
        check: curl(url),
        manages: visit.manages() && visit.may_write(),
        keys: keys
            .iter()
            .take(CHOICES_MAX)
            .map(|own| (own.id.to_string(), label(own), key.is_some_and(|key| key.id == own.id)))
            .collect(),
        light: key.map(|key| light(visit, client, key)),
    })
}

fn curl(url: &str) -> String {
    format!(
        "curl -s {url} -H \"Authorization: Bearer $MNEMON_API_KEY\" \\\n  -H 'Content-Type: application/json' -d \
         '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{}}}}'"
    )
}

/// A link never carries a key: Cursor reads the variable, VS Code asks for it.
fn opens(client: &str, url: &str) -> Option<(String, &'static str)> {
    let entry = |key: &str| json!({"url": url, "headers": {"Authorization": format!("Bearer {key}")}});
    match client {
        "cursor" => {
            let config = BASE64_STANDARD.encode(entry("${env:MNEMON_API_KEY}").to_string());
            let config = utf8_percent_encode(&config, NON_ALPHANUMERIC);
            let link = format!("cursor://anysphere.cursor-deeplink/mcp/install?name=mnemon&config={config}");
            Some((link, "Open in Cursor"))
        }
        "vscode" => {
            let asked = json!([{"type": "promptString", "id": "mnemon-key", "description": "API key (mnm_…)", "password": true}]);
            let mut server = entry("${input:mnemon-key}");
            server["name"] = json!("mnemon");
            server["type"] = json!("http");
            server["inputs"] = asked;
            let server = server.to_string();
            Some((format!("vscode:mcp/install?{}", utf8_percent_encode(&server, NON_ALPHANUMERIC)), "Open in VS Code"))
        }
        _ => None,
    }
}

fn rules_file(client: &str) -> Option<&'static str> {
    match client {
        "claude-code" => Some("CLAUDE.md"),
        "codex" => Some("AGENTS.md"),
        "cursor" => Some(".cursor/rules"),
        "vscode" => Some(".github/copilot-instructions.md"),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_sets_a_client_up_without_a_key_in_it() {
        let url = "https://memory.example.com/mcp";
        let (cursor, _) = opens("cursor", url).expect("a link");
        let (head, config) = cursor.split_once("&config=").expect("a configuration");
        assert_eq!(head, "cursor://anysphere.cursor-deeplink/mcp/install?name=mnemon");
        let config = percent_encoding::percent_decode_str(config).decode_utf8().unwrap();
        let config: serde_json::Value = serde_json::from_slice(&BASE64_STANDARD.decode(&*config).unwrap()).unwrap();
        let headers = json!({"Authorization": "Bearer ${env:MNEMON_API_KEY}"});
        assert_eq!(config, json!({"url": url, "headers": headers}));

        let (code, _) = opens("vscode", url).expect("a link");
        let server = code.strip_prefix("vscode:mcp/install?").expect("the address of VS Code");
        let server = percent_encoding::percent_decode_str(server).decode_utf8().unwrap();
        let server: serde_json::Value = serde_json::from_str(&server).unwrap();
        assert_eq!((&server["name"], &server["type"], &server["url"]), (&json!("mnemon"), &json!("http"), &json!(url)));
        assert_eq!(server["headers"]["Authorization"], format!("Bearer ${{input:{}}}", "mnemon-key"));
        assert_eq!(server["inputs"][0]["password"], true);
        assert!(opens("codex", url).is_none());
    }
}
