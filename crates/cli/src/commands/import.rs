//! `mnemon import`: records from files of many kinds. Each kind is turned into the lines of an export, and the service
//! takes them in batches. Whatever was saved stays, so the same command again continues where an earlier one ended.

mod chats;
mod formats;
mod graph;
mod json_items;
mod mem0;
mod notes;
mod own;
mod progress;
mod report;
mod rules;
mod sending;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use mnemon_protocol::export_lines::{ExportLine, RecordLine, SourceLine};

use crate::admin_client::AdminClient;
use crate::connecting;
use crate::printer::Printer;
use crate::transfer_arguments::{Import, ImportFormat};
use progress::Progress;
use report::Report;
use sending::Sender;

/// Exit code if something was not taken.
const NOT_ALL: u8 = 3;

pub fn run(import: &Import, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = AdminClient::with_key(&import.connection)?;
    let project = client.project(None)?;
    // All files are looked at before the first one is sent.
    let mut found = Vec::new();
    for path in &import.from {
        found.push((path, formats::of(path, import.format)?));
    }
    let workspace = connecting::workspace(import.workspace.as_ref());
    let progress = Progress::begin(total(import, &found), import.dry_run);
    progress.tell_when_interrupted()?;
    let sender = Sender::new(&client, &project, import.dry_run, progress);
    let mut desk = Desk { sender, import, workspace, report: Report::default() };
    for (path, format) in found {
        desk.report.formats.insert(format);
        read(path, format, &mut desk)?;
    }
    let report = desk.finish()?;
    report.show(printer, import.dry_run);
    Ok(if report.told.refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(NOT_ALL) })
}

/// How many records there are, for a person who watches: everything is read once more for it. A pipe can't be.
fn total(import: &Import, found: &[(&PathBuf, ImportFormat)]) -> Option<u64> {
    if !progress::is_shown() || !found.iter().all(|(path, _)| path.is_file() || path.is_dir()) {
        return None;
    }
    let mut desk = Desk { sender: Sender::counting(), import, workspace: None, report: Report::default() };
    // What can't be read is said by the reading that counts.
    found.iter().try_for_each(|(path, format)| read(path, *format, &mut desk)).ok()?;
    Some(desk.sender.count())
}

fn read(path: &Path, format: ImportFormat, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    match format {
        ImportFormat::Mnemon if path.is_dir() => own::folder(path, desk),
        ImportFormat::Mnemon => own::lines(path, desk),
        ImportFormat::MemoryServer => graph::read(path, desk),
        ImportFormat::Mem0 => mem0::read(path, desk),
        ImportFormat::Markdown => notes::read(path, desk),
        ImportFormat::Rules => rules::read(path, desk),
        ImportFormat::Chatgpt => chats::chatgpt(path, desk),
        ImportFormat::Claude => chats::claude(path, desk),
    }
}

/// Where the readers of files put what they find.
struct Desk<'a> {
    sender: Sender<'a>,
    import: &'a Import,
    workspace: Option<String>,
    report: Report,
}

impl Desk<'_> {
    /// A record, and its place in the file.
    fn record(&mut self, at: String, mut record: RecordLine) -> anyhow::Result<()> {
        if let Some(workspace) = &self.workspace {
            record.workspace = Some(workspace.clone());
        }
        if let Some(scope) = &self.import.scope {
            record.scope = Some(scope.clone());
        }
        self.line(at, &ExportLine::Record(Box::new(record)))
    }

    /// What is known about a source goes where its records go.
    fn source(&mut self, at: String, mut source: SourceLine) -> anyhow::Result<()> {
        if let Some(workspace) = &self.workspace {
            source.workspace = Some(workspace.clone());
        }
        self.line(at, &ExportLine::Source(source))
    }

    fn line(&mut self, at: String, line: &ExportLine) -> anyhow::Result<()> {
        self.sender.send(at, line.to_text(), &mut self.report)
    }

    /// Something that this command itself could not read.
    fn left_out(&mut self, at: String, why: impl Into<String>) {
        self.report.left_out(at, "unreadable", why.into());
    }

    fn finish(mut self) -> anyhow::Result<Report> {
        self.sender.flush(&mut self.report)?;
        self.sender.clear();
        if self.report.is_empty() {
            bail!("there is nothing to import in these files");
        }
        Ok(self.report)
    }
}
