//! What an upstream at a URL may send: each limit is tested exactly and one past it.

use jiff::Timestamp;
use mnemon_gateway::{Gateway, Limits, Outgoing, Target, Upstream, UpstreamError};
use mnemon_testkit::{TestUpstream, Trick, read_tool};
use serde_json::{Map, Value};

/// The largest answer, and what may come around it.
const TRANSPORT_BYTES_MAX: usize = (1 << 20) + (64 << 10);
const TOO_LARGE: UpstreamError = UpstreamError::TooLarge { bytes_max: 1 << 20 };

/// An upstream and a gateway to it.
struct Meeting {
    upstream: TestUpstream,
    gateway: Gateway,
    way: Upstream,
}

impl Meeting {
    async fn arrange() -> Self {
        let upstream = TestUpstream::start().await;
        let gateway = Gateway::new(Outgoing::default(), Limits::default());
        let target = Target::Http { url: upstream.url.clone(), headers: Vec::new(), is_host_allowed: true };
        let way = Upstream { owner: [1; 16], name: "host".to_owned(), revision: 1, target };
        Self { upstream, gateway, way }
    }

    /// The names of the upstream's tools.
    async fn list(&self) -> Result<Vec<String>, UpstreamError> {
        let listing = self.gateway.list_tools(&self.way).await?;
        Ok(listing.tools.iter().map(|tool| tool.name().to_owned()).collect())
    }

    async fn call(&self, trick: Trick) -> Result<(), UpstreamError> {
        self.upstream.on_call(trick);
        let arguments = Map::<String, Value>::new();
        self.gateway.call(&self.way, "echo", &arguments, Timestamp::UNIX_EPOCH).await.map(|_| ())
    }
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page_and_no_further() {
    let meeting = Meeting::arrange().await;
    meeting.upstream.set_tools_per_page(1);
    let names = |count: usize| (1..=count).map(|number| format!("t{number}")).collect::<Vec<_>>();
    for count in [32, 33] {
        meeting.upstream.set_tools(names(count).iter().map(|name| read_tool(name)).collect());
        let expected = if count == 32 { Ok(names(32)) } else { Err(UpstreamError::TooManyPages { pages_max: 32 }) };
        assert_eq!(meeting.list().await, expected, "{count} pages");
        let is_list = |method: &str| method == "tools/list";
        let asked = meeting.upstream.recorded().iter().filter(|request| is_list(request.method())).count();
        assert_eq!(asked, if count == 32 { 32 } else { 64 }, "one request for each page, and none past the bound");
    }
}

#[tokio::test]
async fn tools_are_counted_over_all_pages() {
    let meeting = Meeting::arrange().await;
    meeting.upstream.set_tools_per_page(100);
    for count in [512, 513] {
        meeting.upstream.set_tools((0..count).map(|number| read_tool(&format!("t{number}"))).collect());
        let expected = if count == 512 { Ok(512) } else { Err(UpstreamError::TooManyTools { tools_max: 512 }) };
        assert_eq!(meeting.list().await.map(|tools| tools.len()), expected);
    }
}

#[tokio::test]
async fn a_session_id_is_accepted_up_to_its_limit() {
    let meeting = Meeting::arrange().await;
    meeting.upstream.set_session_bytes_min(1_024);
    assert_eq!(meeting.list().await, Ok(vec!["echo".to_owned(), "write".to_owned()]));
    let recorded = meeting.upstream.recorded();
    assert_eq!(recorded.last().expect("a request").header("mcp-session-id").len(), 1_024);

    let meeting = Meeting::arrange().await;
    meeting.upstream.set_session_bytes_min(1_025);
    let too_long = UpstreamError::Garbled("its session id is longer than 1024 bytes");
    assert_eq!(meeting.list().await, Err(too_long));
    let sessions =
        meeting.upstream.recorded().into_iter().filter(|request| !request.header("mcp-session-id").is_empty());
    assert_eq!(sessions.count(), 0, "it is not sent back");
}

#[tokio::test]
async fn an_answers_envelope_is_read_up_to_its_limit() {
    let meeting = Meeting::arrange().await;
    assert_eq!(meeting.call(Trick::Padded(TRANSPORT_BYTES_MAX)).await, Ok(()));
    assert_eq!(meeting.call(Trick::Padded(TRANSPORT_BYTES_MAX + 1)).await, Err(TOO_LARGE));
}

/// The bytes after the answer may arrive together with it or later; that must not matter.
#[tokio::test]
async fn a_stream_is_read_up_to_its_limit_whatever_comes_after_the_answer() {
    let meeting = Meeting::arrange().await;
    for _ in 0..4 {
        assert_eq!(meeting.call(Trick::PaddedEvents(TRANSPORT_BYTES_MAX)).await, Ok(()));
        assert_eq!(meeting.call(Trick::PaddedEvents(TRANSPORT_BYTES_MAX + 1)).await, Err(TOO_LARGE));
    }
}

#[tokio::test]
async fn sixteen_questions_are_answered_and_the_seventeenth_is_ignored() {
    for (asked, answered) in [(16, 16), (17, 16)] {
        let meeting = Meeting::arrange().await;
        assert_eq!(meeting.call(Trick::Questions(asked)).await, Ok(()), "the answer is found after {asked} questions");
        let recorded = meeting.upstream.recorded();
        let answers =
            recorded.iter().filter(|request| request.body["id"].as_str().is_some_and(|id| id.starts_with("q-")));
        assert_eq!(answers.count(), answered);
    }
}
