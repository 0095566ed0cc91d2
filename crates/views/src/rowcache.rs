//! The row cache: `v$rowcache` and the views of its contents, `x$kqrst`, and the two tables that are read row by row
//! through `dc_props`.

use std::cell::RefCell;
use std::rc::Rc;

use dictionary::{DictionaryShared, PropertyList};
use exec::{ExecCtx, FixedScan};
use row_cache::{Cache, ObjectRow, Rank, RowValue};
use types::{Ora, Result, Value};

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const ROWCACHE: &[(&str, Type)] = &[
    ("CACHE#", N),
    ("TYPE", V(11)),
    ("SUBORDINATE#", N),
    ("PARAMETER", V(32)),
    ("COUNT", N),
    ("USAGE", N),
    ("FIXED", N),
    ("GETS", N),
    ("FASTGETS", N),
    ("GETMISSES", N),
    ("SCANS", N),
    ("SCANMISSES", N),
    ("SCANCOMPLETES", N),
    ("MODIFICATIONS", N),
    ("FLUSHES", N),
    ("DLM_REQUESTS", N),
    ("DLM_CONFLICTS", N),
    ("DLM_RELEASES", N),
    ("CON_ID", N),
];

pub const PARENT: &[(&str, Type)] = &[
    ("INDX", N),
    ("HASH", N),
    ("ADDRESS", R(8)),
    ("CACHE#", N),
    ("CACHE_NAME", V(64)),
    ("EXISTENT", V(1)),
    ("LOCK_MODE", N),
    ("LOCK_REQUEST", N),
    ("TXN", R(8)),
    ("SADDR", R(8)),
    ("INST_LOCK_REQUEST", N),
    ("INST_LOCK_RELEASE", N),
    ("INST_LOCK_TYPE", V(2)),
    ("INST_LOCK_ID1", R(4)),
    ("INST_LOCK_ID2", R(4)),
    ("KEY", R(100)),
    ("CON_ID", N),
];

pub const SUBORDINATE: &[(&str, Type)] = &[
    ("INDX", N),
    ("HASH", N),
    ("ADDRESS", R(8)),
    ("CACHE#", N),
    ("SUBCACHE#", N),
    ("SUBCACHE_NAME", V(64)),
    ("EXISTENT", V(1)),
    ("PARENT", R(8)),
    ("KEY", R(100)),
    ("CON_ID", N),
];

pub const KQRST: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("KQRSTTYP", N),
    ("KQRSTCID", N),
    ("KQRSTCSZ", N),
    ("KQRSTTXT", V(32)),
    ("KQRSTSUB", N),
    ("KQRSTSNO", N),
    ("KQRSTCLN", N),
    ("KQRSTCSU", N),
    ("KQRSTUSG", N),
    ("KQRSTFCS", N),
    ("KQRSTGRQ", N),
    ("KQRSTGMI", N),
    ("KQRSTSRQ", N),
    ("KQRSTSMI", N),
    ("KQRSTSCO", N),
    ("KQRSTMRQ", N),
    ("KQRSTMFL", N),
];

pub const PROPS: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("NAME", V(128)),
    ("VALUE$", V(4000)),
    ("COMMENT$", V(4000)),
];

pub const NLS_DATABASE: &[(&str, Type)] = &[("PARAMETER", V(128)), ("VALUE", V(64))];

/// The caches of the present generation, with their figures.
fn caches(s: &Source<'_>) -> Vec<row_cache::CacheRow> {
    let g = s.generation();
    s.instance.storage().rows.cache_rows().into_iter().filter(|row| row.cache.exists_in(g)).collect()
}

fn subordinate(cache: Cache) -> Option<u8> {
    match cache.rank() {
        Rank::Parent => None,
        Rank::Subordinate(number) => Some(number),
    }
}

pub fn rowcache(s: &Source<'_>) -> Vec<Row> {
    let row = |r: row_cache::CacheRow| {
        let number = subordinate(r.cache);
        vec![
            n(r.cache.id()),
            t(if number.is_some() { "SUBORDINATE" } else { "PARENT" }),
            number.map_or(Value::Null, n),
            t(r.cache.name()),
            n(r.count),
            n(r.usage),
            n(0u64),
            n(r.gets),
            n(0u64),
            n(r.misses),
            n(r.scans),
            n(r.scan_misses),
            n(r.scan_completes),
            n(r.modifications),
            n(r.flushes),
            n(0u64),
            n(0u64),
            n(0u64),
            n(0u64),
        ]
    };
    caches(s).into_iter().map(row).collect()
}

pub fn kqrst(s: &Source<'_>) -> Vec<Row> {
    let latches = s.instance.storage().rows;
    let row = |(at, r): (usize, row_cache::CacheRow)| {
        let number = subordinate(r.cache);
        vec![
            address(latches.latch(r.cache).address()),
            n(at as u64),
            n(1u64),
            n(0u64),
            n(if number.is_some() { 2u64 } else { 1 }),
            n(r.cache.id()),
            n(size_of::<row_cache::RowObject>() as u64),
            t(r.cache.name()),
            number.map_or(Value::Null, n),
            number.map_or(Value::Null, n),
            n(r.cache.latch_number()),
            n(r.count),
            n(r.usage),
            n(0u64),
            n(r.gets),
            n(r.misses),
            n(r.scans),
            n(r.scan_misses),
            n(r.scan_completes),
            n(r.modifications),
            n(r.flushes),
        ]
    };
    caches(s).into_iter().enumerate().map(row).collect()
}

/// The first hundred bytes of a key; an empty one is NULL.
fn key(o: &ObjectRow) -> Value {
    if o.key.is_empty() { Value::Null } else { Value::Raw(o.key[..o.key.len().min(100)].to_vec()) }
}

fn existent(o: &ObjectRow) -> Value {
    t(if o.existent { "Y" } else { "N" })
}

/// The value of MODE for an exclusive lock.
const MODE_EXCLUSIVE: u64 = 5;

pub fn rowcache_parent(s: &Source<'_>) -> Vec<Row> {
    let rows = s.instance.storage().rows.object_rows().into_iter();
    rows.filter(|o| o.cache.rank() == Rank::Parent)
        .map(|o| {
            vec![
                n(o.index),
                n(o.hash & 0xffff_ffff),
                address(o.address),
                n(o.cache.id()),
                t(o.cache.name()),
                existent(&o),
                n(if o.owner.is_some() { MODE_EXCLUSIVE } else { 0 }),
                n(0u64),
                Value::Raw(vec![0; 8]),
                o.owner.map_or_else(|| Value::Raw(vec![0; 8]), |owner| address(s.session_address(owner))),
                n(0u64),
                n(0u64),
                Value::Null,
                Value::Raw(vec![0; 4]),
                Value::Raw(vec![0; 4]),
                key(&o),
                n(0u64),
            ]
        })
        .collect()
}

pub fn rowcache_subordinate(s: &Source<'_>) -> Vec<Row> {
    let rows = s.instance.storage().rows.object_rows().into_iter();
    rows.filter_map(|o| subordinate(o.cache).map(|number| (o, number)))
        .map(|(o, number)| {
            vec![
                n(o.index),
                n(o.hash & 0xffff_ffff),
                address(o.address),
                n(o.cache.id()),
                n(number),
                t(o.cache.name()),
                existent(&o),
                Value::Raw(vec![0; 8]),
                key(&o),
                n(0u64),
            ]
        })
        .collect()
}

/// The table that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `x$props`.
    Props,
    /// `nls_database_parameters`: its rows are those of `x$props` whose names begin with NLS.
    Nls,
}

/// The names in PROPS$, which a session keeps between readings to look the properties up.
pub(crate) type Remembered = RefCell<Option<Rc<PropertyList>>>;

/// A scan: each property is looked up in `dc_props`, even when a filter or the table excludes it.
pub(crate) struct PropsScan {
    dictionary: &'static DictionaryShared,
    list: Rc<PropertyList>,
    shape: Shape,
    at: usize,
    value: RowValue,
}

impl PropsScan {
    pub fn open(
        cx: &mut ExecCtx<'_>,
        dictionary: &'static DictionaryShared,
        remembered: &Remembered,
        shape: Shape,
    ) -> Result<PropsScan> {
        let rows = dictionary.row_cache().ok_or_else(|| Ora::internal("[no row cache]"))?;
        let known = remembered.borrow().as_ref().filter(|list| list.is_current(rows)).cloned();
        let list = match known {
            Some(list) => list,
            None => {
                let list = Rc::new(dictionary.properties(cx.p)?);
                *remembered.borrow_mut() = Some(Rc::clone(&list));
                list
            }
        };
        Ok(PropsScan { dictionary, list, shape, at: 0, value: RowValue::new() })
    }
}

/// Stores a text in a value, reusing its buffer.
fn put(value: &mut Value, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|_| Ora::internal("[a property that is no text]"))?;
    put_text(value, text);
    Ok(())
}

fn put_text(value: &mut Value, text: &str) {
    match value {
        _ if text.is_empty() => *value = Value::Null,
        Value::Text(old) => {
            old.clear();
            old.push_str(text);
        }
        other => *other = Value::Text(text.to_owned()),
    }
}

/// The first 64 bytes of a text, cut at a character boundary.
fn first_64(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= 64 {
        return bytes;
    }
    let cut = (0..=64).rev().find(|at| bytes[*at] & 0xc0 != 0x80).unwrap_or(0);
    &bytes[..cut]
}

impl FixedScan for PropsScan {
    fn next(&mut self, cx: &mut ExecCtx<'_>, row: &mut exec::Row) -> Result<bool> {
        let list = Rc::clone(&self.list);
        while let Some(property) = list.rows().get(self.at) {
            let at = self.at;
            self.at += 1;
            let (value, comment) = self.dictionary.property(cx.p, &list, at, &mut self.value);
            match self.shape {
                Shape::Nls if !property.name.starts_with("NLS") => {}
                Shape::Nls => {
                    row.resize(2, Value::Null);
                    put_text(&mut row[0], &property.name);
                    put(&mut row[1], first_64(value))?;
                    return Ok(true);
                }
                Shape::Props => {
                    row.resize(7, Value::Null);
                    for (column, number) in [(1, at as u64), (2, 1), (3, 0)] {
                        row[column] = n(number);
                    }
                    row[0] = address(std::ptr::from_ref(property) as u64);
                    put_text(&mut row[4], &property.name);
                    put(&mut row[5], value)?;
                    put(&mut row[6], comment)?;
                    return Ok(true);
                }
            }
        }
        cx.p.check_cancel()?;
        Ok(false)
    }
}
