//! Absolute paths reveal who works where. Inside the session's folder they become relative, inside the home directory
//! they start with `~`, and elsewhere only the last name is kept.

use std::path::Path;

/// First folders that make a text a machine path. The list is fixed: the result must not depend on the day.
const ROOTS: [&str; 41] = [
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "__w",
    "app",
    "bin",
    "boot",
    "builds",
    "cygdrive",
    "data",
    "dev",
    "etc",
    "github",
    "home",
    "lib",
    "lib32",
    "lib64",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "repo",
    "root",
    "run",
    "sbin",
    "scratch",
    "snap",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
    "vol",
    "work",
    "workdir",
    "workspace",
    "workspaces",
];

pub(super) struct Paths {
    cwd: String,
    home: String,
    /// The first folders of those two, which may be unusual.
    roots: Vec<String>,
}

impl Paths {
    pub(super) fn new(cwd: Option<&Path>, home: &Path) -> Self {
        let plain = |path: &Path| path.to_string_lossy().trim_end_matches(['/', '\\']).to_owned();
        let (cwd, home) = (cwd.map(plain).unwrap_or_default(), plain(home));
        let first = |path: &str| path.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
        let roots = [first(&cwd), first(&home)].into_iter().filter(|root| !root.is_empty()).collect();
        Self { cwd, home, roots }
    }

    /// The text without absolute paths.
    pub(super) fn scrub(&self, text: &str) -> String {
        let text = replace_folder(text, &self.cwd, ".");
        let text = replace_folder(&text, &self.home, "~");
        let text = self.scrub_unix(&text);
        scrub_windows(&text)
    }

    fn scrub_unix(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('/') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let path = &from[..from.find(is_no_path).unwrap_or(from.len())];
            if begins_path(&out) && !path.starts_with("//") && self.is_machine_path(path) {
                out.push_str("…/");
                out.push_str(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
                rest = &from[path.len()..];
            } else {
                out.push('/');
                rest = &from[1..];
            }
        }
        out.push_str(rest);
        out
    }

    fn is_machine_path(&self, path: &str) -> bool {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        ROOTS.contains(&first) || self.roots.iter().any(|root| root == first)
    }
}

/// Replaces a folder by a short name wherever the whole folder appears.
fn replace_folder(text: &str, folder: &str, short: &str) -> String {
    // A folder directly below the root is too short to distinguish it from other words.
    if folder.len() < 2 || !text.contains(folder) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = &from[folder.len()..];
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        out.push_str(if goes_on { folder } else { short });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a slash here starts a path: not inside a word or a URL, unless it is a file URL.
fn begins_path(before: &str) -> bool {
    let mut last = before.chars().rev();
    match (last.next(), last.next()) {
        (Some('n' | 't' | 'r'), Some('\\')) => true,
        (Some('/'), _) => before.ends_with("file://"),
        (Some(c), _) => !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '…' | '%')),
        (None, _) => true,
    }
}

fn is_no_path(c: char) -> bool {
    c.is_whitespace() || "\"'`<>|:;,()[]{}*?\\".contains(c)
}

/// `C:\Users\ana\x` becomes `…\x`, with single or doubled backslashes.
fn scrub_windows(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(":\\") {
        let drive = at.checked_sub(1).filter(|drive| rest.as_bytes()[*drive].is_ascii_alphabetic());
        let is_alone = drive.is_some_and(|drive| !rest[..drive].ends_with(|c: char| c.is_alphanumeric()));
        let from = &rest[at + 1..];
        let end = from.find(|c: char| c.is_whitespace() || "\"'`<>|:;,()[]{}*?".contains(c)).unwrap_or(from.len());
        let path = &from[..end];
        let folders = path.split('\\').filter(|name| !name.is_empty()).count();
        // `s:\d+` is a regular expression; a drive letter is a capital, or has folders after it.
        let is_path = |drive: usize| rest.as_bytes()[drive].is_ascii_uppercase() || folders > 1;
        let (Some(drive), true) = (drive.filter(|drive| is_path(*drive)), is_alone) else {
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        out.push_str(&rest[..drive]);
        out.push_str("…\\");
        out.push_str(path.trim_end_matches('\\').rsplit('\\').next().unwrap_or_default());
        rest = &from[path.len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let paths = Paths::new(Some(Path::new("/home/ana/shop")), Path::new("/home/ana"));
        assert_eq!(paths.scrub(text), expected, "{text}");
        assert_eq!(paths.scrub(expected), expected, "a clean text stays unchanged");
    }

    #[test]
    fn paths_become_short() {
        check("/home/ana/shop/src/main.rs:12", "./src/main.rs:12");
        check("cd /home/ana/shop && ls", "cd . && ls");
        check("/home/ana/shopping/list", "~/shopping/list");
        check("see /home/ana/notes.md", "see ~/notes.md");
        check("in '/home/ben/x/y.txt', too", "in '…/y.txt', too");
        check("/usr/lib/python3/site.py", "…/site.py");
        check("/tmp", "…/tmp");
        check("PATH=/usr/bin:/home/ben/bin", "PATH=…/bin:…/bin");
        check(r#"a\n/home/ben/x\n"#, r#"a\n…/x\n"#);
        check("file:///home/ben/x", "file://…/x");
        check(r"C:\Users\ana\shop\a.txt and D:\\work\\b", r"…\a.txt and …\b");
    }

    #[test]
    fn anything_but_a_path_stays() {
        for text in [
            "and/or",
            "https://example.com/home/page",
            "GET /mcp",
            "/admin/v1/accounts",
            "a / b",
            "1/2",
            "src/home/x",
            "//comment",
            "./home/x",
            "~/x",
            "s:\\d+",
            "",
        ] {
            check(text, text);
        }
    }
}
