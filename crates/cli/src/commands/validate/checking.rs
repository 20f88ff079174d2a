//! Checks sources one by one, and decides which of them are reported to the service.

use mnemon_protocol::admin::{SeenSourceJson, SourceJson};

use super::Desk;
use super::git::Fate;
use super::ground::{Basis, Found, Ground};
use super::kinds::Look;
use super::progress::Progress;
use super::report::{Report, Row, State};
use super::urls::{Page, is_page};

/// How many other hashes of a content the service takes.
const EQUAL_MAX: usize = 8;
/// The longest path that the service takes, in characters.
const PATH_CHARS_MAX: usize = 512;
/// Asks for the hash of a content whose facts have none that could be compared.
const ANY_HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// What is to be done about a source.
enum Next {
    /// It was compared, and may be reported.
    Seen(Row, SeenSourceJson),
    /// Only say it.
    Say(Row),
    LeaveAlone,
    /// It is no file here.
    Skip,
}

impl Desk<'_> {
    /// Checks sources, and reports to the service what it should know.
    pub(super) fn check(&self, ground: &Ground, sources: &[SourceJson]) -> anyhow::Result<Report> {
        let mut report = self.begin(ground);
        let mut seen = Vec::new();
        let mut progress = Progress::begin(sources.len(), self.printer);
        let is_new = match (&ground.basis, &ground.repository) {
            (Basis::Branch(branch), Some(repository)) => !self.reported.has(repository, branch),
            _ => false,
        };
        for source in sources {
            match self.look(ground, source) {
                Next::Seen(row, told) if self.is_to_tell(ground, is_new, source, &told) => seen.push((row, told)),
                Next::Seen(row, told) => report.rows.push(untold(row, source, &told)),
                Next::Say(row) => report.rows.push(row),
                Next::LeaveAlone => report.left_alone += 1,
                Next::Skip => report.elsewhere += 1,
            }
            progress.step();
        }
        drop(progress);
        self.tell(seen, &mut report)?;
        if let (Basis::Branch(branch), Some(repository)) = (&ground.basis, &ground.repository)
            && let Err(error) = self.reported.note(repository, branch, self.is_kept && !ground.is_narrowed())
        {
            report.remarks.push(format!("The next check that runs by itself tells all of this again: {error:#}"));
        }
        report.sort();
        Ok(report)
    }

    fn begin(&self, ground: &Ground) -> Report {
        let (branch, compared_with) = match &ground.basis {
            Basis::Branch(branch) => (Some(branch.name.clone()), Some(branch.name.clone())),
            Basis::WorkingTree => (None, Some("the files here".to_owned())),
            Basis::Head => (None, Some("the commit that is checked out".to_owned())),
            Basis::Folder => (None, None),
        };
        let (workspace, remarks) = (self.workspace.clone(), ground.remarks.clone());
        Report { workspace, branch, compared_with, remarks, ..Report::default() }
    }

    /// A check that a person runs is always reported. An automatic one reports a commit once, because this clone may be
    /// older than later reports of others. After that it only confirms what the service knows, for facts saved in the
    /// meantime.
    fn is_to_tell(&self, ground: &Ground, is_new: bool, source: &SourceJson, seen: &SeenSourceJson) -> bool {
        let is_automatic = self.validate.watch || self.validate.from_git_hook;
        let (is_known, is_of_use) = (is_known(source, seen), source.unverified > 0 && !seen.source_gone);
        match ground.basis {
            _ if is_page(&source.source_id) => true,
            Basis::Head => false,
            _ if !is_automatic => true,
            Basis::Branch(_) => is_new || is_known && is_of_use,
            Basis::Folder | Basis::WorkingTree => !is_known || is_of_use,
        }
    }

    /// Looks at one source.
    fn look(&self, ground: &Ground, source: &SourceJson) -> Next {
        let (id, saved) = (&source.source_id, &source.source_hashes);
        let (path, fate) = match (ground.find(id), &self.web) {
            (Found::NoFile, Some(web)) if is_page(id) => {
                return match web.look(id, saved) {
                    Ok(Page::Gone(note)) => gone(source, note, None),
                    Ok(Page::Seen(look)) => compared(source, look),
                    Err(error) => unknown(source, format!("{error:#}")),
                };
            }
            (Found::NoFile, _) => return Next::Skip,
            (Found::LeftAlone, _) => return Next::LeaveAlone,
            (Found::Gone(path, fate), _) => (path, Some(fate)),
            (Found::File(path), _) => (path, None),
        };
        let looked = match fate {
            Some(Fate::Deleted) => Ok((gone(source, "deleted".to_owned(), None), None)),
            Some(Fate::Renamed(to)) => Ok((gone(source, format!("renamed to {to}"), Some(to)), None)),
            None => look_at_file(ground, &path, source),
        };
        let (next, content) = match looked {
            Ok(looked) => looked,
            Err(error) => return unknown(source, format!("{error:#}")),
        };
        if self.printer.is_silent() {
            return next;
        }
        next.with_note(ground.note(&path, content.as_deref()))
    }
}

impl Next {
    fn with_note(mut self, here: Option<String>) -> Self {
        if let Self::Seen(row, _) | Self::Say(row) = &mut self {
            row.here = here;
        }
        self
    }
}

fn look_at_file(ground: &Ground, path: &str, source: &SourceJson) -> anyhow::Result<(Next, Option<Vec<u8>>)> {
    let (look, content) = ground.look(path, &source.source_hashes)?;
    if look != Look::UnknownKind || !source.source_gone {
        return Ok((compared(source, look), content));
    }
    // It is back, which any hash shows; its facts have none to compare.
    let (look, _) = ground.look(path, &[ANY_HASH.to_owned()])?;
    let Look::Seen { hashes, .. } = look else { return Ok((compared(source, look), content)) };
    let row = row(source, State::Unknown, "it is back; its facts have no hash to compare".to_owned());
    Ok((Next::Seen(row, seen(source, hashes, source.source_hashes.clone())), content))
}

fn row(source: &SourceJson, state: State, note: String) -> Row {
    let (source_id, facts) = (source.source_id.clone(), source.records);
    Row { state, source_id, facts, note, here: None, ids: Vec::new(), is_told: false }
}

fn unknown(source: &SourceJson, note: String) -> Next {
    Next::Say(row(source, State::Unknown, note))
}

fn gone(source: &SourceJson, note: String, moved_to: Option<String>) -> Next {
    let source_id = source.source_id.clone();
    // A name that can't be sent must not keep the rest from being reported.
    let is_sendable = |path: &String| path.chars().count() <= PATH_CHARS_MAX && !path.chars().any(char::is_control);
    let moved_to = moved_to.filter(is_sendable);
    let told = SeenSourceJson { source_id, source_gone: true, moved_to, ..SeenSourceJson::default() };
    Next::Seen(row(source, State::Gone, note), told)
}

fn compared(source: &SourceJson, look: Look) -> Next {
    match (look, source.source_hashes.first()) {
        (Look::Seen { hashes, unknown }, _) => {
            let is_held = |hash: &String| is_one_of(hash, &hashes) || unknown.contains(hash);
            let state = if source.source_hashes.iter().all(is_held) { State::Verified } else { State::Stale };
            let note = if state == State::Stale { "changed".to_owned() } else { String::new() };
            Next::Seen(row(source, state, note), seen(source, hashes, unknown))
        }
        (Look::UnknownKind, Some(newest)) => unknown(source, format!("a hash of an unknown kind: {newest}")),
        (Look::UnknownKind, None) => unknown(source, "saved without a hash".to_owned()),
    }
}

fn seen(source: &SourceJson, hashes: Vec<String>, unknown_hashes: Vec<String>) -> SeenSourceJson {
    let mut hashes = hashes.into_iter();
    SeenSourceJson {
        source_id: source.source_id.clone(),
        current_source_hash: hashes.next(),
        equal_hashes: hashes.take(EQUAL_MAX).collect(),
        unknown_hashes,
        ..SeenSourceJson::default()
    }
}

fn is_one_of(hash: &str, hashes: &[String]) -> bool {
    hashes.iter().any(|known| known.eq_ignore_ascii_case(hash))
}

/// Whether the service knows a source as it was just seen.
fn is_known(source: &SourceJson, seen: &SeenSourceJson) -> bool {
    if source.source_gone || seen.source_gone {
        return source.source_gone == seen.source_gone;
    }
    let is_seen =
        |hash: &String| is_one_of(hash, seen.current_source_hash.as_slice()) || is_one_of(hash, &seen.equal_hashes);
    source.current_source_hash.as_ref().is_some_and(is_seen)
}

/// A row of a source that was not reported.
fn untold(mut row: Row, source: &SourceJson, seen: &SeenSourceJson) -> Row {
    match is_known(source, seen) {
        true if row.state != State::Gone && source.stale > 0 => {
            row.state = State::Stale;
            row.note = format!("{} of {} facts", source.stale, source.records);
        }
        true => {}
        false => row.note = format!("{}the service knows another version; not told again", prefix(&row.note)),
    }
    row
}

fn prefix(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!("{note}; ") }
}
