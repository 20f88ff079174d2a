//! Our own upstream MCP server on loopback: well-behaved until it is told to play a trick. It speaks HTTP byte by byte,
//! because no HTTP library would play most of these tricks.

mod tricks;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub use self::tricks::Trick;
use self::tricks::reply;

/// Which eras of the protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// The legacy ones, with a session, at this revision.
    Legacy(&'static str),
    Modern,
}

#[derive(Debug, Clone)]
pub struct Recorded {
    pub head: String,
    pub body: Value,
}

impl Recorded {
    /// The value of a header; empty if absent.
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .next()
            .unwrap_or_default()
    }

    pub fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

struct State {
    speaks: Speaks,
    tools: Vec<Value>,
    tools_per_page: usize,
    session_bytes_min: usize,
    on_call: Trick,
    on_list: Trick,
    sessions: u64,
    recorded: Vec<Recorded>,
    credential: Option<String>,
    server_name: String,
}

impl State {
    /// The id of the newest session.
    fn session(&self) -> String {
        let name = format!("session-{}", self.sessions);
        format!("{name:x<width$}", width = self.session_bytes_min)
    }

    /// The page of tools at a cursor, which is the number of tools before it.
    fn page(&self, cursor: &Value) -> Value {
        let from: usize = cursor.as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
        let to = from.saturating_add(self.tools_per_page).min(self.tools.len());
        let mut page = json!({"tools": self.tools[from..to]});
        if to < self.tools.len() {
            page["nextCursor"] = json!(to.to_string());
        }
        page
    }
}

/// The server. It stops on drop.
pub struct TestUpstream {
    pub address: SocketAddr,
    pub url: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

pub fn read_tool(name: &str) -> Value {
    json!({
        "name": name, "title": format!("Reads {name}"), "description": format!("Reads the {name} of something."),
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": true}
    })
}

pub fn write_tool(name: &str) -> Value {
    let mut tool = read_tool(name);
    tool["annotations"]["readOnlyHint"] = json!(false);
    tool
}

impl TestUpstream {
    /// Starts one that speaks a legacy revision and has two tools, `echo` and `write`.
    pub async fn start() -> Self {
        Self::start_speaking(Speaks::Legacy("2025-11-25")).await
    }

    pub async fn start_speaking(speaks: Speaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = Arc::new(Mutex::new(State {
            speaks,
            tools: vec![read_tool("echo"), write_tool("write")],
            tools_per_page: usize::MAX,
            session_bytes_min: 0,
            on_call: Trick::None,
            on_list: Trick::None,
            sessions: 0,
            recorded: Vec::new(),
            credential: None,
            server_name: "test upstream".to_owned(),
        }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move { Conversation { state: shared }.run(stream).await });
            }
        });
        Self { address, url: format!("http://{address}/mcp"), state, task }
    }

    /// From now on, what it does when a tool is called.
    pub fn on_call(&self, trick: Trick) {
        self.state.lock().on_call = trick;
    }

    /// From now on, what it does when its tools are listed.
    pub fn on_list(&self, trick: Trick) {
        self.state.lock().on_list = trick;
    }

    /// From now on, the tools that it has.
    pub fn set_tools(&self, tools: Vec<Value>) {
        self.state.lock().tools = tools;
    }

    /// From now on, how many tools one page of its list has.
    pub fn set_tools_per_page(&self, count: usize) {
        self.state.lock().tools_per_page = count;
    }

    /// From now on, the minimum length of its session ids.
    pub fn set_session_bytes_min(&self, bytes: usize) {
        self.state.lock().session_bytes_min = bytes;
    }

    /// From now on, the whole `Authorization` header that it requires.
    pub fn want_credential(&self, header: &str) {
        self.state.lock().credential = Some(header.to_owned());
    }

    /// What it calls itself, from now on.
    pub fn set_server_name(&self, name: &str) {
        self.state.lock().server_name = name.to_owned();
    }

    pub fn recorded(&self) -> Vec<Recorded> {
        self.state.lock().recorded.clone()
    }

    /// How many tool calls have come so far.
    pub fn calls(&self) -> usize {
        self.state.lock().recorded.iter().filter(|request| request.method() == "tools/call").count()
    }
}

impl Drop for TestUpstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Conversation {
    state: Arc<Mutex<State>>,
}

impl Conversation {
    async fn run(self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut stream = BufReader::new(stream);
        while let Ok(Some(request)) = read_request(&mut stream).await {
            self.state.lock().recorded.push(request.clone());
            if self.answer(&mut stream, &request).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, stream: &mut BufReader<TcpStream>, request: &Recorded) -> io::Result<()> {
        let (speaks, trick, credential) = {
            let state = self.state.lock();
            let trick = match request.method() {
                "tools/call" => state.on_call.clone(),
                "tools/list" => state.on_list.clone(),
                _ => Trick::None,
            };
            (state.speaks, trick, state.credential.clone())
        };
        if credential.is_some_and(|wanted| request.header("authorization") != wanted) {
            return reply(stream, "401 Unauthorized", "", "{}").await;
        }
        if request.body.get("id").is_none() || request.method().is_empty() {
            return reply(stream, "202 Accepted", "", "").await;
        }
        let id = &request.body["id"];
        let is_modern = !request.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null();
        let (session, result) = match (request.method(), speaks, is_modern) {
            ("initialize", Speaks::Legacy(version), _) => {
                let mut state = self.state.lock();
                state.sessions += 1;
                let session = format!("mcp-session-id: {}\r\n", state.session());
                let info = json!({"name": state.server_name, "version": "1"});
                (session, json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}))
            }
            ("server/discover", Speaks::Modern, true) => {
                let info = json!({"io.modelcontextprotocol/serverInfo": {"name": "test upstream", "version": "2"}});
                let versions = json!(["2026-07-28"]);
                (String::new(), json!({"supportedVersions": versions, "capabilities": {"tools": {}}, "_meta": info}))
            }
            ("tools/list", ..) if self.is_known(request, speaks, is_modern) => {
                (String::new(), self.state.lock().page(&request.body["params"]["cursor"]))
            }
            ("tools/call", ..) if self.is_known(request, speaks, is_modern) => (String::new(), echo(&request.body)),
            ("tools/list" | "tools/call", Speaks::Legacy(_), false) => {
                let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "no session"}});
                return reply(stream, "400 Bad Request", "", &error.to_string()).await;
            }
            _ => {
                let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}});
                let status = if speaks == Speaks::Modern { "404 Not Found" } else { "200 OK" };
                return reply(stream, status, "", &error.to_string()).await;
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        trick.play(stream, &session, id, body).await
    }

    /// A modern upstream only needs the description of the request; a legacy one needs its session.
    fn is_known(&self, request: &Recorded, speaks: Speaks, is_modern: bool) -> bool {
        let state = self.state.lock();
        match speaks {
            Speaks::Modern => is_modern && request.header("mcp-method") == request.method(),
            Speaks::Legacy(version) => {
                request.header("mcp-session-id") == state.session()
                    && request.header("mcp-protocol-version") == version
                    && state.on_call != Trick::Forget
            }
        }
    }
}

/// What the tool `echo` returns: its arguments, and some bytes that careless code would change on the way.
fn echo(body: &Value) -> Value {
    let arguments = &body["params"]["arguments"];
    let text = arguments["text"].as_str().unwrap_or("nothing");
    json!({
        "content": [{"type": "text", "text": text}, {"type": "resource_link", "uri": "test://x", "name": "x"}],
        "structuredContent": {"z": 1.0, "a": arguments},
        "isError": arguments["fail"] == json!(true)
    })
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Recorded>> {
    let mut head = String::new();
    loop {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
        if head.ends_with("\r\n\r\n") {
            break;
        }
    }
    let mut recorded = Recorded { head, body: Value::Null };
    let length: usize = recorded.header("content-length").parse().unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    recorded.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(recorded))
}
