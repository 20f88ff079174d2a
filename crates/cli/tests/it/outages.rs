//! A database that is away, frozen, or can't write: what callers, balancers and operators see of it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use mnemon_testkit::faults::nodes::{freeze_server, kill_server, restart_server, synchronous_pair};
use mnemon_testkit::postgres::{Cluster, ClusterOptions};
use serde_json::json;

use crate::operations::{address_of, operator_token, request};
use crate::process::Place;

/// No answer may take longer, whatever storage does.
const ANSWER_MAX: Duration = Duration::from_millis(2_500);
const PATIENCE: Duration = Duration::from_secs(30);

/// A request on a connection of its own: status, body, and how long it took.
fn ask(address: &str, method: &str, path: &str, key: &str, body: &str) -> (u16, String, Duration) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is UTF-8");
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("an answer has a status");
    (status, answer, began.elapsed())
}

fn get(address: &str, path: &str) -> u16 {
    ask(address, "GET", path, "none", "").0
}

fn call(address: &str, key: &str, tool: &str, arguments: &serde_json::Value) -> (u16, String, Duration) {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    ask(address, "POST", "/mcp", key, &body.to_string())
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A node whose output nobody waits for.
struct Node {
    child: Child,
    address: String,
}

impl Node {
    fn start(place: &Place, url: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let address = free.to_string();
        let mut command = place.command(&["serve", "--database", url, "--listen", &address, "--ready-file", "ready"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
        until("the node listens", || TcpStream::connect(&address).is_ok());
        Self { child, address }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_node_waits_for_its_database_says_so_and_starts_when_it_is_there() {
    let (place, cluster) = (Place::new(), Cluster::start(ClusterOptions::default()).expect("PostgreSQL is installed"));
    kill_server(&cluster).expect("it is killed");
    let node = Node::start(&place, &cluster.url("postgres"));
    assert_eq!(get(&node.address, "/health/live"), 200);
    assert_eq!(get(&node.address, "/health/ready"), 503);
    let (status, body, _) = call(&node.address, "mnm_any", "search", &json!({"query": "x"}));
    assert!(status == 503 && body.contains("the service waits for its storage"), "{body}");
    restart_server(&cluster).expect("it starts again");
    until("the node is ready", || get(&node.address, "/health/ready") == 200);
    assert_eq!(get(&node.address, "/health/writable"), 200);
}

#[test]
fn a_node_that_waits_for_its_database_can_be_stopped() {
    let place = Place::new();
    let mut node = Node::start(&place, "postgres://mnemon@127.0.0.1:1/mnemon");
    crate::process::signal(&node.child.id().to_string(), "TERM");
    let began = Instant::now();
    assert!(node.child.wait().expect("it ends").success());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_frozen_database_holds_no_call_longer_than_its_deadline() {
    let (place, cluster) = (Place::new(), Cluster::start(ClusterOptions::default()).expect("PostgreSQL is installed"));
    let service = place.serve(&["--database", &cluster.url("postgres")]);
    let (address, key) = (address_of(&service).to_owned(), service.key());
    let (status, body, _) = call(&address, &key, "remember", &json!({"content": "We deploy on Tuesdays."}));
    assert!(status == 200 && body.contains("searchable"), "{body}");
    freeze_server(&cluster, true).expect("it is frozen");
    let callers: Vec<_> = (0..24)
        .map(|n| {
            let (address, key) = (address.clone(), key.clone());
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100 * n));
                match n % 2 {
                    0 => call(&address, &key, "remember", &json!({"content": format!("Fact number {n}.")})),
                    _ => call(&address, &key, "search", &json!({"query": "deploy"})),
                }
            })
        })
        .collect();
    for caller in callers {
        let (_, body, took) = caller.join().expect("a caller is answered");
        assert!(body.contains("storage is unavailable"), "{body}");
        assert!(took < ANSWER_MAX, "{took:?}: {body}");
    }
    freeze_server(&cluster, false).expect("it goes on");
    let works = || call(&address, &key, "remember", &json!({"content": "We are back."})).1.contains("searchable");
    until("saves work again", works);
    let page = request(&address, "GET", "/metrics", &format!("Bearer {}", operator_token(&service)), "");
    let series = "\nmnemon_tool_calls_total{outcome=\"storage\",tool=\"unknown\"} ";
    let counted = page.split_once(series).and_then(|(_, rest)| rest.lines().next());
    assert!(counted.is_some_and(|count| count != "0"), "calls that ended at their credential count: {page}");
}

#[test]
fn searches_work_and_nodes_start_while_no_standby_confirms_a_save() {
    let (place, other) = (Place::new(), Place::new());
    let (primary, standby) = synchronous_pair().expect("PostgreSQL is installed");
    let service = place.serve(&["--database", &primary.url("postgres")]);
    let (address, key) = (address_of(&service).to_owned(), service.key());
    call(&address, &key, "remember", &json!({"content": "We deploy on Tuesdays."}));
    kill_server(&standby).expect("it is killed");
    let (_, body, took) = call(&address, &key, "remember", &json!({"content": "Nobody confirms this."}));
    assert!(body.contains("storage is unavailable") && took < ANSWER_MAX, "{took:?}: {body}");
    let second = Node::start(&other, &primary.url("postgres"));
    until("a second node starts", || get(&second.address, "/health/ready") == 200);
    for address in [&address, &second.address] {
        let (_, body, _) = call(address, &key, "search", &json!({"query": "deploy"}));
        assert!(body.contains("We deploy on Tuesdays."), "{body}");
        assert_eq!((get(address, "/health/ready"), get(address, "/health/writable")), (200, 503));
    }
    restart_server(&standby).expect("it starts again");
    until("saves work again", || get(&address, "/health/writable") == 200);
}

#[test]
fn a_standby_may_be_promoted_only_if_no_other_has_received_more() {
    let place = Place::new();
    let primary = Cluster::start(ClusterOptions { is_durable: true, ..ClusterOptions::default() }).expect("it starts");
    let (one, two) = (Cluster::standby_of(&primary, "one"), Cluster::standby_of(&primary, "two"));
    let (one, two) = (one.expect("it follows"), two.expect("it follows"));
    let replicas = [one.url("postgres"), two.url("postgres")].join(",");
    let check = |candidate: &Cluster| {
        let url = candidate.url("postgres");
        let mut command = place.command(&["doctor", "--promote", &url, "--database", &primary.url("postgres")]);
        let output = command.env("MNEMON_DATABASE_REPLICAS", &replicas).output().expect("the binary runs");
        crate::process::Done::of(output)
    };
    let early = check(&two);
    assert!(early.code == 1 && early.out.contains("the primary still takes writes"), "{early:?}");
    kill_server(&one).expect("it is killed");
    primary.sql("postgres", "CREATE TABLE acknowledged AS SELECT generate_series(1, 1000)").expect("it is written");
    let position = |server: &Cluster, of: &str| server.sql("postgres", &format!("SELECT {of} - '0/0'::pg_lsn"));
    let written = position(&primary, "pg_current_wal_lsn()").expect("a position");
    until("the standby follows", || position(&two, "pg_last_wal_receive_lsn()").is_ok_and(|at| at == written));
    kill_server(&primary).expect("it is killed");
    let unknown = check(&two);
    assert!(unknown.code == 1 && unknown.out.contains("may have received more"), "{unknown:?}");
    restart_server(&one).expect("it starts again");
    let wrong = check(&one);
    assert!(
        wrong.code == 1 && wrong.out.contains("don't promote") && wrong.out.contains("promote that one"),
        "{wrong:?}"
    );
    let right = check(&two);
    assert!(right.code == 0 && right.out.contains("no other standby has more: promote it"), "{right:?}");
}
