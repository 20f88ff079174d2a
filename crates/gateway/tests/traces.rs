//! An upstream learns which trace a call belongs to, if there is one.

use std::num::NonZeroU64;

use jiff::Timestamp;
use mnemon_gateway::{Gateway, Limits, Outgoing, Target, Upstream};
use mnemon_testkit::TestUpstream;
use mnemon_traces::{TraceLayer, span};
use serde_json::{Map, Value};
use tracing::Instrument;
use tracing_subscriber::prelude::*;

#[tokio::test(flavor = "current_thread")]
async fn a_call_tells_its_trace_and_a_call_without_one_tells_none() {
    let upstream = TestUpstream::start().await;
    let gateway = Gateway::new(Outgoing::default(), Limits::default());
    let target = Target::Http { url: upstream.url.clone(), headers: Vec::new(), is_host_allowed: true };
    let way = Upstream { owner: [1; 16], name: "host".to_owned(), revision: 1, target };
    let arguments = Map::<String, Value>::new();
    let call = || gateway.call(&way, "echo", &arguments, Timestamp::UNIX_EPOCH);
    call().await.expect("an answer");
    assert!(upstream.recorded().iter().all(|request| request.header("traceparent").is_empty()));
    let (layer, mut ended, _) = TraceLayer::new(NonZeroU64::MIN);
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(TraceLayer::filter()));
    let _listening = tracing::subscriber::set_default(subscriber);
    let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    async { call().instrument(span!("upstream")).await.expect("an answer") }
        .instrument(span!("request", traceparent = caller))
        .await;
    let told = upstream.recorded().last().map(|request| request.header("traceparent").to_owned()).unwrap_or_default();
    let spans: Vec<_> = std::iter::from_fn(|| ended.try_recv().ok()).collect();
    let own = spans.iter().find(|span| span.name == "upstream").expect("the call has a span");
    let id: String = own.id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(told, format!("{}-{id}-01", &caller[..35]));
}
