//! Bytes as hexadecimal text, and back. Hashes are shown, logged and typed in this form.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes in lower-case hexadecimal digits.
pub fn to_hex(bytes: impl AsRef<[u8]>) -> String {
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.as_ref().iter().flat_map(digits).map(char::from).collect()
}

/// Exactly `N` bytes from hexadecimal digits of either case.
pub fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hex_has_two_lower_case_digits_per_byte() {
        assert_eq!(to_hex([]), "");
        assert_eq!(to_hex([0x00, 0x0f, 0xa0, 0xff]), "000fa0ff");
    }

    #[test]
    fn only_exactly_as_many_digits_as_wanted_are_read() {
        assert_eq!(parse_hex::<2>("0aFf"), Some([0x0a, 0xff]));
        for wrong in ["", "0aF", "0aFf0", "0aFg", "0x0a", "+1+1", "ß0a"] {
            assert_eq!(parse_hex::<2>(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(bytes: [u8; 16]) {
            prop_assert_eq!(parse_hex(&to_hex(bytes)), Some(bytes));
        }
    }
}
