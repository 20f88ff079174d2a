//! How PostgreSQL's cells are read. `crate::rows` decides what is made of them, for both engines.

use mnemon_core::{Audience, DepartmentId, DepartmentTree, ProjectId, WorkspaceNo};
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::StoreError;
pub(super) use crate::encoding::{AudienceBytes, integer, micros, micros_opt};
pub(super) use crate::rows::Cells;
use crate::rows::{Row, Unreadable};

impl Row for tokio_postgres::Row {
    fn uuid(&self, at: usize) -> Result<Option<Uuid>, Unreadable> {
        get(self, at)
    }

    fn integer(&self, at: usize) -> Result<Option<i64>, Unreadable> {
        let is_small = self.columns().get(at).is_some_and(|column| *column.type_() == Type::INT4);
        if is_small { Ok(get::<i32>(self, at)?.map(i64::from)) } else { get(self, at) }
    }

    fn flag(&self, at: usize) -> Result<Option<bool>, Unreadable> {
        get(self, at)
    }

    fn real(&self, at: usize) -> Result<Option<f64>, Unreadable> {
        get(self, at)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Unreadable> {
        get(self, at)
    }

    fn blob(&self, at: usize) -> Result<Option<&[u8]>, Unreadable> {
        get(self, at)
    }
}

fn get<'a, T: FromSql<'a>>(row: &'a tokio_postgres::Row, at: usize) -> Result<Option<T>, Unreadable> {
    row.try_get(at).map_err(|_| Unreadable)
}

/// The departments of an account, from an array of ids and one of parents.
pub(super) fn read_tree(
    row: &tokio_postgres::Row,
    ids: usize,
    parents: usize,
    account: mnemon_core::AccountId,
) -> Result<DepartmentTree, StoreError> {
    let broken = |column| StoreError::Broken { table: "department", column, row: account.to_string() };
    let ids: Vec<Uuid> = row.try_get(ids).map_err(|_| broken("id"))?;
    let parents: Vec<Option<Uuid>> = row.try_get(parents).map_err(|_| broken("parent_id"))?;
    let parents = parents.into_iter().map(|parent| parent.map(DepartmentId::new));
    Ok(DepartmentTree::new(ids.into_iter().map(DepartmentId::new).zip(parents)))
}

/// The audiences of an array column.
pub(super) fn read_audiences(
    row: &tokio_postgres::Row,
    at: usize,
    project: ProjectId,
    no: WorkspaceNo,
) -> Result<Vec<Audience>, StoreError> {
    let broken =
        || StoreError::Broken { table: "workspace_audience", column: "audience", row: format!("{project}/{}", no.0) };
    let audiences: Vec<&[u8]> = row.try_get(at).map_err(|_| broken())?;
    audiences.into_iter().map(|bytes| Audience::from_bytes(bytes).ok_or_else(broken)).collect()
}
