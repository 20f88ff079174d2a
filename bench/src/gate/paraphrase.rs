//! Questions that share no word with their answers: every word of a query that occurs in its gold record is replaced by
//! a synonym, or left out where there is none (names). The facts that they are made from may not be passed on, so the
//! set is pinned by this recipe and by a checksum.

use std::collections::HashSet;

use mnemon_core::to_hex;
use sha2::{Digest, Sha256};

use super::stems::{is_content, stem, stems, words};
use super::wordnet::WordNet;
use crate::recall::data::{Project, Set};

/// How many consecutive facts a workspace has, in turns. The remainder at a project's end is left out.
const SIZES: [usize; 5] = [20, 30, 40, 50, 60];
/// A question with fewer words left is dropped.
const CONTENT_WORDS_MIN: usize = 2;

/// Some facts in order, and the questions that they answer.
pub(crate) struct SmallWorkspace {
    pub(crate) texts: Vec<String>,
    pub(crate) questions: Vec<Question>,
}

pub(crate) struct Question {
    /// As people asked it.
    pub(crate) original: String,
    /// Without any word of its gold texts.
    pub(crate) paraphrase: String,
    /// Places of the gold texts.
    pub(crate) gold: HashSet<usize>,
}

pub(crate) fn workspaces(set: &Set, wordnet: &WordNet) -> Vec<SmallWorkspace> {
    let mut sizes = SIZES.iter().cycle();
    let mut all = Vec::new();
    for project in &set.projects {
        let mut first = 0;
        while let Some(&size) = sizes.next()
            && first + size <= project.texts.len()
        {
            all.push(cut(project, first, size, wordnet));
            first += size;
        }
    }
    all.retain(|workspace| !workspace.questions.is_empty());
    all
}

/// The facts from `first` on, and the queries all of whose gold lies among them.
fn cut(project: &Project, first: usize, size: usize, wordnet: &WordNet) -> SmallWorkspace {
    let texts = project.texts[first..first + size].to_vec();
    let mut questions = Vec::new();
    for query in &project.queries {
        let golden = |place: &usize| query.gold.contains(&project.records[*place]);
        let gold: HashSet<usize> = (0..project.texts.len()).filter(golden).collect();
        if gold.iter().all(|place| (first..first + size).contains(place)) {
            let gold: HashSet<usize> = gold.into_iter().map(|place| place - first).collect();
            let taken = gold.iter().flat_map(|&place| stems(&texts[place])).collect();
            if let Some(paraphrase) = rephrase(&query.text, &taken, wordnet) {
                questions.push(Question { original: query.text.clone(), paraphrase, gold });
            }
        }
    }
    SmallWorkspace { texts, questions }
}

/// The query without the words that are taken; `None` where too little of it is left, or nothing had to be replaced.
fn rephrase(query: &str, taken: &HashSet<String>, wordnet: &WordNet) -> Option<String> {
    let (mut said, mut replaced): (Vec<String>, usize) = (Vec::new(), 0);
    let names = names(query);
    for word in words(query) {
        if !is_content(&word) || !taken.contains(&stem(&word)) {
            said.push(word);
        } else if let Some(synonym) = free_synonym(&word, taken, wordnet).filter(|_| !names.contains(&word)) {
            said.push(synonym);
            replaced += 1;
        }
    }
    let says = said.iter().flat_map(|part| words(part)).filter(|word| is_content(word)).count();
    (replaced > 0 && says >= CONTENT_WORDS_MIN).then(|| said.join(" "))
}

/// Words with a capital letter within the sentence. WordNet knows `john` and `bill` with other meanings.
fn names(query: &str) -> HashSet<String> {
    let later = query.split_whitespace().skip(1);
    later.filter(|word| word.starts_with(char::is_uppercase)).flat_map(words).collect()
}

/// The first synonym that brings no taken word back.
fn free_synonym(word: &str, taken: &HashSet<String>, wordnet: &WordNet) -> Option<String> {
    let own = stem(word);
    let is_free = |synonym: &String| {
        let mut stems = words(synonym).filter(|word| is_content(word)).map(|word| stem(&word)).peekable();
        stems.peek().is_some() && stems.all(|stem| stem != own && !taken.contains(&stem))
    };
    wordnet.synonyms(word).into_iter().find(is_free)
}

/// The SHA-256 of the set, one line per question.
pub(crate) fn checksum(workspaces: &[SmallWorkspace]) -> String {
    let mut hasher = Sha256::new();
    for (number, workspace) in workspaces.iter().enumerate() {
        for Question { original, paraphrase, gold } in &workspace.questions {
            let mut gold: Vec<usize> = gold.iter().copied().collect();
            gold.sort_unstable();
            hasher.update(format!("{number}\t{}\t{original}\t{paraphrase}\t{gold:?}\n", workspace.texts.len()));
        }
    }
    to_hex(hasher.finalize())
}
