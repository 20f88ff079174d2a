//! Sources: which have changed since records were saved from them.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::Status;
use mnemon_engine::admin::ShownSource;
use mnemon_engine::console::ConsoleError;

use super::parts::{self as p, Ask, Html};
use super::query::Query;
use super::shell::{Place, Shell};
use super::told::Told;
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/sources";
const PAGE_ROWS: usize = 25;

#[derive(Template)]
#[template(path = "console/sources.html")]
struct Page<'a> {
    shell: Shell<'a>,
    summary: Html,
    rows: Vec<Row>,
    may_change: bool,
    /// The source that the page is about, if it is about one.
    one: Option<String>,
    forget: Option<Html>,
    first_link: Option<String>,
    next_link: Option<String>,
}

struct Row {
    no: usize,
    id: String,
    link: String,
    one_link: String,
    state: Html,
    bar: Html,
    records: String,
    stale: u64,
    hash: Option<String>,
}

/// `GET /console/sources`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let (after, one) = (fields.take("after"), fields.take("one"));
    let start = one.as_deref().map(before).or_else(|| after.clone());
    let mut found = visit.engine().list_sources(admin, project, start.as_deref(), PAGE_ROWS).await?;
    if let Some(one) = &one {
        found.sources.retain(|source| source.source_id == *one);
        found.next = None;
    }
    let shell = Shell::new(visit, Place::Sources, "Sources");
    let may_change = visit.may_change_memory();
    let forget = match (&one, found.sources.first()) {
        (Some(_), Some(source)) if may_change => Some(forget_window(source, &shell.seal, visit)),
        _ => None,
    };
    let rows: Vec<Row> = found.sources.iter().enumerate().map(|(no, source)| row(no, source)).collect();
    Ok(Page {
        summary: summary(&found.sources, one.is_some(), after.is_some() || found.next.is_some()),
        rows,
        may_change,
        forget,
        first_link: after.map(|_| PATH.to_owned()),
        next_link: found.next.map(|next| Query::default().with("after", &next).link(PATH)),
        one,
        shell,
    })
}

/// The text right before another in the order of bytes: a list that starts after it starts with the other.
fn before(text: &str) -> String {
    let mut shorter = text.to_owned();
    match shorter.pop() {
        // Nothing fits between a text and the same with a least letter at its end.
        Some('\u{1}') | None => shorter,
        Some(last) => {
            let previous = char::from_u32(last as u32 - 1).unwrap_or('\u{D7FF}');
            shorter.push(previous);
            shorter.push(char::MAX);
            shorter
        }
    }
}

fn summary(sources: &[ShownSource], is_one: bool, has_more: bool) -> Html {
    if is_one {
        return Html("One source, and the records that came from it.".to_owned());
    }
    let changed: Vec<&ShownSource> = sources.iter().filter(|source| source.counts.stale > 0).collect();
    let stale: u64 = changed.iter().map(|source| source.counts.stale).sum();
    let count = p::counted(sources.len() as u64, "source");
    let here = if has_more { format!("{count} on this page.") } else { format!("{count} in this project.") };
    Html(match changed.len() {
        0 if sources.is_empty() => "A source is where a record comes from: a file, a page, a message.".to_owned(),
        0 => format!("{here} None has changed since records were saved from it."),
        1 => format!("{here} <b>1 has changed</b> since records were saved from it; {} stale for that.", are(stale)),
        many => format!(
            "{here} <b>{many} have changed</b> since records were saved from them; {} stale for that.",
            are(stale)
        ),
    })
}

fn are(records: u64) -> String {
    format!("{} {}", p::counted(records, "record"), if records == 1 { "is" } else { "are" })
}

fn row(no: usize, source: &ShownSource) -> Row {
    let counts = &source.counts;
    let state = if counts.stale > 0 {
        p::chip_as(Status::Stale, "changed")
    } else if counts.verified > 0 && counts.unverified == 0 {
        p::chip_as(Status::Verified, "unchanged")
    } else {
        p::chip_as(Status::Unverified, "not checked")
    };
    let parts = [
        ("verified", counts.verified),
        ("unverified", counts.unverified),
        ("stale", counts.stale),
        ("conflict", counts.conflict),
    ];
    let label = format!(
        "{} verified, {} unverified, {} stale, {} in conflict",
        counts.verified, counts.unverified, counts.stale, counts.conflict
    );
    let query = |name| Query::default().with(name, &source.source_id);
    Row {
        no,
        id: source.source_id.clone(),
        link: query("source").link("/console/memory"),
        one_link: query("one").link(PATH),
        state,
        bar: p::stackbar(&parts, &label, "bar-slim"),
        records: p::number(counts.total()),
        stale: counts.stale,
        hash: source.current_source_hash.clone(),
    }
}

fn forget_window(source: &ShownSource, seal: &str, visit: &Visit) -> Html {
    let records = p::counted(source.counts.total(), "record");
    let who = if visit.visitor.admin.may_restore() { "You can" } else { "An admin can" };
    let text = format!(
        "<p>{records} leave every search at once, in all workspaces. {who} restore each of them for 30 days.</p>"
    );
    p::ask(&Ask {
        id: "forget-source",
        title: format!("Forget every record of {}?", source.source_id),
        text: Html(text),
        yes: &format!("Forget {records}"),
        action: "/console/sources/forget",
        fields: &[("source", &source.source_id)],
        inside: Html::default(),
        seal,
    })
}

/// `POST /console/sources/check`
pub(super) async fn check(act: Act) -> Response {
    let visit = &act.visit;
    let source = act.fields.find("source").unwrap_or_default();
    let hash = act.fields.find("hash").map(str::trim).filter(|hash| !hash.is_empty());
    let outcome = visit.engine().check_source_in_console(&visit.visitor, source, hash).await;
    let told = outcome.map(|checked| {
        let stale = checked.stale.len();
        Told::new(format!(
            "Checked {}: {} verified, {} unverified, {stale} stale, {} in conflict.",
            checked.source_id,
            checked.verified,
            checked.unverified,
            checked.conflicting.len()
        ))
    });
    visit.done(told, PATH)
}

/// `POST /console/sources/forget`
pub(super) async fn forget(act: Act) -> Response {
    let visit = &act.visit;
    let source = act.fields.find("source").unwrap_or_default();
    let outcome = visit.engine().forget_source_in_console(&visit.visitor, source).await;
    let told = outcome.map(|count| Told::new(format!("{} forgotten.", p::counted(count as u64, "record"))));
    visit.done(told, PATH)
}

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn nothing_stands_between_a_text_and_the_one_before() {
        for text in ["a", "docs/deploy.md", "é", "\u{E000}"] {
            let earlier = before(text);
            assert!(earlier.as_str() < text, "{text}");
            assert!(format!("{earlier}\u{10FFFF}").as_str() < text, "{text}");
        }
        assert_eq!(before(""), "");
    }
}
