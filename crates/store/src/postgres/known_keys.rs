//! What a node knows of keys from earlier look-ups. It is never believed as it is: with each call the database says
//! whether anything about the key's account has changed since, and if it has, the key is looked up again. Where the
//! database does not note changes, because somebody has dropped its triggers, nothing is known.

use std::collections::HashMap;
use std::sync::Arc;

use mnemon_core::CredentialHash;
use parking_lot::RwLock;

use crate::Credential;

/// How many keys are known at most. At about half a kilobyte each, this is 16 MB.
const KNOWN_MAX: usize = 32_768;

pub(super) struct KnownKeys {
    notes_changes: bool,
    credentials: RwLock<HashMap<CredentialHash, Arc<Credential>>>,
}

impl KnownKeys {
    /// `notes_changes`: whether the database does.
    pub(super) fn new(notes_changes: bool) -> Self {
        Self { notes_changes, credentials: RwLock::default() }
    }

    pub(super) fn find(&self, hash: &CredentialHash) -> Option<Arc<Credential>> {
        self.credentials.read().get(hash).cloned()
    }

    /// Remembers a key that was looked up. One that is refused, or will be without any change to it, is forgotten:
    /// refusing it takes the same look-up as refusing a key that never was.
    pub(super) fn note(&self, hash: CredentialHash, credential: &Arc<Credential>) {
        if !self.notes_changes || !is_lasting(credential) {
            self.forget(&hash);
            return;
        }
        let mut known = self.credentials.write();
        // Dropping all at the limit is crude and never wrong: each comes back with one look-up.
        if known.len() >= KNOWN_MAX && !known.contains_key(&hash) {
            known.clear();
        }
        known.insert(hash, Arc::clone(credential));
    }

    pub(super) fn forget(&self, hash: &CredentialHash) {
        self.credentials.write().remove(hash);
    }
}

fn is_lasting(credential: &Credential) -> bool {
    let Credential { is_revoked, expires_at, access_until, subscription, .. } = credential;
    !is_revoked && expires_at.is_none() && access_until.is_none() && !subscription.is_suspended
}

#[cfg(test)]
mod tests {
    use mnemon_core::{Access, AccountId, KeyId, MemberId, PlanName, ProjectId, Role, Subscription, Timestamp, Viewer};
    use uuid::Uuid;

    use super::*;

    fn credential() -> Credential {
        let member = MemberId::new(Uuid::nil());
        Credential {
            key: KeyId::new(Uuid::nil()),
            access: Access::Write,
            expires_at: None,
            is_revoked: false,
            project: ProjectId::new(Uuid::nil()),
            account: AccountId::new(Uuid::nil()),
            subscription: Subscription { plan: Some(PlanName::Unlimited), paid_until: None, is_suspended: false },
            member,
            member_name: "Ana".to_owned(),
            role: Role::Member,
            access_until: None,
            department: None,
            department_name: None,
            viewer: Viewer::new(member, Role::Member, None, &Default::default()),
            account_version: 1,
            workspace: None,
        }
    }

    fn hash(number: usize) -> CredentialHash {
        CredentialHash::of(&number.to_string())
    }

    /// Whether a key is known after it was known and then looked up with this change.
    fn is_kept(change: impl FnOnce(&mut Credential)) -> bool {
        let (known, mut changed) = (KnownKeys::new(true), credential());
        known.note(hash(1), &Arc::new(credential()));
        change(&mut changed);
        known.note(hash(1), &Arc::new(changed));
        known.find(&hash(1)).is_some()
    }

    #[test]
    fn what_is_refused_or_will_be_is_not_known() {
        assert!(is_kept(|_| {}));
        assert!(!is_kept(|credential| credential.is_revoked = true));
        assert!(!is_kept(|credential| credential.subscription.is_suspended = true));
        assert!(!is_kept(|credential| credential.expires_at = Some(Timestamp::MAX)));
        assert!(!is_kept(|credential| credential.access_until = Some(Timestamp::MAX)));
    }

    #[test]
    fn nothing_is_known_where_the_database_does_not_note_changes() {
        let known = KnownKeys::new(false);
        known.note(hash(1), &Arc::new(credential()));
        assert!(known.find(&hash(1)).is_none());
    }

    #[test]
    fn one_key_more_than_the_maximum_empties_the_table() {
        let (known, credential) = (KnownKeys::new(true), Arc::new(credential()));
        (0..KNOWN_MAX).for_each(|number| known.note(hash(number), &credential));
        known.note(hash(7), &credential);
        assert!(known.find(&hash(0)).is_some(), "at the limit all are there");
        known.note(hash(KNOWN_MAX), &credential);
        assert!(known.find(&hash(0)).is_none() && known.find(&hash(KNOWN_MAX)).is_some());
    }
}
