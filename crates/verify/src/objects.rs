//! Tables, clusters, indexes and constraints, as the dictionary describes them.

use crate::files::Space;
use crate::lobs;
use crate::report::Progress;
use crate::report::Report;
use block::{BlockKind, SegmentKind};
use cluster::HashCluster;
use dictionary::{
    Base, ConstraintDef, ConstraintKindDef, Image, IndexDef, IndexKey, ObjectKind, Organization, Partitioning, TableDef,
};
use heap::{HeapTable, Visitor};
use instance::Storage;
use process::Process;
use session::Session;
use std::rc::Rc;
use types::{Column, ObjectId, Ora, Rdba, Result, RowReader, Rowid, StoredLob, Value, codec};

/// Most faults of one kind in one object that are listed; a further line counts the rest.
const LISTED_MAX: usize = 20;
/// Most rows that are listed as violating a constraint.
const ROWS_LISTED: usize = 10;

/// A walk over the objects of the dictionary.
pub struct Walk<'a> {
    pub p: &'a Process,
    pub storage: &'a Storage,
    pub image: &'a Image,
    pub space: &'a Space,
    pub control: &'a datafile::ControlFile,
    pub report: &'a mut Report,
}

/// The key of a row in an index, by hash, and the row.
type Entry = (u64, Rdba, u16);

/// The rows of a table that is being checked.
struct Rows<'a> {
    table: &'a TableDef,
    name: String,
    cluster: Option<&'a HashCluster>,
    /// For each index, the entries that the rows require.
    entries: Vec<Vec<Entry>>,
    rows: u64,
    faults: Vec<(Option<Rdba>, String)>,
    more: u64,
    homes: Vec<(Rowid, Vec<u8>)>,
    key: Vec<u8>,
    /// The partition that the rows are in.
    partition: Option<(&'a Partitioning, usize)>,
    /// Rows whose key belongs to another partition.
    strays: u64,
    /// The locators of LOBs in segments, by column.
    lobs: Vec<(usize, StoredLob)>,
}

fn hash(bytes: &[u8]) -> u64 {
    // Two keys of one row with the same 64-bit hash are not to be expected (R4).
    let mut h = 0x9E37_79B9_7F4A_7C15 ^ bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        h = (h ^ u64::from_le_bytes(word)).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        h ^= h >> 29;
    }
    h
}

fn quoted(kind: &str, owner: &str, name: &str) -> String {
    format!("{kind} \"{owner}\".\"{name}\"")
}

impl Visitor for Rows<'_> {
    fn row(&mut self, rowid: Rowid, row: &[u8]) {
        self.rows += 1;
        if let Err(what) = self.look_at(rowid, row) {
            self.fault(rowid.rdba, format!("row {rowid}: {what}"));
        }
    }

    fn fault(&mut self, at: Rdba, what: String) {
        if self.faults.len() < LISTED_MAX {
            self.faults.push((Some(at), what));
        } else {
            self.more += 1;
        }
    }
}

impl<'a> Rows<'a> {
    /// No row yet of a table that is neither clustered nor partitioned.
    fn of(table: &'a TableDef, name: String) -> Self {
        Self {
            table,
            name,
            cluster: None,
            entries: table.indexes.iter().map(|_| Vec::new()).collect(),
            rows: 0,
            faults: Vec::new(),
            more: 0,
            homes: Vec::new(),
            key: Vec::new(),
            partition: None,
            strays: 0,
            lobs: Vec::new(),
        }
    }

    /// Decodes every column and collects the entries that the row must have.
    fn look_at(&mut self, rowid: Rowid, row: &[u8]) -> std::result::Result<(), String> {
        let mut reader = RowReader::new(row).ok_or("its bytes are damaged")?;
        if reader.count() > self.table.columns.len() {
            return Err(format!("{} columns, the table has {}", reader.count(), self.table.columns.len()));
        }
        let mut value = Value::Null;
        // Base tables of a database created before a column was added have rows without it.
        let there = if Base::of_object(self.table.object).is_some() { reader.count() } else { usize::MAX };
        for (at, column) in self.table.columns.iter().enumerate().take(there) {
            let piece =
                reader.next_column().ok_or_else(|| format!("its bytes are damaged at column {}", column.name))?;
            if let Column::Out(locator) = piece {
                let lob = StoredLob::read(locator).ok_or_else(|| format!("column {}: no locator", column.name))?;
                self.lobs.push((at, lob));
                continue;
            }
            match piece.bytes() {
                Some(bytes) if !column.hidden => codec::decode_into(bytes, &column.data_type, &mut value)
                    .map_err(|e| format!("column {}: {e}", column.name))?,
                None if !column.nullable && !column.hidden && column.virtual_text.is_none() => {
                    return Err(format!("column {} is NULL and must not be", column.name));
                }
                _ => {}
            }
        }
        for (index, entries) in self.table.indexes.iter().zip(&mut self.entries) {
            if key_of(index, row, &mut self.key)? {
                entries.push((hash(&self.key), rowid.rdba, rowid.slot));
            }
        }
        if let Some((of, place)) = self.partition
            && of.place_of_row(row, &mut self.key).ok() != Some(place)
        {
            // EXCHANGE PARTITION … WITHOUT VALIDATION may leave such rows.
            self.strays += 1;
        }
        if let Some(cluster) = self.cluster {
            let mut key = Vec::new();
            cluster.key_of(row, &mut key).map_err(|e| e.to_string())?;
            self.homes.push((rowid, key));
        }
        Ok(())
    }
}

/// The key of a row in an index. False when every part is NULL: such a row has no entry.
fn key_of(index: &IndexDef, row: &[u8], key: &mut Vec<u8>) -> std::result::Result<bool, String> {
    let reader = RowReader::new(row).ok_or("its bytes are damaged")?;
    key.clear();
    let mut any = false;
    for column in &index.columns {
        let IndexKey::Column(at) = column.key else { return Ok(false) };
        let stored = reader.column(at).ok_or("its bytes are damaged")?.bytes();
        any |= stored.is_some();
        index.push_key_part(stored, column.descending, key);
    }
    Ok(any)
}

/// The last six bytes.
fn last_bytes(bytes: &[u8]) -> [u8; 6] {
    bytes.last_chunk().copied().unwrap_or_default()
}

impl Walk<'_> {
    /// Checks every table with its indexes.
    pub fn tables(&mut self, progress: &mut dyn FnMut(&Progress)) -> Vec<Rc<TableDef>> {
        let mut all: Vec<Rc<TableDef>> = Vec::new();
        for base in Base::ALL {
            match self.image.base_table(*base) {
                Ok(table) => all.push(table),
                Err(e) => self.report.fault(None, base.table().name, format!("its definition cannot be read: {e}")),
            }
        }
        for o in self.image.objects_of_kinds(&[ObjectKind::Table]) {
            match self.image.table(o.object) {
                Ok(Some(table)) => all.push(table),
                Ok(None) => {
                    self.report.fault(None, &object_name(o.object), "an object of the dictionary without a row in TAB$")
                }
                Err(e) => {
                    self.report.fault(None, &object_name(o.object), format!("its definition cannot be read: {e}"))
                }
            }
        }
        let total = all.len() as u64;
        for (n, table) in all.iter().enumerate() {
            let name = format!("{}.{}", table.owner, table.name);
            progress(&Progress { stage: "tables", what: &name, done: n as u64, all: total });
            self.table(table);
        }
        all
    }

    fn table(&mut self, table: &TableDef) {
        let name = quoted("TABLE", &table.owner, &table.name);
        if table.is_fixed() || table.temporary.is_some() {
            return;
        }
        if self.is_offline(table_tablespace(table)) {
            self.report.note(format!("{name} is in a tablespace or file that is offline and was not checked"));
            return;
        }
        self.report.counts.tables += 1;
        if matches!(table.organization, Organization::Index(_)) {
            return self.index_table(table, name);
        }
        if let Some(of) = table.partitioning() {
            return self.partitioned(table, &of.clone(), name);
        }
        let (heap, kind, cluster) = match self.rows_of(table) {
            Ok(x) => x,
            Err(e) => {
                self.report.fault(None, &name, e.to_string());
                return;
            }
        };
        let segment_kind = if cluster.is_some() { SegmentKind::Cluster } else { SegmentKind::Table };
        if !self.segment(&name, heap.header, heap.data_object, segment_kind) {
            return;
        }
        let mut rows = Rows { cluster: cluster.as_ref(), ..Rows::of(table, name) };
        if let Err(e) = self.storage.heap.verify(self.p, &heap, kind, &mut rows) {
            rows.fault(heap.header, e.to_string());
        }
        self.report.counts.rows += rows.rows;
        let complete = rows.faults.is_empty();
        for (at, what) in std::mem::take(&mut rows.faults) {
            self.report.fault(at, &rows.name, what);
        }
        if rows.more > 0 {
            self.report.fault(None, &rows.name, format!("{} faults more", rows.more));
        }
        if let Some(cluster) = &cluster {
            self.homes(&rows.name, cluster, &rows.homes);
        }
        for (index, entries) in table.indexes.iter().zip(std::mem::take(&mut rows.entries)) {
            self.index(table, index, heap.data_object, entries, complete);
        }
        self.lobs(table, &rows.lobs, complete);
    }

    /// Checks the segments of the LOB columns against the locators in the rows.
    fn lobs(&mut self, table: &TableDef, named: &[(usize, StoredLob)], complete: bool) {
        for lob in &table.lobs {
            let name = quoted("LOB", &table.owner, &lob.name);
            let segment = &lob.segment;
            if self.is_offline(Some(segment.tablespace)) {
                self.report.note(format!("{name} is in a tablespace or file that is offline and was not checked"));
                continue;
            }
            if !self.segment(&name, segment.header, segment.data_object, lobs::SEGMENT_KIND) {
                continue;
            }
            let of_column = named.iter().filter(|(at, _)| *at == lob.column).map(|(_, lob)| *lob);
            let of_column: Vec<StoredLob> = of_column.collect();
            let faults = match lobs::stored(self.p, self.storage, lob) {
                Ok(have) if complete => lobs::faults(&table.name, &have, &of_column),
                Ok(_) => Vec::new(),
                Err(what) => vec![what],
            };
            for what in faults.into_iter().take(LISTED_MAX) {
                self.report.fault(Some(segment.header), &name, what);
            }
        }
    }

    /// The rows of all partitions, each in the partition of its key; then the indexes.
    fn partitioned(&mut self, table: &TableDef, of: &Partitioning, name: String) {
        let mut whole: Vec<Vec<Entry>> = table.indexes.iter().map(|_| Vec::new()).collect();
        let mut all_complete = true;
        for (place, p) in of.partitions.iter().enumerate() {
            let heap = of.heap_table(table.object, place);
            let name = format!("{name} PARTITION \"{}\"", p.name);
            if !self.segment(&name, heap.header, heap.data_object, SegmentKind::Table) {
                all_complete = false;
                continue;
            }
            let mut rows = Rows { partition: Some((of, place)), ..Rows::of(table, name) };
            if let Err(e) = self.storage.heap.verify(self.p, &heap, BlockKind::Heap, &mut rows) {
                rows.fault(heap.header, e.to_string());
            }
            self.report.counts.rows += rows.rows;
            let complete = rows.faults.is_empty();
            all_complete &= complete;
            for (at, what) in std::mem::take(&mut rows.faults) {
                self.report.fault(at, &rows.name, what);
            }
            if rows.more > 0 {
                self.report.fault(None, &rows.name, format!("{} faults more", rows.more));
            }
            if rows.strays > 0 {
                self.report.note(format!("{}: {} rows belong to other partitions", rows.name, rows.strays));
            }
            for ((index, entries), whole) in table.indexes.iter().zip(rows.entries).zip(&mut whole) {
                match index.local.as_ref().and_then(|local| local.get(place)) {
                    None => whole.extend(entries),
                    Some(part) => {
                        let mut own = (**index).clone();
                        (own.segment, own.unusable, own.local) = (part.segment, part.unusable, None);
                        own.name = format!("{} PARTITION {}", own.name, part.name);
                        self.index(table, &own, heap.data_object, entries, complete);
                    }
                }
            }
        }
        for (index, entries) in table.indexes.iter().zip(whole).filter(|(index, _)| index.local.is_none()) {
            self.index(table, index, btree::SEVERAL, entries, all_complete);
        }
    }

    /// The rows of an index-organised table, in the order of their keys; then its indexes.
    fn index_table(&mut self, table: &TableDef, name: String) {
        let mut rows = Rows::of(table, name);
        let Some(index) = table.row_index() else {
            return self.report.fault(None, &rows.name, "an index-organised table without its key's index");
        };
        let segment = index.segment;
        if let Err(e) = self.index_rows(table, index, &mut rows) {
            rows.fault(segment.header, e.to_string());
        }
        self.report.counts.rows += rows.rows;
        let complete = rows.faults.is_empty();
        for (at, what) in std::mem::take(&mut rows.faults) {
            self.report.fault(at, &rows.name, what);
        }
        for (index, entries) in table.indexes.iter().zip(std::mem::take(&mut rows.entries)) {
            self.index(table, index, segment.data_object, entries, complete);
        }
    }

    fn index_rows(&self, table: &TableDef, index: &IndexDef, rows: &mut Rows<'_>) -> Result<()> {
        let tree = self.storage.btree.open(self.p, index.segment.header, index.segment.data_object, true)?;
        let txn = txn::Txn::new();
        let snapshot = self.storage.txns.snapshot(self.p, &txn);
        let mut scan = btree::RowScan::new();
        scan.start(&tree, &snapshot, std::ops::Bound::Unbounded, std::ops::Bound::Unbounded, false);
        let mut key = Vec::new();
        let done = loop {
            let (at, row) = match scan.next(self.storage.btree, self.p) {
                Ok(Some(found)) => found,
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            };
            match key_of(index, row, &mut key) {
                Ok(_) if key != at => rows.fault(index.segment.header, "a row under another row's key".into()),
                Ok(_) => {}
                Err(what) => rows.fault(index.segment.header, what),
            }
            // An entry of a secondary index ends with the row's primary key, whose last bytes take the place of the
            // rowid here.
            let entries = table.indexes.iter().map(|i| {
                let mut sort_key = Vec::new();
                if i.object == index.object {
                    sort_key.extend_from_slice(at);
                } else if key_of(i, row, &mut sort_key).unwrap_or(false) {
                    let hash = hash(&sort_key);
                    sort_key.extend_from_slice(at);
                    return Some((hash, sort_key));
                } else {
                    return None;
                }
                Some((hash(&sort_key), sort_key))
            });
            let entries: Vec<Option<(u64, Vec<u8>)>> = entries.collect();
            rows.row(btree::rowid_of(&tree, &last_bytes(at)), row);
            for (list, entry) in rows.entries.iter_mut().zip(entries) {
                if entry.is_some() {
                    list.pop();
                }
                if let Some((hash, sort_key)) = entry {
                    let rowid = btree::rowid_of(&tree, &last_bytes(&sort_key));
                    list.push((hash, rowid.rdba, rowid.slot));
                }
            }
        };
        self.storage.txns.release(self.p, &snapshot);
        done
    }

    fn is_offline(&self, tablespace: Option<u32>) -> bool {
        let of = |t: &datafile::TablespaceEntry| Some(t.number) == tablespace && t.is_offline;
        let has = |f: &datafile::FileEntry| Some(f.tablespace) == tablespace && f.is_offline;
        self.control.tablespaces.iter().any(of) || self.control.files.iter().any(has)
    }

    fn rows_of(&self, table: &TableDef) -> Result<(HeapTable, BlockKind, Option<HashCluster>)> {
        if let Some(heap) = table.heap_table() {
            return Ok((heap, BlockKind::Heap, None));
        }
        let Organization::HashCluster { cluster, key_positions } = &table.organization else {
            return Err(Ora::internal("a table that is kept nowhere"));
        };
        let s = &cluster.segment;
        let keys: Vec<u16> = key_positions.iter().map(|k| *k as u16).collect();
        let described = self.storage.clusters.describe(self.p, table.object, s.data_object, s.header, &keys)?;
        let heap = HeapTable {
            object: table.object,
            data_object: s.data_object,
            header: s.header,
            pctfree: s.pctfree,
            initrans: s.initrans,
        };
        Ok((heap, BlockKind::Cluster, Some(described)))
    }

    /// Whether the dictionary's segment is on disk, with this object and kind.
    fn segment(&mut self, name: &str, header: Rdba, object: ObjectId, kind: SegmentKind) -> bool {
        match self.space.segments.iter().find(|s| s.header == header) {
            None if self.space.free_headers.contains(&header) => {
                self.report.fault(Some(header), name, "its segment is free in the bitmap");
            }
            None => self.report.fault(Some(header), name, "there is no sound segment header here"),
            Some(s) if s.object != object => {
                self.report.fault(
                    Some(header),
                    name,
                    format!("the segment is of data object {}, not {object}", s.object),
                );
            }
            Some(s) if s.kind != kind => {
                self.report.fault(Some(header), name, format!("the segment is of kind {:?}, not {kind:?}", s.kind));
            }
            Some(_) => return true,
        }
        false
    }

    /// Checks that every row of a cluster is found by its key.
    fn homes(&mut self, name: &str, cluster: &HashCluster, rows: &[(Rowid, Vec<u8>)]) {
        let txn = txn::Txn::new();
        let snapshot = self.storage.txns.snapshot(self.p, &txn);
        let mut found = cluster::RowSet::new();
        let mut listed = 0;
        let mut sorted: Vec<&(Rowid, Vec<u8>)> = rows.iter().collect();
        sorted.sort_by(|a, b| a.1.cmp(&b.1));
        let mut last: Option<&[u8]> = None;
        for (rowid, key) in sorted {
            if last != Some(key.as_slice()) {
                if let Err(e) = self.storage.clusters.lookup(self.p, &snapshot, cluster, key, &mut found) {
                    self.report.fault(Some(rowid.rdba), name, format!("looking up the key of row {rowid}: {e}"));
                    break;
                }
                last = Some(key);
            }
            if !(0..found.len()).any(|i| found.get(i).0 == *rowid) && listed < LISTED_MAX {
                self.report.fault(Some(rowid.rdba), name, format!("row {rowid} is not found by its cluster key"));
                listed += 1;
            }
        }
        self.storage.txns.release(self.p, &snapshot);
    }

    /// Checks that the tree is sound and that its entries are exactly those of the rows.
    fn index(&mut self, table: &TableDef, index: &IndexDef, rows: ObjectId, mut want: Vec<Entry>, complete: bool) {
        let name = quoted("INDEX", &index.owner, &index.name);
        self.report.counts.indexes += 1;
        if self.is_offline(Some(index.segment.tablespace)) {
            self.report.note(format!("{name} is in a tablespace or file that is offline and was not checked"));
            return;
        }
        let made = |key: &IndexKey| match key {
            IndexKey::Column(at) => table.columns.get(*at).is_some_and(|c| c.virtual_text.is_some()),
            IndexKey::Expression { .. } => true,
        };
        if index.unusable || index.columns.iter().any(|c| made(&c.key)) {
            self.report.note(format!("{name} is unusable or on an expression and was not compared with its table"));
            return;
        }
        if !self.segment(&name, index.segment.header, index.segment.data_object, SegmentKind::Index) {
            return;
        }
        let tree = match self.storage.btree.open(self.p, index.segment.header, rows, index.unique) {
            Ok(tree) => tree,
            Err(e) => {
                self.report.fault(Some(index.segment.header), &name, e.to_string());
                return;
            }
        };
        let (mut have, mut twice): (Vec<Entry>, Vec<Rowid>) = (Vec::new(), Vec::new());
        let mut last = Vec::new();
        let checked = self.storage.btree.verify_with(self.p, &tree, &mut |key, rowid| {
            if index.unique && !have.is_empty() && last == key {
                twice.push(rowid);
            }
            last.clear();
            last.extend_from_slice(key);
            have.push((hash(key), rowid.rdba, rowid.slot));
        });
        if let Err(what) = checked {
            self.report.fault(None, &name, what);
            return;
        }
        self.report.counts.entries += have.len() as u64;
        for rowid in twice.iter().take(LISTED_MAX) {
            let what = format!("two rows have the key of row {rowid} in a unique index");
            self.report.fault(Some(rowid.rdba), &name, what);
        }
        // Rows that could not be read would make their entries look superfluous.
        if complete {
            want.sort_unstable();
            have.sort_unstable();
            self.compare(table, &name, rows, &want, &have);
        }
    }

    fn compare(&mut self, table: &TableDef, name: &str, rows: ObjectId, want: &[Entry], have: &[Entry]) {
        let rowid = |e: &Entry| Rowid { obj: rows, rdba: e.1, slot: e.2 };
        let (mut i, mut j) = (0, 0);
        let mut wrong: Vec<(Rdba, String)> = Vec::new();
        while i < want.len() || j < have.len() {
            match (want.get(i), have.get(j)) {
                (Some(w), Some(h)) if w == h => (i, j) = (i + 1, j + 1),
                (Some(w), h) if h.is_none_or(|h| w < h) => {
                    wrong.push((w.1, format!("row {} of {}.{} has no entry", rowid(w), table.owner, table.name)));
                    i += 1;
                }
                (_, Some(h)) => {
                    let what = format!(
                        "an entry leads to row {} of {}.{}, which has not its key",
                        rowid(h),
                        table.owner,
                        table.name
                    );
                    wrong.push((h.1, what));
                    j += 1;
                }
                _ => break,
            }
        }
        let more = wrong.len().saturating_sub(LISTED_MAX);
        for (at, what) in wrong.into_iter().take(LISTED_MAX) {
            self.report.fault(Some(at), name, what);
        }
        if more > 0 {
            self.report.fault(None, name, format!("{more} rows and entries more do not agree"));
        }
    }

    /// Reports segments of no object: left behind by a DDL statement that was interrupted.
    pub fn orphans(&mut self, tables: &[Rc<TableDef>]) {
        let mut known = std::collections::HashSet::new();
        for table in tables {
            match &table.organization {
                Organization::Heap(s) | Organization::Index(s) => known.insert(s.header),
                Organization::HashCluster { cluster, .. } => known.insert(cluster.segment.header),
                Organization::Fixed(_) => false,
                Organization::Partitioned(of) => {
                    known.extend(of.partitions.iter().map(|p| p.segment.header));
                    false
                }
            };
            known.extend(table.indexes.iter().map(|i| i.segment.header));
            known.extend(table.lobs.iter().map(|lob| lob.segment.header));
            let local = table.indexes.iter().filter_map(|i| i.local.as_ref());
            known.extend(local.flat_map(|local| local.iter()).map(|part| part.segment.header));
        }
        for o in self.image.objects_of_kinds(&[ObjectKind::Cluster]) {
            match self.image.cluster(o.object) {
                Ok(Some(cluster)) => {
                    known.insert(cluster.segment.header);
                }
                Ok(None) => self.report.fault(None, &object_name(o.object), "a cluster without a row in CLU$"),
                Err(e) => self.report.fault(None, &object_name(o.object), e.to_string()),
            }
        }
        for s in &self.space.segments {
            let private = matches!(s.kind, SegmentKind::Undo | SegmentKind::Temporary);
            if !private && !known.contains(&s.header) {
                let blocks: u64 = s.extents.iter().map(|e| u64::from(e.blocks)).sum();
                let (kind, header, object) = (s.kind, s.header, s.object);
                self.report.note(format!(
                    "{blocks} blocks are held by the {kind:?} segment at {header} of data object {object}, which no object has"
                ));
            }
        }
    }

    /// Checks that keys have a unique index, and that CHECK, FOREIGN KEY and key constraints hold for every row.
    pub fn constraints(&mut self, session: &mut Session, tables: &[Rc<TableDef>], progress: &mut dyn FnMut(&Progress)) {
        let all: u64 = tables.iter().map(|t| t.constraints.len() as u64).sum();
        let mut done = 0;
        for table in tables {
            for constraint in table.constraints.iter().filter(|c| c.enabled) {
                progress(&Progress { stage: "constraints", what: &constraint.name, done, all });
                done += 1;
                self.report.counts.constraints += 1;
                let name = quoted("CONSTRAINT", &table.owner, &constraint.name);
                if let Err(e) = self.constraint(session, table, constraint, &name) {
                    self.report.fault(None, &name, format!("could not be checked: {e}"));
                }
            }
        }
    }

    fn constraint(&mut self, session: &mut Session, table: &TableDef, c: &ConstraintDef, name: &str) -> Result<()> {
        match &c.kind {
            ConstraintKindDef::PrimaryKey { columns, index } | ConstraintKindDef::Unique { columns, index } => {
                match table.indexes.iter().find(|i| i.object == *index) {
                    None => self.report.fault(None, name, "the index that enforces it is not there"),
                    Some(i) if columns.len() > i.columns.len() => {
                        self.report.fault(None, name, "the index that enforces it has fewer columns");
                    }
                    // An index that is not unique does not exclude duplicate keys.
                    Some(i) if c.validated && !i.unique => {
                        let names: Vec<String> = columns
                            .iter()
                            .filter_map(|at| table.columns.get(*at))
                            .map(|c| format!("\"{}\"", c.name))
                            .collect();
                        let given: Vec<String> = names.iter().map(|n| format!("{n} is not null")).collect();
                        let (given, list) = (given.join(" or "), names.join(", "));
                        let of = table_name(table);
                        let sql =
                            format!("select min(rowid) from {of} where {given} group by {list} having count(*) > 1");
                        self.violations(session, &sql, name)?;
                    }
                    Some(_) => {}
                }
                Ok(())
            }
            // Checked together with the rows.
            ConstraintKindDef::NotNull { .. } => Ok(()),
            ConstraintKindDef::Check { text } if c.validated => {
                let sql = format!("select rowid from {} where not ({text})", table_name(table));
                self.violations(session, &sql, name)
            }
            ConstraintKindDef::ForeignKey { columns, table: parent, key, .. } if c.validated => {
                let Some(parent) = self.image.table(*parent)? else {
                    self.report.fault(None, name, "the table it refers to is not there");
                    return Ok(());
                };
                let Some(to) = key_columns(&parent, *key) else {
                    self.report.fault(None, name, "the key it refers to is not there");
                    return Ok(());
                };
                let column =
                    |t: &TableDef, at: usize| t.columns.get(at).map_or("?".into(), |c| format!("\"{}\"", c.name));
                let there: Vec<String> =
                    columns.iter().map(|c| format!("c.{} is not null", column(table, *c))).collect();
                let same: Vec<String> = columns
                    .iter()
                    .zip(to)
                    .map(|(c, p)| format!("p.{} = c.{}", column(&parent, p), column(table, *c)))
                    .collect();
                let sql = format!(
                    "select c.rowid from {} c where {} and not exists (select 1 from {} p where {})",
                    table_name(table),
                    there.join(" and "),
                    table_name(&parent),
                    same.join(" and ")
                );
                self.violations(session, &sql, name)
            }
            _ => Ok(()),
        }
    }

    fn violations(&mut self, session: &mut Session, sql: &str, name: &str) -> Result<()> {
        let sql = format!("select * from ({sql}) where rownum <= {ROWS_LISTED}");
        for row in session.run(&sql)? {
            if let Some(Value::Rowid(rowid)) = row.first() {
                self.report.fault(Some(rowid.rdba), name, format!("row {rowid} is against it"));
            } else {
                self.report.fault(None, name, format!("row {:?} is against it", row.first()));
            }
        }
        Ok(())
    }
}

fn table_tablespace(table: &TableDef) -> Option<u32> {
    match &table.organization {
        Organization::Heap(s) | Organization::Index(s) => Some(s.tablespace),
        Organization::HashCluster { cluster, .. } => Some(cluster.segment.tablespace),
        // Each partition may be in another one.
        Organization::Partitioned(_) | Organization::Fixed(_) => None,
    }
}

fn object_name(object: ObjectId) -> String {
    format!("object {object}")
}

fn table_name(table: &TableDef) -> String {
    format!("\"{}\".\"{}\"", table.owner, table.name)
}

fn key_columns(parent: &TableDef, key: u32) -> Option<Vec<usize>> {
    let key = parent.constraints.iter().find(|c| c.id == key)?;
    match &key.kind {
        ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. } => {
            Some(columns.clone())
        }
        _ => None,
    }
}
