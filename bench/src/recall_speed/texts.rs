//! Records and queries of any number, always the same: sentences of the pinned training text, two by two, with names
//! and numbers as people save them, about as long as the one-sentence facts that assistants extract; or real texts.

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use flate2::read::GzDecoder;
use mnemon_guard_train::chance::Chance;

use crate::real_texts::RealTexts;

/// Where records and queries come from.
pub(crate) enum Texts {
    /// Made from sentences.
    Made(Sentences),
    /// As people wrote them.
    Real(RealTexts),
}

impl Texts {
    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self::Made(Sentences { sentences: serde_json::from_reader(GzDecoder::new(file))? }))
    }

    pub(crate) fn record(&self, number: u64) -> String {
        match self {
            Self::Made(sentences) => sentences.record(number),
            Self::Real(texts) => texts.text(number),
        }
    }

    /// A question to the first `records` records.
    pub(crate) fn query(&self, number: u64, records: u64) -> String {
        match self {
            Self::Made(sentences) => sentences.query(number, records),
            Self::Real(texts) => texts.query(number).to_owned(),
        }
    }
}

pub(crate) struct Sentences {
    sentences: Vec<String>,
}

impl Sentences {
    fn record(&self, number: u64) -> String {
        let mut chance = Chance::with_seed(number);
        let (first, second) = (self.pick(&mut chance), self.pick(&mut chance));
        match chance.below(8) {
            0 => format!("{first}. {second} (ticket {})", chance.below(1_000_000)),
            1 => format!("{first}; see src/module{}/file{}.rs", chance.below(500), chance.below(2000)),
            _ => format!("{first}. {second}"),
        }
    }

    /// A question: three to eight words of one of the first `records` records, common ones among them.
    fn query(&self, number: u64, records: u64) -> String {
        let mut chance = Chance::with_seed(number ^ 0x51_7C_C1_B7);
        let record = self.record(chance.below(records as usize) as u64);
        let words: Vec<&str> = record.split_whitespace().collect();
        let wanted = 3 + chance.below(6);
        let start = chance.below(words.len());
        let mut query =
            words[start..].iter().chain(&words[..start]).take(wanted).copied().collect::<Vec<_>>().join(" ");
        if chance.below(2) == 0 {
            query.insert_str(0, "what is the ");
        }
        query
    }

    fn pick(&self, chance: &mut Chance) -> &str {
        &self.sentences[chance.below(self.sentences.len())]
    }
}
