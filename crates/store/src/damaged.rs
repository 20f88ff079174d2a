//! Records that can't be shown because they are damaged. One of them must not take the others of its workspace away: a
//! reader who reads many leaves it out, the log names it once, and the operator sees how many there are.

use std::collections::HashSet;

use parking_lot::Mutex;

use crate::StoreError;

/// How many are counted exactly. Beyond that the disk is broken, and the exact number does not matter.
const KNOWN_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Damaged {
    /// By project and log position.
    known: Mutex<HashSet<String>>,
}

impl Damaged {
    /// What was read of one record, or nothing if that record is damaged. Other errors remain errors.
    pub(crate) fn leave_out<T>(&self, read: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
        match read {
            Err(StoreError::Broken { table: "record", column, row }) => {
                self.note(column, row);
                Ok(None)
            }
            read => read,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.known.lock().len() as u64
    }

    fn note(&self, column: &'static str, row: String) {
        let mut known = self.known.lock();
        if known.len() < KNOWN_MAX && known.insert(row.clone()) {
            tracing::error!(
                record = row,
                column,
                "a stored record is damaged and left out of answers; restore a backup in which it is whole, or forget it and save it again"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(table: &'static str, row: &str) -> Result<Option<u8>, StoreError> {
        Err(StoreError::Broken { table, column: "checksum", row: row.to_owned() })
    }

    #[test]
    fn a_damaged_record_is_nothing_and_counted_once() {
        let damaged = Damaged::default();
        assert_eq!(damaged.leave_out(Ok(Some(1))), Ok(Some(1)));
        for row in ["p/7", "p/7", "p/8"] {
            assert_eq!(damaged.leave_out(broken("record", row)), Ok(None));
        }
        assert_eq!(damaged.count(), 2);
        assert_eq!(damaged.leave_out(broken("workspace", "p/1")), broken("workspace", "p/1"));
        assert_eq!(damaged.count(), 2);
    }
}
