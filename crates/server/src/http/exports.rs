//! How many exports run at once. An export lasts as long as its reader likes, so few of them may be one key's.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mnemon_core::{AccountId, KeyId};
use mnemon_engine::Identity;
use parking_lot::Mutex;

use super::Reply;

/// How many exports of one key may run at once, and of all keys of an account.
const PER_KEY_MAX: usize = 2;
const PER_ACCOUNT_MAX: usize = 6;
const RETRY_AFTER_SECONDS: u64 = 15;

/// The exports that are running.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exports(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    by_key: HashMap<KeyId, usize>,
    by_account: HashMap<AccountId, usize>,
    refused: u64,
}

/// An export on its way; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningExport {
    exports: Exports,
    whose: Option<Identity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooManyExports {
    #[error("{PER_KEY_MAX} exports of this key are running; try again when one has ended")]
    OfKey,
    #[error("{PER_ACCOUNT_MAX} exports of this account are running; try again when one has ended")]
    OfAccount,
}

impl Exports {
    /// Begins an export. The operator, who belongs to no account, is not counted.
    pub(crate) fn begin(&self, whose: Option<Identity>) -> Result<RunningExport, TooManyExports> {
        if let Some(identity) = &whose {
            let mut running = self.0.lock();
            let Running { by_key, by_account, refused } = &mut *running;
            let too_many = if by_key.get(&identity.key).is_some_and(|count| *count >= PER_KEY_MAX) {
                Some(TooManyExports::OfKey)
            } else if by_account.get(&identity.account).is_some_and(|count| *count >= PER_ACCOUNT_MAX) {
                Some(TooManyExports::OfAccount)
            } else {
                None
            };
            if let Some(too_many) = too_many {
                *refused += 1;
                return Err(too_many);
            }
            *by_key.entry(identity.key).or_default() += 1;
            *by_account.entry(identity.account).or_default() += 1;
        }
        Ok(RunningExport { exports: self.clone(), whose })
    }

    /// How many are running, and how many were refused.
    pub(crate) fn count(&self) -> (u64, u64) {
        let running = self.0.lock();
        (running.by_account.values().sum::<usize>() as u64, running.refused)
    }
}

impl Drop for RunningExport {
    fn drop(&mut self) {
        let Some(identity) = &self.whose else { return };
        let mut running = self.exports.0.lock();
        leave(&mut running.by_key, identity.key);
        leave(&mut running.by_account, identity.account);
    }
}

fn leave<K: Eq + Hash>(counts: &mut HashMap<K, usize>, whose: K) {
    if let Some(count) = counts.get_mut(&whose) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&whose);
        }
    }
}

impl IntoResponse for TooManyExports {
    fn into_response(self) -> Response {
        let reply = Reply::error(StatusCode::TOO_MANY_REQUESTS, "too_many_exports", &self.to_string());
        reply.retry_after(RETRY_AFTER_SECONDS).into_response()
    }
}
