//! A record in a list: its status and the reason, its text, where it comes from, and why a search found it.

use std::ops::Range;

use mnemon_core::{Reason, Record, Scope, Status, Timestamp};
use mnemon_engine::console::Because;
use mnemon_engine::{ExplainedHit, Explanation};

use super::parts::{self as p, Html};
use super::query::Query;

/// How much of a text a list shows: with 16 KiB each, a page of them would be too large.
const SHOWN_CHARS_MAX: usize = 300;
/// The same where many are shown at once.
const COMPACT_CHARS_MAX: usize = 200;

pub(super) struct RecordRow {
    pub(super) id: String,
    /// Its status as a class.
    pub(super) class: &'static str,
    pub(super) chip: Html,
    pub(super) because: Html,
    pub(super) text: Html,
    /// How much more there is.
    pub(super) more: Option<String>,
    /// The fact key, where a caller gave it.
    pub(super) key: Option<String>,
    pub(super) source: Option<String>,
    /// The other records of the source.
    pub(super) source_link: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) author: String,
    /// Links to the records with the same key, author and workspace. They lead to the page Memory.
    pub(super) key_link: Option<String>,
    pub(super) author_link: Option<String>,
    pub(super) workspace_link: Option<String>,
    pub(super) saved: Html,
    /// Where it is; nothing if all records of the page are in the same place.
    pub(super) workspace: Option<String>,
    pub(super) scope: String,
    pub(super) scope_icon: &'static str,
    pub(super) score: Option<Score>,
    pub(super) why: Option<Why>,
    pub(super) why_link: Option<String>,
    /// Where links within the page lead to.
    pub(super) anchor: Option<String>,
    shown_chars_max: usize,
}

pub(super) struct Score {
    pub(super) words: String,
    pub(super) bar: Html,
}

/// The parts of a record's strength.
pub(super) struct Why {
    pub(super) is_open: bool,
    pub(super) bar: Html,
    pub(super) parts: Vec<Part>,
    pub(super) strength: String,
    pub(super) score: String,
}

pub(super) struct Part {
    pub(super) fill: &'static str,
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) text: Html,
}

impl RecordRow {
    pub(super) fn new(record: &Record, because: &Because, now: Timestamp) -> Self {
        let status = because.reason.status();
        let fact = &record.fact;
        let (text, more) = cut(&fact.content, SHOWN_CHARS_MAX);
        let scope = record.audience.scope();
        Self {
            id: record.id.to_string(),
            class: status.as_str(),
            chip: p::chip(status),
            because: reason(record, because, |at| p::ago(at, now)),
            text: Html(p::esc(text)),
            more,
            key: record.fact_key.chosen().map(str::to_owned),
            source: fact.source_id.clone().or_else(|| fact.source.clone()),
            source_link: fact.source_id.as_ref().map(|id| linked("source", id)),
            revision: fact.source_revision.clone(),
            author: record.author_name.clone().unwrap_or_else(|| "somebody who left".to_owned()),
            key_link: record.fact_key.chosen().map(|key| linked("key", key)),
            author_link: record.author_name.as_deref().map(|name| linked("author", name)),
            workspace_link: Some(linked("workspace", record.workspace.as_str())),
            saved: p::ago(record.updated_at, now),
            workspace: Some(record.workspace.to_string()),
            scope: scope_words(record),
            scope_icon: scope.as_str(),
            score: None,
            why: None,
            why_link: None,
            anchor: None,
            shown_chars_max: SHOWN_CHARS_MAX,
        }
    }

    /// The same for a record that is no longer there for searches.
    pub(super) fn forgotten(record: &Record, because: &Because, at: Timestamp, now: Timestamp) -> Self {
        let chip = p::tone("is-gone", "forgotten", "trash");
        Self { class: "gone", chip, because: p::ago(at, now), ..Self::new(record, because, now) }
    }

    /// The same as one of many that a search in one workspace found: a page of them stays below its limit.
    pub(super) fn compact(mut self, record: &Record, because: &Because, now: Timestamp) -> Self {
        // The record's own page shows it to the minute.
        self.because = reason(record, because, |at| Html(p::distance(at, now)));
        self.shown_chars_max = COMPACT_CHARS_MAX;
        let (text, more) = cut(&record.fact.content, self.shown_chars_max);
        (self.text, self.more, self.workspace) = (Html(p::esc(text)), more, None);
        // The page is on this path already.
        self.source_link = record.fact.source_id.as_ref().map(|id| Query::default().with("source", id).link(""));
        (self.key_link, self.author_link, self.workspace_link) = (None, None, None);
        self
    }

    /// The same in one line of many.
    pub(super) fn line(mut self) -> Self {
        let text = self.text.0.split_whitespace().collect::<Vec<_>>().join(" ");
        (self.text, self.more) = (Html(text), None);
        self
    }

    /// Marks words of the query in the part of the text that is shown.
    pub(super) fn marked(mut self, record: &Record, spans: &[Range<usize>]) -> Self {
        let (text, _) = cut(&record.fact.content, self.shown_chars_max);
        let (mut marked, mut at) = (String::new(), 0);
        for span in spans.iter().filter(|span| span.end <= text.len()) {
            let (Some(between), Some(word)) = (text.get(at..span.start), text.get(span.clone())) else { continue };
            marked.push_str(&format!("{}<mark>{}</mark>", p::esc(between), p::esc(word)));
            at = span.end;
        }
        marked.push_str(&p::esc(text.get(at..).unwrap_or_default()));
        self.text = Html(marked);
        self
    }

    pub(super) fn scored(mut self, hit: &ExplainedHit) -> Self {
        let words = format!("{:.2}", hit.score);
        let bar = p::fillbar_of(hit.score, "1");
        self.score = Some(Score { words, bar });
        self
    }
}

fn linked(name: &'static str, value: &str) -> String {
    Query::default().with(name, value).link("/console/memory")
}

fn scope_words(record: &Record) -> String {
    match (record.audience.scope(), &record.department_name) {
        (Scope::Department, Some(name)) => format!("department: {name}"),
        (scope, _) => scope.as_str().to_owned(),
    }
}

/// The first characters, and how many more there are.
fn cut(text: &str, chars_max: usize) -> (&str, Option<String>) {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return (text, None) };
    let rest = text[end..].chars().count() as u64;
    (&text[..end], Some(format!("{} more characters", p::number(rest))))
}

/// The reason for a status, in one clause.
fn reason(record: &Record, because: &Because, ago: impl Fn(Timestamp) -> Html) -> Html {
    let plain = |text: &str| Html(text.to_owned());
    match because.reason {
        Reason::ValidUntilPassed => {
            let end = record.fact.valid_until.map(|end| p::moment(end, &p::day(end))).unwrap_or_default();
            Html(format!("its time passed on {end}"))
        }
        Reason::SourceGone => {
            let at = because.source.known_at.map(|at| format!(", seen {}", ago(at))).unwrap_or_default();
            match &because.source.state.moved_to {
                Some(to) => Html(format!(r#"its source moved to <span class="mono break">{}</span>{at}"#, p::said(to))),
                None => Html(format!("its source is gone{at}")),
            }
        }
        Reason::SourceChanged => because.source.known_at.map_or_else(
            || plain("its source changed after this was saved"),
            |at| Html(format!("source changed {}, after this was saved", ago(at))),
        ),
        Reason::Disputed => {
            let key = p::said(record.fact_key.chosen().unwrap_or_default());
            let others = match because.rivals {
                1 => "1 other record says".to_owned(),
                count => format!("{count} other records say"),
            };
            Html(format!(r#"{others} otherwise under <span class="mono break">{key}</span>"#))
        }
        Reason::Confirmed => because.source.confirmed_at.map_or_else(
            || plain("its source was seen unchanged"),
            |at| Html(format!("source seen unchanged {}", ago(at))),
        ),
        Reason::NeverChecked => plain("nobody has checked it against its source"),
        Reason::NoSource if record.fact.source_id.is_some() => plain("it was saved without a hash of its source"),
        Reason::NoSource => plain("it has no source to check"),
    }
}

/// The part of a strength that neighbours gave.
fn around(hit: &ExplainedHit) -> f64 {
    hit.around_share + hit.ring_share
}

fn own_words(hit: &ExplainedHit) -> f64 {
    hit.words_share + hit.count_share + hit.cover_share + hit.pairs_share
}

fn beyond(hit: &ExplainedHit) -> f64 {
    hit.time_share + hit.all_words_bonus + hit.as_typed_bonus + hit.truth_share
}

fn shares(hit: &ExplainedHit) -> [(&'static str, f64); 4] {
    [("1", own_words(hit)), ("2", hit.cosine_share), ("3", around(hit)), ("4", beyond(hit))]
}

/// How far the bars of a page reach to the right and to the left of zero.
pub(super) fn scale<'a>(hits: impl Iterator<Item = &'a ExplainedHit> + Clone) -> (f64, f64) {
    let reach = |pick: fn(f64) -> f64| {
        hits.clone().map(|hit| shares(hit).iter().map(|(_, share)| pick(*share)).sum::<f64>()).fold(0.0, f64::max)
    };
    (reach(|share| share.max(0.0)), reach(|share| (-share).max(0.0)))
}

/// Why a search found a record.
pub(super) fn why(hit: &ExplainedHit, explanation: &Explanation, scale: (f64, f64), is_open: bool) -> Why {
    let mut parts = Vec::new();
    let mut add = |fill, name, value: f64, text: Html| {
        if value != 0.0 {
            parts.push(Part { fill, name, value: p::signed(value), text });
        }
    };
    add("1", "Words", own_words(hit), matched(hit, explanation));
    let cosine = hit.cosine.map_or_else(|| "no meaning is known".to_owned(), |cosine| format!("cosine {cosine:.2}"));
    add("2", "Meaning", hit.cosine_share, Html(cosine));
    add("3", "Neighbours", around(hit), Html("words of records that were saved beside it".to_owned()));
    add("4", "Time", hit.time_share, Html("it lies in the time that the query means, or near it".to_owned()));
    add("4", "Every word", hit.all_words_bonus, Html("it has all words of the query".to_owned()));
    add("4", "As typed", hit.as_typed_bonus, Html("in the spelling of the query".to_owned()));
    add(
        "4",
        "It holds",
        hit.truth_share,
        Html("against records of the same thing that are stale or disputed".to_owned()),
    );
    let label = format!("Strength {:.2}", hit.strength);
    Why {
        is_open,
        bar: p::zerobar(&shares(hit), &label, scale),
        parts,
        strength: p::signed(hit.strength),
        score: format!("gives the score {:.2}. 0 is the average record.", hit.score),
    }
}

fn matched(hit: &ExplainedHit, explanation: &Explanation) -> Html {
    let lent: Vec<String> = explanation.lent.iter().take(5).map(|word| p::esc(&word.stem)).collect();
    let lent = match (lent.is_empty(), hit.words_with_lent > hit.words) {
        (false, true) => format!("; lent by the best hits: {}", lent.join(", ")),
        _ => String::new(),
    };
    let words: Vec<String> = hit.matched.iter().map(|stem| p::esc(stem)).collect();
    match words.len() {
        0 => Html(format!("no word of the query stands in it{lent}")),
        1 => Html(format!("<b>{}</b> stands in it{lent}", words[0])),
        _ => Html(format!("<b>{}</b> stand in it{lent}", words.join(", "))),
    }
}

/// The word of a status as counts say it.
pub(super) const fn count_word(status: Status) -> &'static str {
    match status {
        Status::Conflict => "in conflict",
        other => other.as_str(),
    }
}
