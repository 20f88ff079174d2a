//! One record: its text, why it has its status, what contradicts it, and what can be done about it.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use mnemon_core::{Reason, Record, RecordId, Timestamp, confirms_hash, shown_hash};
use mnemon_engine::admin::{AdminError, RecordDetail, ShownRecord};
use mnemon_engine::console::{Because, ConsoleError};

use super::flash::Flash;
use super::parts::{self as p, Html};
use super::query::Query;
use super::record_row::Rec;
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};

const RESTORE_SECONDS: i64 = 30 * 86_400;

#[derive(Template)]
#[template(path = "console/record.html")]
pub(super) struct Page<'a> {
    shell: Shell<'a>,
    rec: Rec,
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
    /// Until when a record that is forgotten now can be restored.
    restorable_until: String,
}

struct Event {
    icon: &'static str,
    class: &'static str,
    at: Html,
    text: Html,
    when: Timestamp,
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
    others_link: String,
}

/// One side of a conflict.
struct Rival {
    id: String,
    is_this: bool,
    text: String,
    saved: Html,
    speaks: Vec<(bool, Html)>,
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
    let (record, now) = (&detail.shown.listed.record, visit.now);
    let because = Because { reason: detail.reason, rivals: detail.rivals_count, source: detail.source.clone() };
    let forgotten = detail.shown.listed.forgotten_at.map(|at| forgotten(&detail, at, now));
    let mut rec = match detail.shown.listed.forgotten_at {
        Some(at) => Rec::forgotten(record, &because, at, now),
        None => Rec::new(record, &because, now),
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
        events: events(&detail, now),
        stale: if is_forgotten { None } else { stale(&detail, now) },
        rivals: if is_forgotten { Vec::new() } else { rivals(&detail, now) },
        forgotten,
        may_change: visit.may_change_memory(),
        may_hold: visit.may_change_memory() && !is_forgotten && detail.reason == Reason::SourceChanged,
        may_restore: visit.visitor.admin.may_restore() && visit.may_write(),
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
    let mut facts = vec![("Fact key", mono(record.fact_key.text.as_str())), ("Workspace", workspace_of(record))];
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
        ("Author", record.author_name.as_deref().map(|name| author(name, record.department_name.as_deref()))),
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

fn author(name: &str, department: Option<&str>) -> Html {
    let department = department.map(|name| format!(", {}", p::said(name))).unwrap_or_default();
    Html(format!("{}{department}", p::said(name)))
}

/// What the record itself knows about its life, newest first.
fn events(detail: &RecordDetail, now: Timestamp) -> Vec<Event> {
    let listed = &detail.shown.listed;
    let record = &listed.record;
    let by = record.author_name.as_deref().map(|name| format!(" by {}", p::said(name))).unwrap_or_default();
    let mut events = vec![event("plus", "", record.created_at, now, format!("Saved{by}"))];
    if record.updated_at != record.created_at {
        let text = "Saved again with the same text; what came with it was brought up to date".to_owned();
        events.push(event("undo", "", record.updated_at, now, text));
    }
    if let Some(end) = record.fact.valid_until.filter(|end| *end <= now) {
        events.push(event("stale", "is-stale", end, now, "Stale: its time passed".to_owned()));
    }
    events.extend(source_events(detail, now));
    events.extend(dispute_events(detail, now));
    if let Some(at) = listed.forgotten_at {
        let text = match listed.superseded_by {
            Some(by) => format!(r#"Replaced by <a class="mono" href="/console/records/{by}">another record</a>"#),
            None => "Forgotten".to_owned(),
        };
        events.push(event("trash", "", at, now, text));
    }
    events.sort_by_key(|event| std::cmp::Reverse(event.when));
    events
}

/// What became known of its source since, as far as moments were kept: the newest of each kind.
fn source_events(detail: &RecordDetail, now: Timestamp) -> Vec<Event> {
    let record = &detail.shown.listed.record;
    let Some(source) = record.fact.source_id.as_deref().map(p::said) else { return Vec::new() };
    let mut events = Vec::new();
    if let Some(at) = detail.source.known_at {
        let text = match (detail.reason, &detail.source.state.moved_to) {
            (Reason::SourceChanged, _) => Some(format!("Stale: {source} became known with another hash")),
            (Reason::SourceGone, Some(to)) => Some(format!("Stale: {source} moved to {}", p::said(to))),
            (Reason::SourceGone, None) => Some(format!("Stale: {source} is gone")),
            _ => None,
        };
        events.extend(text.map(|text| event("stale", "is-stale", at, now, text)));
    }
    if let Some(at) = detail.source.confirmed_at.filter(|_| detail.reason == Reason::Confirmed) {
        events.push(event("verified", "is-verified", at, now, format!("Verified: {source} was seen unchanged")));
    }
    events
}

/// Who saved something else under its key after it.
fn dispute_events(detail: &RecordDetail, now: Timestamp) -> Vec<Event> {
    let record = &detail.shown.listed.record;
    let key = p::said(record.fact_key.chosen().unwrap_or_default());
    let later = detail.rivals.iter().map(|rival| &rival.listed.record).filter(|rival| rival.seq > record.seq);
    let disputed = later.map(|rival| {
        let who = rival.author_name.as_deref().map_or_else(|| "somebody".to_owned(), |name| p::said(name).0);
        let text = format!(r#"Disputed: {who} saved something else under <span class="mono break">{key}</span>"#);
        event("conflict", "is-conflict", rival.created_at, now, text)
    });
    disputed.collect()
}

fn event(icon: &'static str, class: &'static str, when: Timestamp, now: Timestamp, text: String) -> Event {
    Event { icon, class, at: p::ago(when, now), text: Html(text), when }
}

fn stale(detail: &RecordDetail, now: Timestamp) -> Option<Stale> {
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
        source,
    })
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
            Some(source) => (true, Html(format!("has a source: {}", p::said(source)))),
            None => (false, Html("no source to check".to_owned())),
        });
        let confirmed = detail.source.state.confirmed_hash.as_deref();
        let is_confirmed = |hash: &String| confirmed.is_some_and(|confirmed| confirms_hash(confirmed, hash));
        if fact.source_id == detail.shown.listed.record.fact.source_id
            && fact.source_hash.as_ref().is_some_and(is_confirmed)
        {
            speaks.push((true, Html("the source was seen unchanged".to_owned())));
        }
        let who =
            author(record.author_name.as_deref().unwrap_or("somebody who left"), record.department_name.as_deref());
        let sure = match fact.confidence {
            Some(confidence) => format!("; confidence {confidence}"),
            None => "; no confidence stated".to_owned(),
        };
        speaks.push((fact.confidence.is_some_and(|confidence| confidence >= 0.5), Html(format!("{who}{sure}"))));
        let is_newest = Some(record.updated_at) == newest;
        speaks.push((is_newest, Html(if is_newest { "newer" } else { "older" }.to_owned())));
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
    let may_restore = visit.visitor.admin.may_restore();
    let told = if may_restore { told.with_undo("/console/records/restore", "ids", id.clone()) } else { told };
    let onward = if may_restore { format!("/console/records/{id}") } else { "/console/memory".to_owned() };
    visit.done(outcome.map(|()| told), &onward)
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
    visit.done(outcome.map(|()| Flash::new(told)), &format!("/console/records/{}", ids[0]))
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
        let can_undo = visit.visitor.admin.may_restore() && !ids.is_empty();
        if can_undo { told.with_undo("/console/records/restore", "ids", ids.join(",")) } else { told }
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
