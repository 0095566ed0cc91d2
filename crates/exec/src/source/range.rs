//! Scans of ranges of index keys.

use super::ahead::Ahead;
use super::key_ranges::{KeyCode, Part, Ranges, push_part};
use super::row_bytes::{Into, damaged, decode, fetch};
use super::sure::{is_sure, is_sure_of};
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use crate::machine::Machine;
use crate::table::{At, Storage};
use btree::RangeScan;
use plan::Reg;
use std::ops::Bound;
use txn::Snapshot;
use types::{DataType, Ora, Result, Rowid, Value, Xid, codec};

pub(super) struct RangePath {
    /// Key columns: position in the row, and whether descending.
    pub(super) columns: Vec<(usize, bool)>,
    /// `None` when the index is the table itself.
    pub(super) index: Option<Index>,
    /// For an access to the index only: register and type of each wanted key part.
    pub(super) only: Option<Vec<Option<(Reg, DataType)>>>,
    /// The key parts as expressions over the row read, if they cannot be taken from the row's bytes.
    pub(super) recheck: Vec<Code>,
    pub(super) prefix: Vec<Part>,
    pub(super) low: Option<(KeyCode, bool)>,
    pub(super) high: Option<(KeyCode, bool)>,
    /// A LIKE pattern whose prefix bounds the range, and its escape character.
    pub(super) like: Option<(Code, Option<Code>)>,
    /// The ranges, if there are several.
    pub(super) ranges: Option<Box<Ranges>>,
    pub(super) descending: bool,
    /// Whether entries with NULL in the first column after the prefix are skipped.
    pub(super) no_nulls: bool,
    pub(super) range: RangeScan,
    pub(super) low_key: Vec<u8>,
    pub(super) high_key: Vec<u8>,
    pub(super) inclusive: (bool, bool),
    /// The last transaction checked and the result: adjacent entries often have the same transaction.
    pub(super) verdict: Option<(Xid, bool)>,
    pub(super) ahead: Ahead,
}

impl RangePath {
    pub(super) fn new(columns: Vec<(usize, bool)>, index: Option<Index>, prefix: Vec<Part>) -> RangePath {
        RangePath {
            columns,
            index,
            only: None,
            recheck: Vec::new(),
            prefix,
            low: None,
            high: None,
            like: None,
            ranges: None,
            descending: false,
            no_nulls: false,
            range: RangeScan::new(),
            low_key: Vec::new(),
            high_key: Vec::new(),
            inclusive: (true, true),
            verdict: None,
            ahead: Ahead::default(),
        }
    }

    /// Computes the range and starts it. False if no key can be in it.
    pub(super) fn start(&mut self, snapshot: &Snapshot, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some(index) = &self.index else { return Ok(false) };
        let tree = index.tree;
        if !self.work_out(&tree, m, cx)? {
            return Ok(false);
        }
        built_before(&tree, snapshot)?;
        self.verdict = None;
        self.go(false);
        Ok(true)
    }

    /// Starts the computed range. `on`: it follows another one, so the size of the read-ahead is kept.
    pub(super) fn go(&mut self, on: bool) {
        let Some(index) = &self.index else { return };
        let (low, high) = bounds(&self.low_key, &self.high_key, self.inclusive);
        index::start(&mut self.range, index, low, high, self.descending);
        let size = self.ahead.size;
        self.ahead.restart();
        if on {
            self.ahead.size = size / 4;
        }
    }

    /// Puts the next row of a heap table into its registers. `None` at the end.
    pub(super) fn advance_in_heap(
        &mut self,
        table: &heap::HeapTable,
        into: Into<'_>,
        bytes: &mut Vec<u8>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Option<Rowid>> {
        let RangePath { index, ahead, range, verdict, .. } = self;
        let Some(index) = index else { return Ok(None) };
        loop {
            while let Some((rowid, row, key)) = ahead.pop() {
                if key.is_empty() || index.matches(row, key, &mut m.scratch)? {
                    decode(row, At::Rowid(rowid), (into.columns, into.rowid), None, m, cx)?;
                    if into.keeps {
                        bytes.clear();
                        bytes.extend_from_slice(row);
                    }
                    return Ok(Some(rowid));
                }
            }
            if !ahead.read_more(range, index, verdict, table, m, cx)? {
                return Ok(None);
            }
        }
    }

    /// Calls `f` with the bytes of the rows read ahead, and reads more. False at the end.
    pub(super) fn each_ahead(
        &mut self,
        table: &heap::HeapTable,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: &mut impl FnMut(&[u8], &ExecCtx<'_>) -> Result<()>,
    ) -> Result<bool> {
        let RangePath { index, ahead, range, verdict, .. } = self;
        let Some(index) = index else { return Ok(false) };
        if ahead.unsure.is_empty() {
            for (begin, end) in &ahead.found[ahead.next..] {
                if begin < end {
                    f(&ahead.rows[*begin as usize..*end as usize], cx)?;
                }
            }
            ahead.next = ahead.found.len();
        }
        while let Some((_, row, key)) = ahead.pop() {
            if key.is_empty() || index.matches(row, key, &mut m.scratch)? {
                f(row, cx)?;
            }
        }
        // All rows will be read.
        ahead.size = Ahead::MOST;
        ahead.read_more(range, index, verdict, table, m, cx)
    }

    /// Skips entries that are sure and returns their number; 0 if the next one is not sure.
    pub(super) fn pass(&mut self, m: &Machine, cx: &ExecCtx<'_>) -> Result<u64> {
        let RangePath { range, verdict, .. } = self;
        let sure = &mut |xid| is_sure_of(xid, m.snapshot(), verdict, cx);
        range.pass_sure(cx.shared.btree, cx.p, usize::MAX, sure).map(|passed| passed as u64)
    }

    pub(super) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        bounds(&self.low_key, &self.high_key, self.inclusive)
    }

    /// Puts the next row of the range into its registers. False at the end.
    pub(super) fn advance(
        &mut self,
        storage: &Storage,
        into: Into<'_>,
        row: &mut Vec<u8>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if let (Storage::Heap(table), None, true) = (storage, &self.only, self.recheck.is_empty()) {
            return self.advance_in_heap(table, into, row, m, cx).map(|found| found.is_some());
        }
        let Into { columns, rowid: rowid_reg, .. } = into;
        let Some(index) = &self.index else { return Ok(false) };
        let keyed = matches!(storage, Storage::Index(_));
        loop {
            let Some(entry) = self.range.next_entry(cx.shared.btree, cx.p)? else { return Ok(false) };
            let at =
                if keyed { At::Key(entry.locator) } else { At::Rowid(btree::rowid_of(&index.tree, entry.locator)) };
            if let Some(only) = &self.only
                && is_sure(&entry, m.snapshot(), &mut self.verdict, cx)
            {
                decode_key(entry.key, &self.columns, only, m)?;
                if let Some(r) = rowid_reg {
                    at.put(m, r);
                }
                return Ok(true);
            }
            if !fetch(storage, at, m.snapshot(), row, cx)? {
                continue;
            }
            if self.recheck.is_empty() {
                if index.matches(row, entry.key, &mut m.scratch)? {
                    decode(row, at, (columns, rowid_reg), None, m, cx)?;
                    return Ok(true);
                }
                continue;
            }
            decode(row, at, (columns, rowid_reg), None, m, cx)?;
            if is_sure(&entry, m.snapshot(), &mut self.verdict, cx)
                || makes_key(&self.recheck, index, entry.key, m, cx)?
            {
                return Ok(true);
            }
        }
    }

    /// Computes the bounds of the first range. False if no range can have a key.
    pub(super) fn work_out(&mut self, tree: &btree::Index, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if let Some(ranges) = &mut self.ranges {
            ranges.start(self.index.as_ref(), &self.columns, &self.prefix, self.descending, m, cx)?;
            return self.next_keys(tree, m, cx);
        }
        self.low_key.clear();
        for (part, (_, descending)) in self.prefix.iter().zip(&self.columns) {
            let Part::Is(code) = part else { return Err(Ora::internal("scan of several ranges without ranges")) };
            let Some(r) = code.exact(m, cx)? else { return Ok(false) };
            if !push_part(self.index.as_ref(), r, *descending, &mut self.low_key, m) {
                return Ok(false);
            }
        }
        self.add_bounds(m, cx)
    }

    /// Computes the bounds of the next of several ranges. False if there is none.
    pub(super) fn next_keys(&mut self, tree: &btree::Index, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        cx.check_cancel()?;
        self.low_key.clear();
        let Some(ranges) = &mut self.ranges else { return Ok(false) };
        let begun = ranges.has_begun();
        if !ranges.next(tree, &self.columns, self.descending, &mut self.low_key, cx)? {
            return Ok(false);
        }
        if begun && self.prefix.iter().any(|part| matches!(part, Part::In(_))) {
            cx.session.noted.next_value();
        }
        self.add_bounds(m, cx)
    }

    /// Adds the bounds of the column after the prefix, which is in `low_key`. False if nothing can lie between them,
    /// whatever the prefix.
    fn add_bounds(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.high_key.clear();
        self.high_key.extend_from_slice(&self.low_key);
        self.inclusive = (true, true);
        if self.like.is_some() {
            return self.add_beginning(m, cx);
        }
        if let Some((code, inclusive)) = &self.low {
            let (r, cut) = code.eval(m, cx)?;
            if !push_part(None, r, false, &mut self.low_key, m) {
                return Ok(false);
            }
            self.inclusive.0 = if cut.is_eq() { *inclusive } else { cut.is_lt() };
        }
        match &self.high {
            Some((code, inclusive)) => {
                let (r, cut) = code.eval(m, cx)?;
                if !push_part(None, r, false, &mut self.high_key, m) {
                    return Ok(false);
                }
                self.inclusive.1 = if cut.is_eq() { *inclusive } else { cut.is_gt() };
            }
            // NULLs sort after all values and are in no range.
            None if self.low.is_some() || self.no_nulls => {
                codec::push_key_part(None, false, &mut self.high_key);
                self.inclusive.1 = false;
            }
            None => {}
        }
        Ok(true)
    }

    /// Bounds the range by the prefix of a pattern, as the bytes of a key without an end mark.
    fn add_beginning(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some((pattern, escape)) = &self.like else { return Ok(true) };
        let escape = match escape {
            None => None,
            Some(code) => {
                let r = code.eval(m, cx)?;
                let Value::Text(text) = m.value(r) else { return Ok(false) };
                Some(functions::ops::escape_character(text)?)
            }
        };
        let r = pattern.eval(m, cx)?;
        let Value::Text(pattern) = m.value(r) else { return Ok(false) };
        let mut text = String::new();
        functions::ops::like_beginning(pattern, escape, &mut text);
        let from = self.low_key.len();
        codec::push_key_part(Some(text.as_bytes()), false, &mut self.low_key);
        // Removes the two bytes that end a text.
        self.low_key.truncate(self.low_key.len() - 2);
        self.high_key.extend_from_slice(&self.low_key[from..]);
        Ok(true)
    }
}

fn bounds<'a>(low: &'a [u8], high: &'a [u8], inclusive: (bool, bool)) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    let bound = |key: &'a [u8], inclusive: bool| match inclusive {
        true => Bound::Included(key),
        false => Bound::Excluded(key),
    };
    (bound(low, inclusive.0), bound(high, inclusive.1))
}

/// Whether the row in the registers has the key of an entry that led to it.
fn makes_key(parts: &[Code], index: &Index, key: &[u8], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    let mut made = Vec::with_capacity(key.len());
    for (code, (_, descending)) in parts.iter().zip(&index.columns) {
        let r = code.eval(m, cx)?;
        index.push_value(m, r, *descending, &mut made);
    }
    Ok(made == key)
}

/// Decodes the wanted parts of a key into their registers.
fn decode_key(
    mut key: &[u8],
    columns: &[(usize, bool)],
    wanted: &[Option<(Reg, DataType)>],
    m: &mut Machine,
) -> Result<()> {
    let mut stored = std::mem::take(&mut m.scratch);
    for ((_, descending), wanted) in columns.iter().zip(wanted) {
        let (rest, present) = codec::pop_key_part(key, *descending, &mut stored).ok_or_else(damaged)?;
        key = rest;
        if let Some((reg, ty)) = wanted {
            let value = &mut m.regs[*reg as usize];
            match present {
                true => codec::decode_into(&stored, ty, value)?,
                false => *value = Value::Null,
            }
        }
    }
    m.scratch = stored;
    Ok(())
}

/// ORA-08176: an index that was built after the snapshot lacks entries that the snapshot needs.
pub(super) fn built_before(tree: &btree::Index, snapshot: &Snapshot) -> Result<()> {
    if tree.created > snapshot.scn { Err(Ora::new(8176)) } else { Ok(()) }
}
