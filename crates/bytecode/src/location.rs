//! Source positions and the line table of PEP 626 and PEP 657 (`co_linetable`).
//!
//! Reads what `co_positions()` reads, writes what CPython's assembler writes for the same
//! positions. Positions are never computed here.

use crate::code::Version;
use crate::varint;

/// Where an instruction comes from. Lines count from 1, columns are UTF-8 byte offsets from 0;
/// `None` is unknown. All are `None` for an instruction of no line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// first line
    pub line: Option<u32>,
    /// last line
    pub end_line: Option<u32>,
    /// first column
    pub col: Option<u32>,
    /// column behind the last
    pub end_col: Option<u32>,
}

impl Location {
    /// No line at all.
    pub const NONE: Location = Location {
        line: None,
        end_line: None,
        col: None,
        end_col: None,
    };

    /// A whole line.
    pub fn line(line: u32) -> Self {
        Location {
            line: Some(line),
            end_line: Some(line),
            col: None,
            end_col: None,
        }
    }
}

/// A damaged line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineTableError {
    /// an entry starts with a byte that has no start bit, or a number does not end
    #[error("line table entry at byte {0} is cut short or out of step")]
    Malformed(usize),
    /// a line before 0 or beyond 32 bits
    #[error("line table leaves the range of line numbers at byte {0}")]
    Range(usize),
}

/// One entry: a location and how many code units it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEntry {
    /// length in code units, 1 to 8
    pub units: u32,
    /// position of all of them
    pub loc: Location,
}

const CODE_NO_COLUMN: u8 = 13;
const CODE_LONG: u8 = 14;
const CODE_NONE: u8 = 15;
const CODE_ONE_LINE: u8 = 10;
/// Code units of the longest entry.
const MAX_UNITS: u32 = 8;

/// Reads a line table entry by entry.
pub(crate) struct LineReader<'a> {
    table: &'a [u8],
    at: usize,
    line: i64,
}

impl<'a> LineReader<'a> {
    pub(crate) fn new(table: &'a [u8], firstlineno: u32) -> Self {
        LineReader {
            table,
            at: 0,
            line: i64::from(firstlineno),
        }
    }

    fn byte(&mut self) -> Result<u32, LineTableError> {
        let byte = *self
            .table
            .get(self.at)
            .ok_or(LineTableError::Malformed(self.at))?;
        if byte & 0x80 != 0 {
            return Err(LineTableError::Malformed(self.at));
        }
        self.at += 1;
        Ok(u32::from(byte))
    }

    fn varint(&mut self) -> Result<u32, LineTableError> {
        varint::read_little(self.table, &mut self.at).ok_or(LineTableError::Malformed(self.at))
    }

    fn svarint(&mut self) -> Result<i64, LineTableError> {
        let raw = self.varint()?;
        let magnitude = i64::from(raw >> 1);
        Ok(if raw & 1 != 0 { -magnitude } else { magnitude })
    }

    fn advance(&mut self, delta: i64) -> Result<u32, LineTableError> {
        self.line += delta;
        u32::try_from(self.line).map_err(|_| LineTableError::Range(self.at))
    }

    /// The next entry, `None` at the end.
    pub(crate) fn entry(&mut self) -> Result<Option<LineEntry>, LineTableError> {
        let Some(&first) = self.table.get(self.at) else {
            return Ok(None);
        };
        if first & 0x80 == 0 {
            return Err(LineTableError::Malformed(self.at));
        }
        self.at += 1;
        let units = u32::from(first & 7) + 1;
        let code = (first >> 3) & 15;
        let loc = match code {
            CODE_NONE => Location::NONE,
            CODE_LONG => {
                let delta = self.svarint()?;
                let line = self.advance(delta)?;
                let lines = self.varint()?;
                let col = self.varint()?.checked_sub(1);
                let end_col = self.varint()?.checked_sub(1);
                Location {
                    line: Some(line),
                    end_line: line.checked_add(lines),
                    col,
                    end_col,
                }
            }
            CODE_NO_COLUMN => {
                let delta = self.svarint()?;
                Location::line(self.advance(delta)?)
            }
            CODE_ONE_LINE..=12 => {
                let line = self.advance(i64::from(code - CODE_ONE_LINE))?;
                let (col, end_col) = (self.byte()?, self.byte()?);
                Location {
                    line: Some(line),
                    end_line: Some(line),
                    col: Some(col),
                    end_col: Some(end_col),
                }
            }
            _ => {
                let line = self.advance(0)?;
                let low = self.byte()?;
                let col = (u32::from(code) << 3) | (low >> 4);
                Location {
                    line: Some(line),
                    end_line: Some(line),
                    col: Some(col),
                    end_col: Some(col + (low & 15)),
                }
            }
        };
        Ok(Some(LineEntry { units, loc }))
    }
}

/// All entries of a `co_linetable`.
pub fn read_line_table(table: &[u8], firstlineno: u32) -> Result<Vec<LineEntry>, LineTableError> {
    let mut reader = LineReader::new(table, firstlineno);
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry()? {
        entries.push(entry);
    }
    Ok(entries)
}

/// Writes a line table as CPython's assembler does: 3.11 starts an entry at each instruction, 3.12
/// and later join neighbours of one location.
pub(crate) struct LineWriter {
    version: Version,
    table: Vec<u8>,
    line: i64,
    pending: Option<LineEntry>,
}

impl LineWriter {
    pub(crate) fn new(version: Version, firstlineno: u32) -> Self {
        LineWriter {
            version,
            table: Vec::new(),
            line: i64::from(firstlineno),
            pending: None,
        }
    }

    /// Adds an instruction of `units` code units.
    pub(crate) fn push(&mut self, loc: Location, units: u32) {
        if self.version >= Version::V312
            && let Some(pending) = &mut self.pending
            && pending.loc == loc
        {
            pending.units += units;
            return;
        }
        self.flush();
        self.pending = Some(LineEntry { units, loc });
    }

    /// The finished table.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.flush();
        self.table
    }

    fn flush(&mut self) {
        if let Some(LineEntry { mut units, loc }) = self.pending.take() {
            while units > MAX_UNITS {
                self.write(loc, MAX_UNITS);
                units -= MAX_UNITS;
            }
            if units > 0 {
                self.write(loc, units);
            }
        }
    }

    fn first_byte(&mut self, code: u8, units: u32) {
        self.table.push(0x80 | (code << 3) | (units - 1) as u8);
    }

    fn svarint(&mut self, value: i64) {
        let magnitude = u32::try_from(value.unsigned_abs()).unwrap_or(u32::MAX >> 1);
        varint::write_little(&mut self.table, (magnitude << 1) | u32::from(value < 0));
    }

    fn write(&mut self, loc: Location, units: u32) {
        let Some(line) = loc.line else {
            return self.first_byte(CODE_NONE, units);
        };
        let end_line = loc.end_line.unwrap_or(line).max(line);
        let delta = i64::from(line) - self.line;
        self.line = i64::from(line);
        match (loc.col, loc.end_col) {
            (Some(col), Some(end)) if end_line == line => {
                if delta == 0 && col < 80 && end >= col && end - col < 16 {
                    self.first_byte((col >> 3) as u8, units);
                    self.table.push((((col & 7) << 4) | (end - col)) as u8);
                    return;
                }
                if (0..3).contains(&delta) && col < 128 && end < 128 {
                    self.first_byte(CODE_ONE_LINE + delta as u8, units);
                    self.table.extend([col as u8, end as u8]);
                    return;
                }
            }
            (Some(_), Some(_)) => {}
            _ if end_line == line => {
                self.first_byte(CODE_NO_COLUMN, units);
                return self.svarint(delta);
            }
            _ => {}
        }
        self.first_byte(CODE_LONG, units);
        self.svarint(delta);
        varint::write_little(&mut self.table, end_line - line);
        for col in [loc.col, loc.end_col] {
            varint::write_little(&mut self.table, col.map_or(0, |col| col.saturating_add(1)));
        }
    }
}
