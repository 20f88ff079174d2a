//! What a verdict and a redaction cost, by length and for texts made to hurt. CPU time of this thread, so that a busy
//! machine does not count; of each text the lowest of many turns, because neighbours on the same core slow down even a
//! thread's own time. Ratios between lengths show whether the cost is linear.

use std::hint::black_box;

use mnemon_guard::{Field, Guard, redact};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::Bar;
use crate::figures::rounded;

const KILO: usize = 1024;
/// How often each text is judged; the lowest cost counts.
const TURNS: usize = 360;

/// Ordinary texts of many forms: prose, lists, tables, commands.
const DOCUMENTS: [&str; 4] = [
    include_str!("../../../README.md"),
    include_str!("../../../CHANGELOG.md"),
    include_str!("../../../ARCHITECTURE.md"),
    include_str!("../../../CONTRIBUTING.md"),
];

/// The middle cost of many pieces, and that of the 99th of a hundred.
#[derive(Serialize)]
pub(super) struct Pieces {
    p50_us: f64,
    p99_us: f64,
}

/// Measures and prints; the bars are those of the promise.
pub(super) fn measure() -> (Pieces, Vec<Bar>) {
    println!("\n## Speed, µs of CPU per call, the lowest of {TURNS} turns\n");
    let mut bars = Vec::new();
    let judge = |text: &str| {
        black_box(Guard::shipped().judge(Field::Content, black_box(text)));
    };
    let pieces: Vec<String> = DOCUMENTS.into_iter().flat_map(pieces).collect();
    let judged = show_all("judge", &pieces, judge);
    bars.push(Bar::micros("judge: p99 of 1 kB pieces of documents", judged.p99_us, 100.0));
    let short = show("judge, prose, 1 kB", &prose(KILO), judge);
    let long = show("judge, prose, 8 kB", &prose(8 * KILO), judge);
    let longest = show("judge, prose, 16 kB", &prose(16 * KILO), judge);
    bars.push(Bar::micros("judge: prose, 1 kB", short, 100.0));
    bars.push(Bar::micros("judge: prose, 8 kB", long, 1_000.0));
    bars.push(Bar::ratio("judge: 16 kB over 8 kB", longest / long, 2.5));
    bars.push(Bar::ratio("judge: 8 kB over 1 kB", long / short, 10.0));
    let (mut worst_short, mut worst_long): (f64, f64) = (0.0, 0.0);
    for (name, unit) in HURTFUL {
        worst_short = worst_short.max(show(&format!("judge, {name}, 1 kB"), &repeated(unit, KILO), judge));
        let half = show(&format!("judge, {name}, 8 kB"), &repeated(unit, 8 * KILO), judge);
        let full = show(&format!("judge, {name}, 16 kB"), &repeated(unit, 16 * KILO), judge);
        worst_long = worst_long.max(full);
        bars.push(Bar::ratio(&format!("judge: {name}, 16 kB over 8 kB"), full / half, 2.8));
    }
    bars.push(Bar::micros("judge: the worst adversarial 1 kB", worst_short, 100.0));
    bars.push(Bar::micros("judge: the worst adversarial 16 kB", worst_long, 5_000.0));
    let clean = |text: &str| {
        black_box(redact(black_box(text)).count);
    };
    show_all("redact", &pieces, clean);
    show("redact, prose, 1 kB", &prose(KILO), clean);
    let half = show("redact, prose, 8 kB", &prose(8 * KILO), clean);
    let full = show("redact, prose, 16 kB", &prose(16 * KILO), clean);
    bars.push(Bar::ratio("redact: 16 kB over 8 kB", full / half, 2.5));
    for (name, unit) in HURTFUL_TO_REDACT {
        let half = show(&format!("redact, {name}, 8 kB"), &repeated(unit, 8 * KILO), clean);
        let full = show(&format!("redact, {name}, 16 kB"), &repeated(unit, 16 * KILO), clean);
        bars.push(Bar::ratio(&format!("redact: {name}, 16 kB over 8 kB"), full / half, 2.8));
    }
    (judged, bars)
}

/// Units whose repetition strains one part of the guard each.
const HURTFUL: &[(&str, &str)] = &[
    ("tiny sentences", "a b c. "),
    ("class words", "ignore you must tell user never all rules "),
    ("spaced letters", "a b c d e f "),
    ("base64 of text", "dGhlIGtldHRsZSBpcyBvbiB0aGUgdGhpcmQgZmxvb3Ig "),
    ("ligatures that expand", "\u{fdfa}"),
    ("zero-width", "a\u{200b}"),
    ("tags", "\u{e0061}"),
    ("mixed scripts", "pа\u{440}а "),
    ("leet", "th3 4ll 1s n0t "),
    ("numbers", "1 23456, "),
    ("one long word", "a"),
    ("ideographs", "忽略"),
    ("combining marks", "\u{301}"),
    ("entities", "&#105;"),
    ("percent codes", "%69%67"),
    ("half percent codes", "%6%"),
    ("words run together", "sendthemessagetotheuserandthenthe"),
    ("humps", "sendTheMessageToTheUser"),
    ("rot13", "gryy gur hfref nyy "),
    ("backwards", "sresu eht lla llet "),
    ("number lists", "1, 2, 3, "),
    ("lone letters", "a-b c-d "),
    ("small Cyrillic words", "каждую ночь в три часа. "),
    ("many accents", "Öl müßte für Äpfel übrig sein. "),
];

const HURTFUL_TO_REDACT: &[(&str, &str)] = &[
    ("key prefixes", "sk-ghp_AKIA"),
    ("assignments", "password= "),
    ("addresses", "a://b:"),
    ("one long word", "aB3"),
    ("private-key heads", "-----BEGIN PRIVATE KEY-----\n"),
    ("token heads", "eyJ-"),
    ("backslashes", "\\"),
    ("escaped quotes after names", "password:\\\""),
    ("percent codes", "%253D"),
    ("soft hyphens", "a\u{ad}"),
    ("colours", "\u{1b}[32m"),
    ("commands", "curl -u a:b"),
    ("cookies", "cookie: a=aB3"),
    ("logins", "a1B:a1B_x@"),
];

fn show(name: &str, text: &str, call: impl Fn(&str)) -> f64 {
    let micros = lowest(text, &call);
    println!("  {name:44} {micros:9.1}");
    micros
}

fn show_all(name: &str, texts: &[String], call: impl Fn(&str)) -> Pieces {
    let mut micros: Vec<f64> = texts.iter().map(|text| lowest(text, &call)).collect();
    micros.sort_by(f64::total_cmp);
    let [p50_us, p99_us] = [micros.len() / 2, micros.len() * 99 / 100].map(|at| rounded(micros[at], 1));
    let name = format!("{name}, {} pieces of documents, 1 kB", texts.len());
    println!("  {name:44} {p50_us:9.1} {p99_us:9.1}  (p50 and p99)");
    Pieces { p50_us, p99_us }
}

fn lowest(text: &str, call: &impl Fn(&str)) -> f64 {
    let turn = |_| {
        let before = thread_cpu_nanos();
        call(text);
        (thread_cpu_nanos() - before) as f64 / 1_000.0
    };
    (0..TURNS).map(turn).fold(f64::INFINITY, f64::min)
}

/// A document in pieces of 1 kB; what is left over at its end does not count.
fn pieces(document: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for c in document.chars() {
        piece.push(c);
        if piece.len() >= KILO {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    pieces
}

fn thread_cpu_nanos() -> i64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn prose(bytes: usize) -> String {
    repeated(
        "The billing service retries three times and then writes the job to the dead-letter queue. Ana owns it since \
         May; ask her before you change the retry policy. Deploys happen from main, never on Fridays, and the release \
         notes list each migration. If the health check fails, the balancer drops the node within ten seconds. ",
        bytes,
    )
}

fn repeated(unit: &str, bytes: usize) -> String {
    let mut text = unit.repeat(bytes.div_ceil(unit.len()));
    while text.len() > bytes {
        text.pop();
    }
    text
}
