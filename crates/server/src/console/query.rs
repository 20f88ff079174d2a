//! The state of a page, kept in its address: filters, and links that change one of them.

use url::form_urlencoded;

use super::parts as p;
use crate::http::Fields;

/// Names and values, in order; none is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// What a request says under these names.
    pub(super) fn of(fields: &Fields, names: &[&'static str]) -> Self {
        Self(names.iter().filter_map(|name| Some((*name, fields.take(name)?))).collect())
    }

    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut changed = self.without(&[name]);
        if !value.is_empty() {
            changed.0.push((name, value.to_owned()));
        }
        changed
    }

    pub(super) fn without(&self, names: &[&str]) -> Self {
        Self(self.0.iter().filter(|(given, _)| !names.contains(given)).cloned().collect())
    }

    pub(super) fn link(&self, path: &str) -> String {
        if self.0.is_empty() {
            return path.to_owned();
        }
        format!("{path}?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish())
    }
}

/// How many rows a page of a list has.
pub(super) const PAGE_ROWS: usize = 25;

/// The ways to the other pages of a list whose length is known.
pub(super) struct Pager {
    /// For example "26 to 50 of 1,000".
    pub(super) shown: String,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

impl Pager {
    /// Cuts a list to the page that the query names, counted from 1.
    pub(super) fn cut<T>(query: &Query, path: &str, rows: &mut Vec<T>) -> Self {
        let total = rows.len();
        let pages = total.div_ceil(PAGE_ROWS).max(1);
        let page = query.find("page").and_then(|page| page.parse().ok()).unwrap_or(1).clamp(1, pages);
        let first = (page - 1) * PAGE_ROWS;
        rows.drain(..first);
        rows.truncate(PAGE_ROWS);
        let link = |to: usize| {
            let to = if to == 1 { String::new() } else { to.to_string() };
            query.with("page", &to).link(path)
        };
        let (total, last) = (total as u64, (first + rows.len()) as u64);
        Self {
            shown: match total {
                0 => "None".to_owned(),
                _ if pages == 1 => format!("{} in all", p::number(total)),
                _ => format!("{} to {} of {}", p::number(first as u64 + 1), p::number(last), p::number(total)),
            },
            previous: (page > 1).then(|| link(page - 1)),
            next: (page < pages).then(|| link(page + 1)),
        }
    }
}

/// The head of a column. Its link sorts by it.
pub(super) struct Head {
    pub(super) word: &'static str,
    pub(super) class: &'static str,
    pub(super) link: Option<String>,
    pub(super) is_sorted: bool,
}

impl Head {
    /// The usual order of a list has an empty name.
    pub(super) fn new(
        query: &Query,
        path: &str,
        word: &'static str,
        class: &'static str,
        sort: Option<&'static str>,
    ) -> Self {
        let to = |sort: &str| query.without(&["after", "page", "change"]).with("sort", sort).link(path);
        let is_sorted = sort.is_some_and(|sort| query.find("sort").unwrap_or_default() == sort);
        Self { word, class, link: sort.map(to), is_sorted }
    }
}

/// A choice of a filter.
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) options: Vec<Opt>,
    pub(super) is_on: bool,
}

pub(super) struct Opt {
    pub(super) value: String,
    pub(super) word: String,
    pub(super) is_selected: bool,
}

/// Who may see moved records.
pub(super) fn scopes() -> Vec<Opt> {
    let of = |value: &str, word: &str| Opt { value: value.to_owned(), word: word.to_owned(), is_selected: false };
    vec![
        of("", "as before"),
        of("shared", "everybody in the project"),
        of("department", "my department"),
        of("draft", "me alone"),
    ]
}

impl Choice {
    /// A choice between everything and single values. A chosen value that is not listed is listed too.
    pub(super) fn new(
        query: &Query,
        name: &'static str,
        label: &'static str,
        all: &str,
        values: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let chosen = query.find(name).unwrap_or_default();
        let mut options = vec![Opt { value: String::new(), word: all.to_owned(), is_selected: chosen.is_empty() }];
        options.extend(values.into_iter().map(|(value, word)| Opt { is_selected: value == chosen, value, word }));
        if !options.iter().any(|option| option.is_selected) {
            options.push(Opt { value: chosen.to_owned(), word: chosen.to_owned(), is_selected: true });
        }
        Self { name, label, options, is_on: !chosen.is_empty() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_changes_one_thing_and_keeps_the_others() {
        let query = Query::of(&Fields::parse(b"q=a+b&workspace=x&other=1"), &["q", "workspace"]);
        assert_eq!(query.link("/p"), "/p?q=a+b&workspace=x");
        assert_eq!(query.with("q", "c&d").link("/p"), "/p?workspace=x&q=c%26d");
        assert_eq!(query.without(&["q", "workspace"]).link("/p"), "/p");
    }

    #[test]
    fn a_list_is_cut_into_pages() {
        let cut = |page: &str, total: usize| {
            let query = Query::of(&Fields::parse(format!("q=a&page={page}").as_bytes()), &["q", "page"]);
            let mut rows: Vec<usize> = (1..=total).collect();
            let pager = Pager::cut(&query, "/p", &mut rows);
            (rows.first().copied(), rows.len(), pager.shown, pager.previous, pager.next)
        };
        let link = |to: &str| Some(format!("/p?q=a{to}"));
        assert_eq!(cut("", 0), (None, 0, "None".to_owned(), None, None));
        assert_eq!(cut("", 25), (Some(1), 25, "25 in all".to_owned(), None, None));
        assert_eq!(cut("", 26), (Some(1), 25, "1 to 25 of 26".to_owned(), None, link("&page=2")));
        assert_eq!(cut("2", 26), (Some(26), 1, "26 to 26 of 26".to_owned(), link(""), None));
        assert_eq!(cut("2", 1_000).2, "26 to 50 of 1,000");
        for beyond in ["99", "0", "-1", "x"] {
            assert!(cut(beyond, 26).1 > 0, "{beyond}");
        }
    }
}
