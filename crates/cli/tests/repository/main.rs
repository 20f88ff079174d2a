//! Rules that can be checked automatically: the paths in the map exist, files do not use each other in circles.

mod circles;
mod faults;
mod packages;

use std::path::{Path, PathBuf};

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

/// Words in backticks that look like the name of a test: a sentence in small letters and underscores.
fn named_tests(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_name = |word: &&str| {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        is_plain && word.matches('_').count() >= 4
    };
    quoted.filter(is_name).collect()
}

#[test]
fn every_claim_of_the_threat_model_names_tests_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/concepts/security.md")).unwrap();
    let named = named_tests(&page);
    assert!(named.len() > 40, "the page names its tests, found only {}", named.len());
    let mut source = String::new();
    visit(&root().join("crates"), &mut |path| source.push_str(&std::fs::read_to_string(path).unwrap()));
    // A test has its attribute on the line before it.
    let is_test = |name: &str| {
        let before = source.split_once(&format!("fn {name}()")).map_or("", |(before, _)| before);
        before.lines().rev().take(2).any(|line| line.trim_start().starts_with("#[") && line.contains("test"))
    };
    let missing: Vec<&&str> = named.iter().filter(|name| !is_test(name)).collect();
    assert!(missing.is_empty(), "docs/concepts/security.md names tests that are not there: {missing:?}");
    let claims = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| claim") && !line.starts_with("| who"));
    let unproven: Vec<&str> =
        claims.filter(|line| !line.starts_with("| ---") && named_tests(line).is_empty()).collect();
    // The table of who is trusted with what makes no claim that a test could prove.
    assert_eq!(unproven.len(), 6, "{unproven:?}");
}

#[test]
fn the_page_of_errors_says_what_the_server_says() {
    let page = std::fs::read_to_string(root().join("docs/reference/errors.md")).unwrap();
    let mut source = String::new();
    visit(&root().join("crates/server/src"), &mut |path| source.push_str(&std::fs::read_to_string(path).unwrap()));
    let (_, table) = page.split_once("## HTTP").unwrap();
    let codes: Vec<&str> =
        table.lines().filter_map(|line| line.split('`').nth(1).filter(|_| line.starts_with("| "))).collect();
    assert!(codes.len() > 15, "the page names the codes, found only {codes:?}");
    for code in codes.iter().filter(|code| !code.starts_with('-')) {
        assert!(source.contains(&format!("\"{code}\"")), "no answer has the code {code}");
    }
    // The endpoint's own texts for faults of storage.
    for text in
        ["storage is unavailable; retry in a few seconds", "storage is full; search still works, but saving needs"]
    {
        assert!(page.contains(text) && source.contains(text), "{text}");
    }
    assert!(
        page.contains("internal error (reference REFERENCE)")
            && source.contains("internal error (reference {reference})")
    );
}

#[test]
fn every_source_file_opens_with_a_sentence() {
    let mut without = Vec::new();
    for folder in ["crates", "bench", "tools"] {
        visit(&root().join(folder), &mut |path| {
            let text = std::fs::read_to_string(path).unwrap();
            if !text.starts_with("//!") {
                without.push(path.to_owned());
            }
        });
    }
    assert!(without.is_empty(), "files without `//!`: {without:?}");
}

/// Every source file of the repository.
fn visit_sources(look: &mut impl FnMut(&Path)) {
    for folder in ["crates", "bench", "tools", "fuzz"] {
        visit(&root().join(folder), look);
    }
}

#[test]
fn no_comment_is_wider_than_the_code_may_be() {
    let settings = std::fs::read_to_string(root().join("rustfmt.toml")).unwrap();
    let width = settings.lines().find_map(|line| line.strip_prefix("max_width = ")).expect("rustfmt has a width");
    let width: usize = width.parse().unwrap();
    let mut wide = Vec::new();
    visit_sources(&mut |path| {
        for (at, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
            if line.trim_start().starts_with("//") && line.chars().count() > width {
                wide.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    });
    assert!(wide.is_empty(), "comments wider than {width} columns: {wide:#?}");
}

/// Words that make a reader decode a sentence: say the number, the caller, the effect.
const RIDDLES: [&str; 4] = ["so many", "whoever", "in vain", "anew"];

/// What persons do and code does not: it returns, reports, finds, ends.
const DONE_BY_PERSONS: [&str; 3] = ["tells", "meets", "rings"];

/// Names of files that did not say what is in them.
const OLD_NAMES: [&str; 24] = [
    "acts",
    "appearance",
    "briefs",
    "company",
    "departure",
    "door",
    "flat",
    "flight",
    "holding_arguments",
    "leaving",
    "ledger",
    "lessons",
    "oversight",
    "rec",
    "seats",
    "survey",
    "surveys",
    "told",
    "together",
    "tower",
    "town",
    "twice",
    "wide",
    "as_known",
];

fn has_one_of(text: &str, riddles: &[&str]) -> bool {
    let words = format!(" {} ", text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " "));
    riddles.iter().any(|riddle| words.contains(&format!(" {riddle} ")))
}

fn comment(line: &str) -> &str {
    line.split_once("// ").or(line.split_once("//! ")).map_or("", |(_, comment)| comment)
}

/// The lines of a file of which a part has one of the words.
fn lines_with(path: &Path, part: fn(&str) -> &str, words: &[&str], found: &mut Vec<String>) {
    for (at, line) in std::fs::read_to_string(path).expect("a source file can be read").lines().enumerate() {
        if has_one_of(part(line), words) {
            found.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
        }
    }
}

#[test]
fn comments_have_no_riddles() {
    let mut found = Vec::new();
    visit_sources(&mut |path| {
        lines_with(path, comment, &RIDDLES, &mut found);
        lines_with(path, comment, &DONE_BY_PERSONS, &mut found);
    });
    assert!(found.is_empty(), "comments to say in plain words: {found:#?}");
}

#[test]
fn no_name_and_no_text_of_a_crate_is_a_riddle() {
    let mut found = Vec::new();
    visit_ending(&root().join("crates"), &["rs", "sql", "html", "toml"], &mut |path| {
        // This file has the list.
        if !path.ends_with("tests/repository/main.rs") {
            lines_with(path, |line| line, &RIDDLES, &mut found);
        }
        let of_source = path.iter().skip_while(|part| *part != "src").filter_map(|part| Path::new(part).file_stem());
        if of_source.filter_map(|name| name.to_str()).any(|name| OLD_NAMES.contains(&name)) {
            found.push(path.display().to_string());
        }
    });
    assert!(found.is_empty(), "names and texts to say in plain words: {found:#?}");
}

#[test]
fn a_module_is_a_file_beside_its_folder() {
    let mut found = Vec::new();
    visit_sources(&mut |path| {
        // Below `tests`, every file at the top is a program of its own.
        let is_of_tests = path.iter().any(|part| part == "tests");
        if path.ends_with("mod.rs") && !is_of_tests {
            found.push(path.to_owned());
        }
    });
    assert!(found.is_empty(), "name these after their module, `x.rs` beside `x/`: {found:?}");
}

/// Every Markdown page that people read.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "llms.txt"]
        .map(|name| root().join(name))
        .into();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
            let path = entry.expect("an entry that can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        let files = links.filter(|target| !target.contains("://") && !target.starts_with('#'));
        let linked = files.map(|target| page.parent().unwrap().join(target.split('#').next().unwrap_or(target)));
        // A page is also named by its path from the root, in backticks.
        let quoted = text.split('`').skip(1).step_by(2);
        let is_page = |word: &&str| word.starts_with("docs/") && word.ends_with(".md") && !word.contains('*');
        let named = quoted.filter(is_page).map(|path| root().join(path));
        for target in linked.chain(named) {
            seen += 1;
            if !target.exists() {
                dead.push(format!("{}: {}", page.display(), target.display()));
            }
        }
    }
    assert!(seen > 50, "the pages link to each other, found only {seen} links");
    assert!(dead.is_empty(), "links that lead nowhere: {dead:#?}");
}

#[test]
fn the_index_of_the_documentation_names_every_page() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    let docs = root().join("docs");
    let names =
        pages().into_iter().filter_map(|page| Some(page.strip_prefix(&docs).ok()?.to_string_lossy().into_owned()));
    let missing: Vec<String> =
        names.filter(|name| name != "README.md" && !index.contains(&format!("]({name})"))).collect();
    assert!(missing.is_empty(), "docs/README.md does not link to {missing:?}");
}

fn visit(folder: &Path, look: &mut impl FnMut(&Path)) {
    visit_ending(folder, &["rs"], look);
}

fn visit_ending(folder: &Path, ends: &[&str], look: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry that can be read").path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            visit_ending(&path, ends, look);
        } else if path.extension().and_then(|end| end.to_str()).is_some_and(|end| ends.contains(&end)) {
            look(&path);
        }
    }
}

/// A row of the map's table of rooms: where the room is, and which rooms it may use.
fn rooms() -> Vec<(String, Vec<String>)> {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map is there");
    let rows = map.lines().filter(|line| line.starts_with("| `") && line.contains("/src` |"));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let mut used = quoted(cells[2]);
        used.sort();
        (quoted(cells[0])[0].trim_end_matches("/src").to_owned(), used)
    })
    .collect()
}

/// Every folder with a crate of ours.
fn rooms_on_disk() -> Vec<String> {
    let below = |parent: &str| {
        let entries = std::fs::read_dir(root().join(parent)).expect("a folder that can be read");
        let names = entries.map(|entry| entry.expect("an entry that can be read").file_name());
        names.map(|name| format!("{parent}/{}", name.display())).collect::<Vec<_>>()
    };
    let mut folders = [below("crates"), below("tools"), vec!["bench".to_owned()]].concat();
    folders.retain(|folder| root().join(folder).join("Cargo.toml").exists());
    folders
}

/// What a manifest uses of this repository; what only its tests use is left out.
fn used_by(manifest: &str) -> Vec<String> {
    let sections = manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or_default();
    let names = sections.lines().filter_map(|line| line.strip_prefix("mnemon-")?.split(['.', ' ', '=']).next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn every_room_uses_exactly_the_rooms_that_the_map_says() {
    let rooms = rooms();
    let told: Vec<&String> = rooms.iter().map(|(folder, _)| folder).collect();
    let folders = rooms_on_disk();
    for folder in &folders {
        assert!(told.contains(&folder), "ARCHITECTURE.md does not name {folder}");
    }
    for (folder, told) in &rooms {
        let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        assert_eq!(used_by(&manifest), *told, "{folder}: its manifest, and what ARCHITECTURE.md says it uses");
    }
}
