//! How the service is installed: the image, the compose file, completions and man pages, as far as they can
//! be tried without a registry and without root.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::{Done, Place};

fn ops(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(ops(path)).expect("a file of ours")
}

fn run(program: &str, arguments: &[&str]) -> Done {
    let output = Command::new(program).args(arguments).output();
    Done::of(output.unwrap_or_else(|error| panic!("{program}: {error}")))
}

#[test]
fn the_proxy_of_the_compose_file_has_a_valid_configuration() {
    let path = ops("container/haproxy.cfg").display().to_string();
    let done = run("haproxy", &["-c", "-f", &path]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
}

/// A YAML file as JSON.
fn yaml(path: &str) -> Value {
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let done = run("python3", &["-c", script, &ops(path).display().to_string()]);
    assert_eq!(done.code, 0, "{}; on Debian: apt-get install python3-yaml", done.err);
    done.json()
}

#[test]
fn the_compose_file_starts_three_nodes_that_can_write_nowhere() {
    let compose = yaml("container/compose.yml");
    let services = compose["services"].as_object().expect("services");
    for name in ["node1", "node2", "node3"] {
        let node = &services[name];
        assert_eq!(node["read_only"], true, "{name}");
        assert_eq!(node["cap_drop"][0], "ALL", "{name}");
        assert!(node["ports"].is_null(), "only the proxy is reachable from outside: {name}");
        for variable in node["environment"].as_object().expect("variables").keys() {
            let known = mnemon_server::config::ENVIRONMENT.iter().any(|known| known.name == variable);
            assert!(known, "{variable} is no variable of the service");
        }
        let dockerfile = node["build"]["dockerfile"].as_str().expect("a path");
        assert!(ops("..").join(dockerfile).exists(), "{dockerfile}");
        assert!(read("container/haproxy.cfg").contains(&format!("server {name} {name}:7676")), "{name}");
        let scraped = read("prometheus/prometheus.yml");
        assert!(scraped.contains(&format!("{name}:7677")), "{name}");
    }
    let proxy = services["haproxy"]["networks"]["default"]["ipv4_address"].as_str().expect("a fixed address");
    let trusted = services["node1"]["environment"]["MNEMON_TRUSTED_PROXIES"].as_str().expect("an address");
    assert_eq!(trusted, format!("{proxy}/32"), "nobody but the proxy says who calls");
    for (name, service) in services {
        for volume in service["volumes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let source = volume.split(':').next().unwrap_or_default();
            let is_there = compose["volumes"].get(source).is_some() || ops("container").join(source).exists();
            assert!(is_there, "{name}: {source}");
        }
    }
}

/// The instructions of the image's last stage, continued lines joined.
fn last_stage() -> Vec<(String, String)> {
    let text = read("container/Dockerfile").replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let all: Vec<(String, String)> = lines
        .map(|line| line.split_once(' ').unwrap_or((line, "")))
        .map(|(word, rest)| (word.to_owned(), rest.trim().to_owned()))
        .collect();
    let start = all.iter().rposition(|(word, _)| word == "FROM").expect("a stage");
    all[start..].to_vec()
}

#[test]
fn the_image_runs_without_rights_and_answers_its_own_health_check() {
    let stage = last_stage();
    let of = |word: &str| stage.iter().find(|(found, _)| found == word).map(|(_, rest)| rest.as_str());
    let user = of("USER").expect("a user");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert_eq!(of("ENTRYPOINT"), Some(r#"["/usr/bin/mnemon"]"#));
    let words = |text: &str| serde_json::from_str::<Vec<String>>(text).expect("a list of words");
    let check = of("HEALTHCHECK").and_then(|check| check.split_once("CMD ")).expect("a health check").1;
    let (serve, check) = (words(of("CMD").expect("a command")), words(check));
    assert_eq!(check[0], "/usr/bin/mnemon");
    // The service as the image starts it, on another port and another directory.
    let place = Place::new();
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
    let command = |arguments: &[String]| {
        let mut command = place.command(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        for pair in of("ENV").expect("variables").split_whitespace() {
            let (name, value) = pair.split_once('=').expect("NAME=value");
            command.env(name, value);
        }
        command.env("MNEMON_DATA_DIR", place.data_dir()).env("MNEMON_LISTEN", format!("0.0.0.0:{port}"));
        command.env("MNEMON_METRICS_LISTEN", "");
        command
    };
    let without_url = Done::of(command(&serve).output().expect("the binary runs"));
    assert!(without_url.err.contains("server.base_url is required"), "{}", without_url.err);
    let mut serving = command(&serve);
    serving.env("MNEMON_BASE_URL", "https://memory.example.com").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = serving.spawn().expect("the binary runs");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("it announces itself");
    let mut asked = command(&check[1..]);
    let healthy = Done::of(asked.env("MNEMON_BASE_URL", "https://memory.example.com").output().expect("it runs"));
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!((healthy.code, healthy.out.as_str()), (0, "live\n"), "{}", healthy.err);
    let gone = Done::of(asked.output().expect("it runs"));
    assert_eq!(gone.code, 1);
    assert!(gone.err.contains("no answer from http://127.0.0.1:"), "{}", gone.err);
}

#[test]
fn completions_and_man_pages_name_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]);
        assert_eq!(script.code, 0, "{}", script.err);
        for word in ["serve", "remember", "integration", "--data-dir", "rotate-key"] {
            assert!(script.out.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
    let script = place.write("mnemon.bash", &place.run(&["completions", "bash"]).out);
    assert_eq!(run("bash", &["-n", &script.display().to_string()]).code, 0);
    let made = place.run(&["man", "man1"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let page = |name: &str| std::fs::read_to_string(place.path().join("man1").join(name)).expect("a page");
    assert!(page("mnemon.1").contains(".TH mnemon 1"), "{}", page("mnemon.1"));
    let serve = page("mnemon-serve.1");
    assert!(serve.contains("Start the service") && serve.contains("data\\-dir"), "{serve}");
    assert!(page("mnemon-key-create.1").contains("mnemon\\-key\\-create"));
    assert!(!place.path().join("man1/mnemon-reference.1").exists(), "hidden commands have no page");
}

#[test]
fn the_release_script_is_a_valid_script() {
    let script = ops("../tools/release").display().to_string();
    let usage = run(&script, &[]);
    assert_eq!(usage.code, 2);
    assert!(usage.err.starts_with("usage: release [-h]"), "{}", usage.err);
}

#[test]
fn the_release_script_makes_an_archive_that_runs_and_a_checksum_that_fits() {
    let place = Place::new();
    let (script, out) = (ops("../tools/release").display().to_string(), place.path().join("out").display().to_string());
    // A script that starts the program: packing the program itself, unoptimised, would take minutes.
    let stand_in = place.write("mnemon", concat!("#!/bin/sh\nexec ", env!("CARGO_BIN_EXE_mnemon"), " \"$@\"\n"));
    assert_eq!(run("chmod", &["+x", &stand_in.display().to_string()]).code, 0);
    let binary = format!("x86_64-unknown-linux-musl={}", stand_in.display());
    let made = run(&script, &[&out, "--target", "x86_64-unknown-linux-musl", "--binary", &binary]);
    assert_eq!(made.code, 0, "{made:?}");
    let check = format!("cd {out} && sha256sum -c SHA256SUMS && tar xzf mnemon-*.tar.gz && mnemon-*/mnemon --version");
    let checked = run("bash", &["-ec", &check]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.out.contains(".tar.gz: OK") && checked.out.contains("mnemon 0."), "{checked:?}");
    let listed = run(
        "bash",
        &["-ec", &format!("cd {out}/mnemon-*/ && ls -d man/mnemon.1 completions/_mnemon ops/systemd LICENSE")],
    );
    assert_eq!(listed.code, 0, "{listed:?}");
}
