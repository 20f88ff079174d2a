//! The scratch organization: a real store in its own directory, a real engine, and people with real keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mnemon_core::{
    Access, AccountId, Clock, CredentialKind, DepartmentId, IdSource, MemberId, PlanName, PlanTable, ProjectId, Role,
    Timestamp, make_token,
};
use mnemon_engine::admin::{AdminContext, NewDepartment, NewKeyRequest, NewMember};
use mnemon_engine::{CallContext, Engine, EngineConfig, SystemIds};
use mnemon_gateway::Outgoing;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::sqlite::SqliteStore;
use mnemon_store::{People, Store};

use super::chance::{Chance, MovedClock};
use super::model::{Model, Person};
use super::visits::Console;

/// Generous: a slow database is not a leak.
const PATIENCE: Duration = Duration::from_secs(20);
const ACCOUNTS: usize = 2;
const PROJECTS_PER_ACCOUNT: usize = 2;
const DEPARTMENTS_PER_ACCOUNT: usize = 5;
const MEMBERS_PER_ACCOUNT: usize = 7;

/// A member with a key for each project of its account, and one that only reads.
pub struct Holder {
    pub id: MemberId,
    pub keys: Vec<(usize, String)>,
    /// Keys that only read, with the project of each.
    pub read_keys: Vec<(usize, String)>,
}

/// Makes sure the database is empty, so no real data is touched.
pub async fn check_empty(url: &str) -> anyhow::Result<()> {
    let store = PostgresStore::open(PostgresConfig::new(url)).await?;
    let is_empty = !store.has_accounts().await?;
    store.close().await;
    anyhow::ensure!(
        is_empty,
        "the database already contains accounts; use an empty one, because the selftest fills it"
    );
    Ok(())
}

pub struct World {
    pub chance: Chance,
    pub model: Model,
    pub engine: Arc<Engine>,
    pub console: Console,
    pub clock: Arc<MovedClock>,
    pub operator: AdminContext,
    pub accounts: Vec<AccountId>,
    /// Each project and its account.
    pub projects: Vec<(ProjectId, usize)>,
    pub departments: Vec<(DepartmentId, usize)>,
    pub holders: Vec<Holder>,
    folder: PathBuf,
}

impl World {
    /// Creates one in a scratch directory, or in a database next to earlier ones.
    pub async fn make(chance: Chance, database: Option<&str>) -> anyhow::Result<Self> {
        let clock = Arc::new(MovedClock::default());
        let name = SystemIds.uuid(clock.now()).simple().to_string();
        let folder = std::env::temp_dir().join(format!("mnemon-selftest-{name}"));
        let store: Arc<dyn Store> = match database {
            Some(url) => {
                Arc::new(PostgresStore::open(PostgresConfig { patience: PATIENCE, ..PostgresConfig::new(url) }).await?)
            }
            None => Arc::new(SqliteStore::open(&folder)?),
        };
        let config =
            EngineConfig { plans: PlanTable::default(), index_bytes_max: 64 << 20, outgoing: Outgoing::default() };
        let token = make_token(CredentialKind::Operator, &SystemIds.secret());
        let engine = Engine::new(store, clock.clone(), Arc::new(SystemIds), config).with_operator_token(&token);
        let engine = Arc::new(engine);
        let operator = engine.authenticate_admin(token.expose()).await?;
        let mut world = Self {
            chance,
            model: Model::default(),
            console: Console::open(&engine)?,
            engine,
            clock,
            operator,
            accounts: Vec::new(),
            projects: Vec::new(),
            departments: Vec::new(),
            holders: Vec::new(),
            folder,
        };
        for account in 0..ACCOUNTS {
            world.make_account(account).await?;
        }
        Ok(world)
    }

    async fn make_account(&mut self, account: usize) -> anyhow::Result<()> {
        let operator = self.operator.clone();
        let made = self.engine.create_account(&operator, "An account", Some(PlanName::Unlimited), None).await?;
        self.accounts.push(made.id);
        for _ in 0..PROJECTS_PER_ACCOUNT {
            let project = self.engine.create_project(&operator, made.id, "A project").await?;
            self.projects.push((project.id, account));
        }
        let first = self.departments.len();
        for made_so_far in 0..DEPARTMENTS_PER_ACCOUNT {
            // The first stays at the top; the others go below any earlier one, or stay at the top too.
            let parent = (made_so_far > 0 && self.chance.percent(80)).then(|| first + self.chance.below(made_so_far));
            let above = parent.map(|at| self.departments[at].0);
            let new = NewDepartment { name: "A department".to_owned(), parent: above };
            let department = self.engine.create_department(&operator, made.id, new).await?;
            self.departments.push((department.id, account));
            self.model.parents.push(parent);
        }
        for at in 0..MEMBERS_PER_ACCOUNT {
            let department = self.chance.percent(85).then(|| first + self.chance.below(DEPARTMENTS_PER_ACCOUNT));
            let role = [Role::Admin, Role::Head, Role::Head, Role::Member][at.min(3)];
            self.make_member(account, department, role).await?;
        }
        Ok(())
    }

    pub async fn make_member(&mut self, account: usize, department: Option<usize>, role: Role) -> anyhow::Result<()> {
        let new = NewMember {
            name: "Somebody".to_owned(),
            role,
            department: department.map(|at| self.departments[at].0),
            access_until: None,
        };
        let operator = self.operator.clone();
        let member = self.engine.create_member(&operator, self.accounts[account], new).await?;
        let (mut keys, mut read_keys) = (Vec::new(), Vec::new());
        for (at, (project, owner)) in self.projects.iter().enumerate() {
            if *owner != account {
                continue;
            }
            for (access, made_keys) in [(Access::Write, &mut keys), (Access::Read, &mut read_keys)] {
                let request = NewKeyRequest {
                    id: None,
                    member: member.id,
                    access,
                    label: None,
                    expires_at: None,
                    workspace: None,
                };
                let made = self.engine.create_key(&operator, *project, request).await?;
                made_keys.push((at, made.key.expose().clone()));
            }
        }
        self.holders.push(Holder { id: member.id, keys, read_keys });
        self.model.people.push(Person { account, department, is_head: role == Role::Head, is_gone: false });
        Ok(())
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A random member with a key for one of their projects, freshly authenticated.
    pub async fn somebody(&mut self) -> anyhow::Result<(usize, usize, CallContext)> {
        let here: Vec<usize> = (0..self.holders.len()).filter(|at| !self.model.people[*at].is_gone).collect();
        let person = here[self.chance.below(here.len())];
        let key = self.chance.below(self.holders[person].keys.len());
        let (project, key) = self.holders[person].keys[key].clone();
        let ctx = self.engine.authenticate(&key).await?;
        Ok((person, project, ctx))
    }

    /// The same member as a caller of the admin API.
    pub async fn admin_of(&self, person: usize) -> anyhow::Result<AdminContext> {
        Ok(self.engine.authenticate_admin(&self.holders[person].keys[0].1).await?)
    }

    pub async fn end(self) {
        self.console.close().await;
        self.engine.close().await;
        drop(self.engine);
        let _ = std::fs::remove_dir_all(self.folder);
    }
}
