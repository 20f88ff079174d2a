//! Follows spans while they are open, and hands on those that ended.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::{Ended, Kind, ROOT, TARGET, TraceParent, Value};

/// Spans that wait to be sent. Past this many, new ones are dropped: a slow collector must not cost memory.
const WAITING_MAX: usize = 8_192;

/// Gathers spans.
pub struct TraceLayer {
    /// Of how many requests without a parent one is traced.
    every: NonZeroU64,
    requests: AtomicU64,
    ids: Ids,
    ended: mpsc::Sender<Ended>,
    dropped: Arc<AtomicU64>,
}

/// A span while it is open.
struct Open {
    place: TraceParent,
    parent: Option<[u8; 8]>,
    began: u64,
    fields: Fields,
}

/// What was said about a span.
#[derive(Default)]
struct Fields {
    told: Vec<(&'static str, Value)>,
    parent: Option<TraceParent>,
    is_failed: bool,
}

impl TraceLayer {
    /// The layer, the spans that ended, and how many were dropped because they were not taken.
    pub fn new(every: NonZeroU64) -> (Self, mpsc::Receiver<Ended>, Arc<AtomicU64>) {
        let (ended, receiver) = mpsc::channel(WAITING_MAX);
        let dropped = Arc::default();
        let layer = Self { every, requests: AtomicU64::new(0), ids: Ids::new(), ended, dropped: Arc::clone(&dropped) };
        (layer, receiver, dropped)
    }

    /// Lets through what this layer gathers, and nothing else.
    pub fn filter<S>() -> impl Filter<S> {
        tracing_subscriber::filter::filter_fn(|about: &Metadata<'_>| about.target() == TARGET && about.is_span())
    }

    /// Where a span that nothing of ours encloses belongs: to the caller's trace, or to a new one.
    fn begin(&self, caller: Option<TraceParent>) -> TraceParent {
        match caller {
            Some(caller) => TraceParent { span: self.ids.span(), ..caller },
            None => {
                let is_sampled = self.requests.fetch_add(1, Ordering::Relaxed) % self.every == 0;
                TraceParent { trace: self.ids.trace(), span: self.ids.span(), is_sampled }
            }
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TraceLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let above = span.parent().and_then(|parent| parent.extensions().get::<Open>().map(|open| open.place));
        let (place, parent) = match above {
            Some(above) => (TraceParent { span: self.ids.span(), ..above }, Some(above.span)),
            None if span.name() == ROOT => (self.begin(fields.parent), fields.parent.map(|parent| parent.span)),
            // Work in the background belongs to no request.
            None => return,
        };
        span.extensions_mut().insert(Open { place, parent, began: now(), fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<Open>().filter(|open| open.place.is_sampled) else { return };
        let kind = match span.name() {
            ROOT => Kind::Server,
            "upstream" => Kind::Client,
            _ => Kind::Internal,
        };
        let name = open.name(span.name());
        let Open { place, parent, began, fields } = open;
        let (fields, is_failed) = (fields.told, fields.is_failed);
        let ended =
            Ended { trace: place.trace, id: place.span, parent, name, kind, began, ended: now(), fields, is_failed };
        if self.ended.try_send(ended).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Open {
    /// A request is called by its method and its route, as OpenTelemetry asks for.
    fn name(&self, name: &str) -> String {
        let field = |wanted: &str| {
            let found = self.fields.told.iter().find(|(name, _)| *name == wanted);
            found.and_then(|(_, value)| if let Value::Text(text) = value { Some(text.as_str()) } else { None })
        };
        match (field("http.request.method"), field("http.route")) {
            (Some(method), Some(route)) => format!("{method} {route}"),
            (Some(method), None) => method.to_owned(),
            _ => name.to_owned(),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "traceparent" => self.parent = TraceParent::parse(value),
            name => self.told.push((name, Value::Text(value.to_owned()))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.told.push((field.name(), Value::Number(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.told.push((field.name(), Value::Number(i64::try_from(value).unwrap_or(i64::MAX))));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "failed" => self.is_failed = value,
            name => self.told.push((name, Value::Flag(value))),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.told.push((field.name(), Value::Text(format!("{value:?}"))));
    }
}

/// The `traceparent` for a request that the current span makes, if it belongs to a trace.
pub fn current_traceparent() -> Option<String> {
    let place = tracing::Span::current().with_subscriber(|(id, dispatch)| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        let scope = registry.span(id)?.scope();
        scope.into_iter().find_map(|span| span.extensions().get::<Open>().map(|open| open.place))
    });
    place.flatten().map(|place| place.to_string())
}

/// Unique ids. They need not be secret, so one random number and a count make them.
struct Ids {
    seed: u64,
    next: AtomicU64,
}

impl Ids {
    fn new() -> Self {
        let mut seed = [0; 8];
        // Without randomness, the time still distinguishes nodes and starts.
        let seed = if getrandom::fill(&mut seed).is_ok() { u64::from_le_bytes(seed) } else { now() };
        Self { seed, next: AtomicU64::new(1) }
    }

    fn number(&self) -> u64 {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        // SplitMix64: each count gives another number, and none of them looks like its neighbours.
        let mut mixed = self.seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).max(1)
    }

    fn span(&self) -> [u8; 8] {
        self.number().to_be_bytes()
    }

    fn trace(&self) -> [u8; 16] {
        ((u128::from(self.number()) << 64) | u128::from(self.number())).to_be_bytes()
    }
}

#[expect(clippy::disallowed_methods, reason = "spans tell when they really were, and no decision depends on it")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::prelude::*;

    use super::*;
    use crate::span;

    /// The spans gathered while something runs, sampling one request in `every`.
    fn gathered(every: u64, run: impl FnOnce()) -> Vec<Ended> {
        let (layer, mut ended, _) = TraceLayer::new(NonZeroU64::new(every).unwrap());
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(TraceLayer::filter()));
        tracing::subscriber::with_default(subscriber, run);
        std::iter::from_fn(|| ended.try_recv().ok()).collect()
    }

    #[test]
    fn spans_belong_to_the_request_around_them() {
        let spans = gathered(1, || {
            let request = span!("request", http.request.method = "POST", http.route = "/mcp", failed = false);
            request.in_scope(|| {
                let tool = span!("tool", mnemon.tool = "search", mnemon.hits = 3_u64);
                // Others' spans and events are not ours.
                tracing::info!("an event");
                tool.in_scope(|| tracing::info_span!("other").in_scope(|| span!("rank").in_scope(|| {})));
            });
            request.record("failed", true);
        });
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["rank", "tool", "POST /mcp"]);
        let [rank, tool, request] = &spans[..] else { unreachable!() };
        assert_eq!((rank.parent, tool.parent, request.parent), (Some(tool.id), Some(request.id), None));
        assert!(rank.trace == request.trace && tool.trace == request.trace && request.trace != [0; 16]);
        assert_eq!((request.kind, request.is_failed, tool.kind), (Kind::Server, true, Kind::Internal));
        let fields = [("mnemon.tool", Value::Text("search".to_owned())), ("mnemon.hits", Value::Number(3))];
        assert_eq!(tool.fields, fields);
        assert!(request.began <= rank.began && rank.ended <= request.ended);
    }

    #[test]
    fn a_caller_s_trace_is_continued_and_passed_on() {
        let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut passed_on = None;
        let spans = gathered(1_000, || {
            span!("request", traceparent = caller).in_scope(|| {
                span!("upstream").in_scope(|| passed_on = current_traceparent());
            });
        });
        let [upstream, request] = &spans[..] else { panic!("{spans:?}") };
        let caller = TraceParent::parse(caller).unwrap();
        assert_eq!((request.trace, request.parent), (caller.trace, Some(caller.span)));
        assert_eq!(upstream.kind, Kind::Client);
        let expected = TraceParent { trace: caller.trace, span: upstream.id, is_sampled: true };
        assert_eq!(passed_on, Some(expected.to_string()));
        assert!(request.fields.is_empty(), "the header is no field: {request:?}");
    }

    #[test]
    fn what_a_caller_does_not_keep_or_a_sample_leaves_out_is_not_gathered_but_passed_on() {
        let unkept = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let mut passed_on = None;
        let spans = gathered(3, || {
            let request = span!("request", traceparent = unkept);
            request.in_scope(|| span!("tool").in_scope(|| passed_on = current_traceparent()));
            drop(request);
            for _ in 0..7 {
                span!("request").in_scope(|| span!("tool").in_scope(|| {}));
            }
        });
        assert!(passed_on.is_some_and(|header| header.starts_with(&unkept[..36]) && header.ends_with("-00")));
        assert_eq!(spans.len(), 6, "the first, the fourth and the seventh, two each");
    }

    #[test]
    fn nothing_happens_outside_of_a_request_or_without_anybody_who_listens() {
        let spans = gathered(1, || span!("store").in_scope(|| assert_eq!(current_traceparent(), None)));
        assert!(spans.is_empty(), "{spans:?}");
        assert!(span!("request").is_disabled());
        assert_eq!(current_traceparent(), None);
    }

    #[test]
    fn past_the_limit_spans_are_dropped_and_counted() {
        let (layer, mut ended, dropped) = TraceLayer::new(NonZeroU64::MIN);
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(TraceLayer::filter()));
        tracing::subscriber::with_default(subscriber, || {
            (0..WAITING_MAX).for_each(|_| drop(span!("request")));
            assert_eq!(dropped.load(Ordering::Relaxed), 0);
            drop(span!("request"));
        });
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        assert_eq!(std::iter::from_fn(|| ended.try_recv().ok()).count(), WAITING_MAX);
    }
}
