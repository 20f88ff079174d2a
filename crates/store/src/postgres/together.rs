//! Questions that fly together: callers that ask while a flight is on its way wait for the next, and that one asks for all of
//! them at once. A flight serves only those who were there when it left, so what it finds is at least as new as they are. A
//! caller that is alone waits for nobody.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::StoreError;

/// How questions of one kind are asked together.
#[async_trait]
pub(super) trait Flight: Send + Sync + 'static {
    type Asked: Clone + Send + Sync + 'static;
    type Answer: Send + 'static;

    /// How many callers share one flight at most.
    const CALLERS_MAX: usize;

    /// One outcome for each question, in their order.
    async fn fly(&self, asked: &[Self::Asked]) -> Vec<Result<Self::Answer, StoreError>>;
}

/// The callers of one kind on this node.
pub(super) struct Together<F: Flight> {
    flight: F,
    line: Mutex<Line<F>>,
}

struct Line<F: Flight> {
    /// Whether somebody leads: flies, and passes the lead on afterwards.
    is_led: bool,
    waiting: Vec<Waiting<F>>,
    /// How many the last flight served.
    company: usize,
}

type Reply<F> = oneshot::Sender<Result<<F as Flight>::Answer, StoreError>>;

struct Waiting<F: Flight> {
    asked: F::Asked,
    reply: Reply<F>,
}

impl<F: Flight> Together<F> {
    pub(super) fn new(flight: F) -> Arc<Self> {
        let line = Line { is_led: false, waiting: Vec::new(), company: 0 };
        Arc::new(Self { flight, line: Mutex::new(line) })
    }

    /// Whatever asks, with what it keeps.
    pub(super) fn flight(&self) -> &F {
        &self.flight
    }

    /// Asks, together with whoever else waits.
    pub(super) async fn ask(self: &Arc<Self>, asked: F::Asked) -> Result<F::Answer, StoreError> {
        loop {
            let (reply, answer) = oneshot::channel();
            if self.join(Waiting { asked: asked.clone(), reply }) {
                // The first to come flies at once, on its own task: a hop to another one would take longer than many a flight.
                Lead::new(self).fly().await;
            }
            // A leader whose caller hung up answers nobody: whoever flew with it asks again.
            if let Ok(outcome) = answer.await {
                return outcome;
            }
        }
    }

    /// Waits for the next flight. `true` for whoever has to lead it.
    fn join(&self, waiting: Waiting<F>) -> bool {
        let mut line = self.line.lock();
        line.waiting.push(waiting);
        !std::mem::replace(&mut line.is_led, true)
    }
}

/// Whoever leads. The lead goes on when this is dropped, also where the leader's caller hung up in the middle of a flight.
struct Lead<F: Flight> {
    all: Arc<Together<F>>,
    /// Whether it was ever given its turn. A runtime that shuts down gives none.
    has_begun: bool,
}

impl<F: Flight> Lead<F> {
    fn new(all: &Arc<Together<F>>) -> Self {
        Self { all: Arc::clone(all), has_begun: false }
    }

    /// Asks for all who wait now.
    async fn fly(mut self) {
        self.has_begun = true;
        if self.all.line.lock().company > 1 {
            // Where many call, others are about to: they get their turn first and come along.
            tokio::task::yield_now().await;
        }
        let (asked, replies) = self.take();
        for (reply, outcome) in replies.into_iter().zip(self.all.flight.fly(&asked).await) {
            // Whoever stopped waiting needs no answer.
            let _ = reply.send(outcome);
        }
    }

    fn take(&self) -> (Vec<F::Asked>, Vec<Reply<F>>) {
        let mut line = self.all.line.lock();
        let count = line.waiting.len().min(F::CALLERS_MAX);
        line.company = count;
        line.waiting.drain(..count).map(|waiting| (waiting.asked, waiting.reply)).unzip()
    }
}

impl<F: Flight> Drop for Lead<F> {
    fn drop(&mut self) {
        let mut line = self.all.line.lock();
        let runtime = tokio::runtime::Handle::try_current().ok().filter(|_| self.has_begun);
        let (false, Some(runtime)) = (line.waiting.is_empty(), runtime) else {
            // Without a runtime nobody can fly, and nobody waits any more. One that shuts down drops what it is given,
            // and would do so with every next lead.
            line.waiting.clear();
            line.is_led = false;
            return;
        };
        drop(line);
        runtime.spawn(Lead::new(&self.all).fly());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// Doubles numbers, when it is let.
    struct Doubling {
        gate: Semaphore,
        flights: Mutex<Vec<usize>>,
    }

    #[async_trait]
    impl Flight for Doubling {
        type Asked = u64;
        type Answer = u64;
        const CALLERS_MAX: usize = 4;

        async fn fly(&self, asked: &[u64]) -> Vec<Result<u64, StoreError>> {
            self.flights.lock().push(asked.len());
            self.gate.acquire().await.expect("the gate stays").forget();
            asked.iter().map(|number| Ok(2 * number)).collect()
        }
    }

    /// How many callers each flight served, with so many waiting while the first one flies.
    async fn flights(waiting: u64) -> Vec<usize> {
        let doubling = Doubling { gate: Semaphore::new(0), flights: Mutex::default() };
        let together = Together::new(doubling);
        let mut callers = Vec::new();
        for number in 0..=waiting {
            let own = Arc::clone(&together);
            callers.push(tokio::spawn(async move { own.ask(number).await }));
            // On one thread, this lets the caller join the line.
            tokio::task::yield_now().await;
        }
        together.flight.gate.add_permits(100);
        for (number, caller) in (0..).zip(callers) {
            assert_eq!(caller.await.unwrap(), Ok(2 * number));
        }
        together.flight.flights.lock().clone()
    }

    #[tokio::test]
    async fn a_flight_takes_all_who_wait_up_to_its_limit() {
        assert_eq!(flights(0).await, [1]);
        assert_eq!(flights(4).await, [1, 4]);
        assert_eq!(flights(5).await, [1, 4, 1]);
    }
}
