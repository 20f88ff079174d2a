//! Kinds of hashes that facts are saved with. A file is hashed in the kind that its facts have: any other would call them stale
//! although nothing changed.

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
    let algorithm = if kind == Kind::GitBlobSha1 { &SHA1_FOR_LEGACY_USE_ONLY } else { &SHA256 };
    let mut state = digest::Context::new(algorithm);
    if kind.is_git() {
        state.update(format!("blob {bytes}\0").as_bytes());
    }
    let (mut reader, mut buffer) = (BufReader::new(file), vec![0; 64 << 10]);
    loop {
        match reader.read(&mut buffer).with_context(failed)? {
            0 => break,
            read => state.update(&buffer[..read]),
        }
    }
    let digits = mnemon_core::to_hex(state.finish());
    Ok(if kind == Kind::PrefixedSha256 { format!("sha256:{digits}") } else { digits })
}

/// How a file looks, compared with the hashes that its facts were saved with, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// One of the hashes is the file's; it is told as it was saved.
    Same(String),
    /// Facts have hashes of several kinds, and more than one of them is the file's. The service knows one hash per source,
    /// so only the facts with the newest are told to hold.
    Mixed(String),
    /// None of them is; this is the file's own.
    Changed(String),
    /// No hash is of a kind that can be computed.
    UnknownKind,
}

/// Looks at a file. `is_sha256_repository` decides what 64 digits mean where they match nothing.
pub fn look(path: &Path, saved: &[String], is_sha256_repository: bool) -> anyhow::Result<Look> {
    let mut computed: Vec<(Kind, String)> = Vec::new();
    let mut matching: Vec<&String> = Vec::new();
    let mut own = None;
    for hash in saved {
        for &kind in Kind::of(hash) {
            let known = computed.iter().find(|(known, _)| *known == kind).map(|(_, digest)| digest.clone());
            let digest = match known {
                Some(digest) => digest,
                None => {
                    let digest = hash_file(path, kind)?;
                    computed.push((kind, digest.clone()));
                    digest
                }
            };
            if digest.eq_ignore_ascii_case(hash) {
                matching.push(hash);
            }
            let is_meant = kind.is_git() == is_sha256_repository || Kind::of(hash).len() == 1;
            if own.is_none() && is_meant {
                own = Some(digest);
            }
        }
    }
    Ok(match (matching.as_slice(), own) {
        ([only], _) => Look::Same((*only).clone()),
        ([newest, ..], _) => Look::Mixed((*newest).clone()),
        ([], Some(own)) => Look::Changed(own),
        ([], None) => Look::UnknownKind,
    })
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

    #[test]
    fn a_file_that_did_not_change_is_the_same_in_every_kind() {
        let file = abc();
        for hash in [SHA256, BLOB, BLOB_256, &SHA256.to_uppercase(), &format!("sha256:{SHA256}")] {
            for is_sha256_repository in [false, true] {
                let look = look(file.path(), &texts(&[hash]), is_sha256_repository).unwrap();
                assert_eq!(look, Look::Same(hash.to_owned()));
            }
        }
    }

    #[test]
    fn a_changed_file_is_told_in_the_kind_of_its_newest_facts() {
        let file = abc();
        let other = "0".repeat(64);
        let of = |saved: &[&str], is_sha256| look(file.path(), &texts(saved), is_sha256).unwrap();
        assert_eq!(of(&[&other], false), Look::Changed(SHA256.to_owned()));
        assert_eq!(of(&[&other], true), Look::Changed(BLOB_256.to_owned()));
        assert_eq!(of(&[&"0".repeat(40)], true), Look::Changed(BLOB.to_owned()));
        assert_eq!(of(&[&"0".repeat(40), SHA256], false), Look::Same(SHA256.to_owned()), "it was changed back");
        assert_eq!(of(&[BLOB, SHA256], false), Look::Mixed(BLOB.to_owned()));
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
