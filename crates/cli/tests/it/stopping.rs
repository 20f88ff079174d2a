//! Stopping: running requests may finish, idle connections hold nothing up.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::process::{Place, Service, signal};

fn connect(service: &Service) -> TcpStream {
    TcpStream::connect(service.url.trim_start_matches("http://")).expect("the service accepts")
}

fn head(service: &Service, body: &str, more: &str) -> String {
    let key = service.key();
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: mnemon\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n{more}\r\n"
    )
}

fn save(content: &str) -> String {
    let params = json!({"name": "remember", "arguments": {"content": content}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// Reads one answer and leaves the connection as it is.
fn read_answer(stream: &mut BufReader<TcpStream>) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).expect("an answer"), 0, "the connection ended: {head}");
    }
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).expect("a body");
    (head, String::from_utf8(body).expect("UTF-8"))
}

#[test]
fn a_stop_leaves_a_snapshot_of_what_changed() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (url, key) = (service.url.clone(), service.key());
    let import = |from: usize, to: usize| {
        let lines = (from..to)
            .map(|number| format!("{{\"type\":\"record\",\"content\":\"shelf {number} holds box {number}\"}}\n"));
        let count = to - from;
        let text = format!(
            "{{\"type\":\"export\",\"format\":\"mnemon\",\"version\":1}}\n{}{{\"type\":\"end\",\"records\":{count},\"sources\":0}}\n",
            lines.collect::<String>()
        );
        let file = place.write("records.jsonl", &text).display().to_string();
        let done = place.run(&["import", &file, "--url", &url, "--key", &key]);
        assert_eq!(done.code, 0, "{done:?}");
    };
    let search = |url: &str| {
        let done = place.run(&["search", "shelf 7", "--url", url, "--key", &key]);
        assert!(done.out.contains("holds box"), "{done:?}");
    };
    import(0, 2_000);
    search(&url);
    import(2_000, 2_300);
    search(&url);
    assert_eq!(service.stop().code, 0);
    let stored = rusqlite::Connection::open(place.data_dir().join("mnemon.db")).expect("the database");
    let positions = "SELECT s.seq, p.seq FROM snapshot s JOIN project p ON p.id = s.project_id";
    let positions: (i64, i64) =
        stored.query_row(positions, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a snapshot");
    assert_eq!(positions, (2_300, 2_300), "the snapshot is as far as the log");
    drop(stored);
    search(&place.serve(&[]).url);
}

#[test]
fn a_request_that_runs_is_answered_before_the_service_ends() {
    let place = Place::new();
    let mut service = place.serve(&[]);
    let body = save("said while the lights went out");
    let mut stream = BufReader::new(connect(&service));
    let head = head(&service, &body, "expect: 100-continue\r\n");
    stream.get_mut().write_all(head.as_bytes()).expect("the head is sent");
    // The service asks for the body, so the request is running.
    let (interim, _) = read_answer(&mut stream);
    assert!(interim.starts_with("HTTP/1.1 100"), "{interim}");
    signal(&service.pid(), "TERM");
    stream.get_mut().write_all(body.as_bytes()).expect("the body is sent");
    let (head, body) = read_answer(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let saved: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(saved["result"]["isError"], false);
    let ended = service.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let key = service.key();
    let again = place.serve(&[]);
    let found = place.run(&["search", "lights", "--json", "--url", &again.url, "--key", &key]).json();
    assert_eq!(found["result"][0]["id"], saved["result"]["structuredContent"]["id"]);
}

#[test]
fn an_idle_connection_does_not_hold_the_end_up() {
    let place = Place::new();
    for name in ["TERM", "INT"] {
        let mut service = place.serve(&[]);
        let silent = connect(&service);
        let idle = connect(&service);
        let mut idle = BufReader::new(idle);
        idle.get_mut().write_all(b"GET /health/live HTTP/1.1\r\nhost: mnemon\r\n\r\n").expect("sent");
        assert!(read_answer(&mut idle).0.starts_with("HTTP/1.1 200"));
        signal(&service.pid(), name);
        let ended = service.wait();
        assert_eq!(ended.code, 0, "{name}: {}", ended.err);
        assert!(!ended.err.contains("did not finish in time"), "{name}: {}", ended.err);
        drop(silent);
    }
}
