//! Kinds of hashes that facts are saved with. A file is hashed in the kind that its facts have: any other would call them stale
//! although nothing changed.

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
    /// The file's hashes in the kinds that its facts have: first the one to show, as it was saved if it was. And the hashes of
    /// facts that are of no kind that can be computed.
    Seen { hashes: Vec<String>, unknown: Vec<String> },
    /// No hash is of a kind that can be computed.
    UnknownKind,
}

/// Looks at a file. `saved` has the newest first. `is_sha256_repository` decides what 64 digits mean where they match nothing.
pub fn look(path: &Path, saved: &[String], is_sha256_repository: bool) -> anyhow::Result<Look> {
    compare(saved, is_sha256_repository, |kind| hash_file(path, kind))
}

/// The same for anything that has a hash of each kind.
pub fn compare(
    saved: &[String],
    is_sha256_repository: bool,
    hash_of: impl Fn(Kind) -> anyhow::Result<String>,
) -> anyhow::Result<Look> {
    let mut computed: HashMap<Kind, String> = HashMap::new();
    for kind in saved.iter().flat_map(|hash| Kind::of(hash)) {
        if !computed.contains_key(kind) {
            computed.insert(*kind, hash_of(*kind)?);
        }
    }
    // What was saved and still holds is told as it was saved: some write hex digits in capitals.
    let is_same = |hash: &&String| Kind::of(hash).iter().any(|kind| computed[kind].eq_ignore_ascii_case(hash));
    let mut hashes: Vec<String> = saved.iter().filter(is_same).cloned().collect();
    // Then every kind, so that a fact saved in another one next is no news. What 64 digits mean is told by those that match,
    // else by the repository.
    for hash in saved {
        let kinds = Kind::of(hash);
        let matching = kinds.iter().find(|kind| computed[kind].eq_ignore_ascii_case(hash));
        let likely = || kinds.iter().find(|kind| kinds.len() == 1 || kind.is_git() == is_sha256_repository);
        let Some(digest) = matching.or_else(likely).map(|kind| &computed[kind]) else { continue };
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
        match look(abc().path(), &texts(saved), is_sha256_repository).unwrap() {
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
            assert_eq!(look(file.path(), &texts(&[hash]), false).unwrap(), Look::UnknownKind, "{hash}");
        }
    }
}
