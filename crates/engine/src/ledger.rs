//! Every living record of a project with what its status depends on, small enough to be kept and walked through: how many
//! records hold is then a matter of milliseconds for any reader, and a change costs what has changed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use mnemon_core::{
    Audience, ContentHash, Seq, SourceState, Status, Timestamp, Viewer, WorkspaceNo, newest_visible_source,
};
use mnemon_store::{SourcePart, Survey, Surveyed, WorkspaceRow};

/// What a record stands under in a ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) seq: Seq,
    pub(crate) workspace_no: WorkspaceNo,
    /// When it was last saved, in microseconds.
    updated_at: i64,
    /// When it ends, in microseconds; the greatest number if it does not.
    valid_until: i64,
    content_hash: ContentHash,
    /// The key that a caller gave, hashed together with the workspace. Zero if none was given.
    key: u128,
    audience: u32,
    source: Option<Number>,
    source_hash: Option<Number>,
}

impl Entry {
    pub(crate) fn updated_at(&self) -> Timestamp {
        Timestamp::from_microsecond(self.updated_at).unwrap_or(Timestamp::MIN)
    }

    pub(crate) const fn has_source(&self) -> bool {
        self.source.is_some()
    }

    fn valid_until(&self) -> Option<Timestamp> {
        (self.valid_until != i64::MAX).then(|| Timestamp::from_microsecond(self.valid_until).ok()).flatten()
    }
}

/// The place of a text in [`Texts`], counted from one.
type Number = std::num::NonZeroU32;

/// Texts, each once.
#[derive(Debug, Clone, Default)]
struct Texts {
    numbers: HashMap<Arc<str>, Number>,
    texts: Vec<Arc<str>>,
}

impl Texts {
    fn number(&mut self, text: &str) -> Number {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        let number = u32::try_from(self.texts.len()).ok().and_then(Number::new).expect("fewer than four billion texts");
        self.numbers.insert(text, number);
        number
    }

    fn find(&self, text: &str) -> Option<Number> {
        self.numbers.get(text).copied()
    }

    fn text(&self, number: Number) -> &str {
        &self.texts[number.get() as usize - 1]
    }
}

/// A project at one place of its log.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    pub(crate) seq: Seq,
    /// The active workspaces, by name, without counts.
    pub(crate) workspaces: Vec<WorkspaceRow>,
    /// Oldest first.
    entries: Vec<Entry>,
    audiences: Vec<Audience>,
    audience_numbers: HashMap<Audience, u32>,
    sources: Texts,
    hashes: Texts,
    /// What is known of each source.
    parts: HashMap<Number, Vec<SourcePart>>,
    /// How many records have each key.
    keys: HashMap<u128, u32>,
    hasher: (RandomState, RandomState),
}

impl Ledger {
    pub(crate) fn new(survey: Survey) -> Self {
        let mut ledger = Self {
            seq: survey.seq,
            workspaces: Vec::new(),
            entries: Vec::with_capacity(survey.records.len()),
            audiences: Vec::new(),
            audience_numbers: HashMap::new(),
            sources: Texts::default(),
            hashes: Texts::default(),
            parts: HashMap::new(),
            keys: HashMap::new(),
            hasher: (RandomState::new(), RandomState::new()),
        };
        ledger.follow(survey);
        ledger
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has gathered more texts that nothing refers to than it is worth.
    pub(crate) fn is_worn(&self) -> bool {
        self.sources.texts.len() + self.hashes.texts.len() > 4 * self.entries.len() + 10_000
    }

    /// Takes over what has changed.
    pub(crate) fn follow(&mut self, survey: Survey) {
        if !survey.touched.is_empty() {
            let touched: HashSet<Seq> = survey.touched.iter().copied().collect();
            let keys = &mut self.keys;
            self.entries.retain(|entry| {
                let stays = !touched.contains(&entry.seq);
                if let Some(count) = keys.get_mut(&entry.key).filter(|_| !stays) {
                    *count -= 1;
                }
                stays
            });
        }
        let last = self.entries.last().map(|entry| entry.seq);
        let is_in_order = survey.records.first().is_none_or(|first| last.is_none_or(|last| last < first.brief.seq));
        for record in &survey.records {
            let entry = self.entry(record);
            self.entries.push(entry);
        }
        if !is_in_order {
            self.entries.sort_unstable_by_key(|entry| entry.seq);
        }
        let mut seen = HashSet::new();
        for part in survey.parts {
            let source = self.sources.number(&part.source_id);
            let parts = self.parts.entry(source).or_default();
            if seen.insert(source) {
                parts.clear();
            }
            parts.push(part);
        }
        self.workspaces = survey.workspaces;
        self.seq = survey.seq;
    }

    fn entry(&mut self, record: &Surveyed) -> Entry {
        let brief = &record.brief;
        let key = brief.given_fact_key.as_deref().map_or(0, |key| self.key(brief.workspace_no, key));
        if key != 0 {
            *self.keys.entry(key).or_default() += 1;
        }
        let audiences = &mut self.audiences;
        let audience = *self.audience_numbers.entry(brief.audience).or_insert_with(|| {
            audiences.push(brief.audience);
            audiences.len() as u32 - 1
        });
        Entry {
            seq: brief.seq,
            workspace_no: brief.workspace_no,
            updated_at: record.updated_at.as_microsecond(),
            valid_until: brief.valid_until.map_or(i64::MAX, |end| end.as_microsecond()),
            content_hash: brief.content_hash,
            key,
            audience,
            source: brief.source_id.as_deref().map(|id| self.sources.number(id)),
            source_hash: brief.source_hash.as_deref().map(|hash| self.hashes.number(hash)),
        }
    }

    /// Two keys that differ have different numbers: chance would need 128 equal bits, and nobody can choose them.
    fn key(&self, workspace: WorkspaceNo, key: &str) -> u128 {
        let half = |hasher: &RandomState| u128::from(hasher.hash_one((workspace, key)));
        (half(&self.hasher.0) << 64 | half(&self.hasher.1)).max(1)
    }

    /// The number of a key in a workspace, to compare with [`Entry::has_key`].
    pub(crate) fn key_of(&self, workspace: WorkspaceNo, key: &str) -> u128 {
        self.key(workspace, key)
    }

    pub(crate) fn audience_of(&self, entry: &Entry) -> Audience {
        self.audiences[entry.audience as usize]
    }

    pub(crate) fn source_of(&self, entry: &Entry) -> Option<&str> {
        entry.source.map(|source| self.sources.text(source))
    }

    pub(crate) fn source_hash_of(&self, entry: &Entry) -> Option<&str> {
        entry.source_hash.map(|hash| self.hashes.text(hash))
    }

    pub(crate) fn parts_of(&self, source_id: &str) -> &[SourcePart] {
        let found = self.sources.find(source_id).and_then(|source| self.parts.get(&source));
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Tells every record that the reader sees in an active workspace, with its status, oldest first.
    pub(crate) fn judge(&self, viewer: &Viewer, now: Timestamp, mut each: impl FnMut(&Entry, Status)) {
        let view = View::new(self, viewer, now);
        let rivals = view.rivals();
        for entry in view.entries() {
            each(entry, view.status(entry, &rivals));
        }
    }
}

impl Entry {
    pub(crate) const fn has_key(&self, key: u128) -> bool {
        self.key == key
    }
}

/// A ledger as one reader sees it.
struct View<'a> {
    ledger: &'a Ledger,
    now: Timestamp,
    /// By the number of the audience.
    sees: Vec<bool>,
    active: HashSet<WorkspaceNo>,
    known: HashMap<Number, Cow<'a, SourceState>>,
}

/// What could dispute a record: others under its key that are not stale.
type Rivals = HashMap<u128, Vec<(Seq, ContentHash)>>;

impl<'a> View<'a> {
    fn new(ledger: &'a Ledger, viewer: &Viewer, now: Timestamp) -> Self {
        let known = |(source, parts): (&Number, &'a Vec<SourcePart>)| {
            let state = match parts.as_slice() {
                [only] if viewer.sees(&only.audience) => Cow::Borrowed(&only.state),
                several => Cow::Owned(newest_visible_source(viewer, several.iter().map(|p| (&p.audience, &p.state)))),
            };
            (*source, state)
        };
        Self {
            ledger,
            now,
            sees: ledger.audiences.iter().map(|audience| viewer.sees(audience)).collect(),
            active: ledger.workspaces.iter().map(|row| row.no).collect(),
            known: ledger.parts.iter().map(known).collect(),
        }
    }

    fn entries(&self) -> impl Iterator<Item = &'a Entry> {
        let is_seen = |entry: &&Entry| self.sees[entry.audience as usize] && self.active.contains(&entry.workspace_no);
        self.ledger.entries.iter().filter(is_seen)
    }

    fn rivals(&self) -> Rivals {
        let mut rivals = Rivals::new();
        let is_shared = |key| key != 0 && self.ledger.keys.get(&key).is_some_and(|count| *count > 1);
        for entry in self.entries().filter(|entry| is_shared(entry.key)) {
            if self.derive(entry, || false) != Status::Stale {
                rivals.entry(entry.key).or_default().push((entry.seq, entry.content_hash));
            }
        }
        rivals
    }

    fn status(&self, entry: &Entry, rivals: &Rivals) -> Status {
        self.derive(entry, || {
            let others = rivals.get(&entry.key).map(Vec::as_slice).unwrap_or_default();
            others.iter().any(|(seq, content)| *seq != entry.seq && *content != entry.content_hash)
        })
    }

    fn derive(&self, entry: &Entry, is_disputed: impl FnOnce() -> bool) -> Status {
        static UNKNOWN: SourceState =
            SourceState { known_hash: None, known_seq: Seq(0), confirmed_hash: None, confirmed_seq: Seq(0) };
        let source = entry.source.and_then(|source| self.known.get(&source)).map_or(&UNKNOWN, AsRef::as_ref);
        let own = entry.source_hash.map(|hash| self.ledger.hashes.text(hash));
        Status::derive(self.now, entry.valid_until(), own, source, is_disputed)
    }
}
