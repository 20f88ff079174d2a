//! What the operator allows, and to which accounts: local commands, and hosts that do not lie in the public internet.
//! What is allowed to others is, to an account, as if it did not exist.

use std::collections::{BTreeMap, BTreeSet};

use mnemon_core::AccountId;
use url::Url;

/// The accounts that something is allowed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accounts {
    /// Every account, also those to come.
    All,
    /// These.
    Named(BTreeSet<AccountId>),
}

impl Accounts {
    fn admit(&self, account: AccountId) -> bool {
        match self {
            Self::All => true,
            Self::Named(accounts) => accounts.contains(&account),
        }
    }
}

/// A local command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Who may have integrations that run it.
    pub accounts: Accounts,
}

impl LocalCommand {
    /// A command that every account may run.
    pub fn for_all(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), accounts: Accounts::All }
    }
}

/// Everything that is allowed to some accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowances {
    /// Local commands, by name.
    pub commands: BTreeMap<String, LocalCommand>,
    /// Hosts that may lie anywhere and speak plain HTTP, as names or addresses in small letters.
    pub hosts: BTreeMap<String, Accounts>,
}

impl Allowances {
    /// The words of a command, if this account may run it.
    pub(crate) fn command(&self, name: &str, account: AccountId) -> Option<&[String]> {
        let command = self.commands.get(name).filter(|command| command.accounts.admit(account))?;
        Some(&command.words)
    }

    /// The host of an address, if this account may reach it wherever it lies.
    pub(crate) fn host<'a>(&self, url: &'a Url, account: AccountId) -> Option<&'a str> {
        let host = url.host_str()?;
        let plain = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
        self.hosts.get(&plain).filter(|accounts| accounts.admit(account)).map(|_| host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_to_one_account_is_nothing_to_another() {
        let (one, other) = (AccountId::from_bytes([1; 16]), AccountId::from_bytes([2; 16]));
        let only = Accounts::Named(BTreeSet::from([one]));
        let for_one = LocalCommand { accounts: only.clone(), ..LocalCommand::for_all(["true"]) };
        let for_all = LocalCommand::for_all(["true"]);
        let allowances = Allowances {
            commands: BTreeMap::from([("a".to_owned(), for_one), ("b".to_owned(), for_all)]),
            hosts: BTreeMap::from([("mcp.internal".to_owned(), only), ("::1".to_owned(), Accounts::All)]),
        };
        let commands = |account| ["a", "b", "c"].map(|name| allowances.command(name, account).is_some());
        assert_eq!((commands(one), commands(other)), ([true, true, false], [false, true, false]));
        let urls = ["http://MCP.internal./mcp", "https://[::1]:8080/mcp", "https://mcp.internal.example/mcp"];
        let hosts = |account| urls.map(|url| allowances.host(&url.parse().unwrap(), account).is_some());
        assert_eq!((hosts(one), hosts(other)), ([true, true, false], [false, true, false]));
    }
}
