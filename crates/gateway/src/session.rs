//! A session with one upstream: find out which era of the protocol it speaks, then make requests.
//!
//! Over HTTP, the modern way is tried first, because it needs no session; if the upstream does not know it, the legacy
//! handshake follows. Over stdio, the legacy handshake comes first: every program knows it, and some answer nothing
//! before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mnemon_core::JSON_DEPTH_MAX;
use mnemon_protocol::mcp::{LEGACY_DEFAULT, LEGACY_VERSIONS, MODERN_VERSION, meta};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::http::{HttpWire, Mirror, Sent};
use crate::stdio::StdioWire;
use crate::tool::UpstreamTool;
use crate::{ToolResult, UpstreamError};

/// Maximum number of tools per upstream.
pub const TOOLS_MAX: usize = 512;
/// Maximum number of pages of its tool list.
const PAGES_MAX: usize = 32;

pub(crate) enum Wire {
    Http(Box<HttpWire>),
    Stdio(Arc<StdioWire>),
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The negotiated protocol revision.
    pub version: &'static str,
    /// The upstream's name for itself.
    pub server: String,
}

/// A session that has been initialized.
pub(crate) struct Session {
    wire: Wire,
    next_id: AtomicU64,
    pub(crate) hello: Hello,
}

#[derive(Deserialize)]
struct Greeting<'a> {
    #[serde(borrow, rename = "protocolVersion", default)]
    version: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "supportedVersions", default)]
    supported: Vec<String>,
    #[serde(rename = "serverInfo", default)]
    server_info: Value,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

impl Session {
    /// Initializes a session.
    pub(crate) async fn open(wire: Wire) -> Result<Self, UpstreamError> {
        let mut session =
            Self { wire, next_id: AtomicU64::new(1), hello: Hello { version: "", server: String::new() } };
        session.hello = match session.wire {
            Wire::Http(_) => match session.discover().await {
                Ok(hello) => hello,
                Err(error) if may_speak_legacy(&error) => session.initialize().await?,
                Err(error) => return Err(error),
            },
            Wire::Stdio(_) => match session.initialize().await {
                Ok(hello) => hello,
                Err(UpstreamError::Refused { .. }) => session.discover().await?,
                Err(error) => return Err(error),
            },
        };
        Ok(session)
    }

    /// The modern handshake: asks for supported versions and changes nothing.
    async fn discover(&self) -> Result<Hello, UpstreamError> {
        let answer = self.ask_modern("server/discover", Map::new(), None).await?;
        let greeting = read_greeting(&answer)?;
        if !greeting.supported.iter().any(|version| version == MODERN_VERSION) {
            return Err(UpstreamError::refused(-32022, "it does not speak the newest revision"));
        }
        Ok(Hello { version: MODERN_VERSION, server: server_name(&greeting) })
    }

    /// The legacy handshake.
    async fn initialize(&self) -> Result<Hello, UpstreamError> {
        let params = json!({
            "protocolVersion": LEGACY_DEFAULT, "capabilities": {},
            "clientInfo": {"name": "mnemon", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.ask_legacy("initialize", &params).await?;
        let greeting = read_greeting(&answer)?;
        let said = greeting.version.as_deref().unwrap_or_default();
        let version = LEGACY_VERSIONS.into_iter().find(|version| *version == said);
        let version = version.ok_or(UpstreamError::Garbled("it speaks no protocol revision that is supported here"))?;
        let hello = Hello { version, server: server_name(&greeting) };
        let initialized = crate::message::request(None, "notifications/initialized", json!({}));
        match &self.wire {
            Wire::Http(wire) => {
                wire.agree(version);
                wire.send(Sent { id: None, body: initialized, mirror: None }).await?;
            }
            Wire::Stdio(wire) => {
                wire.send(None, &initialized).await?;
            }
        }
        Ok(hello)
    }

    /// Whether it can still be used.
    pub(crate) fn is_alive(&self) -> bool {
        match &self.wire {
            Wire::Http(_) => true,
            Wire::Stdio(wire) => !wire.has_ended(),
        }
    }

    /// Whether a refusal may mean that the upstream has forgotten the session, so that a new handshake would help.
    pub(crate) fn may_be_forgotten(&self, error: &UpstreamError) -> bool {
        let Wire::Http(wire) = &self.wire else { return false };
        let is_refusal = match error {
            UpstreamError::Status { status } => matches!(status, 400 | 404),
            // Servers answer an unknown session with codes of their own.
            UpstreamError::Refused { code, .. } => matches!(code, -32000 | -32001),
            _ => false,
        };
        wire.has_session() && is_refusal
    }

    async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        name: Option<&str>,
    ) -> Result<Box<RawValue>, UpstreamError> {
        if self.hello.version == MODERN_VERSION {
            self.ask_modern(method, params, name).await
        } else {
            self.ask_legacy(method, &params).await
        }
    }

    async fn ask_modern(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        name: Option<&str>,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let described = json!({
            meta::PROTOCOL_VERSION: MODERN_VERSION, meta::CLIENT_CAPABILITIES: {},
            "io.modelcontextprotocol/clientInfo": {"name": "mnemon", "version": env!("CARGO_PKG_VERSION")},
        });
        params.insert("_meta".to_owned(), described);
        self.send(method, &params, Some(Mirror { version: MODERN_VERSION, method, name })).await
    }

    async fn ask_legacy(&self, method: &str, params: &impl Serialize) -> Result<Box<RawValue>, UpstreamError> {
        self.send(method, params, None).await
    }

    async fn send(
        &self,
        method: &str,
        params: &impl Serialize,
        mirror: Option<Mirror<'_>>,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = crate::message::request(Some(id), method, params);
        let answer = match &self.wire {
            Wire::Http(wire) => wire.send(Sent { id: Some(id), body, mirror }).await?,
            Wire::Stdio(wire) => wire.send(Some(id), &body).await?,
        };
        let answer = answer.ok_or(UpstreamError::Garbled("it contains no answer"))?;
        // Clients parse what is passed on, and some parsers recurse as deep as it goes.
        if is_nested_deeper(answer.get(), JSON_DEPTH_MAX) {
            return Err(UpstreamError::TooDeep { depth_max: JSON_DEPTH_MAX });
        }
        Ok(answer)
    }

    /// All tools, page by page.
    pub(crate) async fn list_tools(&self) -> Result<Vec<UpstreamTool>, UpstreamError> {
        #[derive(Deserialize)]
        struct Page {
            tools: Vec<Value>,
            #[serde(rename = "nextCursor", default)]
            next: Option<String>,
        }
        let (mut tools, mut cursor): (Vec<UpstreamTool>, Option<String>) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let params = cursor.iter().map(|cursor| ("cursor".to_owned(), json!(cursor))).collect();
            let answer = self.ask("tools/list", params, None).await?;
            let page: Page =
                serde_json::from_str(answer.get()).map_err(|_| UpstreamError::Garbled("it is not a list of tools"))?;
            for tool in page.tools.into_iter().filter_map(UpstreamTool::parse) {
                // The first tool of a name counts: a second one could only be meant to be mistaken for it.
                if tools.iter().all(|known| known.name() != tool.name()) {
                    tools.push(tool);
                }
                if tools.len() > TOOLS_MAX {
                    return Err(UpstreamError::TooManyTools { tools_max: TOOLS_MAX });
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(UpstreamError::TooManyPages { pages_max: PAGES_MAX })
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Result<ToolResult, UpstreamError> {
        let params = [("name", json!(tool)), ("arguments", json!(arguments))];
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let answer = self.ask("tools/call", params, Some(tool)).await?;
        ToolResult::read(&answer)
    }
}

/// Whatever a legacy upstream may answer to an unknown request. If there is no answer or the credential is wrong,
/// trying the legacy handshake would only fail again.
fn may_speak_legacy(error: &UpstreamError) -> bool {
    matches!(
        error,
        UpstreamError::Refused { .. }
            | UpstreamError::Status { .. }
            | UpstreamError::Garbled(_)
            | UpstreamError::BrokenOff
    )
}

/// Whether a valid JSON text nests lists and objects more than `depth_max` deep.
fn is_nested_deeper(json: &str, depth_max: usize) -> bool {
    let (mut depth, mut is_inside_string, mut is_escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_inside_string,
            b'"' => is_inside_string = !is_inside_string,
            _ if is_inside_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > depth_max {
            return true;
        }
    }
    false
}

fn read_greeting(answer: &RawValue) -> Result<Greeting<'_>, UpstreamError> {
    serde_json::from_str(answer.get()).map_err(|_| UpstreamError::Garbled("its initialize answer can't be read"))
}

fn server_name(greeting: &Greeting<'_>) -> String {
    const CHARS_MAX: usize = 100;
    let info = greeting.meta.get(meta::SERVER_INFO).unwrap_or(&greeting.server_info);
    let part = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{} {}", part("name"), part("version"));
    name.trim().chars().filter(|c| !c.is_control()).take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_counted_outside_of_strings() {
        for (json, depth) in
            [("1", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#"["[[[\"[[", {}]"#, 2), (r#"["\\", []]"#, 2)]
        {
            assert!(!is_nested_deeper(json, depth), "{json}");
            assert!(depth == 0 || is_nested_deeper(json, depth - 1), "{json}");
        }
    }

    #[test]
    fn a_servers_name_is_kept_up_to_its_limit() {
        let shown = |name: &str| {
            let greeting = json!({"serverInfo": {"name": name, "version": ""}}).to_string();
            server_name(&serde_json::from_str(&greeting).unwrap())
        };
        assert_eq!(shown(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(shown(&format!("{}x", "é".repeat(100))), "é".repeat(100));
    }
}
