//! What a record and a query say: their words, and whether the caller sees the record.

use std::collections::{BTreeMap, BTreeSet};

use crate::search::query::fit_weights;
use crate::search::ranking::timely::without_phrase;
use crate::time::dates_in;
use crate::words::{Ballot, Hint, Role, Stems, Stops, each_word, is_syllabic, is_understood};
use crate::{AudienceNo, Filter, Model, SearchRequest};

use super::{Doc, OracleQuery, Page, Sighting};

/// Whether a record no longer holds for the caller.
pub(super) fn is_stale(doc: &Doc, sightings: &[Sighting], request: &SearchRequest<'_>) -> bool {
    let known = sightings.iter().filter(|seen| Some(seen.source_id) == doc.source_id);
    let known = known.filter(|seen| seen.audience.is_none_or(|audience| (request.knows)(AudienceNo(audience))));
    let newest = known.max_by_key(|seen| seen.seq).map(|seen| seen.hash);
    let has_moved = match newest {
        None => false,
        Some(None) => true,
        Some(Some(newest)) => doc.source_hash.is_some_and(|own| own != newest),
    };
    has_moved || doc.valid_until.is_some_and(|end| end <= request.now)
}

fn is_admitted(doc: &Doc, is_stale: bool, filter: &Filter<'_>) -> bool {
    !(filter.exclude_stale && is_stale)
        && filter.fact_key.is_none_or(|key| doc.fact_key == Some(key))
        && filter.source_id.is_none_or(|id| doc.source_id == Some(id))
        && filter.tags.iter().all(|tag| doc.tags.contains(tag))
        && filter.seqs.is_none_or(|seqs| seqs.contains(&doc.seq))
        && filter.since.is_none_or(|since| doc.time >= since)
        && filter.until.is_none_or(|until| doc.time <= until)
}

pub(super) fn read(doc: &Doc, sightings: &[Sighting], request: &SearchRequest<'_>) -> Page {
    let stems = Stems::new();
    let is_stale = is_stale(doc, sightings, request);
    let (stops, mut ballot) = (stops_of(&without_phrase(request)), Ballot::default());
    let mut page = Page {
        seq: doc.seq,
        counted: doc.counted,
        is_seen: (request.visible)(AudienceNo(doc.audience)) && is_admitted(doc, is_stale, &request.filter),
        forms: BTreeSet::new(),
        terms: BTreeMap::new(),
        sequence: Vec::new(),
        length: 0,
        embedding: is_understood(&doc.text).then(|| Model::shipped().encode(&doc.text)),
        saved_at: doc.saved_at,
        time: doc.time,
        dates: doc.occurred.into_iter().chain(dates_in(&doc.text)).collect(),
        is_stale,
        fact_key: doc.fact_key,
        language: None,
    };
    for text in [doc.source_id, doc.fact_key].into_iter().flatten() {
        each_word(text, |word, _| {
            page.forms.insert(word.to_owned());
            page.terms.entry(stems.stem(word).into_owned()).or_default();
        });
    }
    each_word(&doc.text, |word, role| {
        let stem = stems.stem(word).into_owned();
        page.forms.insert(word.to_owned());
        *page.terms.entry(stem.clone()).or_default() += 1;
        if role == Role::Running {
            page.length += 1;
            ballot.add(Hint::of(word));
            if !stops.has(word) {
                page.sequence.push(stem);
            }
        }
    });
    page.language = ballot.verdict();
    page
}

fn stops_of(query: &str) -> Stops {
    if Model::shipped().read(query).0 { Stops::ENGLISH } else { Stops::ALL }
}

pub(super) fn ask(query: &str) -> OracleQuery {
    let stems = Stems::new();
    let mut words = Vec::new();
    let (stops, mut ballot) = (stops_of(query), Ballot::default());
    each_word(query, |word, role| {
        words.push((word.to_owned(), role));
        ballot.add(Hint::of(word));
    });
    let all_score = !words.iter().any(|(word, role)| *role == Role::Running && !stops.has(word));
    let (terms, sequence) = (Vec::new(), Vec::new());
    let mut asked = OracleQuery {
        terms,
        sequence,
        words: Vec::new(),
        typed: Vec::new(),
        language: ballot.verdict(),
        is_syllabic: is_syllabic(query),
        is_empty_of_content: all_score,
        wanted: None,
        days: None,
    };
    let mut parts_left = 0;
    for (word, role) in words {
        let stem = stems.stem(&word).into_owned();
        let scores = all_score || !stops.has(&word);
        match role {
            Role::Aside => continue,
            Role::Whole { parts } => {
                parts_left = parts;
                asked.words.push((stem.clone(), Vec::new()));
            }
            Role::Running => {
                asked.typed.push((word.clone(), stops.has(&word)));
                if parts_left > 0 {
                    parts_left -= 1;
                    asked.words.last_mut().unwrap().1.push(stem.clone());
                } else if scores {
                    asked.words.push((stem.clone(), Vec::new()));
                }
                if scores {
                    asked.sequence.push(stem.clone());
                }
            }
        }
        if scores {
            match asked.terms.iter_mut().find(|(known, _)| *known == stem) {
                Some((_, weight)) => *weight += 1.0,
                None => asked.terms.push((stem, 1.0)),
            }
        }
    }
    fit_weights(asked.terms.iter_mut().map(|(_, weight)| weight));
    asked
}
