//! Whether a record still holds. It is derived when asked and never stored, so it can't be wrong.

use crate::{Audience, Seq, Timestamp, Viewer};

/// The freshness of a record, as results show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Its time has passed, or its source has changed since.
    Stale,
    /// Another record has different content under the same key.
    Conflict,
    /// Its source was confirmed unchanged.
    Verified,
    /// Nobody has checked yet.
    Unverified,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Conflict => "conflict",
            Self::Verified => "verified",
            Self::Unverified => "unverified",
        }
    }

    /// The status that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Stale, Self::Conflict, Self::Verified, Self::Unverified].into_iter().find(|s| s.as_str() == word)
    }

    /// Derives the status; the first matching rule decides. `is_disputed` is called only if the record is not stale.
    pub fn derive(
        now: Timestamp,
        valid_until: Option<Timestamp>,
        source_hash: Option<&str>,
        source: &SourceState,
        is_disputed: impl FnOnce() -> bool,
    ) -> Self {
        if Self::is_stale(now, valid_until, source_hash, source) {
            Self::Stale
        } else if is_disputed() {
            Self::Conflict
        } else if source_hash.is_some() && source_hash == source.confirmed_hash.as_deref() {
            Self::Verified
        } else {
            Self::Unverified
        }
    }

    /// The first rule alone: rivals are judged by it too, and conflicts must not be judged by conflicts in turn.
    pub fn is_stale(
        now: Timestamp,
        valid_until: Option<Timestamp>,
        source_hash: Option<&str>,
        source: &SourceState,
    ) -> bool {
        let is_over = valid_until.is_some_and(|end| end <= now);
        let has_moved = match (source_hash, source.known_hash.as_deref()) {
            (Some(own), Some(known)) => own != known,
            _ => false,
        };
        is_over || has_moved
    }
}

/// What is known about a source, and by whom: a hash that arrived with a draft is known only to its author, so a hidden save
/// never makes a visible record stale.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceState {
    /// The newest hash seen, by a save or a validation.
    pub known_hash: Option<String>,
    /// The log position of that observation; later ones win.
    pub known_seq: Seq,
    /// The hash last confirmed by a validation.
    pub confirmed_hash: Option<String>,
    /// The log position of that confirmation.
    pub confirmed_seq: Seq,
}

/// Joins what the viewer may know about one source into one state.
pub fn newest_visible_source<'a>(
    viewer: &Viewer,
    parts: impl IntoIterator<Item = (&'a Audience, &'a SourceState)>,
) -> SourceState {
    let mut newest = SourceState::default();
    for (_, part) in parts.into_iter().filter(|(audience, _)| viewer.sees(audience)) {
        if part.known_hash.is_some() && part.known_seq >= newest.known_seq {
            newest.known_hash.clone_from(&part.known_hash);
            newest.known_seq = part.known_seq;
        }
        if part.confirmed_hash.is_some() && part.confirmed_seq >= newest.confirmed_seq {
            newest.confirmed_hash.clone_from(&part.confirmed_hash);
            newest.confirmed_seq = part.confirmed_seq;
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemberId;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn source(known: Option<&str>, confirmed: Option<&str>) -> SourceState {
        SourceState {
            known_hash: known.map(str::to_owned),
            confirmed_hash: confirmed.map(str::to_owned),
            ..SourceState::default()
        }
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let check = |until: Option<i64>, hash: Option<&str>, known, confirmed, disputed: bool, expected| {
            let status = Status::derive(at(100), until.map(at), hash, &source(known, confirmed), || disputed);
            assert_eq!(status, expected, "{until:?} {hash:?} {known:?} {confirmed:?} {disputed}");
        };
        check(None, None, None, None, false, Status::Unverified);
        check(Some(101), None, None, None, false, Status::Unverified);
        check(Some(100), None, None, None, false, Status::Stale);
        check(Some(99), None, None, None, true, Status::Stale);
        check(None, Some("a"), Some("a"), None, false, Status::Unverified);
        check(None, Some("a"), Some("b"), None, true, Status::Stale);
        check(None, Some("a"), Some("a"), None, true, Status::Conflict);
        check(None, Some("a"), Some("a"), Some("a"), true, Status::Conflict);
        check(None, Some("a"), Some("a"), Some("a"), false, Status::Verified);
        check(None, Some("b"), Some("b"), Some("a"), false, Status::Unverified);
        check(None, None, Some("b"), Some("b"), false, Status::Unverified);
    }

    #[test]
    fn a_hash_from_a_hidden_draft_is_not_known_to_others() {
        let ana = MemberId::from_bytes([1; 16]);
        let ben = MemberId::from_bytes([2; 16]);
        let shared = SourceState { known_hash: Some("old".into()), known_seq: Seq(1), ..SourceState::default() };
        let draft = SourceState { known_hash: Some("new".into()), known_seq: Seq(2), ..SourceState::default() };
        let parts = [(Audience::Shared, shared), (Audience::Author(ana), draft)];
        let seen_by = |member| {
            let viewer = Viewer::without_departments(member);
            newest_visible_source(&viewer, parts.iter().map(|(a, s)| (a, s))).known_hash
        };
        assert_eq!(seen_by(ana).as_deref(), Some("new"));
        assert_eq!(seen_by(ben).as_deref(), Some("old"));
    }
}
