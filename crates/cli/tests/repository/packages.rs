//! What others read about the release: the registry's entry, the desktop bundle, the plugin, the adapters.

use serde_json::Value;

use super::root;

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(root().join(path)).expect("a file of the repository");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_package_has_the_version_of_the_binary() {
    let version = env!("CARGO_PKG_VERSION");
    let server = json("server.json");
    assert_eq!(server["version"], version);
    for package in server["packages"].as_array().expect("packages") {
        assert_eq!(package["version"], version);
    }
    assert_eq!(json("packages/mcpb/manifest.json")["version"], version);
    assert_eq!(json("plugins/mnemon/.claude-plugin/plugin.json")["version"], version);
    let adapters = std::fs::read_to_string(root().join("packages/mnemon-adapters/pyproject.toml")).unwrap();
    assert!(adapters.contains(&format!("\nversion = \"{version}\"\n")), "{adapters}");
    let image = std::fs::read_to_string(root().join("packages/docker-mcp/server.yaml")).unwrap();
    assert!(image.contains(&format!(":{version}\n")), "{image}");
}

/// The registry refuses others.
#[test]
fn the_entry_for_the_registry_keeps_its_limits() {
    let server = json("server.json");
    let name = server["name"].as_str().expect("a name");
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    assert!(name.split_once('/').is_some_and(|(space, own)| is_word(space) && is_word(own)), "{name}");
    let description = server["description"].as_str().expect("a description");
    assert!((1..=100).contains(&description.chars().count()), "{description}");
}

/// Both tell the agent where the service is, and both take the key for a secret.
#[test]
fn the_packages_ask_for_the_address_and_the_key() {
    let variables = json("server.json")["packages"][0]["environmentVariables"].clone();
    let secret = |name: &str| {
        let all = variables.as_array().expect("a list");
        all.iter().find(|one| one["name"] == name).expect("the variable")["isSecret"] == true
    };
    assert!(secret("MNEMON_API_KEY") && !secret("MNEMON_URL"));
    let bundle = json("packages/mcpb/manifest.json");
    assert_eq!(bundle["server"]["mcp_config"]["args"], serde_json::json!(["agent"]));
    assert_eq!(bundle["server"]["mcp_config"]["env"]["MNEMON_API_KEY"], "${user_config.key}");
    assert_eq!(bundle["user_config"]["key"]["sensitive"], true);
}
