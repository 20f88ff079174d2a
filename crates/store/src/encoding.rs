//! How values without an SQL type are stored; the same in every engine, so that data can move between them.

use mnemon_core::{Audience, DepartmentId, MemberId, Timestamp};

/// An audience as stored: at most a kind and an id, without an allocation.
pub(crate) struct AudienceBytes {
    bytes: [u8; 17],
    len: usize,
}

impl AudienceBytes {
    pub(crate) fn of(audience: Audience) -> Self {
        let (kind, id) = match audience {
            Audience::Shared => return Self { bytes: [0; 17], len: 1 },
            Audience::Department(department) => (1, department.to_bytes()),
            Audience::Author(author) => (2, author.to_bytes()),
        };
        let mut bytes = [kind; 17];
        bytes[1..].copy_from_slice(&id);
        Self { bytes, len: 17 }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The stored audience, if the bytes are one.
pub(crate) fn audience_from_bytes(bytes: &[u8]) -> Option<Audience> {
    let (kind, id) = bytes.split_first()?;
    match (kind, id.len()) {
        (0, 0) => Some(Audience::Shared),
        (1, 16) => Some(Audience::Department(DepartmentId::from_bytes(id.try_into().ok()?))),
        (2, 16) => Some(Audience::Author(MemberId::from_bytes(id.try_into().ok()?))),
        _ => None,
    }
}

/// A count as stored. No log grows past 2^63.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A time as stored.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

pub(crate) fn micros_opt(at: Option<Timestamp>) -> Option<i64> {
    at.map(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audiences_come_back_and_nonsense_does_not() {
        for audience in [
            Audience::Shared,
            Audience::Department(DepartmentId::from_bytes([7; 16])),
            Audience::Author(MemberId::from_bytes([0; 16])),
        ] {
            assert_eq!(audience_from_bytes(AudienceBytes::of(audience).as_slice()), Some(audience));
        }
        for nonsense in [&[][..], &[0, 0], &[1], &[3; 17], &[1; 16], &[2; 18]] {
            assert_eq!(audience_from_bytes(nonsense), None, "{nonsense:?}");
        }
    }
}
