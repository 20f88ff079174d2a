//! Requests that are huge, deep, repeated or broken: each is refused with its own message, costs hardly any memory and
//! stores nothing. Unusual but valid texts come back byte for byte.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use mnemon_core::CONTENT_BYTES_MAX;
use mnemon_testkit::faults::Service;
use mnemon_testkit::process::{resident_bytes, resident_peak_bytes};
use mnemon_testkit::wire::{CallFailed, Wire};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Setup;
use super::outcome::Outcome;
use crate::load::Texts;

const HUGE_BYTES: usize = 100 << 20;
const GROWTH_MAX: u64 = 16 << 20;
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

struct Bad {
    name: &'static str,
    headers: String,
    body: Vec<u8>,
    /// How often the body's bytes are repeated.
    times: usize,
}

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let rounds = setup.rounds(3);
    let (program, _scratch) = setup.program()?;
    let service = program.start().await?;
    let mut wire = service.connect().await?;
    // Once before: what the first call of a kind allocates is not a cost of the bad input.
    wire.call("remember", &json!({"content": "a first record"})).await.map_err(|failed| said(&failed))?;
    wire.call("search", &json!({"query": "record"})).await.map_err(|failed| said(&failed))?;
    let before = resident_bytes(service.pid)?;
    let (mut accepted, mut peak) = (Vec::new(), before);
    let mut most_expensive = "";
    let kinds = bad_requests();
    for _ in 0..rounds {
        for bad in &kinds {
            let status = send(&service, bad).await?;
            if !(400..500).contains(&status) {
                accepted.push(format!("{}: {status}", bad.name));
            }
            let resident = resident_peak_bytes(service.pid)?;
            if resident > peak {
                (peak, most_expensive) = (resident, bad.name);
            }
        }
    }
    let texts = strange_texts(&mut wire).await?;
    let stored = wire.call("search", &json!({"query": "smuggled"})).await.map_err(|failed| said(&failed))?;
    let smuggled = stored["result"].as_array().map_or(0, Vec::len);
    let panics = service.log().matches("panicked").count();
    let growth = peak - before;
    Ok(Outcome::new("inputs", rounds)
        .must(accepted.is_empty(), format!("{} kinds refused with 4xx{}", kinds.len(), exceptions(&accepted)))
        .must(smuggled == 0, format!("{smuggled} stored"))
        .must(growth <= GROWTH_MAX, format!("memory at most +{} KiB, last raised by: {most_expensive}", growth >> 10))
        .must(panics == 0, format!("{panics} panics"))
        .must(texts.changed.is_empty(), format!("changed on their way: {:?}", texts.changed))
        .must(
            texts.same > 0,
            format!("{} unusual texts came back unchanged, {:?} were refused", texts.same, texts.refused),
        ))
}

fn exceptions(accepted: &[String]) -> String {
    if accepted.is_empty() { String::new() } else { format!(" but {}", accepted.join(", ")) }
}

fn said(failed: &CallFailed) -> anyhow::Error {
    anyhow::anyhow!("{failed:?}")
}

fn bad_requests() -> Vec<Bad> {
    let call = |content: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"remember","arguments":{{"content":"smuggled {content}"}}}}}}"#
        )
    };
    let bad = |name, body: Vec<u8>| Bad { name, headers: String::new(), body, times: 1 };
    let mut invalid = call("text").into_bytes();
    let inside = invalid.len() - 8;
    invalid[inside] = 0xff;
    let mut keys = String::from("{\"jsonrpc\":\"2.0\"");
    for key in 0..60_000 {
        // Writing to a string can't fail.
        let _ = write!(keys, ",\"k{key}\":{key}");
    }
    let gzip = Bad {
        name: "compressed",
        headers: "content-encoding: gzip\r\n".to_owned(),
        body: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0],
        times: 1,
    };
    vec![
        Bad { name: "huge", headers: String::new(), body: vec![b'['; 1 << 20], times: HUGE_BYTES >> 20 },
        bad("deep", "[".repeat(900_000).into_bytes()),
        bad("many keys", (keys + "}").into_bytes()),
        bad("many numbers", format!("[{}1]", "1,".repeat(500_000)).into_bytes()),
        bad("many objects", format!("[{}{{}}]", "{\"a\":1},".repeat(125_000)).into_bytes()),
        gzip,
        bad("repeated key", call("text").replace("\"id\":1", "\"id\":1,\"id\":2").into_bytes()),
        bad("invalid UTF-8", invalid),
        bad("lone surrogate", call("\\ud800 text").into_bytes()),
        bad("batch", format!("[{}]", call("text")).into_bytes()),
        bad("cut short", call("text").into_bytes()[..60].to_vec()),
        bad("not JSON", b"content=smuggled".to_vec()),
        bad("empty", Vec::new()),
    ]
}

/// Sends a request on its own connection and returns the status of the answer.
async fn send(service: &Service, bad: &Bad) -> Result<u16> {
    let stream = TcpStream::connect(service.address).await?;
    let (mut reading, mut writing) = stream.into_split();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{}content-length: {}\r\n\r\n",
        service.key,
        bad.headers,
        bad.body.len() * bad.times
    );
    let (body, times) = (bad.body.clone(), bad.times);
    let sending = tokio::spawn(async move {
        // The service may hang up on what it does not want to read.
        let _ = writing.write_all(head.as_bytes()).await;
        for _ in 0..times {
            if writing.write_all(&body).await.is_err() {
                break;
            }
        }
        writing
    });
    let mut answer = vec![0; 4096];
    let read = tokio::time::timeout(ANSWER_WITHIN, reading.read(&mut answer)).await??;
    sending.abort();
    let text = String::from_utf8_lossy(&answer[..read]);
    ensure!(text.starts_with("HTTP/1.1 "), "{}: no answer", bad.name);
    Ok(text[9..12].parse()?)
}

#[derive(Default)]
struct Seen {
    same: usize,
    /// The guard may refuse what hides words; it must not change them.
    refused: Vec<&'static str>,
    changed: Vec<&'static str>,
}

/// A text of exactly as many bytes as a record may have.
fn longest() -> String {
    let texts = Texts::new(1);
    let mut text = String::from("zqlongest");
    for number in 0_u64.. {
        let next = texts.text(number);
        if text.len() + 1 + next.len() > CONTENT_BYTES_MAX {
            break;
        }
        text.push(' ');
        text.push_str(&next);
    }
    text.push_str(&" ".repeat(CONTENT_BYTES_MAX - 1 - text.len()));
    text.push('.');
    text
}

/// Saves texts that are easily damaged, and searches for them.
async fn strange_texts(wire: &mut Wire) -> Result<Seen> {
    let texts = [
        ("quotes", "zqquotes says \"yes\" \\ no / maybe \u{8}\u{c}\n\r\t".to_owned()),
        ("controls", "zqcontrols \u{1}\u{1f}\u{7f}\u{85}".to_owned()),
        ("separators", "zqseparators one\u{2028}two\u{2029}three\u{a0}four".to_owned()),
        ("invisible", "zqinvisible one\u{feff}two\u{200b}three\u{202e}four".to_owned()),
        ("emoji", "zqemoji 👩‍👩‍👧‍👦 🏳️‍🌈 \u{1f1e9}\u{1f1ea}".to_owned()),
        ("combining", "zqcombining e\u{301} \u{e9} a\u{30a}\u{327} ﬁ".to_owned()),
        ("planes", "zqplanes \u{10ffff} \u{fffd} \u{ffff} 𝔘𝔫𝔦".to_owned()),
        ("scripts", "zqscripts שלום عليكم 你好 こんにちは สวัสดี".to_owned()),
        ("longest", longest()),
    ];
    let mut seen = Seen::default();
    for (name, text) in texts {
        let saved = match wire.call("remember", &json!({"content": text})).await {
            Ok(saved) => saved,
            Err(CallFailed::Refused { .. }) => {
                seen.refused.push(name);
                continue;
            }
            Err(failed) => return Err(said(&failed)),
        };
        let found =
            wire.call("search", &json!({"query": format!("zq{name}")})).await.map_err(|failed| said(&failed))?;
        let hits = found["result"].as_array().cloned().unwrap_or_default();
        let is_same = hits.iter().any(|hit| hit["id"] == saved["id"] && hit["content"] == json!(text));
        if is_same && saved["content"] == json!(text) {
            seen.same += 1;
        } else {
            seen.changed.push(name);
        }
    }
    Ok(seen)
}
