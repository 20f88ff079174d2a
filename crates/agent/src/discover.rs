//! Finds the session histories on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use mnemon_protocol::hex::to_hex;
use sha2::{Digest, Sha256};

use crate::places::Places;

/// Deeper than any client stores its histories.
const DEPTH_MAX: usize = 8;
/// The longest file name that is used on the wire unchanged.
const NAME_MAX: usize = 128;

/// The programs whose histories are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    ClaudeCode,
    Codex,
}

impl Client {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }
}

/// A history on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    pub client: Client,
    /// Its name on the wire.
    pub name: String,
    pub path: PathBuf,
    pub len: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: i64,
}

/// All histories, most recently written first.
pub fn find_sessions(places: &Places) -> Vec<SessionFile> {
    let mut found = Vec::new();
    walk(&places.claude.join("projects"), DEPTH_MAX, &mut |path| {
        found.extend(session(Client::ClaudeCode, path));
    });
    walk(&places.codex.join("sessions"), DEPTH_MAX, &mut |path| {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-")) {
            found.extend(session(Client::Codex, path));
        }
    });
    found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    // The same name twice is a copy; the newer one counts.
    let mut seen = std::collections::HashSet::new();
    found.retain(|session| seen.insert((session.client, session.name.clone())));
    found
}

fn session(client: Client, path: &Path) -> Option<SessionFile> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let name = wire_name(&path.file_stem()?.to_string_lossy());
    Some(SessionFile {
        client,
        name,
        path: path.to_owned(),
        len: metadata.len(),
        modified: i64::try_from(modified).unwrap_or(i64::MAX),
    })
}

/// The file name if it is plain, else a hash of it.
fn wire_name(stem: &str) -> String {
    let is_plain = stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if is_plain && !stem.is_empty() && stem.len() <= NAME_MAX {
        return stem.to_owned();
    }
    to_hex(&Sha256::digest(stem.as_bytes())[..16])
}

/// Lists every `.jsonl` below a folder. Links are not followed: they lead outside, or in circles.
fn walk(folder: &Path, depth_left: usize, look: &mut impl FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        let name = entry.file_name();
        // Files that Claude Code keeps next to a session belong to it; they are not sessions.
        let is_side = name == "subagents" || name == "tool-results" || name == "memory";
        if kind.is_dir() && depth_left > 0 && !is_side {
            walk(&path, depth_left - 1, look);
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "jsonl") {
            look(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Environment;

    #[test]
    fn sessions_are_found_where_clients_keep_them() {
        let ground = tempfile::tempdir().unwrap();
        let places = Places::find(&Environment::from([("HOME".to_owned(), ground.path().into())])).unwrap();
        let put = |path: &str| {
            let path = ground.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}\n").unwrap();
        };
        put(".claude/projects/-home-ana-shop/0b9c1f6e.jsonl");
        put(".claude/projects/-home-ana-shop/0b9c1f6e/subagents/agent-1.jsonl");
        put(".claude/projects/-home-ana-shop/0b9c1f6e/tool-results/x.jsonl");
        put(".claude/projects/-home-ana-shop/memory/MEMORY.md");
        put(".claude/projects/-home-ana-shop/odd name é.jsonl");
        put(".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-00-abc.jsonl");
        put(".codex/sessions/2026/11/02/notes.jsonl");
        put(".codex/history.jsonl");
        let mut found: Vec<(&str, String)> =
            find_sessions(&places).into_iter().map(|session| (session.client.as_str(), session.name)).collect();
        found.sort();
        let hashed = wire_name("odd name é");
        assert_eq!(hashed.len(), 32);
        let mut expected = vec![
            ("claude-code", "0b9c1f6e".to_owned()),
            ("claude-code", hashed),
            ("codex", "rollout-2026-11-02T10-00-00-abc".to_owned()),
        ];
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_is_plain_up_to_its_limit() {
        assert_eq!(wire_name(&"a".repeat(128)).len(), 128);
        assert_eq!(wire_name(&"a".repeat(129)).len(), 32);
        assert_eq!(wire_name("").len(), 32);
    }
}
