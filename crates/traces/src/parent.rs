//! The header `traceparent`: which trace a request belongs to, as W3C Trace Context writes it.

use std::fmt;

/// What a caller says about its own span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    /// Whether the caller keeps this trace.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Reads the header. Anything that does not fit is as if there were none.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may add parts; the first has exactly four.
        let version: [u8; 1] = bytes(version)?;
        if version == [0xff] || (version == [0] && parts.next().is_some()) {
            return None;
        }
        let (trace, span, [flags]) = (bytes::<16>(trace)?, bytes::<8>(span)?, bytes::<1>(flags)?);
        let is_named = trace != [0; 16] && span != [0; 8];
        is_named.then_some(Self { trace, span, is_sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-")?;
        self.trace.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-")?;
        self.span.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-{:02x}", u8::from(self.is_sampled))
    }
}

/// Exactly `N` bytes, in lower-case hexadecimal.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = text.len() == 2 * N && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex {
        return None;
    }
    let mut read = [0; N];
    for (byte, pair) in read.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_reads_as_it_is_written() {
        let parent = TraceParent::parse(HEADER).unwrap();
        assert_eq!((parent.trace[0], parent.span[7], parent.is_sampled), (0x4b, 0xb7, true));
        assert_eq!(parent.to_string(), HEADER);
        let unkept = HEADER.replace("-01", "-00");
        assert_eq!(TraceParent::parse(&unkept).map(|parent| parent.to_string()), Some(unkept));
        assert!(TraceParent::parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later").is_some());
    }

    #[test]
    fn what_does_not_fit_is_no_parent() {
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(wrong), None, "{wrong}");
        }
    }
}
