//! Concurrent writers, each saving and forgetting as fast as it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use tokio::task::JoinHandle;

use super::scramble;
use super::service::Service;
use super::story::Story;
use crate::wire::Wire;

/// One act in this many is a forget.
const FORGET_ONE_OF: u64 = 4;

#[derive(Debug, Clone)]
pub struct WritersSpec {
    pub count: usize,
    /// The workspace; the stories' sources are named after it.
    pub workspace: String,
}

#[derive(Debug)]
pub struct Writers {
    running: Vec<JoinHandle<Story>>,
    stop: Arc<AtomicBool>,
}

impl Writers {
    pub async fn start(service: &Service, spec: &WritersSpec) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Vec::new();
        for number in 0..spec.count {
            let story = Story::new(&spec.workspace, &format!("{}-writer-{number}", spec.workspace));
            let wire = service.connect().await?;
            running.push(tokio::spawn(write(story, wire, Arc::clone(&stop), number as u64)));
        }
        Ok(Self { running, stop })
    }

    /// Makes them stop after their current call, and waits for their stories.
    pub async fn stop(self) -> Result<Vec<Story>> {
        self.stop.store(true, Ordering::Relaxed);
        self.stories().await
    }

    /// Waits until each has lost its connection.
    pub async fn stories(self) -> Result<Vec<Story>> {
        let mut stories = Vec::new();
        for writer in self.running {
            stories.push(writer.await.context("a writer panicked")?);
        }
        Ok(stories)
    }
}

/// Writes until it is stopped or the connection breaks; both end a story properly.
async fn write(mut story: Story, mut wire: Wire, stop: Arc<AtomicBool>, number: u64) -> Story {
    let mut living: Vec<String> = Vec::new();
    let mut drawn = number;
    while !stop.load(Ordering::Relaxed) {
        drawn = scramble(drawn);
        let outcome = if drawn.is_multiple_of(FORGET_ONE_OF) && !living.is_empty() {
            let id = living.swap_remove((drawn >> 8) as usize % living.len());
            story.forget(&mut wire, &id).await
        } else {
            story.save(&mut wire).await
        };
        if outcome.is_err() {
            break;
        }
        living.extend(story.newest.take());
    }
    story
}
