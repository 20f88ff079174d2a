//! What each plan allows. These numbers are the defaults; the configuration may change each one.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanName {
    Free,
    Starter,
    Pro,
    Enterprise,
    /// No limits: the default when self-hosted.
    Unlimited,
}

impl PlanName {
    /// All plans, smallest first.
    pub const ALL: [Self; 5] = [Self::Free, Self::Starter, Self::Pro, Self::Enterprise, Self::Unlimited];

    /// The word used in storage, configuration and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Starter => "starter",
            Self::Pro => "pro",
            Self::Enterprise => "enterprise",
            Self::Unlimited => "unlimited",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plan| plan.as_str() == word)
    }
}

/// The limits of a plan. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanLimits {
    /// Live records per project.
    pub records_max: Option<u64>,
    /// Active workspaces per project.
    pub workspaces_max: Option<u64>,
    /// Calls per connection within 60 seconds.
    pub connection_calls_max: Option<u32>,
    /// Calls per project within 60 seconds.
    pub project_calls_max: Option<u32>,
    /// Session histories per project, in bytes.
    pub history_bytes_max: Option<u64>,
    /// Imported texts per project within an hour, in bytes.
    pub import_bytes_max: Option<u64>,
}

impl PlanLimits {
    /// How many forgotten records a project keeps, until their time to be restored is over.
    pub fn forgotten_max(&self) -> Option<u64> {
        self.records_max.map(|records| records.saturating_mul(2))
    }
}

/// The limits of every plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTable([PlanLimits; 5]);

const MB: u64 = 1_000_000;

impl Default for PlanTable {
    fn default() -> Self {
        let row = |records, workspaces, connection, project, history_mb, import_mb| PlanLimits {
            records_max: Some(records),
            workspaces_max: Some(workspaces),
            connection_calls_max: Some(connection),
            project_calls_max: Some(project),
            history_bytes_max: Some(history_mb * MB),
            import_bytes_max: Some(import_mb * MB),
        };
        Self([
            row(250, 100, 60, 120, 25, 20),
            row(5_000, 1_000, 120, 600, 100, 200),
            row(100_000, 1_000, 120, 1_200, 500, 2_000),
            row(1_000_000, 1_000, 300, 6_000, 20_000, 20_000),
            PlanLimits { workspaces_max: Some(1_000), ..PlanLimits::default() },
        ])
    }
}

impl PlanTable {
    pub const fn limits(&self, plan: PlanName) -> &PlanLimits {
        &self.0[plan as usize]
    }

    /// The limits of a plan, for the configuration to change.
    pub const fn limits_mut(&mut self, plan: PlanName) -> &mut PlanLimits {
        &mut self.0[plan as usize]
    }
}
