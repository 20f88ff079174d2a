//! Whose rows a statement is about. SQLite has each statement name them; PostgreSQL shows a transaction no others.

use mnemon_core::{AccountId, ConnectionId, CredentialHash, KeyId, ProjectId, to_hex};
use uuid::Uuid;

/// Whose rows a transaction may touch. None by default.
#[derive(Debug, Clone, Default)]
pub struct Tenant {
    pub(crate) project: String,
    pub(crate) account: String,
    pub(crate) credential: String,
    pub(crate) key: String,
    /// Several projects, in hexadecimal.
    pub(crate) projects: String,
    pub(crate) pass: &'static str,
    /// Whether the account of the project is opened too, by the project's own row.
    pub(crate) has_people: bool,
}

impl Tenant {
    /// One project's memory.
    pub(crate) fn project(id: ProjectId) -> Self {
        Self { project: id.to_string(), ..Self::default() }
    }

    /// One project's memory, and the people of its account.
    pub(crate) fn project_and_people(id: ProjectId) -> Self {
        Self { has_people: true, ..Self::project(id) }
    }

    /// The memory of several projects, for saves that are stored together and searches that read together. Of one
    /// project everything is open that [`Self::project`] opens.
    pub(crate) fn projects(projects: &[Uuid]) -> Self {
        let ids: Vec<u8> = projects.iter().flat_map(|id| *id.as_bytes()).collect();
        let project = if let [id] = projects { id.to_string() } else { String::new() };
        Self { projects: to_hex(&ids), project, ..Self::default() }
    }

    /// One account: its people, its projects, its keys and its audit log, and no memory.
    pub(crate) fn account(id: AccountId) -> Self {
        Self { account: id.to_string(), ..Self::default() }
    }

    /// An account that may be the first: it also sees whether there are others.
    pub(crate) fn new_account(id: AccountId) -> Self {
        Self { pass: "upkeep", ..Self::account(id) }
    }

    /// One project's memory, for an act that the account's audit log records.
    pub(crate) fn project_of(project: ProjectId, account: AccountId) -> Self {
        Self { project: project.to_string(), account: account.to_string(), ..Self::default() }
    }

    /// One key, by its secret.
    pub(crate) fn credential(hash: &CredentialHash) -> Self {
        Self { credential: to_hex(hash.as_bytes()), ..Self::default() }
    }

    /// One key, by its id.
    pub(crate) fn key(id: KeyId) -> Self {
        Self { key: id.to_string(), ..Self::default() }
    }

    /// One connection, by its id.
    pub(crate) fn connection(id: ConnectionId) -> Self {
        Self { key: id.to_string(), ..Self::default() }
    }

    /// What belongs to no tenant: the operator token, the heartbeat.
    pub(crate) fn nobody() -> Self {
        Self::default()
    }

    /// The lists of all accounts and projects, for maintenance and the operator. It opens no memory.
    pub(crate) fn for_upkeep() -> Self {
        Self { pass: "upkeep", ..Self::default() }
    }
}
