//! Whole documents and everyday lines pass: what people save is not only single sentences.

use std::fs;
use std::path::{Path, PathBuf};

use mnemon_guard::{Field, Guard, Verdict};

/// These describe attacks.
const ABOUT_ATTACKS: &[&str] = &["docs/concepts/guard.md", "docs/concepts/security.md"];

fn check_passes(name: &str, text: &str) {
    let judgement = Guard::shipped().examine(Field::Content, text);
    let above = judgement.score - judgement.caution_from;
    assert_eq!(judgement.verdict, Verdict::Pass, "{name}: {above:+.2} {:?}", judgement.reasons);
}

#[test]
fn the_readme_passes() {
    check_passes("README.md", include_str!("../../../README.md"));
}

#[test]
fn no_document_of_this_repository_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(|f| root.join(f)).into();
    collect(&root.join("docs"), &mut files);
    assert!(files.len() > 10, "only {} documents found", files.len());
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        if !ABOUT_ATTACKS.contains(&name.as_str()) {
            for part in parts(&fs::read_to_string(&file).unwrap()) {
                assert_ne!(Guard::shipped().judge(Field::Content, part), Verdict::Refuse, "{name}");
            }
        }
    }
}

/// A record holds 16 KiB at most, so a longer document is saved in parts.
fn parts(mut text: &str) -> Vec<&str> {
    const PART_BYTES_MAX: usize = 16 * 1024;
    let mut parts = Vec::new();
    while text.len() > PART_BYTES_MAX {
        let mut end = PART_BYTES_MAX;
        while !text.is_char_boundary(end) || text.as_bytes()[end - 1] != b'\n' {
            end -= 1;
        }
        parts.push(&text[..end]);
        text = &text[end..];
    }
    parts.push(text);
    parts
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).expect("the folder of documents exists");
    for path in entries.map(|entry| entry.expect("the folder can be read").path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

#[test]
fn notes_of_a_page_pass() {
    // What the bench of freshness saves, and saves again in a new form.
    for line in include_str!("../../../bench/data/freshness/updates.jsonl").lines() {
        let update: serde_json::Value = serde_json::from_str(line).unwrap();
        for text in ["old", "new"].map(|form| update[form].as_str().unwrap()) {
            assert_ne!(Guard::shipped().judge(Field::Content, text), Verdict::Refuse, "{text}");
        }
    }
}

#[test]
fn lists_of_numbers_pass() {
    for text in [
        "Open ports are 22, 80, 443, 8080 and 8443.",
        "Team sizes: 4, 6, 5, 7.",
        "[1, 2, 3, 4]",
        "7412 8963 1204 5567",
        "Rooms 101, 102, 103, 201, 202 and 203 are booked until 14:30.",
    ] {
        check_passes(text, text);
    }
}

#[test]
fn conversations_pass() {
    for text in [
        "User: can you list the open tickets?\nAssistant: There are two: PAY-12 and OPS-3.\nUser: thanks, show me OPS-3",
        "I'm working on a budget tracker, can you help me to show the JSON answer of GET /users?",
        "[10:42] Ben: could you send me the report?\n[10:43] Ana: sure, I'm on it",
    ] {
        check_passes(text, text);
    }
}

#[test]
fn a_long_page_is_not_more_suspicious_than_its_parts() {
    let paragraph = "## Usage\n\nInstall the tool with `cargo install demo` and run `demo --help`. You must have Rust 1.85 \
                     or later. Set `DEMO_LOG=debug` to see more output.\n\n```rust\nlet client = Client::new();\n\
                     client.send(\"hello\").await?;\n```\n\n| option | meaning |\n| --- | --- |\n| `--port` | 8080 |\n\n";
    check_passes("one paragraph", paragraph);
    check_passes("a page of 16 kB", &paragraph.repeat(16 * 1024 / paragraph.len()));
}
