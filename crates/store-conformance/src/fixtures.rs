//! What the stories are made of: fixed ids and moments, an account with people in it, and saves in one line.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::SignedDuration;
use mnemon_core::{
    Access, Account, AccountId, Audience, AuditId, CredentialHash, Department, DepartmentId, Fact, FactKey, KeyId,
    Member, MemberId, NewRecord, PlanName, Project, ProjectId, Record, RecordId, Role, Seq, Subscription, Timestamp,
    WorkspaceName, WorkspaceNo,
};
use mnemon_store::{
    Actor, AuditEntry, Idempotency, Insert, Inserted, KeptImage, Look, NewKey, Observation, RestoredWorkspace, Seen,
    Snapshot, SnapshotImage, Store,
};
use uuid::Uuid;

/// An engine under test. `drop` lets go of whatever it stands on.
pub struct Engine {
    pub store: Arc<dyn Store>,
    /// What has to live as long as the store: a directory, a database.
    pub ground: Box<dyn Send + Sync>,
}

/// Makes an empty engine.
pub type MakeEngine = fn() -> Pin<Box<dyn Future<Output = Engine> + Send>>;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An id that nothing else in this process has.
pub(super) fn fresh_uuid() -> Uuid {
    let n = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    Uuid::from_u128((0x0190_0000_0000_7000_8000_0000_0000_0000 & !0xffff_ffff_ffff) | u128::from(n))
}

/// The record with another fact in it.
pub fn with_fact(mut record: NewRecord, change: impl FnOnce(&mut Fact)) -> NewRecord {
    change(&mut record.fact);
    record
}

/// A moment, in seconds after the stories begin.
pub fn at(second: i64) -> Timestamp {
    at_micro(second * 1_000_000)
}

/// A moment, in microseconds after the stories begin.
pub fn at_micro(micro: i64) -> Timestamp {
    let start = Timestamp::from_second(1_800_000_000).expect("within the calendar");
    start + SignedDuration::from_micros(micro)
}

/// Any bytes serve as an index.
struct AnyImage(Vec<u8>);

impl SnapshotImage for AnyImage {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn write_to(&self, mut file: &File) -> io::Result<()> {
        file.write_all(&self.0)
    }

    fn size_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Saves a snapshot.
pub async fn save_snapshot(house: &House, workspace: WorkspaceNo, seq: Seq, bytes: Vec<u8>) {
    let image: Arc<dyn SnapshotImage> = Arc::new(AnyImage(bytes));
    let snapshot = Snapshot { workspace, seq, image };
    house.store.save_snapshot(house.project, snapshot).await.expect("storage works");
}

/// How far the snapshot of a workspace goes, and its bytes.
pub async fn find_snapshot(house: &House, workspace: WorkspaceNo) -> Option<(Seq, Vec<u8>)> {
    let found = house.store.find_snapshot(house.project, workspace).await.expect("storage works")?;
    let bytes = match found.image {
        KeptImage::Bytes(bytes) => bytes,
        KeptImage::File(mut file) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("the file can be read");
            bytes
        }
    };
    Some((found.seq, bytes))
}

/// A checked workspace name.
pub fn workspace(name: &str) -> WorkspaceName {
    WorkspaceName::parse(name).expect("a story names its workspaces well")
}

/// An audit line of an account.
pub fn audit(account: AccountId, second: i64, action: &'static str) -> AuditEntry {
    AuditEntry {
        id: AuditId::new(fresh_uuid()),
        account,
        project: None,
        at: at(second),
        actor: Actor::Service,
        action: action.into(),
        subject: "a story".to_owned(),
        actor_name: None,
        subject_name: None,
        key: None,
    }
}

/// An account with a project and a member, and ways to do things in it.
#[derive(Clone)]
pub struct House {
    /// The engine.
    pub store: Arc<dyn Store>,
    pub account: AccountId,
    /// Its first project.
    pub project: ProjectId,
    /// Its first member, an admin called Ana.
    pub ana: MemberId,
    /// The hash of Ana's key.
    pub key_hash: CredentialHash,
    /// The id of Ana's key.
    pub key: KeyId,
}

impl House {
    /// Builds the account in a store.
    pub async fn build(store: &Arc<dyn Store>) -> Self {
        let account = Account {
            id: AccountId::new(fresh_uuid()),
            name: "House".to_owned(),
            subscription: Subscription { plan: Some(PlanName::Unlimited), paid_until: None, is_suspended: false },
            created_at: at(0),
        };
        let project =
            Project { id: ProjectId::new(fresh_uuid()), account: account.id, name: "First".into(), created_at: at(0) };
        let ana = new_member(account.id, "Ana", Role::Admin, None);
        let key = new_key(project.id, ana.id);
        let house = Self {
            store: Arc::clone(store),
            account: account.id,
            project: project.id,
            ana: ana.id,
            key_hash: key.hash,
            key: key.id,
        };
        let lines = vec![audit(account.id, 0, "account.create"), audit(account.id, 0, "key.create")];
        store.insert_first(account, project, ana, key, lines, false).await.expect("an account can be made");
        house
    }

    /// One more project of the account.
    pub async fn add_project(&self) -> ProjectId {
        let id = ProjectId::new(fresh_uuid());
        let project = Project { id, account: self.account, name: "Other".to_owned(), created_at: at(0) };
        self.store.insert_project(project, audit(self.account, 0, "project.create")).await.expect("a project");
        id
    }

    /// One more department.
    pub async fn add_department(&self, name: &str, parent: Option<DepartmentId>) -> DepartmentId {
        let id = DepartmentId::new(fresh_uuid());
        let department = Department { id, account: self.account, parent, name: name.to_owned() };
        self.store.insert_department(department, audit(self.account, 0, "department.create")).await.expect("made");
        id
    }

    /// One more member.
    pub async fn add_member(&self, name: &str, role: Role, department: Option<DepartmentId>) -> MemberId {
        let member = new_member(self.account, name, role, department);
        let id = member.id;
        self.store.insert_member(member, audit(self.account, 0, "member.create")).await.expect("a member");
        id
    }

    pub async fn add_key(&self, member: MemberId) -> NewKey {
        let key = new_key(self.project, member);
        self.store.insert_key(key.clone(), audit(self.account, 0, "key.create")).await.expect("a key");
        key
    }

    /// A record with this text, to be varied and saved.
    pub fn record(&self, content: &str) -> NewRecord {
        let id = RecordId::new(fresh_uuid());
        NewRecord {
            id,
            project: self.project,
            workspace: WorkspaceName::default(),
            audience: Audience::Shared,
            author: self.ana,
            department: None,
            fact_key: FactKey::made(content, id),
            fact: Fact::new(content),
            is_cautioned: false,
            key: None,
            created_at: at(10),
            refreshed_elsewhere_at: None,
            embedding: Vec::new(),
        }
    }

    /// A record of a source as it was with a hash.
    pub fn sourced(&self, content: &str, source_id: &str, hash: &str) -> NewRecord {
        with_fact(self.record(content), |fact| {
            fact.source_id = Some(source_id.to_owned());
            fact.source_hash = Some(hash.to_owned());
        })
    }

    /// Saves, whatever comes of it.
    pub async fn insert(&self, record: NewRecord) -> Inserted {
        let insert = Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None };
        self.store.insert(insert).await.expect("storage works")
    }

    /// Saves under an idempotency key.
    pub async fn insert_with_key(&self, record: NewRecord, key: Idempotency) -> Inserted {
        let insert =
            Insert { record, records_max: None, workspaces_max: None, idempotency: Some(key), supersede: None };
        self.store.insert(insert).await.expect("storage works")
    }

    /// Saves what must be new.
    pub async fn save(&self, record: NewRecord) -> Seq {
        self.save_numbered(record).await.0
    }

    /// Saves what must be new, and returns the workspace's number too.
    pub async fn save_numbered(&self, record: NewRecord) -> (Seq, WorkspaceNo) {
        match self.insert(record).await {
            Inserted::New { seq, workspace_no, .. } => (seq, workspace_no),
            other => panic!("expected a new record and got {other:?}"),
        }
    }

    /// Saves a text that must be new.
    pub async fn save_text(&self, content: &str) -> Seq {
        self.save(self.record(content)).await
    }

    /// Observes a source, in one workspace or wherever it is known.
    pub async fn observe(&self, name: Option<&str>, source_id: &str, seen: Seen, second: i64) -> Option<Seq> {
        let (name, observation) = (name.map(workspace), Observation { source_id: source_id.to_owned(), seen });
        let observed = self
            .store
            .observe_source(
                self.project,
                name.as_ref(),
                observation,
                Look { by: Some(self.ana), key: None, at: at(second) },
            )
            .await;
        observed.expect("storage works")
    }

    /// Observes a source with this hash, wherever it is known.
    pub async fn observe_hash(&self, source_id: &str, hash: &str, second: i64) -> Option<Seq> {
        self.observe(None, source_id, Seen::Hash(hash.to_owned()), second).await
    }

    /// The living record at a place.
    pub async fn load(&self, seq: Seq) -> Option<Record> {
        self.store.load(self.project, &[seq]).await.expect("storage works").pop()
    }

    /// Forgets, and answers with the ids.
    pub async fn forget(&self, seqs: &[Seq], second: i64) -> Vec<RecordId> {
        let line = audit(self.account, second, "record.forget");
        self.store.forget(self.project, seqs, line).await.expect("storage works")
    }

    /// Restores, with no limit.
    pub async fn restore(&self, id: RecordId, since: i64, second: i64) -> Option<Record> {
        let line = audit(self.account, second, "record.restore");
        self.store.restore(self.project, id, at(since), None, line).await.expect("storage works")
    }

    /// Deletes a workspace.
    pub async fn delete_workspace(&self, name: &str, second: i64) -> Option<u64> {
        let line = audit(self.account, second, "workspace.delete");
        self.store.delete_workspace(self.project, &workspace(name), line).await.expect("storage works")
    }

    /// Restores what the latest deletion of a workspace took, with no limit.
    pub async fn restore_workspace(&self, name: &str, since: i64, second: i64) -> RestoredWorkspace {
        let deleted = self.store.list_deleted_workspaces(self.project, at(since)).await.expect("storage works");
        let Some(row) = deleted.into_iter().find(|row| row.workspace.name.as_str() == name) else {
            return RestoredWorkspace::Absent;
        };
        let line = audit(self.account, second, "workspace.restore");
        self.store
            .restore_workspace(self.project, row.workspace.no, at(since), None, line)
            .await
            .expect("storage works")
    }

    /// The end of the log.
    pub async fn last_seq(&self) -> Seq {
        self.store.last_seq(self.project).await.expect("storage works").expect("the project exists")
    }
}

/// A member to be made.
pub fn new_member(account: AccountId, name: &str, role: Role, department: Option<DepartmentId>) -> Member {
    Member {
        id: MemberId::new(fresh_uuid()),
        account,
        department,
        name: name.to_owned(),
        role,
        access_until: None,
        created_at: at(0),
    }
}

/// A key to be made.
pub fn new_key(project: ProjectId, member: MemberId) -> NewKey {
    let id = KeyId::new(fresh_uuid());
    NewKey {
        id,
        hash: CredentialHash::of(&id.to_string()),
        project,
        member,
        access: Access::Write,
        label: None,
        expires_at: None,
        created_at: at(0),
        created_by: None,
        workspace: None,
        hint: None,
        link: None,
    }
}
