//! The caller's address: the connection's peer, or what a trusted proxy says about it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{Extensions, HeaderMap};

use super::connection_limit::Seat;
use super::room::Whose;
use crate::config::Network;

/// The peer of a connection; attached to each of its requests.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Its seat; a request handed to the routes without a connection has none.
    pub(super) seat: Option<Arc<Seat>>,
}

/// Notes that this request's credential was accepted.
pub(super) fn mark_known(extensions: &Extensions, whose: Whose) {
    if let Some(seat) = extensions.get::<Peer>().and_then(|peer| peer.seat.as_ref()) {
        seat.mark_known(whose);
    }
}

/// The caller's address. Every proxy appends the address it was called from to `X-Forwarded-For`. So, read from the
/// end, the first address that is not one of our proxies is the caller; anything before it is the caller's own claim.
pub(crate) fn caller_address(extensions: &Extensions, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let peer =
        extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.address.ip().to_canonical());
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut caller = peer;
    let said = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let said: Vec<&str> = said.flat_map(|list| list.split(',')).map(str::trim).collect();
    for address in said.iter().rev() {
        if !is_trusted(caller) {
            break;
        }
        let Ok(address) = address.trim_matches(['[', ']']).parse::<IpAddr>() else { break };
        caller = address.to_canonical();
    }
    caller
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_believed_only_if_it_is_trusted() {
        let check = |peer: &str, forwarded: &[&str], expected: &str| {
            let mut extensions = Extensions::new();
            extensions.insert(Peer { address: SocketAddr::new(peer.parse().unwrap(), 1), seat: None });
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append("x-forwarded-for", value.parse().unwrap());
            }
            let trusted = [Network::parse("10.0.0.0/8").unwrap(), Network::parse("::1").unwrap()];
            let caller = caller_address(&extensions, &headers, &trusted);
            assert_eq!(caller, expected.parse::<IpAddr>().unwrap(), "{peer} {forwarded:?}");
        };
        check("192.0.2.1", &[], "192.0.2.1");
        check("192.0.2.1", &["198.51.100.7"], "192.0.2.1");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["198.51.100.7"], "198.51.100.7");
        check("::1", &["2001:db8::7"], "2001:db8::7");
        check("::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7");
        check("10.0.0.1", &["1.1.1.1, 198.51.100.7"], "198.51.100.7");
        check("10.0.0.1", &["1.1.1.1", "198.51.100.7, 10.0.0.2"], "198.51.100.7");
        check("10.0.0.1", &["10.0.0.3"], "10.0.0.3");
        check("10.0.0.1", &["198.51.100.7, nonsense"], "10.0.0.1");
        check("10.0.0.1", &[""], "10.0.0.1");
    }
}
