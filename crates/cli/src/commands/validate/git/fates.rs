//! What became of files that a commit no longer has: deleted, or renamed to where. Only the commits that removed them
//! are looked at for renames, so a long history is read once and cheaply.

use std::collections::{HashMap, HashSet};

use super::{Repository, words};

/// What became of a file that is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Deleted,
    /// Renamed to this path, relative to the root.
    Renamed(String),
}

/// Names can go round in a circle; no file is renamed more often than this.
const RENAMES_MAX: usize = 50;
/// How many paths git is asked about by name, and how long they may be together.
const PATHS_MAX: usize = 32;
const PATHS_BYTES_MAX: usize = 16 << 10;
/// Begins a commit in git's answer.
const COMMIT_MARK: &str = "\u{1}commit ";

impl Repository {
    /// What was removed or renamed since the commit that is checked out, as far as the index knows.
    pub fn staged_fates(&self) -> HashMap<String, Fate> {
        let arguments = ["diff-index", "--cached", "-z", "-M50%", "-l1000", "--name-status", "--diff-filter=DR"];
        let told = self.run(&[&arguments[..], &["--no-ext-diff", "--no-textconv", "HEAD", "--"]].concat());
        let told = told.unwrap_or_default();
        let mut words = told.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let mut fates = HashMap::new();
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            let new = if status.starts_with('R') { words.next() } else { None };
            fates.insert(path.into_owned(), new.map_or(Fate::Deleted, |new| Fate::Renamed(new.into_owned())));
        }
        fates
    }
}

/// What became of these paths before a commit, and after it by what is `staged`. A path that the history does not know
/// has no fate.
pub fn fates(
    repository: &Repository,
    commit: &str,
    missing: &HashSet<String>,
    staged: &HashMap<String, Fate>,
    exists: impl Fn(&str) -> bool,
) -> anyhow::Result<HashMap<String, Fate>> {
    let mut steps = staged.clone();
    let mut open: HashSet<String> = missing.iter().filter(|path| !steps.contains_key(*path)).cloned().collect();
    let mut asked: HashSet<String> = HashSet::new();
    while !open.is_empty() {
        let removed = removals(repository, commit, &open)?;
        let renames = renames(repository, removed.values())?;
        for (path, by) in removed {
            let new = renames.get(&(by, path.clone())).cloned();
            steps.insert(path, new.map_or(Fate::Deleted, Fate::Renamed));
        }
        asked.extend(open);
        let targets = steps.values().filter_map(|fate| match fate {
            Fate::Renamed(new) if !exists(new) && !steps.contains_key(new) && !asked.contains(new) => Some(new.clone()),
            _ => None,
        });
        open = targets.collect();
    }
    let end = |path: &String| Some((path.clone(), follow(&steps, path, &exists)?));
    Ok(missing.iter().filter_map(end).collect())
}

/// Where a file is now, however often it was renamed. Renamed to what is not there any more either means deleted.
fn follow(steps: &HashMap<String, Fate>, path: &str, exists: impl Fn(&str) -> bool) -> Option<Fate> {
    let mut fate = steps.get(path)?;
    for _ in 0..RENAMES_MAX {
        match fate {
            Fate::Renamed(new) if exists(new) => return Some(fate.clone()),
            Fate::Renamed(new) => fate = steps.get(new).unwrap_or(&Fate::Deleted),
            Fate::Deleted => break,
        }
    }
    Some(Fate::Deleted)
}

/// The newest commit that removed each path. All sides of merges are read: a removal on a branch that was merged
/// counts, and so does one that only the merge itself made (`-c` lists what differs from all its parents).
fn removals(repository: &Repository, commit: &str, paths: &HashSet<String>) -> anyhow::Result<HashMap<String, String>> {
    let format = format!("--format={COMMIT_MARK}%H");
    let mut arguments = vec!["log", "--full-history", "-c", "--diff-filter=D", "--no-renames", "--no-ext-diff"];
    arguments.extend(["--no-textconv", "--name-only", "-z", &format, commit, "--"]);
    // Git compares each folder of each commit with every path: from some number of paths on, all folders are cheaper.
    if paths.len() <= PATHS_MAX && paths.iter().map(String::len).sum::<usize>() <= PATHS_BYTES_MAX {
        arguments.extend(paths.iter().map(String::as_str));
    }
    let told = repository.run(&arguments)?;
    let (mut removals, mut current) = (HashMap::new(), "");
    for word in words(&told) {
        // The first name after a commit begins with a line break of git's.
        let name = word.strip_prefix('\n').unwrap_or(word);
        match word.strip_prefix(COMMIT_MARK) {
            Some(commit) => current = commit,
            None if paths.contains(name) => {
                removals.entry(name.to_owned()).or_insert_with(|| current.to_owned());
            }
            None => {}
        }
    }
    Ok(removals)
}

/// What these commits renamed: the new path by commit and old path. Half of a file must be alike, as git sees it.
fn renames<'a>(
    repository: &Repository,
    commits: impl Iterator<Item = &'a String>,
) -> anyhow::Result<HashMap<(String, String), String>> {
    let commits: HashSet<&String> = commits.collect();
    let input = commits.into_iter().fold(String::new(), |input, commit| input + commit + "\n");
    let common = ["diff-tree", "--stdin", "-r", "-m", "-z", "--name-status", "--diff-filter=R", "--no-ext-diff"];
    let with = |likeness: &str| {
        repository.run_with(&[&common[..], &["--no-textconv", "-l1000", likeness]].concat(), input.as_bytes())
    };
    // A partial clone may lack the contents; then only files that were renamed as they were are known.
    let told = with("-M50%").or_else(|_| with("-M100%"))?;
    let (mut renames, mut current) = (HashMap::new(), String::new());
    // A name that is not UTF-8 keeps its place here, and leads to no file.
    let mut words = told.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    while let Some(word) = words.next() {
        if word.starts_with('R') {
            let (Some(old), Some(new)) = (words.next(), words.next()) else { break };
            renames.insert((current.clone(), old.into_owned()), new.into_owned());
        } else {
            current = word.into_owned();
        }
    }
    Ok(renames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_are_followed_to_the_end_and_deletions_end_them() {
        let to = |path: &str| Fate::Renamed(path.to_owned());
        let steps = [("a", to("b")), ("b", to("c")), ("d", Fate::Deleted), ("x", to("y")), ("y", to("x"))];
        let steps: HashMap<String, Fate> = steps.into_iter().map(|(path, fate)| (path.to_owned(), fate)).collect();
        assert_eq!(follow(&steps, "a", |path| path == "c"), Some(to("c")));
        assert_eq!(follow(&steps, "a", |path| path == "b"), Some(to("b")));
        assert_eq!(follow(&steps, "a", |_| false), Some(Fate::Deleted), "where it went is gone too");
        assert_eq!(follow(&steps, "d", |_| true), Some(Fate::Deleted));
        assert_eq!(follow(&steps, "absent", |_| true), None);
        assert_eq!(follow(&steps, "x", |_| false), Some(Fate::Deleted), "a circle ends");
    }
}
