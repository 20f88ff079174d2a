//! Records and queries as people write them, from a folder of labelled sets: what the benches of speed use with
//! `--texts`. The sets themselves are not part of the repository. Texts beyond their number are made from pieces of
//! them.

use std::path::Path;

use anyhow::{Result, ensure};
use mnemon_guard_train::chance::Chance;

use crate::recall::data;

/// The sets that are memories; others in the folder are there for comparison.
const MEMORY_SETS: [&str; 4] = ["beam100k", "beam500k", "locomo", "locomo_obs"];
/// How many words a piece of a longer corpus has.
const PIECE_WORDS: usize = 12;

/// All texts of the memory sets as one workspace, and all their queries.
pub(crate) struct RealTexts {
    texts: Vec<String>,
    queries: Vec<String>,
}

impl RealTexts {
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let sets = data::load(folder)?;
        let projects =
            || sets.iter().filter(|set| MEMORY_SETS.contains(&set.name.as_str())).flat_map(|set| &set.projects);
        let texts: Vec<String> = projects().flat_map(|project| &project.texts).cloned().collect();
        let queries = projects().flat_map(|project| &project.queries).map(|query| query.text.clone()).collect();
        Self::new(texts, queries)
    }

    fn new(texts: Vec<String>, queries: Vec<String>) -> Result<Self> {
        ensure!(
            !texts.is_empty() && !queries.is_empty(),
            "the folder holds no memory set ({})",
            MEMORY_SETS.join(", ")
        );
        Ok(Self { texts, queries })
    }

    /// How many real texts there are.
    pub(crate) fn len(&self) -> u64 {
        self.texts.len() as u64
    }

    /// The text of this number: a real one, and beyond them one of a real one's length from pieces of several.
    pub(crate) fn text(&self, number: u64) -> String {
        match self.texts.get(number as usize) {
            Some(text) => text.clone(),
            None => self.resampled(&mut Chance::with_seed(number.wrapping_mul(0x9e37_79b9))),
        }
    }

    pub(crate) fn query(&self, number: u64) -> &str {
        &self.queries[(number % self.queries.len() as u64) as usize]
    }

    /// A query drawn at random.
    pub(crate) fn any_query(&self, chance: &mut Chance) -> &str {
        &self.queries[chance.below(self.queries.len())]
    }

    fn resampled(&self, chance: &mut Chance) -> String {
        let length = self.texts[chance.below(self.texts.len())].len();
        let mut text = String::with_capacity(length + 100);
        while text.len() < length {
            let words: Vec<&str> = self.texts[chance.below(self.texts.len())].split_whitespace().collect();
            let first = chance.below(words.len().saturating_sub(PIECE_WORDS) + 1);
            for word in words.iter().skip(first).take(PIECE_WORDS) {
                text.push_str(word);
                text.push(' ');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_the_real_ones_repeat_and_are_about_as_long() {
        let real: Vec<String> = (1..40).map(|words| "the boiler in the cellar hums ".repeat(words)).collect();
        let mean = real.iter().map(String::len).sum::<usize>() / real.len();
        let texts = RealTexts::new(real.clone(), vec!["boiler".to_owned()]).unwrap();
        assert_eq!(texts.text(3), real[3]);
        let made: Vec<String> = (1_000..2_000).map(|number| texts.text(number)).collect();
        assert_eq!(made[5], texts.text(1_005));
        let made_mean = made.iter().map(String::len).sum::<usize>() / made.len();
        assert!(made_mean.abs_diff(mean) < mean / 5, "{made_mean} instead of {mean}");
    }

    #[test]
    fn a_folder_without_memory_sets_is_refused() {
        assert!(RealTexts::new(Vec::new(), Vec::new()).is_err());
    }
}
