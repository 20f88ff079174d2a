//! From rows to values and back. What can't be read is named by table, column and row, and never guessed.

use mnemon_core::{Audience, ContentHash, Timestamp, WorkspaceName};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::StoreError;
use crate::encoding::audience_from_bytes;
pub(super) use crate::encoding::{AudienceBytes, integer, micros, micros_opt};

/// One row being read, with its name in case that something in it makes no sense.
pub(super) struct Cells<'a, K> {
    row: &'a Row,
    table: &'static str,
    key: K,
}

impl<'a, K: Fn() -> String> Cells<'a, K> {
    pub(super) fn new(row: &'a Row, table: &'static str, key: K) -> Self {
        Self { row, table, key }
    }

    pub(super) fn broken(&self, column: &'static str) -> StoreError {
        StoreError::Broken { table: self.table, column, row: (self.key)() }
    }

    fn get<T: FromSql<'a>>(&self, at: usize, column: &'static str) -> Result<T, StoreError> {
        self.row.try_get(at).map_err(|_| self.broken(column))
    }

    pub(super) fn uuid(&self, at: usize, column: &'static str) -> Result<Uuid, StoreError> {
        self.get(at, column)
    }

    pub(super) fn uuid_opt(&self, at: usize, column: &'static str) -> Result<Option<Uuid>, StoreError> {
        self.get(at, column)
    }

    pub(super) fn small(&self, at: usize, column: &'static str) -> Result<i32, StoreError> {
        self.get(at, column)
    }

    pub(super) fn integer(&self, at: usize, column: &'static str) -> Result<i64, StoreError> {
        self.get(at, column)
    }

    /// A number that counts: never below zero.
    pub(super) fn count(&self, at: usize, column: &'static str) -> Result<u64, StoreError> {
        u64::try_from(self.integer(at, column)?).map_err(|_| self.broken(column))
    }

    pub(super) fn count_opt(&self, at: usize, column: &'static str) -> Result<Option<u64>, StoreError> {
        let number: Option<i64> = self.get(at, column)?;
        number.map(u64::try_from).transpose().map_err(|_| self.broken(column))
    }

    pub(super) fn flag(&self, at: usize, column: &'static str) -> Result<bool, StoreError> {
        self.get(at, column)
    }

    pub(super) fn real_opt(&self, at: usize, column: &'static str) -> Result<Option<f64>, StoreError> {
        self.get(at, column)
    }

    pub(super) fn text(&self, at: usize, column: &'static str) -> Result<String, StoreError> {
        self.get(at, column)
    }

    pub(super) fn text_opt(&self, at: usize, column: &'static str) -> Result<Option<String>, StoreError> {
        self.get(at, column)
    }

    /// A word out of a fixed set.
    pub(super) fn word<T>(
        &self,
        at: usize,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        parse(self.get(at, column)?).ok_or_else(|| self.broken(column))
    }

    pub(super) fn word_opt<T>(
        &self,
        at: usize,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let word: Option<&str> = self.get(at, column)?;
        word.map(|word| parse(word).ok_or_else(|| self.broken(column))).transpose()
    }

    pub(super) fn blob(&self, at: usize, column: &'static str) -> Result<&'a [u8], StoreError> {
        self.get(at, column)
    }

    pub(super) fn blob_opt(&self, at: usize, column: &'static str) -> Result<Option<&'a [u8]>, StoreError> {
        self.get(at, column)
    }

    pub(super) fn bytes<const N: usize>(&self, at: usize, column: &'static str) -> Result<[u8; N], StoreError> {
        self.blob(at, column)?.try_into().map_err(|_| self.broken(column))
    }

    pub(super) fn time(&self, at: usize, column: &'static str) -> Result<Timestamp, StoreError> {
        Timestamp::from_microsecond(self.integer(at, column)?).map_err(|_| self.broken(column))
    }

    pub(super) fn time_opt(&self, at: usize, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
        let micros: Option<i64> = self.get(at, column)?;
        micros.map(Timestamp::from_microsecond).transpose().map_err(|_| self.broken(column))
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

    /// The values of an array column, none of which is absent.
    pub(super) fn uuids(&self, at: usize, column: &'static str) -> Result<Vec<Uuid>, StoreError> {
        self.get(at, column)
    }

    /// The values of an array column, some of which may be absent.
    pub(super) fn uuid_opts(&self, at: usize, column: &'static str) -> Result<Vec<Option<Uuid>>, StoreError> {
        self.get(at, column)
    }
}

/// The places of a log as one value.
pub(super) fn places(seqs: &[mnemon_core::Seq]) -> Vec<i64> {
    seqs.iter().map(|seq| integer(seq.0)).collect()
}
