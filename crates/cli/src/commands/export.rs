//! `mnemon export`: everything that the caller sees of a project, as lines of JSON or as Markdown files.

pub mod front_matter;
mod markdown;

use std::fs::File;
use std::io::{BufWriter, IntoInnerError, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_protocol::export_lines::{EndLine, ExportLine};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::admin_client::{AdminClient, encode};
use crate::connecting;
use crate::printer::Printer;
use crate::transfer_arguments::{Export, ExportFormat};
use markdown::Folder;
pub use markdown::{HIDDEN, ORDER, REST};

/// How often progress is shown.
const SHOWN_EVERY: u64 = 200;

pub fn run(export: &Export, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = AdminClient::with_key(&export.connection)?;
    let project = client.project(export.project.as_ref())?;
    let workspace = connecting::workspace(export.workspace.as_ref());
    let workspace = workspace.map(|name| format!("?workspace={}", encode(&name))).unwrap_or_default();
    let path = format!("/projects/{project}/export{workspace}");
    let (end, place) = match (&export.to, export.format) {
        (Some(to), ExportFormat::Markdown) => (into(&client, &path, Folder::new(to)?)?, Some(to)),
        (Some(to), ExportFormat::Jsonl) => (into(&client, &path, Lines::new(to)?)?, Some(to)),
        (None, _) => (into(&client, &path, Screen(std::io::stdout()))?, None),
    };
    if let Some(place) = place {
        show(printer, place, &end);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(printer: &Printer, place: &Path, end: &EndLine) {
    let place = place.display().to_string();
    if printer.is_json() {
        return printer.value(&json!({"export": place, "records": end.records, "sources": end.sources}));
    }
    let records = if end.records == 1 { "1 record".to_owned() } else { format!("{} records", end.records) };
    printer.text(&format!("{place}: {records}. Bring them back with `mnemon import`."));
}

/// Where an export is written to.
trait Sink {
    /// Takes one line, as it came and as it reads.
    fn take(&mut self, text: &[u8], line: ExportLine) -> anyhow::Result<()>;
    /// All of it has arrived.
    fn finish(self) -> anyhow::Result<()>;
}

/// Writes what the service sends, line by line. Without the last line it is not whole, and nothing gets its name.
fn into(client: &AdminClient, path: &str, mut sink: impl Sink) -> anyhow::Result<EndLine> {
    let (mut pending, mut end, mut records) = (Vec::new(), None, 0_u64);
    let is_shown = std::io::stderr().is_terminal();
    client.download(path, &mut |piece| {
        pending.extend_from_slice(piece);
        while let Some(at) = pending.iter().position(|byte| *byte == b'\n') {
            let rest = pending.split_off(at + 1);
            let text = std::mem::replace(&mut pending, rest);
            let line = serde_json::from_slice(&text).context("the service sent something that is not an export")?;
            match &line {
                ExportLine::End(last) => end = Some(last.clone()),
                ExportLine::Record(_) => records += 1,
                _ => {}
            }
            sink.take(&text, line)?;
            if is_shown && records % SHOWN_EVERY == 0 {
                let _ = write!(std::io::stderr(), "\r\u{1b}[2Kexporting: {records} records");
            }
        }
        Ok(())
    })?;
    if is_shown {
        let _ = write!(std::io::stderr(), "\r\u{1b}[2K");
    }
    let Some(end) = end.filter(|end| end.records == records && pending.is_empty()) else {
        bail!("the export broke off after {records} records; run it again");
    };
    sink.finish()?;
    Ok(end)
}

/// Standard output.
struct Screen<W>(W);

impl<W: Write> Sink for Screen<W> {
    fn take(&mut self, text: &[u8], _: ExportLine) -> anyhow::Result<()> {
        self.0.write_all(text).context("can't write to standard output")
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.0.flush().context("can't write to standard output")
    }
}

/// A file of lines. It gets its name when it is whole, and only its owner may read it. Until then its name can't be
/// guessed, so that no link can wait there; if the export breaks off, it is removed.
struct Lines {
    to: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Lines {
    fn new(to: &Path) -> anyhow::Result<Self> {
        if to.symlink_metadata().is_ok() {
            bail!("{} exists already; choose another name", to.display());
        }
        to.file_name().with_context(|| format!("{} is not a file name", to.display()))?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(".mnemon-export-").suffix(".partial").tempfile_in(folder);
        let file = file.and_then(|file| mnemon_platform::files::close_to_others(file.path()).map(|_| file));
        let file = file.with_context(|| format!("can't write to {}", folder.display()))?;
        Ok(Self { to: to.to_owned(), file: BufWriter::new(file) })
    }
}

impl Sink for Lines {
    fn take(&mut self, text: &[u8], _: ExportLine) -> anyhow::Result<()> {
        self.file.write_all(text).with_context(|| format!("can't write {}", self.to.display()))
    }

    fn finish(self) -> anyhow::Result<()> {
        let Self { to, file } = self;
        let file = file.into_inner().map_err(IntoInnerError::into_error);
        let kept = file.and_then(|file| {
            file.as_file().sync_all()?;
            file.persist_noclobber(&to).map_err(|failed| failed.error)
        });
        kept.map(drop).with_context(|| format!("can't write {}", to.display()))
    }
}

/// A new file. An export holds all texts, so it is its owner's alone.
fn private_file(path: &Path) -> anyhow::Result<File> {
    let opened = mnemon_platform::files::open_private(path, File::options().write(true).create_new(true));
    opened.with_context(|| format!("can't write {}", path.display()))
}
