//! Table access: full scans, rowids, indexes, hash clusters.

use super::key_ranges::{KeyCode, Part, Ranges, push_part};
use super::partitions::Partitions;
use super::range::{RangePath, built_before};
use super::row_bytes::{Into, Wanted, decode, fetch, no_bytes};
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::eval::all_true;
use crate::index::{Index, probe};
use crate::machine::Machine;
use crate::table::{Address, At, IndexTable, Storage};
use btree::RowScan;
use cluster::{ClusterScan, RowSet};
use heap::{Operation, Version, VersionScan};
use plan::{Access, Pseudo, Reg};
use std::ops::Bound;
use txn::Snapshot;
use types::row::RowWriter;
use types::{DataType, Ora, Result, Rowid, Value};

pub struct Scan {
    /// The storage of the rows; that of the partition being read, if there are several.
    storage: Storage,
    partitions: Option<Box<Partitions>>,
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

impl Scan {
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Scan> {
        let mut storage = Storage::of(&s.table, b)?;
        let mut partitions = None;
        if let Storage::Partitioned(p) = &storage
            && s.reads_partitions()
        {
            partitions = Some(Box::new(Partitions::build(s, &p.of, b)));
            storage = Storage::Heap(p.of.heap_table(p.table, 0));
        }
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
            partitions,
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
        match &self.path {
            // The scan may have gone on to another partition.
            Path::Heap(scan) if self.partitions.is_none() => Some(scan.block()),
            _ => None,
        }
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
                decode(bytes, at, (&self.columns, self.rowid), self.moment.as_ref(), m, cx)?;
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

    /// As [`RowSource::pass`](super::RowSource::pass).
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
                    return Err(cx.shared.txns.rows_too_old());
                }
                s
            }
        };
        match &mut self.partitions {
            None => self.open_path(snapshot, m, cx),
            Some(partitions) => {
                partitions.start(m, cx)?;
                self.rows_left = self.next_partition(m, cx)?;
                Ok(())
            }
        }
    }

    /// Begins the next partition in which there may be rows. False at the end.
    fn next_partition(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let snapshot = seen_as_of(&self.moment, m);
        loop {
            let Some(partitions) = &mut self.partitions else { return Ok(false) };
            let Some(place) = partitions.next() else { return Ok(false) };
            self.storage = Storage::Heap(partitions.of.heap_table(partitions.table, place));
            match &mut self.path {
                Path::Unique { index, .. } => index.aim(place, cx)?,
                Path::Range(range) => range.index.iter_mut().try_for_each(|index| index.aim(place, cx))?,
                _ => {}
            }
            self.open_path(snapshot, m, cx)?;
            if self.rows_left {
                return Ok(true);
            }
            cx.check_cancel()?;
        }
    }

    /// Starts the path.
    fn open_path(&mut self, snapshot: Snapshot, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.rows_left = true;
        let unbounded = (Bound::Unbounded, Bound::Unbounded);
        match (&mut self.path, &self.storage) {
            (Path::Heap(scan), Storage::Heap(table)) => scan.start(cx.shared.heap, cx.p, &snapshot, table)?,
            (Path::Versions(scan), Storage::Heap(heap)) => {
                let Some((versions, table)) = &self.versions else {
                    return Err(Ora::internal("VERSIONS BETWEEN without bounds"));
                };
                let between = crate::flashback::between(*versions, table, m, cx)?;
                self.moment = Some(committed_by(between.high));
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

    /// Starts the next of several ranges, or the next partition. False if there is none.
    fn next_range(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.next_range_here(m, cx)? {
            return Ok(true);
        }
        if self.partitions.is_some() { self.next_partition(m, cx) } else { Ok(false) }
    }

    fn next_range_here(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
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
            (Storage::Heap(_) | Storage::Cluster(..) | Storage::Partitioned(..), Some(Address::Rowid(rowid))) => {
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
                let seen = last_moment(&version).or(self.moment);
                decode(&version.row, At::Rowid(version.rowid), (&self.columns, self.rowid), seen.as_ref(), m, cx)?;
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
                    decode(row, At::Key(key), (&self.columns, self.rowid), self.moment.as_ref(), m, cx)?;
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
                decode(&self.row, At::Key(key), (&self.columns, self.rowid), self.moment.as_ref(), m, cx)?;
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
                decode(&self.row, at.at(), (&self.columns, self.rowid), self.moment.as_ref(), m, cx)?;
                return Ok(true);
            }
            Path::Unique { index, key, found, .. } => loop {
                let Some(rowid) = found.pop() else { return Ok(false) };
                let snapshot = seen_as_of(&self.moment, m);
                let there = fetch(&self.storage, At::Rowid(rowid), &snapshot, &mut self.row, cx)?;
                if there && index.matches(&self.row, key, &mut m.scratch)? {
                    decode(&self.row, At::Rowid(rowid), (&self.columns, self.rowid), self.moment.as_ref(), m, cx)?;
                    return Ok(true);
                }
            },
            Path::Range(r) => {
                let into = Into { columns: &self.columns, rowid: self.rowid, keeps: self.keeps };
                return r.advance(&self.storage, into, &mut self.row, m, cx);
            }
        };
        decode(bytes, At::Rowid(rowid), (&self.columns, self.rowid), self.moment.as_ref(), m, cx)?;
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
                Storage::Partitioned(..) => return Err(Ora::internal("a full scan of no partitions")),
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

/// What was committed by a moment.
fn committed_by(scn: types::Scn) -> Snapshot {
    Snapshot { scn, xid: None, own: None, serializable: false }
}

/// The last moment at which a version was the row, for LOBs that are stored apart; `None` for one that still is.
fn last_moment(version: &Version) -> Option<Snapshot> {
    let replaced = match version.made {
        Some((scn, _, Operation::Delete)) => Some(scn),
        _ => version.end,
    };
    replaced.map(|scn| committed_by(types::Scn(scn.0.saturating_sub(1))))
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
