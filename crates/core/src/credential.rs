//! The form of bearer credentials: a prefix, 256 random bits in base62, and a checksum that distinguishes a typing
//! error from a wrong key without a look-up.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::Secret;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX_LEN: usize = 4;
/// 62^43 is the first power of 62 above 2^256.
const BODY_LEN: usize = 43;
/// 62^6 is the first power of 62 above 2^32.
const CHECKSUM_LEN: usize = 6;

/// The length of every credential, in characters.
pub const TOKEN_LEN: usize = PREFIX_LEN + BODY_LEN + CHECKSUM_LEN;

/// What a credential is for, shown by its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// `mnm_`: a project's API key.
    ApiKey,
    /// `mno_`: an OAuth access token, which stands for one API key.
    OauthToken,
    /// `mnc_`: a code that can be exchanged once for an OAuth access token.
    OauthCode,
    /// `mnp_`: the operator token.
    Operator,
    /// `mnl_`: the end of a link that shows a key once. It opens nothing but that page.
    Link,
}

impl CredentialKind {
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::ApiKey => "mnm_",
            Self::OauthToken => "mno_",
            Self::OauthCode => "mnc_",
            Self::Operator => "mnp_",
            Self::Link => "mnl_",
        }
    }

    /// The kind that a text claims to be.
    pub fn of(token: &str) -> Option<Self> {
        let all = [Self::ApiKey, Self::OauthToken, Self::OauthCode, Self::Operator, Self::Link];
        all.into_iter().find(|kind| token.starts_with(kind.prefix()))
    }
}

/// Makes a credential from 256 random bits.
pub fn make_token(kind: CredentialKind, secret: &[u8; 32]) -> Secret<String> {
    let mut token = String::with_capacity(TOKEN_LEN);
    token.push_str(kind.prefix());
    token.extend(base62::<BODY_LEN>(secret).map(char::from));
    let checksum = checksum_of(&token);
    token.extend(checksum.map(char::from));
    Secret::new(token)
}

/// Whether a text has the form of a credential of this kind, including the checksum.
pub fn is_well_formed(kind: CredentialKind, token: &str) -> bool {
    if token.len() != TOKEN_LEN || !token.is_ascii() || !token.starts_with(kind.prefix()) {
        return false;
    }
    let (body, checksum) = token.split_at(TOKEN_LEN - CHECKSUM_LEN);
    body[PREFIX_LEN..].bytes().all(|b| b.is_ascii_alphanumeric()) && checksum_of(body) == checksum.as_bytes()
}

/// The checksum of everything before it.
fn checksum_of(body: &str) -> [u8; CHECKSUM_LEN] {
    base62(&crc32fast::hash(body.as_bytes()).to_be_bytes())
}

/// A big-endian number in base62, padded with zeros to `WIDTH` digits.
fn base62<const WIDTH: usize>(number: &[u8]) -> [u8; WIDTH] {
    let mut digits = [0; WIDTH];
    for &byte in number {
        let mut carry = u32::from(byte);
        for digit in digits.iter_mut().rev() {
            let value = u32::from(*digit) * 256 + carry;
            *digit = (value % 62) as u8;
            carry = value / 62;
        }
        debug_assert_eq!(carry, 0, "the width fits the number");
    }
    digits.map(|digit| ALPHABET[usize::from(digit)])
}

/// What storage keeps of a credential: its SHA-256. The random part has 256 bits, so no salt or stretching is needed.
#[derive(Debug, Clone, Copy, Eq)]
pub struct CredentialHash([u8; 32]);

impl CredentialHash {
    /// Hashes a presented credential, well-formed or not: a malformed one costs the same as a wrong one.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The hash read from storage.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes that storage keeps.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::hash::Hash for CredentialHash {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for CredentialHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// The last four characters of a key: enough to tell keys apart in a list, and not to use one.
pub fn key_hint(key: &str) -> String {
    let skipped = key.chars().count().saturating_sub(4);
    key.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_key_has_the_documented_form() {
        for secret in [[0u8; 32], [255u8; 32], [7u8; 32]] {
            let key = make_token(CredentialKind::ApiKey, &secret);
            let key = key.expose();
            assert_eq!(key.len(), TOKEN_LEN);
            assert!(key.starts_with("mnm_"));
            assert!(is_well_formed(CredentialKind::ApiKey, key));
            assert!(!is_well_formed(CredentialKind::OauthToken, key));
        }
    }

    #[test]
    fn the_largest_number_still_fits_the_width() {
        let key = make_token(CredentialKind::ApiKey, &[255; 32]);
        assert_ne!(&key.expose()[4..5], "0", "2^256 - 1 needs all 43 digits");
    }

    #[test]
    fn one_changed_character_breaks_the_checksum() {
        let key = make_token(CredentialKind::ApiKey, &[9; 32]);
        let key = key.expose();
        for at in 4..TOKEN_LEN {
            let mut bytes = key.clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(!is_well_formed(CredentialKind::ApiKey, &changed), "position {at}");
        }
    }

    #[test]
    fn shortened_padded_and_foreign_texts_are_not_keys() {
        let key = make_token(CredentialKind::ApiKey, &[3; 32]);
        let key = key.expose();
        for bad in ["", "mnm_", &key[..TOKEN_LEN - 1], &format!("{key} "), &format!(" {key}"), &key.to_uppercase()] {
            assert!(!is_well_formed(CredentialKind::ApiKey, bad), "{bad:?}");
        }
    }

    #[test]
    fn a_secret_never_prints() {
        let key = make_token(CredentialKind::ApiKey, &[3; 32]);
        assert_eq!(format!("{key} {key:?}"), "*** ***");
    }
}
