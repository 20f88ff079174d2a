//! `several`: questions whose answer lies in several records. Tries what could find more of them without another model:
//! other choices for the last places among the first ten. The service makes none of them; this is where they are tried.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use mnemon_recall::{Explanation, Model, NewDoc, SearchRequest, WorkspaceIndex};

use crate::figures::{Verdict, percent};
use crate::load::progress;
use crate::locomo::by_session;
use crate::recall::{Project, Set, load};

/// How many hits there are to choose from.
const DEPTH: usize = 50;
const CUT: usize = 10;
/// The first places stay as they are.
const KEPT: usize = 5;
/// A record this near to one that was chosen, in the order of saving, waits.
const NEIGHBOURS: usize = 2;
/// At most this many records of one session are chosen before the others wait.
const PER_SESSION: usize = 2;
/// How many places a second look may fill, the last ones.
const LOOKS: usize = 2;
/// What kinds with several answers must gain, and what any other may lose, in points.
const GAIN_MIN: f64 = 0.3;
const LOSS_MAX: f64 = 0.3;
/// Kinds whose answers lie in several places.
const SEVERAL: [&str; 2] = ["multi-hop", "multi_session_reasoning"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with one folder per set, each with `corpus.jsonl` and `queries.jsonl`; `locomo` among them
    #[arg(long)]
    data: PathBuf,
}

/// How the last places among the first ten are filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    AsRanked,
    /// Neighbours of what was chosen wait.
    Apart,
    /// Further records of a session wait.
    OtherSessions,
    /// A search for the words of the query that none of the first hits has.
    SecondLook,
    ApartAndSecondLook,
}

impl Way {
    const ALL: [Way; 5] = [Way::AsRanked, Way::Apart, Way::OtherSessions, Way::SecondLook, Way::ApartAndSecondLook];

    fn name(self) -> &'static str {
        match self {
            Way::AsRanked => "as ranked",
            Way::Apart => "apart",
            Way::OtherSessions => "sessions",
            Way::SecondLook => "second look",
            Way::ApartAndSecondLook => "both",
        }
    }
}

/// For each way the sums over the questions of a kind: the share of gold records among the first ten, and how often all
/// of them are.
#[derive(Default)]
struct Sums {
    questions: u32,
    share: [f64; Way::ALL.len()],
    all: [f64; Way::ALL.len()],
}

impl Sums {
    /// How many points a way gains over the order as ranked: in the share, and in all.
    fn gains(&self, way: usize) -> [f64; 2] {
        [&self.share, &self.all].map(|sums| percent(sums[way] - sums[0], self.questions))
    }
}

/// By set and kind of question.
type Table = BTreeMap<(String, String), Sums>;

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut sets = load(&args.data)?;
    let turns = sets.iter().find(|set| set.name == "locomo").context("there is no set called locomo")?;
    let sessions = turns.projects.iter().map(by_session).collect();
    sets.push(Set { name: "sessions".to_owned(), projects: sessions });
    let mut table = Table::new();
    for set in &sets {
        for (number, project) in set.projects.iter().enumerate() {
            progress(&format!("{}, {} of {}", set.name, number + 1, set.projects.len()));
            ask(&set.name, project, &mut table);
        }
    }
    progress("");
    print(&table);
    for way in 1..Way::ALL.len() {
        println!("{}", verdict(&table, way));
    }
    Ok(())
}

fn ask(set: &str, project: &Project, table: &mut Table) {
    let mut index = WorkspaceIndex::new(Model::shipped());
    (0..).zip(&project.texts).for_each(|(seq, text)| index.add(NewDoc::new(seq, text)));
    let sessions = sessions_of(project);
    for query in &project.queries {
        let explanation = index.explain(&SearchRequest::new(&query.text, DEPTH));
        let found = records(project, explanation.hits.iter().map(|hit| hit.seq));
        let looked = match unmatched(&explanation) {
            words if words.is_empty() => Vec::new(),
            words => records(project, index.search(&SearchRequest::new(&words, CUT)).iter().map(|hit| hit.seq)),
        };
        for kind in [query.kind.as_str(), "all together"] {
            let sums = table.entry((set.to_owned(), kind.to_owned())).or_default();
            sums.questions += 1;
            for (at, way) in Way::ALL.into_iter().enumerate() {
                let chosen = choose(way, &found, &looked, &sessions);
                let gold = chosen.iter().take(CUT).filter(|record| query.gold.contains(record)).count();
                sums.share[at] += gold as f64 / query.gold.len() as f64;
                sums.all[at] += f64::from(u8::from(gold == query.gold.len()));
            }
        }
    }
}

/// The records of some texts, each once.
fn records(project: &Project, texts: impl Iterator<Item = u64>) -> Vec<usize> {
    let mut records = Vec::new();
    for text in texts {
        let record = project.records[text as usize];
        if !records.contains(&record) {
            records.push(record);
        }
    }
    records
}

/// The session of each record: a number that changes where the day in front of the texts does.
fn sessions_of(project: &Project) -> Vec<usize> {
    let mut sessions = vec![0; project.records.iter().max().map_or(0, |last| last + 1)];
    let (mut session, mut head) = (0, "");
    for (text, &record) in project.texts.iter().zip(&project.records) {
        let day = text.strip_prefix('[').and_then(|text| text.split_once(']')).map(|(day, _)| day);
        if let Some(day) = day.filter(|day| *day != head) {
            (session, head) = (session + 1, day);
        }
        sessions[record] = session;
    }
    sessions
}

/// The query's stems that none of the first hits has.
fn unmatched(explanation: &Explanation) -> String {
    let first = &explanation.hits[..explanation.hits.len().min(KEPT)];
    let is_missing = |stem: &str| !first.iter().any(|hit| hit.matched.iter().any(|matched| matched == stem));
    let stems = explanation.words.iter().map(|word| word.stem.as_str()).filter(|stem| is_missing(stem));
    stems.collect::<Vec<_>>().join(" ")
}

fn choose(way: Way, found: &[usize], looked: &[usize], sessions: &[usize]) -> Vec<usize> {
    let is_apart = |chosen: &[usize], record: usize| chosen.iter().all(|one| one.abs_diff(record) > NEIGHBOURS);
    let is_new = |chosen: &[usize], record: usize| {
        chosen.iter().filter(|&&one| sessions[one] == sessions[record]).count() < PER_SESSION
    };
    match way {
        Way::AsRanked => found.to_vec(),
        Way::Apart => prefer(found, is_apart),
        Way::OtherSessions => prefer(found, is_new),
        Way::SecondLook => fill(found, looked),
        Way::ApartAndSecondLook => fill(&prefer(found, is_apart), looked),
    }
}

/// After the first places, those that fit what was chosen so far come before those that do not.
fn prefer(found: &[usize], fits: impl Fn(&[usize], usize) -> bool) -> Vec<usize> {
    let mut chosen = found[..found.len().min(KEPT)].to_vec();
    let mut waiting = Vec::new();
    for &record in found.iter().skip(KEPT) {
        if fits(&chosen, record) {
            chosen.push(record);
        } else {
            waiting.push(record);
        }
    }
    chosen.extend(waiting);
    chosen
}

/// The last of the first ten places go to the best of the second look that are not among the others.
fn fill(found: &[usize], looked: &[usize]) -> Vec<usize> {
    let kept = &found[..found.len().min(CUT - LOOKS)];
    let mut chosen = kept.to_vec();
    chosen.extend(looked.iter().filter(|record| !kept.contains(record)).take(LOOKS));
    let rest: Vec<usize> = found.iter().filter(|record| !chosen.contains(record)).copied().collect();
    chosen.extend(rest);
    chosen
}

fn print(table: &Table) {
    println!("gold records among the first {CUT}, share and all of them, %; then what each way adds to both\n");
    print!("{:12} {:26} questions  share   all", "set", "kind");
    Way::ALL.iter().skip(1).for_each(|way| print!(" {:>12}", way.name()));
    println!();
    for ((set, kind), sums) in table {
        let [share, all] = [&sums.share, &sums.all].map(|ways| percent(ways[0], sums.questions));
        print!("{set:12} {kind:26} {:9} {share:6.1} {all:5.1}", sums.questions);
        for way in 1..Way::ALL.len() {
            let [share, all] = sums.gains(way);
            print!("  {share:+5.1} {all:+5.1}");
        }
        println!();
    }
    println!();
}

/// A way is worth keeping if the kinds with several answers gain and no other loses.
fn verdict(table: &Table, way: usize) -> Verdict {
    let kinds = || table.iter().filter(|((_, kind), _)| kind != "all together");
    let is_several = |kind: &str| SEVERAL.contains(&kind);
    let gains = kinds().filter(|((_, kind), _)| is_several(kind)).map(|(_, sums)| sums.gains(way)[0]);
    let least = gains.fold(f64::INFINITY, f64::min);
    let others = kinds().filter(|((_, kind), _)| !is_several(kind));
    let losses = others.map(|((set, kind), sums)| (-sums.gains(way)[0], set, kind));
    let (loss, set, kind) = losses.max_by(|one, other| one.0.total_cmp(&other.0)).expect("there are other kinds");
    Verdict {
        is_met: least >= GAIN_MIN && loss <= LOSS_MAX,
        bar: format!(
            "{}: kinds with several answers gain at least {least:.1} points of share (bar: {GAIN_MIN} in each set), \
             {set} {kind} loses {loss:.1} (bar: {LOSS_MAX})",
            Way::ALL[way].name()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_places_stay_and_nothing_is_lost_or_doubled() {
        let found: Vec<usize> = vec![10, 11, 40, 41, 80, 12, 13, 90, 42, 60, 70, 20];
        let sessions: Vec<usize> = (0..100).map(|record| record / 10).collect();
        for way in Way::ALL {
            let chosen = choose(way, &found, &[60, 99, 98, 97], &sessions);
            assert_eq!(chosen[..KEPT], found[..KEPT], "{}", way.name());
            let mut sorted = chosen.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), chosen.len(), "{}", way.name());
            assert!(found.iter().all(|record| chosen.contains(record)), "{}", way.name());
        }
    }

    #[test]
    fn neighbours_and_further_records_of_a_session_wait() {
        let sessions: Vec<usize> = (0..100).map(|record| record / 10).collect();
        let found = [10, 40, 80, 20, 30, 11, 12, 60];
        assert_eq!(choose(Way::Apart, &found, &[], &sessions), [10, 40, 80, 20, 30, 60, 11, 12]);
        assert_eq!(choose(Way::OtherSessions, &found, &[], &sessions), [10, 40, 80, 20, 30, 11, 60, 12]);
        let found: Vec<usize> = (0..12).map(|place| place * 5).collect();
        let filled = choose(Way::SecondLook, &found, &[5, 99, 98, 97], &sessions);
        assert_eq!(filled[CUT - LOOKS..CUT], [99, 98]);
    }
}
