//! What may be called, shown with a real site on loopback and names that point where the test says.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mnemon_gateway::{Outgoing, OutgoingConfig, OutgoingError, Resolver};
use mnemon_testkit::{Page, Web};
use url::Url;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Public, but its answer is not awaited.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(8, 8, 4, 4));
const SOON: Duration = Duration::from_secs(5);
const KIB_64: usize = 64 << 10;

/// Names with the answer of each look-up; the last one repeats.
#[derive(Default)]
struct Names {
    answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    looks: AtomicUsize,
}

impl Names {
    fn of(answers: impl IntoIterator<Item = (&'static str, Vec<Vec<IpAddr>>)>) -> Arc<Self> {
        Arc::new(Self { answers: answers.into_iter().collect(), looks: AtomicUsize::default() })
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        let answers = self.answers.get(host).ok_or_else(|| io::Error::other("there is no such name"))?;
        Ok(answers[look.min(answers.len() - 1)].clone())
    }
}

fn outgoing(web: &Web, allowed: &[&str], names: Arc<Names>) -> Outgoing {
    let config = OutgoingConfig {
        allowed_hosts: allowed.iter().map(|host| (*host).to_owned()).collect(),
        trusted: vec![web.certificate.clone()],
    };
    Outgoing::with_resolver(&config, names).expect("a client")
}

async fn get(outgoing: &Outgoing, url: &str) -> Result<String, OutgoingError> {
    let url = Url::parse(url).expect("a test's address");
    let fetched = outgoing.fetch(&url, "application/json", KIB_64, SOON).await?;
    Ok(String::from_utf8(fetched.body.to_vec()).expect("text"))
}

#[tokio::test]
async fn an_allowed_host_is_reached_wherever_it_is() {
    let web = Web::start(&["inside.example"]).await;
    web.put("/a", Page::Json("{}".to_owned()));
    let names = || Names::of([("inside.example", vec![vec![LOOPBACK]])]);
    let open = outgoing(&web, &["Inside.Example."], names());
    assert_eq!(get(&open, &web.url("inside.example", "/a")).await, Ok("{}".to_owned()));
    let closed = outgoing(&web, &[], names());
    let refused = get(&closed, &web.url("inside.example", "/a")).await;
    assert_eq!(refused, Err(OutgoingError::Closed("inside.example".to_owned())));
    assert_eq!(web.connections(), 1, "the refused call made no connection");
}

#[tokio::test]
async fn addresses_in_every_spelling_are_refused_before_any_connection() {
    let web = Web::start(&["localhost"]).await;
    let closed = outgoing(&web, &[], Names::of([("localhost", vec![vec![LOOPBACK]])]));
    let port = web.address.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[fe80::1]",
        "[fd00::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "255.255.255.255",
        "127\u{3002}0\u{3002}0\u{3002}1",
        "\u{2460}27.0.0.1",
        "localhost",
        "LOCALHOST",
    ] {
        let refused = get(&closed, &format!("https://{host}:{port}/a")).await;
        assert!(matches!(refused, Err(OutgoingError::Closed(_))), "{host}: {refused:?}");
    }
    assert_eq!(web.connections(), 0);
}

#[tokio::test]
async fn a_name_with_one_internal_address_is_refused() {
    let web = Web::start(&["two.example"]).await;
    let names = Names::of([("two.example", vec![vec![ELSEWHERE, LOOPBACK]])]);
    let refused = get(&outgoing(&web, &[], names), &web.url("two.example", "/a")).await;
    assert_eq!(refused, Err(OutgoingError::Closed("two.example".to_owned())));
}

/// DNS rebinding: the first look-up is harmless, every later one points inside. Each connection makes one look-up, and
/// that one is checked.
#[tokio::test]
async fn a_name_that_changes_between_look_ups_never_leads_inside() {
    let web = Web::start(&["changing.example"]).await;
    web.put("/a", Page::Json("{}".to_owned()));
    let names = Names::of([("changing.example", vec![vec![ELSEWHERE], vec![LOOPBACK]])]);
    let closed = outgoing(&web, &[], Arc::clone(&names));
    let url = Url::parse(&web.url("changing.example", "/a")).unwrap();
    let first = closed.fetch(&url, "*/*", KIB_64, Duration::from_millis(300)).await;
    assert!(matches!(first, Err(OutgoingError::TooSlow { .. } | OutgoingError::Unreachable { .. })), "{first:?}");
    assert_eq!(names.looks.load(Ordering::SeqCst), 1, "check and use are one look");
    for _ in 0..3 {
        assert_eq!(get(&closed, url.as_str()).await, Err(OutgoingError::Closed("changing.example".to_owned())));
    }
    assert_eq!(web.connections(), 0);
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let web = Web::start(&["inside.example"]).await;
    web.put("/there", Page::Json("{}".to_owned()));
    for to in [web.url("inside.example", "/there"), "http://127.0.0.1/".to_owned(), "/there".to_owned()] {
        web.put("/here", Page::Redirect(to));
        let open = outgoing(&web, &["inside.example"], Names::of([("inside.example", vec![vec![LOOPBACK]])]));
        let refused = get(&open, &web.url("inside.example", "/here")).await;
        assert_eq!(refused, Err(OutgoingError::Redirect("inside.example".to_owned())));
    }
    assert_eq!(web.connections(), 3);
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_limit_and_not_a_byte_further() {
    let web = Web::start(&["inside.example"]).await;
    let open = outgoing(&web, &["inside.example"], Names::of([("inside.example", vec![vec![LOOPBACK]])]));
    let url = web.url("inside.example", "/long");
    for is_told in [true, false] {
        web.put("/long", Page::Long { bytes: KIB_64, is_told });
        assert_eq!(get(&open, &url).await.map(|body| body.len()), Ok(KIB_64));
        for bytes in [KIB_64 + 1, 100 << 20] {
            web.put("/long", Page::Long { bytes, is_told });
            assert_eq!(get(&open, &url).await, Err(OutgoingError::TooLarge { bytes_max: KIB_64 }), "{bytes}");
        }
    }
}

#[tokio::test]
async fn a_slow_answer_ends_at_the_deadline() {
    let web = Web::start(&["inside.example"]).await;
    let open = outgoing(&web, &["inside.example"], Names::of([("inside.example", vec![vec![LOOPBACK]])]));
    let url = Url::parse(&web.url("inside.example", "/slow")).unwrap();
    for page in [Page::Drip, Page::Silence] {
        web.put("/slow", page);
        let began = std::time::Instant::now();
        let ended = open.fetch(&url, "*/*", KIB_64, Duration::from_secs(1)).await;
        assert_eq!(ended.map(|fetched| fetched.body), Err(OutgoingError::TooSlow { seconds: 1 }));
        assert!(began.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn only_https_without_user_and_password_is_called() {
    let web = Web::start(&["inside.example"]).await;
    let names = || Names::of([("inside.example", vec![vec![LOOPBACK]])]);
    let closed = outgoing(&web, &[], names());
    let open = outgoing(&web, &["inside.example"], names());
    for url in
        ["http://example.com/", "https://user@example.com/", "https://:secret@example.com/", "ftp://example.com/"]
    {
        let refused = closed.check(&Url::parse(url).unwrap());
        assert!(matches!(&refused, Err(OutgoingError::Url(shown)) if !shown.contains("secret")), "{url}: {refused:?}");
    }
    assert_eq!(open.check(&Url::parse("http://inside.example/").unwrap()), Ok(()), "allowed hosts may speak plainly");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let web = Web::start(&["inside.example"]).await;
    web.put("/a", Page::Json("{}".to_owned()));
    let open = outgoing(&web, &["other.example"], Names::of([("other.example", vec![vec![LOOPBACK]])]));
    let refused = get(&open, &web.url("other.example", "/a")).await;
    assert!(matches!(refused, Err(OutgoingError::Unreachable { .. })), "{refused:?}");
}
