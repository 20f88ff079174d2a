//! The name of the repository that a folder lies in, as its remote knows it. Only git's own files are read; git is not run.

use std::fs;
use std::path::{Path, PathBuf};

/// Longer names are no workspaces.
const NAME_CHARS_MAX: usize = 64;

/// The last part of the remote's address: `shop` for `git@example.com:acme/shop.git`. `origin` counts first.
pub(crate) fn remote_name(folder: &Path) -> Option<String> {
    let config = fs::read_to_string(git_folder(folder)?.join("config")).ok()?;
    let remotes = remotes(&config);
    let origin = remotes.iter().find(|(name, _)| name == "origin");
    let (_, url) = origin.or_else(|| remotes.first())?;
    last_part(url)
}

/// Where git keeps what it knows about the repository around a folder. A worktree shares it with the others.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let entry = folder.ancestors().map(|folder| folder.join(".git")).find(|entry| entry.exists())?;
    if entry.is_dir() {
        return Some(entry);
    }
    let pointer = fs::read_to_string(&entry).ok()?;
    let own = entry.parent()?.join(pointer.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

/// Names and addresses of the remotes, in their order.
fn remotes(config: &str) -> Vec<(String, String)> {
    let mut remotes = Vec::new();
    let mut current = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            let name = line.strip_prefix("[remote \"").and_then(|rest| rest.strip_suffix("\"]"));
            current = name.map(str::to_owned);
        } else if let (Some(name), Some((key, value))) = (&current, line.split_once('='))
            && key.trim().eq_ignore_ascii_case("url")
        {
            remotes.push((name.clone(), value.trim().trim_matches('"').to_owned()));
        }
    }
    remotes
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
        assert_eq!(remote_name(folder.path()), None);
        let config =
            "[core]\n\turl = no\n[remote \"fork\"]\n\turl = u:me/fork.git\n[remote \"origin\"]\n\tURL = u:a/shop.git\n";
        fs::write(main.join(".git/config"), config).unwrap();
        fs::write(main.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/tree").display())).unwrap();
        assert_eq!(remote_name(&main.join("src/deep")).as_deref(), Some("shop"));
        assert_eq!(remote_name(&tree).as_deref(), Some("shop"));
        fs::write(main.join(".git/config"), "[remote \"fork\"]\n\turl = u:me/fork.git\n").unwrap();
        assert_eq!(remote_name(&main).as_deref(), Some("fork"));
        fs::write(main.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        assert_eq!(remote_name(&main), None);
    }
}
