//! What people do to records in the console: what their key may do by a tool, and admins what they may do beyond it.

use mnemon_core::{Audience, Fact, FactKey, Reason, RecordId, WorkspaceName};
use mnemon_store::Seen;

use super::{ConsoleError, Visitor};
use crate::admin::AdminError;
use crate::{Engine, Forget, Remember, Remembered, Validate, Validated};

impl Engine {
    /// Forgets a record: an admin as the admin API does, everybody else as the tool does.
    pub async fn forget_in_console(&self, visitor: &Visitor, id: RecordId) -> Result<(), ConsoleError> {
        if visitor.admin.may_restore() {
            self.delete_record(&visitor.admin, id, false).await?;
            return Ok(());
        }
        let call = visitor.caller()?;
        let admission = self.admit_again::<Forget>(call)?;
        self.forget(call, admission, Forget::Record(id.to_string())).await?;
        Ok(())
    }

    /// Forgets every record of a workspace's source that the person sees. Returns how many.
    pub async fn forget_source_in_console(
        &self,
        visitor: &Visitor,
        workspace: WorkspaceName,
        source_id: &str,
    ) -> Result<usize, ConsoleError> {
        let call = visitor.caller()?;
        let admission = self.admit_again::<Forget>(call)?;
        let forget = Forget::Source { source_id: source_id.to_owned(), workspace: Some(workspace) };
        Ok(self.forget(call, admission, forget).await?.ids.len())
    }

    /// Holds the records of a workspace's source against a hash; without one, against the newest that is known.
    pub async fn check_source_in_console(
        &self,
        visitor: &Visitor,
        workspace: WorkspaceName,
        source_id: &str,
        hash: Option<&str>,
    ) -> Result<Validated, ConsoleError> {
        let call = visitor.caller()?;
        let admission = self.admit_again::<Validate>(call)?;
        let seen = hash.map(|hash| Seen::Hash(hash.to_owned()));
        let validate = Validate { source_id: source_id.to_owned(), seen, workspace: Some(workspace) };
        Ok(self.validate(call, admission, validate).await?)
    }

    /// Saves a stale record again with the newest known hash of its source: somebody has looked, and it still holds.
    pub async fn hold_in_console(&self, visitor: &Visitor, id: RecordId) -> Result<Remembered, ConsoleError> {
        let call = visitor.caller()?;
        let admission = self.admit_again::<Remember>(call)?;
        let detail = self.show_record(&visitor.admin, id).await?;
        let record = &detail.shown.listed.record;
        let conflict = |text: &str| ConsoleError::Admin(AdminError::Conflict(text.to_owned()));
        if detail.shown.listed.forgotten_at.is_some() || detail.reason != Reason::SourceChanged {
            return Err(conflict("the record is no longer stale because of its source"));
        }
        if detail.project.id != call.project() {
            return Err(conflict("the record belongs to another project than your key; sign in with a key of it"));
        }
        let credential = &call.credential;
        let scope = record.audience.scope();
        if Audience::of(scope, credential.member, credential.department) != Some(record.audience) {
            return Err(conflict("the record belongs to another department; somebody there has to save it again"));
        }
        let fact_key = record.fact_key.chosen().map(FactKey::given).transpose();
        let again = Remember {
            fact: Fact { source_hash: detail.source.state.known_hash.clone(), ..record.fact.clone() },
            workspace: record.workspace.clone(),
            scope,
            fact_key: fact_key.map_err(crate::CallError::from)?,
            // An equal record is brought up to date and stays; what differs in its author takes the place of the old
            // one.
            supersedes: vec![id.to_string()],
            replace: false,
            idempotency_key: None,
        };
        Ok(self.remember(call, admission, again).await?)
    }
}

impl Visitor {
    /// The person as a caller of tools.
    fn caller(&self) -> Result<&crate::CallContext, ConsoleError> {
        let text = "the operator's token opens no project; sign in with a key";
        self.call.as_ref().ok_or(ConsoleError::Admin(AdminError::Forbidden(text)))
    }
}
