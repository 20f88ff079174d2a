//! An audience as bytes: the same in storage and in snapshots of indexes.

use crate::{Audience, DepartmentId, MemberId};

/// At most a kind and an id, without an allocation.
#[derive(Debug, Clone, Copy)]
pub struct AudienceBytes {
    bytes: [u8; 17],
    len: usize,
}

impl AudienceBytes {
    pub fn of(audience: Audience) -> Self {
        let (kind, id) = match audience {
            Audience::Shared => return Self { bytes: [0; 17], len: 1 },
            Audience::Department(department) => (1, department.to_bytes()),
            Audience::Author(author) => (2, author.to_bytes()),
        };
        let mut bytes = [kind; 17];
        bytes[1..].copy_from_slice(&id);
        Self { bytes, len: 17 }
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Audience {
    /// The audience that [`AudienceBytes`] wrote, if the bytes are one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, id) = bytes.split_first()?;
        match (kind, id.len()) {
            (0, 0) => Some(Self::Shared),
            (1, 16) => Some(Self::Department(DepartmentId::from_bytes(id.try_into().ok()?))),
            (2, 16) => Some(Self::Author(MemberId::from_bytes(id.try_into().ok()?))),
            _ => None,
        }
    }
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
            assert_eq!(Audience::from_bytes(AudienceBytes::of(audience).as_slice()), Some(audience));
        }
        for nonsense in [&[][..], &[0, 0], &[1], &[3; 17], &[1; 16], &[2; 18]] {
            assert_eq!(Audience::from_bytes(nonsense), None, "{nonsense:?}");
        }
    }
}
