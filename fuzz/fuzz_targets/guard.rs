//! Any text: judging and redacting do not panic, and keep what they promise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mnemon_guard::{Field, Guard, redact};

fuzz_target!(|text: &str| {
    // `judge` turns a panic into a rejection; `examine` does not, so that a panic is seen here.
    let judgement = Guard::shipped().examine(Field::Content, text);
    assert_eq!(judgement.verdict, Guard::shipped().judge(Field::Content, text));
    assert!(judgement.score.is_finite());
    let once = redact(text);
    let twice = redact(&once.text);
    assert_eq!(once.text, twice.text, "what was redacted is redacted again");
});
