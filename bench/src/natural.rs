//! `natural`: questions as people ask them, that share no content word with the fact that answers them; two manners of
//! asking, five workspaces of thirty facts. Every question is also asked of the other workspaces, where nothing
//! answers.

use mnemon_recall::{Model, NewDoc, SearchRequest, WorkspaceIndex};

const FILE: &str = include_str!("../data/natural/questions.txt");
const DEPTH: usize = 10;
/// From which score on a hit is said to be more likely an answer than not.
const LIKELY: f64 = 0.5;

struct Workspace {
    facts: Vec<&'static str>,
    questions: Vec<Question>,
}

struct Question {
    text: &'static str,
    /// The place of its fact.
    fact: usize,
    /// In whose manner it is.
    manner: &'static str,
}

/// How questions fared.
#[derive(Default)]
struct Tally {
    questions: u32,
    first: u32,
    in_ten: u32,
    empty: u32,
}

pub(crate) fn run() {
    let workspaces = read(FILE);
    let indexes: Vec<WorkspaceIndex> = workspaces.iter().map(index_of).collect();
    println!("questions that share no content word with their fact; {} workspaces of 30 facts\n", workspaces.len());
    println!("manner     questions   first   in ten   no answer");
    for manner in ["1", "2", ""] {
        let tally = own(&workspaces, &indexes, manner);
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(tally.questions);
        let name = if manner.is_empty() { "both" } else { manner };
        let [first, in_ten, empty] = [tally.first, tally.in_ten, tally.empty].map(share);
        println!("{name:10}{:10}{first:8.1}{in_ten:9.1}{empty:12.1}", tally.questions);
    }
    let (asked, answered, likely) = foreign(&workspaces, &indexes);
    let share = |count: u32| 100.0 * f64::from(count) / f64::from(asked);
    println!(
        "\n{asked} questions asked of other workspaces: {:.1} % find something, {:.1} % something above {LIKELY}",
        share(answered),
        share(likely)
    );
}

fn own(workspaces: &[Workspace], indexes: &[WorkspaceIndex], manner: &str) -> Tally {
    let mut tally = Tally::default();
    for (workspace, index) in workspaces.iter().zip(indexes) {
        for question in workspace.questions.iter().filter(|question| question.manner.starts_with(manner)) {
            let hits = index.search(&SearchRequest::new(question.text, DEPTH));
            let place = hits.iter().position(|hit| hit.seq as usize == question.fact);
            tally.questions += 1;
            tally.first += u32::from(place == Some(0));
            tally.in_ten += u32::from(place.is_some());
            tally.empty += u32::from(hits.is_empty());
        }
    }
    tally
}

/// Questions asked where nothing answers them: how many, how many find something, and something likely.
fn foreign(workspaces: &[Workspace], indexes: &[WorkspaceIndex]) -> (u32, u32, u32) {
    let (mut asked, mut answered, mut likely) = (0, 0, 0);
    for (at, index) in indexes.iter().enumerate() {
        let others = workspaces.iter().enumerate().filter(|(other, _)| *other != at);
        for question in others.flat_map(|(_, workspace)| &workspace.questions) {
            let hits = index.search(&SearchRequest::new(question.text, DEPTH));
            asked += 1;
            answered += u32::from(!hits.is_empty());
            likely += u32::from(hits.iter().any(|hit| hit.score > LIKELY));
        }
    }
    (asked, answered, likely)
}

fn index_of(workspace: &Workspace) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    (0..).zip(&workspace.facts).for_each(|(seq, fact)| index.add(NewDoc::new(seq, fact)));
    index
}

/// `= name` begins a workspace, `? manner question` belongs to the fact on the line before.
fn read(file: &'static str) -> Vec<Workspace> {
    let mut workspaces: Vec<Workspace> = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(' ') {
            Some(("=", _)) => workspaces.push(Workspace { facts: Vec::new(), questions: Vec::new() }),
            Some(("?", question)) => {
                let (manner, text) = question.split_once(' ').expect("a manner and a question");
                let workspace = workspaces.last_mut().expect("a workspace before its questions");
                let fact = workspace.facts.len().checked_sub(1).expect("a fact before its questions");
                workspace.questions.push(Question { text, fact, manner });
            }
            _ => workspaces.last_mut().expect("a workspace before its facts").facts.push(line),
        }
    }
    workspaces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_question_shares_a_word_with_its_fact() {
        let workspaces = read(FILE);
        assert_eq!(workspaces.iter().map(|workspace| workspace.facts.len()).collect::<Vec<_>>(), [30; 5]);
        assert!(workspaces.iter().map(|workspace| workspace.questions.len()).sum::<usize>() >= 200);
        let mut sharing = Vec::new();
        for workspace in &workspaces {
            for question in &workspace.questions {
                let mut index = WorkspaceIndex::new(Model::shipped());
                index.add(NewDoc::new(0, workspace.facts[question.fact]));
                let explained = index.explain(&SearchRequest::new(question.text, 1));
                let words: Vec<String> = explained.hits.into_iter().flat_map(|hit| hit.matched).collect();
                if !words.is_empty() {
                    sharing.push((question.text, words));
                }
            }
        }
        assert!(sharing.is_empty(), "{sharing:#?}");
    }
}
