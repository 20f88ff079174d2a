//! Questions that are asked together: callers that come while the server is being asked wait, and the next question
//! asks for all of them at once. It serves only those who were there when it was sent, so what it finds is at least
//! as new as they are. A lone caller does not wait.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::StoreError;

/// How questions of one kind are asked together.
#[async_trait]
pub(super) trait Question: Send + Sync + 'static {
    type Asked: Clone + Send + Sync + 'static;
    type Answer: Send + 'static;

    /// How many callers share one question at most.
    const CALLERS_MAX: usize;

    /// One outcome for each question, in their order.
    async fn ask_all(&self, asked: &[Self::Asked]) -> Vec<Result<Self::Answer, StoreError>>;
}

/// The callers of one kind on this node.
pub(super) struct Coalesced<Q: Question> {
    question: Q,
    line: Mutex<Line<Q>>,
}

struct Line<Q: Question> {
    /// Whether a caller leads: it asks for all, and passes the lead on afterwards.
    is_led: bool,
    waiting: Vec<Waiting<Q>>,
    /// How many callers the last question served.
    commit_delay: usize,
}

type Reply<Q> = oneshot::Sender<Result<<Q as Question>::Answer, StoreError>>;

struct Waiting<Q: Question> {
    asked: Q::Asked,
    reply: Reply<Q>,
}

impl<Q: Question> Coalesced<Q> {
    pub(super) fn new(question: Q) -> Arc<Self> {
        let line = Line { is_led: false, waiting: Vec::new(), commit_delay: 0 };
        Arc::new(Self { question, line: Mutex::new(line) })
    }

    /// Asks together with the other waiting callers.
    pub(super) async fn ask(self: &Arc<Self>, asked: Q::Asked) -> Result<Q::Answer, StoreError> {
        loop {
            let (reply, answer) = oneshot::channel();
            if self.join(Waiting { asked: asked.clone(), reply }) {
                // The first to come asks at once, on its own task: handing over to another one would take longer than
                // many an answer.
                Lead::new(self).ask().await;
            }
            // If the leader's caller disconnected, its followers get no answer and ask again.
            if let Ok(outcome) = answer.await {
                return outcome;
            }
        }
    }

    /// Joins those who wait. `true` for the caller that has to lead.
    fn join(&self, waiting: Waiting<Q>) -> bool {
        let mut line = self.line.lock();
        line.waiting.push(waiting);
        !std::mem::replace(&mut line.is_led, true)
    }
}

/// The current leader. Dropping it hands the lead to the next waiter, even if the leader's caller disconnected.
struct Lead<Q: Question> {
    all: Arc<Coalesced<Q>>,
    /// Whether it was ever given its turn. A runtime that shuts down gives none.
    has_begun: bool,
}

impl<Q: Question> Lead<Q> {
    fn new(all: &Arc<Coalesced<Q>>) -> Self {
        Self { all: Arc::clone(all), has_begun: false }
    }

    /// Asks for all who wait now.
    async fn ask(mut self) {
        self.has_begun = true;
        if self.all.line.lock().commit_delay > 1 {
            // Where many call, others are about to: they get their turn first and come along.
            tokio::task::yield_now().await;
        }
        let (asked, replies) = self.take();
        for (reply, outcome) in replies.into_iter().zip(self.all.question.ask_all(&asked).await) {
            // Ignore callers that stopped waiting.
            let _ = reply.send(outcome);
        }
    }

    fn take(&self) -> (Vec<Q::Asked>, Vec<Reply<Q>>) {
        let mut line = self.all.line.lock();
        let count = line.waiting.len().min(Q::CALLERS_MAX);
        line.commit_delay = count;
        line.waiting.drain(..count).map(|waiting| (waiting.asked, waiting.reply)).unzip()
    }
}

impl<Q: Question> Drop for Lead<Q> {
    fn drop(&mut self) {
        let mut line = self.all.line.lock();
        let runtime = tokio::runtime::Handle::try_current().ok().filter(|_| self.has_begun);
        let (false, Some(runtime)) = (line.waiting.is_empty(), runtime) else {
            // Without a runtime there are no callers left. One that shuts down drops what it is given,
            // and would do so with every next lead.
            line.waiting.clear();
            line.is_led = false;
            return;
        };
        drop(line);
        runtime.spawn(Lead::new(&self.all).ask());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// Doubles numbers, when it is let.
    struct Doubling {
        gate: Semaphore,
        served: Mutex<Vec<usize>>,
    }

    #[async_trait]
    impl Question for Doubling {
        type Asked = u64;
        type Answer = u64;
        const CALLERS_MAX: usize = 4;

        async fn ask_all(&self, asked: &[u64]) -> Vec<Result<u64, StoreError>> {
            self.served.lock().push(asked.len());
            self.gate.acquire().await.expect("the gate stays").forget();
            asked.iter().map(|number| Ok(2 * number)).collect()
        }
    }

    /// How many callers each question served, with this many waiting while the first one is asked.
    async fn served(waiting: u64) -> Vec<usize> {
        let doubling = Doubling { gate: Semaphore::new(0), served: Mutex::default() };
        let together = Coalesced::new(doubling);
        let mut callers = Vec::new();
        for number in 0..=waiting {
            let own = Arc::clone(&together);
            callers.push(tokio::spawn(async move { own.ask(number).await }));
            // On one thread, this lets the caller join the line.
            tokio::task::yield_now().await;
        }
        together.question.gate.add_permits(100);
        for (number, caller) in (0..).zip(callers) {
            assert_eq!(caller.await.unwrap(), Ok(2 * number));
        }
        together.question.served.lock().clone()
    }

    #[tokio::test]
    async fn a_question_takes_all_who_wait_up_to_its_limit() {
        assert_eq!(served(0).await, [1]);
        assert_eq!(served(4).await, [1, 4]);
        assert_eq!(served(5).await, [1, 4, 1]);
    }
}
