//! Every kind of id as its own type, so that a project can't be passed where a member belongs.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

macro_rules! id_types {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps an id that came from an `IdSource` or from storage.
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// The sixteen bytes that storage keeps.
            pub const fn to_bytes(self) -> [u8; 16] {
                *self.0.as_bytes()
            }

            /// The id read from storage.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    )*};
}

id_types! {
    /// One customer organization, also called tenant.
    AccountId;
    /// One row of the audit log.
    AuditId;
    /// One client's OAuth access; not the token itself.
    ConnectionId;
    /// One person's session of the console; not what the browser keeps.
    ConsoleSessionId;
    /// One department in an account's tree.
    DepartmentId;
    /// One API key; not the secret itself.
    KeyId;
    /// One person or service that belongs to an account.
    MemberId;
    /// One process of the service, from its start to its end.
    NodeId;
    /// The unit of memory isolation.
    ProjectId;
    /// One record inside its project. Sortable by creation time.
    RecordId;
    /// One uploaded session history inside its project. Sortable by the time of its first upload.
    SessionId;
}

/// The position of a change in its project's log. Commit order equals seq order, so "everything after S" misses
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identifies one life of a workspace inside its project: a deleted workspace that is created again gets a new number,
/// so nothing of its former life can appear in it. The number is the seq of the save that created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspaceNo(pub u64);
