//! What a verdict and a redaction cost, by length and for texts made to be slow. Measured in CPU time of this thread, so that
//! a busy machine does not count; ratios between lengths show whether the cost is linear.

use std::hint::black_box;

use mnemon_guard::{Field, Guard, redact};
use rustix::time::{ClockId, clock_gettime};

use super::Bar;

const KILO: usize = 1024;
/// How often each text is judged.
const ROUNDS: usize = 5_000;
/// In how many batches.
const BATCHES: usize = 5;

/// Measures and prints; the bars are those that were promised.
pub(super) fn measure() -> Vec<Bar> {
    println!("\n## Speed, µs of CPU per call (p50, p99)\n");
    let mut bars = Vec::new();
    let judge = |text: &str| {
        black_box(Guard::shipped().judge(Field::Content, black_box(text)));
    };
    let short = show("judge, prose, 1 kB", &prose(KILO), judge);
    let long = show("judge, prose, 8 kB", &prose(8 * KILO), judge);
    let longest = show("judge, prose, 16 kB", &prose(16 * KILO), judge);
    bars.push(Bar::micros("judge: p99 at 1 kB", short.p99, 100.0));
    bars.push(Bar::micros("judge: p99 at 8 kB", long.p99, 1_000.0));
    bars.push(Bar::ratio("judge: 16 kB over 8 kB, median", longest.p50 / long.p50, 2.5));
    bars.push(Bar::ratio("judge: 8 kB over 1 kB, median", long.p50 / short.p50, 10.0));
    let mut worst: f64 = 0.0;
    for (name, unit) in HURTFUL {
        let half = show(&format!("judge, {name}, 8 kB"), &repeated(unit, 8 * KILO), judge);
        let full = show(&format!("judge, {name}, 16 kB"), &repeated(unit, 16 * KILO), judge);
        worst = worst.max(full.p99);
        bars.push(Bar::ratio(&format!("judge: {name}, 16 kB over 8 kB, median"), full.p50 / half.p50, 2.8));
    }
    bars.push(Bar::micros("judge: p99 of the worst adversarial 16 kB", worst, 5_000.0));
    let clean = |text: &str| {
        black_box(redact(black_box(text)).count);
    };
    show("redact, prose, 1 kB", &prose(KILO), clean);
    let half = show("redact, prose, 8 kB", &prose(8 * KILO), clean);
    let full = show("redact, prose, 16 kB", &prose(16 * KILO), clean);
    bars.push(Bar::ratio("redact: 16 kB over 8 kB, median", full.p50 / half.p50, 2.5));
    for (name, unit) in HURTFUL_TO_REDACT {
        let half = show(&format!("redact, {name}, 8 kB"), &repeated(unit, 8 * KILO), clean);
        let full = show(&format!("redact, {name}, 16 kB"), &repeated(unit, 16 * KILO), clean);
        bars.push(Bar::ratio(&format!("redact: {name}, 16 kB over 8 kB, median"), full.p50 / half.p50, 2.8));
    }
    bars
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

struct Cost {
    p50: f64,
    p99: f64,
}

fn show(name: &str, text: &str, call: impl Fn(&str)) -> Cost {
    let rounds = if text.len() > 4 * KILO { ROUNDS / 4 } else { ROUNDS };
    // Neighbours on the same core slow down even a thread's own time; the quietest batch shows what the code costs.
    let batches = (0..BATCHES).map(|_| batch(text, rounds / BATCHES, &call));
    let cost = batches.min_by(|a, b| a.p99.total_cmp(&b.p99)).unwrap_or(Cost { p50: 0.0, p99: 0.0 });
    println!("  {name:44} {:9.1} {:9.1}", cost.p50, cost.p99);
    cost
}

fn batch(text: &str, rounds: usize, call: &impl Fn(&str)) -> Cost {
    let mut micros: Vec<f64> = (0..rounds)
        .map(|_| {
            let before = thread_cpu_nanos();
            call(text);
            (thread_cpu_nanos() - before) as f64 / 1_000.0
        })
        .collect();
    micros.sort_by(f64::total_cmp);
    Cost { p50: micros[rounds / 2], p99: micros[rounds * 99 / 100] }
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
