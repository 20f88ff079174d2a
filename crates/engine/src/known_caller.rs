//! Callers whose key this node knows from earlier calls. Their saves need no look-up: the transaction that stores one also
//! compares what the node knows with what is true.

use mnemon_core::{CredentialKind, Seq, WorkspaceName, is_well_formed};
use mnemon_store::{CallsElsewhere, Presented, SavedLooks};

use crate::admission::check_rights;
use crate::{CallContext, Connection, Engine, Identity, Tool};

/// A caller with a key that this node knows. Nobody has asked yet whether the key still holds, so this is no [`CallContext`]:
/// all it can do is to save by [`Engine::remember_at_once`].
#[derive(Debug)]
pub struct KnownCaller(CallContext);

impl KnownCaller {
    /// The workspace that a call means which names none.
    pub fn workspace(&self) -> Option<&WorkspaceName> {
        self.0.credential.workspace.as_ref()
    }

    /// Whose the key was when the node last saw it.
    pub fn identity(&self) -> Identity {
        self.0.identity()
    }

    /// What the caller is if its key still holds.
    pub(crate) fn into_unproven(self) -> CallContext {
        self.0
    }
}

impl Engine {
    /// Recognises a caller that could save. Where the plan limits calls, nobody is recognised: what other nodes have counted
    /// comes with a look-up.
    pub fn recognise(&self, key: &str) -> Option<KnownCaller> {
        let credential = self.store.recognise(key)?;
        let (elsewhere, saved) = (CallsElsewhere::default(), SavedLooks::default());
        let presented = Presented { credential, seq: Seq::default(), elsewhere, saved };
        let found = is_well_formed(CredentialKind::ApiKey, key).then_some(presented);
        let ctx = self.accept(found, Connection::Key, self.clock.now()).ok()?;
        let limits = self.plan_limits(&ctx);
        let is_counted = limits.connection_calls_max.is_some() || limits.project_calls_max.is_some();
        let can_save = !is_counted && check_rights(&ctx, Tool::Remember).is_ok();
        can_save.then_some(KnownCaller(ctx))
    }
}
