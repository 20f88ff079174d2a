//! Whether a record still holds. It is derived when asked and never stored, so it can't be wrong.

use crate::{Audience, Seq, Timestamp, Viewer, admits_hash, confirms_hash};

/// The freshness of a record, as results show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Its time has passed, or its source has changed since or is gone.
    Stale,
    /// Another record has different content under the same key.
    Conflict,
    /// Its source was confirmed unchanged.
    Verified,
    /// Nobody has checked yet.
    Unverified,
}

impl Status {
    /// In the order of the rules.
    pub const ALL: [Self; 4] = [Self::Stale, Self::Conflict, Self::Verified, Self::Unverified];

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
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Derives the status; the first matching rule decides. `is_disputed` is called only if the record is not stale.
    pub fn derive(
        now: Timestamp,
        valid_until: Option<Timestamp>,
        source_hash: Option<&str>,
        source: &SourceState,
        is_disputed: impl FnOnce() -> bool,
    ) -> Self {
        Reason::derive(now, valid_until, source_hash, source, is_disputed).status()
    }

    /// The first rule alone: rivals are judged by it too, and conflicts must not be judged by conflicts in turn.
    pub fn is_stale(
        now: Timestamp,
        valid_until: Option<Timestamp>,
        source_hash: Option<&str>,
        source: &SourceState,
    ) -> bool {
        is_over(now, valid_until) || source.is_gone || has_changed(source_hash, source)
    }
}

/// Why a record has its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The end that was given with it has passed.
    ValidUntilPassed,
    /// Its source does not exist any more.
    SourceGone,
    /// Its source was seen with another hash since.
    SourceChanged,
    /// Another record has different content under the same key.
    Disputed,
    /// Its source was confirmed with the hash that the record has.
    Confirmed,
    /// It has a hash that was not confirmed yet.
    NeverChecked,
    /// It has no hash that could be compared.
    NoSource,
}

impl Reason {
    /// Derives the reason; the first matching rule decides. `is_disputed` is called only if the record is not stale.
    pub fn derive(
        now: Timestamp,
        valid_until: Option<Timestamp>,
        source_hash: Option<&str>,
        source: &SourceState,
        is_disputed: impl FnOnce() -> bool,
    ) -> Self {
        if is_over(now, valid_until) {
            Self::ValidUntilPassed
        } else if source.is_gone {
            Self::SourceGone
        } else if has_changed(source_hash, source) {
            Self::SourceChanged
        } else if is_disputed() {
            Self::Disputed
        } else if source_hash.is_none() {
            Self::NoSource
        } else if is_confirmed(source_hash, source) {
            Self::Confirmed
        } else {
            Self::NeverChecked
        }
    }

    pub const fn status(self) -> Status {
        match self {
            Self::ValidUntilPassed | Self::SourceGone | Self::SourceChanged => Status::Stale,
            Self::Disputed => Status::Conflict,
            Self::Confirmed => Status::Verified,
            Self::NeverChecked | Self::NoSource => Status::Unverified,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ValidUntilPassed => "valid_until_passed",
            Self::SourceGone => "source_gone",
            Self::SourceChanged => "source_changed",
            Self::Disputed => "disputed",
            Self::Confirmed => "confirmed",
            Self::NeverChecked => "never_checked",
            Self::NoSource => "no_source",
        }
    }
}

fn is_over(now: Timestamp, valid_until: Option<Timestamp>) -> bool {
    valid_until.is_some_and(|end| end <= now)
}

fn has_changed(source_hash: Option<&str>, source: &SourceState) -> bool {
    match (source_hash, source.known_hash.as_deref()) {
        (Some(own), Some(known)) => !admits_hash(known, own),
        _ => false,
    }
}

fn is_confirmed(source_hash: Option<&str>, source: &SourceState) -> bool {
    match (source_hash, source.confirmed_hash.as_deref()) {
        (Some(own), Some(confirmed)) => confirms_hash(confirmed, own),
        _ => false,
    }
}

/// What is known about a source of one workspace, and by whom: a hash that arrived with a draft is known only to its
/// author, so a hidden save never makes a visible record stale.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceState {
    /// The newest hash seen, by a save or a validation; or several of the same content, see [`crate::join_hashes`].
    /// None if the source is gone.
    pub known_hash: Option<String>,
    /// A validation found that the source does not exist any more.
    pub is_gone: bool,
    /// Where it moved to, if known.
    pub moved_to: Option<String>,
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
        if part.known_seq >= newest.known_seq {
            newest.known_hash.clone_from(&part.known_hash);
            newest.is_gone = part.is_gone;
            newest.moved_to.clone_from(&part.moved_to);
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
        let check = |until: Option<i64>, hash: Option<&str>, known, confirmed, disputed: bool, expected, reason| {
            let source = source(known, confirmed);
            let context = format!("{until:?} {hash:?} {known:?} {confirmed:?} {disputed}");
            let status = Status::derive(at(100), until.map(at), hash, &source, || disputed);
            assert_eq!(status, expected, "{context}");
            let why = Reason::derive(at(100), until.map(at), hash, &source, || disputed);
            assert_eq!(why, reason, "{context}");
        };
        check(None, None, None, None, false, Status::Unverified, Reason::NoSource);
        check(Some(101), None, None, None, false, Status::Unverified, Reason::NoSource);
        check(Some(100), None, None, None, false, Status::Stale, Reason::ValidUntilPassed);
        check(Some(99), None, None, None, true, Status::Stale, Reason::ValidUntilPassed);
        check(Some(99), Some("a"), Some("b"), None, true, Status::Stale, Reason::ValidUntilPassed);
        check(None, Some("a"), Some("a"), None, false, Status::Unverified, Reason::NeverChecked);
        check(None, Some("a"), Some("b"), None, true, Status::Stale, Reason::SourceChanged);
        check(None, Some("a"), Some("a"), None, true, Status::Conflict, Reason::Disputed);
        check(None, Some("a"), Some("a"), Some("a"), true, Status::Conflict, Reason::Disputed);
        check(None, Some("a"), Some("a"), Some("a"), false, Status::Verified, Reason::Confirmed);
        check(None, Some("b"), Some("b"), Some("a"), false, Status::Unverified, Reason::NeverChecked);
        check(None, None, Some("b"), Some("b"), false, Status::Unverified, Reason::NoSource);
        let several = Some("a b ?c");
        check(None, Some("b"), several, several, false, Status::Verified, Reason::Confirmed);
        check(None, Some("c"), several, several, false, Status::Unverified, Reason::NeverChecked);
        check(None, Some("d"), several, several, false, Status::Stale, Reason::SourceChanged);
    }

    #[test]
    fn what_was_taken_from_a_source_that_is_gone_is_stale_with_a_hash_and_without_one() {
        let gone = SourceState { is_gone: true, ..source(None, Some("a")) };
        for hash in [Some("a"), None] {
            let why = Reason::derive(at(100), None, hash, &gone, || true);
            assert_eq!((why, why.status()), (Reason::SourceGone, Status::Stale));
            assert!(Status::is_stale(at(100), None, hash, &gone));
        }
        let ended = Reason::derive(at(100), Some(at(99)), None, &gone, || false);
        assert_eq!(ended, Reason::ValidUntilPassed, "the first matching rule decides");
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
