//! What is large: pages end with their bytes, exports wait for their readers, and what nobody reads takes room of its
//! own account only, until its reader is gone.

use std::collections::HashSet;
use std::time::Duration;

use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, TestServerOptions, eventually};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const MIB: usize = 1 << 20;
const RECORD_BYTES: usize = 16_000;

/// As large as a record may be, nearly, and unlike the others.
fn text(n: usize) -> String {
    let line = format!("Log {n}: the harbour master of quay {} noted the tide at mark {}. ", n * 7, n * 13);
    line.repeat(RECORD_BYTES / line.len())
}

/// Saves records with these texts by an import.
async fn save(caller: &Caller, project: &str, texts: impl Iterator<Item = String>) {
    let lines: String = texts.map(|content| json!({"type": "record", "content": content}).to_string() + "\n").collect();
    let bearer = format!("Bearer {}", caller.key);
    let path = format!("/admin/v1/projects/{project}/import");
    let answer = caller.send("POST", &path, &[("authorization", &bearer)], lines).await;
    assert_eq!((answer.status, &answer.json()["refused"]), (200, &json!(0)), "{}", answer.text);
}

struct Harbour {
    server: TestServer,
    organization: Organization,
    caller: Caller,
    operator: Caller,
}

impl Harbour {
    /// A service with room for `large_bytes_max`, and an account with large records.
    async fn open(large_bytes_max: usize, records: usize) -> Self {
        let options = TestServerOptions { large_bytes_max, ..TestServerOptions::default() };
        let server = TestServer::start_with(options).await;
        let organization = server.organization().await;
        let caller = server.member(&organization, MemberSpec::default()).await;
        save(&caller, &organization.project.to_string(), (0..records).map(text)).await;
        let operator = server.operator().await;
        Self { server, organization, caller, operator }
    }

    fn path(&self, rest: &str) -> String {
        format!("/admin/v1/projects/{}{rest}", self.organization.project)
    }

    async fn one_more_key(&self) -> Caller {
        self.server.member(&self.organization, MemberSpec { name: "Ben", ..MemberSpec::default() }).await
    }

    /// A figure of the service.
    async fn figure(&self, series: &str) -> u64 {
        let bearer = format!("Bearer {}", self.operator.key);
        let page = self.operator.send("GET", "/metrics", &[("authorization", &bearer)], "").await.text;
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')).expect("the series");
        line.parse().expect("a whole number")
    }

    async fn large_bytes(&self) -> u64 {
        self.figure("mnemon_large_bytes").await
    }

    /// Sends a request whose first line has no version, and whose other headers and body follow it.
    async fn send(&self, caller: &Caller, request: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4 << 10).expect("the system lets us have a small buffer");
        let address = self.server.url.trim_start_matches("http://").parse().expect("an address");
        let mut stream = socket.connect(address).await.expect("the service accepts");
        let (first, rest) = request.split_once("\r\n").unwrap_or((request, "\r\n"));
        let head = format!("{first} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{rest}", caller.key);
        stream.write_all(head.as_bytes()).await.expect("the service reads");
        stream
    }

    /// Asks for something and reads no more than the first bytes of the answer.
    async fn begin(&self, caller: &Caller, request: &str) -> (TcpStream, String) {
        let mut stream = self.send(caller, request).await;
        let mut answer = vec![0; 1_000];
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut answer)).await;
        let length = read.expect("the service answers").expect("the connection holds");
        (stream, String::from_utf8_lossy(&answer[..length]).into_owned())
    }

    /// A request for a page that nobody reads.
    async fn begin_page(&self) -> TcpStream {
        let (stream, answer) = self.begin(&self.caller, &format!("GET {}", self.path("/records?limit=1000"))).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        stream
    }

    async fn begin_export(&self, caller: &Caller) -> (TcpStream, String) {
        self.begin(caller, &format!("GET {}", self.path("/export"))).await
    }

    async fn status_of_page(&self) -> u16 {
        let bearer = format!("Bearer {}", self.caller.key);
        let answer =
            self.caller.send("GET", &self.path("/records?limit=1000"), &[("authorization", &bearer)], "").await;
        if answer.status == 429 {
            assert_eq!(answer.header("retry-after"), "5");
            assert_eq!(answer.json()["error"], "busy");
        }
        answer.status
    }
}

/// Every page of the records, and the size of each answer.
async fn all_pages(harbour: &Harbour, limit: usize) -> (Vec<Vec<Value>>, Vec<usize>) {
    let (mut pages, mut sizes, mut before) = (Vec::new(), Vec::new(), String::new());
    loop {
        let path = harbour.path(&format!("/records?limit={limit}{before}"));
        let bearer = format!("Bearer {}", harbour.caller.key);
        let answer = harbour.caller.send("GET", &path, &[("authorization", &bearer)], "").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let page = answer.json();
        sizes.push(answer.text.len());
        pages.push(page["records"].as_array().expect("records").clone());
        let Some(next) = page["next"].as_str() else { return (pages, sizes) };
        before = format!("&before={next}");
    }
}

#[tokio::test]
async fn a_page_ends_with_a_mebibyte_and_the_pages_hold_every_record_once() {
    let harbour = Harbour::open(256 * MIB, 150).await;
    let (pages, _) = all_pages(&harbour, 1_000).await;
    let bytes =
        |page: &Vec<Value>| page.iter().map(|record| record["content"].as_str().map_or(0, str::len)).sum::<usize>();
    assert!(pages.len() >= 3, "{}", pages.len());
    assert!(pages.iter().all(|page| bytes(page) <= MIB), "{:?}", pages.iter().map(bytes).collect::<Vec<_>>());
    assert!(bytes(&pages[0]) > MIB - (64 << 10), "and not much less: {}", bytes(&pages[0]));
    let ids: Vec<&str> = pages.iter().flatten().map(|record| record["id"].as_str().expect("an id")).collect();
    assert_eq!((ids.len(), ids.iter().collect::<HashSet<_>>().len()), (150, 150));
    let contents: Vec<&str> = pages.iter().flatten().filter_map(|record| record["content"].as_str()).collect();
    assert!(contents.iter().rev().enumerate().all(|(n, content)| content.trim() == text(n).trim()), "newest first");
    let (small, _) = all_pages(&harbour, 7).await;
    assert_eq!(small.iter().map(Vec::len).max(), Some(7), "a smaller limit still counts");
    assert_eq!(small.concat(), pages.concat());
}

#[tokio::test]
async fn texts_that_json_escapes_make_a_page_shorter_and_lose_no_record() {
    let harbour = Harbour::open(256 * MIB, 0).await;
    let texts = (0..40).map(|n| format!("bell {n} {}", "\u{7}".repeat(15_000)));
    save(&harbour.caller, &harbour.organization.project.to_string(), texts).await;
    let (pages, sizes) = all_pages(&harbour, 1_000).await;
    assert!(sizes.iter().all(|size| *size <= MIB + (128 << 10)), "{sizes:?}");
    assert!(pages.len() > 1, "it is 3.6 MB of JSON");
    let ids: HashSet<&str> = pages.iter().flatten().filter_map(|record| record["id"].as_str()).collect();
    assert_eq!((ids.len(), pages.iter().map(Vec::len).sum::<usize>()), (40, 40));
}

#[tokio::test]
async fn an_export_of_texts_that_json_escapes_is_whole() {
    let harbour = Harbour::open(256 * MIB, 0).await;
    let texts: Vec<String> = (0..40).map(|n| format!("bell {n} {}", "\u{7}".repeat(15_000))).collect();
    save(&harbour.caller, &harbour.organization.project.to_string(), texts.iter().cloned()).await;
    let bearer = format!("Bearer {}", harbour.caller.key);
    let exported = harbour.caller.send("GET", &harbour.path("/export"), &[("authorization", &bearer)], "").await.text;
    let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let contents: Vec<&str> = lines.iter().filter_map(|line| line["content"].as_str()).collect();
    assert_eq!(contents, texts);
    assert_eq!(lines.last().expect("a line")["records"], json!(40));
}

#[tokio::test]
async fn a_third_export_of_a_key_is_refused_until_one_ends() {
    let harbour = Harbour::open(256 * MIB, 120).await;
    let (first, answer) = harbour.begin_export(&harbour.caller).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_second, answer) = harbour.begin_export(&harbour.caller).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, answer) = harbour.begin_export(&harbour.caller).await;
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: "), "{answer}");
    assert!(answer.contains("2 exports of this key are running"), "{answer}");
    let other = harbour.one_more_key().await;
    let (_others, answer) = harbour.begin_export(&other).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "another key has its own: {answer}");
    drop(first);
    let is_free = async || harbour.begin_export(&harbour.caller).await.1.starts_with("HTTP/1.1 200");
    eventually("the key may export again", is_free).await;
}

#[tokio::test]
async fn an_account_has_six_exports_whatever_its_keys_are() {
    let harbour = Harbour::open(256 * MIB, 120).await;
    let mut running = Vec::new();
    for _ in 0..3 {
        let caller = harbour.one_more_key().await;
        for _ in 0..2 {
            let (stream, answer) = harbour.begin_export(&caller).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            running.push(stream);
        }
    }
    let (_, answer) = harbour.begin_export(&harbour.caller).await;
    assert!(answer.contains("6 exports of this account are running"), "{answer}");
    assert_eq!(harbour.figure("mnemon_exports").await, 6);
    assert_eq!(harbour.figure("mnemon_large_refused_total{limit=\"exports\"}").await, 1);
}

#[tokio::test]
async fn exports_that_nobody_reads_hold_the_same_until_their_readers_vanish() {
    let harbour = Harbour::open(256 * MIB, 200).await;
    let exports = [harbour.begin_export(&harbour.caller).await, harbour.begin_export(&harbour.caller).await];
    let each = 512 << 10;
    assert_eq!(harbour.large_bytes().await, 2 * each);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(harbour.large_bytes().await, 2 * each, "they wait for their readers");
    drop(exports);
    eventually("the room is free again", async || harbour.large_bytes().await == 0).await;
    assert_eq!(harbour.figure("mnemon_exports").await, 0);
}

#[tokio::test]
async fn an_account_whose_answers_nobody_reads_waits_alone() {
    // A page is made in 4 MiB, which is the whole share of an account here.
    let harbour = Harbour::open(16 * MIB, 150).await;
    assert_eq!(harbour.figure("mnemon_large_bytes_max").await, 16 * MIB as u64);
    assert_eq!(harbour.status_of_page().await, 200, "at the limit");
    let unread = harbour.begin_page().await;
    let held = harbour.large_bytes().await;
    assert!(
        (MIB as u64..MIB as u64 + (64 << 10)).contains(&held),
        "its own size, and no longer what making it took: {held}"
    );
    assert_eq!(harbour.status_of_page().await, 429, "past it");
    assert_eq!(harbour.figure("mnemon_large_refused_total{limit=\"account\"}").await, 1);
    // What is small needs no room, and others have theirs.
    harbour.caller.remember("the crane is green").await;
    let other = harbour.server.organization().await;
    let neighbour = harbour.server.member(&other, MemberSpec::default()).await;
    save(&neighbour, &other.project.to_string(), (0..3).map(text)).await;
    let listed = neighbour.manage("GET", &format!("/projects/{}/records", other.project), Value::Null).await;
    assert_eq!(listed["records"].as_array().map(Vec::len), Some(3));
    drop(unread);
    eventually("there is room again", async || harbour.status_of_page().await == 200).await;
}

#[tokio::test]
async fn a_reader_who_takes_nothing_loses_the_answer() {
    let harbour = Harbour::open(16 * MIB, 80).await;
    let _unread = harbour.begin_page().await;
    assert!(harbour.large_bytes().await >= MIB as u64);
    eventually("the connection is closed", async || harbour.large_bytes().await == 0).await;
}

#[tokio::test]
async fn a_search_without_room_is_refused_at_the_door() {
    let harbour = Harbour::open(16 * MIB, 150).await;
    let ask = |limit: usize| {
        let arguments = json!({"query": "*", "limit": limit});
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search", "arguments": arguments}})
    };
    let body = ask(50).to_string();
    let request = format!("POST /mcp\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (_unread, answer) = harbour.begin(&harbour.caller, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let held = harbour.large_bytes().await;
    assert!(held > 3 * MIB as u64 / 2, "fifty records, each in two forms: {held}");
    let _page = harbour.begin(&harbour.caller, &request).await;
    let refused = harbour.caller.post(body, &[]).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"), "{}", refused.text);
    assert_eq!((&refused.json()["id"], &refused.json()["error"]["code"]), (&json!(7), &json!(-32603)));
    let few = harbour.caller.post(ask(1).to_string(), &[]).await;
    assert_eq!(few.status, 200, "one record is small");
}

#[tokio::test]
async fn half_a_large_request_takes_room_of_its_own_account() {
    let harbour = Harbour::open(16 * MIB, 0).await;
    // Reckoned at twice its size, two of these fill the share of 4 MiB.
    let half = format!("POST /mcp\r\ncontent-length: {}\r\n\r\n{{", MIB - 8_192);
    let halves = [harbour.send(&harbour.caller, &half).await, harbour.send(&harbour.caller, &half).await];
    eventually("both are waited for", async || harbour.large_bytes().await >= 4 * (MIB - 8_192) as u64 - 4_096).await;
    let (_, answer) = harbour.begin(&harbour.caller, &half).await;
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 5"), "{answer}");
    harbour.caller.remember("what is small passes").await;
    drop(halves);
    eventually("the room is free again", async || harbour.large_bytes().await == 0).await;
}
