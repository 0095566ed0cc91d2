//! Table access: full scans, rowids, indexes, hash clusters.

use super::key_ranges::{KeyCode, Part, Ranges, push_part};
use crate::code::{Builder, Code, Cond, all_true};
use crate::ctx::ExecCtx;
use crate::index::{self, Index, probe};
use crate::machine::Machine;
use crate::table::{Address, At, IndexTable, Storage};
use btree::{RangeScan, RowScan};
use buffer_cache::PREFETCH_BLOCKS;
use cluster::{ClusterScan, RowSet};
use heap::{Operation, Version, VersionScan};
use plan::{Access, Pseudo, Reg};
use std::ops::Bound;
use txn::{Maker, Sight, Snapshot};
use types::row::{RowReader, RowWriter};
use types::{DataType, Ora, Result, Rowid, Uba, Value, Xid, codec};

/// A column to decode: position in the row, register and type. In row order.
type Wanted = (u16, Reg, DataType);

pub struct Scan {
    storage: Storage,
    path: Path,
    columns: Vec<Wanted>,
    rowid: Option<Reg>,
    filter: Vec<Cond>,
    row: Vec<u8>,
    /// Whether the bytes of each row found are kept in `row`.
    keeps: bool,
    rows_left: bool,
    /// The number of the AS OF clause, and the table.
    as_of: Option<(usize, std::rc::Rc<dictionary::TableDef>)>,
    /// The snapshot of that clause.
    moment: Option<Snapshot>,
    /// VERSIONS BETWEEN, and the table.
    versions: Option<(plan::Versions, std::rc::Rc<dictionary::TableDef>)>,
    left_out: u64,
    pseudos: Vec<(Pseudo, Reg)>,
}

enum Path {
    Heap(heap::Scan),
    Versions(Box<VersionScan>),
    Cluster(ClusterScan),
    /// All rows of an index-organised table.
    Rows(RowScan),
    Rowid(Code),
    /// A row of an index-organised table by its primary key.
    Key {
        table: Box<IndexTable>,
        keys: Vec<KeyCode>,
        key: Vec<u8>,
    },
    Unique {
        index: Index,
        keys: Vec<KeyCode>,
        key: Vec<u8>,
        found: Vec<Rowid>,
    },
    Range(Box<RangePath>),
    /// A range of the primary key of an index-organised table.
    RowRange(Box<RangePath>, RowScan),
    Hash {
        keys: Vec<KeyCode>,
        key: Vec<u8>,
        rows: RowSet,
        at: usize,
    },
}

/// Destination of a row that was found.
#[derive(Clone, Copy)]
struct Into<'a> {
    columns: &'a [Wanted],
    rowid: Option<Reg>,
    keeps: bool,
}

struct RangePath {
    /// Key columns: position in the row, and whether descending.
    columns: Vec<(usize, bool)>,
    /// `None` when the index is the table itself.
    index: Option<Index>,
    /// For an access to the index only: register and type of each wanted key part.
    only: Option<Vec<Option<(Reg, DataType)>>>,
    /// The key parts as expressions over the row read, if they cannot be taken from the row's bytes.
    recheck: Vec<Code>,
    prefix: Vec<Part>,
    low: Option<(KeyCode, bool)>,
    high: Option<(KeyCode, bool)>,
    /// A LIKE pattern whose prefix bounds the range, and its escape character.
    like: Option<(Code, Option<Code>)>,
    /// The ranges, if there are several.
    ranges: Option<Box<Ranges>>,
    descending: bool,
    /// Whether entries with NULL in the first column after the prefix are skipped.
    no_nulls: bool,
    range: RangeScan,
    low_key: Vec<u8>,
    high_key: Vec<u8>,
    inclusive: (bool, bool),
    /// The last transaction checked and the result: adjacent entries often have the same transaction.
    verdict: Option<(Xid, bool)>,
    ahead: Ahead,
}

/// Rows of a heap table read ahead of a range scan. Adjacent entries often lead to one block, which is then read once
/// for all of them. The read-ahead grows with the number of rows requested.
#[derive(Default)]
struct Ahead {
    rowids: Vec<Rowid>,
    /// Concatenated keys of the entries whose rows have to be compared with them; for each the row and the end of the
    /// key.
    keys: Vec<u8>,
    unsure: Vec<(u32, u32)>,
    /// Number of these keys that have been returned.
    compared: usize,
    rows: Vec<u8>,
    found: Vec<(u32, u32)>,
    next: usize,
    /// Number of entries of the last read-ahead.
    size: usize,
    /// Whether there are no more entries.
    ended: bool,
    /// The error of the row after those found.
    failed: Option<Ora>,
}

impl Ahead {
    /// Most rows read at a time.
    const MOST: usize = 256;

    fn restart(&mut self) {
        self.empty();
        (self.size, self.ended, self.failed) = (0, false, None);
    }

    fn empty(&mut self) {
        self.rowids.clear();
        self.keys.clear();
        self.unsure.clear();
        self.rows.clear();
        self.found.clear();
        (self.next, self.compared) = (0, 0);
    }

    /// Adds a row that must be compared with the key of its entry.
    fn push_unsure(&mut self, rowid: Rowid, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.unsure.push((self.rowids.len() as u32, self.keys.len() as u32));
        self.rowids.push(rowid);
    }

    /// Reads the rows of the added entries.
    fn read(&mut self, table: &heap::HeapTable, s: &Snapshot, cx: &mut ExecCtx<'_>) {
        crate::measure::by_rowid(cx, |cx| self.read_blocks(table, s, cx));
    }

    /// Reads block by block, with prefetching some blocks ahead.
    fn read_blocks(&mut self, table: &heap::HeapTable, s: &Snapshot, cx: &mut ExecCtx<'_>) {
        let heap = cx.shared.heap;
        let mut runs = self.rowids.chunk_by(|a, b| a.rdba == b.rdba);
        let mut from = 0;
        'all: loop {
            let mut window: [&[Rowid]; PREFETCH_BLOCKS] = [&[]; PREFETCH_BLOCKS];
            let count = window.iter_mut().zip(&mut runs).map(|(place, run)| *place = run).count();
            if count > 1 {
                heap.prefetch_rows(&window[..count]);
            }
            for run in &window[..count] {
                if let Err(e) = heap.fetch_in_block(cx.p, s, table, run, &mut self.rows, &mut self.found) {
                    // The rows before the error come first.
                    self.failed = Some(e);
                    break 'all;
                }
                from += run.len();
            }
            if count < PREFETCH_BLOCKS {
                break;
            }
        }
        self.rowids.truncate(from);
        self.found.truncate(from);
    }

    /// Reads ahead once all rows have been returned. False at the end.
    fn read_more(
        &mut self,
        range: &mut RangeScan,
        index: &Index,
        verdict: &mut Option<(Xid, bool)>,
        table: &heap::HeapTable,
        m: &Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if let Some(e) = self.failed.take() {
            return Err(e);
        }
        if self.ended {
            return Ok(false);
        }
        self.empty();
        self.size = (self.size * 4).clamp(1, Ahead::MOST);
        let s = m.snapshot();
        while self.rowids.len() < self.size {
            let most = self.size - self.rowids.len();
            let sure = &mut |xid| is_sure_of(xid, s, verdict, cx);
            range.sure_rows(cx.shared.btree, cx.p, most, sure, &mut self.rowids)?;
            if self.rowids.len() == self.size {
                break;
            }
            let Some(entry) = range.next_entry(cx.shared.btree, cx.p)? else {
                self.ended = true;
                break;
            };
            let rowid = btree::rowid_of(&index.tree, entry.locator);
            if is_sure(&entry, s, verdict, cx) {
                self.rowids.push(rowid);
            } else {
                self.push_unsure(rowid, entry.key);
            }
        }
        self.read(table, s, cx);
        Ok(true)
    }

    /// The next row found, with the key to compare it with; an empty key if none is needed.
    fn pop(&mut self) -> Option<(Rowid, &[u8], &[u8])> {
        while self.next < self.rowids.len() {
            let n = self.next;
            self.next += 1;
            let mut key = 0..0;
            if let Some((row, key_end)) = self.unsure.get(self.compared)
                && *row as usize == n
            {
                let key_begin = if self.compared == 0 { 0 } else { self.unsure[self.compared - 1].1 };
                key = key_begin as usize..*key_end as usize;
                self.compared += 1;
            }
            let (begin, end) = self.found[n];
            if begin < end {
                return Some((self.rowids[n], &self.rows[begin as usize..end as usize], &self.keys[key]));
            }
        }
        None
    }
}

impl Scan {
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Scan> {
        let storage = Storage::of(&s.table, b)?;
        let mut columns: Vec<Wanted> =
            s.columns.iter().map(|&(c, r)| (c, r, s.table.columns[c as usize].data_type)).collect();
        columns.sort_by_key(|c| c.0);
        let path = match s.versions {
            Some(_) => Path::Versions(Box::new(VersionScan::new())),
            None => Path::build(s, &storage, b)?,
        };
        let versions = s.versions.map(|v| (v, s.table.clone()));
        let filter = b.conds(&s.filter);
        let as_of = s.as_of.map(|n| (n, s.table.clone()));
        Ok(Scan {
            storage,
            path,
            columns,
            rowid: s.rowid,
            filter,
            row: Vec::new(),
            keeps: false,
            rows_left: false,
            as_of,
            moment: None,
            versions,
            pseudos: s.pseudos.clone(),
            left_out: 0,
        })
    }

    /// Keeps the bytes of each row for [`Scan::kept_bytes`], and decodes only the columns of these registers. False if
    /// that is not possible; nothing was done then.
    pub fn keep_bytes(&mut self, regs: &[Reg]) -> bool {
        let rechecks = matches!(&self.path, Path::Range(r) if !r.recheck.is_empty() || r.only.is_some());
        if rechecks || !matches!(self.storage, Storage::Heap(_)) {
            return false;
        }
        self.columns.retain(|(_, reg, _)| regs.contains(reg));
        self.keeps = true;
        true
    }

    /// The bytes of the row found last.
    pub fn kept_bytes(&self) -> &[u8] {
        &self.row
    }

    /// Whether [`Scan::each_row`] can be used: many rows, whose bytes are all that is needed.
    pub fn gives_bytes(&self) -> bool {
        let plain = self.pseudos.is_empty() && self.versions.is_none() && self.as_of.is_none() && !self.keeps;
        plain
            && match &self.path {
                Path::Heap(_) | Path::Cluster(_) | Path::Rows(_) | Path::RowRange(..) => true,
                Path::Range(r) => matches!(self.storage, Storage::Heap(_)) && r.only.is_none() && r.recheck.is_empty(),
                _ => false,
            }
    }

    pub fn filter(&self) -> &[Cond] {
        &self.filter
    }

    /// The column that is decoded into this register.
    pub fn column_of(&self, reg: Reg) -> Option<(u16, DataType)> {
        self.columns.iter().find(|(_, r, _)| *r == reg).map(|(column, _, ty)| (*column, *ty))
    }

    /// Whether each row sets the register.
    pub fn makes(&self, reg: Reg) -> bool {
        self.rowid == Some(reg) || self.column_of(reg).is_some()
    }

    /// Calls `f` with the bytes of every remaining row of the path, without applying the filter.
    pub fn each_row(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: &mut impl FnMut(&[u8], &ExecCtx<'_>) -> Result<()>,
    ) -> Result<()> {
        while self.some_rows(m, cx, f)? {}
        Ok(())
    }

    /// As [`Scan::each_row`], for about one block. False at the end.
    pub fn some_rows(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: &mut impl FnMut(&[u8], &ExecCtx<'_>) -> Result<()>,
    ) -> Result<bool> {
        if !self.rows_left {
            return Ok(false);
        }
        self.rows_left = match (&mut self.path, &self.storage) {
            (Path::Heap(scan), _) => scan.each_in_block(cx.shared.heap, cx.p, &mut |row| f(row, cx))?,
            (Path::Cluster(scan), _) => scan.each_in_block(cx.shared.clusters, cx.p, &mut |row| f(row, cx))?,
            (Path::Rows(scan) | Path::RowRange(_, scan), _) => match scan.next(cx.shared.btree, cx.p)? {
                Some((_, row)) => f(row, cx).map(|()| true)?,
                None => false,
            },
            (Path::Range(r), Storage::Heap(table)) => r.each_ahead(table, m, cx, f)?,
            _ => return Err(no_bytes()),
        };
        self.go_on(m, cx)
    }

    /// As [`Scan::some_rows`]: the bytes of the rows are appended to `arena`, and `f` receives the offset and length of
    /// each row, and its directory entry if it comes from a full scan of a heap ([`Scan::block`] then is its block).
    /// There may be other bytes between the rows.
    pub fn append_rows(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        arena: &mut Vec<u8>,
        f: &mut impl FnMut(&[u8], usize, usize, u16) -> Result<()>,
    ) -> Result<bool> {
        if self.rows_left
            && let Path::Heap(scan) = &mut self.path
        {
            self.rows_left = scan.append_block(cx.shared.heap, cx.p, arena, f)?;
            return self.go_on(m, cx);
        }
        self.some_rows(m, cx, &mut |row, _| {
            let at = arena.len();
            arena.extend_from_slice(row);
            f(arena, at, row.len(), 0)
        })
    }

    /// The data object and the block of the rows appended last, for a full scan of a heap.
    pub fn block(&self) -> Option<(types::ObjectId, types::Rdba)> {
        if let Path::Heap(scan) = &self.path { Some(scan.block()) } else { None }
    }

    /// Prefetches some lines of the block that [`Scan::append_rows`] reads next; see [`heap::Scan::prefetch`].
    #[inline]
    pub fn prefetch(&mut self, cx: &ExecCtx<'_>) {
        const LINES: usize = 8;
        if let Path::Heap(scan) = &mut self.path {
            scan.prefetch(cx.shared.heap, LINES);
        }
    }

    /// Whether rows are left, possibly in the next range or partition.
    fn go_on(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.rows_left {
            self.rows_left = self.next_range(m, cx)?;
        }
        cx.check_cancel()?;
        Ok(self.rows_left)
    }

    /// Calls `f` with the bytes of the rows that [`Scan::next`] would find, until `f` returns false. False at the end.
    /// Requires [`Scan::gives_bytes`].
    pub fn each_found(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<bool> {
        while self.rows_left {
            let bytes = match &mut self.path {
                Path::Heap(scan) => scan.next(cx.shared.heap, cx.p)?.map(|(rowid, row)| (At::Rowid(rowid), row)),
                Path::Cluster(scan) => scan.next(cx.shared.clusters, cx.p)?.map(|(rowid, row)| (At::Rowid(rowid), row)),
                Path::Rows(scan) | Path::RowRange(_, scan) => {
                    scan.next(cx.shared.btree, cx.p)?.map(|(key, row)| (At::Key(key), row))
                }
                Path::Range(r) => {
                    let into = Into { columns: &[], rowid: None, keeps: true };
                    let Storage::Heap(table) = &self.storage else { return Err(no_bytes()) };
                    let found = r.advance_in_heap(table, into, &mut self.row, m, cx)?;
                    found.map(|rowid| (At::Rowid(rowid), &self.row[..]))
                }
                _ => return Err(no_bytes()),
            };
            let Some((at, bytes)) = bytes else {
                self.rows_left = self.next_range(m, cx)?;
                continue;
            };
            if !self.filter.is_empty() {
                decode(bytes, at, &self.columns, self.rowid, m)?;
                if !all_true(&self.filter, m, cx)? {
                    cx.check_cancel()?;
                    continue;
                }
            }
            if !f(bytes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As [`crate::source::Op::pass`].
    pub fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        if let Path::Range(r) = &mut self.path
            && self.rows_left
            && self.filter.is_empty()
            && r.only.is_some()
        {
            let passed = r.pass(m, cx)?;
            if passed > 0 {
                cx.check_cancel()?;
                return Ok(passed);
            }
        }
        self.next(m, cx).map(u64::from)
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let snapshot = match &self.as_of {
            None => *m.snapshot(),
            Some((n, table)) => {
                let s = crate::flashback::snapshot_of(*n, table, m, cx)?;
                self.moment = Some(s);
                if let Storage::Index(t) = &self.storage
                    && !t.rows.tree.notes_purges
                {
                    return Err(Ora::with(1555, &[&"", &""]));
                }
                s
            }
        };
        self.rows_left = true;
        let unbounded = (Bound::Unbounded, Bound::Unbounded);
        match (&mut self.path, &self.storage) {
            (Path::Heap(scan), Storage::Heap(table)) => scan.start(cx.shared.heap, cx.p, &snapshot, table)?,
            (Path::Versions(scan), Storage::Heap(heap)) => {
                let Some((versions, table)) = &self.versions else {
                    return Err(Ora::internal("VERSIONS BETWEEN without bounds"));
                };
                let between = crate::flashback::between(*versions, table, m, cx)?;
                scan.start(cx.shared.heap, cx.p, heap, between)?;
            }
            (Path::Cluster(scan), Storage::Cluster(c, _)) => scan.start(cx.shared.clusters, cx.p, &snapshot, c)?,
            (Path::Rows(scan), Storage::Index(t)) => {
                built_before(&t.rows.tree, &snapshot)?;
                scan.start(&t.rows.tree, &snapshot, unbounded.0, unbounded.1, false);
            }
            (Path::Rowid(_), _) => {}
            (Path::Key { table, keys, key }, _) => {
                built_before(&table.rows.tree, &snapshot)?;
                key.clear();
                self.rows_left = encode(None, &table.key, keys, key, m, cx)?;
            }
            (Path::RowRange(r, scan), Storage::Index(t)) => {
                built_before(&t.rows.tree, &snapshot)?;
                self.rows_left = r.work_out(&t.rows.tree, m, cx)?;
                if self.rows_left {
                    let (low, high) = r.bounds();
                    scan.start(&t.rows.tree, &snapshot, low, high, r.descending);
                }
            }
            (Path::Unique { index, keys, key, found }, _) => {
                built_before(&index.tree, &snapshot)?;
                key.clear();
                self.rows_left = encode(Some(index), &index.columns, keys, key, m, cx)?;
                found.clear();
                if self.rows_left {
                    probe(index, key, found, cx)?;
                }
            }
            (Path::Range(r), _) => self.rows_left = r.start(&snapshot, m, cx)?,
            (Path::Hash { keys, key, rows, at }, Storage::Cluster(c, _)) => {
                *at = 0;
                key.clear();
                self.rows_left = hash_key(keys, key, m, cx)?;
                if self.rows_left {
                    cx.shared.clusters.lookup(cx.p, &snapshot, c, key, rows)?;
                }
            }
            _ => return Err(Ora::internal("access path does not fit the table")),
        }
        Ok(())
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.rows_left {
            if !self.advance(m, cx)? {
                if self.rows_left && self.next_range(m, cx)? {
                    continue;
                }
                self.rows_left = false;
                return Ok(false);
            }
            if !self.pseudos.is_empty() && self.versions.is_none() {
                self.put_row_scn(m, cx)?;
            }
            if all_true(&self.filter, m, cx)? {
                return Ok(true);
            }
            self.left_out += 1;
            cx.check_cancel()?;
        }
        Ok(false)
    }

    /// Number of rows read and dropped by the filter.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Starts the next of several ranges. False if there is none.
    fn next_range(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match (&mut self.path, &self.storage) {
            (Path::Range(r), _) if r.ranges.is_some() => {
                let Some(index) = &r.index else { return Ok(false) };
                let tree = index.tree;
                if !r.next_keys(&tree, m, cx)? {
                    return Ok(false);
                }
                r.go(true);
                Ok(true)
            }
            (Path::RowRange(r, scan), Storage::Index(t)) if r.ranges.is_some() => {
                if !r.next_keys(&t.rows.tree, m, cx)? {
                    return Ok(false);
                }
                let (low, high) = r.bounds();
                scan.start(&t.rows.tree, &seen_as_of(&self.moment, m), low, high, r.descending);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Sets ORA_ROWSCN of the row whose address is in its register.
    fn put_row_scn(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let snapshot = self.moment.unwrap_or(*m.snapshot());
        let address = self.rowid.and_then(|r| Address::of(m.value(r)));
        let scn = match (&self.storage, address) {
            (Storage::Index(t), Some(Address::Key(key))) => {
                cx.shared.btree.row_scn(cx.p, &t.rows.tree, &key, &snapshot)?
            }
            (Storage::Heap(_) | Storage::Cluster(..), Some(Address::Rowid(rowid))) => {
                cx.shared.heap.row_scn(cx.p, &snapshot, rowid)?
            }
            _ => None,
        };
        for (_, reg) in self.pseudos.iter().filter(|(pseudo, _)| *pseudo == Pseudo::RowScn) {
            m.put(*reg, scn.map_or(Value::Null, scn_value));
        }
        Ok(())
    }

    /// Decodes the next row of the path. False at the end.
    fn advance(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (rowid, bytes) = match &mut self.path {
            Path::Versions(scan) => {
                let Some(version) = scan.next(cx.shared.heap, cx.p)? else { return Ok(false) };
                decode(&version.row, At::Rowid(version.rowid), &self.columns, self.rowid, m)?;
                for (pseudo, reg) in &self.pseudos {
                    let value = pseudo_of(*pseudo, &version, cx);
                    m.put(*reg, value);
                }
                return Ok(true);
            }
            Path::Heap(scan) => match scan.next(cx.shared.heap, cx.p)? {
                Some(found) => found,
                None => return Ok(false),
            },
            Path::Cluster(scan) => match scan.next(cx.shared.clusters, cx.p)? {
                Some(found) => found,
                None => return Ok(false),
            },
            Path::Rows(scan) | Path::RowRange(_, scan) => match scan.next(cx.shared.btree, cx.p)? {
                Some((key, row)) => {
                    decode(row, At::Key(key), &self.columns, self.rowid, m)?;
                    return Ok(true);
                }
                None => return Ok(false),
            },
            Path::Key { key, .. } => {
                self.rows_left = false;
                let snapshot = seen_as_of(&self.moment, m);
                if !fetch(&self.storage, At::Key(key), &snapshot, &mut self.row, cx)? {
                    return Ok(false);
                }
                decode(&self.row, At::Key(key), &self.columns, self.rowid, m)?;
                return Ok(true);
            }
            Path::Hash { rows, at, .. } => {
                if *at >= rows.len() {
                    return Ok(false);
                }
                *at += 1;
                rows.get(*at - 1)
            }
            Path::Rowid(code) => {
                self.rows_left = false;
                let r = code.eval(m, cx)?;
                let Some(at) = Address::of(m.value(r)) else { return Ok(false) };
                let snapshot = seen_as_of(&self.moment, m);
                if !fetch(&self.storage, at.at(), &snapshot, &mut self.row, cx)? {
                    return Ok(false);
                }
                decode(&self.row, at.at(), &self.columns, self.rowid, m)?;
                return Ok(true);
            }
            Path::Unique { index, key, found, .. } => loop {
                let Some(rowid) = found.pop() else { return Ok(false) };
                let snapshot = seen_as_of(&self.moment, m);
                let there = fetch(&self.storage, At::Rowid(rowid), &snapshot, &mut self.row, cx)?;
                if there && index.matches(&self.row, key, &mut m.scratch)? {
                    decode(&self.row, At::Rowid(rowid), &self.columns, self.rowid, m)?;
                    return Ok(true);
                }
            },
            Path::Range(r) => {
                let into = Into { columns: &self.columns, rowid: self.rowid, keeps: self.keeps };
                return r.advance(&self.storage, into, &mut self.row, m, cx);
            }
        };
        decode(bytes, At::Rowid(rowid), &self.columns, self.rowid, m)?;
        if self.keeps {
            self.row.clear();
            self.row.extend_from_slice(bytes);
        }
        Ok(true)
    }
}

impl Path {
    fn build(s: &plan::Scan, storage: &Storage, b: &mut Builder<'_>) -> Result<Path> {
        Ok(match &s.access {
            Access::Full => match storage {
                Storage::Heap(_) => {
                    let mut scan = heap::Scan::new();
                    if let Some(granules) = b.granules.as_ref().filter(|_| s.granules) {
                        scan.share_blocks(std::rc::Rc::clone(granules));
                    }
                    Path::Heap(scan)
                }
                Storage::Cluster(..) => Path::Cluster(ClusterScan::new()),
                Storage::Index(_) => Path::Rows(RowScan::new()),
            },
            Access::Rowid(e) => Path::Rowid(b.code(e)),
            Access::IndexUnique { index, keys, recheck, .. } => match storage {
                Storage::Index(t) if t.index.object == index.object => {
                    Path::Key { table: t.clone(), keys: key_codes(keys, &t.key, s, b), key: Vec::new() }
                }
                // A row of an index-organised table is found by the content of the entry, as in a range.
                _ if matches!(storage, Storage::Index(_)) || !recheck.is_empty() => {
                    let index = Index::of(index, &s.table, b)?;
                    let keys = key_codes(keys, &index.columns, s, b).into_iter().map(Part::Is).collect();
                    let mut range = RangePath::new(index.columns.clone(), Some(index), keys);
                    range.recheck = b.codes(recheck);
                    Path::Range(Box::new(range))
                }
                _ => {
                    let index = Index::of(index, &s.table, b)?;
                    let keys = key_codes(keys, &index.columns, s, b);
                    Path::Unique { index, keys, key: Vec::new(), found: Vec::new() }
                }
            },
            Access::IndexFast { index } => {
                let range = plan::IndexRange { index_only: true, ..plan::IndexRange::whole(index.clone()) };
                let access = Access::IndexRange(Box::new(range));
                let whole = plan::Scan { access, ..s.clone() };
                let mut path = Path::build(&whole, storage, b)?;
                if let Path::Range(range) = &mut path {
                    range.range.read_ahead();
                }
                path
            }
            Access::IndexRange(range) => {
                let plan::IndexRange { index, skip, prefix, low, high, like, .. } = &**range;
                let plan::IndexRange { descending, index_only, no_nulls, recheck, first_only: _, .. } = &**range;
                let itself = match storage {
                    Storage::Index(t) if t.index.object == index.object => Some(t.key.clone()),
                    _ => None,
                };
                let is_table = itself.is_some();
                let mut range = match itself {
                    Some(key) => RangePath::new(key, None, Vec::new()),
                    None => {
                        let index = Index::of(index, &s.table, b)?;
                        RangePath::new(index.columns.clone(), Some(index), Vec::new())
                    }
                };
                let types: Vec<DataType> = range.columns.iter().map(|(at, _)| s.table.columns[*at].data_type).collect();
                let column = |n: usize| types.get(n).copied().unwrap_or(DataType::Null);
                range.prefix =
                    prefix.iter().enumerate().map(|(n, part)| Part::build(part, column(skip + n), b)).collect();
                let mut side = |x: &Option<(plan::Key, bool)>| {
                    x.as_ref().map(|(key, inside)| (KeyCode::build(key, column(skip + prefix.len()), b), *inside))
                };
                (range.low, range.high, range.descending) = (side(low), side(high), *descending);
                range.like = like.as_ref().map(|like| (b.code(&like.pattern), like.escape.as_ref().map(|e| b.code(e))));
                let lists = prefix.iter().any(|part| matches!(part, plan::KeyPart::In(_)));
                range.ranges = (*skip > 0 || lists).then(|| Box::new(Ranges::new(*skip)));
                range.no_nulls = *no_nulls;
                range.recheck = b.codes(recheck);
                if *index_only {
                    range.only = Some(wanted_parts(&range.columns, s));
                }
                if is_table { Path::RowRange(Box::new(range), RowScan::new()) } else { Path::Range(Box::new(range)) }
            }
            Access::ClusterHash { keys } => {
                let columns: Vec<(usize, bool)> = match storage {
                    Storage::Cluster(_, positions) => positions.iter().map(|at| (*at, false)).collect(),
                    _ => Vec::new(),
                };
                Path::Hash { keys: key_codes(keys, &columns, s, b), key: Vec::new(), rows: RowSet::new(), at: 0 }
            }
        })
    }
}

/// Values of the leading columns of a key.
fn key_codes(keys: &[plan::Key], columns: &[(usize, bool)], s: &plan::Scan, b: &mut Builder<'_>) -> Vec<KeyCode> {
    let column = |n: usize| columns.get(n).map_or(DataType::Null, |(at, _)| s.table.columns[*at].data_type);
    keys.iter().enumerate().map(|(n, key)| KeyCode::build(key, column(n), b)).collect()
}

/// The snapshot of the scan's AS OF clause, or the statement's.
fn seen_as_of(moment: &Option<Snapshot>, m: &Machine) -> Snapshot {
    moment.unwrap_or(*m.snapshot())
}

fn scn_value(scn: types::Scn) -> Value {
    Value::Number(types::Number::from_i128(scn.0.into()))
}

/// A pseudo-column of a version.
fn pseudo_of(pseudo: Pseudo, v: &Version, cx: &ExecCtx<'_>) -> Value {
    let start = v.made.map(|(scn, ..)| scn);
    // An SCN without a recorded time has no time.
    let time = |scn: types::Scn| cx.host.time_of_scn(scn).map_or(Value::Null, Value::Timestamp);
    match pseudo {
        Pseudo::RowScn | Pseudo::StartScn => start.map_or(Value::Null, scn_value),
        Pseudo::EndScn => v.end.map_or(Value::Null, scn_value),
        Pseudo::StartTime => start.map_or(Value::Null, time),
        Pseudo::EndTime => v.end.map_or(Value::Null, time),
        Pseudo::Xid => v.made.map_or(Value::Null, |(_, xid, _)| Value::Raw(xid.to_bits().to_be_bytes().to_vec())),
        Pseudo::Operation => v.made.map_or(Value::Null, |(_, _, operation)| {
            let letter = match operation {
                Operation::Insert => "I",
                Operation::Update => "U",
                Operation::Delete => "D",
            };
            Value::Text(letter.into())
        }),
    }
}

/// The register of each key part, for an access to the index only.
fn wanted_parts(key: &[(usize, bool)], s: &plan::Scan) -> Vec<Option<(Reg, DataType)>> {
    let reg = |column: usize| s.columns.iter().find(|(c, _)| usize::from(*c) == column).map(|(_, r)| *r);
    key.iter().map(|(column, _)| Some((reg(*column)?, s.table.columns[*column].data_type))).collect()
}

/// ORA-08176: an index that was built after the snapshot lacks entries that the snapshot needs.
fn built_before(tree: &btree::Index, snapshot: &Snapshot) -> Result<()> {
    if tree.created > snapshot.scn { Err(Ora::new(8176)) } else { Ok(()) }
}

#[inline]
fn fetch(storage: &Storage, at: At<'_>, s: &Snapshot, row: &mut Vec<u8>, cx: &mut ExecCtx<'_>) -> Result<bool> {
    crate::measure::by_rowid(cx, |cx| storage.fetch(cx, at, s, row))
}

/// Decodes the wanted columns of a row into their registers.
#[inline]
fn decode(bytes: &[u8], at: At<'_>, columns: &[Wanted], rowid_reg: Option<Reg>, m: &mut Machine) -> Result<()> {
    if let Some(r) = rowid_reg {
        at.put(m, r);
    }
    let mut reader = RowReader::new(bytes).ok_or_else(damaged)?;
    let mut at = 0;
    for (column, reg, ty) in columns {
        while at < *column {
            reader.next_column().ok_or_else(damaged)?;
            at += 1;
        }
        let stored = reader.next_column().ok_or_else(damaged)?;
        at += 1;
        let value = &mut m.regs[*reg as usize];
        match stored.bytes() {
            Some(bytes) => codec::decode_into(bytes, ty, value)?,
            None => *value = Value::Null,
        }
    }
    Ok(())
}

fn no_bytes() -> Ora {
    Ora::internal("access path without row bytes")
}

fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}

/// Encodes an equality key. False if a part is NULL, which equals nothing.
fn encode(
    index: Option<&Index>,
    columns: &[(usize, bool)],
    keys: &[KeyCode],
    out: &mut Vec<u8>,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<bool> {
    for (code, (_, descending)) in keys.iter().zip(columns) {
        let Some(r) = code.exact(m, cx)? else { return Ok(false) };
        if !push_part(index, r, *descending, out, m) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The cluster key: a row of the cluster columns. False if a part is NULL.
fn hash_key(keys: &[KeyCode], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    let mut w = RowWriter::new(out, keys.len());
    for code in keys {
        let Some(r) = code.exact(m, cx)? else { return Ok(false) };
        let v = m.value(r);
        if v.is_null() {
            return Ok(false);
        }
        w.value(v);
    }
    Ok(true)
}

impl RangePath {
    fn new(columns: Vec<(usize, bool)>, index: Option<Index>, prefix: Vec<Part>) -> RangePath {
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
    fn start(&mut self, snapshot: &Snapshot, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
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
    fn go(&mut self, on: bool) {
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
    fn advance_in_heap(
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
                    decode(row, At::Rowid(rowid), into.columns, into.rowid, m)?;
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
    fn each_ahead(
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
    fn pass(&mut self, m: &Machine, cx: &ExecCtx<'_>) -> Result<u64> {
        let RangePath { range, verdict, .. } = self;
        let sure = &mut |xid| is_sure_of(xid, m.snapshot(), verdict, cx);
        range.pass_sure(cx.shared.btree, cx.p, usize::MAX, sure).map(|passed| passed as u64)
    }

    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        bounds(&self.low_key, &self.high_key, self.inclusive)
    }

    /// Puts the next row of the range into its registers. False at the end.
    fn advance(
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
                    decode(row, at, columns, rowid_reg, m)?;
                    return Ok(true);
                }
                continue;
            }
            decode(row, at, columns, rowid_reg, m)?;
            if is_sure(&entry, m.snapshot(), &mut self.verdict, cx)
                || makes_key(&self.recheck, index, entry.key, m, cx)?
            {
                return Ok(true);
            }
        }
    }

    /// Computes the bounds of the first range. False if no range can have a key.
    fn work_out(&mut self, tree: &btree::Index, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
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
    fn next_keys(&mut self, tree: &btree::Index, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
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

/// Whether the entry alone proves that the snapshot sees a row with its key: the transaction that made it had committed
/// before the snapshot, and it has not been marked deleted since. An entry of the own transaction is not sure, because
/// it may be newer than the statement.
fn is_sure(entry: &btree::Entry<'_>, s: &Snapshot, last: &mut Option<(Xid, bool)>, cx: &ExecCtx<'_>) -> bool {
    !entry.deleted && is_sure_of(entry.xid, s, last, cx)
}

/// [`is_sure`] for an entry of this transaction that is not marked deleted.
fn is_sure_of(maker: Xid, s: &Snapshot, last: &mut Option<(Xid, bool)>, cx: &ExecCtx<'_>) -> bool {
    // The entry was made by the index build, which precedes the snapshot.
    if maker == Xid::default() {
        return true;
    }
    if let Some((xid, sure)) = last
        && *xid == maker
    {
        return *sure;
    }
    let visible = || cx.shared.txns.sight(Maker::Transaction(maker), Uba::NONE, s) == Sight::Visible;
    let sure = s.xid != Some(maker) && visible();
    *last = Some((maker, sure));
    sure
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
