//! The exception table of CPython 3.11 and later (`co_exceptiontable`), in code units.

use crate::varint;

/// One entry, positions in code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub start: u32,
    pub len: u32,
    pub target: u32,
    pub depth: u32,
    pub lasti: bool,
}

/// Marks the first byte of an entry.
const START: u8 = 0x80;

/// Reads a table; `None` where it is cut short.
pub(crate) fn read(table: &[u8]) -> Option<Vec<RawEntry>> {
    let mut at = 0;
    let mut entries = Vec::new();
    while at < table.len() {
        let start = varint::read_big(table, &mut at)?;
        let len = varint::read_big(table, &mut at)?;
        let target = varint::read_big(table, &mut at)?;
        let depth_lasti = varint::read_big(table, &mut at)?;
        let (depth, lasti) = (depth_lasti >> 1, depth_lasti & 1 != 0);
        entries.push(RawEntry {
            start,
            len,
            target,
            depth,
            lasti,
        });
    }
    Some(entries)
}

/// Appends an entry to a table.
pub(crate) fn write(table: &mut Vec<u8>, entry: RawEntry) {
    varint::write_big(table, entry.start, START);
    varint::write_big(table, entry.len, 0);
    varint::write_big(table, entry.target, 0);
    varint::write_big(table, (entry.depth << 1) | u32::from(entry.lasti), 0);
}
