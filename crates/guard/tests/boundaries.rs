//! A key is found whatever stands before it, however often it was encoded, and however it was broken up by characters
//! that nobody sees; and what only looks like a key stays.

use mnemon_guard::{canary, redact, secret_kinds};
use proptest::prelude::*;

/// JSON in JSON in JSON.
fn encoded(text: &str, times: usize) -> String {
    (0..times).fold(text.to_owned(), |text, _| serde_json::json!({"output": text}).to_string())
}

/// The secret as it stands inside such a text.
fn hidden_in(hidden: &str, times: usize) -> String {
    (0..times).fold(hidden.to_owned(), |hidden, _| {
        let quoted = serde_json::json!(hidden).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    })
}

fn check(kind: &str, text: &str, hidden: &str) {
    let redacted = redact(text);
    assert!(text.contains(hidden), "the test itself hides {kind}: {text}");
    assert!(!redacted.text.contains(hidden), "{kind} shows in {}", redacted.text);
    assert!(redacted.kinds.iter().any(|(found, _)| *found == kind), "{kind}: {:?} in {text}", redacted.kinds);
    assert_eq!(redact(&redacted.text).count, 0, "{kind}: {}", redacted.text);
}

#[test]
fn a_key_of_every_kind_is_found_after_every_boundary() {
    assert!(canary::BOUNDARIES.len() >= 30 && secret_kinds().len() >= 100);
    for (kind, secret) in canary::all() {
        for boundary in canary::BOUNDARIES {
            check(kind, &format!("{boundary}{}", secret.text), &secret.hidden);
            check(kind, &format!("see out{boundary}{}", secret.text), &secret.hidden);
        }
    }
}

#[test]
fn a_key_of_every_kind_is_found_in_json_that_was_encoded_twice() {
    for (kind, secret) in canary::all() {
        for boundary in canary::BOUNDARIES {
            let text = format!("line one{boundary}{}\nline three", secret.text);
            for times in 1..=3 {
                check(kind, &encoded(&text, times), &hidden_in(&secret.hidden, times));
            }
        }
    }
}

#[test]
fn a_key_of_every_kind_is_found_though_invisible_characters_break_it_up() {
    for (kind, secret) in canary::all() {
        for invisible in ['\u{ad}', '\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{e0041}', '\u{fe0f}'] {
            let middle = secret.hidden.len() / 2;
            let broken = format!("{}{invisible}{}", &secret.hidden[..middle], &secret.hidden[middle..]);
            let text = format!("see {} now", secret.text.replace(&secret.hidden, &broken));
            let redacted = redact(&text);
            let half = &secret.hidden[middle..];
            assert!(!redacted.text.contains(half), "{kind} shows in {}", redacted.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_key_after_any_words_and_any_boundary_is_replaced(
        (kind, secret) in proptest::sample::select(canary::all()),
        boundary in proptest::sample::select(canary::BOUNDARIES),
        before in "([a-z]{1,9}[ .,:]{1,2}){0,12}",
        after in "[\"' \n,)]([a-z]{1,9} ){0,6}",
        times in 0..=3_usize,
    ) {
        let text = encoded(&format!("{before}{boundary}{}{after}", secret.text), times);
        let redacted = redact(&text);
        let hidden = hidden_in(&secret.hidden, times);
        prop_assert!(!redacted.text.contains(&hidden), "{} shows in {}", kind, redacted.text);
    }
}
