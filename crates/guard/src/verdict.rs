//! What the guard answers, and what it is asked about. How a text is scored is not decided here.

use std::borrow::Cow;

/// What happens to a text that someone wants remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing in the text addresses an AI reader; it may be stored.
    Pass,
    /// The guard is unsure. The text may be stored, marked so that readers treat it as data.
    Caution,
    /// The text must not be stored.
    Refuse,
}

/// What kind of text is judged. A name is no sentence: it is read word by word, and refused only if it clearly is an
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A note, a page, a message: running text.
    Content,
    /// What an upstream tool, or an argument of it, says about itself.
    ToolDescription,
    /// The key that names a fact, such as `deploy.day`.
    FactKey,
    /// Where a fact comes from: a title, a path or an address.
    Source,
    /// The name of a workspace.
    Workspace,
    /// The hash or revision of a source.
    Hash,
    /// The name of a person, department, project, account or key.
    Name,
}

impl Field {
    /// Is it running text, rather than a name of something?
    pub(crate) fn is_prose(self) -> bool {
        matches!(self, Field::Content | Field::ToolDescription)
    }

    /// The text as the judge reads it: names part their words by dashes and dots. A hash stays whole, to be known as
    /// one.
    pub(crate) fn as_read(self, text: &str) -> Cow<'_, str> {
        let parts_words = |c: char| matches!(c, '-' | '_' | '.' | '/');
        if self.is_prose() || self == Field::Hash || !text.contains(parts_words) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut before = ' ';
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let is_gap = parts_words(c) && before.is_alphabetic() && chars.peek().is_some_and(|c| c.is_alphabetic());
            out.push(if is_gap { ' ' } else { c });
            before = c;
        }
        Cow::Owned(out)
    }
}

/// A verdict with its reasons. For tools and benches only: callers of the service learn neither score nor rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What `Guard::judge` answers for the same text.
    pub verdict: Verdict,
    /// How strongly the text looks like an instruction to an AI reader.
    pub score: f32,
    /// The score from which the guard asks for caution.
    pub caution_from: f32,
    /// The score from which a text is refused.
    pub refuse_from: f32,
    /// The rules and disguises that weigh most, strongest first, with their weights.
    pub reasons: Vec<(String, f32)>,
}

impl Judgement {
    /// What a guard without weights says to everything.
    pub(crate) fn of_a_fault() -> Judgement {
        Judgement {
            verdict: Verdict::Refuse,
            score: f32::INFINITY,
            caution_from: 0.0,
            refuse_from: 0.0,
            reasons: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_name_are_parted_and_other_fields_stay() {
        assert_eq!(Field::FactKey.as_read("deploy.day-of_week"), "deploy day of week");
        assert_eq!(Field::Source.as_read("docs/v1.2/a--b.md"), "docs v1.2/a--b md");
        assert_eq!(Field::Content.as_read("docs/deploy.md"), "docs/deploy.md");
        assert_eq!(Field::Hash.as_read("aGVsbG8/d29ybGQ"), "aGVsbG8/d29ybGQ");
    }
}
