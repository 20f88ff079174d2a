//! A home with sessions of both clients in it.

pub(super) use mnemon_testkit::transcripts::{claude, codex};

use super::process::Home;

/// Puts some sessions of both kinds into a home.
pub(super) fn fill(home: &Home, sessions: usize, turns: usize) {
    let cwd = home.path().join("shop");
    std::fs::create_dir_all(&cwd).expect("a folder");
    let cwd = cwd.to_string_lossy().into_owned();
    for n in 0..sessions as u64 {
        home.write(&format!(".claude/projects/-home-shop/0000000{n}-aaaa.jsonl"), claude(&cwd, turns, n));
        home.write(
            &format!(".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-0{n}-bbbb.jsonl"),
            codex(&cwd, turns, n),
        );
    }
}
