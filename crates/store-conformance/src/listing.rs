//! Stories of looking at what a project holds.

use mnemon_core::{Audience, FactKey, NewRecord, Role, Seq};
use mnemon_store::{Listed, Portion, RecordFilter, Seen, Size, Stretch};

use super::{House, MakeEngine, at, with_fact, workspace};

async fn list(house: &House, filter: &RecordFilter, rows_max: usize) -> Vec<Listed> {
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let page = house.store.list_records(house.project, filter.clone(), before, Portion::of_rows(rows_max)).await;
        let page = page.expect("storage works");
        assert!(page.len() <= rows_max);
        let Some(last) = page.last() else { return all };
        before = Some(last.record.seq);
        all.extend(page);
    }
}

/// Every filter, by pages of any size, leads to exactly the records it means, newest first.
pub async fn records_are_listed_newest_first(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut kept: Vec<(NewRecord, Seq, bool)> = Vec::new();
    for n in 0..40_usize {
        let given = NewRecord {
            workspace: workspace(["default", "team", "over"][n % 3]),
            ..with_fact(house.record(&format!("fact {n}")), |fact| {
                fact.source_id = (n % 4 == 0).then(|| format!("page {}", n % 8));
            })
        };
        let seq = house.save(given.clone()).await;
        kept.push((given, seq, n % 5 == 0));
    }
    let forgotten: Vec<Seq> = kept.iter().filter(|(_, _, is_forgotten)| *is_forgotten).map(|kept| kept.1).collect();
    house.forget(&forgotten, 20).await;
    house.delete_workspace("over", 21).await;
    for is_forgotten in [false, true] {
        for name in [None, Some("default"), Some("team"), Some("over"), Some("never")] {
            for source in [None, Some("page 0"), Some("page 4"), Some("page 9")] {
                let filter = RecordFilter {
                    workspace: name.map(workspace),
                    source_id: source.map(str::to_owned),
                    is_forgotten,
                    ..RecordFilter::default()
                };
                let fits = |(given, _, is_kept_forgotten): &&(NewRecord, Seq, bool)| {
                    (*is_kept_forgotten || given.workspace.as_str() == "over") == is_forgotten
                        && name.is_none_or(|name| given.workspace.as_str() == name)
                        && source.is_none_or(|source| given.fact.source_id.as_deref() == Some(source))
                };
                let expected: Vec<Seq> = kept.iter().rev().filter(fits).map(|kept| kept.1).collect();
                for rows_max in [1, 3, 100] {
                    let listed = list(&house, &filter, rows_max).await;
                    assert_eq!(listed.iter().map(|row| row.record.seq).collect::<Vec<_>>(), expected, "{filter:?}");
                    let gone_at = |seq: Seq| if forgotten.contains(&seq) { at(20) } else { at(21) };
                    let moment = |row: &Listed| is_forgotten.then(|| gone_at(row.record.seq));
                    assert!(listed.iter().all(|row| row.forgotten_at == moment(row)));
                }
            }
        }
    }
    let listed = list(&house, &RecordFilter::default(), 100).await;
    assert_eq!(Some(listed[0].record.clone()), house.load(listed[0].record.seq).await, "a listed record is whole");
}

/// Each way to narrow a list, alone and with every other, leads to exactly the records it means.
pub async fn lists_are_narrowed_in_every_way(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let mut kept: Vec<(NewRecord, Seq)> = Vec::new();
    for n in 0..48_usize {
        let own = house.record(&format!("fact {n}"));
        let key = if n % 5 < 2 { FactKey::given("k").expect("a key") } else { own.fact_key.clone() };
        let given = NewRecord {
            workspace: workspace(["default", "team"][n % 2]),
            audience: if n % 3 == 0 { Audience::Author(ben) } else { Audience::Shared },
            author: if n % 4 == 0 { ben } else { house.ana },
            fact_key: key,
            ..with_fact(own, |fact| {
                fact.source_id = (n % 7 < 4).then(|| "page".to_owned());
                fact.source_hash = (n % 7 < 3).then(|| format!("h{}", n / 2 % 2));
            })
        };
        kept.push((given.clone(), house.save(given).await));
    }
    house.observe(Some("team"), "page", Seen::Hash("h1".to_owned()), 20).await;
    let forgotten: Vec<Seq> = kept.iter().map(|kept| kept.1).filter(|seq| seq.0 % 6 == 0).collect();
    house.forget(&forgotten, 21).await;
    let among: Vec<Seq> = kept.iter().map(|kept| kept.1).filter(|seq| seq.0 % 4 < 3).chain([Seq(10_000)]).collect();
    let base = RecordFilter::default();
    for code in 0..2 * 3 * 3 * 2 * 3 * 3 * 2_usize {
        let mut left = code;
        let mut choose = |of: usize| {
            let chosen = left % of;
            left /= of;
            chosen
        };
        let filter = RecordFilter {
            is_forgotten: choose(2) == 1,
            audiences: [None, Some(vec![Audience::Shared]), Some(vec![Audience::Author(ben)])][choose(3)].clone(),
            authors: [None, Some(vec![ben]), Some(vec![ben, house.ana])][choose(3)].clone(),
            fact_key: [None, Some("k".to_owned())][choose(2)].clone(),
            has_source: [None, Some(true), Some(false)][choose(3)],
            is_confirmed: [None, Some(true), Some(false)][choose(3)],
            among: [None, Some(among.clone())][choose(2)].clone(),
            ..base.clone()
        };
        let fits = |(given, seq): &&(NewRecord, Seq)| {
            let fact = &given.fact;
            let is_confirmed = given.workspace == workspace("team") && fact.source_hash.as_deref() == Some("h1");
            forgotten.contains(seq) == filter.is_forgotten
                && filter.audiences.as_ref().is_none_or(|all| all.contains(&given.audience))
                && filter.authors.as_ref().is_none_or(|all| all.contains(&given.author))
                && filter.fact_key.as_deref().is_none_or(|key| given.fact_key.chosen() == Some(key))
                && filter.has_source.is_none_or(|has| fact.source_id.is_some() == has)
                && filter.is_confirmed.is_none_or(|wanted| is_confirmed == wanted)
                && filter.among.as_ref().is_none_or(|all| all.contains(seq))
        };
        let expected: Vec<Seq> = kept.iter().rev().filter(fits).map(|kept| kept.1).collect();
        let listed = list(&house, &filter, 7).await;
        assert_eq!(listed.iter().map(|row| row.record.seq).collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

/// A record is found alive, forgotten, and ended with its workspace.
pub async fn any_record_is_found_alive_or_not(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = house.record("a fact");
    let find = async || house.store.find_any(house.project, given.id).await.expect("storage works");
    assert_eq!(find().await, None);
    let seq = house.save(given.clone()).await;
    let alive = house.load(seq).await.expect("alive");
    assert_eq!(find().await, Some(Listed { record: alive.clone(), forgotten_at: None, superseded_by: None }));
    house.forget(&[seq], 20).await;
    assert_eq!(find().await, Some(Listed { record: alive, forgotten_at: Some(at(20)), superseded_by: None }));
    house.delete_workspace("default", 30).await;
    assert_eq!(find().await.map(|listed| listed.forgotten_at), Some(Some(at(20))));
    let (seq, other) = (house.save_text("another").await, house.last_seq().await);
    assert_eq!(seq, other);
    let id = house.load(seq).await.expect("alive").id;
    house.delete_workspace("default", 31).await;
    let found = house.store.find_any(house.project, id).await.expect("storage works");
    assert_eq!(found.map(|listed| listed.forgotten_at), Some(Some(at(31))));
}

/// Workspaces come by name with their audiences, and sizes count living text by audience, in bytes.
pub async fn workspaces_and_sizes_are_told_by_audience(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert_eq!(house.store.list_workspaces(house.project).await, Ok(Vec::new()));
    assert_eq!(house.store.list_sizes(house.project).await, Ok(Vec::new()));
    let ben = house.add_member("Ben", Role::Member, None).await;
    let draft = Audience::Author(ben);
    let save = async |name: &str, audience, text: &str| {
        house.save_numbered(NewRecord { workspace: workspace(name), audience, ..house.record(text) }).await
    };
    let (_, team) = save("team", Audience::Shared, "vier").await;
    save("team", Audience::Shared, "größe").await;
    save("team", draft, "x").await;
    let (gone, _) = save("team", draft, "forgotten").await;
    let (first, default) = save("default", draft, &"ж".repeat(8_000)).await;
    save("over", Audience::Shared, "of a workspace that ends").await;
    house.forget(&[gone], 20).await;
    house.delete_workspace("over", 21).await;
    let rows = house.store.list_workspaces(house.project).await.expect("storage works");
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.no, row.created_at)).collect();
    assert_eq!(told, [("default", default, at(10)), ("team", team, at(10))]);
    assert_eq!(rows[0].audiences, [draft]);
    assert_eq!(rows[1].audiences, [Audience::Shared, draft]);
    let size = |audience, records, bytes| Size { audience, records, bytes };
    let expected = vec![size(Audience::Shared, 2, 4 + 7), size(draft, 2, 1 + 16_000)];
    assert_eq!(house.store.list_sizes(house.project).await, Ok(expected));
    house.forget(&[first], 22).await;
    let rows = house.store.list_workspaces(house.project).await.expect("storage works");
    assert_eq!(rows[0].audiences, [draft], "it outlives its records");
}

/// Stretches of any size, one after the other, lead to the living records that an audience sees, oldest first.
pub async fn records_are_read_onward(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let draft = Audience::Author(house.ana);
    let mut kept: Vec<(NewRecord, Seq)> = Vec::new();
    for n in 0..30_usize {
        let audience = if n % 4 == 0 { draft } else { Audience::Shared };
        let given = NewRecord {
            audience,
            workspace: workspace(["default", "team", "over"][n % 3]),
            ..house.record(&format!("fact {n}"))
        };
        let seq = house.save(given.clone()).await;
        kept.push((given, seq));
    }
    let upto = kept[24].1;
    house.forget(&[kept[1].1, kept[7].1], 20).await;
    house.delete_workspace("over", 21).await;
    for audiences in [vec![Audience::Shared], vec![Audience::Shared, draft], vec![draft], vec![]] {
        for name in [None, Some("team"), Some("over"), Some("never")] {
            let fits = |(given, seq): &&(NewRecord, Seq)| {
                audiences.contains(&given.audience)
                    && given.workspace.as_str() != "over"
                    && name.is_none_or(|name| given.workspace.as_str() == name)
                    && *seq <= upto
                    && ![kept[1].1, kept[7].1].contains(seq)
            };
            let expected: Vec<Seq> = kept.iter().filter(fits).map(|kept| kept.1).collect();
            for rows_max in [1, 4, 100] {
                let mut stretch =
                    Stretch { audiences: audiences.clone(), workspace: name.map(workspace), after: Seq(0), upto };
                let mut found = Vec::new();
                loop {
                    let piece =
                        house.store.list_onward(house.project, stretch.clone(), Portion::of_rows(rows_max)).await;
                    let piece = piece.expect("storage works");
                    assert!(piece.len() <= rows_max);
                    let Some(last) = piece.last() else { break };
                    stretch.after = last.seq;
                    found.extend(piece.iter().map(|record| record.seq));
                }
                assert_eq!(found, expected, "{stretch:?}");
            }
        }
    }
}

/// A portion ends with the record that fills its bytes, however many rows it may have, and the next one goes on from
/// there.
pub async fn a_portion_ends_with_its_bytes(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (mut sizes, mut texts) = (Vec::new(), Vec::new());
    for n in 0..20_usize {
        let text = format!("fact {n} {}", "☃".repeat(n * 10));
        let given = with_fact(house.record(&text), |fact| {
            fact.source = (n % 2 == 0).then(|| "s".repeat(50));
            fact.source_id = (n % 3 == 0).then(|| "page ☃".to_owned());
            fact.source_hash = (n % 3 == 0).then(|| format!("hash{n}"));
            fact.source_revision = (n % 4 == 0).then(|| "revision".to_owned());
        });
        house.save(given).await;
        texts.push(text);
    }
    let upto = house.store.last_seq(house.project).await.expect("storage works").expect("there are records");
    for bytes_max in [1, 100, 1_000, 5_000, usize::MAX] {
        for rows_max in [1, 3, 100] {
            let portion = Portion { rows_max, bytes_max };
            let (mut stretch, mut found) =
                (Stretch { audiences: vec![Audience::Shared], workspace: None, after: Seq(0), upto }, Vec::new());
            loop {
                let piece = house.store.list_onward(house.project, stretch.clone(), portion).await;
                let piece = piece.expect("storage works");
                let Some(last) = piece.last() else { break };
                stretch.after = last.seq;
                let is_filled = portion.is_filled_by(&piece);
                assert!(is_filled || found.len() + piece.len() == texts.len(), "less only at the end");
                assert!(!portion.is_filled_by(&piece[..piece.len() - 1]), "{portion:?}: {} rows", piece.len());
                found.extend(piece);
            }
            assert_eq!(
                found.iter().map(|record| &record.fact.content).collect::<Vec<_>>(),
                texts.iter().collect::<Vec<_>>()
            );
            sizes = found.iter().map(mnemon_core::Record::text_bytes).collect();
            let mut listed = Vec::new();
            loop {
                let before = listed.last().map(|listed: &Listed| listed.record.seq);
                let page = house.store.list_records(house.project, RecordFilter::default(), before, portion).await;
                let page = page.expect("storage works");
                if page.is_empty() {
                    break;
                }
                let records = || page.iter().map(|listed| &listed.record);
                assert!(portion.is_filled_by(records()) || listed.len() + page.len() == texts.len());
                assert!(!portion.is_filled_by(records().take(page.len() - 1)), "{portion:?}: {} rows", page.len());
                listed.extend(page);
            }
            assert!(listed.iter().rev().map(|listed| &listed.record).eq(found.iter()), "{portion:?}");
        }
    }
    assert!(sizes.iter().any(|bytes| *bytes > 500) && sizes.iter().any(|bytes| *bytes < 100), "{sizes:?}");
}
