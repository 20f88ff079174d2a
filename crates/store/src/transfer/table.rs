//! What a table looks like, in either engine.

use std::collections::HashSet;

pub(crate) use crate::statement::{Cell, Values as Row};

/// Whom rows belong to, and by which column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Service,
    Account(usize),
    Project(usize),
}

/// A table with its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// In the same order in both engines: by name.
    pub(crate) columns: Vec<String>,
    /// The columns of the primary key, in order.
    pub(crate) key: Vec<usize>,
    /// The tables that rows refer to.
    pub(crate) refers_to: Vec<String>,
    pub(crate) scope: Scope,
}

impl Table {
    /// Builds a table from a schema: its columns in any order, the columns of its key in theirs.
    pub(crate) fn new(name: &str, mut columns: Vec<String>, key: &[String], refers_to: Vec<String>) -> Self {
        columns.sort();
        let place = |wanted: &str| columns.iter().position(|column| column == wanted);
        let key: Vec<usize> = key.iter().filter_map(|column| place(column)).collect();
        let scope = match (name, key.first().map(|&first| columns[first].as_str())) {
            ("account", _) => place("id").map(Scope::Account),
            (_, Some("account_id")) => place("account_id").map(Scope::Account),
            (_, Some("project_id")) => place("project_id").map(Scope::Project),
            ("project", _) => place("account_id").map(Scope::Account),
            _ => place("project_id").map(Scope::Project).or_else(|| place("account_id").map(Scope::Account)),
        };
        Self { name: name.to_owned(), scope: scope.unwrap_or(Scope::Service), columns, key, refers_to }
    }

    pub(crate) fn refers_to_itself(&self) -> bool {
        self.refers_to.contains(&self.name)
    }

    /// The column that says whom a row belongs to.
    pub(crate) fn scope_column(&self) -> Option<&str> {
        match self.scope {
            Scope::Service => None,
            Scope::Account(at) | Scope::Project(at) => Some(&self.columns[at]),
        }
    }

    /// The columns of the key by name.
    pub(crate) fn key_columns(&self) -> Vec<&str> {
        self.key.iter().map(|&at| self.columns[at].as_str()).collect()
    }

    pub(crate) fn key_of<'r>(&self, row: &'r Row) -> Vec<&'r Cell> {
        self.key.iter().map(|&at| &row[at]).collect()
    }

    /// Rows that refer to rows of the same table, sorted so that those come first: departments under departments.
    pub(crate) fn owners_first(&self, rows: Vec<Row>) -> Vec<Row> {
        let (Some(id), Some(parent)) = (self.place("id"), self.place("parent_id")) else { return rows };
        if !self.refers_to_itself() {
            return rows;
        }
        let mut known: Vec<Cell> = vec![Cell::Null];
        let (mut ordered, mut waiting) = (Vec::with_capacity(rows.len()), rows);
        while !waiting.is_empty() {
            let (ready, rest): (Vec<Row>, Vec<Row>) = waiting.into_iter().partition(|row| known.contains(&row[parent]));
            if ready.is_empty() {
                // A missing parent: the target will report it.
                ordered.extend(rest);
                break;
            }
            known.extend(ready.iter().map(|row| row[id].clone()));
            ordered.extend(ready);
            waiting = rest;
        }
        ordered
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// Sorts tables so that each comes after those it refers to.
pub(crate) fn in_order_of_references(tables: Vec<Table>) -> Vec<Table> {
    let names: HashSet<String> = tables.iter().map(|table| table.name.clone()).collect();
    let (mut ordered, mut waiting): (Vec<Table>, Vec<Table>) = (Vec::new(), tables);
    while !waiting.is_empty() {
        let known: HashSet<&str> = ordered.iter().map(|table| table.name.as_str()).collect();
        let is_ready = |table: &Table| {
            table
                .refers_to
                .iter()
                .all(|other| *other == table.name || known.contains(other.as_str()) || !names.contains(other))
        };
        let (ready, rest): (Vec<Table>, Vec<Table>) = waiting.into_iter().partition(is_ready);
        if ready.is_empty() {
            ordered.extend(rest);
            break;
        }
        ordered.extend(ready);
        waiting = rest;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, columns: &[&str], key: &[&str], refers_to: &[&str]) -> Table {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Table::new(name, owned(columns), &owned(key), owned(refers_to))
    }

    #[test]
    fn a_table_belongs_to_whom_its_key_or_columns_say() {
        let check = |name: &str, columns: &[&str], key: &[&str], expected: Option<&str>| {
            assert_eq!(table(name, columns, key, &[]).scope_column(), expected, "{name}");
        };
        check("account", &["id", "name"], &["id"], Some("id"));
        check("project", &["id", "account_id"], &["id"], Some("account_id"));
        check("record", &["project_id", "seq", "content"], &["project_id", "seq"], Some("project_id"));
        check("audit", &["account_id", "at", "id", "project_id"], &["account_id", "at", "id"], Some("account_id"));
        check("api_key", &["id", "project_id", "account_id"], &["id"], Some("project_id"));
        check("operator_token", &["id", "hash"], &["id"], None);
    }

    #[test]
    fn tables_come_after_those_they_refer_to() {
        let tables = vec![
            table("api_key", &["id", "project_id"], &["id"], &["project"]),
            table("department", &["account_id", "id", "parent_id"], &["account_id", "id"], &["account", "department"]),
            table("project", &["id", "account_id"], &["id"], &["account"]),
            table("account", &["id"], &["id"], &[]),
        ];
        let names: Vec<String> = in_order_of_references(tables).into_iter().map(|table| table.name).collect();
        let place = |name: &str| names.iter().position(|other| other == name).unwrap();
        assert!(place("account") < place("department") && place("account") < place("project"));
        assert!(place("project") < place("api_key"));
    }

    #[test]
    fn departments_come_after_the_ones_above_them() {
        let departments =
            table("department", &["account_id", "id", "parent_id"], &["account_id", "id"], &["department"]);
        let row = |id: u8, parent: Option<u8>| {
            let parent = parent.map_or(Cell::Null, |parent| Cell::Bytes(vec![parent]));
            vec![Cell::Bytes(vec![0]), Cell::Bytes(vec![id]), parent]
        };
        let rows = vec![row(1, Some(2)), row(2, Some(3)), row(3, None), row(4, Some(1))];
        let ids: Vec<Cell> = departments.owners_first(rows).into_iter().map(|row| row[1].clone()).collect();
        assert_eq!(ids, [3_u8, 2, 1, 4].map(|id| Cell::Bytes(vec![id])));
    }
}
