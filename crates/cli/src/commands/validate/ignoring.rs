//! What `.mnemonignore` files say, in the manner of `.gitignore`: those of every folder from the file upwards, the
//! nearest first.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A file of ours that lists what is left alone.
pub const IGNORE_FILE: &str = ".mnemonignore";

/// The rules that were read so far.
#[derive(Default)]
pub struct Ignoring {
    rules: RefCell<HashMap<PathBuf, Option<Gitignore>>>,
}

impl Ignoring {
    /// Whether a file is to be left alone, be it there or not.
    pub fn covers(&self, file: &Path) -> bool {
        let mut rules = self.rules.borrow_mut();
        for folder in file.ancestors().skip(1) {
            let Some(rules) = rules.entry(folder.to_owned()).or_insert_with(|| read(folder)) else { continue };
            match rules.matched_path_or_any_parents(file, false) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

fn read(folder: &Path) -> Option<Gitignore> {
    let path = folder.join(IGNORE_FILE);
    if !path.is_file() {
        return None;
    }
    let mut builder = GitignoreBuilder::new(folder);
    // A line that makes no sense is passed over, as git does.
    let _ = builder.add(path);
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_counts_and_a_folder_covers_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("docs/deep")).unwrap();
        std::fs::write(root.join(IGNORE_FILE), "*.env\n/private/\n").unwrap();
        std::fs::write(root.join("docs").join(IGNORE_FILE), "!open.env\ndraft*\n").unwrap();
        let ignoring = Ignoring::default();
        for covered in
            ["a.env", "docs/b.env", "private/a.md", "private/x/y.md", "docs/draft.md", "docs/deep/draft-2.md"]
        {
            assert!(ignoring.covers(&root.join(covered)), "{covered}");
        }
        for open in ["a.md", "docs/open.env", "docs/private/a.md", "draft.md", "absent/a.md"] {
            assert!(!ignoring.covers(&root.join(open)), "{open}");
        }
    }
}
