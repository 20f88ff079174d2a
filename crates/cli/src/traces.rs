//! Sends spans to a collector, in the background. The service never waits for it, and a collector that is away costs a
//! line in the log now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mnemon_agent::trust;
use mnemon_server::config::TracesConfig;
use mnemon_traces::{Ended, TraceLayer, otlp};
use reqwest::Client;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long spans wait for others, and how many go together.
const WAIT_MAX: Duration = Duration::from_secs(1);
const TOGETHER_MAX: usize = 512;
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last spans may take when the service stops.
const LAST_TIMEOUT: Duration = Duration::from_secs(3);
/// How often the log reports that spans were not sent.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Spans that wait to be sent, until somebody sends them.
pub struct Traces {
    config: TracesConfig,
    ended: mpsc::Receiver<Ended>,
    dropped: Arc<AtomicU64>,
}

/// Where spans are sent from.
pub struct Sending {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Traces {
    /// The layer that gathers spans, and who will send them.
    pub fn new(config: &TracesConfig) -> (TraceLayer, Self) {
        let (layer, ended, dropped) = TraceLayer::new(config.every);
        (layer, Self { config: config.clone(), ended, dropped })
    }

    /// Starts sending, on the runtime that this is called on.
    pub fn start(self, service_name: &str, instance_id: String) -> anyhow::Result<Sending> {
        let client = Client::builder().tls_backend_preconfigured(trust::client_config()).timeout(TIMEOUT).build()?;
        tracing::info!(endpoint = self.config.endpoint, "sending traces");
        let address = format!("{}{}", self.config.endpoint, otlp::PATH);
        let Self { ended, dropped, .. } = self;
        let mut sender = Sender {
            client,
            address,
            service: service_name.to_owned(),
            instance_id,
            ended,
            dropped,
            told: None,
            lost: 0,
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move { sender.run(stopped).await });
        Ok(Sending { stop, task })
    }
}

impl Sending {
    /// Sends what is left, within a few seconds.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        if tokio::time::timeout(LAST_TIMEOUT, self.task).await.is_err() {
            tracing::warn!("the last traces were not sent: the collector does not answer");
        }
    }
}

struct Sender {
    client: Client,
    address: String,
    service: String,
    /// Which of the nodes this is.
    instance_id: String,
    ended: mpsc::Receiver<Ended>,
    dropped: Arc<AtomicU64>,
    /// When lost spans were last logged.
    told: Option<Instant>,
    lost: u64,
}

impl Sender {
    async fn run(&mut self, mut stopped: oneshot::Receiver<()>) {
        let mut spans = Vec::new();
        let mut rhythm = tokio::time::interval(WAIT_MAX);
        rhythm.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let room = TOGETHER_MAX - spans.len();
            tokio::select! {
                _ = &mut stopped => break,
                _ = rhythm.tick() => {}
                taken = self.ended.recv_many(&mut spans, room) => {
                    if taken > 0 && spans.len() < TOGETHER_MAX {
                        continue;
                    }
                }
            }
            self.send(&mut spans).await;
        }
        // The service has stopped, so no more will come than wait now.
        self.ended.close();
        while self.ended.recv_many(&mut spans, TOGETHER_MAX).await > 0 {
            self.send(&mut spans).await;
        }
        self.send(&mut spans).await;
    }

    async fn send(&mut self, spans: &mut Vec<Ended>) {
        self.lost += self.dropped.swap(0, Ordering::Relaxed);
        if !spans.is_empty() {
            let body = otlp::encode(&self.service, &self.instance_id, env!("CARGO_PKG_VERSION"), spans);
            let request = self.client.post(&self.address).header("content-type", otlp::CONTENT_TYPE).body(body);
            let problem = match request.send().await {
                Ok(response) if response.status().is_success() => None,
                Ok(response) => Some(format!("it answers {}", response.status())),
                Err(error) => Some(error.without_url().to_string()),
            };
            if let Some(problem) = problem {
                self.lost += spans.len() as u64;
                self.tell(&problem);
            }
            spans.clear();
        } else if self.lost > 0 {
            self.tell("more came than it takes");
        }
    }

    fn tell(&mut self, problem: &str) {
        if self.told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return;
        }
        tracing::warn!(spans = self.lost, problem, "traces were lost on the way to the collector");
        (self.told, self.lost) = (Some(Instant::now()), 0);
    }
}
