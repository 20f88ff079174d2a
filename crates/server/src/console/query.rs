//! The state of a page, kept in its address: filters, and links that change one of them.

use url::form_urlencoded;

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
}
