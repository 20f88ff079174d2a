//! A hash over rows that is the same in every storage.

use mnemon_core::to_hex;
use sha2::{Digest, Sha256};

use super::{Cell, Row, Table};

/// A growing hash. Every value is hashed with its kind and length, so that no two rows look alike.
#[derive(Default)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    pub(crate) fn add_text(&mut self, text: &str) {
        self.add(b't', text.as_bytes());
    }

    pub(crate) fn add_row(&mut self, table: &Table, row: &Row) {
        debug_assert_eq!(table.columns.len(), row.len());
        for cell in row {
            match cell {
                Cell::Null => self.add(b'n', &[]),
                Cell::Integer(number) => self.add(b'i', &number.to_le_bytes()),
                Cell::Real(number) => self.add(b'r', &number.to_bits().to_le_bytes()),
                Cell::Text(text) => self.add(b't', text.as_bytes()),
                Cell::Bytes(bytes) => self.add(b'b', bytes),
                Cell::List(_) => unreachable!("no column holds a list"),
            }
        }
    }

    pub(crate) fn finish(self) -> String {
        to_hex(self.0.finalize())
    }

    fn add(&mut self, kind: u8, bytes: &[u8]) {
        self.0.update([kind]);
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}
