//! Tags: short words that a caller puts on a record, and a search can ask for. They are compared without case.

use unicode_normalization::UnicodeNormalization;

use crate::limits::{InvalidText, TAG_CHARS_MAX, TAGS_MAX, check_chars, check_no_control};

/// The tags of a record, or those that a search asks for; as they were written, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Vec<String>);

impl Tags {
    /// Checks tags from outside. One that is there already, but for its case, is left out.
    pub fn parse(given: &[String]) -> Result<Self, InvalidText> {
        let field = "tag";
        if given.len() > TAGS_MAX {
            return Err(InvalidText::TooMany { field: "tags", count: given.len(), count_max: TAGS_MAX });
        }
        let mut tags: Vec<String> = Vec::new();
        for tag in given.iter().map(|tag| tag.trim()) {
            if tag.is_empty() {
                return Err(InvalidText::Empty { field });
            }
            check_chars(field, tag, TAG_CHARS_MAX)?;
            check_no_control(field, tag)?;
            if tags.iter().all(|known| folded(known) != folded(tag)) {
                tags.push(tag.to_owned());
            }
        }
        Ok(Self(tags))
    }

    /// What [`Tags::to_lines`] wrote.
    pub fn from_lines(lines: &str) -> Self {
        Self(lines.lines().map(str::to_owned).collect())
    }

    /// One tag a line; `None` without any.
    pub fn to_lines(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.0.join("\n"))
    }

    /// As they are compared, in order, so that equal tags are equal lists.
    pub fn folded(&self) -> Vec<String> {
        let mut tags: Vec<String> = self.0.iter().map(|tag| folded(tag)).collect();
        tags.sort_unstable();
        tags
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.0.iter_mut()
    }
}

fn folded(tag: &str) -> String {
    tag.nfc().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tags: &[&str]) -> Result<Vec<String>, String> {
        let tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
        Tags::parse(&tags).map(|tags| tags.0).map_err(|error| error.to_string())
    }

    #[test]
    fn tags_are_bounded_in_number_and_in_characters() {
        let many = |count: usize| -> Vec<String> { (0..count).map(|nth| format!("tag {nth}")).collect() };
        assert_eq!(Tags::parse(&many(16)).map(|tags| tags.0.len()), Ok(16));
        assert_eq!(Tags::parse(&many(17)).unwrap_err().to_string(), "tags lists 17 items; the limit is 16");
        assert_eq!(parse(&[&"ж".repeat(64)]), Ok(vec!["ж".repeat(64)]));
        assert_eq!(parse(&[&"ж".repeat(65)]), Err("tag is 65 characters long; the limit is 64".to_owned()));
        assert_eq!(parse(&["a"]), Ok(vec!["a".to_owned()]));
        assert_eq!(parse(&["a", " "]), Err("tag must not be empty".to_owned()));
        assert_eq!(parse(&["a\nb"]), Err("tag must not contain control characters".to_owned()));
    }

    #[test]
    fn tags_are_the_same_whatever_their_case_and_order() {
        assert_eq!(parse(&["Team A", "team a", " TEAM A "]), Ok(vec!["Team A".to_owned()]));
        let folded = |tags: &[&str]| Tags(tags.iter().map(|&tag| tag.to_owned()).collect()).folded();
        assert_eq!(folded(&["Über", "billing"]), folded(&["BILLING", "u\u{308}ber"]));
        let tags = Tags(vec!["b".to_owned(), "A".to_owned()]);
        assert_eq!(Tags::from_lines(&tags.to_lines().unwrap()), tags);
        assert_eq!(Tags::default().to_lines(), None);
    }
}
