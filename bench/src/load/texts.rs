//! Short texts like those teams write, from our own word lists. The same seed gives the same texts, and words follow
//! Zipf's law as in real notes: few are everywhere, most are rare. [`Source`] offers them beside real texts.

use mnemon_guard_train::chance::Chance;

use std::sync::Arc;

use crate::real_texts::RealTexts;

/// What notes are mostly about, most frequent first.
const COMMON: &str = "the to and of for in a is on with we from use by after before when at are that it every only not \
    until team service build release customer test server data weekly project meeting report budget design review \
    deploy branch invoice office office-hours contract database payment screen user account search cache queue backup \
    region cluster latency storage network printer garden kitchen travel hotel flight train ticket calendar monday \
    tuesday wednesday thursday friday morning evening afternoon spring summer autumn winter january february march \
    april june july august september october november december red green blue yellow black white small large fast slow \
    early late open closed shared private internal external weekly monthly daily yearly first second third last next \
    previous prefers likes wants needs keeps moves starts stops runs costs takes gives holds writes reads sends \
    receives plans checks agrees decides changes replaces removes adds measures watches signs pays orders ships \
    returns repairs paints cleans cooks bakes visits calls meets teaches learns answers asks";

/// People and places.
const NAMES: &str = "ana ben carla dmitri elena farid grace hana igor julia kenji lena marco nadia omar priya quentin \
    rosa stefan tariq ulla viktor wanda xenia yusuf zoe lisbon oslo kyoto quito nairobi tallinn porto graz bergen \
    leipzig turin lyon utrecht aarhus malmo vilnius zagreb";

const ONSETS: [&str; 20] =
    ["b", "br", "d", "dr", "f", "fl", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "pr", "r", "s", "st", "t"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const CODAS: [&str; 12] = ["", "n", "r", "l", "s", "t", "m", "ck", "nd", "rt", "ss", "x"];

/// The size of the vocabulary.
const VOCABULARY: usize = 12_000;
const WORDS_MIN: usize = 8;
const WORDS_MAX: usize = 32;
const QUERY_WORDS_MIN: usize = 3;
const QUERY_WORDS_MAX: usize = 6;

/// Where texts and queries come from.
#[derive(Clone)]
pub(crate) enum Source {
    Made(Arc<Texts>),
    /// As people wrote them.
    Real(Arc<RealTexts>),
}

impl From<Texts> for Source {
    fn from(texts: Texts) -> Self {
        Self::Made(Arc::new(texts))
    }
}

impl Source {
    pub(crate) fn text(&self, number: u64) -> String {
        match self {
            Self::Made(texts) => texts.text(number),
            Self::Real(texts) => texts.text(number),
        }
    }

    /// A query: one that the text of this number answers, or a real one.
    pub(crate) fn query(&self, number: u64, chance: &mut Chance) -> String {
        match self {
            Self::Made(texts) => texts.query(number, chance),
            Self::Real(texts) => texts.any_query(chance).to_owned(),
        }
    }
}

/// Makes texts, and queries that fit them.
pub(crate) struct Texts {
    words: Vec<String>,
    /// The cumulative share of the first n words.
    cumulative: Vec<f64>,
    seed: u64,
}

impl Texts {
    pub(crate) fn new(seed: u64) -> Self {
        let words = vocabulary();
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = Vec::with_capacity(words.len());
        for rank in 0..words.len() {
            sum += 1.0 / (rank as f64 + 2.7);
            cumulative.push(sum);
        }
        for share in &mut cumulative {
            *share /= sum;
        }
        Self { words, cumulative, seed }
    }

    /// The text of this number, the same every time.
    pub(crate) fn text(&self, number: u64) -> String {
        let mut chance = self.chance(number);
        let count = WORDS_MIN + chance.below(WORDS_MAX - WORDS_MIN);
        let mut text = String::with_capacity(count * 7);
        for place in 0..count {
            if place > 0 {
                text.push(' ');
            }
            text.push_str(self.word(&mut chance));
        }
        // Numbers are part of most notes, and this one makes the text unique.
        text.push_str(&format!(" item {number}"));
        text
    }

    /// A query that the text with this number answers: some of its words, in order.
    pub(crate) fn query(&self, number: u64, chance: &mut Chance) -> String {
        let text = self.text(number);
        let words: Vec<&str> = text.split(' ').collect();
        let count = QUERY_WORDS_MIN + chance.below(QUERY_WORDS_MAX - QUERY_WORDS_MIN + 1);
        // The last two words are the number, which is not searched for.
        let first = chance.below(words.len() - 2 - count);
        words[first..first + count].join(" ")
    }

    fn chance(&self, number: u64) -> Chance {
        Chance::with_seed(self.seed ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn word(&self, chance: &mut Chance) -> &str {
        let share = f64::from(chance.unit());
        let rank = self.cumulative.partition_point(|&upto| upto < share);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

fn vocabulary() -> Vec<String> {
    let mut words: Vec<String> = COMMON.split_whitespace().chain(NAMES.split_whitespace()).map(str::to_owned).collect();
    let mut chance = Chance::with_seed(7);
    while words.len() < VOCABULARY {
        let mut word = String::new();
        for _ in 0..2 + chance.below(2) {
            word.push_str(ONSETS[chance.below(ONSETS.len())]);
            word.push_str(VOWELS[chance.below(VOWELS.len())]);
            word.push_str(CODAS[chance.below(CODAS.len())]);
        }
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_repeat_by_seed_and_queries_are_parts_of_them() {
        let (texts, again) = (Texts::new(1), Texts::new(1));
        let mut chance = Chance::with_seed(3);
        for number in 0..500 {
            let text = texts.text(number);
            assert_eq!(text, again.text(number));
            assert!(text.contains(&texts.query(number, &mut chance)));
        }
        assert_ne!(texts.text(1), texts.text(2));
        assert_ne!(texts.text(1), Texts::new(2).text(1));
    }
}
