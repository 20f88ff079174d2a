//! The files of a commit, and those that git tracks here.

use std::collections::HashMap;

use super::Repository;

/// Something in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file, with the id of its content.
    File(String),
    /// A link, a submodule, or a file that is not checked out on purpose. None of them is ever read.
    Other,
}

/// What there is, by its path from the root.
pub type Entries = HashMap<String, Entry>;

impl Repository {
    pub fn entries_of(&self, commit: &str) -> anyhow::Result<Entries> {
        Ok(read(&self.run(&["ls-tree", "-r", "-z", "--full-tree", commit])?))
    }

    /// What the index has: every file that git tracks here.
    pub fn entries_here(&self) -> anyhow::Result<Entries> {
        Ok(read(&self.run(&["ls-files", "-z", "-t", "--stage"])?))
    }
}

/// `100644 blob <id>\t<path>` of a tree, or `H 100644 <id> <stage>\t<path>` of the index; each ended by NUL.
fn read(told: &[u8]) -> Entries {
    let lines = super::words(told).filter_map(|line| line.split_once('\t'));
    let entries = lines.filter_map(|(about, path)| {
        let mut words = about.split(' ');
        let mut mode = words.next()?;
        let is_absent_on_purpose = mode == "S";
        if mode.len() == 1 {
            mode = words.next()?;
        }
        let is_file = matches!(mode, "100644" | "100755") && !is_absent_on_purpose;
        let id = words.find(|word| word.len() >= 40)?;
        Some((path.to_owned(), if is_file { Entry::File(id.to_owned()) } else { Entry::Other }))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_and_the_index_are_read_alike() {
        let id = "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f";
        let tree = format!(
            "100644 blob {id}\ta b.md\0120000 blob {id}\tlink\0160000 commit {id}\tsub\0100755 blob {id}\t-x \"é\"\n.sh\0"
        );
        let index = format!(
            "H 100644 {id} 0\ta b.md\0H 120000 {id} 0\tlink\0S 100644 {id} 0\tsub\0M 100755 {id} 2\t-x \"é\"\n.sh\0"
        );
        for told in [tree, index] {
            let entries = read(told.as_bytes());
            let file = |path: &str| entries.get(path).cloned();
            assert_eq!(file("a b.md"), Some(Entry::File(id.to_owned())), "{told}");
            assert_eq!(file("-x \"é\"\n.sh"), Some(Entry::File(id.to_owned())), "{told}");
            assert_eq!((file("link"), file("sub")), (Some(Entry::Other), Some(Entry::Other)), "{told}");
        }
        assert!(read(b"100644 blob f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f\t\xff.md\0").is_empty());
    }
}
