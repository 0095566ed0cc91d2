//! The children that CONNECT BY has found.
//!
//! The [`Memory`] knows the children of each class of parents; parents belong to one class if they are equal in all
//! columns that the condition reads with PRIOR. It finds children by a probe, or among all rows, which it reads once
//! into a hash table. If all rows do not fit into memory, they are sorted by the join keys in temporary space and
//! looked up there.

use super::RowSource;
use super::connect_arena::{Arena, Columns, Found, collect};
use super::sort_keys::Keys;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::eval::all_true;
use crate::hash::{KeyMap, push_part};
use crate::machine::{Held, Machine};
use crate::spill::lookup::{Found as Place, Lookup};
use crate::spill::rows;
use crate::spill::sorter::Sorter;
use crate::work_area::{SORTED_MORE, Way};
use plan::{ConnectChildren, ConnectMemory, Reg};
use types::Result;

/// Candidates between two checks for cancellation.
const CANCEL_CANDIDATES: usize = 1024;

/// The way in which children are found.
enum Find<S> {
    Probe(S),
    Rows(Box<Table<S>>),
}

/// All rows of the query block, by join key.
struct Table<S> {
    base: S,
    row_keys: Vec<Code>,
    prior_keys: Vec<Code>,
    conds: Vec<Cond>,
    all_roots: bool,
    /// The first row of each key, and for each row the next one with the same key, as number + 1.
    heads: KeyMap<u32>,
    next: Vec<u32>,
    rows: u32,
    /// All rows by key, if they do not fit into memory. A row with NULL in its key is stored under the empty key.
    disk: Option<Lookup>,
    /// Memory of `heads`.
    held: Held,
}

/// A search for children in temporary space.
pub struct DiskSearch {
    key: Vec<u8>,
    /// Whether there can be children.
    any: bool,
    at: Place,
    seen: usize,
}

pub struct Memory<S> {
    gate: Vec<Cond>,
    find: Find<S>,
    /// Whether the children of a class are kept for equal parents; `keeping` ends at a limit.
    keep: bool,
    keeping: bool,
    /// Positions of the columns that define a class.
    class: Vec<u32>,
    classes: KeyMap<u32>,
    class_of: Vec<u32>,
    /// By class: the children, and the number of its rows on the path to the current row.
    known: Vec<Option<Found>>,
    on_path: Vec<u32>,
}

impl<S: RowSource> Memory<S> {
    pub fn build(c: &ConnectMemory, source: S, columns: &Columns, b: &mut Builder<'_>) -> Memory<S> {
        let find = match &c.children {
            ConnectChildren::Probe(_) => Find::Probe(source),
            ConnectChildren::Rows { base: _, row_keys, prior_keys, conds, all_roots } => Find::Rows(Box::new(Table {
                base: source,
                row_keys: b.codes(row_keys),
                prior_keys: b.codes(prior_keys),
                conds: b.conds(conds),
                all_roots: *all_roots,
                heads: KeyMap::default(),
                next: Vec::new(),
                rows: 0,
                disk: None,
                held: Held::default(),
            })),
        };
        let place = |r: &Reg| columns.row.binary_search(r).ok().map(|at| at as u32);
        Memory {
            gate: b.conds(&c.gate),
            find,
            keep: c.keep,
            keeping: c.keep,
            class: c.class.iter().filter_map(place).collect(),
            classes: KeyMap::default(),
            class_of: Vec::new(),
            known: Vec::new(),
            on_path: Vec::new(),
        }
    }

    /// Starts an execution. Returns `None` if the rows do not fit into memory and are on disk, otherwise the roots if
    /// all rows are roots.
    /// rows are roots.
    pub fn begin(
        &mut self,
        arena: &mut Arena,
        columns: &Columns,
        siblings: &Keys,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Option<Option<Found>>> {
        self.classes.clear();
        self.class_of.clear();
        self.known.clear();
        self.on_path.clear();
        self.keeping = self.keep;
        let Find::Rows(table) = &mut self.find else { return Ok(Some(None)) };
        if !table.load(arena, columns, m, cx)? {
            return Ok(None);
        }
        if !table.all_roots {
            return Ok(Some(None));
        }
        if siblings.is_empty() {
            return Ok(Some(Some(Found { first: 0, end: table.rows, linked: false })));
        }
        let mut keys = Vec::with_capacity(table.rows as usize);
        for row in 0..table.rows {
            m.restore(&columns.row, arena.row(row));
            let mut key = Vec::new();
            siblings.encode(m, cx, &mut key)?;
            keys.push((key, row));
        }
        Ok(Some(Some(arena.link_sorted(keys))))
    }

    /// Whether children are found by a row source.
    pub fn probes(&self) -> bool {
        matches!(self.find, Find::Probe(_))
    }

    fn disk(&self) -> Option<(&Table<S>, &Lookup)> {
        match &self.find {
            Find::Rows(table) => table.disk.as_ref().map(|disk| (&**table, disk)),
            Find::Probe(_) => None,
        }
    }

    /// Whether all rows are in temporary space.
    pub fn is_on_disk(&self) -> bool {
        self.disk().is_some()
    }

    pub fn all_are_roots_on_disk(&self) -> bool {
        self.disk().is_some_and(|(table, _)| table.all_roots)
    }

    /// Puts the next of all rows in temporary space into the registers. False at the end.
    pub fn next_on_disk(&self, at: &mut Place, columns: &Columns, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<bool> {
        let Some((_, disk)) = self.disk() else { return Ok(false) };
        match disk.next_of_all(at, cx)? {
            Some(mut record) => m.decode(&columns.row, &mut record).map(|()| true),
            None => Ok(false),
        }
    }

    /// Starts a search for the children of the parent in the PRIOR registers.
    pub fn search_on_disk(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<DiskSearch> {
        let mut search = DiskSearch { key: Vec::new(), any: false, at: Place::default(), seen: 0 };
        let Some((table, disk)) = self.disk() else { return Ok(search) };
        if all_true(&self.gate, m, cx)? && encode_key(&table.prior_keys, &mut search.key, m, cx)? {
            search.any = true;
            disk.seek(&search.key, &mut search.at, m, cx)?;
        }
        Ok(search)
    }

    /// Puts the next child into the registers. False at the end.
    pub fn next_child(
        &self,
        search: &mut DiskSearch,
        columns: &Columns,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let Some((table, disk)) = self.disk().filter(|_| search.any) else { return Ok(false) };
        while let Some(mut record) = disk.next(&search.key, &mut search.at, cx)? {
            search.seen += 1;
            if search.seen.is_multiple_of(CANCEL_CANDIDATES) {
                cx.check_cancel()?;
            }
            m.decode(&columns.row, &mut record)?;
            if all_true(&table.conds, m, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Determines the classes of the rows added since the last call.
    pub fn tell_apart(&mut self, arena: &Arena, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        let mut key = std::mem::take(&mut m.key);
        for n in self.class_of.len() as u32..arena.len() {
            key.clear();
            let row = arena.row(n);
            self.class.iter().for_each(|at| push_part(&row[*at as usize], &mut key));
            let class = match self.classes.get(&key) {
                Some(class) => *class,
                None => {
                    let class = self.known.len() as u32;
                    m.charge(key.len() + 64, cx)?;
                    self.classes.insert(key.clone(), class);
                    self.known.push(None);
                    self.on_path.push(0);
                    class
                }
            };
            self.class_of.push(class);
        }
        m.key = key;
        Ok(())
    }

    #[inline]
    pub fn class_of(&self, row: u32) -> u32 {
        self.class_of[row as usize]
    }

    #[inline]
    pub fn is_on_path(&self, row: u32) -> bool {
        self.on_path[self.class_of(row) as usize] > 0
    }

    /// Adds a row of this class to the path.
    pub fn enter(&mut self, class: u64) {
        self.on_path[class as usize] += 1;
    }

    pub fn leave(&mut self, class: u64) {
        self.on_path[class as usize] -= 1;
    }

    /// Removes the rows from this number on.
    pub fn forget(&mut self, rows: u32) {
        self.class_of.truncate(rows as usize);
    }

    /// The children of a row, and whether they are kept.
    pub fn children(
        &mut self,
        row: u32,
        arena: &mut Arena,
        columns: &Columns,
        siblings: &Keys,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<(Found, bool)> {
        let class = self.class_of(row) as usize;
        if !self.gate.is_empty() {
            columns.set_prior(arena.row(row), m);
            if !all_true(&self.gate, m, cx)? {
                return Ok((Found { first: 0, end: 0, linked: false }, true));
            }
        }
        if let (true, Some(found)) = (self.keep, self.known[class]) {
            return Ok((found, true));
        }
        columns.set_prior(arena.row(row), m);
        let found = match &mut self.find {
            Find::Probe(op) => {
                op.open(m, cx)?;
                let mut next = |m: &mut Machine, cx: &mut ExecCtx<'_>| op.next(m, cx);
                // Classes are stored by row number, so all these rows stay in memory.
                collect(&mut next, arena, columns, siblings, usize::MAX, &mut |_, _| true, m, cx)?.0
            }
            Find::Rows(table) => table.children(arena, columns, siblings, m, cx)?,
        };
        self.tell_apart(arena, m, cx)?;
        let kept = self.keeping;
        if kept {
            self.known[class] = Some(found);
            self.keeping = arena.bytes() + arena.links.len() * size_of::<u32>() <= cx.session.options.spill_bytes;
        }
        Ok((found, kept))
    }
}

impl<S: RowSource> Table<S> {
    /// Reads all rows. False if they do not fit into memory and are now in temporary space.
    fn load(&mut self, arena: &mut Arena, columns: &Columns, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.heads.clear();
        self.next.clear();
        self.held.release(m);
        if let Some(mut disk) = self.disk.take() {
            disk.release(m);
        }
        let limit = cx.session.options.spill_bytes;
        let (mut keys, mut ends, mut key) = (Vec::<u8>::new(), Vec::<usize>::new(), Vec::new());
        self.base.open(m, cx)?;
        while self.base.next(m, cx)? {
            arena.push(&columns.row, m, cx)?;
            key.clear();
            if encode_key(&self.row_keys, &mut key, m, cx)? {
                keys.extend_from_slice(&key);
            }
            ends.push(keys.len());
            if arena.bytes() + keys.len() + ends.len() * 16 > limit {
                self.go_to_disk(arena, columns, &keys, &ends, m, cx)?;
                return Ok(false);
            }
        }
        self.rows = arena.len();
        let used = arena.bytes() + keys.len() + ends.len() * 16;
        cx.shared.areas.note(cx, used as u64, 0, || {
            let written = arena.written() + (keys.len() + 8 * ends.len()) as u64;
            Way::merge(u64::from(arena.len()), written)
        });
        if self.row_keys.is_empty() {
            return Ok(true);
        }
        // From the last row to the first, so that a chain is in row order. A key with a NULL is empty and matches
        // nothing.
        self.next.resize(self.rows as usize, 0);
        for row in (0..self.rows as usize).rev() {
            let begin = if row == 0 { 0 } else { ends[row - 1] };
            let key = &keys[begin..ends[row]];
            if key.is_empty() {
                continue;
            }
            match self.heads.get_mut(key) {
                Some(head) => self.next[row] = std::mem::replace(head, row as u32 + 1),
                None => {
                    self.held.charge(key.len() + 64, m, cx)?;
                    self.heads.insert(key.to_vec(), row as u32 + 1);
                }
            }
        }
        Ok(true)
    }

    /// Writes the rows in memory and the remaining rows in key order.
    fn go_to_disk(
        &mut self,
        arena: &mut Arena,
        columns: &Columns,
        keys: &[u8],
        ends: &[usize],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let limit = cx.session.options.spill_bytes;
        let (mut sorter, mut record, mut key) = (Sorter::new(&m.temporary), Vec::new(), Vec::new());
        let mut begin = 0;
        for (row, &end) in ends.iter().enumerate() {
            record.clear();
            rows::encode(arena.row(row as u32), &mut record);
            sorter.push(&keys[begin..end], &record, limit, cx)?;
            begin = end;
        }
        arena.clear(m);
        while self.base.next(m, cx)? {
            key.clear();
            record.clear();
            if !encode_key(&self.row_keys, &mut key, m, cx)? {
                key.clear();
            }
            rows::encode(columns.row.iter().map(|&r| m.value(r)), &mut record);
            sorter.push(&key, &record, limit, cx)?;
        }
        sorter.finish(cx)?;
        let (way, written) = sorter.way();
        let need = written + sorter.pushed() * SORTED_MORE;
        cx.shared.areas.note(cx, need, sorter.passes().max(1), || (way, written));
        self.disk = Some(Lookup::build(sorter, false, m, cx)?);
        Ok(())
    }

    /// The children of the parent in the PRIOR registers.
    fn children(
        &mut self,
        arena: &mut Arena,
        columns: &Columns,
        siblings: &Keys,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Found> {
        let keyed = !self.row_keys.is_empty();
        let mut at = 1;
        if keyed {
            let mut key = std::mem::take(&mut m.key);
            key.clear();
            let whole = encode_key(&self.prior_keys, &mut key, m, cx);
            at = if *whole.as_ref().unwrap_or(&false) { self.heads.get(&key).copied().unwrap_or(0) } else { 0 };
            m.key = key;
            whole?;
        } else if self.conds.is_empty() && siblings.is_empty() {
            return Ok(Found { first: 0, end: self.rows, linked: false });
        }
        let first = arena.links.len() as u32;
        let (mut keys, mut seen) = (Vec::new(), 0usize);
        while at > 0 && at <= self.rows {
            let row = at - 1;
            at = if keyed { self.next[row as usize] } else { at + 1 };
            seen += 1;
            if seen.is_multiple_of(CANCEL_CANDIDATES) {
                cx.check_cancel()?;
                m.charge(CANCEL_CANDIDATES * size_of::<u32>(), cx)?;
            }
            if !self.conds.is_empty() || !siblings.is_empty() {
                m.restore(&columns.row, arena.row(row));
            }
            if !all_true(&self.conds, m, cx)? {
                continue;
            }
            if siblings.is_empty() {
                arena.links.push(row);
                continue;
            }
            let mut key = Vec::new();
            siblings.encode(m, cx, &mut key)?;
            keys.push((key, row));
        }
        if siblings.is_empty() {
            return Ok(Found { first, end: arena.links.len() as u32, linked: true });
        }
        Ok(arena.link_sorted(keys))
    }
}

/// Encodes a join key. False when a part is NULL.
fn encode_key(keys: &[Code], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    for k in keys {
        let r = k.eval(m, cx)?;
        if m.value(r).is_null() {
            return Ok(false);
        }
        push_part(m.value(r), out);
    }
    Ok(true)
}
