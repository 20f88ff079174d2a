//! A network as people write it: an address, or an address and a prefix length.

use std::net::IpAddr;

/// A network, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Parses `10.0.0.0/8`, `::1` and the like.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.trim().parse().ok()?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(bits_max), |bits| bits.trim().parse().ok())?;
        (bits <= bits_max).then_some(Self { address, bits })
    }

    /// Whether the network contains an address. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses_up_to_the_edge() {
        let check = |network: &str, address: &str, expected: bool| {
            let network = Network::parse(network).unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), expected, "{network:?} {address}");
        };
        check("10.0.0.0/8", "10.255.255.255", true);
        check("10.0.0.0/8", "11.0.0.0", false);
        check("10.0.0.0/8", "::ffff:10.1.2.3", true);
        check("127.0.0.1", "127.0.0.1", true);
        check("127.0.0.1", "127.0.0.2", false);
        check("0.0.0.0/0", "8.8.8.8", true);
        check("0.0.0.0/0", "::1", false);
        check("fd00::/8", "fdff::1", true);
        check("fd00::/8", "fe00::1", false);
        check("::/0", "2001:db8::1", true);
    }

    #[test]
    fn anything_but_a_network_is_refused() {
        for text in ["", "10", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "example.com", "10.0.0.0/8/8"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
