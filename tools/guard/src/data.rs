//! The labelled texts, and which of them may leave a trace in weights that ship.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use mnemon_guard::training::plain_spelling;
use serde::Deserialize;

use crate::own::Planted;

/// One labelled text.
#[derive(Debug, Clone, Deserialize)]
pub struct Sample {
    /// The text itself.
    pub text: String,
    /// 1 where the guard should reject.
    #[serde(default)]
    pub label: u8,
    /// Where it comes from.
    pub source: String,
    /// What sort of text it is.
    #[serde(default)]
    pub kind: String,
    /// The terms under which the source is published.
    #[serde(default, alias = "licence")]
    pub license: String,
    /// The language, where it is known.
    #[serde(default)]
    pub lang: String,
    /// Set where the label is doubtful: a text that its source calls an attack but that breaks no clause of our rule.
    #[serde(default)]
    pub doubt: bool,
}

impl Sample {
    /// Should the guard reject it?
    pub fn is_malicious(&self) -> bool {
        self.label == 1
    }

    /// Does it belong to the kinds that the published rates are about?
    pub fn is_core(&self) -> bool {
        let core: &[&str] = if self.is_malicious() { CORE_MALICIOUS } else { CORE_BENIGN };
        core.contains(&self.kind.as_str())
    }

    /// A planted text of our own.
    pub fn of_planted(planted: Planted) -> Sample {
        Sample {
            text: planted.text,
            label: u8::from(planted.is_malicious),
            source: "own-planted".to_owned(),
            kind: OWN_PLANTED_KIND.to_owned(),
            license: "ours".to_owned(),
            lang: planted.language,
            doubt: false,
        }
    }

    /// The name that sources of one origin share: one repository, one collection. Folds never part a family.
    pub fn family(&self) -> &str {
        match self.source.split_once(':') {
            Some((_, repository)) => repository,
            None if self.source.starts_with("obf-") => self.source.trim_end_matches("-dev"),
            None => self.source.split('-').next().unwrap_or(&self.source),
        }
    }
}

const CORE_MALICIOUS: &[&str] = &["explicit", "jailbreak", "agentic", "memory", "obf", "embedded"];
const CORE_BENIGN: &[&str] = &["agents", "docs", "adr", "commit", "note", "memory", "secdocs", "runbook"];

/// Sources whose terms do not allow weights made from them to ship under ours: FSL, GPL, no licence, ODC-BY.
const NOT_SHIPPED: &[&str] = &["getsentry+sentry-mcp", "npryce+adr-tools", "tensortrust", "llmail", "wildguard"];

/// Words in a licence that forbid it: non-commercial, share-alike, and what its collector kept for tests.
const NOT_SHIPPED_TERMS: &[&str] = &["-NC", "-SA", "Sharing", "GPL", "FSL", "test only", "no licence"];

/// The part that weights are trained on.
pub const DEV: &str = "v2/dev-v2.jsonl.gz";
/// Harmless pages and paragraphs in many languages, and attacks in some of them.
pub const PAGES_IN_LANGUAGES: &str = "v3/pages-train.jsonl.gz";
/// See [`PAGES_IN_LANGUAGES`].
pub const ATTACKS_IN_LANGUAGES: &str = "v3/attacks-train.jsonl";
/// The kind of [`PAGES_IN_LANGUAGES`].
pub const PAGES_KIND: &str = "pages-ml";
/// The kind of [`ATTACKS_IN_LANGUAGES`], of both labels.
pub const ATTACKS_KIND: &str = "planted-ml";
/// The kind of our own texts like these, of both labels.
pub const OWN_PLANTED_KIND: &str = "planted-own";

/// Everything that weights are trained on.
pub fn load_all(directory: &Path) -> Result<Vec<Sample>> {
    let mut samples = load(directory, DEV)?;
    for (name, kind) in [(PAGES_IN_LANGUAGES, PAGES_KIND), (ATTACKS_IN_LANGUAGES, ATTACKS_KIND)] {
        let more = load(directory, name)?;
        samples.extend(more.into_iter().map(|sample| Sample { kind: kind.to_owned(), ..sample }));
    }
    Ok(samples)
}

/// Other pages in many languages; their terms do not allow more than measuring.
pub const PAGES_IN_LANGUAGES_TEST: &str = "v3/pages-dev.jsonl.gz";
/// The part that took no part in training.
pub const HOLDOUT: &str = "v2/holdout-v2.jsonl.gz";
/// Texts written by hand.
pub const CURATED: &str = "curated.jsonl";

/// One line in this many may be broken; more mean that the file is not what it should be.
const LINES_PER_BROKEN_ONE: usize = 1_000;

/// Reads a file of the data directory, one JSON object per line.
pub fn load(directory: &Path, name: &str) -> Result<Vec<Sample>> {
    let path = directory.join(name);
    let file = File::open(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut text = String::new();
    if name.ends_with(".gz") {
        GzDecoder::new(file).read_to_string(&mut text)
    } else {
        { file }.read_to_string(&mut text)
    }
    .with_context(|| format!("reading {}", path.display()))?;
    let lines = text.lines().count();
    let samples: Vec<Sample> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // One record of the collection holds raw line breaks.
    let broken = lines - samples.len();
    ensure!(broken <= lines / LINES_PER_BROKEN_ONE, "{broken} of {lines} lines of {name} can't be read");
    Ok(samples)
}

/// The samples that weights may be trained on.
///
/// Derived sources wrap texts of others, so a sample also falls out when it shares a stretch of words with an
/// excluded text, in whatever disguise.
pub fn trainable(samples: &[Sample]) -> Vec<Sample> {
    let (excluded, allowed): (Vec<&Sample>, Vec<&Sample>) = samples.iter().partition(|sample| is_excluded(sample));
    let tainted: HashSet<u64> = excluded.iter().flat_map(|sample| shingles(&sample.text)).collect();
    let is_derived = |sample: &Sample| sample.license.starts_with("derived");
    allowed
        .into_iter()
        .filter(|sample| !is_derived(sample) || !shingles(&sample.text).iter().any(|s| tainted.contains(s)))
        .cloned()
        .collect()
}

fn is_excluded(sample: &Sample) -> bool {
    NOT_SHIPPED.iter().any(|name| sample.source.contains(name))
        || NOT_SHIPPED_TERMS.iter().any(|term| sample.license.contains(term))
}

/// Hashes of all runs of six words; of the whole text where it is shorter.
fn shingles(text: &str) -> Vec<u64> {
    const WORDS: usize = 6;
    let plain = plain_spelling(text);
    let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.windows(WORDS.min(words.len()).max(1)).map(hash_words).collect()
}

fn hash_words(words: &[&str]) -> u64 {
    words
        .iter()
        .flat_map(|word| word.bytes().chain([0]))
        .fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
