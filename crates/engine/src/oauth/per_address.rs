//! How often an address did something in the last 60 seconds.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;

use lru::LruCache;
use mnemon_core::Timestamp;
use parking_lot::Mutex;

const WINDOW_MICROS: i64 = 60_000_000;
/// How many addresses are remembered. Beyond that, the least recently seen one is forgotten: an attacker with ten
/// thousand addresses can't be stopped by counting, and must not cost us more memory than this.
const ADDRESSES_MAX: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

/// A limit on what one address may do per minute.
#[derive(Debug)]
pub struct PerAddress {
    count_max: usize,
    windows: Mutex<LruCache<IpAddr, VecDeque<i64>>>,
}

impl PerAddress {
    pub fn new(count_max: usize) -> Self {
        Self { count_max, windows: Mutex::new(LruCache::new(ADDRESSES_MAX)) }
    }

    /// Counts one act, or says in how many seconds it may be done. It is counted before it is done: otherwise a hundred
    /// at the same moment would all be allowed.
    pub fn count(&self, address: IpAddr, now: Timestamp) -> Result<(), u64> {
        let mut windows = self.windows.lock();
        let moments = windows.get_or_insert_mut(Self::household(address), VecDeque::new);
        self.room(moments, now)?;
        moments.push_back(now.as_microsecond());
        Ok(())
    }

    /// Whether there is room for one, or in how many seconds there will be. Nothing is counted.
    pub fn check(&self, address: IpAddr, now: Timestamp) -> Result<(), u64> {
        let mut windows = self.windows.lock();
        windows.get_mut(&Self::household(address)).map_or(Ok(()), |moments| self.room(moments, now))
    }

    fn room(&self, moments: &mut VecDeque<i64>, now: Timestamp) -> Result<(), u64> {
        let now = now.as_microsecond();
        while moments.front().is_some_and(|at| now - at >= WINDOW_MICROS) {
            moments.pop_front();
        }
        match moments.front() {
            Some(oldest) if moments.len() >= self.count_max => {
                Err(u64::try_from(oldest + WINDOW_MICROS - now).unwrap_or(0).div_ceil(1_000_000).max(1))
            }
            _ => Ok(()),
        }
    }

    /// The network of an address: with IPv6, every subscriber has at least 2^64 addresses.
    pub fn household(address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address => address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(1_000_000_000_000_000 + micros).unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_limit_passes_and_the_next_waits_until_the_first_is_a_minute_old() {
        let bound = PerAddress::new(2);
        let one = address("192.0.2.1");
        assert_eq!(bound.count(one, at(0)), Ok(()));
        assert_eq!(bound.count(one, at(10_000_000)), Ok(()));
        assert_eq!(bound.count(one, at(10_000_001)), Err(50));
        assert_eq!(bound.count(one, at(59_999_999)), Err(1));
        assert_eq!(bound.count(one, at(60_000_000)), Ok(()));
        assert_eq!(bound.count(address("192.0.2.2"), at(10_000_001)), Ok(()), "others do not wait");
    }

    #[test]
    fn an_address_of_ipv6_stands_for_its_network_and_a_mapped_one_for_itself() {
        let bound = PerAddress::new(1);
        assert_eq!(bound.count(address("2001:db8::1"), at(0)), Ok(()));
        assert_eq!(bound.count(address("2001:db8::ffff:1"), at(0)), Err(60));
        assert_eq!(bound.count(address("2001:db8:0:1::1"), at(0)), Ok(()));
        assert_eq!(bound.count(address("192.0.2.1"), at(0)), Ok(()));
        assert_eq!(bound.count(address("::ffff:192.0.2.1"), at(0)), Err(60));
    }

    #[test]
    fn looking_counts_nothing() {
        let bound = PerAddress::new(1);
        let one = address("192.0.2.1");
        for _ in 0..3 {
            assert_eq!(bound.check(one, at(0)), Ok(()));
        }
        assert_eq!(bound.count(one, at(0)), Ok(()));
        assert_eq!(bound.check(one, at(0)), Err(60));
        assert_eq!(bound.check(one, at(60_000_000)), Ok(()));
    }

    #[test]
    fn no_crowd_of_addresses_makes_the_table_grow() {
        let bound = PerAddress::new(1);
        let first = IpAddr::V4(0.into());
        for n in 0..ADDRESSES_MAX.get() as u32 {
            let _ = bound.count(IpAddr::V4(n.into()), at(0));
        }
        assert_eq!(bound.check(first, at(0)), Err(60), "ten thousand are remembered");
        for n in ADDRESSES_MAX.get() as u32..3 * ADDRESSES_MAX.get() as u32 {
            let _ = bound.count(IpAddr::V4(n.into()), at(0));
        }
        assert_eq!(bound.windows.lock().len(), ADDRESSES_MAX.get());
    }
}
