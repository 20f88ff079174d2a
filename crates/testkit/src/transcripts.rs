//! Transcripts that look like real work: generated from a seed, in the formats of both clients.

use std::fmt::Write;

use serde_json::{Value, json};

/// A Claude Code session of some turns.
pub fn claude(cwd: &str, turns: usize, seed: u64) -> String {
    let mut text = format!("{}\n", json!({"type": "summary", "summary": "An earlier talk", "leafUuid": "x"}));
    for turn in 0..turns {
        let n = seed.wrapping_mul(31).wrapping_add(turn as u64);
        let at = format!("2026-11-02T10:{:02}:00Z", turn % 60);
        let mut say = |kind: &str, content: Value| {
            let message = json!({"role": kind, "content": content, "usage": {"input_tokens": n}});
            let line = json!({"type": kind, "sessionId": format!("s-{seed}"), "cwd": cwd, "timestamp": at, "message": message});
            let _ = writeln!(text, "{line}");
        };
        let asked = "the build is red — für immer? 🚦 ".repeat((n % 9) as usize);
        say("user", json!(format!("Please look at module {n}: {asked}")));
        let file = format!("{cwd}/src/m{n}.rs");
        let call = json!({"type": "tool_use", "id": format!("t{n}"), "name": "Read", "input": {"file_path": file, "limit": n}});
        let thought = json!({"type": "thinking", "thinking": "quietly", "signature": "x"});
        say("assistant", json!([thought, {"type": "text", "text": format!("I will read {file}")}, call]));
        let output: String = (0..(n % 120)).map(|row| format!("{row}\tlet value_{row} = {n};\n")).collect();
        say("user", json!([{"type": "tool_result", "tool_use_id": format!("t{n}"), "content": output}]));
        let _ = writeln!(text, "{}", json!({"type": "system", "subtype": "turn_duration", "durationMs": n}));
    }
    text
}

/// A Codex session of some turns.
pub fn codex(cwd: &str, turns: usize, seed: u64) -> String {
    let mut text = String::new();
    let mut line = |kind: &str, payload: Value| {
        let _ = writeln!(text, "{}", json!({"timestamp": "2026-11-02T10:00:00Z", "type": kind, "payload": payload}));
    };
    line("session_meta", json!({"id": format!("c-{seed}"), "cwd": cwd, "instructions": "You are an agent"}));
    for turn in 0..turns {
        let n = seed.wrapping_mul(17).wrapping_add(turn as u64);
        let said = |role: &str, text: String| json!({"type": "message", "role": role, "content": [{"type": "text", "text": text}]});
        let arguments = json!({"command": ["ls", cwd]}).to_string();
        let output = format!("file_{n}.rs\n").repeat((n % 50) as usize);
        line("response_item", said("user", format!("Step {n}, please")));
        line("response_item", json!({"type": "reasoning", "summary": [{"text": "private"}]}));
        line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": n.to_string()}),
        );
        line("response_item", json!({"type": "function_call_output", "call_id": n.to_string(), "output": output}));
        line("event_msg", json!({"type": "token_count", "info": {"total": n}}));
        line("response_item", said("assistant", "Done.".to_owned()));
    }
    text
}
