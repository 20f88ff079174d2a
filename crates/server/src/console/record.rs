//! One record: its text, why it has its status, what contradicts it, and what can be done about it.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use mnemon_core::{Reason, Record, RecordId, Timestamp, confirms_hash, shown_hash};
use mnemon_engine::admin::{AdminError, Doer, Happening, RecordDetail, ShownRecord, What};
use mnemon_engine::console::{Because, ConsoleError};

use super::flash::Flash;
use super::parts::{self as p, Html};
use super::query::{Opt, Query};
use super::record_row::RecordRow;
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};

/// From this confidence on somebody counts as sure.
const SURE: f64 = 0.5;
const RESTORE_SECONDS: i64 = 30 * 86_400;

#[derive(Template)]
#[template(path = "console/record.html")]
pub(super) struct Page<'a> {
    shell: Shell<'a>,
    rec: RecordRow,
    /// The whole text.
    text: String,
    name: String,
    /// The way to its workspace.
    workspace: Html,
    facts: Vec<(&'static str, Html)>,
    events: Vec<Event>,
    stale: Option<Stale>,
    rivals: Vec<Rival>,
    forgotten: Option<Forgotten>,
    may_change: bool,
    /// Whether it can be saved again with the newest hash of its source.
    may_hold: bool,
    may_restore: bool,
    may_purge: bool,
    tags: String,
    scopes: Vec<Opt>,
    /// Until when a record that is forgotten now can be restored.
    restorable_until: String,
}

struct Event {
    icon: &'static str,
    class: &'static str,
    at: Html,
    text: Html,
}

/// Why it is stale, where its source is the reason.
struct Stale {
    source: String,
    source_link: String,
    /// What it was saved with and what is known now; nothing if the source is gone.
    hashes: Option<(String, String)>,
    moved_to: Option<String>,
    saved: Html,
    /// When the newest hash was seen, or that the source is gone.
    known_at: Option<Html>,
    /// Who brought it.
    brought_by: Html,
    others_link: String,
}

/// One side of a conflict.
struct Rival {
    id: String,
    is_this: bool,
    text: String,
    saved: Html,
    /// What speaks for it, against it, or for neither.
    speaks: Vec<(Option<bool>, Html)>,
    short: String,
    others: usize,
}

struct Forgotten {
    left: String,
    until: String,
    replaced_by: Option<String>,
}

/// `GET /console/records/{id}`
pub(super) async fn show(visit: Visit, Path(id): Path<String>) -> Response {
    visit.show(build(&visit, &id).await)
}

pub(super) fn parse(id: &str) -> Result<RecordId, ConsoleError> {
    id.parse().map_err(|_| ConsoleError::Admin(AdminError::NotFound("record")))
}

pub(super) async fn build<'a>(visit: &'a Visit, id: &str) -> Result<Page<'a>, ConsoleError> {
    let detail = visit.engine().show_record(&visit.visitor.admin, parse(id)?).await?;
    let history = visit.engine().show_history(&visit.visitor.admin, &detail).await?;
    let (record, now) = (&detail.shown.listed.record, visit.now);
    let because = Because { reason: detail.reason, rivals: detail.rivals_count, source: detail.source.clone() };
    let forgotten = detail.shown.listed.forgotten_at.map(|at| forgotten(&detail, at, now));
    let mut rec = match detail.shown.listed.forgotten_at {
        Some(at) => RecordRow::forgotten(record, &because, at, now),
        None => RecordRow::new(record, &because, now),
    };
    // Both stand beside the text.
    (rec.key, rec.workspace) = (None, None);
    let name = record.fact_key.text.clone();
    let is_forgotten = forgotten.is_some();
    Ok(Page {
        shell: Shell::new(visit, Place::Memory, &name),
        text: record.fact.content.clone(),
        workspace: workspace_of(record),
        facts: facts(record, detail.shown.listed.forgotten_at),
        events: events(&detail, &history, now),
        stale: if is_forgotten { None } else { stale(&detail, &history, now) },
        rivals: if is_forgotten { Vec::new() } else { rivals(&detail, now) },
        forgotten,
        may_change: visit.may_change_memory(),
        may_hold: visit.may_change_memory() && !is_forgotten && detail.reason == Reason::SourceChanged,
        may_restore: visit.may_write(),
        may_purge: visit.visitor.admin.may_restore() && visit.may_write(),
        tags: record.fact.tags.as_slice().join(", "),
        scopes: super::query::scopes(),
        restorable_until: until(now),
        rec,
        name,
    })
}

fn until(from: Timestamp) -> String {
    let end = Timestamp::from_second(from.as_second() + RESTORE_SECONDS).unwrap_or(Timestamp::MAX);
    end.strftime("%-d %B").to_string()
}

fn workspace_of(record: &Record) -> Html {
    let link = Query::default().with("workspace", record.workspace.as_str()).link("/console/memory");
    Html(format!(r#"<a href="{}">{}</a>"#, p::esc(&link), p::said(record.workspace.as_str())))
}

fn facts(record: &Record, forgotten_at: Option<Timestamp>) -> Vec<(&'static str, Html)> {
    let fact = &record.fact;
    let mono = |text: &str| Html(format!(r#"<span class="mono break">{}</span>"#, p::said(text)));
    let key = match record.fact_key.chosen() {
        Some(key) => {
            Html(format!(r#"<a class="mono break" href="{}">{}</a>"#, p::esc(&linked("key", key)), p::said(key)))
        }
        None => mono(record.fact_key.text.as_str()),
    };
    let mut facts = vec![("Fact key", key), ("Workspace", workspace_of(record))];
    facts.push(("Scope", Html(record.audience.scope().as_str().to_owned())));
    let source = fact.source_id.as_ref().map(|id| {
        let link = Query::default().with("source", id).link("/console/memory");
        Html(format!(r#"<a href="{}" class="break">{}</a>"#, p::esc(&link), p::said(id)))
    });
    facts.push(("Source", source.unwrap_or_else(|| Html("none".to_owned()))));
    let tags = fact.tags.as_slice().iter().map(|tag| p::said(tag).0).collect::<Vec<_>>().join(", ");
    let given: [(&'static str, Option<Html>); 7] = [
        ("Said about it", fact.source.as_deref().map(p::said)),
        ("Revision", fact.source_revision.as_deref().map(mono)),
        ("Hash", fact.source_hash.as_deref().map(mono)),
        ("Author", record.author_name.as_deref().map(|name| linked_author(name, record.department_name.as_deref()))),
        ("Confidence", fact.confidence.map(|confidence| Html(format!("{confidence}")))),
        ("Tags", (!tags.is_empty()).then_some(Html(tags))),
        ("Happened", fact.occurred_at.as_ref().map(|at| p::said(at.as_str()))),
    ];
    facts.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let end = fact.valid_until.map_or_else(|| "no end".to_owned(), p::exact);
    facts.extend([("Holds until", Html(end)), ("Saved", Html(p::exact(record.created_at)))]);
    if record.updated_at != record.created_at {
        facts.push(("Changed", Html(p::exact(record.updated_at))));
    }
    if let Some(at) = forgotten_at {
        facts.push(("Forgotten", Html(p::exact(at))));
    }
    facts.push(("Id", Html(format!(r#"<span class="mono break" id="rid">{}</span>"#, record.id))));
    facts
}

fn linked(name: &'static str, value: &str) -> String {
    Query::default().with(name, value).link("/console/memory")
}

fn linked_author(name: &str, department: Option<&str>) -> Html {
    let department = department.map(|name| format!(", {}", p::said(name))).unwrap_or_default();
    Html(format!(r#"<a href="{}">{}</a>{department}"#, p::esc(&linked("author", name)), p::said(name)))
}

fn author(name: &str, department: Option<&str>) -> Html {
    let department = department.map(|name| format!(", {}", p::said(name))).unwrap_or_default();
    Html(format!("{}{department}", p::said(name)))
}

/// What happened to it, newest first.
fn events(detail: &RecordDetail, history: &[Happening], now: Timestamp) -> Vec<Event> {
    history.iter().rev().map(|happening| event(detail, happening, now)).collect()
}

fn event(detail: &RecordDetail, happening: &Happening, now: Timestamp) -> Event {
    let record = &detail.shown.listed.record;
    let source = || p::said(record.fact.source_id.as_deref().unwrap_or("its source"));
    let other = |id: RecordId, words: &str| format!(r#"<a href="/console/records/{id}">{words}</a>"#);
    let (icon, class, text) = match happening.what {
        What::Saved => ("plus", "", "Saved".to_owned()),
        What::SavedAgain => ("undo", "", "Saved again with the same text".to_owned()),
        What::Tagged => ("tag", "", "Tags changed".to_owned()),
        What::TookPlace => ("undo", "", "Took the place of an older record".to_owned()),
        What::Kept => ("check", "", "Kept; what disputed it was forgotten".to_owned()),
        What::Forgotten => ("trash", "", "Forgotten".to_owned()),
        What::Replaced { by: Some(by) } => ("trash", "", format!("Replaced by {}", other(by, "another record"))),
        What::Replaced { by: None } => ("trash", "", "Replaced by another record".to_owned()),
        What::Restored => ("undo", "", "Restored".to_owned()),
        What::Verified => ("verified", "is-verified", format!("Verified: {} was seen unchanged", source())),
        What::Changed { saved: Some(id) } => {
            let text = format!("Stale: {} came with another hash, in {}", source(), other(id, "another record"));
            ("stale", "is-stale", text)
        }
        What::Changed { saved: None } => ("stale", "is-stale", format!("{} was seen with another hash", source())),
        What::Gone => ("stale", "is-stale", format!("Stale: {} was seen to be gone", source())),
        What::Expired => ("stale", "is-stale", "Stale: its time passed".to_owned()),
        What::Disputed { with } => {
            let key = p::said(record.fact_key.chosen().unwrap_or_default());
            let says = other(with, "something else");
            let text = format!(r#"Disputed: {says} was saved under <span class="mono break">{key}</span>"#);
            ("conflict", "is-conflict", text)
        }
    };
    let text = Html(format!("{text}{}", by(&happening.by)));
    Event { icon, class, at: p::ago(happening.at, now), text }
}

/// Who did something, and with which key.
fn by(doer: &Doer) -> String {
    let name = doer.name.as_deref().map(|name| format!(" by {}", p::said(name)));
    let key = doer.key.as_deref().map(|key| format!(r#" <span class="soft">with the key {}</span>"#, p::said(key)));
    format!("{}{}", name.unwrap_or_default(), key.unwrap_or_default())
}

fn stale(detail: &RecordDetail, history: &[Happening], now: Timestamp) -> Option<Stale> {
    let record = &detail.shown.listed.record;
    if !matches!(detail.reason, Reason::SourceChanged | Reason::SourceGone) {
        return None;
    }
    let source = record.fact.source_id.clone()?;
    let known = detail.source.state.known_hash.as_deref().map(|known| shown_hash(known).to_owned());
    let of_source = Query::default().with("source", &source).with("workspace", record.workspace.as_str());
    Some(Stale {
        source_link: of_source.link("/console/memory"),
        others_link: of_source.with("status", "stale").link("/console/memory"),
        hashes: record.fact.source_hash.clone().zip(known),
        moved_to: detail.source.state.moved_to.clone(),
        saved: p::ago(record.created_at, now),
        known_at: detail.source.known_at.map(|at| p::ago(at, now)),
        brought_by: Html(brought_by(history)),
        source,
    })
}

fn brought_by(history: &[Happening]) -> String {
    let newest = history.iter().rev().find(|one| matches!(one.what, What::Changed { .. } | What::Gone));
    newest.map(|one| by(&one.by)).unwrap_or_default()
}

fn rivals(detail: &RecordDetail, now: Timestamp) -> Vec<Rival> {
    if detail.rivals.is_empty() {
        return Vec::new();
    }
    let all: Vec<&ShownRecord> = std::iter::once(&detail.shown).chain(&detail.rivals).collect();
    let newest = all.iter().map(|shown| shown.listed.record.updated_at).max();
    let side = |shown: &&ShownRecord| {
        let record = &shown.listed.record;
        let fact = &record.fact;
        let mut speaks = Vec::new();
        speaks.push(match &fact.source_id {
            Some(source) => (Some(true), Html(format!("has a source: {}", p::said(source)))),
            None => (Some(false), Html("no source to check".to_owned())),
        });
        let confirmed = detail.source.state.confirmed_hash.as_deref();
        let is_confirmed = |hash: &String| confirmed.is_some_and(|confirmed| confirms_hash(confirmed, hash));
        if fact.source_id == detail.shown.listed.record.fact.source_id
            && fact.source_hash.as_ref().is_some_and(is_confirmed)
        {
            speaks.push((Some(true), Html("the source was seen unchanged".to_owned())));
        }
        let who =
            author(record.author_name.as_deref().unwrap_or("somebody who left"), record.department_name.as_deref());
        let sure = match fact.confidence {
            Some(confidence) => format!(", {:.0} % sure", confidence * 100.0),
            None => ", who did not say how sure".to_owned(),
        };
        // Not knowing how sure somebody was speaks neither for the record nor against it.
        let is_sure = fact.confidence.map(|confidence| confidence >= SURE);
        speaks.push((is_sure, Html(format!("saved by {who}{sure}"))));
        let is_newest = Some(record.updated_at) == newest;
        let word = if is_newest { "the newest" } else { "older" };
        speaks.push((is_newest.then_some(true), Html(word.to_owned())));
        Rival {
            id: record.id.to_string(),
            is_this: record.id == detail.shown.listed.record.id,
            text: fact.content.clone(),
            saved: p::ago(record.updated_at, now),
            speaks,
            short: short(&fact.content),
            others: all.len() - 1,
        }
    };
    all.iter().map(side).collect()
}

fn short(text: &str) -> String {
    let words: String = text.chars().take(40).collect();
    if words.len() < text.len() { format!("{words} …") } else { words }
}

fn forgotten(detail: &RecordDetail, at: Timestamp, now: Timestamp) -> Forgotten {
    let left = (at.as_second() + RESTORE_SECONDS - now.as_second()).max(0);
    Forgotten {
        left: p::counted((left / 86_400).unsigned_abs(), "day"),
        until: until(at),
        replaced_by: detail.shown.listed.superseded_by.map(|id| id.to_string()),
    }
}

/// `POST /console/records/{id}/forget`
pub(super) async fn forget(Path(id): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match parse(&id) {
        Ok(id) => visit.engine().forget_in_console(&visit.visitor, id).await,
        Err(error) => Err(error),
    };
    let told = Flash::new(format!("Record forgotten. It can be restored until {}.", until(visit.now)));
    let told = told.with_undo("/console/records/restore", "ids", id.clone());
    visit.done(outcome.map(|()| told), &format!("/console/records/{id}"))
}

/// `POST /console/records/restore`: one record, or all that one act forgot.
pub(super) async fn restore(act: Act) -> Response {
    let visit = &act.visit;
    let ids: Vec<&str> = act.fields.find("ids").unwrap_or_default().split(',').collect();
    let mut outcome = Ok(());
    for id in &ids {
        let restored = match parse(id) {
            Ok(id) => visit.engine().restore_record(&visit.visitor.admin, id).await.map_err(ConsoleError::from),
            Err(error) => Err(error),
        };
        outcome = outcome.and(restored.map(|_| ()));
    }
    let told = format!("{} restored.", p::counted(ids.len() as u64, "record"));
    let onward = if ids.len() == 1 { format!("/console/records/{}", ids[0]) } else { "/console/memory".to_owned() };
    visit.done(outcome.map(|()| Flash::new(told)), act.back(&onward))
}

/// `POST /console/records/{id}/purge`
pub(super) async fn purge(Path(id): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match parse(&id) {
        Ok(id) => visit.engine().delete_record(&visit.visitor.admin, id, true).await.map_err(ConsoleError::from),
        Err(error) => Err(error),
    };
    visit.done(outcome.map(|_| Flash::new("Record removed for good.")), "/console/memory?state=forgotten")
}

/// `POST /console/records/{id}/keep`
pub(super) async fn keep(Path(id): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match parse(&id) {
        Ok(id) => visit.engine().keep_record(&visit.visitor.admin, id).await.map_err(ConsoleError::from),
        Err(error) => Err(error),
    };
    let told = outcome.map(|forgotten| {
        let ids = forgotten.ids;
        let told = Flash::new(format!("Kept. {} forgotten.", p::counted(ids.len() as u64, "other record")));
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        if !ids.is_empty() { told.with_undo("/console/records/restore", "ids", ids.join(",")) } else { told }
    });
    visit.done(told, &format!("/console/records/{id}"))
}

/// `POST /console/records/{id}/hold`: somebody has looked, and it still holds.
pub(super) async fn hold(Path(id): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match parse(&id) {
        Ok(id) => visit.engine().hold_in_console(&visit.visitor, id).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(saved) => {
            let told = Flash::new("Saved again with the newest hash of its source.");
            visit.done(Ok(told), &format!("/console/records/{}", saved.record.id))
        }
        Err(error) => visit.trouble(&error),
    }
}
