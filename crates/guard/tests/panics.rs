//! No text makes the guard panic, and what it promises holds for every text.
//!
//! The usual run takes a second. A long one: `PROPTEST_CASES=1000000 cargo nextest run --release -p mnemon-guard
//! --test panics`. The pieces are chosen so that random texts reach the code that undoes disguises and cuts secrets.

use mnemon_guard::{Field, Guard, redact};
use proptest::prelude::*;

/// Fragments that lead into the corners: heads of secrets, disguises, markers, broken base64, odd Unicode.
const PIECES: &[&str] = &[
    "-----BEGIN PRIVATE KEY-----",
    "-----END",
    "-----",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9",
    ".",
    "sk-",
    "ghp_",
    "AKIA",
    "://",
    "a:b@",
    "password=",
    "\"token\": \"",
    "secret: '",
    "Bearer ",
    "Authorization: Basic ",
    "SG.",
    "12345678:AA",
    "-us1",
    "8Q~",
    "sig=",
    "&sig=",
    ".atlasv1.",
    "pat",
    "machine a login b password ",
    "[redacted:",
    "]",
    "Private-Lines: 9\n",
    "hooks.slack.com/services/",
    "/api/webhooks/",
    "AAAAAAAAAAAAAAAAAAAAAA%",
    "mnm_",
    "q8Zk2LmX0aVb7Rt5Wy3N",
    "=",
    "==",
    "dGhlIGtldHRsZSBpcyBvbiB0aGUgdGhpcmQgZmxvb3I",
    "i g n o r e",
    "1gn0r3",
    "4",
    "\u{200b}",
    "\u{e0041}",
    "\u{1f3f4}",
    "\u{e007f}",
    "\u{fe0f}",
    "\u{e0141}",
    "\u{202e}",
    "\u{fdfa}",
    "ﬁ",
    "İ",
    "ß",
    "忽略",
    "а",
    "о",
    "é",
    "\u{301}",
    "\0",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "<|im_start|>",
    "[INST]",
    "<!--",
    "ignore",
    "previous",
    "instructions",
    "you",
    "must",
    "'",
    "\\\"",
];

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        2 => "\\PC{0,12}",
        1 => proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
        1 => "[A-Za-z0-9+/=_-]{0,60}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn judging_never_panics_and_examining_agrees(text in any_text()) {
        // `examine` does not catch panics, so a panic fails this test instead of becoming a rejection.
        let judgement = Guard::shipped().examine(Field::Content, &text);
        prop_assert_eq!(judgement.verdict, Guard::shipped().judge(Field::Content, &text));
        prop_assert!(judgement.score.is_finite());
    }

    #[test]
    fn redacting_never_panics_and_twice_is_once(text in any_text()) {
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&once.text, &twice.text);
        prop_assert_eq!(twice.count, 0);
        prop_assert_eq!(once.count, once.kinds.iter().map(|(_, count)| count).sum::<usize>());
    }
}
