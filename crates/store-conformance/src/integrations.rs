//! Stories of integrations: kept, pinned, sealed, and each project's own.

use mnemon_core::ProjectId;
use mnemon_store::{
    AuditEntry, IntegrationRow, ProjectIntegrations, Resealed, SavedIntegration, Sealed, SeenTool, UpstreamAddress,
};

use super::{House, MakeEngine, at, audit};

fn saved(house: &House, name: &str, second: i64) -> SavedIntegration {
    SavedIntegration {
        project: house.project,
        name: name.to_owned(),
        title: "Code host".to_owned(),
        preset: None,
        address: UpstreamAddress::Url("https://example.com/mcp".to_owned()),
        sealed: Some(vec![1, 0, 255]),
        allow: vec!["read".to_owned(), "get_*".to_owned()],
        is_enabled: true,
        at: at(second),
    }
}

fn seen(name: &str, version: u8) -> SeenTool {
    let definition = format!(r#"{{"name":"{name}","description":"v{version}"}}"#);
    SeenTool { name: name.to_owned(), definition, hash: [version; 32], refused_text: (version == 9).then_some([7; 32]) }
}

fn line(house: &House, action: &'static str) -> AuditEntry {
    audit(house.account, 50, action)
}

async fn save(house: &House, integration: SavedIntegration) {
    assert_eq!(house.store.save_integration(integration, line(house, "integration.save")).await, Ok(true));
}

async fn list(house: &House) -> ProjectIntegrations {
    house.store.list_integrations(house.project).await.expect("storage works")
}

async fn only(house: &House) -> IntegrationRow {
    let mut rows = list(house).await.rows;
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

async fn count_audit(house: &House, action: &str) -> usize {
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    rows.iter().filter(|(line, _)| line.action == action).count()
}

/// An integration comes back as it was saved; a change keeps its tools and raises its revision; removing takes all of
/// it.
pub async fn an_integration_is_kept_changed_and_removed(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert_eq!(list(&house).await, ProjectIntegrations::default());
    save(&house, saved(&house, "host", 10)).await;
    let expected = IntegrationRow {
        name: "host".to_owned(),
        title: "Code host".to_owned(),
        preset: None,
        address: UpstreamAddress::Url("https://example.com/mcp".to_owned()),
        sealed: Some(vec![1, 0, 255]),
        allow: vec!["read".to_owned(), "get_*".to_owned()],
        is_enabled: true,
        revision: 1,
        created_at: at(10),
        updated_at: at(10),
        seen_at: None,
        tools: Vec::new(),
    };
    assert_eq!(only(&house).await, expected);
    assert_eq!(house.store.save_tools(house.project, "host", 1, vec![seen("read", 1)], at(11)).await, Ok(true));
    let changed = SavedIntegration {
        title: "Other".to_owned(),
        preset: Some("github".to_owned()),
        address: UpstreamAddress::Command("git".to_owned()),
        sealed: None,
        allow: Vec::new(),
        is_enabled: false,
        ..saved(&house, "host", 20)
    };
    save(&house, changed).await;
    let row = only(&house).await;
    assert_eq!((row.revision, row.created_at, row.updated_at, row.seen_at), (2, at(10), at(20), Some(at(11))));
    assert_eq!((row.title.as_str(), row.preset.as_deref(), row.sealed.as_ref()), ("Other", Some("github"), None));
    assert_eq!(row.address, UpstreamAddress::Command("git".to_owned()));
    assert_eq!((row.allow.len(), row.is_enabled, row.tools.len()), (0, false, 1));
    save(&house, saved(&house, "another", 30)).await;
    assert_eq!(list(&house).await.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["another", "host"]);
    let remove = async |name| house.store.delete_integration(house.project, name, line(&house, "x.delete")).await;
    assert_eq!((remove("host").await, remove("host").await, remove("never").await), (Ok(true), Ok(false), Ok(false)));
    assert_eq!(count_audit(&house, "x.delete").await, 1);
    save(&house, saved(&house, "host", 40)).await;
    let row = list(&house).await.rows.remove(1);
    assert_eq!((row.revision, row.seen_at, row.tools.len()), (1, None, 0), "nothing of the old one is left");
    assert_eq!(count_audit(&house, "integration.save").await, 4);
}

/// What an upstream offers at first is pinned; what comes or changes later is not; what goes keeps its pin.
pub async fn the_first_look_pins_and_later_ones_do_not(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    save(&house, saved(&house, "host", 10)).await;
    let look = async |revision, tools| house.store.save_tools(house.project, "host", revision, tools, at(60)).await;
    assert_eq!(look(2, vec![seen("read", 1)]).await, Ok(false), "another revision");
    assert_eq!(only(&house).await.seen_at, None);
    assert_eq!(look(1, vec![seen("read", 1), seen("list", 2)]).await, Ok(true));
    let state = async || {
        let row = only(&house).await;
        let state = |tool: &mnemon_store::ToolRow| {
            (tool.seen.name.clone(), tool.seen.hash[0], tool.accepted_hash.map(|hash| hash[0]), tool.is_present)
        };
        row.tools.iter().map(state).collect::<Vec<_>>()
    };
    let (list, read) = ("list".to_owned(), "read".to_owned());
    assert_eq!(state().await, [(list.clone(), 2, Some(2), true), (read.clone(), 1, Some(1), true)]);
    assert_eq!(look(1, vec![seen("read", 9), seen("new", 4)]).await, Ok(true));
    let new = "new".to_owned();
    let expected = [(list.clone(), 2, Some(2), false), (new.clone(), 4, None, true), (read.clone(), 9, Some(1), true)];
    assert_eq!(state().await, expected);
    let row = only(&house).await;
    assert_eq!((&row.tools[2].seen, row.seen_at), (&seen("read", 9), Some(at(60))));
    assert_eq!(look(1, vec![seen("list", 5)]).await, Ok(true));
    let expected = [(list, 5, Some(2), true), (new, 4, None, false), (read, 9, Some(1), false)];
    assert_eq!(state().await, expected, "what comes back changed is not taken for what was pinned");
}

/// Accepting pins what was seen, by its hash; what has changed in between, is gone or was never there is not accepted.
pub async fn tools_are_accepted_by_the_hash_that_was_seen(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    save(&house, saved(&house, "host", 10)).await;
    let look = async |tools| house.store.save_tools(house.project, "host", 1, tools, at(60)).await.expect("works");
    look(vec![seen("read", 1), seen("gone", 1)]).await;
    look(vec![seen("read", 2), seen("new", 3)]).await;
    let accept = async |name: &str, tool: &str, version: u8| {
        let tools = vec![(tool.to_owned(), [version; 32])];
        house.store.accept_tools(house.project, name, tools, line(&house, "integration.accept")).await
    };
    assert_eq!(accept("host", "read", 1).await, Ok(0), "that is how it was");
    assert_eq!(accept("host", "gone", 1).await, Ok(0));
    assert_eq!(accept("host", "never", 1).await, Ok(0));
    assert_eq!(accept("other", "read", 2).await, Ok(0));
    assert_eq!(count_audit(&house, "integration.accept").await, 0, "what did not happen leaves no row");
    assert_eq!(accept("host", "read", 2).await, Ok(1));
    assert_eq!(accept("host", "new", 3).await, Ok(1));
    let row = only(&house).await;
    let pins: Vec<_> = row.tools.iter().map(|tool| tool.accepted_hash.map(|hash| hash[0])).collect();
    assert_eq!(pins, [Some(1), Some(3), Some(2)]);
    assert_eq!(count_audit(&house, "integration.accept").await, 2);
}

/// What one project has, no other finds or touches; with a project go its integrations.
pub async fn integrations_are_their_projects_alone(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let sibling = House { project: house.add_project().await, ..house.clone() };
    let stranger = House::build(&engine.store).await;
    save(&house, saved(&house, "host", 10)).await;
    house.store.save_tools(house.project, "host", 1, vec![seen("read", 1)], at(60)).await.expect("storage works");
    let names = async |house: &House, style| {
        house.store.set_tool_names(house.project, style, line(house, "project.tool_names")).await
    };
    assert_eq!(names(&house, "underscores").await, Ok(true));
    assert_eq!(names(&house, "dots").await, Ok(true));
    let before = list(&house).await;
    assert_eq!(before.tool_names.as_deref(), Some("dots"));
    for other in [&sibling, &stranger] {
        assert_eq!(list(other).await, ProjectIntegrations::default());
        let (store, project) = (&other.store, other.project);
        assert_eq!(store.delete_integration(project, "host", line(other, "story")).await, Ok(false));
        assert_eq!(store.save_tools(project, "host", 1, vec![seen("read", 9)], at(70)).await, Ok(false));
        let tools = vec![("read".to_owned(), [1; 32])];
        assert_eq!(store.accept_tools(project, "host", tools, line(other, "story")).await, Ok(0));
        save(other, SavedIntegration { sealed: None, ..saved(other, "host", 80) }).await;
        assert_eq!(names(other, "underscores").await, Ok(true));
    }
    assert_eq!(list(&house).await, before);
    let nowhere = House { project: ProjectId::from_bytes([9; 16]), ..house.clone() };
    let audit_line = || line(&house, "story");
    assert_eq!(house.store.save_integration(saved(&nowhere, "host", 10), audit_line()).await, Ok(false));
    assert_eq!(names(&nowhere, "dots").await, Ok(false));
    assert_eq!(count_audit(&house, "story").await, 0);
    house.store.delete_project(house.account, house.project, audit_line()).await.expect("storage works");
    assert_eq!(list(&house).await, ProjectIntegrations::default());
    assert_eq!(house.store.list_all_sealed().await, Ok(Vec::new()), "with a project go its credentials");
    assert_eq!(list(&sibling).await.rows.len(), 1);
}

/// Sealed credentials are listed with their account and replaced where they are still the same.
pub async fn credentials_are_resealed_together(make: MakeEngine) {
    let engine = make().await;
    let (house, other) = (House::build(&engine.store).await, House::build(&engine.store).await);
    save(&house, saved(&house, "host", 10)).await;
    save(&house, SavedIntegration { sealed: None, ..saved(&house, "open", 10) }).await;
    save(&other, SavedIntegration { sealed: Some(vec![2]), ..saved(&other, "host", 10) }).await;
    let sealed = |house: &House, bytes: &[u8]| Sealed {
        account: house.account,
        project: house.project,
        name: "host".to_owned(),
        sealed: bytes.to_vec(),
    };
    let mut all = house.store.list_all_sealed().await.expect("storage works");
    all.sort_by_key(|row| row.sealed.clone());
    assert_eq!(all, [sealed(&house, &[1, 0, 255]), sealed(&other, &[2])]);
    let rows = vec![
        Resealed { old: sealed(&house, &[1, 0, 255]), sealed: vec![3] },
        Resealed { old: sealed(&other, b"changed since"), sealed: vec![4] },
    ];
    let lines = vec![line(&house, "integration.reseal"), line(&other, "integration.reseal")];
    assert_eq!(house.store.replace_sealed(rows, lines).await, Ok(1));
    let rows = list(&house).await.rows;
    assert_eq!((rows[0].sealed.as_deref(), rows[0].revision), (Some(&[3][..]), 2));
    assert_eq!(only(&other).await.sealed.as_deref(), Some(&[2][..]));
    assert_eq!(
        (count_audit(&house, "integration.reseal").await, count_audit(&other, "integration.reseal").await),
        (1, 1)
    );
}
