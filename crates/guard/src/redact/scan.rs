//! Finds the places where a secret may begin, asks the matchers, and settles who wins where two overlap.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::kinds::{Form, KINDS, SecretKind};
use super::view::View;
use super::{Finding, assigned, commands, prefixed};

struct Scanner {
    automaton: AhoCorasick,
    /// The anchor and the row that it belongs to, by pattern number.
    anchors: Vec<(&'static str, &'static SecretKind)>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let anchors: Vec<(&str, &SecretKind)> =
        KINDS.iter().flat_map(|row| row.form.anchors().iter().map(move |anchor| (*anchor, row))).collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        // Half a megabyte, and three times as fast as the default for this number of anchors.
        .kind(Some(AhoCorasickKind::DFA))
        .ascii_case_insensitive(true)
        .build(anchors.iter().map(|(anchor, _)| *anchor))
        .expect("a few hundred short anchors always fit an automaton");
    Scanner { automaton, anchors }
});

/// All secrets of the text, in order, none overlapping another. The text as it is seen comes first: some keys hold
/// percent signs, and undoing those would break them. What only shows without the encodings is found after that.
pub(super) fn find_all(text: &str) -> Vec<Finding> {
    let found = find_in_original(&View::visible(text));
    if !found.is_empty() {
        return found;
    }
    View::unescaped(text).map_or(found, |view| find_in_original(&view))
}

fn find_in_original(view: &View<'_>) -> Vec<Finding> {
    let to_original = |finding: Finding| Finding::new(finding.kind, view.to_original(finding.span));
    find_in(view).into_iter().map(to_original).collect()
}

fn find_in(text: &View<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    // What lies inside a secret already found needs no second look; this also keeps repeated heads linear.
    let mut covered = 0..0;
    for place in SCANNER.automaton.find_overlapping_iter(&**text) {
        if covered.contains(&place.start()) {
            continue;
        }
        if let Some(finding) = look(SCANNER.anchors[place.pattern().as_usize()], text, place.start()) {
            // A guess does not cover: what it holds may be of a kind that is known better.
            if !is_guess(finding.kind) && finding.span.end > covered.end {
                covered = finding.span.clone();
            }
            findings.push(finding);
        }
    }
    settle(findings)
}

fn look((anchor, row): (&str, &SecretKind), text: &View<'_>, at: usize) -> Option<Finding> {
    match &row.form {
        Form::Prefix(prefixed) => prefixed::match_at(prefixed, text, at),
        Form::Shape(_, matcher) => matcher(text, at),
        Form::Above => None,
        Form::Given(_, promise) => assigned::match_at(row.kind, anchor, *promise, text, at),
        Form::Flag(_, commands, taking) => commands::match_at(row.kind, anchor, commands, *taking, text, at),
    }
}

/// Where findings overlap, the one that says more wins: a known kind over a name's guess, then the longer.
fn settle(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| (is_guess(finding.kind), finding.span.start, std::cmp::Reverse(finding.span.end)));
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    let first_guess = findings.iter().position(|finding| is_guess(finding.kind)).unwrap_or(findings.len());
    let guesses = findings.split_off(first_guess);
    for finding in findings {
        if kept.last().is_none_or(|last| last.span.end <= finding.span.start) {
            kept.push(finding);
        }
    }
    let mut merged: Vec<Finding> = Vec::with_capacity(kept.len() + guesses.len());
    let mut known = kept.into_iter().peekable();
    for guess in guesses {
        while let Some(next) = known.next_if(|known| known.span.start <= guess.span.start) {
            merged.push(next);
        }
        let is_free_before = merged.last().is_none_or(|last| last.span.end <= guess.span.start);
        let is_free_after = known.peek().is_none_or(|next| guess.span.end <= next.span.start);
        if is_free_before && is_free_after {
            merged.push(guess);
        }
    }
    merged.extend(known);
    merged
}

/// Kinds that follow from a name or a place and not from the secret itself.
fn is_guess(kind: &str) -> bool {
    matches!(
        kind,
        "password"
            | "token"
            | "secret"
            | "api-key"
            | "access-key"
            | "secret-key"
            | "client-secret"
            | "bearer-token"
            | "url-password"
            | "url-token"
            | "command-password"
            | "cookie"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_kind_wins_over_the_name_it_was_given_to() {
        let key = crate::redact::canary::of("npm-token");
        let found = find_all(&format!("token = \"{key}\" and bearer {key}"));
        let kinds: Vec<&str> = found.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, ["npm-token", "npm-token"]);
    }
}
