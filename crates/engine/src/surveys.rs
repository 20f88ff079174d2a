//! Surveys of projects, kept as long as they are exact: a console shows how records stand on every page, and a project that
//! nobody has changed in between need not be counted again.

use std::num::NonZeroUsize;
use std::sync::Arc;

use jiff::SignedDuration;
use lru::LruCache;
use mnemon_core::{ProjectId, Timestamp};
use mnemon_store::{StoreError, Survey};
use parking_lot::Mutex;

use crate::Engine;

/// How many projects are remembered.
const PROJECTS_MAX: NonZeroUsize = NonZeroUsize::new(64).expect("more than none");
/// A survey with more suspects than this is not worth its memory.
const SUSPECTS_MAX: usize = 20_000;
/// Confirming what is known already takes no place in the log. On another node it shows after this long.
const AGE_MAX: SignedDuration = SignedDuration::from_secs(10);

/// The latest surveys, with their moments.
pub(crate) struct Surveyed(Mutex<LruCache<ProjectId, (Timestamp, Arc<Survey>)>>);

impl Default for Surveyed {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(PROJECTS_MAX)))
    }
}

impl Surveyed {
    /// To be called after a source was seen: that may change how records stand without changing the log.
    pub(crate) fn forget(&self, project: ProjectId) {
        self.0.lock().pop(&project);
    }
}

impl Engine {
    /// The project as it is now.
    pub(crate) async fn survey(&self, project: ProjectId, now: Timestamp) -> Result<Arc<Survey>, StoreError> {
        let seq = self.store.last_seq(project).await?.unwrap_or_default();
        let kept = self.surveyed.0.lock().get(&project).cloned();
        let is_current = |(at, survey): &(Timestamp, Arc<Survey>)| {
            survey.seq == seq && *at <= now && now.duration_since(*at) < AGE_MAX
        };
        if let Some((_, survey)) = kept.filter(is_current) {
            return Ok(survey);
        }
        let survey = Arc::new(self.store.survey(project).await?);
        if survey.suspects.len() <= SUSPECTS_MAX {
            self.surveyed.0.lock().put(project, (now, Arc::clone(&survey)));
        }
        Ok(survey)
    }
}
