//! `mnemon validate`: hashes the files that facts came from and tells the service what it saw. Hashes are sent, never content.

pub mod files;
pub mod git;
mod git_hook;
pub mod kinds;
mod progress;
mod report;
mod urls;
pub mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_protocol::admin::{CheckedSourcesJson, SeenSourceJson, SourceJson, SourcesJson, ValidateSources};

use crate::admin_client::{AdminClient, encode};
use crate::arguments::{Connection, Validate};
use crate::printer::Printer;
use files::{Found, Tree};
use git::Fate;
use kinds::Look;
use progress::Progress;
use report::{Report, Row, State};
use urls::{Page, Web, is_page};

/// How many sources are asked for, and told, at a time.
const LIST_MAX: usize = 1_000;
const TELL_MAX: usize = 500;
/// How many other hashes of a content the service takes.
const EQUAL_MAX: usize = 8;
/// What the exit code says if something was found that `--fail-on` names.
const FOUND: u8 = 3;

pub fn run(validate: &Validate, printer: &Printer) -> anyhow::Result<ExitCode> {
    let working_dir = std::env::current_dir().context("can't find the working directory")?;
    if validate.install_git_hook {
        git_hook::install(&working_dir, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    if validate.uninstall_git_hook {
        git_hook::uninstall(&working_dir, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let fail_on = validate.fail_on.iter().map(|word| State::parse(word)).collect::<anyhow::Result<Vec<_>>>()?;
    let web = if validate.urls { Some(Web::new(&validate.allowed_hosts)?) } else { None };
    if validate.from_git_hook {
        let Some(_turn) = git_hook::Turn::wait(&working_dir)? else { return Ok(ExitCode::SUCCESS) };
        let desk = Desk::open(&validate.connection, web, Printer::silent())?;
        desk.look_around(validate)?;
        return Ok(ExitCode::SUCCESS);
    }
    let desk = Desk::open(&validate.connection, web, *printer)?;
    if validate.watch {
        watch::run(&desk, &validate.paths, printer)?;
    }
    let report = desk.look_around(validate)?;
    let is_found = fail_on.iter().any(|state| report.has(*state));
    report.print(printer);
    Ok(if is_found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

/// What a check works with.
pub struct Desk {
    client: AdminClient,
    project: String,
    working_dir: PathBuf,
    web: Option<Web>,
    printer: Printer,
}

impl Desk {
    fn open(connection: &Connection, web: Option<Web>, printer: Printer) -> anyhow::Result<Self> {
        let client = AdminClient::with_key(connection)?;
        let project = client.project(None)?;
        let working_dir = std::env::current_dir().context("can't find the working directory")?;
        Ok(Self { client, project, working_dir, web, printer })
    }

    /// For a check beside something else.
    pub fn beside(connection: &Connection) -> anyhow::Result<Self> {
        Self::open(connection, None, Printer::silent())
    }

    fn look_around(&self, validate: &Validate) -> anyhow::Result<Report> {
        let tree = Tree::walk(&self.working_dir, &validate.paths, validate.changed_since.as_deref())?;
        self.check(&tree, self.list()?.iter())
    }

    /// Looks at sources, and tells the service.
    fn check<'a>(&self, tree: &Tree, sources: impl ExactSizeIterator<Item = &'a SourceJson>) -> anyhow::Result<Report> {
        let mut report = Report::default();
        let mut seen = Vec::new();
        let mut progress = Progress::begin(sources.len(), self.printer);
        for source in sources {
            match self.look(tree, source) {
                Next::Tell(row, told) => seen.push((row, told)),
                Next::Say(row) => report.rows.push(row),
                Next::LeaveAlone => report.left_alone += 1,
                Next::Skip => report.elsewhere += 1,
            }
            progress.step();
        }
        drop(progress);
        self.tell(seen, &mut report)?;
        Ok(report)
    }

    /// All sources that the key sees.
    fn list(&self) -> anyhow::Result<Vec<SourceJson>> {
        let (mut sources, mut after) = (Vec::new(), None::<String>);
        loop {
            let rest = after.map(|after| format!("&after={}", encode(&after))).unwrap_or_default();
            let answer = self.client.get(&format!("/projects/{}/sources?limit={LIST_MAX}{rest}", self.project))?;
            let page: SourcesJson = serde_json::from_value(answer).context("can't read the list of sources")?;
            sources.extend(page.sources);
            after = page.next;
            if after.is_none() {
                return Ok(sources);
            }
        }
    }

    /// Looks at one source.
    fn look(&self, tree: &Tree, source: &SourceJson) -> Next {
        let id = &source.source_id;
        let row = |state, note| Row { state, source_id: id.clone(), facts: source.records, note, ids: vec![] };
        let gone = |note: String| Next::Say(row(State::Gone, note));
        let unknown = |note: String| Next::Say(row(State::Unknown, note));
        let path = match (tree.find(id), &self.web) {
            (Found::NoFile, Some(_)) if is_page(id) => None,
            (Found::NoFile, _) => return Next::Skip,
            (Found::LeftAlone, _) => return Next::LeaveAlone,
            (Found::Gone(Fate::Deleted), _) => return gone("deleted".to_owned()),
            (Found::Gone(Fate::Renamed(to)), _) => return gone(format!("renamed to {to}")),
            (Found::File(path), _) => Some(path),
        };
        let Some(newest) = source.source_hashes.first() else { return unknown("saved without a hash".to_owned()) };
        let looked = match (path, &self.web) {
            (Some(path), _) => kinds::look(&path, &source.source_hashes, tree.is_sha256_repository),
            (None, Some(web)) => match web.look(id, &source.source_hashes) {
                Ok(Page::Gone(note)) => return gone(note),
                Ok(Page::Seen(look)) => Ok(look),
                Err(error) => Err(error),
            },
            (None, None) => return Next::Skip,
        };
        let (mut hashes, unknown_hashes) = match looked {
            Err(error) => return unknown(format!("{error:#}")),
            Ok(Look::UnknownKind) => return unknown(format!("a hash of an unknown kind: {newest}")),
            Ok(Look::Seen { hashes, unknown }) => (hashes.into_iter(), unknown),
        };
        let told = SeenSourceJson {
            source_id: id.clone(),
            current_source_hash: hashes.next().unwrap_or_default(),
            equal_hashes: hashes.take(EQUAL_MAX).collect(),
            unknown_hashes,
        };
        Next::Tell(row(State::Verified, String::new()), told)
    }

    /// Tells the service in batches, and notes what it answers.
    fn tell(&self, seen: Vec<(Row, SeenSourceJson)>, report: &mut Report) -> anyhow::Result<()> {
        let mut seen = seen.into_iter();
        loop {
            let (rows, sources): (Vec<Row>, Vec<SeenSourceJson>) = seen.by_ref().take(TELL_MAX).unzip();
            if rows.is_empty() {
                return Ok(());
            }
            let path = format!("/projects/{}/sources/validate", self.project);
            let answer = self.client.post(&path, ValidateSources { sources })?;
            let answer: CheckedSourcesJson =
                serde_json::from_value(answer).context("can't read the service's answer")?;
            if answer.sources.len() != rows.len() {
                bail!("the service answered about {} of {} sources", answer.sources.len(), rows.len());
            }
            for (row, checked) in rows.into_iter().zip(answer.sources) {
                report.rows.push(row.with(checked));
            }
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
