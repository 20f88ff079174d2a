//! What a first-time user sees: the start, a text typed as it comes, a key that is not right.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use crate::process::{Place, at_terminal};

#[test]
fn the_first_start_shows_the_key_and_no_migrations() {
    let place = Place::new();
    let service = place.serve(&[]);
    assert!(service.key().starts_with("mnm_"));
    let log = service.stop().err;
    assert!(log.contains("listening") && !log.to_lowercase().contains("migration"), "{log}");
}

#[test]
fn an_address_to_listen_at_may_be_a_port_or_have_a_name() {
    for (given, host) in [("", "127.0.0.1"), ("localhost:", "localhost")] {
        let place = Place::new();
        let port = TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("a free port").port();
        let address = format!("{given}{port}");
        let mut command = place.command(&["serve", "--data-dir", "data", "--listen", &address]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary runs");
        let mut first = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut first).expect("output is UTF-8");
        let _ = child.kill();
        let _ = child.wait();
        assert!(
            first.contains(&format!("http://{host}:{port}")) || first.contains(&format!("http://127.0.0.1:{port}")),
            "{address}: {first}"
        );
    }
}

#[test]
fn a_text_is_typed_as_it_comes_and_a_terminal_says_that_it_waits() {
    let place = Place::new();
    let service = place.serve(&[]);
    let key = service.key();
    let at = ["--url", service.url.as_str(), "--key", key.as_str()];
    let words = place.run(&[&["remember", "We", "deploy", "on", "Tuesdays"][..], &at].concat());
    assert_eq!(words.code, 0, "{words:?}");
    let found = place.run(&[&["search", "when", "do", "we", "deploy"][..], &at].concat());
    assert!(found.out.contains("We deploy on Tuesdays"), "{found:?}");
    // Ctrl-D ends the text.
    let typed = at_terminal(place.command(&[&["remember"][..], &at].concat()), "The kettle is red.\n\u{4}");
    assert!(typed.err.contains("Type the text, then press Enter and Ctrl-D."), "{typed:?}");
    assert!(typed.code == 0 && typed.out.starts_with("Saved: "), "{typed:?}");
}

#[test]
fn a_login_with_a_wrong_key_speaks_to_a_person() {
    let place = Place::new();
    let service = place.serve(&[]);
    let wrong = format!("{}0", service.key());
    let mut told = Vec::new();
    told.push(place.run(&["login", &service.url, "--key", &wrong]));
    told.push(place.run_with_input(&["login", &service.url], format!("{wrong}\n").as_bytes()));
    for done in told {
        let expected =
            "does not know this key; copy all of it, and ask the person who made it whether it was revoked\n";
        assert!(done.code == 1 && done.err.ends_with(expected), "{done:?}");
        assert!(!done.err.contains("Bearer") && !done.err.contains(&wrong), "{done:?}");
    }
}

#[test]
fn errors_say_the_cause_once_and_first() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (url, key) = (service.url.clone(), service.key());
    let at = |arguments: &[&str]| place.run(&[arguments, &["--url", &url, "--key", &key]].concat());
    for (done, cause) in [
        (at(&["search", "x", "--workspace", "nowhere"]), "error: workspace 'nowhere' is not active\n"),
        (at(&["key", "create", "--project", "Nowhere", "--member", "admin"]), "error: no project is called `Nowhere`"),
        (place.run(&["backup", "b.db", "--data-dir", "none"]), "error: no backup was made: there is no data of mnemon"),
    ] {
        assert!(done.code == 1 && done.err.starts_with(cause), "{done:?}");
        assert!(!done.err.contains("Error executing tool") && !done.err.contains("storage failed"), "{done:?}");
    }
}
