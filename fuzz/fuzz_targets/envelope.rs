//! Any bytes: reading a request's envelope does not panic, and what is read writes back as JSON that reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mnemon_protocol::json::parse;
use mnemon_protocol::jsonrpc::Incoming;

const DEPTH_MAX: usize = 64;
const VALUES_MAX: usize = 16_384;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = parse(bytes, DEPTH_MAX, VALUES_MAX) else { return };
    let written = serde_json::to_vec(&value).expect("what was read can be written");
    assert_eq!(parse(&written, DEPTH_MAX, VALUES_MAX).ok(), Some(value.clone()));
    let _ = Incoming::from_json(value);
});
