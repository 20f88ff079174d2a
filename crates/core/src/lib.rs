//! What Mnemon is about, as plain values and rules: records, who may see them, whether they still hold, what a plan
//! allows. No async, no I/O, no SQL, no serde, no `now()` and no randomness: time and ids are passed in.
//!
//! To add a rule: put the value into the file named after its main type, validate in its constructor, and let the error
//! say what to do. Messages for people live in the error types, so every endpoint says the same.

mod account;
mod audience_bytes;
mod clock;
mod credential;
mod did_you_mean;
mod fact_key;
mod hex;
mod ids;
mod known_hashes;
mod limits;
mod occurred;
mod plan;
mod record;
mod secret;
mod status;
mod subscription;
mod tags;
mod tokens;
mod visibility;
mod workspace;

pub use account::{Access, Account, Department, Member, Project, Role};
pub use audience_bytes::AudienceBytes;
pub use clock::{Clock, IdSource, Timestamp, UUID_RANDOM_BYTES, uuid_v7};
pub use credential::{CredentialHash, CredentialKind, TOKEN_LEN, is_well_formed, key_hint, make_token};
pub use did_you_mean::nearest;
pub use fact_key::{FactKey, made_fact_key};
pub use hex::{parse_hex, to_hex};
pub use ids::{
    AccountId, AuditId, ConnectionId, ConsoleSessionId, DepartmentId, KeyId, MemberId, NodeId, ProjectId, RecordId,
    Seq, SessionId, WorkspaceNo,
};
pub use known_hashes::{
    admits_hash, confirms_hash, join_hashes, known_after_save, of_other_kinds, plain_hash, shown_hash,
};
pub use limits::{
    CONTENT_BYTES_MAX, FACT_KEY_CHARS_MAX, HASH_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MAX, InvalidText, JSON_DEPTH_MAX,
    JSON_VALUES_MAX, QUERY_BYTES_MAX, REQUEST_BYTES_MAX, SEARCH_IDS_MAX, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX,
    SOURCE_CHARS_MAX, SUPERSEDES_MAX, TAG_CHARS_MAX, TAGS_MAX, check_content, check_hash_text, check_source_text,
};
pub use occurred::{InvalidOccurred, Occurred, moments};
pub use plan::{PlanLimits, PlanName, PlanTable};
pub use record::{ContentHash, Fact, NewRecord, Record};
pub use secret::Secret;
pub use status::{Reason, SourceState, Status, newest_visible_source};
pub use subscription::{GRACE_DAYS, Subscription, SubscriptionState};
pub use tags::Tags;
pub use tokens::estimate_tokens;
pub use visibility::{Audience, DepartmentTree, Scope, Viewer};
pub use workspace::{AUTO_WORKSPACE, InvalidWorkspaceName, WorkspaceName};
