//! The statements that both ends of a transfer run. They differ only in how a value is marked: `?1` or `$1`.

use super::{Table, Tenant};

/// From which end of the key rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    First,
    Last,
}

/// How an engine marks values in its statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect(pub(crate) char);

impl Dialect {
    /// Reads rows of a tenant in key order. The values are the tenant's id, if the table has owners, and the key of the
    /// previous row, if there is one.
    pub(crate) fn select(self, table: &Table, tenant: Tenant, is_after: bool, order: Order, rows_max: usize) -> String {
        let key: Vec<String> = table.key_columns().into_iter().map(quoted).collect();
        let mut conditions = Vec::new();
        if let (Some(column), true) = (table.scope_column(), tenant != Tenant::Service) {
            conditions.push(format!("{} = {}", quoted(column), self.marks(1, 1)));
        }
        if is_after {
            conditions.push(format!("({}) > ({})", key.join(", "), self.marks(conditions.len() + 1, key.len())));
        }
        let filter = if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        let direction = if order == Order::First { "ASC" } else { "DESC" };
        let order: Vec<String> = key.iter().map(|column| format!("{column} {direction}")).collect();
        format!(
            "SELECT {} FROM {}{filter} ORDER BY {} LIMIT {}",
            columns(table),
            quoted(&table.name),
            order.join(", "),
            i64::try_from(rows_max).unwrap_or(i64::MAX),
        )
    }

    /// Stores this many rows at once, their cells one after the other.
    pub(crate) fn insert(self, table: &Table, rows: usize) -> String {
        let width = table.columns.len();
        let rows: Vec<String> = (0..rows).map(|row| format!("({})", self.marks(row * width + 1, width))).collect();
        format!("INSERT INTO {} ({}) VALUES {}", quoted(&table.name), columns(table), rows.join(", "))
    }

    fn marks(self, first: usize, count: usize) -> String {
        let marks: Vec<String> = (first..first + count).map(|number| format!("{}{number}", self.0)).collect();
        marks.join(", ")
    }
}

fn columns(table: &Table) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
    columns.join(", ")
}

/// Names come from the schema itself; some are SQL keywords.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}
