//! Short word pieces by their bytes: a piece is a number, and comparing two takes no look at another place in memory.

use crate::wide::fetch;

/// The longest piece that is short.
pub(super) const SHORT_MAX: usize = 16;

/// The bytes of a short piece themselves, with zeros behind: no text that is cut has a zero in it. Comparing them takes no look
/// at another place in memory, and a prefix is made by a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Short(u64, u64);

impl Short {
    const EMPTY: Self = Self(0, 0);

    /// The first bytes of a text.
    pub(super) fn of(text: &str) -> Self {
        let (first, rest) = text.as_bytes().split_at(text.len().min(8));
        Self(number(first), number(&rest[..rest.len().min(8)]))
    }

    /// Where the lengths of pieces stand that begin with the same four bytes.
    pub(super) const fn place(self) -> usize {
        ((self.0 as u32).wrapping_mul(0x9e37_79b1) >> 16) as usize
    }

    /// The first so many of them.
    pub(super) const fn up_to(self, count: usize) -> Self {
        match count {
            0..8 => Self(self.0 & ((1 << (8 * count)) - 1), 0),
            8..16 => Self(self.0, self.1 & ((1 << (8 * (count - 8))) - 1)),
            _ => self,
        }
    }
}

/// Short pieces by their bytes, in an open table. A map of the standard kind can't be asked to fetch what it will look at.
pub(super) struct ShortPieces {
    /// A power of two of places, of which at least half are empty: there the bytes are zeros.
    places: Vec<(Short, u32)>,
}

impl ShortPieces {
    /// With room for so many; it does not grow.
    pub(super) fn with_room(count: usize) -> Self {
        Self { places: vec![(Short::EMPTY, 0); (2 * count + 2).next_power_of_two()] }
    }

    pub(super) fn insert(&mut self, piece: Short, number: u32) {
        let mut at = self.first_place(piece);
        while ![piece, Short::EMPTY].contains(&self.places[at].0) {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = (piece, number);
    }

    #[inline]
    pub(super) fn find(&self, piece: Short) -> Option<u32> {
        if piece == Short::EMPTY {
            return None;
        }
        let mut at = self.first_place(piece);
        loop {
            match self.places.get(at)? {
                (other, number) if *other == piece => return Some(*number),
                (Short::EMPTY, _) => return None,
                _ => at = (at + 1) & (self.places.len() - 1),
            }
        }
    }

    /// Asks for the place where a piece is looked for first.
    #[inline]
    pub(super) fn fetch(&self, piece: Short) {
        let at = self.first_place(piece);
        fetch(self.places.get(at..=at).unwrap_or_default());
    }

    #[inline]
    fn first_place(&self, piece: Short) -> usize {
        let mixed = (piece.0 ^ piece.1.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 32) as usize & self.places.len().wrapping_sub(1)
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
