//! Redaction leaves a real code base alone: this repository's own files are the benign corpus.

use std::fs;
use std::path::{Path, PathBuf};

use mnemon_guard::redact;

#[test]
fn redacting_our_own_sources_and_lock_files_replaces_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 30, "only {} files found", files.len());
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let redacted = redact(&text);
        let changed = text.lines().zip(redacted.text.lines()).find(|(before, after)| before != after);
        assert_eq!(redacted.count, 0, "{}: {:?}", file.display(), changed.map(|(_, after)| after));
    }
}

/// Everything that people write here; build products and data are not.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with(".venv")
            || matches!(&*name, ".git" | "target" | "node_modules" | "mnemon-data" | "assets" | "corpus")
        {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
