//! Reading rows, the same for both engines: an engine says how to read a cell ([`Row`]); everything else is decided
//! once ([`Cells`]). An unreadable value is reported with its table, column and row, and never guessed.

use mnemon_core::{Audience, ContentHash, Timestamp, WorkspaceName};
use uuid::Uuid;

use crate::StoreError;

/// A cell does not contain what its column promises.
pub(crate) struct Unreadable;

type Cell<T> = Result<Option<T>, Unreadable>;

/// One row of an engine's answer. `None` is a cell without a value.
pub(crate) trait Row {
    fn uuid(&self, at: usize) -> Cell<Uuid>;
    fn integer(&self, at: usize) -> Cell<i64>;
    fn flag(&self, at: usize) -> Cell<bool>;
    fn real(&self, at: usize) -> Cell<f64>;
    fn text(&self, at: usize) -> Cell<&str>;
    fn blob(&self, at: usize) -> Cell<&[u8]>;
}

/// One row being read, with its name for error messages.
pub(crate) struct Cells<'a, R, K> {
    row: &'a R,
    table: &'static str,
    key: K,
}

impl<'a, R: Row, K: Fn() -> String> Cells<'a, R, K> {
    pub(crate) fn new(row: &'a R, table: &'static str, key: K) -> Self {
        Self { row, table, key }
    }

    pub(crate) fn broken(&self, column: &'static str) -> StoreError {
        StoreError::Broken { table: self.table, column, row: (self.key)() }
    }

    fn some<T>(&self, cell: Cell<T>, column: &'static str) -> Result<T, StoreError> {
        self.any(cell, column)?.ok_or_else(|| self.broken(column))
    }

    fn any<T>(&self, cell: Cell<T>, column: &'static str) -> Result<Option<T>, StoreError> {
        cell.map_err(|Unreadable| self.broken(column))
    }

    pub(crate) fn id<T: From<Uuid>>(&self, at: usize, column: &'static str) -> Result<T, StoreError> {
        self.some(self.row.uuid(at), column).map(T::from)
    }

    pub(crate) fn id_opt<T: From<Uuid>>(&self, at: usize, column: &'static str) -> Result<Option<T>, StoreError> {
        Ok(self.any(self.row.uuid(at), column)?.map(T::from))
    }

    pub(crate) fn integer(&self, at: usize, column: &'static str) -> Result<i64, StoreError> {
        self.some(self.row.integer(at), column)
    }

    /// A count: never below zero.
    pub(crate) fn count(&self, at: usize, column: &'static str) -> Result<u64, StoreError> {
        u64::try_from(self.integer(at, column)?).map_err(|_| self.broken(column))
    }

    pub(crate) fn count_opt(&self, at: usize, column: &'static str) -> Result<Option<u64>, StoreError> {
        let number = self.any(self.row.integer(at), column)?;
        number.map(u64::try_from).transpose().map_err(|_| self.broken(column))
    }

    pub(crate) fn flag(&self, at: usize, column: &'static str) -> Result<bool, StoreError> {
        self.some(self.row.flag(at), column)
    }

    pub(crate) fn real_opt(&self, at: usize, column: &'static str) -> Result<Option<f64>, StoreError> {
        self.any(self.row.real(at), column)
    }

    pub(crate) fn text(&self, at: usize, column: &'static str) -> Result<String, StoreError> {
        self.some(self.row.text(at), column).map(str::to_owned)
    }

    pub(crate) fn text_opt(&self, at: usize, column: &'static str) -> Result<Option<String>, StoreError> {
        Ok(self.any(self.row.text(at), column)?.map(str::to_owned))
    }

    /// A list that is stored as lines.
    pub(crate) fn lines(&self, at: usize, column: &'static str) -> Result<Vec<String>, StoreError> {
        Ok(self.some(self.row.text(at), column)?.lines().map(str::to_owned).collect())
    }

    /// A word from a fixed set.
    pub(crate) fn word<T>(
        &self,
        at: usize,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        self.word_opt(at, column, parse)?.ok_or_else(|| self.broken(column))
    }

    pub(crate) fn word_opt<T>(
        &self,
        at: usize,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let word = self.any(self.row.text(at), column)?;
        word.map(|word| parse(word).ok_or_else(|| self.broken(column))).transpose()
    }

    pub(crate) fn blob(&self, at: usize, column: &'static str) -> Result<&'a [u8], StoreError> {
        self.some(self.row.blob(at), column)
    }

    pub(crate) fn blob_opt(&self, at: usize, column: &'static str) -> Result<Option<&'a [u8]>, StoreError> {
        self.any(self.row.blob(at), column)
    }

    pub(crate) fn bytes<const N: usize>(&self, at: usize, column: &'static str) -> Result<[u8; N], StoreError> {
        self.blob(at, column)?.try_into().map_err(|_| self.broken(column))
    }

    pub(crate) fn bytes_opt<const N: usize>(
        &self,
        at: usize,
        column: &'static str,
    ) -> Result<Option<[u8; N]>, StoreError> {
        let bytes = self.blob_opt(at, column)?;
        bytes.map(|bytes| bytes.try_into().map_err(|_| self.broken(column))).transpose()
    }

    pub(crate) fn time(&self, at: usize, column: &'static str) -> Result<Timestamp, StoreError> {
        Timestamp::from_microsecond(self.integer(at, column)?).map_err(|_| self.broken(column))
    }

    pub(crate) fn time_opt(&self, at: usize, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
        let micros = self.any(self.row.integer(at), column)?;
        micros.map(Timestamp::from_microsecond).transpose().map_err(|_| self.broken(column))
    }

    pub(crate) fn audience(&self, at: usize, column: &'static str) -> Result<Audience, StoreError> {
        Audience::from_bytes(self.blob(at, column)?).ok_or_else(|| self.broken(column))
    }

    pub(crate) fn content_hash(&self, at: usize, column: &'static str) -> Result<ContentHash, StoreError> {
        self.bytes(at, column).map(ContentHash::from_bytes)
    }

    pub(crate) fn workspace_name(&self, at: usize, column: &'static str) -> Result<WorkspaceName, StoreError> {
        self.word(at, column, |name| WorkspaceName::parse(name).ok())
    }

    pub(crate) fn workspace_name_opt(
        &self,
        at: usize,
        column: &'static str,
    ) -> Result<Option<WorkspaceName>, StoreError> {
        self.word_opt(at, column, |name| WorkspaceName::parse(name).ok())
    }
}
