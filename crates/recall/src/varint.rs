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
#[inline]
pub(crate) fn read(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u32::from(first));
    }
    let mut value = u32::from(first & 0x7F);
    for shift in [7, 14, 21, 28] {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u32::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return (shift < 28 || byte < 0x10).then_some(value);
        }
    }
    None
}
