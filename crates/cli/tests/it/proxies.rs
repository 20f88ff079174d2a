//! Proxies in front of the service: the guide's balancer as it stands, and one with a certificate of a private
//! authority.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mnemon_testkit::faults::guides_balancer;

use crate::operations::address_of;
use crate::process::{Done, Place, Service};

const PATIENCE: Duration = Duration::from_secs(30);

/// HAProxy with a configuration, on a free port of loopback.
struct Proxy {
    child: Child,
    address: String,
}

impl Proxy {
    /// `FRONT` in the configuration stands for the address that it listens on.
    fn start(place: &Place, configuration: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let address = free.to_string();
        let file = place.write("haproxy.cfg", &configuration.replace("FRONT", &address));
        let child = Command::new("haproxy").arg("-f").arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.expect("haproxy runs; on Debian: apt-get install haproxy");
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(&address).is_err() {
            assert!(Instant::now() < deadline, "HAProxy does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, address }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of a call with a wrong key, which claims to come from somewhere.
fn guess(address: &str, number: usize) -> String {
    let mut stream = TcpStream::connect(address).expect("the proxy listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer mnm_wrong{number}\r\nx-forwarded-for: 203.0.113.{number}\r\n\
         content-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).expect("the request is sent");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line.split(' ').nth(1).expect("a status").to_owned()
}

/// The limit on wrong keys holds behind a balancer, wherever its callers say that they are.
fn check_made_up_addresses(balancer: impl Fn(SocketAddr) -> String) {
    let place = Place::new();
    let mut command = place.command(&[]);
    command.env("MNEMON_TRUSTED_PROXIES", "127.0.0.1");
    let service = Service::start_by(&place, command, &[]);
    let proxy = Proxy::start(&place, &balancer(address_of(&service).parse().expect("an address")));
    let deadline = Instant::now() + PATIENCE;
    while guess(&proxy.address, 0) == "503" {
        assert!(Instant::now() < deadline, "the balancer finds no node");
    }
    let statuses: Vec<String> = (1..=30).map(|number| guess(&proxy.address, number)).collect();
    assert_eq!(statuses.iter().filter(|status| *status == "401").count(), 29, "one was used up before: {statuses:?}");
    assert_eq!(statuses.last().map(String::as_str), Some("429"));
}

#[test]
fn a_made_up_address_does_not_escape_the_limit_on_wrong_keys_behind_the_guides_balancer() {
    check_made_up_addresses(|node| guides_balancer("FRONT", &[node]));
}

#[test]
fn a_made_up_address_does_not_escape_the_limit_on_wrong_keys_behind_the_balancer_of_the_compose_file() {
    const CONFIGURATION: &str = include_str!("../../../../ops/container/haproxy.cfg");
    check_made_up_addresses(|node| {
        let is_other = |line: &&str| ["server node2 ", "server node3 "].iter().any(|one| line.contains(one));
        let lines: Vec<&str> = CONFIGURATION.lines().filter(|line| !is_other(line)).collect();
        let text = lines.join("\n") + "\n";
        let (bind, server) = ("bind :7676\n", "server node1 node1:7676\n");
        assert!(text.contains(bind) && text.contains(server), "{text}");
        // Its names and its resolver are those of containers, and so is the room for twenty thousand connections.
        let text = text.replace(bind, "bind FRONT\n").replace("maxconn 20000\n", "maxconn 200\n");
        text.replace(server, &format!("server node1 {node}\n"))
    });
}

/// Runs openssl.
fn openssl(place: &Place, arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).current_dir(place.path()).output();
    let done = Done::of(output.expect("openssl runs; on Debian: apt-get install openssl"));
    assert_eq!(done.code, 0, "{}", done.err);
}

/// A private authority, `ca.pem`, and a certificate by it for localhost with its key, `server.pem`.
fn make_certificates(place: &Place) {
    let new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let authority = ["req", "-x509", "-days", "2", "-subj", "/CN=Company", "-keyout", "ca.key", "-out", "ca.pem"];
    openssl(place, &[&authority[..], &new].concat());
    openssl(
        place,
        &[&["req", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"][..], &new].concat(),
    );
    place.write("names", "subjectAltName=DNS:localhost\n");
    let sign =
        ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
    openssl(place, &[&sign[..], &["-extfile", "names", "-out", "server.crt"]].concat());
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect("openssl wrote it");
    place.write("server.pem", &(read("server.crt") + &read("server.key")));
}

#[test]
fn a_service_behind_a_private_authority_is_reached_once_that_is_named() {
    let place = Place::new();
    let service = place.serve(&[]);
    make_certificates(&place);
    let configuration = format!(
        "defaults\n    mode http\n    timeout connect 2s\n    timeout client 60s\n    timeout server 60s\nfrontend f\n    bind \
         FRONT ssl crt {}/server.pem\n    default_backend b\nbackend b\n    server one {}\n",
        place.path().display(),
        address_of(&service)
    );
    let proxy = Proxy::start(&place, &configuration);
    let url = proxy.address.replace("127.0.0.1", "https://localhost");
    let key = service.key();
    let run = |words: &[&str], variable: Option<(&str, &str)>| {
        let mut command = place.command(&[words, &["--url", &url, "--key", &key]].concat());
        Done::of(command.envs(variable).output().expect("the binary runs"))
    };
    let refused = run(&["whoami"], None);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("its certificate is not accepted"), "{}", refused.err);
    assert!(refused.err.contains("--ca-file or MNEMON_CA_FILE"), "{}", refused.err);
    assert!(!refused.err.contains("is the service running"), "{}", refused.err);
    for (words, variable) in [
        (&["whoami", "--ca-file", "ca.pem"][..], None),
        (&["whoami"], Some(("MNEMON_CA_FILE", "ca.pem"))),
        (&["whoami"], Some(("SSL_CERT_FILE", "ca.pem"))),
        (&["search", "anything"], Some(("MNEMON_CA_FILE", "ca.pem"))),
    ] {
        let done = run(words, variable);
        assert!(done.code == 0 || done.err.contains("is not active"), "{words:?} {variable:?}: {done:?}");
    }
    let list = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    let agent = ["--ca-file", "ca.pem", "agent", "--url", &url, "--key", &key];
    let mut command = place.command(&agent);
    command.env("HOME", place.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("piped").write_all(list).expect("the agent reads");
    let done = Done::of(child.wait_with_output().expect("it ends with its input"));
    assert!(done.out.contains("validate_memory"), "{done:?}");
    let wrong = run(&["whoami", "--ca-file", "names"], None);
    assert!(wrong.code == 1 && wrong.err.contains("contains no certificate"), "{wrong:?}");
}
