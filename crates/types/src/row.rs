//! The row-piece format: column count, then length and bytes of each column.
//!
//! The count is one byte, or 0xFF and two bytes (little end first) for 255 columns and more. A length is one byte up to
//! 250, 0xFE and two bytes above, 0xFD and four bytes above 65535; 0xFF is NULL. 0xFC and one byte are the length of
//! the locator of a value that is stored apart. Trailing NULLs may be left out.

/// A stored column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Column<'a> {
    Null,
    Bytes(&'a [u8]),
    /// The locator of a LOB that is stored apart from the row.
    Out(&'a [u8]),
}

impl<'a> Column<'a> {
    /// Returns the bytes, `None` for NULL. Those of a LOB that is stored apart are its locator: a reader of LOBs looks
    /// for [`Column::Out`] first.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Column::Null => None,
            Column::Bytes(b) | Column::Out(b) => Some(b),
        }
    }
}

/// Appends one row to a buffer.
pub struct RowWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> RowWriter<'a> {
    /// Begins a row of `columns` columns at the end of `out`. Exactly that many must be pushed.
    pub fn new(out: &'a mut Vec<u8>, columns: usize) -> RowWriter<'a> {
        if columns < 255 {
            out.push(columns as u8)
        } else {
            out.push(255);
            out.extend_from_slice(&(u16::try_from(columns).expect("at most 1000 columns")).to_le_bytes())
        }
        RowWriter { out }
    }
    /// Continues the row at the end of `out`.
    #[inline]
    pub fn again(out: &'a mut Vec<u8>) -> RowWriter<'a> {
        RowWriter { out }
    }
    /// Appends NULL.
    #[inline]
    pub fn null(&mut self) {
        self.out.push(0xFF)
    }
    /// Appends a stored value.
    pub fn bytes(&mut self, bytes: &[u8]) {
        put_length(self.out, bytes.len());
        self.out.extend_from_slice(bytes)
    }
    /// Appends the locator of a value that is stored apart.
    pub fn out(&mut self, locator: &[u8]) {
        self.out.push(OUT);
        self.out.push(u8::try_from(locator.len()).expect("a locator is short"));
        self.out.extend_from_slice(locator)
    }
    /// Appends a number, encoded.
    #[inline]
    pub fn number(&mut self, n: &crate::Number) {
        let at = self.out.len();
        self.out.push(0);
        n.encode(self.out);
        // A number has at most 22 bytes.
        self.out[at] = (self.out.len() - at - 1) as u8;
    }
    /// Appends a value, encoded.
    pub fn value(&mut self, value: &crate::Value) {
        if value.is_null() {
            return self.null();
        }
        if let crate::Value::Text(s) = value {
            return self.bytes(s.as_bytes());
        }
        let at = self.out.len();
        self.out.push(0);
        crate::codec::encode(value, self.out);
        let len = self.out.len() - at - 1;
        if len <= MAX_SHORT {
            self.out[at] = len as u8
        } else {
            let mut head = Vec::with_capacity(5);
            put_length(&mut head, len);
            self.out.splice(at..at + 1, head);
        }
    }
}

/// Appends a copy of the row `old` with new values in some columns, in ascending order: `put` writes each of them.
/// Returns the number of bytes of the old row from the first to the last changed column; `None` if the old row is
/// damaged.
pub fn rewrite(
    old: &[u8],
    changed: &[u16],
    out: &mut Vec<u8>,
    mut put: impl FnMut(u16, &mut RowWriter<'_>),
) -> Option<usize> {
    let mut reader = RowReader::new(old)?;
    let count = changed.last().map_or(0, |last| usize::from(*last) + 1).max(reader.count());
    let mut writer = RowWriter::new(out, count);
    let (mut at, mut kept) = (0, reader.rest());
    let (mut first, mut last) = (None, reader.rest().len());
    for &column in changed {
        let column = usize::from(column);
        while at < column && at < reader.count() {
            reader.next_column()?;
            at += 1;
        }
        writer.out.extend_from_slice(&kept[..kept.len() - reader.rest().len()]);
        while at < column {
            writer.null();
            at += 1;
        }
        first = first.or(Some(reader.rest().len()));
        put(column as u16, &mut writer);
        if at < reader.count() {
            reader.next_column()?;
        }
        at += 1;
        (kept, last) = (reader.rest(), reader.rest().len());
    }
    while at < reader.count() {
        reader.next_column()?;
        at += 1;
    }
    writer.out.extend_from_slice(&kept[..kept.len() - reader.rest().len()]);
    // The header of the row has the number of columns.
    let head = if count == reader.count() { 0 } else { old.len() };
    Some(first.map_or(0, |first| first - last).max(head))
}

const MAX_SHORT: usize = 250;
const OUT: u8 = 0xFC;

/// The number of bytes in which the length of a column is stored, for a column of `len` bytes.
#[inline]
pub fn length_bytes(len: usize) -> usize {
    if len <= MAX_SHORT {
        1
    } else if len <= 0xFFFF {
        3
    } else {
        5
    }
}

fn put_length(out: &mut Vec<u8>, len: usize) {
    if len <= MAX_SHORT {
        out.push(len as u8)
    } else if let Ok(len) = u16::try_from(len) {
        out.push(0xFE);
        out.extend_from_slice(&len.to_le_bytes())
    } else {
        out.push(0xFD);
        out.extend_from_slice(&(u32::try_from(len).expect("a column is below 4 GB")).to_le_bytes())
    }
}

/// Reads a row column by column. The bytes may be garbage: reading never panics and ends with `None` (V5).
#[derive(Clone, Copy, Debug)]
pub struct RowReader<'a> {
    rest: &'a [u8],
    left: usize,
    count: usize,
}

impl<'a> RowReader<'a> {
    /// Begins at the first byte of a row; `None` if the bytes end too early. Bytes after the row are allowed.
    pub fn new(bytes: &'a [u8]) -> Option<RowReader<'a>> {
        let (&first, rest) = bytes.split_first()?;
        let (count, rest) = if first < 255 {
            (first as usize, rest)
        } else {
            let (b, rest) = rest.split_at_checked(2)?;
            (u16::from_le_bytes([b[0], b[1]]) as usize, rest)
        };
        Some(RowReader { rest, left: count, count })
    }
    /// Returns the number of columns of the row.
    pub fn count(&self) -> usize {
        self.count
    }
    /// Returns the bytes after the columns read so far.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
    /// Reads the next column. A column after the last one is NULL; `None` if the bytes are damaged.
    #[inline]
    pub fn next_column(&mut self) -> Option<Column<'a>> {
        if self.left == 0 {
            return Some(Column::Null);
        }
        self.left -= 1;
        let (&first, rest) = self.rest.split_first()?;
        let (len, rest) = match first {
            0xFF => {
                self.rest = rest;
                return Some(Column::Null);
            }
            0xFE => {
                let (b, rest) = rest.split_at_checked(2)?;
                (u16::from_le_bytes([b[0], b[1]]) as usize, rest)
            }
            0xFD => {
                let (b, rest) = rest.split_at_checked(4)?;
                (u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize, rest)
            }
            len if len as usize <= MAX_SHORT => (len as usize, rest),
            OUT => {
                let (&len, rest) = rest.split_first()?;
                let (locator, rest) = rest.split_at_checked(len.into())?;
                self.rest = rest;
                return Some(Column::Out(locator));
            }
            _ => return None,
        };
        let (bytes, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some(Column::Bytes(bytes))
    }
    /// Reads column `index` (from 0) from the start of the row.
    pub fn column(&self, index: usize) -> Option<Column<'a>> {
        let mut r = *self;
        for _ in 0..index {
            r.next_column()?;
        }
        r.next_column()
    }
    /// Returns the length of the row at the front of `bytes`; `None` if it is damaged.
    pub fn length(bytes: &'a [u8]) -> Option<usize> {
        let mut r = RowReader::new(bytes)?;
        while r.left > 0 {
            r.next_column()?;
        }
        Some(bytes.len() - r.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use proptest::prelude::*;

    fn row(columns: &[Option<Vec<u8>>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = RowWriter::new(&mut out, columns.len());
        for c in columns {
            match c {
                Some(bytes) => w.bytes(bytes),
                None => w.null(),
            }
        }
        out
    }

    #[test]
    fn a_locator_is_told_from_a_value_and_kept_by_a_rewrite() {
        let mut out = Vec::new();
        let mut w = RowWriter::new(&mut out, 3);
        w.bytes(b"a");
        w.out(b"place");
        w.bytes(b"c");
        let r = RowReader::new(&out).unwrap();
        assert_eq!(r.column(1), Some(Column::Out(b"place")));
        assert_eq!(r.column(2), Some(Column::Bytes(b"c")));
        assert_eq!(RowReader::length(&out), Some(out.len()));
        let mut new = Vec::new();
        rewrite(&out, &[0], &mut new, |_, w| w.bytes(b"longer")).unwrap();
        assert_eq!(RowReader::new(&new).unwrap().column(1), Some(Column::Out(b"place")));
        for len in 0..out.len() {
            assert_eq!(RowReader::length(&out[..len]), None, "{len}");
        }
    }

    fn column() -> impl Strategy<Value = Option<Vec<u8>>> {
        prop::option::of(prop_oneof![
            5 => prop::collection::vec(any::<u8>(), 0..6),
            1 => prop::collection::vec(any::<u8>(), 240..300),
        ])
    }

    proptest! {
        #[test]
        fn a_rewritten_row_has_the_new_columns_and_the_old_ones(
            old in prop::collection::vec(column(), 0..8),
            new in prop::collection::btree_map(0u16..10, column(), 0..5),
            behind in 0usize..4,
        ) {
            let mut want = old.clone();
            for (&c, value) in &new {
                want.resize(want.len().max(usize::from(c) + 1), None);
                want[usize::from(c)] = value.clone();
            }
            let mut bytes = row(&old);
            bytes.resize(bytes.len() + behind, 0xEE);
            let changed: Vec<u16> = new.keys().copied().collect();
            let mut out = vec![7];
            let replaced = rewrite(&bytes, &changed, &mut out, |c, w| match &new[&c] {
                Some(bytes) => w.value(&Value::Raw(bytes.clone())),
                None => w.null(),
            });
            prop_assert_eq!(&out[1..], &row(&want)[..]);
            prop_assert!(replaced.unwrap() <= bytes.len());
        }
    }
}
