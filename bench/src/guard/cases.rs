//! The texts that the guard is measured with, and where they come from. None of them took part in training.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mnemon_guard_train::data::{CURATED, HOLDOUT, PAGES_IN_LANGUAGES_TEST, Sample, load};
use mnemon_guard_train::pages::{self, PAGE_BYTES_MAX};
use mnemon_guard_train::{chance::Chance, disguise};
use serde::Deserialize;

/// One text, with the row that it is counted in.
pub(super) struct Case {
    pub(super) text: String,
    pub(super) is_malicious: bool,
    /// The row of the table.
    pub(super) kind: String,
    pub(super) source: String,
}

impl Case {
    fn new(text: String, is_malicious: bool, kind: &str, source: &str) -> Case {
        Case { text, is_malicious, kind: kind.to_owned(), source: source.to_owned() }
    }
}

/// The held-out part of the collection. Turns of a conversation and whole transcripts are counted apart.
pub(super) fn held_out(data: &Path) -> Result<Vec<Case>> {
    let of_sample = |sample: Sample| {
        let is_transcript = sample.kind == "chat" && sample.text.to_lowercase().contains("\nassistant:");
        let kind = if is_transcript { "transcript".to_owned() } else { sample.kind.clone() };
        Case { is_malicious: sample.is_malicious(), text: sample.text, kind, source: sample.source }
    };
    Ok(load(data, HOLDOUT)?.into_iter().map(of_sample).collect())
}

/// Texts written by hand when the first version was made.
pub(super) fn curated(data: &Path) -> Result<Vec<Case>> {
    let of_sample = |sample: Sample| {
        let is_malicious = sample.is_malicious();
        Case::new(sample.text, is_malicious, "curated", "curated")
    };
    Ok(load(data, CURATED)?.into_iter().map(of_sample).collect())
}

/// Texts of our own in this repository: those that the guard was tuned with in sight, and three sets that nobody looked
/// at.
pub(super) fn own() -> Vec<Case> {
    const FILES: [(&str, bool, &str); 12] = [
        (include_str!("../../data/guard/everyday.txt"), false, "everyday"),
        (include_str!("../../data/guard/code-comments.txt"), true, "code comment"),
        (include_str!("../../data/guard/triggers.txt"), true, "trigger"),
        (include_str!("../../data/guard/fresh-everyday.txt"), false, "everyday, fresh"),
        (include_str!("../../data/guard/fresh-code-comments.txt"), true, "code comment, fresh"),
        (include_str!("../../data/guard/fresh-triggers.txt"), true, "trigger, fresh"),
        (include_str!("../../data/guard/third-everyday.txt"), false, "everyday, third"),
        (include_str!("../../data/guard/third-code-comments.txt"), true, "code comment, third"),
        (include_str!("../../data/guard/third-triggers.txt"), true, "trigger, third"),
        (include_str!("../../data/guard/fourth-everyday.txt"), false, "everyday, fourth"),
        (include_str!("../../data/guard/fourth-code-comments.txt"), true, "code comment, fourth"),
        (include_str!("../../data/guard/fourth-triggers.txt"), true, "trigger, fourth"),
    ];
    let texts = |(file, is_malicious, kind): (&'static str, bool, &'static str)| {
        let lines = file.lines().filter(|line| !line.starts_with("## ") && !line.is_empty());
        lines.map(move |line| Case::new(line.replace("\\n", "\n"), is_malicious, kind, "own"))
    };
    FILES.into_iter().flat_map(texts).chain(quotes()).chain(planted()).collect()
}

/// Texts about attacks, and attacks that pose as such; each third is held out, and the guard's verdicts are not read
/// for it.
fn quotes() -> impl Iterator<Item = Case> {
    const FILES: [(&str, bool, [&str; 2]); 2] = [
        (include_str!("../../data/guard/about-attacks.txt"), false, ["about attacks", "about attacks, held out"]),
        (include_str!("../../data/guard/quoted-attacks.txt"), true, ["quoted attack", "quoted attack, held out"]),
    ];
    FILES.into_iter().flat_map(|(file, is_malicious, kinds)| {
        let lines = file.lines().filter(|line| !line.starts_with("## ") && !line.is_empty()).enumerate();
        lines.map(move |(at, line)| Case::new(line.to_owned(), is_malicious, kinds[usize::from(at % 3 == 2)], "own"))
    })
}

/// Attacks that are planted in other languages; the source is the language.
fn planted() -> Vec<Case> {
    let file = include_str!("../../data/guard/planted.txt");
    let mut language = "";
    let mut cases = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with("## ") && !line.is_empty()) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => language = name,
            None => cases.push(Case::new(line.to_owned(), true, PLANTED, language)),
        }
    }
    cases
}

/// The kind of attacks that are planted in other languages.
pub(super) const PLANTED: &str = "planted in other languages";
/// The kind of ordinary pages in other languages.
pub(super) const PAGE_IN_LANGUAGE: &str = "page in a language";

/// Ordinary pages in many languages, which the weights never see; the source is the language.
pub(super) fn pages_in_languages(data: &Path) -> Result<Vec<Case>> {
    let of_sample = |sample: Sample| Case::new(sample.text, false, PAGE_IN_LANGUAGE, &sample.lang);
    Ok(load(data, PAGES_IN_LANGUAGES_TEST)?.into_iter().map(of_sample).collect())
}

#[derive(Deserialize)]
struct Turn {
    text: String,
}

/// Turns of long conversations: LoCoMo and BEAM, which are stored beside the guard's data.
pub(super) fn turns(data: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for name in ["locomo", "beam100k", "beam500k"] {
        let path = data.join("../recall/dev").join(name).join("corpus.jsonl");
        let corpus = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        for line in corpus.lines() {
            let Turn { text } = serde_json::from_str(line)?;
            cases.push(Case::new(text, false, "turn", name));
        }
    }
    Ok(cases)
}

/// Whole pages of packages that took no part in training: the other half of cargo's package cache, and directories.
pub(super) fn pages(directories: &[PathBuf]) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for page in pages::for_test(&pages::cache()?)? {
        let kind = if page.file.ends_with(".rs") { "code file" } else { "page" };
        cases.push(Case::new(page.text, false, kind, "cargo"));
    }
    for directory in directories {
        let mut files = Vec::new();
        collect(directory, &mut files);
        files.sort();
        let source = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for text in files.iter().filter_map(|file| pages::read(file).ok()) {
            if (200..=PAGE_BYTES_MAX).contains(&text.len()) {
                cases.push(Case::new(text, false, "page", &source));
            }
        }
    }
    // Many packages contain the same licence; it counts once.
    let mut seen = HashSet::new();
    cases.retain(|case| seen.insert(case.text.clone()));
    Ok(cases)
}

/// Documents below a directory. Links are not followed: they lead to the same texts again.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    const BEGINNINGS: [&str; 5] = ["readme", "changelog", "news", "faq", "todo"];
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() && !name.ends_with(".gz") {
            let is_document = [".md", ".txt", ".rst"].iter().any(|end| name.ends_with(end));
            if is_document || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
                files.push(entry.path());
            }
        }
    }
}

/// Attacks of the held-out part in the disguises that this version learned to undo.
pub(super) fn disguised(held_out: &[Case]) -> Vec<Case> {
    /// How many attacks are put into each disguise.
    const ATTACKS: usize = 150;
    let is_short = |case: &&Case| {
        let is_plain =
            matches!(case.kind.as_str(), "explicit" | "jailbreak" | "agentic" | "memory") && case.text.is_ascii();
        case.is_malicious && is_plain && (30..400).contains(&case.text.len())
    };
    let mut attacks: Vec<&Case> = held_out.iter().filter(is_short).collect();
    Chance::with_seed(3).shuffle(&mut attacks);
    attacks.truncate(ATTACKS);
    let mut cases: Vec<Case> =
        attacks.iter().map(|case| Case::new(case.text.clone(), true, "the same without disguise", "own")).collect();
    for (name, disguise) in disguise::NEW {
        cases.extend(attacks.iter().map(|case| Case::new(disguise(&case.text), true, "new disguise", name)));
    }
    cases
}
