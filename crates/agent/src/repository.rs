//! What a repository is called, as its remote or else its folder knows it. Only git's own files are read; git is not
//! run.

use std::fs;
use std::path::{Path, PathBuf};

/// Stands for the name of the repository around. No workspace can be called so.
pub(crate) const AUTO: &str = "auto";
/// Longer names are no workspaces.
const NAME_CHARS_MAX: usize = 64;

/// The name of the repository around a folder: the last part of its remote's address (`shop` for
/// `git@example.com:acme/shop.git`; `origin` counts first), or without a remote the name of the folder of its main
/// working tree.
pub(crate) fn name_around(folder: &Path) -> Option<String> {
    let place = GitFolders::around(folder)?;
    // A repository without a readable configuration still has a folder.
    let config = fs::read_to_string(place.git.join("config")).unwrap_or_default();
    let remotes = values(&config, "remote", "url");
    let origin = remotes.iter().find(|(name, _)| name == "origin");
    let of_remote = origin.or_else(|| remotes.first()).and_then(|(_, url)| last_part(url));
    of_remote.or_else(|| place.folder_name(&config)).filter(|name| name != AUTO)
}

/// Where a repository is.
struct GitFolders {
    /// What git knows about it. A worktree shares it with the others.
    git: PathBuf,
    /// The folder that `.git` lies in.
    tree: PathBuf,
    is_linked: bool,
}

impl GitFolders {
    fn around(folder: &Path) -> Option<Self> {
        let tree = folder.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
        let entry = tree.join(".git");
        if entry.is_dir() {
            return Some(Self { git: entry, tree, is_linked: false });
        }
        let pointer = fs::read_to_string(&entry).ok()?;
        let own = tree.join(pointer.strip_prefix("gitdir:")?.trim());
        Some(match fs::read_to_string(own.join("commondir")) {
            Ok(common) => Self { git: own.join(common.trim()), tree, is_linked: true },
            Err(_) => Self { git: own, tree, is_linked: false },
        })
    }

    /// The name of the main working tree's folder. A linked working tree has the name of the one it was made from.
    fn folder_name(&self, config: &str) -> Option<String> {
        if !self.is_linked {
            return last_part(self.tree.canonicalize().ok()?.to_str()?);
        }
        let git = self.git.canonicalize().ok()?;
        // A submodule's folder is named in its configuration: git's own files lie elsewhere.
        let told = values(config, "core", "worktree").pop().map(|(_, path)| git.join(path));
        let folder = told.and_then(|path| path.canonicalize().ok());
        // `shop/.git` belongs to `shop`, and so does `shop.git`, which has no working tree of its own.
        let is_hidden = git.file_name()?.to_str()?.starts_with('.');
        let folder = folder.or_else(|| if is_hidden { git.parent().map(Path::to_owned) } else { Some(git.clone()) })?;
        last_part(folder.to_str()?)
    }
}

/// The values of one key in sections of one kind, each with its section's name, in their order.
fn values(config: &str, section: &str, key: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut current = None;
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let (kind, name) = header.split_once(' ').unwrap_or((header, ""));
            let is_asked = kind.eq_ignore_ascii_case(section);
            current = is_asked.then(|| name.trim().trim_matches('"').to_owned());
        } else if let (Some(name), Some((word, value))) = (&current, line.split_once('='))
            && word.trim().eq_ignore_ascii_case(key)
        {
            found.push((name.clone(), value.trim().trim_matches('"').to_owned()));
        }
    }
    found
}

fn last_part(url: &str) -> Option<String> {
    let path = url.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let name = path.rsplit(['/', ':', '\\']).next()?.trim();
    let is_name = !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX && !name.chars().any(char::is_control);
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_named_by_the_last_part_of_its_address() {
        for (url, expected) in [
            ("git@example.com:acme/shop.git", Some("shop")),
            ("https://example.com/acme/shop", Some("shop")),
            ("https://example.com/acme/shop.git/", Some("shop")),
            ("ssh://git@example.com:22/acme/my.shop.git", Some("my.shop")),
            ("example.com:shop", Some("shop")),
            ("/srv/git/shop.git", Some("shop")),
            ("", None),
            ("/", None),
        ] {
            assert_eq!(last_part(url).as_deref(), expected, "{url}");
        }
        assert_eq!(last_part(&format!("/{}", "a".repeat(64))).map(|name| name.len()), Some(64));
        assert_eq!(last_part(&format!("/{}", "a".repeat(65))), None);
    }

    #[test]
    fn the_repository_around_a_folder_is_found_from_inside_and_from_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let (main, tree) = (folder.path().join("main"), folder.path().join("tree"));
        fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        fs::create_dir_all(main.join("src/deep")).unwrap();
        fs::create_dir_all(&tree).unwrap();
        assert_eq!(name_around(folder.path()), None);
        let config =
            "[core]\n\turl = no\n[remote \"fork\"]\n\turl = u:me/fork.git\n[remote \"origin\"]\n\tURL = u:a/shop.git\n";
        fs::write(main.join(".git/config"), config).unwrap();
        fs::write(main.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/tree").display())).unwrap();
        assert_eq!(name_around(&main.join("src/deep")).as_deref(), Some("shop"));
        assert_eq!(name_around(&tree).as_deref(), Some("shop"));
        fs::write(main.join(".git/config"), "[remote \"fork\"]\n\turl = u:me/fork.git\n").unwrap();
        assert_eq!(name_around(&main).as_deref(), Some("fork"));
        for config in ["[core]\n\tbare = false\n", "[remote \"origin\"]\n\turl = /\n"] {
            fs::write(main.join(".git/config"), config).unwrap();
            assert_eq!(name_around(&main.join("src")).as_deref(), Some("main"), "its folder");
            assert_eq!(name_around(&tree).as_deref(), Some("main"), "that of the main working tree");
        }
        fs::write(main.join(".git/config"), "[remote \"origin\"]\n\turl = u:me/auto.git\n").unwrap();
        assert_eq!(name_around(&main), None, "no workspace can be called so");
    }

    #[test]
    fn a_submodule_and_a_repository_without_a_working_tree_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["shop/.git/modules/lib/worktrees/tree", "shop/vendor/lib", "tree", "web.git/worktrees/two", "two"]
        {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("shop/vendor/lib/.git"), "gitdir: ../../.git/modules/lib\n").unwrap();
        fs::write(path("shop/.git/modules/lib/config"), "[core]\n\tworktree = ../../../vendor/lib\n").unwrap();
        assert_eq!(name_around(&path("shop/vendor/lib")).as_deref(), Some("lib"));
        assert_eq!(name_around(&path("shop/vendor")).as_deref(), Some("shop"));
        let link = |tree: &str, git: &str| {
            fs::write(path(tree).join(".git"), format!("gitdir: {}\n", path(git).display())).unwrap();
            fs::write(path(git).join("commondir"), "../..\n").unwrap();
        };
        link("tree", "shop/.git/modules/lib/worktrees/tree");
        assert_eq!(name_around(&path("tree")).as_deref(), Some("lib"));
        link("two", "web.git/worktrees/two");
        assert_eq!(name_around(&path("two")).as_deref(), Some("web"));
    }
}
