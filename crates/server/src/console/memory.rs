//! Memory: what assistants find, and everything that this person may see, newest first.

use std::time::Instant;

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::{Record, SEARCH_LIMIT_MAX, Scope, Seq, Status, WorkspaceName};
use mnemon_engine::ExplainedHit;
use mnemon_engine::admin::{AdminError, ExplainQuery, ProjectStanding, RecordQuery, RecordSort, Standing};
use mnemon_engine::console::{ConsoleError, Explained};

use super::parts::{self as p, Html};
use super::people::{CHOICES_MAX, Names};
use super::query::{Choice, Opt, Query};
use super::record_row::{self, RecordRow};
use super::shell::{Place, Shell};
use super::visit::Visit;
use crate::http::Fields;

const PATH: &str = "/console/memory";
const NAMES: [&str; 12] =
    ["q", "workspace", "status", "scope", "source", "author", "key", "state", "sort", "view", "before", "n"];
/// How many records a page of the list has: with their reasons and sources, and as lines. More would weigh more than a
/// page may.
const PAGE_ROWS: usize = 20;
const PAGE_LINES: usize = 25;
/// How many records a search finds; with more, explanations are shown one at a time.
const FOUND: usize = 10;
const FOUND_MORE: usize = 20;
const _: () = assert!(FOUND_MORE <= SEARCH_LIMIT_MAX);
/// How many workspaces a search without a chosen one looks through.
const SEARCHED_MAX: usize = 20;

#[derive(Template)]
#[template(path = "console/memory.html")]
pub(super) struct Page<'a> {
    shell: Shell<'a>,
    /// Whether records can be chosen, to do something with several.
    may_choose: bool,
    scopes: Vec<Opt>,
    is_compact: bool,
    wide_link: String,
    compact_link: String,
    order: &'static str,
    /// Whether a record can be added, and where it goes if nothing else is said.
    may_add: bool,
    add_to: String,
    summary: Html,
    /// None where there is nothing yet.
    trust: Option<Trust>,
    asked: Asked,
    choices: Vec<Choice>,
    pills: Vec<Pill>,
    records: Vec<RecordRow>,
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
        count: if query.find("n") == Some("20") { FOUND_MORE } else { FOUND },
        is_forgotten: query.find("state") == Some("forgotten"),
        why: fields.take("why"),
    };
    let mut page = frame(visit, &query, asked, &standing);
    if visit.manages() {
        let names = Names::load(visit).await?;
        let authors =
            names.members.iter().map(|member| (member.name.clone(), member.name.clone())).take(CHOICES_MAX / 4);
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
    let is_compact = query.find("view") == Some("compact");
    Page {
        shell: Shell::new(visit, Place::Memory, title),
        may_choose: visit.may_change_memory() && !asked.is_search(),
        scopes: super::query::scopes(),
        is_compact,
        wide_link: query.without(&["view"]).link(PATH),
        compact_link: query.with("view", "compact").link(PATH),
        order: match sort_of(query) {
            _ if asked.is_forgotten => "Forgotten, the latest first",
            sort => SORTS.into_iter().find(|(known, _)| *known == sort).map_or("", |(_, word)| word),
        },
        may_add: visit.may_change_memory(),
        add_to: query.find("workspace").map_or_else(|| own_workspace(visit), str::to_owned),
        summary: place.summary,
        trust: (!is_empty).then(|| trust(query, &place.standing)),
        choices: choices(query, standing, &asked),
        pills: pills(query),
        records: Vec::new(),
        shown: String::new(),
        shows_forgotten: true,
        living_link: query.without(&["state", "before"]).link(PATH),
        forgotten_link: query.without(&["before", "status", "sort"]).with("state", "forgotten").link(PATH),
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
        more_link: query.with("n", "20").link(PATH),
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
        link: query.without(&["before", "state", "q", "n", "sort"]).with("status", status.as_str()).link(PATH),
        is_current: chosen == Some(status.as_str()),
    };
    Trust { bar: p::stackbar(&counts, &label.join(", "), ""), items: shown.map(item).into() }
}

/// The orders of the list, as they are called.
const SORTS: [(RecordSort, &str); 5] = [
    (RecordSort::Newest, "Newest first"),
    (RecordSort::Oldest, "Oldest first"),
    (RecordSort::Changed, "Latest change first"),
    (RecordSort::FactKey, "By fact key"),
    (RecordSort::Source, "By source"),
];

fn sort_of(query: &Query) -> RecordSort {
    query.find("sort").and_then(RecordSort::parse).filter(|_| query.find("author").is_none()).unwrap_or_default()
}

fn choices(query: &Query, standing: &ProjectStanding, asked: &Asked) -> Vec<Choice> {
    let same = |word: &str| (word.to_owned(), word.to_owned());
    let statuses = [Status::Verified, Status::Unverified, Status::Stale, Status::Conflict];
    let scopes = [Scope::Shared, Scope::Department, Scope::Draft];
    let mut choices = vec![
        Choice::new(
            query,
            "workspace",
            "Workspace",
            "All workspaces",
            standing.workspaces.keys().take(CHOICES_MAX / 2).map(|name| same(name)),
        ),
        Choice::new(query, "status", "Status", "Any status", statuses.map(|status| same(status.as_str()))),
        Choice::new(query, "scope", "Scope", "Any scope", scopes.map(|scope| same(scope.as_str()))),
    ];
    // The records of one author, what was forgotten and what was found have their own order.
    if !asked.is_search() && !asked.is_forgotten && query.find("author").is_none() {
        let sorts = SORTS.into_iter().skip(1).map(|(sort, word)| (sort.as_str().to_owned(), word.to_owned()));
        choices.push(Choice::new(query, "sort", "Order", SORTS[0].1, sorts));
    }
    choices
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
        sort: sort_of(query),
        before: parsed(query, "before", |text| text.parse().ok().map(Seq))?,
        limit: if page.is_compact { PAGE_LINES } else { PAGE_ROWS },
        ..RecordQuery::default()
    };
    let found = visit.engine().list_records(&visit.visitor.admin, project, asked).await?;
    let records: Vec<&Record> = found.records.iter().map(|shown| &shown.listed.record).collect();
    let because = visit.engine().give_reasons(&visit.visitor, project, &records).await?;
    let (rows, is_compact) = (found.records.iter().zip(&because), page.is_compact);
    page.records = rows
        .map(|(shown, because)| match shown.listed.forgotten_at {
            Some(at) => RecordRow::forgotten(&shown.listed.record, because, at, visit.now),
            None => RecordRow::new(&shown.listed.record, because, visit.now),
        })
        .map(|rec| if is_compact { rec.line() } else { rec })
        .collect();
    page.older_link = found.next.map(|seq| query.with("before", &seq.to_string()).link(PATH));
    let is_all = query.without(&["workspace", "view", "sort"]) == Query::default();
    let total = match query.find("workspace") {
        Some(name) => standing.workspaces.get(name).map_or(0, |own| own.counts.total()),
        None => standing.all.counts.total(),
    };
    let count = p::counted(page.records.len() as u64, "record");
    page.shown =
        if is_all { format!("The first {count} of {}", p::number(total)) } else { format!("{count} on this page") };
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

fn to_records(
    visit: &Visit,
    query: &Query,
    asked: &Asked,
    found: &[Explained],
) -> Result<Vec<RecordRow>, ConsoleError> {
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
        let shown = RecordRow::new(record, because, visit.now).scored(hit);
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
