//! `mnemon config check` and `mnemon config print`.

use crate::process::{Done, Place};

#[test]
fn the_defaults_are_in_order() {
    let place = Place::new();
    let done = place.run(&["config", "check"]);
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "The configuration is valid.\n", ""));
    assert_eq!(place.run(&["config", "check", "--json"]).out, "{\"ok\":true}\n");
}

#[test]
fn every_mistake_is_reported_and_not_only_the_first() {
    let place = Place::new();
    let file = "[server]\nlisten = \"here\"\nlisen = 1\nbase_url = \"memory.example.com\"\n[log]\nformat = \"xml\"\n\
                [plans.free]\nrecords = -1\n[recall]\nmemory_bytes = \"lots\"\n";
    place.write("mnemon.toml", file);
    let done = place.run(&["config", "check", "--allow-origin", "nonsense"]);
    assert_eq!((done.code, done.out.as_str()), (1, ""));
    insta::assert_snapshot!(done.err, @r"
    error: the configuration has 7 mistake(s):
      - mnemon.toml: unknown setting 'server.lisen'; did you mean 'server.listen'?
      - mnemon.toml: 'recall.memory_bytes' must be a whole number
      - server.listen must be an address and a port, such as 127.0.0.1:7676, localhost:7676 or 7676, not 'here'
      - server.base_url must start with http:// or https://, not 'memory.example.com'
      - server.allowed_origins must list origins such as https://app.example.com, not 'nonsense'
      - log.format must be auto, human or json, not 'xml'
      - plans.free.records must not be negative
    ");
    let serve = place.run(&["serve", "--allow-origin", "nonsense"]);
    assert_eq!((serve.code, serve.err), (1, done.err), "serve says the same and starts nothing");
    assert!(!place.path().join("mnemon-data").exists());
}

#[test]
fn words_that_can_not_be_meant_are_refused_and_near_ones_suggested() {
    let place = Place::new();
    place.write("mnemon.toml", "[log]\nlevel = \"loud\"\n[server]\nbase_url = \"https://example.com/mnemon\"\n");
    let mut command = place.command(&["config", "check"]);
    command.env("MNEMON_LISTN", "127.0.0.1:1").env("MNEMON_QUUX", "1").env("MNEMON_API_KEY", "k").env("OTHER", "1");
    let done = Done::of(command.output().expect("the binary runs"));
    assert_eq!(done.code, 1);
    insta::assert_snapshot!(done.err, @r#"
    error: the configuration has 4 mistake(s):
      - unknown environment variable MNEMON_LISTN; did you mean MNEMON_LISTEN?
      - unknown environment variable MNEMON_QUUX
      - server.base_url must have no path: give the host alone, such as https://memory.example.com, not 'https://example.com/mnemon'
      - log.level 'loud' is not a level; use error, warn, info, debug or trace, or a filter such as "info,mnemon_engine=debug"
    "#);
}

#[test]
fn a_file_that_is_no_toml_or_not_there_is_named() {
    let place = Place::new();
    place.write("broken.toml", "[server\n");
    let broken = place.run(&["config", "check", "--config", "broken.toml"]);
    assert_eq!(broken.code, 1);
    assert!(broken.err.starts_with("error: the configuration has 1 mistake(s):\n  - broken.toml: "), "{}", broken.err);
    let missing = place.run(&["config", "check", "--config", "nowhere.toml"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.starts_with("error: can't read nowhere.toml: "), "{}", missing.err);
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let place = Place::new();
    place.write(
        "other.toml",
        "[server]\nlisten = \"127.0.0.1:1\"\n[storage]\ndata_dir = \"file\"\n[service]\nname = \"F\"\n",
    );
    let mut command = place.command(&["config", "print", "--listen", "127.0.0.1:3"]);
    command.env("MNEMON_CONFIG", "other.toml").env("MNEMON_LISTEN", "127.0.0.1:2").env("MNEMON_DATA_DIR", "variable");
    let done = Done::of(command.output().expect("the binary runs"));
    assert_eq!(done.code, 0, "{}", done.err);
    for line in ["listen = \"127.0.0.1:3\"", "data_dir = \"variable\"", "name = \"F\"", "format = \"auto\""] {
        assert!(done.out.lines().any(|printed| printed == line), "{line} is not in\n{}", done.out);
    }
    // The output is a valid configuration again.
    place.write("printed.toml", &done.out);
    assert_eq!(place.run(&["config", "print", "--config", "printed.toml"]).out, done.out);
}

#[test]
fn a_printed_configuration_hides_the_operators_token() {
    let place = Place::new();
    let token = "mnp_0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef";
    let mut command = place.command(&["config", "print"]);
    let done = Done::of(command.env("MNEMON_OPERATOR_TOKEN", token).output().expect("the binary runs"));
    assert!(done.out.contains("operator_token = \"***\"") && !done.out.contains(token), "{}", done.out);
    let mut command = place.command(&["config", "check"]);
    let done = Done::of(command.env("MNEMON_OPERATOR_TOKEN", "secret-but-wrong").output().expect("the binary runs"));
    assert!(done.code == 1 && !done.err.contains("secret-but-wrong"), "{}", done.err);
}
