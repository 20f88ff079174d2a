//! The background sync next to the proxy: on its own thread, slowly, and only with consent.

use std::time::Duration;

use crate::consent::Consent;
use crate::places::Places;
use crate::settings::Settings;
use crate::sync::{Options, Pace, Stopped, sync};

/// The pause between two rounds.
const ROUND_EVERY: Duration = Duration::from_secs(15);
/// The pause after a failed round; it doubles up to a maximum.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);

/// Starts the background sync. The thread ends with the process.
pub fn start(settings: Settings, places: Places) -> std::io::Result<()> {
    let work = move || {
        let mut failures = 0;
        loop {
            let pause = if Consent::holds(&places, &settings) {
                one_round(&settings, &places, &mut failures)
            } else {
                ROUND_EVERY
            };
            std::thread::sleep(pause);
        }
    };
    std::thread::Builder::new().name("mnemon-sync".to_owned()).spawn(work).map(|_| ())
}

/// Runs one round and returns how long to pause.
fn one_round(settings: &Settings, places: &Places, failures: &mut u32) -> Duration {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return RETRY_AFTER_MAX;
    };
    let options = Options { pace: Pace::Gentle, is_again: false };
    match runtime.block_on(sync(settings, places, options, &mut |_| ())) {
        Ok(_) | Err(Stopped::NoConsent) => {
            *failures = 0;
            ROUND_EVERY
        }
        Err(Stopped::Service { retry_after, .. }) => {
            *failures += 1;
            let doubled = ROUND_EVERY * 2_u32.pow((*failures).min(5));
            doubled.min(RETRY_AFTER_MAX).max(retry_after.unwrap_or_default())
        }
    }
}
