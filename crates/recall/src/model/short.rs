//! Short word pieces by their bytes: a piece is a number, and comparing two takes no look at another place in memory.

/// The longest piece that is short.
pub(super) const SHORT_MAX: usize = 16;

/// The bytes of a short piece themselves, with zeros behind: no text that is cut has a zero in it. Comparing them takes
/// no look at another place in memory, and a prefix is made by a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Short(u64, u64);

impl Short {
    /// The first bytes of a text.
    pub(super) fn of(text: &str) -> Self {
        let (first, rest) = text.as_bytes().split_at(text.len().min(8));
        Self(number(first), number(&rest[..rest.len().min(8)]))
    }

    /// The place of the lengths of pieces that begin with the same four bytes.
    pub(super) const fn place(self) -> usize {
        ((self.0 as u32).wrapping_mul(0x9e37_79b1) >> 16) as usize
    }

    /// The first `count` of them.
    pub(super) const fn up_to(self, count: usize) -> Self {
        match count {
            0..8 => Self(self.0 & ((1 << (8 * count)) - 1), 0),
            8..16 => Self(self.0, self.1 & ((1 << (8 * (count - 8))) - 1)),
            _ => self,
        }
    }
}

/// Up to eight bytes as a number, the first one lowest. Read in two pieces that may overlap: byte by byte takes longer.
fn number(bytes: &[u8]) -> u64 {
    if let Ok(all) = bytes.try_into() {
        return u64::from_le_bytes(all);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (bytes.len() - 4));
    }
    match *bytes {
        [first, second, third] => u64::from_le_bytes([first, second, third, 0, 0, 0, 0, 0]),
        [first, second] => u64::from(u16::from_le_bytes([first, second])),
        [first] => u64::from(first),
        _ => 0,
    }
}
