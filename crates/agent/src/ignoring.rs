//! `.mnemonignore`: what must not leave this machine, in the syntax of `.gitignore`.
//!
//! The files in the session's folder and in every folder above it apply, the nearest first. A pattern that covers the
//! folder itself excludes the whole session; other patterns exclude tool calls that name a matching path, and their
//! results.

use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mnemon_protocol::hex::to_hex;
use sha2::{Digest, Sha256};

const FILE: &str = ".mnemonignore";
/// A name that no real file has: a pattern that covers it covers everything.
const ANYTHING: &str = "mnemon-covers-everything-7f3a";
/// A longer text is more likely a file's content than its name.
const NAMING_TEXT_MAX: usize = 16 * 1024;

/// The rules for one session.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules {
    cwd: PathBuf,
    home: PathBuf,
    /// From the folder itself upwards.
    files: Vec<(PathBuf, Gitignore)>,
    fingerprint: String,
}

impl IgnoreRules {
    /// Reads the rules for a session that worked in `cwd`.
    pub(crate) fn read(cwd: Option<&Path>, home: &Path) -> Self {
        let cwd = cwd.filter(|cwd| cwd.is_absolute()).unwrap_or(home);
        let mut rules = Self { cwd: cwd.to_owned(), home: home.to_owned(), ..Self::default() };
        let mut hash = Sha256::new();
        let above = cwd.ancestors().map(Path::to_owned);
        let folders = above.chain((!cwd.starts_with(home)).then(|| home.to_owned()));
        for folder in folders {
            let Ok(text) = std::fs::read_to_string(folder.join(FILE)) else { continue };
            let mut builder = GitignoreBuilder::new(&folder);
            for line in text.lines() {
                // A line that is not a valid pattern is skipped, as git does.
                let _ = builder.add_line(None, line);
            }
            if let Ok(file) = builder.build() {
                hash.update(folder.to_string_lossy().as_bytes());
                hash.update(text.as_bytes());
                rules.files.push((folder, file));
            }
        }
        if !rules.files.is_empty() {
            rules.fingerprint = to_hex(&hash.finalize()[..8]);
        }
        rules
    }

    /// Changes when the rules do.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether the whole session is excluded.
    pub(crate) fn covers_session(&self) -> bool {
        self.covers(&self.cwd, true) || self.covers(&self.cwd.join(ANYTHING), false)
    }

    /// Whether a text of a tool call names an excluded path.
    pub(crate) fn is_named_in(&self, text: &str) -> bool {
        if self.files.is_empty() || text.len() > NAMING_TEXT_MAX {
            return false;
        }
        let is_break = |c: char| c.is_whitespace() || "\"'`=:;,()[]{}<>|&".contains(c);
        std::iter::once(text).chain(text.split(is_break)).any(|word| self.covers_word(word.trim()))
    }

    fn covers_word(&self, word: &str) -> bool {
        if word.is_empty() || word.len() > 4_096 {
            return false;
        }
        let path = match word.strip_prefix("~/") {
            Some(inner) => self.home.join(inner),
            None => self.cwd.join(word),
        };
        let path = plain(&path);
        path != self.cwd && self.covers(&path, false)
    }

    fn covers(&self, path: &Path, is_dir: bool) -> bool {
        for (folder, file) in &self.files {
            if !path.starts_with(folder) || path == folder {
                continue;
            }
            match file.matched_path_or_any_parents(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The path without `.` and `..`, resolved by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ground(tempfile::TempDir);

    impl Ground {
        fn new(files: &[(&str, &str)]) -> Self {
            let ground = tempfile::tempdir().unwrap();
            for folder in ["shop/src", "secret-client/deep"] {
                std::fs::create_dir_all(ground.path().join(folder)).unwrap();
            }
            for (path, text) in files {
                std::fs::write(ground.path().join(path), text).unwrap();
            }
            Self(ground)
        }

        fn rules(&self, cwd: &str) -> IgnoreRules {
            IgnoreRules::read(Some(&self.0.path().join(cwd)), self.0.path())
        }
    }

    #[test]
    fn a_folder_can_be_left_out_from_above_and_from_within() {
        let ground = Ground::new(&[(".mnemonignore", "secret-*/\n"), ("shop/.mnemonignore", "# all\n*\n")]);
        assert!(ground.rules("secret-client").covers_session());
        assert!(ground.rules("secret-client/deep").covers_session());
        assert!(ground.rules("shop").covers_session());
        assert!(ground.rules("shop/src").covers_session());
        let open = Ground::new(&[(".mnemonignore", "secret-*/\n!secret-client/\n"), ("shop/.mnemonignore", "*.env\n")]);
        assert!(!open.rules("secret-client").covers_session());
        assert!(!open.rules("shop").covers_session());
    }

    #[test]
    fn files_are_found_by_name_in_arguments() {
        let ground = Ground::new(&[("shop/.mnemonignore", ".env\nkeys/\n/top.txt\n*.pem\n!public.pem\n")]);
        let rules = ground.rules("shop");
        let absolute = ground.0.path().join("shop/keys/a").display().to_string();
        for named in [
            ".env",
            "cat ./.env | head",
            "src/.env",
            "keys/a/b",
            "top.txt",
            "x --file=a.pem",
            &absolute,
            "src/../top.txt",
        ] {
            assert!(rules.is_named_in(named), "{named}");
        }
        for open in ["environment", "src/top.txt", "public.pem", "", "a b c", "../other/.envy"] {
            assert!(!rules.is_named_in(open), "{open}");
        }
        assert!(!ground.rules("secret-client").is_named_in(".env"), "without rules nothing is excluded");
    }

    #[test]
    fn the_fingerprint_follows_the_rules() {
        let ground = Ground::new(&[]);
        assert_eq!(ground.rules("shop").fingerprint(), "");
        std::fs::write(ground.0.path().join("shop/.mnemonignore"), "a\n").unwrap();
        let first = ground.rules("shop").fingerprint().to_owned();
        std::fs::write(ground.0.path().join("shop/.mnemonignore"), "b\n").unwrap();
        assert!(!first.is_empty() && ground.rules("shop").fingerprint() != first);
    }
}
