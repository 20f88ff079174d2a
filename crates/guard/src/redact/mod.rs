//! Secrets out of texts: each found one becomes `[redacted:<kind>]`.

use std::borrow::Cow;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; borrowed when nothing had to be replaced.
    pub text: Cow<'a, str>,
    /// How many secrets were replaced.
    pub count: usize,
    /// How many of each kind, in the order of the kinds' first appearance.
    pub kinds: Vec<(&'static str, usize)>,
}

/// Prefix, kind and least length of the secret's tail, for keys that are known by their first characters.
const PREFIXED: &[(&str, &str, usize)] = &[
    ("mnm_", "mnemon-key", 49),
    ("mno_", "mnemon-token", 43),
    ("mnp_", "mnemon-operator-token", 43),
    ("ghp_", "github-token", 36),
    ("sk-ant-", "anthropic-key", 40),
];

/// Replaces every secret in `text`. Text that was redacted before stays as it is.
pub fn redact(text: &str) -> Redacted<'_> {
    let mut out = String::new();
    let mut kinds: Vec<(&'static str, usize)> = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while at < text.len() {
        match secret_at(text, at) {
            Some((end, kind)) => {
                out.push_str(&text[copied..at]);
                out.push_str("[redacted:");
                out.push_str(kind);
                out.push(']');
                match kinds.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, count)) => *count += 1,
                    None => kinds.push((kind, 1)),
                }
                (copied, at) = (end, end);
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    let count = kinds.iter().map(|(_, count)| count).sum();
    if count == 0 {
        return Redacted { text: Cow::Borrowed(text), count, kinds };
    }
    out.push_str(&text[copied..]);
    Redacted { text: Cow::Owned(out), count, kinds }
}

fn secret_at(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let rest = &text[at..];
    PREFIXED.iter().find_map(|&(prefix, kind, least)| {
        let tail = rest.strip_prefix(prefix)?;
        let length = tail.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        (length >= least).then_some((at + prefix.len() + length, kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_replaced_and_redacting_twice_changes_nothing() {
        let text = format!("token is ghp_{} ok", "a1".repeat(18));
        let once = redact(&text);
        assert_eq!((once.text.as_ref(), once.count), ("token is [redacted:github-token] ok", 1));
        assert_eq!(redact(&once.text).count, 0);
    }
}
