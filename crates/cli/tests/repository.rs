//! Rules that a machine can check: the paths in the map exist, the reference pages match the code.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Text in backticks that looks like a path of this repository.
fn named_paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| word.contains('/') && !word.contains(char::is_whitespace) && !word.starts_with('/');
    quoted.filter(is_path).filter(|word| root().join(first_part(word)).exists()).collect()
}

fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

#[test]
fn every_path_named_in_the_map_exists() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let paths = named_paths(&map);
    assert!(paths.len() > 30, "the map names its rooms, found only {}", paths.len());
    let missing: Vec<&&str> = paths.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

#[test]
fn the_reference_pages_say_what_the_code_says() {
    let checked = Command::new(env!("CARGO_BIN_EXE_mnemon"))
        .args(["reference", "--check", "docs/reference"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn every_source_file_opens_with_a_sentence() {
    let mut without = Vec::new();
    for folder in ["crates", "bench"] {
        visit(&root().join(folder), &mut |path| {
            let text = std::fs::read_to_string(path).unwrap();
            if !text.starts_with("//!") {
                without.push(path.to_owned());
            }
        });
    }
    assert!(without.is_empty(), "files without `//!`: {without:?}");
}

fn visit(folder: &Path, look: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry that can be read").path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            visit(&path, look);
        } else if path.extension().is_some_and(|end| end == "rs") {
            look(&path);
        }
    }
}
