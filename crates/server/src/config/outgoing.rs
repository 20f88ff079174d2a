//! The section of calls to addresses that others choose, and the lists of accounts that something is allowed to.

use std::collections::BTreeMap;

use mnemon_core::AccountId;
use mnemon_engine::integrations::Accounts;
use mnemon_engine::oauth::DocumentHosts;
use toml::Value;

use super::OutgoingSettings;
use super::sections::Reader;

/// Means every account, or every public host.
const ALL: &str = "*";

impl Reader<'_> {
    pub(super) fn outgoing(&mut self) -> OutgoingSettings {
        let allowed_hosts = self.allowed_hosts();
        let document_hosts = self.document_hosts();
        let ca_file = Some(self.string("outgoing.ca_file")).filter(|path| !path.is_empty()).map(Into::into);
        OutgoingSettings { allowed_hosts, document_hosts, ca_file }
    }

    fn allowed_hosts(&mut self) -> BTreeMap<String, Accounts> {
        let mut hosts = BTreeMap::new();
        for (host, setting) in self.value("outgoing.allowed_hosts").as_table().into_iter().flatten() {
            if !is_host(host) {
                self.mistake(&format!(
                    "outgoing.allowed_hosts must list hosts such as mcp.internal or 10.0.0.7, not '{host}'"
                ));
            }
            let path = format!("outgoing.allowed_hosts.\"{host}\"");
            if let Some(accounts) = self.accounts(&path, setting, &["accounts"]) {
                hosts.insert(plain(host), accounts);
            }
        }
        hosts
    }

    fn document_hosts(&mut self) -> DocumentHosts {
        let hosts = self.strings("outgoing.document_hosts");
        for host in hosts.iter().filter(|host| *host != ALL && !is_host(host)) {
            self.mistake(&format!(
                "outgoing.document_hosts must list \"*\" or hosts such as app.example, not '{host}'"
            ));
        }
        let any_public = hosts.iter().any(|host| host == ALL);
        DocumentHosts { any_public, named: hosts.iter().filter(|host| *host != ALL).map(|host| plain(host)).collect() }
    }

    /// The accounts of a setting that is allowed to some. A mistake names every member that it may have.
    pub(super) fn accounts(&mut self, path: &str, setting: &Value, members: &[&str]) -> Option<Accounts> {
        let wrong = |reader: &mut Self| {
            let members = members.join(" and ");
            reader.mistake(&format!(
                "{path} must have {members}; accounts is a list of account ids, or [\"*\"] for all of them"
            ));
            None
        };
        let Some(table) = setting.as_table() else { return wrong(self) };
        let list = table.get("accounts").and_then(Value::as_array).filter(|list| !list.is_empty());
        let is_known = |name: &String| members.contains(&name.as_str());
        let Some(list) = list.filter(|_| table.keys().all(is_known)) else { return wrong(self) };
        let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        match texts.as_deref() {
            Some([ALL]) => Some(Accounts::All),
            Some(texts) => match texts.iter().map(|text| text.parse::<AccountId>()).collect() {
                Ok(accounts) => Some(Accounts::Named(accounts)),
                Err(_) => wrong(self),
            },
            None => wrong(self),
        }
    }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '@', ' ', '*'])
}

/// A host as it is compared: small letters, no brackets, no dot at the end.
fn plain(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::Layers;
    use super::*;

    const ACCOUNT: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn read(text: &str) -> Result<OutgoingSettings, Vec<String>> {
        let mut layers = Layers::default();
        layers.file("mnemon.toml", text);
        layers.finish().map(|config| config.outgoing).map_err(|mistakes| mistakes.0)
    }

    #[test]
    fn a_private_host_belongs_to_named_accounts() {
        let text = format!(
            "[outgoing.allowed_hosts]\n\"MCP.internal\" = {{ accounts = [\"{ACCOUNT}\"] }}\n\"::1\" = {{ accounts = [\"*\"] }}\n"
        );
        let hosts = read(&text).unwrap().allowed_hosts;
        assert_eq!(hosts["mcp.internal"], Accounts::Named([ACCOUNT.parse().unwrap()].into()));
        assert_eq!(hosts["::1"], Accounts::All);
        for wrong in [
            "\"a\" = {}",
            "\"a\" = []",
            "\"a\" = [\"*\"]",
            "\"a\" = { accounts = [] }",
            "\"a\" = { accounts = \"*\" }",
            "\"a\" = { accounts = [\"first\"] }",
            "\"a\" = { accounts = [\"*\", \"*\"] }",
            "\"a\" = { accounts = [1] }",
            "\"a\" = { accounts = [\"*\"], accunts = [] }",
        ] {
            let mistakes = read(&format!("[outgoing.allowed_hosts]\n{wrong}\n")).unwrap_err();
            let expected = "outgoing.allowed_hosts.\"a\" must have accounts; accounts is a list of account ids, or [\"*\"] for all of them";
            assert_eq!(mistakes, [expected], "{wrong}");
        }
        let old = read("[outgoing]\nallowed_hosts = [\"mcp.internal\"]\n").unwrap_err();
        assert_eq!(
            old,
            [
                "mnemon.toml: 'outgoing.allowed_hosts' must be a section that says to whom each is allowed: \"mcp.internal\" = { accounts = [\"*\"] }"
            ]
        );
    }

    #[test]
    fn the_environment_names_hosts_with_their_accounts() {
        let mut layers = Layers::default();
        let value = format!("mcp.internal={ACCOUNT}, 10.0.0.7=*");
        layers.environment([("MNEMON_OUTGOING_ALLOWED_HOSTS".to_owned(), value)]);
        let hosts = layers.finish().unwrap().outgoing.allowed_hosts;
        assert_eq!(hosts["mcp.internal"], Accounts::Named([ACCOUNT.parse().unwrap()].into()));
        assert_eq!(hosts["10.0.0.7"], Accounts::All);
        let mut layers = Layers::default();
        layers.environment([("MNEMON_OUTGOING_ALLOWED_HOSTS".to_owned(), "mcp.internal".to_owned())]);
        let mistakes = layers.finish().unwrap_err().0;
        assert_eq!(
            mistakes,
            ["MNEMON_OUTGOING_ALLOWED_HOSTS: 'mcp.internal' is not a list such as mcp.internal=*, 10.0.0.7=ACCOUNT"]
        );
    }

    #[test]
    fn documents_come_from_the_public_internet_or_from_named_hosts_alone() {
        assert_eq!(read("").unwrap().document_hosts, DocumentHosts::default());
        let named = read("[outgoing]\ndocument_hosts = [\"Claude.ai\"]\n").unwrap().document_hosts;
        assert_eq!(named, DocumentHosts { any_public: false, named: ["claude.ai".to_owned()].into() });
        let none = read("[outgoing]\ndocument_hosts = []\n").unwrap().document_hosts;
        assert_eq!(none, DocumentHosts { any_public: false, named: [].into() });
        assert_eq!(read("[outgoing]\ndocument_hosts = [\"https://x\"]\n").unwrap_err().len(), 1);
    }
}
