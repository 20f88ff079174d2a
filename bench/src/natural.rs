//! `natural`: questions as people ask them, that share no content word with the fact that answers them; by two
//! authors, one in two manners; five workspaces of thirty facts. Every question is also asked of the other workspaces,
//! where nothing answers.

use anyhow::Result;
use mnemon_recall::{Model, NewDoc, SearchRequest, WorkspaceIndex};
use serde::Serialize;

use crate::figures::{Json, percent};

const FILE: &str = include_str!("../data/natural/questions.txt");
const DEPTH: usize = 10;
/// From which score on a hit is said to be more likely an answer than not.
const LIKELY: f64 = 0.5;
const ALL: &str = "all";

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

/// How questions fared, in percent.
#[derive(Serialize)]
struct Row {
    /// Whose manner; `all` for all.
    manner: &'static str,
    questions: u32,
    first: f64,
    in_ten: f64,
    empty: f64,
}

/// Questions asked where nothing answers them, in percent.
#[derive(Serialize)]
struct Foreign {
    questions: u32,
    find_something: f64,
    find_something_likely: f64,
}

#[derive(Serialize)]
struct Figures {
    workspaces: usize,
    own: Vec<Row>,
    foreign: Foreign,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    json: Json,
}

/// How questions fared, counted.
#[derive(Default)]
struct Tally {
    questions: u32,
    first: u32,
    in_ten: u32,
    empty: u32,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let workspaces = read(FILE);
    let indexes: Vec<WorkspaceIndex> = workspaces.iter().map(index_of).collect();
    let row = |manner: &'static str| {
        let Tally { questions, first, in_ten, empty } = own(&workspaces, &indexes, manner);
        let [first, in_ten, empty] = [first, in_ten, empty].map(|count| percent(count.into(), questions));
        Row { manner, questions, first, in_ten, empty }
    };
    let own = ["1", "2", "3", ALL].map(row).into();
    let figures = Figures { workspaces: workspaces.len(), own, foreign: foreign(&workspaces, &indexes) };
    figures.print();
    args.json.write(&figures)
}

impl Figures {
    fn print(&self) {
        println!("questions that share no content word with their fact; {} workspaces of 30 facts\n", self.workspaces);
        println!("manner     questions   first   in ten   no answer");
        for Row { manner, questions, first, in_ten, empty } in &self.own {
            println!("{manner:10}{questions:10}{first:8.1}{in_ten:9.1}{empty:12.1}");
        }
        let Foreign { questions, find_something, find_something_likely } = &self.foreign;
        println!(
            "\n{questions} questions asked of other workspaces: {find_something:.1} % find something, \
             {find_something_likely:.1} % something above {LIKELY}"
        );
    }
}

fn own(workspaces: &[Workspace], indexes: &[WorkspaceIndex], manner: &str) -> Tally {
    let mut tally = Tally::default();
    for (workspace, index) in workspaces.iter().zip(indexes) {
        for question in workspace.questions.iter().filter(|question| manner == ALL || question.manner == manner) {
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

fn foreign(workspaces: &[Workspace], indexes: &[WorkspaceIndex]) -> Foreign {
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
    let [find_something, find_something_likely] = [answered, likely].map(|count: u32| percent(count.into(), asked));
    Foreign { questions: asked, find_something, find_something_likely }
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
    use std::collections::HashSet;

    use super::*;
    use crate::gate::stems;

    /// Stemmed by the bench, and as the ranker under measurement sees it.
    #[test]
    fn no_question_shares_a_word_with_its_fact() {
        let workspaces = read(FILE);
        let content = |text: &str| -> HashSet<String> {
            stems::words(text).filter(|word| stems::is_content(word)).map(|word| stems::stem(&word)).collect()
        };
        let mut sharing = Vec::new();
        for workspace in &workspaces {
            for question in &workspace.questions {
                let fact = workspace.facts[question.fact];
                let mut words: Vec<String> = content(fact).intersection(&content(question.text)).cloned().collect();
                let mut index = WorkspaceIndex::new(Model::shipped());
                index.add(NewDoc::new(0, fact));
                let explained = index.explain(&SearchRequest::new(question.text, 1));
                words.extend(explained.hits.into_iter().flat_map(|hit| hit.matched));
                if !words.is_empty() {
                    sharing.push((question.text, words));
                }
            }
        }
        assert!(sharing.is_empty(), "{sharing:#?}");
    }

    #[test]
    fn five_workspaces_of_thirty_facts_have_two_hundred_questions_of_two_authors() {
        let workspaces = read(FILE);
        assert_eq!(workspaces.iter().map(|workspace| workspace.facts.len()).collect::<Vec<_>>(), [30; 5]);
        let in_manner = |manner: &str| {
            let questions = workspaces.iter().flat_map(|workspace| &workspace.questions);
            questions.filter(|question| question.manner == manner).count()
        };
        let (first, second) = (in_manner("1") + in_manner("2"), in_manner("3"));
        assert_eq!(first + second, workspaces.iter().map(|workspace| workspace.questions.len()).sum::<usize>());
        assert!(first + second >= 200 && first.min(second) >= 100, "{first} and {second}");
    }
}
