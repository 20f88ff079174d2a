//! A digest.

use mnemon_engine::LeftOut;
use mnemon_engine::admin::ShownContext;
use mnemon_protocol::admin::{ContextJson, NotShownJson};

pub(crate) fn context(shown: ShownContext, budget: usize) -> ContextJson {
    let ShownContext { workspace, digest } = shown;
    ContextJson {
        workspace: workspace.to_string(),
        markdown: digest.markdown,
        tokens: digest.tokens,
        budget,
        memory_ids: digest.shown.iter().map(ToString::to_string).collect(),
        not_shown: not_shown(digest.left_out),
    }
}

fn not_shown(left_out: LeftOut) -> NotShownJson {
    let LeftOut { verified, unverified, conflict, stale, cautioned, has_older } = left_out;
    NotShownJson { verified, unverified, conflict, stale, cautioned, older: has_older }
}
