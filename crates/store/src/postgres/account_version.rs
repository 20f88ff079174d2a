//! Notes that an account's records came to look different without a change of their own, or that its keys mean
//! something else. The database does so by itself for keys, members and departments (`0001_schema.sql`).

use mnemon_core::AccountId;

use super::error::Fault;
use super::transaction::Tx;

/// Says that the account's records show something new that is not in their log. It locks the account, so it comes
/// before any change to its keys and people: removing a member locks in that order too.
pub(super) async fn bump_account_version(tx: &Tx, account: AccountId) -> Result<(), Fault> {
    const UPDATE: &str = "UPDATE account SET account_version = account_version + 1 WHERE id = $1";
    tx.rows(UPDATE, &[&account.uuid()]).await?;
    Ok(())
}
