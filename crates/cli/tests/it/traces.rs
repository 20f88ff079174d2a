//! Traces, as a collector receives them: OpenTelemetry's own types read what the service sends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

use crate::process::{Place, Service};

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Takes requests and passes on what came, heads and bodies.
struct Receiver {
    url: String,
    requests: mpsc::Receiver<(String, Vec<u8>)>,
}

impl Receiver {
    fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (tell, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                std::thread::spawn(move || {
                    let mut stream = stream;
                    while let Some(request) = read_request(&mut stream) {
                        let _ = tell.send(request);
                        let _ = stream.write_all(answer.as_bytes());
                    }
                });
            }
        });
        Self { url, requests }
    }

    /// The spans that came until the service has ended, and the head of the first request.
    fn spans(self) -> (String, Vec<Span>) {
        let mut requests: Vec<(String, Vec<u8>)> = Vec::new();
        requests.push(self.requests.recv_timeout(Duration::from_secs(60)).expect("traces arrive"));
        requests.extend(self.requests.try_iter());
        let mut spans = Vec::new();
        for (_, body) in &requests {
            let read = ExportTraceServiceRequest::decode(&body[..]).expect("it is protobuf");
            for resource_spans in read.resource_spans {
                let resource = resource_spans.resource.expect("a resource");
                for name in ["service.name", "service.instance.id"] {
                    assert!(resource.attributes.iter().any(|attribute| attribute.key == name), "{name}: {resource:?}");
                }
                spans.extend(resource_spans.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        (requests.remove(0).0, spans)
    }
}

/// One request with a length, from a connection that may bring more.
fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let ends = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = ends {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.trim().parse::<usize>().expect("a length"));
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        match stream.read(&mut piece) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}

fn call(service: &Service, tool: &str, arguments: &serde_json::Value, more: &str) -> String {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
            .to_string();
    let mut stream = TcpStream::connect(service.url.trim_start_matches("http://")).expect("the service accepts");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: mnemon\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-length: {}\r\n{more}\r\n{body}",
        service.key(),
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => Some(text.clone()),
        Any::IntValue(number) => Some(number.to_string()),
        other => Some(format!("{other:?}")),
    }
}

#[test]
fn a_collector_receives_the_spans_of_each_request() {
    let (place, receiver) = (Place::new(), Receiver::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    let config = format!("[traces]\nendpoint = \"{}/\"\n", receiver.url);
    let config = place.write("mnemon.toml", &config).display().to_string();
    let service = place.serve(&["--config", &config, "--log-level", "trace", "--log-format", "json"]);
    let key = service.key();
    call(&service, "remember", &json!({"content": "canarytext is kept"}), "");
    call(&service, "search", &json!({"query": "canarytext"}), &format!("traceparent: {CALLER}\r\n"));
    call(&service, "validate_memory", &json!({"source_id": "a.md"}), "");
    call(&service, "forget", &json!({"source_id": "a.md"}), "");
    crate::operations::request(crate::operations::address_of(&service), "GET", "/health/ready", "none", "");
    let log = service.stop().err;
    let (head, spans) = receiver.spans();
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    let requests: Vec<&Span> = spans.iter().filter(|span| span.name == "POST /mcp").collect();
    assert_eq!(requests.len(), 4, "{spans:?}");
    assert!(!spans.iter().any(|span| span.name.contains("/health")), "a balancer asks every second: {spans:?}");
    for (request, tool, parts) in [
        (requests[0], "remember", &["look_up", "guard", "store"][..]),
        (requests[1], "search", &["look_up", "index", "rank", "store"][..]),
        (requests[2], "validate_memory", &["look_up", "store"][..]),
        (requests[3], "forget", &["look_up", "store"][..]),
    ] {
        assert_eq!((request.kind, attribute(request, "http.response.status_code").as_deref()), (2, Some("200")));
        assert!(attribute(request, "project.id").is_some() && attribute(request, "account.id").is_some());
        let of_tool = spans.iter().find(|span| span.name == "tool" && span.parent_span_id == request.span_id);
        let of_tool = of_tool.unwrap_or_else(|| panic!("{tool} has a span: {spans:?}"));
        assert_eq!(attribute(of_tool, "mnemon.tool").as_deref(), Some(tool));
        assert_eq!(attribute(of_tool, "mnemon.outcome").as_deref(), Some("ok"));
        for part in parts {
            let found = spans.iter().find(|span| span.name == *part && span.trace_id == request.trace_id);
            let found = found.unwrap_or_else(|| panic!("{tool} has a span {part}: {spans:?}"));
            assert!(found.start_time_unix_nano >= request.start_time_unix_nano, "{found:?}");
            assert!(found.end_time_unix_nano <= request.end_time_unix_nano, "{found:?}");
        }
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&requests[1].trace_id), &CALLER[3..35], "the caller's trace goes on");
    assert_eq!(hex(&requests[1].parent_span_id), &CALLER[36..52]);
    assert!(requests[0].parent_span_id.is_empty() && requests[0].trace_id != requests[1].trace_id);
    let told = format!("{spans:?}");
    assert!(!told.contains("canary") && !told.contains(&key), "no text and no credential: {told}");
    assert!(!log.contains("mnemon_spans"), "spans are not in the log:\n{log}");
}

#[test]
fn a_collector_that_fails_costs_a_line_in_the_log_and_nothing_else() {
    let (place, receiver) = (Place::new(), Receiver::start("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n"));
    let config = place.write("mnemon.toml", &format!("[traces]\nendpoint = \"{}\"\n", receiver.url));
    let service = place.serve(&["--config", &config.display().to_string(), "--log-format", "json"]);
    for _ in 0..3 {
        assert!(call(&service, "search", &json!({"query": ""}), "").starts_with("HTTP/1.1 200"));
    }
    let ended = service.stop();
    assert_eq!(ended.code, 0);
    assert_eq!(ended.err.matches("traces were lost on the way to the collector").count(), 1, "{}", ended.err);
    assert!(ended.err.contains("503"), "{}", ended.err);
}

#[test]
fn an_endpoint_that_is_none_is_told_so() {
    let place = Place::new();
    for wrong in ["localhost:4318", "grpc://localhost:4317", concat!("http://user:", "hunter2@localhost:4318")] {
        let config = place.write("mnemon.toml", &format!("[traces]\nendpoint = \"{wrong}\"\n")).display().to_string();
        let done = place.run(&["config", "check", "--config", &config]);
        assert_eq!(done.code, 1, "{wrong}: {done:?}");
        let told = format!("{}{}", done.out, done.err);
        assert!(told.contains("traces.endpoint must be") && !told.contains("hunter2"), "{told}");
    }
}
