//! What a save names: the same fact in other words or with another value, and neither another fact nor a hidden one.
//! Order of arrival, deletes, snapshots and unseen records leave no trace.

use std::collections::BTreeMap;

use mnemon_recall::{AudienceNo, Model, NewDoc, Similar, WorkspaceIndex};
use proptest::prelude::*;

/// Audience 0 is everybody: only its records are counted. The others are drafts and departments.
const EVERYBODY: u32 = 0;

/// Facts of a team that have nothing to do with each other.
const AROUND: [&str; 8] = [
    "Invoices are sent on the first of the month by the finance team.",
    "Pull requests need two approvals before they are merged.",
    "The mobile app must work without a network connection.",
    "Grafana dashboards live in the repository under ops/dashboards.",
    "Ana prefers written feedback over calls.",
    "Backups are encrypted and kept in Frankfurt for ninety days.",
    "Резервные копии хранятся во Франкфурте девяносто дней.",
    "密码至少需要十个字符。",
];

fn workspace<'t>(texts: impl IntoIterator<Item = &'t str>) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    (1..).zip(AROUND.into_iter().chain(texts)).for_each(|(seq, text)| index.add(NewDoc::new(seq, text)));
    index
}

/// What saving the second of two texts names.
fn named(old: &str, new: &str) -> Vec<u64> {
    let index = workspace([old, new]);
    let similar = index.similar(index.len() as u64, 3, &|_| true);
    assert!(similar.iter().all(|similar| (0.0..=1.0).contains(&similar.score)), "{similar:?}");
    similar.into_iter().map(|similar| similar.seq).collect()
}

#[test]
fn the_same_fact_is_named() {
    let old_seq = AROUND.len() as u64 + 1;
    for (old, new) in [
        ("The payments API listens on port 8443.", "The payments API listens on port 9443 since the move."),
        ("Access tokens expire after 15 minutes.", "Access tokens expire after 60 minutes."),
        ("The image service crops avatars.", "The image service crops avatars to 256x256 pixels."),
        ("All timestamps in the database are stored in UTC.", "The database stores all timestamps in UTC."),
        ("We use RabbitMQ for background jobs.", "We no longer use RabbitMQ for background jobs."),
        ("Die Testumgebung hat vier Kerne und 8 GB.", "Die Testumgebung hat acht Kerne und 16 GB."),
        ("На тестовом стенде стоит PostgreSQL 14.", "На тестовом стенде стоит PostgreSQL 16."),
        ("数据库中的所有时间都以 UTC 存储。", "数据库中的所有时间都必须以 UTC 存储。"),
    ] {
        assert_eq!(named(old, new), [old_seq], "{old} / {new}");
        assert_eq!(named(new, old), [old_seq], "{new} / {old}");
    }
}

#[test]
fn another_fact_is_not_named() {
    for (old, new) in [
        ("Ana's birthday is 3 March.", "Ben's birthday is 4 May."),
        ("Invoice 4711 was paid.", "Invoice 4712 was paid."),
        ("The staging database is Postgres 15.", "The production database is Postgres 15."),
        ("PR #812 fixes a typo in the README.", "PR #977 fixes a typo in the changelog."),
        ("The release is announced in #announcements.", "The release is tagged by the bot after CI is green."),
        (
            "12:01:07 INFO worker-3 processed batch 5531 in 212 ms",
            "12:01:09 INFO worker-3 processed batch 5532 in 198 ms",
        ),
        ("Тестовая база работает на PostgreSQL 15.", "Рабочая база работает на PostgreSQL 15."),
        ("小王的生日是三月三日。", "小陈的生日是八月十四日。"),
        ("hello", "world"),
    ] {
        assert_eq!(named(old, new), [0; 0], "{old} / {new}");
    }
}

#[test]
fn a_line_of_a_page_is_not_the_page() {
    let line = "The connection pool of the pricing service has 80 connections.";
    let page = format!("{line} {}", AROUND[..6].join(" "));
    assert_eq!(named(line, &page), [0; 0]);
    let edited = page.replace("80 connections", "120 connections").replace("ninety", "thirty");
    assert_eq!(named(&page, &edited), [AROUND.len() as u64 + 1]);
}

#[test]
fn texts_without_words_and_records_that_are_gone_name_nothing() {
    let mut index = workspace(["", "", "…!?", "…!?", "the and of", "the and of"]);
    for seq in 1..=index.len() as u64 {
        assert_eq!(index.similar(seq, 3, &|_| true), [], "{seq}");
    }
    assert_eq!(index.similar(999, 3, &|_| true), []);
    let (old, new) = (100, 101);
    for seq in [old, new] {
        index.add(NewDoc::new(seq, "The boiler in the cellar has the code 4711."));
    }
    assert_eq!(index.similar(new, 3, &|_| true).len(), 1);
    index.remove(old);
    assert_eq!(index.similar(new, 3, &|_| true), []);
    assert_eq!(index.similar(old, 3, &|_| true), []);
    assert_eq!(WorkspaceIndex::new(Model::shipped()).similar(1, 3, &|_| true), []);
}

#[test]
fn the_best_come_first_and_of_equal_ones_the_newest_up_to_a_limit() {
    let fact = "The boiler in the cellar of the old town hall has the code";
    let texts: Vec<String> = (0..6).map(|nth| format!("{fact} {}.", 4711 + nth / 2)).collect();
    let index = workspace(texts.iter().map(String::as_str));
    let first = AROUND.len() as u64 + 1;
    let seqs = |limit| -> Vec<u64> {
        index.similar(first + 5, limit, &|_| true).into_iter().map(|similar| similar.seq - first).collect()
    };
    assert_eq!(seqs(9), [4, 3, 2, 1, 0], "the one with the same code, and then the newest");
    assert_eq!((seqs(3), seqs(1), seqs(0)), (vec![4, 3, 2], vec![4], vec![]));
}

/// A record of a circle of readers has words that no other record has.
#[test]
fn records_of_an_own_circle_are_named_to_those_who_see_them() {
    let mut index = workspace([]);
    let text = |time: &str| format!("The quokka enclosure of the annexe is locked at {time} by the warden.");
    for (seq, time, audience) in [(50, "20:00", 1), (51, "21:00", 2), (52, "22:00", 1)] {
        index.add(NewDoc { audience: AudienceNo(audience), counted: false, ..NewDoc::new(seq, &text(time)) });
    }
    let seqs = |seen: u32| -> Vec<u64> {
        let visible = |audience: AudienceNo| [EVERYBODY, seen].contains(&audience.0);
        index.similar(52, 3, &visible).into_iter().map(|similar| similar.seq).collect()
    };
    assert_eq!((seqs(1), seqs(2), seqs(3)), (vec![50], vec![51], vec![]));
}

/// Pages as people have them, up to the largest size: another edition is named, the next page is not.
#[test]
fn an_edited_page_is_named_and_the_next_page_is_not() {
    let book = [include_str!("../../../ARCHITECTURE.md"), include_str!("../src/index.rs")];
    for (text, size) in book.into_iter().flat_map(|text| [500, 2_000, 4_000, 16 * 1024].map(|size| (text, size))) {
        let pages: Vec<String> = text.chars().collect::<Vec<_>>().chunks(size).map(String::from_iter).take(2).collect();
        let edited = pages[0].replace("record", "entry") + " More is to be said.";
        assert_eq!(named(&pages[0], &edited), [AROUND.len() as u64 + 1], "{size}");
        if let Some(next) = pages.get(1) {
            assert_eq!(named(&pages[0], next), [0; 0], "{size}");
        }
    }
}

#[derive(Debug, Clone)]
struct Doc {
    text: String,
    audience: u32,
}

#[derive(Debug, Clone)]
enum Step {
    Put(u64, Doc),
    Forget(u64),
}

/// Facts of a few shapes, so that many say nearly the same.
fn text() -> impl Strategy<Value = String> {
    let what =
        prop::sample::select(vec!["boiler", "boilers", "gateway", "nightly job", "ключ", "東京都の鍵", "lib.rs"]);
    let place = prop::sample::select(vec!["in the cellar", "of the old town hall", "on Friday", "in Harbour Street"]);
    let value = prop::sample::select(vec!["4711", "8080", "02:00", "a red key", "Caroline", "two approvals"]);
    let shape = prop::sample::select(vec![0, 0, 1, 2, 3]);
    (what, place, value, shape).prop_map(|(what, place, value, shape)| match shape {
        0 => format!("The {what} {place} needs {value}."),
        1 => format!("{value} is needed by the {what} {place}, as always."),
        2 => format!("The {what} {place} no longer needs {value}, ask the meeting."),
        _ => String::new(),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let audience = prop::sample::select(vec![EVERYBODY, EVERYBODY, EVERYBODY, 1, 2]);
    let step = prop_oneof![
        4 => (0_u64..40, text(), audience).prop_map(|(seq, text, audience)| Step::Put(seq, Doc { text, audience })),
        1 => (0_u64..40).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 0..80)
}

fn put(index: &mut WorkspaceIndex, seq: u64, doc: &Doc) {
    let counted = doc.audience == EVERYBODY;
    index.add(NewDoc { audience: AudienceNo(doc.audience), counted, ..NewDoc::new(seq, &doc.text) });
}

fn apply(index: &mut WorkspaceIndex, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Put(seq, doc) => put(index, *seq, doc),
            Step::Forget(seq) => {
                index.remove(*seq);
            }
        }
    }
}

/// What is left after the steps.
fn live(steps: &[Step]) -> BTreeMap<u64, Doc> {
    let mut live = BTreeMap::new();
    for step in steps {
        match step {
            Step::Put(seq, doc) => live.insert(*seq, doc.clone()),
            Step::Forget(seq) => live.remove(seq),
        };
    }
    live
}

fn built<'a>(docs: impl Iterator<Item = (&'a u64, &'a Doc)>) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    docs.for_each(|(seq, doc)| put(&mut index, *seq, doc));
    index
}

/// What every record names, for a caller who sees one circle beside everybody's.
fn answers(index: &WorkspaceIndex, caller: u32) -> Vec<Vec<Similar>> {
    let visible = |audience: AudienceNo| [EVERYBODY, caller].contains(&audience.0);
    (0..40).map(|seq| index.similar(seq, 5, &visible)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn equal_live_records_are_named_alike_whatever_came_before(steps in steps()) {
        let mut index = WorkspaceIndex::new(Model::shipped());
        apply(&mut index, &steps);
        let live = live(&steps);
        let (forwards, backwards) = (built(live.iter()), built(live.iter().rev()));
        for caller in 0..3 {
            let answers_here = answers(&index, caller);
            prop_assert_eq!(&answers_here, &answers(&forwards, caller));
            prop_assert_eq!(&answers_here, &answers(&backwards, caller));
        }
    }

    #[test]
    fn a_snapshot_with_the_tail_names_what_a_rebuild_names(before in steps(), tail in steps()) {
        let mut original = WorkspaceIndex::new(Model::shipped());
        apply(&mut original, &before);
        let snapshot = original.to_snapshot(b"").to_bytes();
        let (_, mut restored) = WorkspaceIndex::from_snapshot(Model::shipped(), &snapshot).unwrap();
        prop_assert_eq!(answers(&restored, 1), answers(&original, 1));
        apply(&mut restored, &tail);
        let rebuilt = built(live(&[before, tail].concat()).iter());
        prop_assert_eq!(answers(&restored, 1), answers(&rebuilt, 1));
    }

    #[test]
    fn unseen_records_change_nothing(steps in steps()) {
        let live = live(&steps);
        let whole = built(live.iter());
        for caller in 0..3 {
            let is_seen = |doc: &Doc| [EVERYBODY, caller].contains(&doc.audience);
            let alone = built(live.iter().filter(|(_, doc)| is_seen(doc)));
            let visible = |audience: AudienceNo| [EVERYBODY, caller].contains(&audience.0);
            for (seq, _) in live.iter().filter(|(_, doc)| is_seen(doc)) {
                prop_assert_eq!(whole.similar(*seq, 5, &visible), alone.similar(*seq, 5, &visible));
            }
        }
    }

    #[test]
    fn a_record_never_names_itself_nor_what_is_not_visible(steps in steps()) {
        let live = live(&steps);
        let index = built(live.iter());
        let all = answers(&index, 1);
        for (seq, similar) in (0..).zip(&all) {
            prop_assert!(similar.len() <= 5);
            prop_assert!(similar.is_sorted_by(|a, b| a.score > b.score || a.score == b.score && a.seq > b.seq));
            for named in similar {
                prop_assert!(named.seq != seq && live[&named.seq].audience != 2);
                prop_assert!(named.score > 0.0 && named.score <= 1.0 && (named.score * 100.0).fract() < 1e-9 || (named.score * 100.0).fract() > 1.0 - 1e-9);
            }
        }
    }
}
