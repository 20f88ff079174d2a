//! What people do to records in the console: what their key may do by a tool, and admins what they may do beyond it.

use mnemon_core::{Audience, Fact, FactKey, Reason, RecordId, WorkspaceName, shown_hash};
use mnemon_store::Seen;

use super::{ConsoleError, Visitor};
use crate::admin::{AdminError, RecordDetail};
use crate::{CallContext, CallError, Engine, Forget, Remember, Remembered, Validate, Validated};

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
        if detail.reason != Reason::SourceChanged {
            return Err(conflict("the record is no longer stale because of its source"));
        }
        let again = in_the_place_of(call, &detail, None)?;
        Ok(self.remember(call, admission, again).await?)
    }

    /// Saves a record that somebody has written.
    pub async fn add_in_console(&self, visitor: &Visitor, written: Remember) -> Result<Remembered, ConsoleError> {
        let call = visitor.caller()?;
        let admission = self.admit_again::<Remember>(call)?;
        Ok(self.remember(call, admission, written).await?)
    }

    /// Saves a new text in the place of a record's: its source, key, workspace and scope stay. Where `settles` says so,
    /// it takes the place of every record that disputes the key, too.
    pub async fn replace_in_console(
        &self,
        visitor: &Visitor,
        id: RecordId,
        content: &str,
        settles: bool,
    ) -> Result<Remembered, ConsoleError> {
        let call = visitor.caller()?;
        let admission = self.admit_again::<Remember>(call)?;
        let detail = self.show_record(&visitor.admin, id).await?;
        let mut again = in_the_place_of(call, &detail, Some(content))?;
        if settles {
            again.supersedes.extend(detail.rivals.iter().map(|rival| rival.listed.record.id.to_string()));
        }
        Ok(self.remember(call, admission, again).await?)
    }
}

fn conflict(text: &str) -> ConsoleError {
    ConsoleError::Admin(AdminError::Conflict(text.to_owned()))
}

/// A save that takes the place of a record, as of today: with the newest known hash of its source, and without an end
/// that has passed.
fn in_the_place_of(call: &CallContext, detail: &RecordDetail, content: Option<&str>) -> Result<Remember, ConsoleError> {
    let record = &detail.shown.listed.record;
    if detail.shown.listed.forgotten_at.is_some() {
        return Err(conflict("the record was forgotten a moment ago"));
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
    let newest = detail.source.state.known_hash.as_deref().map(shown_hash);
    Ok(Remember {
        fact: Fact {
            content: content.unwrap_or(&record.fact.content).to_owned(),
            source_hash: record.fact.source_id.as_ref().and(newest).map(str::to_owned),
            valid_until: record.fact.valid_until.filter(|end| call.now < *end),
            ..record.fact.clone()
        },
        workspace: record.workspace.clone(),
        scope,
        fact_key: fact_key.map_err(CallError::from)?,
        // An equal record is brought up to date and stays; what differs in its author takes the place of the old one.
        supersedes: vec![record.id.to_string()],
        replace: false,
        idempotency_key: None,
    })
}

impl Visitor {
    /// The person as a caller of tools.
    fn caller(&self) -> Result<&crate::CallContext, ConsoleError> {
        let text = "the operator's token opens no project; sign in with a key";
        self.call.as_ref().ok_or(ConsoleError::Admin(AdminError::Forbidden(text)))
    }
}
