//! From rows to values and back. What can't be read is named by table, column and row, and never guessed.

use mnemon_core::{Audience, ContentHash, Timestamp, WorkspaceName};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::StoreError;
use crate::encoding::audience_from_bytes;
pub(super) use crate::encoding::{AudienceBytes, integer, micros, micros_opt};

/// One row being read, with its name in case that something in it makes no sense.
pub(super) struct Cells<'a, K> {
    row: &'a Row<'a>,
    table: &'static str,
    key: K,
}

impl<'a, K: Fn() -> String> Cells<'a, K> {
    pub(super) fn new(row: &'a Row<'a>, table: &'static str, key: K) -> Self {
        Self { row, table, key }
    }

    pub(super) fn broken(&self, column: &'static str) -> StoreError {
        StoreError::Broken { table: self.table, column, row: (self.key)() }
    }

    fn value(&self, at: usize) -> Result<ValueRef<'a>, StoreError> {
        Ok(self.row.get_ref(at)?)
    }

    pub(super) fn integer(&self, at: usize, column: &'static str) -> Result<i64, StoreError> {
        self.value(at)?.as_i64().map_err(|_| self.broken(column))
    }

    /// A number that counts: never below zero.
    pub(super) fn count(&self, at: usize, column: &'static str) -> Result<u64, StoreError> {
        u64::try_from(self.integer(at, column)?).map_err(|_| self.broken(column))
    }

    pub(super) fn flag(&self, at: usize, column: &'static str) -> Result<bool, StoreError> {
        match self.integer(at, column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.broken(column)),
        }
    }

    pub(super) fn real_opt(&self, at: usize, column: &'static str) -> Result<Option<f64>, StoreError> {
        self.value(at)?.as_f64_or_null().map_err(|_| self.broken(column))
    }

    pub(super) fn text(&self, at: usize, column: &'static str) -> Result<String, StoreError> {
        self.value(at)?.as_str().map(str::to_owned).map_err(|_| self.broken(column))
    }

    pub(super) fn text_opt(&self, at: usize, column: &'static str) -> Result<Option<String>, StoreError> {
        let text = self.value(at)?.as_str_or_null().map_err(|_| self.broken(column))?;
        Ok(text.map(str::to_owned))
    }

    /// A word out of a fixed set.
    pub(super) fn word<T>(
        &self,
        at: usize,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        self.value(at)?.as_str().ok().and_then(parse).ok_or_else(|| self.broken(column))
    }

    pub(super) fn word_opt<T>(
        &self,
        at: usize,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        if self.is_null(at)? { Ok(None) } else { self.word(at, column, parse).map(Some) }
    }

    pub(super) fn blob(&self, at: usize, column: &'static str) -> Result<&'a [u8], StoreError> {
        self.value(at)?.as_blob().map_err(|_| self.broken(column))
    }

    pub(super) fn bytes<const N: usize>(&self, at: usize, column: &'static str) -> Result<[u8; N], StoreError> {
        self.blob(at, column)?.try_into().map_err(|_| self.broken(column))
    }

    pub(super) fn bytes_opt<const N: usize>(
        &self,
        at: usize,
        column: &'static str,
    ) -> Result<Option<[u8; N]>, StoreError> {
        if self.is_null(at)? { Ok(None) } else { self.bytes(at, column).map(Some) }
    }

    pub(super) fn time(&self, at: usize, column: &'static str) -> Result<Timestamp, StoreError> {
        Timestamp::from_microsecond(self.integer(at, column)?).map_err(|_| self.broken(column))
    }

    pub(super) fn time_opt(&self, at: usize, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
        if self.is_null(at)? { Ok(None) } else { self.time(at, column).map(Some) }
    }

    pub(super) fn is_null(&self, at: usize) -> Result<bool, StoreError> {
        Ok(matches!(self.value(at)?, ValueRef::Null))
    }

    pub(super) fn audience(&self, at: usize, column: &'static str) -> Result<Audience, StoreError> {
        audience_from_bytes(self.blob(at, column)?).ok_or_else(|| self.broken(column))
    }

    pub(super) fn content_hash(&self, at: usize, column: &'static str) -> Result<ContentHash, StoreError> {
        self.bytes(at, column).map(ContentHash::from_bytes)
    }

    pub(super) fn workspace_name(&self, at: usize, column: &'static str) -> Result<WorkspaceName, StoreError> {
        self.word(at, column, |name| WorkspaceName::parse(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_cell_is_named() {
        let conn = rusqlite::Connection::open_in_memory().unwrap();
        let mut statement = conn.prepare("SELECT 'words', x'01', -1").unwrap();
        let mut rows = statement.query([]).unwrap();
        let cells = Cells::new(rows.next().unwrap().unwrap(), "record", || "p/7".to_owned());
        let expected = |column| StoreError::Broken { table: "record", column, row: "p/7".to_owned() };
        assert_eq!(cells.time(0, "created_at"), Err(expected("created_at")));
        assert_eq!(cells.bytes::<16>(1, "id"), Err(expected("id")));
        assert_eq!(cells.count(2, "seq"), Err(expected("seq")));
        let text = "stored data is broken: table record, column seq, row p/7; stop the service and restore a backup";
        assert_eq!(expected("seq").to_string(), text);
    }
}
