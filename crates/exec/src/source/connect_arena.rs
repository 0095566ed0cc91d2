//! Rows that CONNECT BY keeps, one after the other in one block of memory.

use super::sort_keys::Keys;
use crate::ctx::ExecCtx;
use crate::hash::KeyHasher;
use crate::machine::{Machine, heap_bytes};
use crate::spill::rows;
use crate::spill::sorter::Sorter;
use crate::work_area::{SORTED_MORE, bytes_written};
use plan::{ConnectBy, Reg};
use std::hash::Hasher;
use types::{Result, Value};

/// Rows of equal width, identified by number.
pub struct Arena {
    values: Vec<Value>,
    width: usize,
    rows: u32,
    /// Row numbers in another order.
    pub links: Vec<u32>,
    /// Children that remain after loops were cut.
    pub cut: Vec<u32>,
    /// Heap bytes of the values.
    outside: usize,
    /// The peak of memory, which is charged, and the execution it belongs to.
    charged: usize,
    execution: u64,
}

impl Arena {
    pub fn new(width: usize) -> Arena {
        let (values, links, cut) = (Vec::new(), Vec::new(), Vec::new());
        Arena { values, width, rows: 0, links, cut, outside: 0, charged: 0, execution: 0 }
    }

    pub fn len(&self) -> u32 {
        self.rows
    }

    pub fn clear(&mut self, m: &mut Machine) {
        self.values.clear();
        self.links.clear();
        self.cut.clear();
        if self.execution == m.execution {
            m.release(self.charged);
        }
        (self.rows, self.outside, self.charged, self.execution) = (0, 0, 0, m.execution);
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + self.outside
    }

    #[inline]
    pub fn row(&self, n: u32) -> &[Value] {
        &self.values[n as usize * self.width..][..self.width]
    }

    /// Estimated bytes of all rows when written, from a sample.
    pub fn written(&self) -> u64 {
        let rows: Vec<u32> = (0..self.rows).collect();
        bytes_written(&rows, |_| 0, |row| self.row(*row))
    }

    /// Adds the row in `regs`.
    pub fn push(&mut self, regs: &[Reg], m: &mut Machine, cx: &ExecCtx<'_>) -> Result<u32> {
        let before = self.values.len();
        self.values.extend(regs.iter().map(|&r| m.value(r).clone()));
        self.outside += bytes_outside(&self.values[before..]);
        self.rows += 1;
        self.charge(m, cx)?;
        Ok(self.rows - 1)
    }

    fn charge(&mut self, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        let bytes = self.bytes();
        if bytes > self.charged {
            // Charged in steps, so that a growing and shrinking stack is charged once.
            let step = (bytes - self.charged).max(4096);
            self.charged += step;
            m.charge(step, cx)?;
        }
        Ok(())
    }

    /// Removes the last row.
    pub fn pop(&mut self) {
        self.forget_rows(self.rows - 1);
    }

    /// Removes the rows from this number on.
    pub fn forget_rows(&mut self, rows: u32) {
        if rows < self.rows {
            let from = rows as usize * self.width;
            if self.outside > 0 {
                self.outside = self.outside.saturating_sub(bytes_outside(&self.values[from..]));
            }
            self.values.truncate(from);
            self.rows = rows;
        }
    }

    /// Removes the rows and the links from these numbers on.
    pub fn forget(&mut self, rows: u32, links: u32) {
        self.forget_rows(rows);
        self.links.truncate(links as usize);
    }

    /// Links rows in key order; rows with equal keys keep their order.
    pub fn link_sorted(&mut self, mut keys: Vec<(Vec<u8>, u32)>) -> Found {
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        let first = self.links.len() as u32;
        self.links.extend(keys.into_iter().map(|(_, row)| row));
        Found { first, end: self.links.len() as u32, linked: true }
    }

    /// A number that is equal for rows with equal values in these columns.
    pub fn mark(&self, row: u32, places: &[u32]) -> u64 {
        let row = self.row(row);
        let mut hasher = KeyHasher::default();
        for at in places {
            match &row[*at as usize] {
                Value::Number(n) => match n.to_i64() {
                    Ok(whole) => hasher.write_u64(whole as u64),
                    Err(_) => hasher.write_u64(n.to_f64().to_bits()),
                },
                Value::Text(s) => hasher.write(s.as_bytes()),
                v => {
                    let mut bytes = Vec::new();
                    types::codec::encode(v, &mut bytes);
                    hasher.write(&bytes);
                }
            }
        }
        hasher.finish()
    }

    pub fn same(&self, a: u32, b: u32, places: &[u32]) -> bool {
        let (a, b) = (self.row(a), self.row(b));
        places.iter().all(|at| a[*at as usize] == b[*at as usize])
    }
}

fn bytes_outside(row: &[Value]) -> usize {
    row.iter().map(heap_bytes).sum()
}

/// Children that were found: a range of rows or of links.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub first: u32,
    pub end: u32,
    pub linked: bool,
}

/// The registers of a row and of its parent.
pub struct Columns {
    pub row: Vec<Reg>,
    /// Each PRIOR register, its source register, and the column's position in a row; `None` for LEVEL and other values
    /// that are only in a register.
    pub prior: Vec<(Reg, Reg, Option<u32>)>,
    /// Positions of the columns that detect a loop.
    pub cycle: Option<Vec<u32>>,
}

impl Columns {
    pub fn of(c: &ConnectBy) -> Columns {
        let place = |r: &Reg| c.row.binary_search(r).ok().map(|at| at as u32);
        Columns {
            row: c.row.clone(),
            prior: c.prior.iter().map(|(from, to)| (*from, *to, place(from))).collect(),
            cycle: c.cycle.as_ref().map(|columns| columns.iter().filter_map(place).collect()),
        }
    }

    /// Puts a row of the arena into the PRIOR registers.
    pub fn set_prior(&self, row: &[Value], m: &mut Machine) {
        for (_, to, at) in &self.prior {
            if let Some(at) = at {
                m.regs[*to as usize].set(&row[*at as usize]);
            }
        }
    }
}

/// A level smaller than this part of the work area stays in memory.
const SMALL_LEVEL: usize = 16;

/// Adds the rows from `next` to the arena in sibling order, except those that `wanted` rejects. If they make the arena
/// larger than `limit` bytes, all of them go to temporary space; a small level stays in memory, because a deep
/// hierarchy has many of them.
#[allow(clippy::too_many_arguments)] // The parts of a borrowed [`Connect`], and a row source.
pub fn collect(
    next: &mut dyn FnMut(&mut Machine, &mut ExecCtx<'_>) -> Result<bool>,
    arena: &mut Arena,
    columns: &Columns,
    siblings: &Keys,
    limit: usize,
    wanted: &mut dyn FnMut(&Arena, u32) -> bool,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<(Found, Option<Box<Sorter>>)> {
    let (first, before) = (arena.len(), arena.bytes());
    let mut keys: Vec<(Vec<u8>, u32)> = Vec::new();
    let (mut key, mut key_bytes, mut sorter) = (Vec::new(), 0, None::<Sorter>);
    while next(m, cx)? {
        let row = arena.push(&columns.row, m, cx)?;
        if !wanted(arena, row) {
            arena.pop();
            continue;
        }
        key.clear();
        siblings.encode(m, cx, &mut key)?;
        if let Some(sorter) = &mut sorter {
            put_off(arena, row, &key, sorter, cx)?;
            arena.pop();
            continue;
        }
        if !siblings.is_empty() {
            key_bytes += key.len() + size_of::<(Vec<u8>, u32)>();
            keys.push((std::mem::take(&mut key), row));
        }
        let all = arena.bytes() + key_bytes;
        if all > limit && all - before > limit / SMALL_LEVEL {
            let sorter = sorter.insert(Sorter::new(&m.temporary));
            let mut ordered = keys.drain(..);
            for row in first..arena.len() {
                let key = ordered.next().map_or(Vec::new(), |(key, _)| key);
                put_off(arena, row, &key, sorter, cx)?;
            }
            arena.forget_rows(first);
        }
    }
    if let Some(mut sorter) = sorter {
        sorter.finish(cx)?;
        let (way, written) = sorter.way();
        cx.shared.areas.note(cx, written + sorter.pushed() * SORTED_MORE, sorter.passes().max(1), || (way, written));
        return Ok((Found { first, end: first, linked: false }, Some(Box::new(sorter))));
    }
    if siblings.is_empty() {
        return Ok((Found { first, end: arena.len(), linked: false }, None));
    }
    Ok((arena.link_sorted(keys), None))
}

fn put_off(arena: &Arena, row: u32, key: &[u8], sorter: &mut Sorter, cx: &ExecCtx<'_>) -> Result<()> {
    let mut record = Vec::new();
    rows::encode(arena.row(row), &mut record);
    sorter.push(key, &record, cx.session.options.spill_bytes, cx)
}
