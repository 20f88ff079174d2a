//! Snapshots in files: a large index is mapped, and must then be what it was, also after changes; a damaged one is
//! refused.

use std::fs::File;
use std::os::unix::fs::FileExt;

use mnemon_recall::{AudienceNo, Hit, Model, NewDoc, SearchRequest, SnapshotError, WorkspaceIndex};

/// Enough that most parts are large enough to be mapped.
const RECORDS: u64 = 12_000;
const PLACES: [&str; 7] = ["harbour", "library", "kitchen", "office", "garden", "station", "workshop"];
const THINGS: [&str; 11] =
    ["boiler", "printer", "lamp", "door", "server", "window", "heater", "router", "bell", "lift", "gate"];

fn text(seq: u64) -> String {
    let (place, thing) = (PLACES[seq as usize % PLACES.len()], THINGS[seq as usize % THINGS.len()]);
    format!("The {thing} in the {place} was checked by crew {} and got the tag tag{seq}.", seq % 97)
}

fn put(index: &mut WorkspaceIndex, seq: u64) {
    let (text, source, hash) = (text(seq), format!("file-{}", seq % 500), format!("hash-{}", seq % 3));
    index.add(NewDoc {
        audience: AudienceNo(u32::from(seq.is_multiple_of(10))),
        counted: !seq.is_multiple_of(10),
        saved_at: 1_000 * seq as i64,
        time: 1_000 * seq as i64,
        valid_until: seq.is_multiple_of(50).then_some(5),
        source_id: Some(&source),
        source_hash: Some(&hash),
        fact_key: seq.is_multiple_of(4).then_some(&*source),
        ..NewDoc::new(seq, &text)
    });
}

fn index() -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    (1..=RECORDS).for_each(|seq| put(&mut index, seq));
    (1..200).for_each(|seq| assert!(index.remove(7 * seq)));
    index.sight("file-7", None, Some("hash-2"), RECORDS + 1);
    index.sight("file-8", Some(AudienceNo(1)), Some("hash-1"), RECORDS + 2);
    index
}

/// A file without a name.
fn file_of(index: &WorkspaceIndex) -> File {
    let file = tempfile::tempfile().expect("a file");
    index.to_snapshot(b"note").write_to(&file).expect("it is written");
    file
}

fn answers(index: &WorkspaceIndex) -> Vec<Vec<Hit>> {
    let queries =
        ["boiler in the harbour", "tag81", "crew 12 checked the printer", "heating", "file-8", "lamp lift bell"];
    let visible = |everything: bool| move |audience: AudienceNo| everything || audience.0 == 0;
    let ask = |(query, everything): (&str, bool)| {
        let visible = visible(everything);
        index.search(&SearchRequest { visible: &visible, knows: &visible, now: 10, ..SearchRequest::new(query, 20) })
    };
    queries.into_iter().flat_map(|query| [(query, true), (query, false)]).map(ask).collect()
}

#[test]
fn a_mapped_index_answers_as_the_one_it_was_made_from() {
    let original = index();
    let (note, mapped) = WorkspaceIndex::from_snapshot_file(Model::shipped(), &file_of(&original)).unwrap();
    assert_eq!(note, b"note");
    assert_eq!(answers(&mapped), answers(&original));
    assert!(answers(&mapped).iter().all(|hits| !hits.is_empty()));
    let bytes = original.to_snapshot(b"note").to_bytes();
    let (_, read) = WorkspaceIndex::from_snapshot(Model::shipped(), &bytes).unwrap();
    assert_eq!(answers(&read), answers(&original));
}

#[test]
fn a_mapped_index_changes_as_any_other_and_its_file_does_not() {
    let mut original = index();
    let file = file_of(&original);
    let (_, mut mapped) = WorkspaceIndex::from_snapshot_file(Model::shipped(), &file).unwrap();
    // More than there is room for behind the parts; some come back, some are replaced, some go.
    for index in [&mut original, &mut mapped] {
        (RECORDS + 10..RECORDS + 3_000).for_each(|seq| put(index, seq));
        (1..100).for_each(|seq| put(index, 7 * seq));
        (2_000..2_500).for_each(|seq| put(index, seq));
        (3_000..3_800).for_each(|seq| assert!(index.remove(seq)));
        index.sight("file-9", None, Some("hash-0"), RECORDS + 4_000);
    }
    assert_eq!(mapped.len(), original.len());
    assert_eq!(answers(&mapped), answers(&original));
    let (_, again) = WorkspaceIndex::from_snapshot_file(Model::shipped(), &file).unwrap();
    assert_eq!(answers(&again), answers(&index()), "the file is as it was");
    let (_, second) = WorkspaceIndex::from_snapshot_file(Model::shipped(), &file_of(&mapped)).unwrap();
    assert_eq!(answers(&second), answers(&original), "a changed one can be written again");
    assert!(second.size_bytes() < original.size_bytes() * 5 / 4);
}

#[test]
fn a_damaged_file_is_refused() {
    let file = file_of(&index());
    let size = file.metadata().unwrap().len();
    let (mut refused, mut doubted, mut unused) = (0, 0, 0);
    for at in (0..size).step_by(size as usize / 400) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x55], at).unwrap();
        match WorkspaceIndex::from_snapshot_file(Model::shipped(), &file) {
            Err(_) => refused += 1,
            Ok(_) if !WorkspaceIndex::is_sound_file(Model::shipped(), &file) => doubted += 1,
            Ok(_) => unused += 1,
        }
        file.write_all_at(&byte, at).unwrap();
    }
    assert!(WorkspaceIndex::is_sound_file(Model::shipped(), &file), "it is whole again");
    assert!(refused > 100 && doubted > 100, "{refused} refused, {doubted} found later");
    assert!(unused < 60, "an eighth is room to spare, and {unused} of 400 places were not missed");
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let file = file_of(&index());
    let size = file.metadata().unwrap().len();
    for len in [0, 10, 100, 5_000, size / 2, size - 4096, size - 1] {
        file.set_len(len).unwrap();
        let refused = WorkspaceIndex::from_snapshot_file(Model::shipped(), &file).err();
        assert!(matches!(refused, Some(SnapshotError::NotASnapshot | SnapshotError::Damaged)), "{len}: {refused:?}");
    }
}

#[test]
fn a_record_that_is_gone_leaves_no_word_in_a_snapshot() {
    let mut index = index();
    let gone = RECORDS + 50;
    index.add(NewDoc {
        source_id: Some("source-Quagga"),
        source_hash: Some("hash-Quagga"),
        fact_key: Some("key-Quagga"),
        audience: AudienceNo(1),
        counted: false,
        ..NewDoc::new(gone, "the Quagga was seen checking boilers, and Quaggas often are")
    });
    index.sight("source-Quagga", Some(AudienceNo(1)), Some("later-Quagga"), gone);
    let has_quagga = |index: &WorkspaceIndex| {
        let bytes = index.to_snapshot(b"").to_bytes().to_ascii_lowercase();
        bytes.windows(6).any(|window| window == b"quagga")
    };
    assert!(has_quagga(&index));
    assert!(index.remove(gone));
    assert!(!has_quagga(&index));
    let (_, mut read) = WorkspaceIndex::from_snapshot_file(Model::shipped(), &file_of(&index)).unwrap();
    assert_eq!(answers(&read), answers(&index));
    // The word can come back.
    for index in [&mut index, &mut read] {
        index.add(NewDoc::new(gone + 1, "a Quagga again"));
        let hits = index.search(&SearchRequest::new("quaggas", 5));
        assert_eq!(hits[0].seq, gone + 1);
    }
    assert!(has_quagga(&read));
}
