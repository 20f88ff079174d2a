//! Every living record of a project with what its status depends on, small enough to be kept and walked through: how
//! many records hold is then a matter of milliseconds for any reader, and a change costs what has changed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::Arc;

use mnemon_core::{
    Audience, ContentHash, Seq, SourceState, Status, Timestamp, Viewer, WorkspaceNo, newest_visible_source,
};
use mnemon_store::{SourcePart, Survey, Surveyed, WorkspaceRow};
use parking_lot::Mutex;

use crate::admin::{Standing, StatusCounts};

/// For how many readers the counts are kept.
const READERS_MAX: usize = 8;

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
    /// The place of the workspace among those that ever were.
    workspace: u32,
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

/// Keys are random already, so hashing them once more would be for nothing.
#[derive(Debug, Clone, Copy, Default)]
struct OwnBits(u64);

impl Hasher for OwnBits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

/// Something by key.
type Keyed<T> = HashMap<u128, T, BuildHasherDefault<OwnBits>>;

/// How a project stands for a reader, for as long as no record ends and nothing changes.
#[derive(Debug)]
pub(crate) struct Overview {
    /// By the number of the workspace.
    workspaces: Vec<Standing>,
    /// By the number of the source.
    sources: Vec<StatusCounts>,
    /// By the place of the record; none where the reader does not see it.
    statuses: Vec<Option<Status>>,
    from: Timestamp,
    until: Timestamp,
}

/// The overviews of the latest readers. A ledger that changes begins without any.
#[derive(Debug, Default)]
struct Counted(Mutex<Vec<(Viewer, Arc<Overview>)>>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::default()
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
    workspace_numbers: HashMap<WorkspaceNo, u32>,
    /// By [`source_key`].
    sources: Texts,
    hashes: Texts,
    /// What is known of each source.
    parts: HashMap<Number, Vec<SourcePart>>,
    /// How many records have each key.
    keys: Keyed<u32>,
    /// What was counted for the latest readers.
    counted: Counted,
    hasher: (RandomState, RandomState),
}

/// The text under which a source of a workspace is numbered.
fn source_key(workspace: WorkspaceNo, source_id: &str) -> String {
    format!("{}/{source_id}", workspace.0)
}

/// The workspace and the id that [`source_key`] joined.
fn split_source(key: &str) -> (WorkspaceNo, &str) {
    let (no, id) = key.split_once('/').unwrap_or_default();
    (WorkspaceNo(no.parse().unwrap_or_default()), id)
}

impl Ledger {
    pub(crate) fn new(survey: Survey) -> Self {
        let mut ledger = Self {
            seq: survey.seq,
            workspaces: Vec::new(),
            entries: Vec::with_capacity(survey.records.len()),
            audiences: Vec::new(),
            audience_numbers: HashMap::new(),
            workspace_numbers: HashMap::new(),
            sources: Texts::default(),
            hashes: Texts::default(),
            parts: HashMap::new(),
            keys: Keyed::default(),
            counted: Counted::default(),
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
        let is_in_order = survey.records.first().is_none_or(|first| last.is_none_or(|last| last < first.summary.seq));
        for record in &survey.records {
            let entry = self.entry(record);
            self.entries.push(entry);
        }
        if !is_in_order {
            self.entries.sort_unstable_by_key(|entry| entry.seq);
        }
        let mut seen = HashSet::new();
        for part in survey.parts {
            let source = self.sources.number(&source_key(part.workspace_no, &part.source_id));
            let parts = self.parts.entry(source).or_default();
            if seen.insert(source) {
                parts.clear();
            }
            parts.push(part);
        }
        self.workspaces = survey.workspaces;
        self.seq = survey.seq;
        self.counted = Counted::default();
    }

    fn entry(&mut self, record: &Surveyed) -> Entry {
        let summary = &record.summary;
        let key = summary.given_fact_key.as_deref().map_or(0, |key| self.key(summary.workspace_no, key));
        if key != 0 {
            *self.keys.entry(key).or_default() += 1;
        }
        let audiences = &mut self.audiences;
        let audience = *self.audience_numbers.entry(summary.audience).or_insert_with(|| {
            audiences.push(summary.audience);
            audiences.len() as u32 - 1
        });
        let workspaces = self.workspace_numbers.len() as u32;
        let workspace = *self.workspace_numbers.entry(summary.workspace_no).or_insert(workspaces);
        Entry {
            workspace,
            seq: summary.seq,
            workspace_no: summary.workspace_no,
            updated_at: record.updated_at.as_microsecond(),
            valid_until: summary.valid_until.map_or(i64::MAX, |end| end.as_microsecond()),
            content_hash: summary.content_hash,
            key,
            audience,
            source: summary.source_id.as_deref().map(|id| self.sources.number(&source_key(summary.workspace_no, id))),
            source_hash: summary.source_hash.as_deref().map(|hash| self.hashes.number(hash)),
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
        entry.source.map(|source| split_source(self.sources.text(source)).1)
    }

    pub(crate) fn parts_of(&self, workspace: WorkspaceNo, source_id: &str) -> &[SourcePart] {
        let found = self.sources.find(&source_key(workspace, source_id)).and_then(|source| self.parts.get(&source));
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// How everything stands for a reader.
    pub(crate) fn overview(&self, viewer: &Viewer, now: Timestamp) -> Arc<Overview> {
        let fits = |(known, told): &&(Viewer, Arc<Overview>)| known == viewer && told.from <= now && now < told.until;
        if let Some((_, told)) = self.counted.0.lock().iter().find(fits) {
            return Arc::clone(told);
        }
        let told = Arc::new(self.count(viewer, now));
        let mut counted = self.counted.0.lock();
        counted.retain(|(known, _)| known != viewer);
        if counted.len() >= READERS_MAX {
            counted.remove(0);
        }
        counted.push((viewer.clone(), Arc::clone(&told)));
        told
    }

    fn count(&self, viewer: &Viewer, now: Timestamp) -> Overview {
        let mut workspaces = vec![Standing::default(); self.workspace_numbers.len()];
        let mut sources = vec![StatusCounts::default(); self.sources.texts.len()];
        let (at, mut next) = (now.as_microsecond(), i64::MAX);
        let view = View::new(self, viewer, now);
        let rivals = view.rivals();
        let mut tell = |entry: &Entry| {
            if !view.sees(entry) {
                return None;
            }
            let status = view.status(entry, &rivals);
            let own = &mut workspaces[entry.workspace as usize];
            own.counts.count(status);
            own.sourceless += u64::from(!entry.has_source());
            own.last_saved_at = own.last_saved_at.max(Some(entry.updated_at()));
            if let Some(source) = entry.source {
                sources[source.get() as usize - 1].count(status);
            }
            if entry.valid_until > at {
                next = next.min(entry.valid_until);
            }
            Some(status)
        };
        let statuses = self.entries.iter().map(&mut tell).collect();
        let until = Timestamp::from_microsecond(next).unwrap_or(Timestamp::MAX);
        Overview { workspaces, sources, statuses, from: now, until }
    }

    /// How a workspace stands; nothing if the reader sees no record in it.
    pub(crate) fn standing_in(&self, told: &Overview, no: WorkspaceNo) -> Option<Standing> {
        let own = told.workspaces.get(*self.workspace_numbers.get(&no)? as usize).copied()?;
        (own.counts.total() > 0).then_some(own)
    }

    /// Every source of which the reader sees a record, with how these stand.
    pub(crate) fn sources_of<'a>(
        &'a self,
        told: &'a Overview,
    ) -> impl Iterator<Item = (WorkspaceNo, &'a str, StatusCounts)> {
        let all = self.sources.texts.iter().zip(&told.sources);
        all.filter(|(_, counts)| counts.total() > 0).map(|(key, counts)| {
            let (workspace, id) = split_source(key);
            (workspace, id, *counts)
        })
    }

    /// The different hashes that the records of these sources were saved with, newest first, as far as the reader sees
    /// them.
    pub(crate) fn hashes_of<'a>(
        &self,
        viewer: &Viewer,
        sources: &[(WorkspaceNo, &'a str)],
        most: usize,
    ) -> HashMap<(WorkspaceNo, &'a str), Vec<String>> {
        let number = |(no, id): (WorkspaceNo, &'a str)| Some((self.sources.find(&source_key(no, id))?, (no, id)));
        let wanted: HashMap<Number, (WorkspaceNo, &'a str)> = sources.iter().copied().filter_map(number).collect();
        let mut found: HashMap<(WorkspaceNo, &'a str), Vec<String>> = HashMap::new();
        let sees: Vec<bool> = self.audiences.iter().map(|audience| viewer.sees(audience)).collect();
        let active: HashSet<WorkspaceNo> = self.workspaces.iter().map(|row| row.no).collect();
        for entry in self.entries.iter().rev().filter(|entry| sees[entry.audience as usize]) {
            let (Some(source), Some(hash)) = (entry.source, entry.source_hash) else { continue };
            let Some(id) = wanted.get(&source).filter(|_| active.contains(&entry.workspace_no)) else { continue };
            let (own, hash) = (found.entry(*id).or_default(), self.hashes.text(hash));
            if own.len() < most && !own.iter().any(|known| known == hash) {
                own.push(hash.to_owned());
            }
        }
        found
    }

    /// Every record that the reader sees in an active workspace, with its status, newest first.
    pub(crate) fn newest_first<'a>(&'a self, told: &'a Overview) -> impl Iterator<Item = (&'a Entry, Status)> {
        let all = self.entries.iter().zip(&told.statuses).rev();
        all.filter_map(|(entry, status)| Some((entry, (*status)?)))
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
    /// By the number of the workspace.
    is_active: Vec<bool>,
    /// By the number of the source.
    known: Vec<Option<Cow<'a, SourceState>>>,
}

/// What could dispute a record: others under its key that are not stale.
type Rivals = Keyed<Vec<(Seq, ContentHash)>>;

impl<'a> View<'a> {
    fn new(ledger: &'a Ledger, viewer: &Viewer, now: Timestamp) -> Self {
        let mut known: Vec<Option<Cow<'a, SourceState>>> = vec![None; ledger.sources.texts.len()];
        for (source, parts) in &ledger.parts {
            known[source.get() as usize - 1] = Some(match parts.as_slice() {
                [only] if viewer.sees(&only.audience) => Cow::Borrowed(&only.state),
                several => Cow::Owned(newest_visible_source(viewer, several.iter().map(|p| (&p.audience, &p.state)))),
            });
        }
        let mut is_active = vec![false; ledger.workspace_numbers.len()];
        for number in ledger.workspaces.iter().filter_map(|row| ledger.workspace_numbers.get(&row.no)) {
            is_active[*number as usize] = true;
        }
        Self {
            ledger,
            now,
            sees: ledger.audiences.iter().map(|audience| viewer.sees(audience)).collect(),
            is_active,
            known,
        }
    }

    fn entries(&self) -> impl Iterator<Item = &'a Entry> {
        self.ledger.entries.iter().filter(|entry| self.sees(entry))
    }

    fn sees(&self, entry: &Entry) -> bool {
        self.sees[entry.audience as usize] && self.is_active[entry.workspace as usize]
    }

    fn rivals(&self) -> Rivals {
        let mut rivals = Rivals::default();
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
            let others = if entry.key == 0 { None } else { rivals.get(&entry.key) };
            let others = others.map(Vec::as_slice).unwrap_or_default();
            others.iter().any(|(seq, content)| *seq != entry.seq && *content != entry.content_hash)
        })
    }

    fn derive(&self, entry: &Entry, is_disputed: impl FnOnce() -> bool) -> Status {
        static UNKNOWN: SourceState = SourceState {
            known_hash: None,
            is_gone: false,
            moved_to: None,
            known_seq: Seq(0),
            confirmed_hash: None,
            confirmed_seq: Seq(0),
        };
        let source = entry.source.and_then(|source| self.known[source.get() as usize - 1].as_deref());
        let source = source.unwrap_or(&UNKNOWN);
        let own = entry.source_hash.map(|hash| self.ledger.hashes.text(hash));
        Status::derive(self.now, entry.valid_until(), own, source, is_disputed)
    }
}
