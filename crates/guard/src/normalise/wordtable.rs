//! A fixed set of words that is asked for every few letters of a text: one probe of a small table, no second hashing.

/// The hash of no letters.
pub(super) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of a word with one more letter.
pub(super) fn grow(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// The hash of a whole word.
pub(super) fn hash(word: &[u8]) -> u64 {
    word.iter().fold(EMPTY, |hash, byte| grow(hash, *byte))
}

/// Marks of words, found by the words' hashes.
pub(super) struct WordTable {
    /// Open addressing; a mark of zero is an empty slot. At most half of the slots are filled.
    slots: Vec<(u64, u8)>,
}

impl WordTable {
    /// A table with room for `words` words.
    pub(super) fn with_room(words: usize) -> WordTable {
        WordTable { slots: vec![(0, 0); (2 * words + 1).next_power_of_two()] }
    }

    /// Adds a mark to a word.
    pub(super) fn mark(&mut self, hash: u64, mark: u8) {
        let slot = self.slot(hash);
        let marks = self.slots[slot].1;
        self.slots[slot] = (hash, marks | mark);
    }

    /// The marks of a word; zero if it is unknown.
    pub(super) fn marks(&self, hash: u64) -> u8 {
        self.slots[self.slot(hash)].1
    }

    /// Where the word is, or the empty slot where it would be.
    fn slot(&self, hash: u64) -> usize {
        let last = self.slots.len() - 1;
        // Short words differ in a few bits of their hashes only; the product spreads them.
        let mut slot = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & last;
        while self.slots[slot].1 != 0 && self.slots[slot].0 != hash {
            slot = (slot + 1) & last;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_marks_and_others_have_none() {
        let words: Vec<String> = (0..300).map(|number| format!("word{number}")).collect();
        let mut table = WordTable::with_room(words.len());
        words.iter().for_each(|word| table.mark(hash(word.as_bytes()), 1));
        table.mark(hash(b"word7"), 2);
        assert!(words.iter().all(|word| table.marks(hash(word.as_bytes())) & 1 == 1));
        assert_eq!((table.marks(hash(b"word7")), table.marks(hash(b"word300"))), (3, 0));
    }
}
