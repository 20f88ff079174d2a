//! Credentials at rest: AES-256-GCM under a key from the configuration. Each is bound to its project and integration,
//! so that encrypted bytes moved to another row can't be decrypted there.
//!
//! The bytes: a format number, eight bytes that identify the key, the nonce, the ciphertext with its tag.

use std::fmt;
use std::sync::Arc;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use mnemon_core::{ProjectId, Secret, to_hex};
use sha2::{Digest, Sha256};

const FORMAT: u8 = 1;
const KEY_ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 12;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;

/// Headers that are sent to an upstream.
pub(crate) type Headers = Vec<(String, Arc<Secret<String>>)>;

/// A key that encrypts credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct SealingKey([u8; 32]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 32 random bytes as 64 hexadecimal characters or base64; generate it with: openssl rand -base64 32")]
pub struct BadKey;

impl SealingKey {
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        let bytes = if text.len() == 64 {
            from_hex(text)
        } else {
            [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|base64| base64.decode(text).ok())
        };
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(BadKey)
    }

    /// Eight bytes that identify the key without revealing it.
    fn id(&self) -> [u8; KEY_ID_BYTES] {
        let digest: [u8; 32] = Sha256::new().chain_update(b"mnemon sealing key").chain_update(self.0).finalize().into();
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&digest[..KEY_ID_BYTES]);
        id
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(&self.0.into())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| char::from(text.as_bytes()[at]).to_digit(16);
    (0..text.len()).step_by(2).map(|at| u8::try_from(digit(at)? * 16 + digit(at + 1)?).ok()).collect()
}

/// What a credential belongs to.
pub(crate) struct Place<'a> {
    pub(crate) project: ProjectId,
    pub(crate) name: &'a str,
}

impl Place<'_> {
    fn to_bytes(&self) -> Vec<u8> {
        [b"mnemon integration\0", &self.project.to_bytes()[..], self.name.as_bytes()].concat()
    }
}

/// Why a credential could not be decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// It was encrypted with a key that we do not have; this is its id.
    OtherKey(String),
    /// The bytes are not what was encrypted.
    Broken,
}

/// Encrypts and decrypts.
pub(crate) struct Sealer {
    current: Option<SealingKey>,
    previous: Option<SealingKey>,
}

impl Sealer {
    pub(crate) fn new(current: Option<SealingKey>, previous: Option<SealingKey>) -> Self {
        Self { current, previous }
    }

    pub(crate) fn can_seal(&self) -> bool {
        self.current.is_some()
    }

    /// Encrypts with the current key; `None` if there is none. A nonce is random and never reused.
    pub(crate) fn seal(&self, place: &Place<'_>, plain: &[u8], random: [u8; 32]) -> Option<Vec<u8>> {
        let key = self.current.as_ref()?;
        let nonce: [u8; NONCE_BYTES] = Sha256::digest(random)[..NONCE_BYTES].try_into().ok()?;
        let payload = Payload { msg: plain, aad: &place.to_bytes() };
        let sealed = key.cipher().encrypt(&Nonce::from(nonce), payload).ok()?;
        Some([&[FORMAT][..], &key.id(), &nonce, &sealed].concat())
    }

    /// Whether it is encrypted with the current key.
    pub(crate) fn is_current(&self, sealed: &[u8]) -> bool {
        self.current.as_ref().is_some_and(|key| sealed.get(1..=KEY_ID_BYTES) == Some(&key.id()[..]))
    }

    pub(crate) fn open(&self, place: &Place<'_>, sealed: &[u8]) -> Result<Vec<u8>, NotOpened> {
        if sealed.len() < HEAD_BYTES || sealed[0] != FORMAT {
            return Err(NotOpened::Broken);
        }
        let (head, ciphertext) = sealed.split_at(HEAD_BYTES);
        let (id, nonce) = head[1..].split_at(KEY_ID_BYTES);
        let key = [&self.current, &self.previous].into_iter().flatten().find(|key| key.id() == id);
        let key = key.ok_or_else(|| NotOpened::OtherKey(to_hex(id)))?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| NotOpened::Broken)?;
        let payload = Payload { msg: ciphertext, aad: &place.to_bytes() };
        key.cipher().decrypt(&Nonce::from(nonce), payload).map_err(|_| NotOpened::Broken)
    }
}

/// The plaintext form of a credential.
pub(crate) fn headers_to_json(headers: &Headers) -> Vec<u8> {
    let pairs: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, value.expose().as_str())).collect();
    serde_json::to_vec(&pairs).expect("pairs of strings are JSON")
}

pub(crate) fn headers_from_json(plain: &[u8]) -> Option<Headers> {
    let pairs: Vec<(String, String)> = serde_json::from_slice(plain).ok()?;
    Some(pairs.into_iter().map(|(name, value)| (name, Arc::new(Secret::new(value)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SealingKey {
        SealingKey([byte; 32])
    }

    fn place(name: &str) -> Place<'_> {
        Place { project: ProjectId::from_bytes([7; 16]), name }
    }

    #[test]
    fn a_credential_opens_only_in_its_own_place_with_its_own_key() {
        let sealer = Sealer::new(Some(key(1)), None);
        let sealed = sealer.seal(&place("a"), b"secret", [5; 32]).unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(sealer.open(&place("a"), &sealed), Ok(b"secret".to_vec()));
        assert_eq!(sealer.open(&place("b"), &sealed), Err(NotOpened::Broken), "another integration");
        let elsewhere = Place { project: ProjectId::from_bytes([8; 16]), name: "a" };
        assert_eq!(sealer.open(&elsewhere, &sealed), Err(NotOpened::Broken), "another project");
        assert_ne!(sealer.seal(&place("a"), b"secret", [6; 32]).unwrap(), sealed);
    }

    #[test]
    fn every_byte_counts() {
        let sealer = Sealer::new(Some(key(1)), None);
        let sealed = sealer.seal(&place("a"), b"secret", [5; 32]).unwrap();
        for at in 0..sealed.len() {
            let mut touched = sealed.clone();
            touched[at] ^= 1;
            assert!(sealer.open(&place("a"), &touched).is_err(), "{at}");
            assert!(sealer.open(&place("a"), &sealed[..at]).is_err(), "{at}");
        }
    }

    #[test]
    fn the_previous_key_opens_and_no_longer_seals() {
        let old = Sealer::new(Some(key(1)), None).seal(&place("a"), b"secret", [5; 32]).unwrap();
        let rotating = Sealer::new(Some(key(2)), Some(key(1)));
        assert_eq!(rotating.open(&place("a"), &old), Ok(b"secret".to_vec()));
        assert!(!rotating.is_current(&old));
        let new = rotating.seal(&place("a"), b"secret", [5; 32]).unwrap();
        assert!(rotating.is_current(&new));
        let done = Sealer::new(Some(key(2)), None);
        assert_eq!(done.open(&place("a"), &new), Ok(b"secret".to_vec()));
        assert!(matches!(done.open(&place("a"), &old), Err(NotOpened::OtherKey(name)) if name.len() == 16));
        assert_eq!(Sealer::new(None, None).seal(&place("a"), b"x", [5; 32]), None);
    }

    #[test]
    fn keys_are_read_as_hex_and_as_base64_and_never_shown() {
        let hex = "0f".repeat(32);
        assert_eq!(SealingKey::parse(&hex), Ok(SealingKey([15; 32])));
        for base64 in [STANDARD.encode([15; 32]), URL_SAFE_NO_PAD.encode([15; 32])] {
            assert_eq!(SealingKey::parse(&format!(" {base64}\n")), Ok(SealingKey([15; 32])));
        }
        for bad in ["", "x", &hex[1..], &"zz".repeat(32), &STANDARD.encode([15; 31]), &STANDARD.encode([15; 33])] {
            assert_eq!(SealingKey::parse(bad), Err(BadKey), "{bad}");
        }
        assert_eq!(format!("{:?}", key(1)), "***");
    }
}
