//! `mnemon validate`: hashes the files that facts came from and tells the service what it saw. Hashes are sent, never content.

pub mod files;
pub mod git;
pub mod kinds;
mod report;

use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_protocol::admin::{CheckedSourcesJson, SeenSourceJson, SourceJson, SourcesJson, ValidateSources};

use crate::admin_client::{AdminClient, encode};
use crate::arguments::{AdminConnection, Validate};
use crate::printer::Printer;
use files::{Found, Tree};
use git::Fate;
use kinds::Look;
use report::{Report, Row, State};

/// How many sources are asked for, and told, at a time.
const LIST_MAX: usize = 1_000;
const TELL_MAX: usize = 500;
/// What the exit code says if something was found that `--fail-on` names.
const FOUND: u8 = 3;

pub fn run(validate: &Validate, printer: &Printer) -> anyhow::Result<ExitCode> {
    let fail_on = validate.fail_on.iter().map(|word| State::parse(word)).collect::<anyhow::Result<Vec<_>>>()?;
    let connection = AdminConnection {
        url: validate.connection.url.clone(),
        key: validate.connection.key.clone(),
        operator_token: None,
    };
    if connection.key.as_ref().is_none_or(String::is_empty) {
        bail!("no API key; pass --key or set MNEMON_API_KEY. `mnemon serve` prints a key on its first start");
    }
    let client = AdminClient::new(&connection)?;
    let project = client.project(None)?;
    let working_dir = std::env::current_dir().context("can't find the working directory")?;
    let tree = Tree::walk(&working_dir, &validate.paths, validate.changed_since.as_deref())?;
    let sources = list(&client, &project)?;
    let mut report = Report::default();
    let mut seen = Vec::new();
    for source in &sources {
        match look(&tree, source) {
            Next::Tell(row, told) => seen.push((row, told)),
            Next::Say(row) => report.rows.push(row),
            Next::LeaveAlone => report.left_alone += 1,
            Next::Skip => report.elsewhere += 1,
        }
    }
    tell(&client, &project, seen, &mut report)?;
    let is_found = fail_on.iter().any(|state| report.has(*state));
    report.print(printer);
    Ok(if is_found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

/// All sources that the key sees.
fn list(client: &AdminClient, project: &str) -> anyhow::Result<Vec<SourceJson>> {
    let (mut sources, mut after) = (Vec::new(), None::<String>);
    loop {
        let rest = after.map(|after| format!("&after={}", encode(&after))).unwrap_or_default();
        let answer = client.get(&format!("/projects/{project}/sources?limit={LIST_MAX}{rest}"))?;
        let page: SourcesJson = serde_json::from_value(answer).context("can't read the list of sources")?;
        sources.extend(page.sources);
        after = page.next;
        if after.is_none() {
            return Ok(sources);
        }
    }
}

/// What is to be done about a source.
enum Next {
    /// Tell the service.
    Tell(Row, SeenSourceJson),
    /// Only say it.
    Say(Row),
    LeaveAlone,
    /// It is no file here.
    Skip,
}

/// Looks at one source.
fn look(tree: &Tree, source: &SourceJson) -> Next {
    let row =
        |state, note| Row { state, source_id: source.source_id.clone(), facts: source.records, note, ids: vec![] };
    let unknown = |note: String| Next::Say(row(State::Unknown, note));
    let path = match tree.find(&source.source_id) {
        Found::NoFile => return Next::Skip,
        Found::LeftAlone => return Next::LeaveAlone,
        Found::Gone(Fate::Deleted) => return Next::Say(row(State::Gone, "deleted".to_owned())),
        Found::Gone(Fate::Renamed(to)) => return Next::Say(row(State::Gone, format!("renamed to {to}"))),
        Found::File(path) => path,
    };
    let Some(newest) = source.source_hashes.first() else { return unknown("saved without a hash".to_owned()) };
    let (note, hash) = match kinds::look(&path, &source.source_hashes, tree.is_sha256_repository) {
        Err(error) => return unknown(format!("{error:#}")),
        Ok(Look::UnknownKind) => return unknown(format!("a hash of an unknown kind: {newest}")),
        Ok(Look::Mixed(hash)) => ("saved with several kinds of hashes; save all facts with one".to_owned(), hash),
        Ok(Look::Same(hash) | Look::Changed(hash)) => (String::new(), hash),
    };
    let told = SeenSourceJson { source_id: source.source_id.clone(), current_source_hash: hash };
    Next::Tell(row(State::Verified, note), told)
}

/// Tells the service in batches, and notes what it answers.
fn tell(
    client: &AdminClient,
    project: &str,
    seen: Vec<(Row, SeenSourceJson)>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut seen = seen.into_iter();
    loop {
        let (rows, sources): (Vec<Row>, Vec<SeenSourceJson>) = seen.by_ref().take(TELL_MAX).unzip();
        if rows.is_empty() {
            return Ok(());
        }
        let answer = client.post(&format!("/projects/{project}/sources/validate"), ValidateSources { sources })?;
        let answer: CheckedSourcesJson = serde_json::from_value(answer).context("can't read the service's answer")?;
        if answer.sources.len() != rows.len() {
            bail!("the service answered about {} of {} sources", answer.sources.len(), rows.len());
        }
        for (row, checked) in rows.into_iter().zip(answer.sources) {
            report.rows.push(row.with(checked));
        }
    }
}
