//! The change vectors of index blocks.

use crate::list::{Placed, pop_key, pop_row};
use crate::node::{CHILD, XID, flags};
use block::data::NewRow;
use block::{BlockKind, DataMut, Refused};
use types::{Ora, Rdba, Result, Xid};

/// Operations of `Layer::Index`.
pub(crate) mod op {
    /// Inserts an entry: slot u16, flags u8, extra u16, body.
    pub const INSERT: u8 = 1;
    /// Takes an entry out: slot u16.
    pub const REMOVE: u8 = 2;
    /// Sets a leaf entry's flags and xid: slot u16, flags u8, xid u64.
    pub const MARK: u8 = 3;
    /// Sets low key and high key: flags u8, length of the low key u16, low key, high key.
    pub const BOUNDS: u8 = 4;
    /// Takes all entries from a slot on out: slot u16.
    pub const CUT: u8 = 5;
    /// Appends entries: for each flags u8, extra u16, length u16, body.
    pub const APPEND: u8 = 6;
    /// Sets the link to the right sibling: u32.
    pub const NEXT: u8 = 7;
    /// Empties the block and sets its level, with an empty low and an infinite high key: level u16.
    pub const RESET: u8 = 8;
    /// Changes a row in place: see [`crate::row`].
    pub const ROW: u8 = 9;
    /// Sets words and flags of rows: for each slot u16, flags u8, word u64.
    pub const CLEAN: u8 = 10;
    /// Inserts consecutive entries: slot of the first u16, then as APPEND.
    pub const INSERT_MANY: u8 = 11;
    /// Sets a branch entry's child: slot u16, child u32.
    pub const CHILD: u8 = 12;
    /// Sets flags and xid of leaf entries: flags u8, xid u64, slots u16.
    pub const MARK_EACH: u8 = 14;
    /// Notes up to which SCN rows of the leaf were purged: u64.
    pub const PURGED: u8 = 15;
    /// Inserts leaf entries: xid u64, then for each slot u16, length of its key u16, sort key as in [`crate::list`].
    pub const INSERT_EACH: u8 = 16;
    /// As INSERT_EACH, for entries with a rowid: xid u64, then entries as [`crate::list::Placed`] writes them.
    pub const INSERT_PLACED: u8 = 17;
    /// As APPEND: entries as [`crate::list::push_row`] writes them.
    pub const APPEND_RUN: u8 = 18;
}

fn wrong() -> Ora {
    Ora::internal("index change does not fit its block")
}

fn u16_at(data: &[u8], at: usize) -> Result<u16> {
    data.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]])).ok_or_else(wrong)
}

/// The apply function of the layer.
pub(crate) fn apply(block: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    let mut d = DataMut::new(block);
    let refused = |r: Refused| Ora::internal(format_args!("index operation {code}: {r:?}"));
    match code {
        op::INSERT => {
            let (slot, flags, extra) = (u16_at(data, 0)?, *data.get(2).ok_or_else(wrong)?, u16_at(data, 3)?);
            d.insert_sorted(slot, flags, 0, extra, &data[5..]).map_err(refused)
        }
        op::REMOVE => d.remove_sorted(u16_at(data, 0)?).map_err(refused),
        op::MARK => mark(&mut d, data),
        op::BOUNDS => {
            let (flags, low) = (*data.first().ok_or_else(wrong)?, u16_at(data, 1)?);
            let keys = &data[3..];
            if usize::from(low) > keys.len() {
                return Err(wrong());
            }
            d.replace(0, flags, 0, low, keys).map_err(refused)
        }
        op::CUT => {
            let from = u16_at(data, 0)?;
            while d.read().slots() > usize::from(from) {
                d.remove_sorted(d.read().slots() as u16 - 1).map_err(refused)?;
            }
            d.compact();
            Ok(())
        }
        op::APPEND => {
            let at = d.read().slots() as u16;
            insert_many(&mut d, at, data)
        }
        op::INSERT_MANY => {
            let at = u16_at(data, 0)?;
            insert_many(&mut d, at, &data[2..])
        }
        op::ROW => crate::row::apply(&mut d, data),
        op::CLEAN => crate::row::apply_clean(&mut d, data),
        op::CHILD => {
            let (slot, child) = (u16_at(data, 0)?, data.get(2..2 + CHILD).ok_or_else(wrong)?);
            let row = d.read().row(slot.into()).ok_or_else(wrong)?;
            let at = row.len.checked_sub(CHILD).ok_or_else(wrong)?;
            d.patch(slot, at, child).map_err(refused)
        }
        op::INSERT_EACH => insert_each(&mut d, data),
        op::INSERT_PLACED => insert_placed(&mut d, data),
        op::APPEND_RUN => append_run(&mut d, data),
        op::MARK_EACH => mark_each(&mut d, data),
        op::PURGED => {
            let scn = data.first_chunk::<8>().ok_or_else(wrong)?;
            d.set_aux64(u64::from_le_bytes(*scn));
            Ok(())
        }
        op::NEXT => {
            let next = data.first_chunk::<4>().ok_or_else(wrong)?;
            d.set_next(Rdba(u32::from_le_bytes(*next)));
            Ok(())
        }
        op::RESET => {
            let level = u16_at(data, 0)?;
            while d.read().slots() > 0 {
                d.remove_sorted(d.read().slots() as u16 - 1).map_err(refused)?;
            }
            d.compact();
            d.set_kind(if level == 0 { BlockKind::IndexLeaf } else { BlockKind::IndexBranch });
            d.set_aux16(level);
            d.set_aux64(0);
            d.set_next(Rdba::NONE);
            d.insert_sorted(0, flags::INFINITE, 0, 0, &[]).map_err(refused)
        }
        _ => Err(wrong()),
    }
}

fn mark(d: &mut DataMut, data: &[u8]) -> Result<()> {
    let (slot, flags) = (u16_at(data, 0)?, *data.get(2).ok_or_else(wrong)?);
    mark_one(d, slot, flags, data.get(3..3 + XID).ok_or_else(wrong)?)
}

fn mark_one(d: &mut DataMut, slot: u16, flags: u8, xid: &[u8]) -> Result<()> {
    d.set_row_and_tail(slot, flags, 0, xid).map_err(|_| wrong())
}

fn insert_many(d: &mut DataMut, mut at: u16, mut data: &[u8]) -> Result<()> {
    while !data.is_empty() {
        let (flags, extra, len) = (data[0], u16_at(data, 1)?, usize::from(u16_at(data, 3)?));
        let body = data.get(5..5 + len).ok_or_else(wrong)?;
        d.insert_sorted(at, flags, 0, extra, body).map_err(|_| wrong())?;
        at += 1;
        data = &data[5 + len..];
    }
    Ok(())
}

fn mark_each(d: &mut DataMut, data: &[u8]) -> Result<()> {
    let (mark, slots) = data.split_at_checked(1 + XID).ok_or_else(wrong)?;
    slots.chunks_exact(2).try_for_each(|slot| mark_one(d, u16::from_le_bytes([slot[0], slot[1]]), mark[0], &mark[1..]))
}

fn insert_each(d: &mut DataMut, data: &[u8]) -> Result<()> {
    let (xid, mut rest) = data.split_at_checked(XID).ok_or_else(wrong)?;
    let (mut rows, mut bodies) = (Vec::with_capacity(data.len() / 8), Vec::with_capacity(4 * data.len()));
    let mut sort_key = Vec::with_capacity(64);
    while !rest.is_empty() {
        let (position, extra) = (u16_at(rest, 0)?, u16_at(rest, 2)?);
        rest = pop_key(&rest[4..], &mut sort_key).ok_or_else(wrong)?;
        bodies.extend_from_slice(&sort_key);
        bodies.extend_from_slice(xid);
        rows.push(NewRow { position, extra, end: bodies.len() as u32 });
    }
    d.insert_each_sorted(&rows, &bodies).map_err(|_| wrong())
}

fn insert_placed(d: &mut DataMut, data: &[u8]) -> Result<()> {
    let (xid, mut rest) = data.split_at_checked(XID).ok_or_else(wrong)?;
    let (mut rows, mut bodies) = (Vec::with_capacity(data.len() / 5), Vec::with_capacity(6 * data.len()));
    let mut entry = Placed::default();
    while !rest.is_empty() {
        let (position, tail) = entry.pop(rest).ok_or_else(wrong)?;
        bodies.extend_from_slice(entry.key());
        bodies.extend_from_slice(entry.rowid());
        bodies.extend_from_slice(xid);
        rows.push(NewRow { position, extra: entry.key().len() as u16, end: bodies.len() as u32 });
        rest = tail;
    }
    d.insert_each_sorted(&rows, &bodies).map_err(|_| wrong())
}

fn append_run(d: &mut DataMut, mut data: &[u8]) -> Result<()> {
    let (mut at, mut row) = (d.read().slots() as u16, (0, 0, Vec::new()));
    while !data.is_empty() {
        data = pop_row(data, &mut row).ok_or_else(wrong)?;
        d.insert_sorted(at, row.0, 0, row.1, &row.2).map_err(|_| wrong())?;
        at += 1;
    }
    Ok(())
}

/// An INSERT of an entry whose key is the first `key` bytes.
pub(crate) fn insert(slot: usize, flags: u8, key: usize, parts: &[&[u8]]) -> Vec<u8> {
    let mut data = Vec::with_capacity(5 + parts.iter().map(|part| part.len()).sum::<usize>());
    data.extend_from_slice(&(slot as u16).to_le_bytes());
    data.push(flags);
    data.extend_from_slice(&(key as u16).to_le_bytes());
    parts.iter().for_each(|part| data.extend_from_slice(part));
    data
}

pub(crate) fn marking(slot: usize, flags: u8, xid: Xid) -> [u8; 11] {
    let mut data = [0; 11];
    data[..2].copy_from_slice(&(slot as u16).to_le_bytes());
    data[2] = flags;
    data[3..].copy_from_slice(&xid.to_bits().to_le_bytes());
    data
}

/// BOUNDS of a block; `high` is `None` in the rightmost one.
pub(crate) fn bounds(low: &[u8], high: Option<&[u8]>) -> Vec<u8> {
    let mut data = vec![if high.is_none() { flags::INFINITE } else { 0 }];
    data.extend_from_slice(&(low.len() as u16).to_le_bytes());
    data.extend_from_slice(low);
    data.extend_from_slice(high.unwrap_or_default());
    data
}

/// Adds an entry to the bytes of an APPEND.
pub(crate) fn push_entry(flags: u8, extra: u16, body: &[u8], to: &mut Vec<u8>) {
    to.push(flags);
    to.extend_from_slice(&extra.to_le_bytes());
    to.extend_from_slice(&(body.len() as u16).to_le_bytes());
    to.extend_from_slice(body);
}
