//! Memory: what assistants find, and everything that this person may see, newest first.

use std::time::Instant;

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::{Record, SEARCH_LIMIT_MAX, Scope, Seq, Status, WorkspaceName};
use mnemon_engine::ExplainedHit;
use mnemon_engine::admin::{AdminError, ExplainQuery, ProjectStanding, RecordQuery, Standing};
use mnemon_engine::console::{ConsoleError, Explained};

use super::parts::{self as p, Html};
use super::people::{CHOICES_MAX, Names};
use super::query::{Choice, Query};
use super::record_row::{self, Rec};
use super::shell::{Place, Shell};
use super::visit::Visit;
use crate::http::Fields;

const PATH: &str = "/console/memory";
const NAMES: [&str; 10] = ["q", "workspace", "status", "scope", "source", "author", "key", "state", "before", "n"];
/// How many records a page of the list has.
const PAGE_ROWS: usize = 25;
/// How many records a search finds; with more, explanations are shown one at a time.
const FOUND: usize = 10;
const FOUND_MORE: usize = 25;
const _: () = assert!(FOUND_MORE <= SEARCH_LIMIT_MAX);
/// How many workspaces a search without a chosen one looks through.
const SEARCHED_MAX: usize = 20;

#[derive(Template)]
#[template(path = "console/memory.html")]
pub(super) struct Page<'a> {
    shell: Shell<'a>,
    /// Whether a record can be added, and where it goes if nothing else is said.
    may_add: bool,
    add_to: String,
    summary: Html,
    /// None where there is nothing yet.
    trust: Option<Trust>,
    asked: Asked,
    choices: Vec<Choice>,
    pills: Vec<Pill>,
    records: Vec<Rec>,
    shown: String,
    shows_forgotten: bool,
    living_link: String,
    forgotten_link: String,
    newest_link: Option<String>,
    older_link: Option<String>,
    // What only a search has.
    /// Where was looked.
    place: String,
    /// How many workspaces were not looked through.
    left_out: Option<String>,
    milliseconds: u128,
    held_back: Vec<HeldBack>,
    bar: String,
    everywhere_link: Option<String>,
    unfiltered_link: Option<String>,
    ten_link: String,
    more_link: String,
}

/// What was asked for.
struct Asked {
    query: String,
    count: usize,
    is_forgotten: bool,
    /// The record whose explanation is open.
    why: Option<String>,
}

impl Asked {
    fn is_search(&self) -> bool {
        !self.query.is_empty()
    }
}

struct Trust {
    bar: Html,
    items: Vec<TrustItem>,
}

struct TrustItem {
    class: &'static str,
    count: String,
    word: &'static str,
    link: String,
    is_current: bool,
}

struct Pill {
    name: &'static str,
    value: String,
    word: String,
    link: String,
}

struct HeldBack {
    cosine: String,
    id: String,
    text: String,
}

/// `GET /console/memory`
pub(super) async fn show(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

pub(super) async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let project = visit.project()?;
    let query = Query::of(fields, &NAMES);
    let standing = visit.engine().show_standing(&visit.visitor.admin, project).await?;
    let asked = Asked {
        query: query.find("q").unwrap_or_default().trim().to_owned(),
        count: if query.find("n") == Some("25") { FOUND_MORE } else { FOUND },
        is_forgotten: query.find("state") == Some("forgotten"),
        why: fields.take("why"),
    };
    let mut page = frame(visit, &query, asked, &standing);
    if visit.manages() {
        let names = Names::load(visit).await?;
        let authors = names.members.iter().map(|member| (member.name.clone(), member.name.clone())).take(CHOICES_MAX);
        page.choices.push(Choice::new(&query, "author", "Author", "Anybody", authors));
    }
    if page.asked.is_search() {
        fill_found(visit, &query, &standing, &mut page).await?;
    } else if page.trust.is_some() {
        fill_list(visit, &query, &standing, &mut page).await?;
    }
    Ok(page)
}

/// The workspace that was chosen.
fn chosen(query: &Query) -> Result<Option<WorkspaceName>, ConsoleError> {
    let parse = |name| WorkspaceName::parse(name).map_err(|error| AdminError::Invalid(error.to_string()).into());
    query.find("workspace").map(parse).transpose()
}

/// The workspaces that a search looks through: the chosen one, or all; of very many those with the newest saves.
fn searched(query: &Query, standing: &ProjectStanding) -> Result<Vec<WorkspaceName>, ConsoleError> {
    if let Some(name) = chosen(query)? {
        return Ok(vec![name]);
    }
    let mut all: Vec<_> = standing.workspaces.iter().collect();
    all.sort_by_key(|(_, own)| std::cmp::Reverse(own.last_saved_at));
    Ok(all.into_iter().take(SEARCHED_MAX).filter_map(|(name, _)| WorkspaceName::parse(name).ok()).collect())
}

/// Everything but the records.
fn frame<'a>(visit: &'a Visit, query: &Query, asked: Asked, standing: &ProjectStanding) -> Page<'a> {
    let title = if asked.is_search() { format!("{}: Memory", asked.query) } else { "Memory".to_owned() };
    let place = place_of(query, standing);
    let is_empty = standing.all.counts.total() == 0 && !asked.is_forgotten;
    Page {
        shell: Shell::new(visit, Place::Memory, title),
        may_add: visit.may_change_memory(),
        add_to: query.find("workspace").map_or_else(|| own_workspace(visit), str::to_owned),
        summary: place.summary,
        trust: (!is_empty).then(|| trust(query, &place.standing)),
        choices: choices(query, standing),
        pills: pills(query),
        records: Vec::new(),
        shown: String::new(),
        shows_forgotten: visit.is_admin(),
        living_link: query.without(&["state", "before"]).link(PATH),
        forgotten_link: query.without(&["before", "status"]).with("state", "forgotten").link(PATH),
        newest_link: query.find("before").map(|_| query.without(&["before"]).link(PATH)),
        older_link: None,
        place: String::new(),
        left_out: None,
        milliseconds: 0,
        held_back: Vec::new(),
        bar: String::new(),
        everywhere_link: None,
        unfiltered_link: None,
        ten_link: query.without(&["n"]).link(PATH),
        more_link: query.with("n", "25").link(PATH),
        asked,
    }
}

/// The workspace of this person's key.
fn own_workspace(visit: &Visit) -> String {
    visit.me.as_ref().and_then(|me| me.credential.workspace.clone()).unwrap_or_default().to_string()
}

/// The part of memory that a page is about.
struct PlaceOf {
    summary: Html,
    standing: Standing,
}

fn place_of(query: &Query, standing: &ProjectStanding) -> PlaceOf {
    let named = query.find("workspace");
    let own = match named {
        Some(name) => standing.workspaces.get(name).copied().unwrap_or_default(),
        None => standing.all,
    };
    let total = own.counts.total();
    let doubtful = own.counts.stale + own.counts.conflict;
    let inside = match named {
        Some(name) => format!(" in <b>{}</b>", p::said(name)),
        None => format!(" in {}", p::counted(standing.workspaces.len() as u64, "workspace")),
    };
    let doubt = match (total, doubtful) {
        (0, _) => String::new(),
        (_, 0) => " None of them is known to be out of date or disputed.".to_owned(),
        (_, doubtful) => format!(" {} of them no longer hold or are disputed.", p::number(doubtful)),
    };
    let summary = if standing.all.counts.total() == 0 {
        "There is no record here that you may see.".to_owned()
    } else {
        format!("{}{inside}.{doubt}", p::counted(total, "record"))
    };
    PlaceOf { summary: Html(summary), standing: own }
}

fn trust(query: &Query, standing: &Standing) -> Trust {
    let shown = [Status::Verified, Status::Unverified, Status::Stale, Status::Conflict];
    let counts = shown.map(|status| (status.as_str(), standing.counts.of(status)));
    let label: Vec<String> = shown
        .iter()
        .map(|status| format!("{} {}", standing.counts.of(*status), record_row::count_word(*status)))
        .collect();
    let chosen = query.find("status");
    let item = |status: Status| TrustItem {
        class: status.as_str(),
        count: p::number(standing.counts.of(status)),
        word: record_row::count_word(status),
        link: query.without(&["before", "state", "q", "n"]).with("status", status.as_str()).link(PATH),
        is_current: chosen == Some(status.as_str()),
    };
    Trust { bar: p::stackbar(&counts, &label.join(", "), ""), items: shown.map(item).into() }
}

fn choices(query: &Query, standing: &ProjectStanding) -> Vec<Choice> {
    let same = |word: &str| (word.to_owned(), word.to_owned());
    let statuses = [Status::Verified, Status::Unverified, Status::Stale, Status::Conflict];
    let scopes = [Scope::Shared, Scope::Department, Scope::Draft];
    vec![
        Choice::new(
            query,
            "workspace",
            "Workspace",
            "All workspaces",
            standing.workspaces.keys().take(CHOICES_MAX).map(|name| same(name)),
        ),
        Choice::new(query, "status", "Status", "Any status", statuses.map(|status| same(status.as_str()))),
        Choice::new(query, "scope", "Scope", "Any scope", scopes.map(|scope| same(scope.as_str()))),
    ]
}

fn pills(query: &Query) -> Vec<Pill> {
    let named = [("source", "Source"), ("key", "Fact key")];
    let pill = |(name, word): (&'static str, &str)| {
        let value = query.find(name)?;
        Some(Pill {
            name,
            value: value.to_owned(),
            word: format!("{word}: {value}"),
            link: query.without(&[name, "before"]).link(PATH),
        })
    };
    named.into_iter().filter_map(pill).collect()
}

fn parsed<T>(query: &Query, name: &str, parse: fn(&str) -> Option<T>) -> Result<Option<T>, ConsoleError> {
    let unknown = || ConsoleError::Admin(AdminError::Invalid(format!("no such {name}")));
    query.find(name).map(|word| parse(word).ok_or_else(unknown)).transpose()
}

async fn fill_list(
    visit: &Visit,
    query: &Query,
    standing: &ProjectStanding,
    page: &mut Page<'_>,
) -> Result<(), ConsoleError> {
    let project = visit.project()?;
    let asked = RecordQuery {
        workspace: chosen(query)?,
        source_id: query.find("source").map(str::to_owned),
        is_forgotten: page.asked.is_forgotten,
        status: parsed(query, "status", Status::parse)?,
        scope: parsed(query, "scope", Scope::parse)?,
        author: query.find("author").map(str::to_owned),
        fact_key: query.find("key").map(str::to_owned),
        before: parsed(query, "before", |text| text.parse().ok().map(Seq))?,
        limit: PAGE_ROWS,
        ..RecordQuery::default()
    };
    let found = visit.engine().list_records(&visit.visitor.admin, project, asked).await?;
    let records: Vec<&Record> = found.records.iter().map(|shown| &shown.listed.record).collect();
    let because = visit.engine().give_reasons(&visit.visitor, project, &records).await?;
    let rows = found.records.iter().zip(&because);
    page.records = rows
        .map(|(shown, because)| match shown.listed.forgotten_at {
            Some(at) => Rec::forgotten(&shown.listed.record, because, at, visit.now),
            None => Rec::new(&shown.listed.record, because, visit.now),
        })
        .collect();
    page.older_link = found.next.map(|seq| query.with("before", &seq.to_string()).link(PATH));
    let is_all = query.without(&["workspace", "before"]) == Query::default() && query.find("before").is_none();
    let total = match query.find("workspace") {
        Some(name) => standing.workspaces.get(name).map_or(0, |own| own.counts.total()),
        None => standing.all.counts.total(),
    };
    let count = p::counted(page.records.len() as u64, "record");
    page.shown =
        if is_all { format!("The newest {count} of {}", p::number(total)) } else { format!("{count} on this page") };
    Ok(())
}

async fn fill_found(
    visit: &Visit,
    query: &Query,
    standing: &ProjectStanding,
    page: &mut Page<'_>,
) -> Result<(), ConsoleError> {
    let project = visit.project()?;
    let workspaces = searched(query, standing)?;
    let is_everywhere = query.find("workspace").is_none();
    page.place = match query.find("workspace") {
        Some(name) => format!("“{name}”"),
        None => "any workspace".to_owned(),
    };
    let left_out = standing.workspaces.len().saturating_sub(workspaces.len());
    page.left_out = (is_everywhere && left_out > 0).then(|| p::counted(left_out as u64, "workspace"));
    let began = Instant::now();
    let asked = &page.asked;
    let wanted = ExplainQuery {
        query: asked.query.clone(),
        limit: asked.count,
        workspace: None,
        scope: parsed(query, "scope", Scope::parse)?,
        exclude_stale: false,
    };
    let found = visit.engine().search_in_console(&visit.visitor, project, &wanted, &workspaces).await?;
    page.milliseconds = began.elapsed().as_millis();
    page.records = to_records(visit, query, &page.asked, &found)?;
    page.held_back = held_back(&found);
    page.bar = found.first().map(|found| format!("{:.2}", found.found.reasons.cosine_bar)).unwrap_or_default();
    let count = page.records.len() as u64;
    let verb = if count == 1 { "answers" } else { "answer" };
    page.shown = format!("{} {verb} “{}”", p::counted(count, "record"), page.asked.query);
    page.everywhere_link = (!is_everywhere).then(|| query.without(&["workspace"]).link(PATH));
    let plain = query.without(&["status", "scope", "source", "author", "key"]);
    page.unfiltered_link = (plain != *query).then(|| plain.link(PATH));
    Ok(())
}

fn to_records(visit: &Visit, query: &Query, asked: &Asked, found: &[Explained]) -> Result<Vec<Rec>, ConsoleError> {
    let status = parsed(query, "status", Status::parse)?;
    let scale = record_row::scale(found.iter().flat_map(|one| &one.found.reasons.hits));
    let mut hits: Vec<(&Explained, &ExplainedHit)> =
        found.iter().flat_map(|one| one.found.reasons.hits.iter().map(move |hit| (one, hit))).collect();
    // Those of one workspace have their order, which a tie must not change.
    hits.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
    let mut records = Vec::new();
    for (found, hit) in hits {
        let (Some(explained), Some(because)) = (found.found.records.get(&hit.seq), found.because.get(&hit.seq)) else {
            continue;
        };
        let record = &explained.record;
        let fits = status.is_none_or(|status| because.reason.status() == status)
            && query.find("source").is_none_or(|source| record.fact.source_id.as_deref() == Some(source))
            && query.find("author").is_none_or(|author| record.author_name.as_deref() == Some(author))
            && query.find("key").is_none_or(|key| record.fact_key.chosen() == Some(key));
        if !fits {
            continue;
        }
        let shown = Rec::new(record, because, visit.now).scored(hit);
        let shown = if asked.count == FOUND { shown } else { shown.compact(record, because, visit.now) };
        let mut shown = shown.marked(record, &explained.spans);
        // Where all come from one place, the page names it once.
        shown.workspace = query.find("workspace").is_none().then(|| record.workspace.to_string());
        let is_open = asked.why.as_deref() == Some(shown.id.as_str());
        if asked.count == FOUND || is_open {
            shown.why = Some(record_row::why(hit, &found.found.reasons, scale, is_open));
        } else {
            // The page is on this path: the link needs only what differs.
            shown.why_link = Some(format!("{}&why={}", query.link(""), shown.id));
        }
        shown.anchor = Some(format!("r{}", records.len()));
        records.push(shown);
    }
    Ok(records)
}

fn held_back(found: &[Explained]) -> Vec<HeldBack> {
    let all = found.iter().flat_map(|one| one.found.reasons.held_back.iter().map(move |held| (one, held)));
    let mut held: Vec<_> = all.collect();
    held.sort_by(|(_, a), (_, b)| b.cosine.total_cmp(&a.cosine));
    let shown = held.into_iter().take(3).filter_map(|(found, held)| {
        let record = &found.found.records.get(&held.seq)?.record;
        let text: String = record.fact.content.chars().take(120).collect();
        Some(HeldBack { cosine: format!("{:.2}", held.cosine), id: record.id.to_string(), text })
    });
    shown.collect()
}
