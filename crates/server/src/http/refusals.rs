//! Refused credentials: how many an address may show in a minute, how many there were, and one line in the log per
//! address and minute.
//!
//! A credential that works is accepted from every address at any time: people share addresses, and one of them who
//! guesses must not lock the others out. So the look-up comes first and the limit second, and what is limited are
//! refusals. Only a text that can't be a credential is not even looked up once its address is over the limit. A request
//! without any credential is not counted: clients ask that way where to sign in.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use mnemon_core::{CredentialKind, Timestamp, is_well_formed};
use mnemon_engine::oauth::PerAddress;

/// How many refused credentials an address may show in a minute.
pub(super) const REFUSED_MAX: usize = 30;

/// What is remembered of refusals, each node for itself.
#[derive(Debug)]
pub(crate) struct Refusals {
    by_address: PerAddress,
    lines: PerAddress,
    count: AtomicU64,
}

impl Default for Refusals {
    fn default() -> Self {
        Self { by_address: PerAddress::new(REFUSED_MAX), lines: PerAddress::new(1), count: AtomicU64::new(0) }
    }
}

impl Refusals {
    /// Whether this text need not be looked up: its address has shown too many, and it can't be a credential. Says in
    /// how many seconds the address may try again.
    pub(super) fn turns_away(&self, presented: &str, caller: IpAddr, now: Timestamp) -> Option<u64> {
        if may_be_credential(presented) {
            return None;
        }
        let seconds = self.by_address.check(caller, now).err()?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(seconds)
    }

    /// Counts a refused credential, or says in how many seconds the address may show the next one.
    pub(super) fn note(&self, caller: IpAddr, now: Timestamp) -> Result<(), u64> {
        let refused_total = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if self.lines.count(caller, now).is_ok() {
            let address = PerAddress::household(caller);
            tracing::warn!(caller.address = %address, refused_total, "a credential was refused");
        }
        self.by_address.count(caller, now)
    }

    /// How many were refused since the start.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// The operator may choose a token of their own, so of those only the first characters are known.
fn may_be_credential(text: &str) -> bool {
    match CredentialKind::of(text) {
        Some(CredentialKind::Operator) => true,
        Some(kind) => is_well_formed(kind, text),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use mnemon_core::make_token;
    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn only_what_can_not_be_a_credential_goes_without_a_look_up() {
        let refusals = Refusals::default();
        let (caller, now) = (IpAddr::from([192, 0, 2, 1]), Timestamp::UNIX_EPOCH);
        let key = make_token(CredentialKind::ApiKey, &[1; 32]);
        for _ in 0..REFUSED_MAX {
            assert_eq!(refusals.turns_away("garbage", caller, now), None);
            assert_eq!(refusals.note(caller, now), Ok(()));
        }
        assert_eq!(refusals.note(caller, now), Err(60));
        assert_eq!(refusals.turns_away("garbage", caller, now), Some(60));
        assert_eq!(refusals.turns_away(&key.expose()[..20], caller, now), Some(60));
        assert_eq!(refusals.turns_away(key.expose(), caller, now), None, "it may work");
        assert_eq!(refusals.turns_away("mnp_an_operator_may_choose_anything", caller, now), None);
        assert_eq!(refusals.turns_away("garbage", IpAddr::from([192, 0, 2, 2]), now), None, "others are not meant");
        assert_eq!(refusals.count(), 33);
    }

    /// Counts the lines of the log.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_log_has_one_line_per_address_and_minute() {
        let (refusals, lines) = (Refusals::default(), Lines::default());
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let _log = tracing::subscriber::set_default(log);
        let note = |host: u8, second: i64| {
            let now = Timestamp::from_second(second).unwrap();
            let _ = refusals.note(IpAddr::from([192, 0, 2, host]), now);
        };
        for second in [0, 0, 1, 59] {
            (0..REFUSED_MAX).for_each(|_| note(1, second));
        }
        note(2, 30);
        note(1, 60);
        note(1, 119);
        note(1, 120);
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        let addresses: Vec<&str> = text.lines().filter_map(|line| line.split("caller.address=").nth(1)).collect();
        let hosts: Vec<&str> = addresses.iter().filter_map(|rest| rest.split(' ').next()).collect();
        assert_eq!(hosts, ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"], "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(addresses[3].contains("refused_total=124"), "each line says how many there were: {text}");
    }
}
