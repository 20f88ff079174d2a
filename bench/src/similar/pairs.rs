//! The labelled pairs, in which half they are, and how a group of them fared.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Judged;

/// Written for this, before the features were chosen and after.
const WRITTEN: [(&str, bool); 2] = [
    (include_str!("../../data/similar/written.jsonl"), false),
    (include_str!("../../data/similar/written-later.jsonl"), true),
];
const LABELS: &str = include_str!("../../data/similar/dev.jsonl");

/// A written pair.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) lang: String,
    pub(super) same: bool,
    pub(super) old: String,
    pub(super) new: String,
    #[serde(skip)]
    pub(super) is_later: bool,
}

impl Written {
    pub(super) fn load() -> Result<Vec<Self>> {
        let mut pairs = Vec::new();
        for (text, is_later) in WRITTEN {
            pairs.extend(lines::<Self>(text)?.into_iter().map(|pair| Self { is_later, ..pair }));
        }
        Ok(pairs)
    }

    pub(super) fn is_fitting(&self) -> bool {
        is_fitting(&format!("{}\n{}", self.old, self.new))
    }
}

/// Two records of a set, by their lines in `corpus.jsonl`.
#[derive(Deserialize)]
pub(super) struct Label {
    set: String,
    new: u64,
    pub(super) old: u64,
    pub(super) same: bool,
    /// Whether it was drawn at random from all that was named.
    #[serde(default)]
    pub(super) drawn: bool,
}

impl Label {
    pub(super) fn is_fitting(&self) -> bool {
        is_fitting(&format!("{} {} {}", self.set, self.new, self.old))
    }
}

/// The labels by the later of the two records.
pub(super) struct Labels {
    by_record: HashMap<(String, u64), Vec<Label>>,
    count: usize,
}

impl Labels {
    pub(super) fn load() -> Result<Self> {
        let labels = lines::<Label>(LABELS)?;
        let (count, mut by_record) = (labels.len(), HashMap::<_, Vec<Label>>::new());
        for label in labels {
            by_record.entry((label.set.clone(), label.new)).or_default().push(label);
        }
        Ok(Self { by_record, count })
    }

    pub(super) fn of(&self, set: &str, line: u64) -> &[Label] {
        self.by_record.get(&(set.to_owned(), line)).map_or(&[], Vec::as_slice)
    }

    /// Whether all were found.
    pub(super) fn check(&self, found: usize) -> Result<()> {
        ensure!(found == self.count, "the sets have {found} of the {} labelled pairs", self.count);
        Ok(())
    }
}

/// The records of a set, in the order of its file.
pub(super) struct Corpus {
    pub(super) set: String,
    pub(super) records: Vec<Record>,
}

#[derive(Deserialize)]
pub(super) struct Record {
    pub(super) project: String,
    pub(super) text: String,
}

impl Corpus {
    pub(super) fn load_all(folder: &Path) -> Result<Vec<Self>> {
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut folders: Vec<_> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.iter().map(|folder| Self::load(folder)).collect()
    }

    fn load(folder: &Path) -> Result<Self> {
        let path = folder.join("corpus.jsonl");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let set = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { set, records: lines(&text)? })
    }
}

fn lines<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("cannot read {line:?}"))).collect()
}

/// Which half a pair is in, by its hash (FNV-1a): no later pair moves another.
fn is_fitting(key: &str) -> bool {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    key.bytes().fold(0xcbf2_9ce4_8422_2325, step) >> 32 & 1 == 0
}

/// How a group of pairs fared.
#[derive(Default, Serialize)]
pub(super) struct Tally {
    pairs: usize,
    same: usize,
    pub(super) named: usize,
    right: usize,
}

impl Tally {
    pub(super) fn of<'p>(pairs: impl Iterator<Item = &'p Judged>) -> Self {
        let mut tally = Self::default();
        for pair in pairs {
            tally.pairs += 1;
            tally.same += usize::from(pair.is_same);
            tally.named += usize::from(pair.is_named);
            tally.right += usize::from(pair.is_named && pair.is_same);
        }
        tally
    }

    pub(super) fn precision(&self) -> f64 {
        self.right as f64 / self.named.max(1) as f64
    }

    pub(super) fn print(&self, name: &str) {
        let Self { pairs, same, named, .. } = self;
        let precision = if *named == 0 { "–".to_owned() } else { format!("{:.3}", self.precision()) };
        let recall = if *same == 0 { "–".to_owned() } else { format!("{:.3}", self.right as f64 / *same as f64) };
        println!("{name:<22}{pairs:>8}{same:>8}{named:>8}{precision:>11}{recall:>8}");
    }

    /// The precision and its 95 % interval (Wilson).
    pub(super) fn interval(&self) -> String {
        const Z: f64 = 1.96;
        let (all, share) = (self.named.max(1) as f64, self.precision());
        let centre = share + Z * Z / (2.0 * all);
        let reach = Z * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
        let scale = 1.0 / (1.0 + Z * Z / all);
        format!("precision {share:.3} [{:.3}–{:.3}]", (centre - reach) * scale, ((centre + reach) * scale).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_at_least_three_hundred_pairs_and_halves_of_about_the_same_size() {
        let (written, labels) = (Written::load().unwrap(), lines::<Label>(LABELS).unwrap());
        assert!(written.len() >= 150 && labels.len() >= 150);
        let same = written.iter().filter(|pair| pair.same).count();
        assert!((0.4..0.6).contains(&(same as f64 / written.len() as f64)), "{same}");
        for language in ["en", "de", "fr", "es", "ru", "zh"] {
            assert!(written.iter().filter(|pair| pair.lang == language).count() >= 20, "{language}");
        }
        let fitting = written.iter().filter(|pair| pair.is_fitting()).count()
            + labels.iter().filter(|label| label.is_fitting()).count();
        assert!((0.4..0.6).contains(&(fitting as f64 / (written.len() + labels.len()) as f64)), "{fitting}");
        assert!(labels.iter().filter(|label| label.drawn).count() >= 100);
        let texts: HashSet<&str> = written.iter().flat_map(|pair| [&*pair.old, &*pair.new]).collect();
        assert_eq!(texts.len(), 2 * written.len(), "no text is in two pairs");
    }
}
