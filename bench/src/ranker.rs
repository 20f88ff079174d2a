//! The ranker as benches of quality use it: texts in, places of texts out, with the height of the gate as a parameter.
//! The one file of `gate` that knows how the ranker is called.

use mnemon_recall::{Gate, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex};

/// The heights to try, each stricter than the one before: what the bar starts from. It rises with the number of
/// records.
pub(crate) const BARS: [f64; 14] =
    [-0.5, -0.4, -0.35, -0.3, -0.25, -0.225, -0.2, -0.175, -0.15, -0.1, -0.05, 0.0, 0.1, 0.2];
/// A height that nothing passes.
pub(crate) const CLOSED: f64 = 2.0;
/// The height of the service.
pub(crate) const SERVICE_BAR: f64 = Recipe::FULL.gate.base;

/// A workspace that can be asked.
pub(crate) struct Workspace(WorkspaceIndex);

impl Workspace {
    /// Texts are identified by their place.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut index = WorkspaceIndex::new(Model::shipped());
        for (seq, text) in (0..).zip(texts) {
            index.add(NewDoc::new(seq, text));
        }
        Self(index)
    }

    /// The places of the best texts, with the gate at this height.
    pub(crate) fn search(&self, query: &str, limit: usize, bar: f64) -> Vec<usize> {
        // The end of the rise moves with its start.
        let gate = Recipe::FULL.gate;
        let gate = Gate { base: bar, most: gate.most + bar - gate.base, ..gate };
        let recipe = Recipe { gate, ..Recipe::FULL };
        let hits = self.0.search_by(&recipe, &SearchRequest::new(query, limit));
        hits.into_iter().map(|hit| hit.seq as usize).collect()
    }
}
