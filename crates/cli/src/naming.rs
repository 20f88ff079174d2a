//! Names instead of ids: wherever a command takes an id of an account, project, department or member, the name does
//! too.

use anyhow::bail;
use mnemon_core::nearest;
use serde_json::Value;

/// More names than this are not listed in an error.
const LISTED_MAX: usize = 20;

/// What can be named.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub one: &'static str,
    pub many: &'static str,
    /// The command that lists them.
    pub list: &'static str,
}

pub const DEPARTMENT: Kind = Kind { one: "department", many: "departments", list: "mnemon department list" };
pub const MEMBER: Kind = Kind { one: "member", many: "members", list: "mnemon member list" };
pub const PROJECT: Kind = Kind { one: "project", many: "projects", list: "mnemon project list" };
pub const ACCOUNT: Kind = Kind { one: "account", many: "accounts", list: "mnemon account list" };

/// Something with an id and a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub id: String,
    pub name: String,
}

/// The things of a list, from the admin API's answer.
pub fn read(list: &Value) -> Vec<Named> {
    let text = |row: &Value, name: &str| row[name].as_str().map(str::to_owned);
    let named = |row: &Value| Some(Named { id: text(row, "id")?, name: text(row, "name")? });
    list.as_array().into_iter().flatten().filter_map(named).collect()
}

/// Whether what was typed is an id. Names that look like one are none.
pub fn is_id(typed: &str) -> bool {
    let is_digit =
        |(at, c): (usize, char)| if matches!(at, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() };
    typed.len() == 36 && typed.char_indices().all(is_digit)
}

/// The id of the one thing with this name.
pub fn pick(kind: Kind, all: &[Named], typed: &str) -> anyhow::Result<String> {
    let called: Vec<&Named> = all.iter().filter(|thing| thing.name == typed).collect();
    match called.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => bail!("no {} is called `{typed}`; {}", kind.one, known(kind, all, typed)),
        several => {
            let ids: Vec<&str> = several.iter().map(|thing| thing.id.as_str()).collect();
            bail!("several {} are called `{typed}`; give the id of one of them: {}", kind.many, ids.join(", "))
        }
    }
}

/// Which there are; of many, the one that was probably meant.
fn known(kind: Kind, all: &[Named], typed: &str) -> String {
    let names = || all.iter().map(|thing| thing.name.as_str());
    if all.len() <= LISTED_MAX {
        let all: Vec<&str> = names().collect();
        return if all.is_empty() { "there are none".to_owned() } else { format!("{}: {}", kind.many, all.join(", ")) };
    }
    match nearest(typed, names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("`{}` shows them", kind.list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sales(count: usize) -> Vec<Named> {
        (0..count).map(|n| Named { id: format!("id-{n}"), name: format!("Sales {n}") }).collect()
    }

    #[test]
    fn few_names_are_listed_and_of_many_the_nearest_is_named() {
        let known = |typed: &str, count: usize| known(DEPARTMENT, &sales(count), typed);
        assert_eq!(known("Sals 1", 0), "there are none");
        assert_eq!(known("Sals 1", 2), "departments: Sales 0, Sales 1");
        assert!(known("Sals 1", 20).ends_with(", Sales 18, Sales 19"));
        assert_eq!(known("Sals 1", 21), "did you mean `Sales 1`?");
        assert_eq!(known("Legal", 21), "`mnemon department list` shows them");
    }

    #[test]
    fn a_name_that_several_have_is_refused_with_their_ids() {
        let mut all = sales(3);
        assert_eq!(pick(MEMBER, &all, "Sales 1").unwrap(), "id-1");
        all[2].name = "Sales 1".to_owned();
        let error = pick(MEMBER, &all, "Sales 1").unwrap_err().to_string();
        assert_eq!(error, "several members are called `Sales 1`; give the id of one of them: id-1, id-2");
    }

    #[test]
    fn an_id_is_told_from_a_name() {
        assert!(is_id("01980000-0000-7000-8000-00000000dead"));
        for name in ["Sales", "01980000-0000-7000-8000-00000000deaZ", "01980000x0000-7000-8000-00000000dead", ""] {
            assert!(!is_id(name), "{name}");
        }
    }
}
