//! A record that was damaged past the store. An engine's own tests say how; what must follow is the same for all.

use mnemon_core::{NewRecord, Seq};
use mnemon_store::{Change, Portion, RecordFilter, Stretch};

use super::House;

/// Damages one of seven records, by its position: it is missing from every answer and counted once, and the others are
/// there. Pages stay full: readers take a short page for the last one.
pub async fn check_that_a_damaged_record_is_left_out(house: &House, damage: impl AsyncFnOnce(Seq)) {
    let (mut seqs, mut numbers) = (Vec::new(), Vec::new());
    for n in 0..7 {
        let text = format!("boiler {n} stands in the cellar");
        let (seq, no) = house.save_numbered(NewRecord { embedding: vec![n; 3], ..house.record(&text) }).await;
        seqs.push(seq);
        numbers.push(no);
    }
    let lost = house.load(seqs[3]).await.expect("it is whole");
    damage(seqs[3]).await;
    let sound: Vec<Seq> = seqs.iter().copied().filter(|seq| *seq != seqs[3]).collect();
    let (store, project) = (&house.store, house.project);
    let loaded = store.load(project, &seqs).await.expect("the others can be read");
    assert_eq!(loaded.iter().map(|record| record.seq).collect::<Vec<_>>(), sound);
    assert_eq!(store.figures().damaged_records, 1);
    assert_eq!(store.find(project, lost.id).await, Ok(None));
    assert!(store.find_any(project, lost.id).await.expect("it is no error").is_none());
    let tail = store.tail(project, numbers[0], Seq(0), 100).await.expect("an index can be built");
    let present = |change: &Change| matches!(change, Change::Present(_)).then_some(change.seq());
    assert_eq!(tail.changes.iter().filter_map(present).collect::<Vec<_>>(), sound);
    for rows_max in 1..8 {
        let (mut listed, mut before) = (Vec::new(), None);
        let filter = RecordFilter::default();
        loop {
            let page =
                store.list_records(project, filter.clone(), before, Portion::of_rows(rows_max)).await.expect("a page");
            let is_end = page.len() < rows_max;
            before = page.last().map(|row| row.record.seq);
            listed.extend(page.into_iter().map(|row| row.record.seq));
            if is_end {
                break;
            }
        }
        assert_eq!(listed, sound.iter().copied().rev().collect::<Vec<_>>(), "by {rows_max}");
        let audiences = vec![lost.audience];
        let upto = house.last_seq().await;
        let (mut stretch, mut onward) = (Stretch { audiences, workspace: None, after: Seq(0), upto }, Vec::new());
        loop {
            let page = store.list_onward(project, stretch.clone(), Portion::of_rows(rows_max)).await.expect("a page");
            let Some(last) = page.last() else { break };
            stretch.after = last.seq;
            onward.extend(page.into_iter().map(|record| record.seq));
        }
        assert_eq!(onward, sound, "by {rows_max}");
    }
    assert_eq!(store.figures().damaged_records, 1, "however often it was met");
}
