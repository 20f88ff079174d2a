//! What happened to a record and who did it, told from the log, the audit and the looks at its source. Somebody else's
//! key is named to admins alone.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use mnemon_core::{KeyId, MemberId, Reason, Record, RecordId, Timestamp, confirms_hash};
use mnemon_store::{Actor, AuditEntry, Deed, DeedKind, KeyRow, SourceLook, StoreError};

use super::record::RecordDetail;
use super::{AdminContext, AdminError};
use crate::Engine;

/// Something that happened to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    pub at: Timestamp,
    pub what: What,
    pub by: Doer,
}

/// Who did something, as far as it is known and the caller may know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Doer {
    /// A member's name, or that it was the operator.
    pub name: Option<String>,
    /// The label of the key, or its last characters.
    pub key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Saved,
    /// With the same text: what came with it was brought up to date.
    SavedAgain,
    Tagged,
    /// It took the place of others.
    TookPlace,
    /// It was kept, and what contradicted it forgotten.
    Kept,
    Forgotten,
    Replaced {
        by: Option<RecordId>,
    },
    Restored,
    /// Its source was seen unchanged.
    Verified,
    /// Its source was seen with another hash, by somebody who looked or who saved a record from it.
    Changed {
        saved: Option<RecordId>,
    },
    /// Its source was seen to be gone.
    Gone,
    Expired,
    /// Another record says something else under its key.
    Disputed {
        with: RecordId,
    },
}

impl What {
    /// The word that the admin API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::SavedAgain => "updated",
            Self::Tagged => "tagged",
            Self::TookPlace => "took_place",
            Self::Kept => "kept",
            Self::Forgotten => "forgotten",
            Self::Replaced { .. } => "replaced",
            Self::Restored => "restored",
            Self::Verified => "verified",
            Self::Changed { .. } => "source_changed",
            Self::Gone => "source_gone",
            Self::Expired => "expired",
            Self::Disputed { .. } => "disputed",
        }
    }

    /// The other record that it is about.
    pub const fn other(self) -> Option<RecordId> {
        match self {
            Self::Replaced { by } => by,
            Self::Changed { saved } => saved,
            Self::Disputed { with } => Some(with),
            _ => None,
        }
    }
}

/// The names of keys and members.
struct Names<'a> {
    ctx: &'a AdminContext,
    keys: HashMap<KeyId, KeyRow>,
    members: HashMap<MemberId, String>,
}

impl Names<'_> {
    fn of_key(&self, key: Option<KeyId>) -> Doer {
        let Some(row) = key.and_then(|key| self.keys.get(&key)) else { return Doer::default() };
        Doer { name: self.members.get(&row.member).cloned(), key: self.label(row) }
    }

    fn label(&self, row: &KeyRow) -> Option<String> {
        let is_open = self.ctx.not_admin().is_none_or(|own| own.member == row.member);
        let hint = || row.hint.as_ref().map(|hint| format!("…{hint}"));
        row.label.clone().or_else(hint).filter(|_| is_open)
    }

    fn of_member(&self, member: Option<MemberId>) -> Doer {
        Doer { name: member.and_then(|member| self.members.get(&member).cloned()), key: None }
    }

    fn of_act(&self, act: &AuditEntry) -> Doer {
        let key = act.key.and_then(|key| self.keys.get(&key)).and_then(|row| self.label(row));
        match act.actor {
            Actor::Operator => Doer { name: Some("the operator".to_owned()), key: None },
            Actor::Service => Doer { name: Some("the service".to_owned()), key: None },
            Actor::Member(member) => {
                let name = act.actor_name.clone().or_else(|| self.members.get(&member).cloned());
                Doer { name, key }
            }
        }
    }
}

impl Engine {
    /// What happened to a record, oldest first.
    pub async fn show_history(&self, ctx: &AdminContext, detail: &RecordDetail) -> Result<Vec<Happening>, AdminError> {
        let (listed, project) = (&detail.shown.listed, &detail.project);
        let record = &listed.record;
        let deeds = self.store.list_deeds(project.id, record.workspace_no, record.seq).await?;
        let looks = match &record.fact.source_id {
            Some(source) => self.store.list_looks(project.id, record.workspace_no, source).await?,
            None => Vec::new(),
        };
        let moments: Vec<Timestamp> = deeds.iter().map(|deed| deed.at).chain(listed.forgotten_at).collect();
        let acts = self.store.list_acts(project.account, project.id, &record.id.to_string(), &moments).await?;
        let keys = deeds.iter().filter_map(|deed| deed.key).chain(acts.iter().filter_map(|act| act.key));
        let names = self.name_keys(ctx, detail, keys.chain(looks.iter().filter_map(|look| look.key))).await?;
        let mut told = of_deeds(detail, &deeds, &acts, &names);
        told.extend(of_acts(record, &acts, &names));
        told.extend(of_looks(detail, &deeds, &looks, &names));
        told.extend(self.newest_change(detail, ctx, &looks).await?);
        told.extend(of_now(ctx, detail));
        told.sort_by_key(|happening| happening.at);
        Ok(told)
    }

    async fn name_keys<'a>(
        &self,
        ctx: &'a AdminContext,
        detail: &RecordDetail,
        keys: impl Iterator<Item = KeyId>,
    ) -> Result<Names<'a>, StoreError> {
        let mut ids: Vec<KeyId> = keys.collect();
        ids.sort_unstable();
        ids.dedup();
        let rows = try_join_all(ids.iter().map(|id| self.store.find_key(*id))).await?;
        let own = rows.into_iter().flatten().filter(|row| row.project == detail.project.id);
        let members = self.store.list_members(detail.project.account).await?;
        Ok(Names {
            ctx,
            keys: own.map(|row| (row.id, row)).collect(),
            members: members.into_iter().map(|member| (member.id, member.name)).collect(),
        })
    }

    /// Which save brought the newest hash of a source that nobody has looked at since.
    async fn newest_change(
        &self,
        detail: &RecordDetail,
        ctx: &AdminContext,
        looks: &[SourceLook],
    ) -> Result<Option<Happening>, AdminError> {
        let record = &detail.shown.listed.record;
        let (Some(source), Some(at)) = (record.fact.source_id.as_deref(), detail.source.known_at) else {
            return Ok(None);
        };
        let known = detail.source.state.known_hash.as_deref();
        if detail.reason != Reason::SourceChanged || looks.iter().any(|look| look.at == at) {
            return Ok(None);
        }
        let of_source = self.store.list_by_source(detail.project.id, source, Some(&record.workspace)).await?;
        let brings = |hash: &str| known.is_some_and(|known| confirms_hash(known, hash));
        let mut bringing = of_source.iter().filter(|summary| summary.source_hash.as_deref().is_some_and(brings));
        let first = bringing.find(|summary| ctx.viewer().sees(&summary.audience));
        let found = match first {
            Some(summary) => self.store.find(detail.project.id, summary.id).await?,
            None => None,
        };
        let found = found.filter(|found| ctx.viewer().sees(&found.audience));
        let name = found.as_ref().and_then(|found| found.author_name.clone());
        let saved = found.map(|found| found.id);
        Ok(Some(Happening { at, what: What::Changed { saved }, by: Doer { name, key: None } }))
    }
}

/// What the log says, with the audit row of the same moment where that names who.
fn of_deeds(detail: &RecordDetail, deeds: &[Deed], acts: &[AuditEntry], names: &Names<'_>) -> Vec<Happening> {
    let listed = &detail.shown.listed;
    let id = listed.record.id.to_string();
    let find = |at: Timestamp, actions: &[&str]| {
        let fitting = || acts.iter().filter(|act| act.at == at && actions.contains(&&*act.action));
        fitting().find(|act| act.subject == id).or_else(|| fitting().next())
    };
    let forgotten = |at: Timestamp| {
        let ends = ["record.forget", "record.keep", "record.move", "record.supersede", "source.forget"];
        let act = find(at, &ends).or_else(|| find(at, &["workspace.delete"]));
        let by = act.map(|act| names.of_act(act)).unwrap_or_default();
        let is_latest = listed.forgotten_at == Some(at);
        let what = match act.filter(|act| matches!(&*act.action, "record.supersede" | "record.move")) {
            _ if is_latest && listed.superseded_by.is_some() => What::Replaced { by: listed.superseded_by },
            Some(act) if !is_latest => What::Replaced { by: act.subject.parse().ok() },
            Some(_) => What::Replaced { by: None },
            None => What::Forgotten,
        };
        Happening { at, what, by }
    };
    let mut told: Vec<Happening> = deeds
        .iter()
        .map(|deed| {
            let at = deed.at;
            let by = names.of_key(deed.key);
            match deed.kind {
                DeedKind::Saved => {
                    let name = by.name.or_else(|| listed.record.author_name.clone());
                    Happening { at, what: What::Saved, by: Doer { name, key: by.key } }
                }
                DeedKind::SavedAgain if find(at, &["record.tag"]).is_some() => Happening { at, what: What::Tagged, by },
                DeedKind::SavedAgain => Happening { at, what: What::SavedAgain, by },
                DeedKind::Forgotten => forgotten(at),
                DeedKind::Restored => {
                    let act = find(at, &["record.restore"]).or_else(|| find(at, &["workspace.restore"]));
                    let by = act.map(|act| names.of_act(act)).unwrap_or_default();
                    Happening { at, what: What::Restored, by }
                }
            }
        })
        .collect();
    // A record that ended with its workspace was not forgotten by itself.
    if let Some(at) = listed.forgotten_at.filter(|at| !deeds.iter().any(|deed| deed.at == *at)) {
        told.push(forgotten(at));
    }
    told
}

/// What it did to others.
fn of_acts(record: &Record, acts: &[AuditEntry], names: &Names<'_>) -> Vec<Happening> {
    let id = record.id.to_string();
    let own = acts.iter().filter(|act| act.subject == id);
    own.filter_map(|act| {
        let what = match &*act.action {
            "record.keep" => What::Kept,
            "record.supersede" | "record.move" => What::TookPlace,
            _ => return None,
        };
        Some(Happening { at: act.at, what, by: names.of_act(act) })
    })
    .collect()
}

/// What was seen of its source. What was seen before it was saved says nothing about it.
fn of_looks(detail: &RecordDetail, deeds: &[Deed], looks: &[SourceLook], names: &Names<'_>) -> Vec<Happening> {
    let record = &detail.shown.listed.record;
    // The record may have got another hash since.
    let own_at = |at: Timestamp| {
        let later = deeds.iter().filter(|deed| deed.at > at).find_map(|deed| deed.hash_before.as_deref());
        later.or(record.fact.source_hash.as_deref())
    };
    let seen = |look: &SourceLook| match (&look.hash, own_at(look.at)) {
        (None, _) => Some(What::Gone),
        (Some(hash), Some(own)) if confirms_hash(hash, own) => Some(What::Verified),
        (Some(_), Some(_)) => Some(What::Changed { saved: None }),
        (Some(_), None) => None,
    };
    let since = looks.iter().filter(|look| look.at >= record.created_at);
    let mut told: Vec<Happening> = since
        .filter_map(|look| Some(Happening { at: look.at, what: seen(look)?, by: names.of_key(look.key) }))
        .collect();
    // A look that saw the same as the one before moves only the moment.
    let last = told.last().map(|happening| happening.at);
    if let Some(at) = detail.source.confirmed_at.filter(|at| detail.reason == Reason::Confirmed && Some(*at) > last) {
        told.push(Happening { at, what: What::Verified, by: names.of_member(detail.source.confirmed_by) });
    }
    told
}

/// What follows from the clock and from other records.
fn of_now(ctx: &AdminContext, detail: &RecordDetail) -> Vec<Happening> {
    let record = &detail.shown.listed.record;
    let ended = record.fact.valid_until.filter(|end| *end <= ctx.now());
    let ended = ended.map(|at| Happening { at, what: What::Expired, by: Doer::default() });
    let later = detail.rivals.iter().map(|rival| &rival.listed.record).filter(|rival| rival.seq > record.seq);
    let successor = detail.shown.listed.superseded_by;
    let later = later.filter(|rival| successor != Some(rival.id));
    let disputed = later.map(|rival| Happening {
        at: rival.created_at,
        what: What::Disputed { with: rival.id },
        by: Doer { name: rival.author_name.clone(), key: None },
    });
    ended.into_iter().chain(disputed).collect()
}
