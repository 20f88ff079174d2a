//! How SQLite's cells are read. `crate::rows` decides what is made of them, for both engines.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params};
use uuid::Uuid;

use crate::StoreError;
pub(super) use crate::encoding::{AudienceBytes, integer, micros, micros_opt};
pub(super) use crate::rows::Cells;
use crate::rows::{Row, Unreadable};

impl Row for rusqlite::Row<'_> {
    fn uuid(&self, at: usize) -> Result<Option<Uuid>, Unreadable> {
        self.blob(at)?.map(|bytes| Uuid::from_slice(bytes).map_err(|_| Unreadable)).transpose()
    }

    fn integer(&self, at: usize) -> Result<Option<i64>, Unreadable> {
        value(self, at)?.as_i64_or_null().map_err(|_| Unreadable)
    }

    fn flag(&self, at: usize) -> Result<Option<bool>, Unreadable> {
        match self.integer(at)? {
            None => Ok(None),
            Some(0) => Ok(Some(false)),
            Some(1) => Ok(Some(true)),
            Some(_) => Err(Unreadable),
        }
    }

    fn real(&self, at: usize) -> Result<Option<f64>, Unreadable> {
        value(self, at)?.as_f64_or_null().map_err(|_| Unreadable)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Unreadable> {
        value(self, at)?.as_str_or_null().map_err(|_| Unreadable)
    }

    fn blob(&self, at: usize) -> Result<Option<&[u8]>, Unreadable> {
        value(self, at)?.as_blob_or_null().map_err(|_| Unreadable)
    }
}

fn value<'a>(row: &'a rusqlite::Row<'_>, at: usize) -> Result<ValueRef<'a>, Unreadable> {
    row.get_ref(at).map_err(|_| Unreadable)
}

/// What `read` makes of each row of a statement.
pub(super) fn list<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let (mut rows, mut all) = (statement.query(values)?, Vec::new());
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

/// What `read` makes of the only row of a statement.
pub(super) fn find<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&rusqlite::Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    statement.query(values)?.next()?.map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_cell_is_named() {
        let conn = rusqlite::Connection::open_in_memory().unwrap();
        let mut statement = conn.prepare("SELECT 'words', x'01', -1, 2, NULL").unwrap();
        let mut rows = statement.query([]).unwrap();
        let cells = Cells::new(rows.next().unwrap().unwrap(), "record", || "p/7".to_owned());
        let expected = |column| StoreError::Broken { table: "record", column, row: "p/7".to_owned() };
        assert_eq!(cells.time(0, "created_at"), Err(expected("created_at")));
        assert_eq!(cells.bytes::<16>(1, "id"), Err(expected("id")));
        assert_eq!(cells.id::<Uuid>(1, "id"), Err(expected("id")));
        assert_eq!(cells.count(2, "seq"), Err(expected("seq")));
        assert_eq!(cells.flag(3, "is_key_given"), Err(expected("is_key_given")));
        assert_eq!(cells.text(4, "content"), Err(expected("content")));
        assert_eq!(cells.text_opt(4, "source"), Ok(None));
        let text = "stored data is broken: table record, column seq, row p/7; stop the service and restore a backup";
        assert_eq!(expected("seq").to_string(), text);
    }
}
