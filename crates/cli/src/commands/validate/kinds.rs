//! Kinds of hashes that facts are saved with. A file is hashed in the kind that its facts have: any other would call
//! them stale although nothing changed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::Context;
use ring::digest::{self, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// A kind of hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `sha256:` and 64 hex digits.
    PrefixedSha256,
    /// 64 hex digits: SHA-256 of the content.
    Sha256,
    /// 40 hex digits: the id that git gives a file.
    GitBlobSha1,
    /// 64 hex digits: the same in a repository of the newer format.
    GitBlobSha256,
}

impl Kind {
    /// The kinds that a hash may be of; none if it is of a kind that can't be computed here.
    pub fn of(hash: &str) -> &'static [Self] {
        let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
        match hash.split_once(':') {
            Some((name, digits)) if name.eq_ignore_ascii_case("sha256") && is_hex(digits, 64) => {
                &[Self::PrefixedSha256]
            }
            None if is_hex(hash, 64) => &[Self::Sha256, Self::GitBlobSha256],
            None if is_hex(hash, 40) => &[Self::GitBlobSha1],
            _ => &[],
        }
    }

    const fn is_git(self) -> bool {
        matches!(self, Self::GitBlobSha1 | Self::GitBlobSha256)
    }
}

/// A file's hash in one kind, as it would be saved.
pub fn hash_file(path: &Path, kind: Kind) -> anyhow::Result<String> {
    let failed = || format!("can't read {}", path.display());
    let file = File::open(path).with_context(failed)?;
    let bytes = file.metadata().with_context(failed)?.len();
    let mut state = begin(kind, bytes);
    let (mut reader, mut buffer) = (BufReader::new(file), vec![0; 64 << 10]);
    loop {
        match reader.read(&mut buffer).with_context(failed)? {
            0 => break,
            read => state.update(&buffer[..read]),
        }
    }
    Ok(end(kind, state))
}

/// The hash of a text in one kind, as it would be saved.
pub fn hash_bytes(bytes: &[u8], kind: Kind) -> String {
    let mut state = begin(kind, bytes.len() as u64);
    state.update(bytes);
    end(kind, state)
}

fn begin(kind: Kind, size_bytes: u64) -> digest::Context {
    let algorithm = if kind == Kind::GitBlobSha1 { &SHA1_FOR_LEGACY_USE_ONLY } else { &SHA256 };
    let mut state = digest::Context::new(algorithm);
    if kind.is_git() {
        state.update(format!("blob {size_bytes}\0").as_bytes());
    }
    state
}

fn end(kind: Kind, state: digest::Context) -> String {
    let digits = mnemon_core::to_hex(state.finish());
    if kind == Kind::PrefixedSha256 { format!("sha256:{digits}") } else { digits }
}

/// How a file looks, compared with the hashes that its facts were saved with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// The file's hashes in the kinds that its facts have: first the one to show, as it was saved if it was. And the
    /// hashes of facts that are of no kind that can be computed.
    Seen { hashes: Vec<String>, unknown: Vec<String> },
    /// No hash is of a kind that can be computed.
    UnknownKind,
}

/// Looks at a file. `saved` has the newest first. `is_sha256_repository` decides what 64 digits mean where they match
/// nothing.
pub fn look_at_file(path: &Path, saved: &[String], is_sha256_repository: bool) -> anyhow::Result<Look> {
    compare(saved, is_sha256_repository, |kind| Ok(vec![hash_file(path, kind)?]))
}

/// The same for a content that git stores or checks out. The same text has other line ends on other systems, and a
/// Git LFS pointer has the large file's hash in it: people save the hashes of what they have on disk.
pub fn look_at_content(content: &[u8], saved: &[String], is_sha256_repository: bool) -> Look {
    let other = other_line_ends(content);
    let large = large_file(content);
    let hashes_of = |kind| {
        let forms = std::iter::once(content).chain(other.as_deref());
        let hashes =
            forms.map(|form| hash_bytes(form, kind)).chain(large.filter(|_| !kind.is_git()).map(|digits| {
                if kind == Kind::PrefixedSha256 { format!("sha256:{digits}") } else { digits.to_owned() }
            }));
        Ok(hashes.collect())
    };
    compare(saved, is_sha256_repository, hashes_of).unwrap_or(Look::UnknownKind)
}

/// Whether a file on disk is what git would check out for a content.
pub fn is_checked_out(on_disk: &[u8], content: &[u8]) -> bool {
    let is_large = || large_file(content).is_some_and(|digits| hash_bytes(on_disk, Kind::Sha256) == digits);
    on_disk == content || other_line_ends(content).is_some_and(|other| other == on_disk) || is_large()
}

/// A text with the other line ends: CR LF for LF, or the other way round. None for what is no text, or has both.
fn other_line_ends(content: &[u8]) -> Option<Vec<u8>> {
    let count = |byte: u8| content.iter().filter(|known| **known == byte).count();
    let (lines, returns) = (count(b'\n'), count(b'\r'));
    let is_windows = returns == lines && content.windows(2).filter(|pair| pair == b"\r\n").count() == lines;
    if count(0) > 0 || lines == 0 || (returns > 0 && !is_windows) {
        return None;
    }
    if is_windows {
        return Some(content.iter().copied().filter(|byte| *byte != b'\r').collect());
    }
    let mut other = Vec::with_capacity(content.len() + lines);
    for byte in content {
        if *byte == b'\n' {
            other.push(b'\r');
        }
        other.push(*byte);
    }
    Some(other)
}

/// The SHA-256 of the file that a Git LFS pointer refers to.
fn large_file(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content.get(..content.len().min(1_024))?).ok()?;
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    rest.lines().find_map(|line| line.strip_prefix("oid sha256:")).filter(|digits| digits.len() == 64)
}

/// The same for anything that has hashes of each kind: first the one to tell, then others that mean the same content.
pub fn compare(
    saved: &[String],
    is_sha256_repository: bool,
    hashes_of: impl Fn(Kind) -> anyhow::Result<Vec<String>>,
) -> anyhow::Result<Look> {
    let mut computed: HashMap<Kind, Vec<String>> = HashMap::new();
    for kind in saved.iter().flat_map(|hash| Kind::of(hash)) {
        if !computed.contains_key(kind) {
            computed.insert(*kind, hashes_of(*kind)?);
        }
    }
    let is_of = |hash: &str, kind: &Kind| computed[kind].iter().any(|known| known.eq_ignore_ascii_case(hash));
    // A saved hash that still holds is reported as it was saved: some write hex digits in capitals.
    let is_same = |hash: &&String| Kind::of(hash).iter().any(|kind| is_of(hash, kind));
    let mut hashes: Vec<String> = saved.iter().filter(is_same).cloned().collect();
    // Then every kind, so that a fact saved with another kind next is no change. Which kind 64 digits are is decided by
    // those that match, else by the repository.
    let kinds = saved.iter().filter_map(|hash| {
        let kinds = Kind::of(hash);
        let likely = || kinds.iter().find(|kind| kinds.len() == 1 || kind.is_git() == is_sha256_repository);
        kinds.iter().find(|kind| is_of(hash, kind)).or_else(likely)
    });
    let kinds: Vec<&Kind> = kinds.collect();
    let first = kinds.iter().filter_map(|kind| computed[*kind].first());
    for digest in first.chain(kinds.iter().flat_map(|kind| computed[*kind].iter().skip(1))) {
        if !hashes.iter().any(|known| known.eq_ignore_ascii_case(digest)) {
            hashes.push(digest.clone());
        }
    }
    let unknown = saved.iter().filter(|hash| Kind::of(hash).is_empty()).cloned().collect();
    Ok(if hashes.is_empty() { Look::UnknownKind } else { Look::Seen { hashes, unknown } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const BLOB: &str = "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f";
    const BLOB_256: &str = "c1cf6e465077930e88dc5136641d402f72a229ddd996f627d60e9639eaba35a6";

    fn abc() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        file
    }

    fn texts(hashes: &[&str]) -> Vec<String> {
        hashes.iter().map(|hash| (*hash).to_owned()).collect()
    }

    #[test]
    fn a_file_has_the_hashes_that_others_compute() {
        let file = abc();
        for (kind, expected) in [
            (Kind::PrefixedSha256, format!("sha256:{SHA256}")),
            (Kind::Sha256, SHA256.to_owned()),
            (Kind::GitBlobSha1, BLOB.to_owned()),
            (Kind::GitBlobSha256, BLOB_256.to_owned()),
        ] {
            assert_eq!(hash_file(file.path(), kind).unwrap(), expected, "{kind:?}");
        }
    }

    fn seen(saved: &[&str], is_sha256_repository: bool) -> (Vec<String>, Vec<String>) {
        match look_at_file(abc().path(), &texts(saved), is_sha256_repository).unwrap() {
            Look::Seen { hashes, unknown } => (hashes, unknown),
            Look::UnknownKind => (Vec::new(), Vec::new()),
        }
    }

    #[test]
    fn a_file_that_did_not_change_is_the_same_in_every_kind() {
        for hash in [SHA256, BLOB, BLOB_256, &SHA256.to_uppercase(), &format!("sha256:{SHA256}")] {
            for is_sha256_repository in [false, true] {
                assert_eq!(seen(&[hash], is_sha256_repository), (texts(&[hash]), vec![]));
            }
        }
    }

    #[test]
    fn a_changed_file_is_told_in_the_kinds_of_its_facts() {
        let (other, blob) = ("0".repeat(64), "0".repeat(40));
        assert_eq!(seen(&[&other], false).0, [SHA256]);
        assert_eq!(seen(&[&other], true).0, [BLOB_256]);
        assert_eq!(seen(&[&blob], true).0, [BLOB]);
        assert_eq!(seen(&[&blob, &other], false).0, [BLOB, SHA256]);
        assert_eq!(seen(&[&blob, SHA256], false).0, [SHA256, BLOB], "facts from before and after");
    }

    #[test]
    fn facts_of_several_kinds_are_all_told() {
        let prefixed = format!("sha256:{SHA256}");
        assert_eq!(seen(&[BLOB, SHA256, &prefixed], false).0, [BLOB, SHA256, &prefixed]);
        let capitals = SHA256.to_uppercase();
        assert_eq!(seen(&[SHA256, &capitals], false).0, [SHA256, &capitals]);
        assert_eq!(seen(&[BLOB_256, SHA256], false).0, [BLOB_256, SHA256], "64 digits of both kinds");
        assert_eq!(seen(&["v7", BLOB], false), (texts(&[BLOB]), texts(&["v7"])));
        assert_eq!(seen(&["v7", &"0".repeat(40)], false), (texts(&[BLOB]), texts(&["v7"])));
    }

    #[test]
    fn a_foreign_hash_is_never_called_stale() {
        let file = abc();
        for hash in
            ["", "v1.2.3", "W/\"33a64df5\"", "md5:900150983cd24fb0d6963f7d28e17f72", &"0".repeat(39), &"g".repeat(40)]
        {
            assert_eq!(look_at_file(file.path(), &texts(&[hash]), false).unwrap(), Look::UnknownKind, "{hash}");
        }
    }

    #[test]
    fn a_text_with_other_line_ends_is_the_same_text() {
        let (unix, windows) = (&b"one\ntwo\n"[..], &b"one\r\ntwo\r\n"[..]);
        for (content, on_disk) in [(unix, windows), (windows, unix)] {
            assert!(is_checked_out(on_disk, content));
            for kind in [Kind::PrefixedSha256, Kind::Sha256, Kind::GitBlobSha1, Kind::GitBlobSha256] {
                let saved = hash_bytes(on_disk, kind);
                let Look::Seen { hashes, .. } = look_at_content(content, std::slice::from_ref(&saved), false) else {
                    panic!()
                };
                assert_eq!(hashes[0], saved, "{kind:?}");
                assert!(hashes.contains(&hash_bytes(content, kind)), "{kind:?}");
            }
        }
        for content in [&b"one\r\ntwo\n"[..], b"one\rtwo", b"a\0b\n", b"", b"one"] {
            assert_eq!(other_line_ends(content), None, "{content:?}");
        }
    }

    #[test]
    fn a_large_file_is_known_by_what_stands_for_it() {
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{SHA256}\nsize 3\n");
        assert!(is_checked_out(b"abc", pointer.as_bytes()) && !is_checked_out(b"abd", pointer.as_bytes()));
        let saved = format!("sha256:{SHA256}");
        let Look::Seen { hashes, .. } = look_at_content(pointer.as_bytes(), std::slice::from_ref(&saved), false) else {
            panic!()
        };
        assert_eq!(hashes[0], saved);
        assert_eq!(large_file(b"version of something\noid sha256:0\n"), None);
    }
}
