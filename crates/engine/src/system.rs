//! The real clock and the real randomness; both live only here.

use mnemon_core::{Clock, IdSource, Timestamp, UUID_RANDOM_BYTES, uuid_v7};
use uuid::Uuid;

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters")]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_microsecond(now.as_microsecond()).expect("a valid moment stays valid when cut short")
    }
}

/// The machine's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn uuid(&self, now: Timestamp) -> Uuid {
        let mut random = [0; UUID_RANDOM_BYTES];
        fill(&mut random);
        uuid_v7(now, random)
    }

    fn secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        fill(&mut secret);
        secret
    }
}

/// What this machine is called, as far as it says so.
pub(crate) fn machine_name() -> String {
    let name = mnemon_platform::system::machine_name();
    let name: String = name.trim().chars().filter(|letter| letter.is_ascii_graphic()).take(64).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

fn fill(bytes: &mut [u8]) {
    // Without randomness every id and key would be guessable: there is no sensible way to continue.
    getrandom::fill(bytes).expect("the operating system hands out random bytes");
}
