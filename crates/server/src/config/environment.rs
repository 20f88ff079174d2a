//! Every environment variable of the service, in one list.

/// A variable and the setting it overrides.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    /// The setting, as `section.key`.
    pub setting: &'static str,
}

pub const ENVIRONMENT: &[Variable] = &[
    Variable { name: "MNEMON_SERVICE_NAME", setting: "service.name" },
    Variable { name: "MNEMON_LISTEN", setting: "server.listen" },
    Variable { name: "MNEMON_BASE_URL", setting: "server.base_url" },
    Variable { name: "MNEMON_ALLOWED_ORIGINS", setting: "server.allowed_origins" },
    Variable { name: "MNEMON_TRUSTED_PROXIES", setting: "server.trusted_proxies" },
    Variable { name: "MNEMON_MEMORY_BYTES", setting: "server.memory_bytes" },
    Variable { name: "MNEMON_CONNECTIONS_MAX", setting: "server.connections_max" },
    Variable { name: "MNEMON_DATA_DIR", setting: "storage.data_dir" },
    Variable { name: "MNEMON_DATABASE", setting: "storage.database" },
    Variable { name: "MNEMON_DATABASE_ROLE", setting: "storage.database_role" },
    Variable { name: "MNEMON_DATABASE_CONNECTIONS", setting: "storage.database_connections" },
    Variable { name: "MNEMON_DATABASE_BATCH", setting: "storage.database_batch" },
    Variable { name: "MNEMON_DATABASE_REPLICAS", setting: "database.replicas" },
    Variable { name: "MNEMON_OPERATOR_TOKEN", setting: "admin.operator_token" },
    Variable { name: "MNEMON_ENCRYPTION_KEY", setting: "gateway.encryption_key" },
    Variable { name: "MNEMON_PREVIOUS_ENCRYPTION_KEY", setting: "gateway.previous_encryption_key" },
    Variable { name: "MNEMON_RECALL_MEMORY_BYTES", setting: "recall.memory_bytes" },
    Variable { name: "MNEMON_OUTGOING_ALLOWED_HOSTS", setting: "outgoing.allowed_hosts" },
    Variable { name: "MNEMON_OUTGOING_CA_FILE", setting: "outgoing.ca_file" },
    Variable { name: "MNEMON_METRICS_LISTEN", setting: "metrics.listen" },
    Variable { name: "MNEMON_TRACES_ENDPOINT", setting: "traces.endpoint" },
    Variable { name: "MNEMON_TRACES_EVERY", setting: "traces.every" },
    Variable { name: "MNEMON_LOG_LEVEL", setting: "log.level" },
    Variable { name: "MNEMON_LOG_FORMAT", setting: "log.format" },
    Variable { name: "MNEMON_LOG_ACCESS", setting: "log.access" },
    Variable { name: "MNEMON_LOG_ACCESS_EVERY", setting: "log.access_every" },
];
