//! Small numbers in few bytes: seven bits each, the high bit says that more follow.

/// Appends `value`.
pub(crate) fn write(out: &mut impl Extend<u8>, mut value: u32) {
    while value >= 0x80 {
        out.extend([(value as u8) | 0x80]);
        value >>= 7;
    }
    out.extend([value as u8]);
}

/// Reads one number at `at` and moves `at` behind it. `None` where the bytes end too early or are no number.
#[inline(always)]
pub(crate) fn read(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u32::from(first));
    }
    let second = *bytes.get(*at + 1)?;
    if second < 0x80 {
        *at += 2;
        return Some(u32::from(first & 0x7F) | u32::from(second) << 7);
    }
    // Not by reference: a loop over many keeps the place in a register.
    let (value, end) = read_long(bytes, *at)?;
    *at = end;
    Some(value)
}

/// A number of any length, and where it ends.
#[inline(never)]
fn read_long(bytes: &[u8], start: usize) -> Option<(u32, usize)> {
    let mut value = 0;
    for (place, shift) in [0, 7, 14, 21, 28].into_iter().enumerate() {
        let byte = *bytes.get(start + place)?;
        value |= u32::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return (shift < 28 || byte < 0x10).then_some((value, start + place + 1));
        }
    }
    None
}
