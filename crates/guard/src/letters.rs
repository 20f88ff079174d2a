//! Which characters are letters or digits. The same answers as those of the standard library, from a table: every
//! character of a text is asked about many times, and most languages are written beyond ASCII.

use std::sync::LazyLock;

/// Characters up to this one are in the table; beyond it there are few letters that anybody writes.
const TABLE_END: u32 = 0x1_0000;

struct Bits(Vec<u64>);

impl Bits {
    fn of(is_in: impl Fn(char) -> bool) -> Bits {
        let word = |at: u32| {
            (0..64).filter(|bit| char::from_u32(at * 64 + bit).is_some_and(&is_in)).fold(0, |w, b| w | 1 << b)
        };
        Bits((0..TABLE_END / 64).map(word).collect())
    }

    fn has(&self, c: char) -> bool {
        let code = c as usize;
        self.0[code / 64] >> (code % 64) & 1 == 1
    }
}

static ALPHABETIC: LazyLock<Bits> = LazyLock::new(|| Bits::of(char::is_alphabetic));
static ALPHANUMERIC: LazyLock<Bits> = LazyLock::new(|| Bits::of(char::is_alphanumeric));

/// As `char::is_alphabetic`.
#[inline]
pub(crate) fn is_alphabetic(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else if (c as u32) < TABLE_END {
        ALPHABETIC.has(c)
    } else {
        c.is_alphabetic()
    }
}

/// As `char::is_alphanumeric`.
#[inline]
pub(crate) fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else if (c as u32) < TABLE_END {
        ALPHANUMERIC.has(c)
    } else {
        c.is_alphanumeric()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_what_the_standard_library_says() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_alphabetic(c), c.is_alphabetic(), "{c:?}");
            assert_eq!(is_alphanumeric(c), c.is_alphanumeric(), "{c:?}");
        }
    }
}
