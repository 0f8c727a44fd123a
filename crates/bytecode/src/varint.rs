//! The two six-bit variable-length numbers of code objects: least significant group first (line
//! table) and most significant first (exception table). Bit 6 says that another byte follows; the
//! top bit is left to the caller's start mark.

const MORE: u8 = 0x40;

/// Reads a line table number; `None` where it is cut short or exceeds 32 bits.
pub(crate) fn read_little(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0u64;
    for shift in (0..36).step_by(6) {
        let byte = *bytes.get(*at)?;
        if byte & 0x80 != 0 {
            return None;
        }
        *at += 1;
        value |= u64::from(byte & 63) << shift;
        if byte & MORE == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

/// Writes a line table number.
pub(crate) fn write_little(out: &mut Vec<u8>, mut value: u32) {
    while value >= 64 {
        out.push(MORE | (value & 63) as u8);
        value >>= 6;
    }
    out.push(value as u8);
}

/// Reads an exception table number, whatever its start mark.
pub(crate) fn read_big(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0u64;
    for _ in 0..6 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = (value << 6) | u64::from(byte & 63);
        if byte & MORE == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

/// Writes an exception table number; `mark` is ored into its first byte.
pub(crate) fn write_big(out: &mut Vec<u8>, value: u32, mark: u8) {
    let groups = (32 - value.leading_zeros()).div_ceil(6).max(1);
    for group in (0..groups).rev() {
        let mut byte = ((value >> (6 * group)) & 63) as u8;
        if group > 0 {
            byte |= MORE;
        }
        if group + 1 == groups {
            byte |= mark;
        }
        out.push(byte);
    }
}
