//! Does a search find what it should, and does what holds come first?

use anyhow::{Context, Result};

use super::{Chapter, Part, Shown};
use crate::plot::{Axis, Series, bars, lines};
use crate::reading::{grouped, number, numbers, table};
use crate::run::Run;

pub(super) fn recall() -> Chapter {
    Chapter {
        title: "Recall",
        parts: vec![
            Part {
                title: "Questions to labelled sets",
                run: "recall",
                show: labelled_sets,
                not_shown: "how an assistant uses the hits; languages other than English; data that nobody had looked at. The weights were chosen \
                            on these sets, so expect less on others: [Recall](concepts/recall.md#how-well-it-ranks) says how much less on held-back \
                            projects. Cranfield is not in the mean, because its abstracts are unlike memories.",
            },
            Part {
                title: "What the score says",
                run: "score",
                show: score,
                not_shown: "whether 0.7 is right seven times in ten: only the share on each side of 0.5 was counted.",
            },
            Part {
                title: "Records found by meaning alone",
                run: "gate",
                show: gate,
                not_shown: "languages other than English.",
            },
        ],
    }
}

pub(super) fn freshness() -> Chapter {
    Chapter {
        title: "Freshness",
        parts: vec![
            Part {
                title: "The newer fact first",
                run: "freshness",
                show: newer_first,
                not_shown: "facts that changed without any save, key or check that tells: those can't be told from facts that hold.",
            },
            Part {
                title: "Thirty commits in the life of two repositories",
                run: "life",
                show: life,
                not_shown: "a real repository: its pages and changes are made up by a program, with one seed.",
            },
        ],
    }
}

const SETS: [(&str, &str); 6] = [
    ("locomo", "LoCoMo"),
    ("locomo_obs", "LoCoMo facts"),
    ("beam100k", "BEAM 100k"),
    ("beam500k", "BEAM 500k"),
    ("mean", "mean of the four"),
    ("cranfield", "Cranfield"),
];
const RANKERS: [(&str, &str); 3] = [("full", "Mnemon"), ("FTS5 porter", "SQLite FTS5"), ("BM25", "BM25")];

fn labelled_sets(run: &Run) -> Result<Shown> {
    let row = |set: &str, ranker: &str| run.line(&format!("{set:12} {ranker:15}"));
    let after = |line: &str, ranker: &str| line.split_once(ranker).map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    let mut rows = Vec::new();
    let mut groups = Vec::new();
    for (set, name) in SETS {
        let mut tens = Vec::new();
        for (ranker, called) in RANKERS {
            let figures = after(row(set, ranker)?, ranker);
            let at = |place| number(&figures, place).map(str::to_owned);
            tens.push(at(2)?);
            rows.push(vec![name.to_owned(), called.to_owned(), at(0)?, at(1)?, at(2)?, at(4)?, at(5)?]);
        }
        groups.push((name.to_owned(), tens));
    }
    let keywords = run.lines_with("as one").last().context("the row of keyword queries is missing")?;
    let text = format!(
        "Share of the records that answer a question and are among the first 1, 5 and 10 hits, in percent; mean reciprocal rank; nDCG@10. Each \
         project of a set is searched by itself.\n\n{}\nOf keyword queries (two or three words of a record) to all sets as one workspace, {} of {} \
         show a record with all their words first.",
        table(&["set", "ranking", "R@1", "R@5", "R@10", "MRR", "nDCG@10"], &rows),
        grouped(number(keywords, 0)?),
        grouped(number(keywords, 1)?)
    );
    let y = Axis::linear("R@10, percent", &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    let plot = bars("Answers among the first ten hits", &y, &RANKERS.map(|(_, called)| called), &groups);
    Ok(Shown { text, plots: vec![("recall", "R@10 of Mnemon, SQLite FTS5 and BM25 on each set", plot)] })
}

fn score(run: &Run) -> Result<Shown> {
    let named = [
        ("together", "all sets"),
        ("half 0", "fitted on one half of the projects, measured on the other"),
        ("half 1", "and the other way round"),
        ("3 words", "queries cut to their 3 longest words"),
        ("2 words", "queries cut to their 2 longest words"),
    ];
    let mut rows = Vec::new();
    for (beginning, name) in named {
        let figures = run.line(beginning)?.split_once(beginning).map_or("", |(_, rest)| rest);
        let at = |place| number(figures, place);
        let share = |place| anyhow::Ok(format!("{} % of {}", at(place)?, grouped(at(place + 1)?)));
        rows.push(vec![name.to_owned(), share(0)?, share(2)?]);
    }
    Ok(Shown::text(format!(
        "A score is the chance that a record is an answer. The share of right hits, and of hits of foreign queries (asked of another set), that score \
         above 0.5:\n\n{}",
        table(&["", "right hits", "foreign hits"], &rows)
    )))
}

fn gate(run: &Run) -> Result<Shown> {
    let points =
        run.lines().filter(|line| line.contains(" |  ") && line.trim_start_matches([' ', '*']).starts_with(['-', '0']));
    let rows: Vec<Vec<f64>> = points.map(|line| numbers(line.trim_start_matches([' ', '*']))).collect();
    anyhow::ensure!(
        rows.len() > 5 && rows.iter().all(|row| row.len() == 12),
        "bench/runs/gate.txt: the curve has another form"
    );
    let shipped = run.line("*-")?.trim_start_matches('*');
    let at = |place| number(shipped, place);
    let text = format!(
        "A record that shares no word with a question is returned if its meaning is near enough. Where the bar stands in the service, {} % of foreign \
         questions get such a record ({} % in small workspaces), and {} % of paraphrased questions, which share few words with their answer, find it \
         among ten (95 % interval {} to {}). Questions as people asked them: {} %.",
        at(6)?,
        at(7)?,
        at(8)?,
        at(9)?,
        at(10)?,
        at(11)?
    );
    let series = |name: &str, place: usize| Series {
        name: name.to_owned(),
        points: rows.iter().map(|row| (row[0], row[place])).collect(),
    };
    let plot = lines(
        "What a higher bar keeps out, and what it costs",
        &Axis::linear("base of the bar (the service: -0.15)", &[-0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2]),
        &Axis::linear("percent", &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
        &[series("foreign questions", 6), series("paraphrased, R@10", 8), series("as asked, R@10", 11)],
    );
    Ok(Shown {
        text,
        plots: vec![("gate", "Foreign questions that get a record, and R@10, by the base of the bar", plot)],
    })
}

fn newer_first(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for name in ["source changed", "key disputed", "replaced", "valid_until passed", "together"] {
        let line = run.line(name)?;
        rows.push(vec![
            name.to_owned(),
            number(line, 0)?.to_owned(),
            format!("{} %", number(line, 1)?),
            format!("{} %", number(line, 5)?),
        ]);
    }
    let stale = run.lines_with("together").nth(1).context("the second table is missing")?;
    Ok(Shown::text(format!(
        "A fact changed, and an older record of it is still there. Questions whose first answer was the old record before the change:\n\n{}\n\
         Where only a stale record answers, it is among the first three for {} % of {} questions, marked as stale.",
        table(&["how it changed", "questions", "newer fact first", "newer before old, all questions"], &rows),
        number(stale, 1)?,
        number(stale, 0)?
    )))
}

fn life(run: &Run) -> Result<Shown> {
    let printed = run.lines().skip_while(|line| !line.starts_with("commit "));
    let rows: Vec<Vec<f64>> = printed.map(numbers).filter(|row| row.len() == 4).collect();
    let last = rows.last().context("no commit was recorded")?;
    let series = |name: &str, place: usize| Series {
        name: name.to_owned(),
        points: rows.iter().map(|row| (row[0], row[place])).collect(),
    };
    let opening: Vec<&str> = run.lines().take_while(|line| !line.is_empty()).collect();
    let text = format!(
        "{}. Wrong facts among those shown as if they held, after the last commit: {:.1} % with `mnemon validate` \
         after each commit, {:.1} % without it, {:.1} % by a full-text index.",
        opening.join("; "),
        last[1],
        last[2],
        last[3]
    );
    let plot = lines(
        "Wrong facts shown as if they held",
        &Axis::linear("commit", &[1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]),
        &Axis::linear("percent of the facts shown so", &[0.0, 20.0, 40.0, 60.0, 80.0]),
        &[series("Mnemon with validate", 1), series("SQLite FTS5", 3), series("Mnemon without", 2)],
    );
    Ok(Shown { text, plots: vec![("life", "Wrong facts shown as if they held, by commit", plot)] })
}
