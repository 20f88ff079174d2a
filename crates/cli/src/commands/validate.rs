//! `mnemon validate`: compares the files that facts came from with the hashes the facts were saved with, and reports to
//! the service. Hashes are sent, never content. In a repository the newest commit of its default branch counts, because
//! the whole team has that. Differences in the working tree are shown and not reported.

mod checking;
mod files;
pub mod git;
mod git_hook;
mod ground;
mod here;
mod ignoring;
pub mod kinds;
mod progress;
mod report;
mod reported;
mod urls;
pub mod watch;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_core::WorkspaceName;
use mnemon_protocol::admin::{CheckedSourcesJson, SeenSourceJson, SourceJson, SourcesJson, ValidateSources};

use crate::admin_client::{AdminClient, encode};
use crate::arguments::Validate;
use crate::connecting;
use crate::printer::Printer;
use ground::{Ground, Memory};
use report::{Report, Row, State};
use reported::Reported;
use urls::Web;

/// How many sources are requested and reported at a time.
const LIST_MAX: usize = 1_000;
const TELL_MAX: usize = 500;
/// What the exit code says if something was found that `--fail-on` names.
const FOUND: u8 = 3;

pub fn run(validate: &Validate, printer: &Printer) -> anyhow::Result<ExitCode> {
    let working_dir = std::env::current_dir().context("can't find the working directory")?;
    if validate.install_git_hook {
        git_hook::install(&working_dir, validate, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    if validate.uninstall_git_hook {
        git_hook::uninstall(&working_dir, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let fail_on = validate.fail_on.iter().map(|word| State::parse(word)).collect::<anyhow::Result<Vec<_>>>()?;
    if validate.from_git_hook {
        let Some(_turn) = git_hook::Turn::wait(&working_dir)? else { return Ok(ExitCode::SUCCESS) };
        Desk::open(validate, Printer::silent())?.look_around()?;
        return Ok(ExitCode::SUCCESS);
    }
    let desk = Desk::open(validate, *printer)?;
    if validate.watch {
        watch::run(&desk)?;
    }
    let report = desk.look_around()?;
    report.print(printer);
    let is_found = fail_on.iter().any(|state| report.has(*state));
    Ok(if is_found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

/// What a check works with.
pub struct Desk<'a> {
    validate: &'a Validate,
    client: AdminClient,
    project: String,
    workspace: String,
    working_dir: PathBuf,
    web: Option<Web>,
    printer: Printer,
    /// Whether the service records our reports. A key that may not write only gets answers.
    is_kept: bool,
    reported: Reported,
    memory: RefCell<Memory>,
}

impl<'a> Desk<'a> {
    fn open(validate: &'a Validate, printer: Printer) -> anyhow::Result<Self> {
        let working_dir = std::env::current_dir().context("can't find the working directory")?;
        let web = if validate.urls { Some(Web::new(&validate.allowed_hosts)?) } else { None };
        let client = AdminClient::with_key(&validate.connection)?;
        let me = client.me()?;
        let project = me.project.context("the key belongs to no project")?.id;
        let named = connecting::workspace(validate.workspace.as_ref()).or(me.workspace);
        let workspace = named.unwrap_or_else(|| WorkspaceName::default().to_string());
        let is_active = me.subscription.as_ref().is_none_or(|subscription| subscription.state == "active");
        Ok(Self {
            reported: Reported::new(client.url(), &project, &workspace),
            is_kept: is_active && me.access.as_deref() == Some("write"),
            memory: RefCell::default(),
            validate,
            client,
            project,
            workspace,
            working_dir,
            web,
            printer,
        })
    }

    fn look_around(&self) -> anyhow::Result<Report> {
        let sources = self.list(Some(&self.workspace))?;
        let mut report = self.check(&self.ground(&sources)?, &sources)?;
        if sources.is_empty() {
            report.remarks.extend(self.other_workspaces()?);
        }
        Ok(report)
    }

    fn ground(&self, sources: &[SourceJson]) -> anyhow::Result<Ground> {
        Ground::open(&self.working_dir, self.validate, sources, &mut self.memory.borrow_mut())
    }

    /// All sources of a workspace that the key sees, or of all workspaces.
    fn list(&self, workspace: Option<&str>) -> anyhow::Result<Vec<SourceJson>> {
        let (mut sources, mut after) = (Vec::new(), None::<String>);
        let workspace = workspace.map(|name| format!("&workspace={}", encode(name))).unwrap_or_default();
        loop {
            let rest = after.map(|after| format!("&after={}", encode(&after))).unwrap_or_default();
            let path = format!("/projects/{}/sources?limit={LIST_MAX}{workspace}{rest}", self.project);
            let page: SourcesJson =
                serde_json::from_value(self.client.get(&path)?).context("can't read the list of sources")?;
            sources.extend(page.sources);
            after = page.next;
            if after.is_none() {
                return Ok(sources);
            }
        }
    }

    /// Where sources are, if this workspace has none.
    fn other_workspaces(&self) -> anyhow::Result<Option<String>> {
        let names: BTreeSet<String> = self.list(None)?.into_iter().map(|source| source.workspace).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text =
            || format!("This workspace has no sources. Others have: {}. Name one with --workspace.", names.join(", "));
        Ok((!names.is_empty()).then(text))
    }

    /// Reports to the service in batches, and notes what it answers.
    fn tell(&self, seen: Vec<(Row, SeenSourceJson)>, report: &mut Report) -> anyhow::Result<()> {
        let mut seen = seen.into_iter();
        loop {
            let (rows, sources): (Vec<Row>, Vec<SeenSourceJson>) = seen.by_ref().take(TELL_MAX).unzip();
            if rows.is_empty() {
                return Ok(());
            }
            let path = format!("/projects/{}/sources/validate", self.project);
            let body = ValidateSources { workspace: Some(self.workspace.clone()), sources };
            let answer: CheckedSourcesJson =
                serde_json::from_value(self.client.post(&path, body)?).context("can't read the service's answer")?;
            if answer.sources.len() != rows.len() {
                bail!("the service answered about {} of {} sources", answer.sources.len(), rows.len());
            }
            for (row, checked) in rows.into_iter().zip(answer.sources) {
                report.rows.push(row.with(checked));
            }
        }
    }
}
