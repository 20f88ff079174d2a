//! The orders that a list of records can have, and what places a record in each.

use mnemon_core::Seq;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordSort {
    /// As they were saved, the newest first.
    #[default]
    Newest,
    Oldest,
    /// As they were last brought up to date, the latest first.
    Changed,
    /// By the key that a caller gave; records without one come last.
    FactKey,
    /// By source; records without one come last.
    Source,
}

impl RecordSort {
    pub const ALL: [Self; 5] = [Self::Newest, Self::Oldest, Self::Changed, Self::FactKey, Self::Source];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
            Self::Changed => "changed",
            Self::FactKey => "fact_key",
            Self::Source => "source",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.as_str() == word)
    }

    /// What a record is ordered by: whether it has no text, the text, a number, and its place.
    pub(super) fn place<'a>(
        self,
        key: impl FnOnce() -> Option<&'a str>,
        source: impl FnOnce() -> Option<&'a str>,
        saved_at: i64,
        seq: Seq,
    ) -> Place<&'a str> {
        let by_text = |text: Option<&'a str>| (text.is_none(), text.unwrap_or_default(), 0, seq.0);
        match self {
            Self::Newest => (false, "", 0, u64::MAX - seq.0),
            Self::Oldest => (false, "", 0, seq.0),
            Self::Changed => (false, "", -saved_at, u64::MAX - seq.0),
            Self::FactKey => by_text(key()),
            Self::Source => by_text(source()),
        }
    }
}

pub(super) type Place<T> = (bool, T, i64, u64);

pub(super) fn as_read(place: &Place<String>) -> Place<&str> {
    (place.0, &place.1, place.2, place.3)
}
