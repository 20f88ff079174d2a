//! Names and values of forms and query strings.

use url::form_urlencoded;

/// The fields in the order they were sent.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses `a=b&c=d`. A field without a value counts as absent.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes).into_owned();
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The first value of a name.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a name, owned.
    pub(crate) fn take(&self, name: &str) -> Option<String> {
        self.find(name).map(str::to_owned)
    }

    /// Every value of a name.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(given, _)| given == name).map(|(_, value)| value.clone()).collect()
    }

    /// The first of these names that was sent more than once.
    pub(crate) fn repeated(&self, names: &[&'static str]) -> Option<&'static str> {
        let count = |name: &str| self.0.iter().filter(|(given, _)| given == name).count();
        names.iter().copied().find(|name| count(name) > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_once_and_empty_ones_are_absent() {
        let fields = Fields::parse(b"a=1&b=x+y%26&a=2&c=&d");
        assert_eq!((fields.find("a"), fields.find("b")), (Some("1"), Some("x y&")));
        assert_eq!((fields.find("c"), fields.find("d"), fields.find("e")), (None, None, None));
        assert_eq!(fields.repeated(&["b", "a"]), Some("a"));
        assert_eq!(fields.repeated(&["b", "c"]), None);
    }
}
