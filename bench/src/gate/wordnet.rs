//! Synonyms from WordNet's own files, as Debian's `wordnet-base` installs them.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};

/// Beyond a word's three most frequent meanings, its synonyms are far from what was meant.
const SENSES: usize = 3;

/// How a kind of word is inflected: endings, and what replaces them in the base form.
const NOUN: &[(&str, &str)] = &[
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
];
const VERB: &[(&str, &str)] =
    &[("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")];
const ADJECTIVE: &[(&str, &str)] = &[("er", ""), ("est", ""), ("er", "e"), ("est", "e")];
const ADVERB: &[(&str, &str)] = &[];

/// All kinds of words.
pub(crate) struct WordNet {
    kinds: [Kind; 4],
}

struct Kind {
    ends: &'static [(&'static str, &'static str)],
    /// Irregular forms.
    exceptions: HashMap<String, String>,
    index: HashMap<String, Entry>,
    data: Vec<u8>,
}

struct Entry {
    /// How often its meanings occurred in texts: shows which kind of word a form usually is.
    tagged: u32,
    /// Offsets of its meanings in the data, most frequent first.
    offsets: Vec<usize>,
}

impl WordNet {
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let kind = |name: &str, ends| Kind::load(folder, name, ends);
        Ok(Self { kinds: [kind("noun", NOUN)?, kind("verb", VERB)?, kind("adj", ADJECTIVE)?, kind("adv", ADVERB)?] })
    }

    /// The synonyms of a word, those of its most frequent kind and meaning first.
    pub(crate) fn synonyms(&self, word: &str) -> Vec<String> {
        let mut entries: Vec<(&Kind, &Entry)> =
            self.kinds.iter().filter_map(|kind| Some((kind, kind.find(word)?))).collect();
        // Stable: of kinds that were counted equally often, nouns come first.
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.tagged));
        let meanings =
            entries.iter().flat_map(|(kind, entry)| entry.offsets.iter().take(SENSES).map(|&at| kind.lemmas(at)));
        meanings.flatten().filter(|lemma| lemma != word).collect()
    }
}

impl Kind {
    fn load(folder: &Path, name: &str, ends: &'static [(&'static str, &'static str)]) -> Result<Self> {
        let read = |file: String| {
            let path = folder.join(file);
            std::fs::read(&path).with_context(|| format!("cannot read {} (Debian: wordnet-base)", path.display()))
        };
        let index = String::from_utf8(read(format!("index.{name}"))?)?;
        let exceptions = String::from_utf8(read(format!("{name}.exc"))?)?;
        let pair = |line: &str| line.split_once(' ').map(|(form, base)| (form.to_owned(), first_word(base)));
        Ok(Self {
            ends,
            exceptions: exceptions.lines().filter_map(pair).collect(),
            index: index.lines().filter(|line| !line.starts_with(' ')).filter_map(entry).collect(),
            data: read(format!("data.{name}"))?,
        })
    }

    fn find(&self, word: &str) -> Option<&Entry> {
        let regular = self.ends.iter().filter_map(|(end, base)| Some(format!("{}{base}", word.strip_suffix(end)?)));
        let bases = std::iter::once(word.to_owned()).chain(self.exceptions.get(word).cloned()).chain(regular);
        bases.filter_map(|base| self.index.get(&base)).next()
    }

    /// The words of the meaning at this offset.
    fn lemmas(&self, at: usize) -> Vec<String> {
        let line = self.data.get(at..).unwrap_or_default().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut fields = line.split(' ').skip(3);
        let count = fields.next().and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or(0);
        // An adjective may have its syntactic position in brackets: `afloat(p)`.
        let plain = |lemma: &str| lemma.split('(').next().unwrap_or(lemma).replace('_', " ").to_lowercase();
        fields.step_by(2).take(count).map(plain).collect()
    }
}

fn first_word(text: &str) -> String {
    text.split(' ').next().unwrap_or(text).to_owned()
}

/// `lemma pos meanings pointers [pointer …] senses tagged offset …`
fn entry(line: &str) -> Option<(String, Entry)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let pointers: usize = fields.get(3)?.parse().ok()?;
    let tagged = fields.get(5 + pointers)?.parse().ok()?;
    let offsets = fields[6 + pointers..].iter().filter_map(|offset| offset.parse().ok()).collect();
    Some((fields[0].to_owned(), Entry { tagged, offsets }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_index_tells_where_the_meanings_stand() {
        let (lemma, entry) = entry("race n 6 4 @ ~ + ; 6 4 07472657 07458453  ").unwrap();
        assert_eq!((lemma.as_str(), entry.tagged, entry.offsets), ("race", 4, vec![7_472_657, 7_458_453]));
    }

    #[test]
    fn an_inflected_form_has_the_synonyms_of_its_base() {
        let data = b"00 11 v 02 buy 0 purchase 0 001 @ 02 v 0000 | obtain".to_vec();
        let index = HashMap::from([("buy".to_owned(), Entry { tagged: 1, offsets: vec![0] })]);
        let verbs = || Kind {
            ends: VERB,
            exceptions: HashMap::from([("bought".to_owned(), "buy".to_owned())]),
            index: HashMap::new(),
            data: Vec::new(),
        };
        let kinds = [verbs(), Kind { index, data, ..verbs() }, verbs(), verbs()];
        let wordnet = WordNet { kinds };
        for form in ["buys", "bought", "buying", "buyed"] {
            assert!(wordnet.synonyms(form).contains(&"purchase".to_owned()), "{form}");
        }
        assert!(wordnet.synonyms("boiler").is_empty());
    }
}
