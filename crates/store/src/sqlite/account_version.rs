//! Counts how often an account's records came to look different without a change of their own.

use mnemon_core::AccountId;

use super::batch::Tx;
use crate::StoreError;

/// Says that the account's records show something new that is not in their log.
pub(super) fn bump_account_version(tx: &mut Tx<'_>, account: AccountId) -> Result<(), StoreError> {
    const UPDATE: &str = "UPDATE account SET account_version = account_version + 1 WHERE id = ?1";
    tx.touch_people();
    tx.conn.prepare_cached(UPDATE)?.execute([account.to_bytes()])?;
    Ok(())
}
