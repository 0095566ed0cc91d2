//! The dictionary's rows in the row cache, and the keys and caches that a commit closes.
//!
//! The row cache holds the stored rows of base tables by the keys of their indexes: all rows of a key are one value
//! (D8). A change of the dictionary records the keys of every row that it inserts, changes or deletes, and its commit
//! closes these keys. SQL that changes a base table records none: its commit closes the caches of the table (D9).

use crate::base::{BASE_INDEXES, Base};
use crate::rows::as_i64;
use row_cache::{Cache, CacheSet, KEY_BYTES_MAX};
use std::sync::LazyLock;
use types::{ObjectId, Ora, Result, Value};

/// The caches with rows of any of these tables: the caches that a transaction with changes in them must close.
pub fn caches_of(objects: &[ObjectId]) -> CacheSet {
    let own = objects.iter().filter(|object| object.0 < crate::FIRST_USER_OBJECT);
    let bases = own.filter_map(|object| Base::of_object(*object));
    bases.map(|base| CacheSet::of(caches_of_base(base))).fold(CacheSet::default(), CacheSet::and)
}

fn caches_of_base(base: Base) -> &'static [Cache] {
    match base {
        Base::User => &[Cache::Users, Cache::UserIds],
        Base::Obj => &[Cache::Objects, Cache::ObjectIds],
        Base::Tab | Base::Clu | Base::Ind | Base::Partobj | Base::Tabpart | Base::Indpart => &[Cache::Segments],
        Base::Col | Base::Icol | Base::View => &[Cache::ObjectIds],
        Base::HistHead | Base::StatsExtension | Base::TabStats => &[Cache::HistogramDefs],
        Base::Histgrm => &[Cache::HistogramData],
        Base::Seq => &[Cache::Sequences],
        Base::Con | Base::Cdef | Base::Ccol => &[Cache::Constraints],
        Base::Syn => &[Cache::Synonyms],
        Base::Trigger => &[Cache::Triggers],
        Base::Dir => &[Cache::Directories],
        Base::Sysauth | Base::Defrole | Base::Userauth => &[Cache::UserGrants],
        Base::Objauth => &[Cache::ObjectGrants],
        Base::Props => &[Cache::Props],
        _ => &[],
    }
}

/// The cache with the rows of a base table by the key of one of its indexes, and whether the keys begin with the
/// position of the index. They do so if the cache has rows by other indexes too, or if a key could begin with the mark
/// of long values (numbers of fixed tables).
fn cache_of_index(index: usize) -> Option<(Cache, bool)> {
    Some(match BASE_INDEXES[index].name {
        "I_OBJ2" => (Cache::Objects, false),
        "I_OBJ1" | "I_COL1" | "I_ICOL1" | "I_VIEW1" => (Cache::ObjectIds, true),
        "I_TAB1" | "I_TAB2" | "I_CLU1" | "I_IND1" | "I_IND2" => (Cache::Segments, true),
        "I_PARTOBJ$" | "I_TABPART_BOPART$" | "I_INDPART_BOPART$" => (Cache::Segments, true),
        "I_CDEF1" | "I_CDEF2" | "I_CDEF3" | "I_CCOL1" | "I_CON1" | "I_CON2" => (Cache::Constraints, true),
        "I_HH_OBJ#" | "I_STATS_EXTENSION1" | "I_TAB_STATS1" => (Cache::HistogramDefs, true),
        "I_H_OBJ#" => (Cache::HistogramData, true),
        "I_USER1" => (Cache::Users, false),
        "I_USER#" => (Cache::UserIds, true),
        "I_SYSAUTH1" | "I_DEFROLE1" | "I_USERAUTH1" => (Cache::UserGrants, true),
        "I_OBJAUTH1" => (Cache::ObjectGrants, true),
        "I_SEQ1" => (Cache::Sequences, true),
        "I_SYN1" => (Cache::Synonyms, true),
        "I_TRIGGER1" | "I_TRIGGER2" => (Cache::Triggers, true),
        "I_DIR1" => (Cache::Directories, true),
        _ => return None,
    })
}

/// [`cache_of_index`] for all indexes.
static CACHES: LazyLock<Vec<Option<(Cache, bool)>>> =
    LazyLock::new(|| (0..BASE_INDEXES.len()).map(cache_of_index).collect());

/// The cache and the key of rows by an index: the position of the index ([`cache_of_index`]), numbers with their most
/// significant byte first, a name. `None` when no cache holds them.
pub(crate) fn row_key<'v>(index: usize, values: impl Iterator<Item = &'v Value>) -> Option<(Cache, Vec<u8>)> {
    let (cache, has_place) = CACHES[index]?;
    let mut key = Vec::with_capacity(16);
    if has_place {
        key.push((index & 0x7F) as u8);
    }
    for value in values {
        match value {
            Value::Text(name) => key.extend_from_slice(name.as_bytes()),
            // A row without the number has no entry in the index.
            value => key.extend_from_slice(&u32::try_from(as_i64(value)?).ok()?.to_be_bytes()),
        }
    }
    (key.len() <= KEY_BYTES_MAX).then_some((cache, key))
}

/// Appends a stored row to the rows of a key.
pub(crate) fn push_row(rows: &mut Vec<u8>, row: &[u8]) {
    rows.extend_from_slice(&(row.len() as u32).to_le_bytes());
    rows.extend_from_slice(row);
}

/// Calls `f` with the stored rows of a key.
pub(crate) fn each_row(mut rows: &[u8], f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    while let Some((len, rest)) = rows.split_first_chunk::<4>() {
        let len = u32::from_le_bytes(*len) as usize;
        let damaged = || Ora::internal("[damaged rows in the row cache]");
        let (row, rest) = rest.split_at_checked(len).ok_or_else(damaged)?;
        f(row)?;
        rows = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{int, text};

    #[test]
    fn every_cache_that_an_index_fills_is_closed_with_the_table_of_the_index() {
        for (n, index) in BASE_INDEXES.iter().enumerate() {
            if let Some((cache, _)) = cache_of_index(n) {
                assert!(caches_of_base(index.table).contains(&cache), "{}", index.name);
                let sharing = (0..BASE_INDEXES.len()).filter(|m| cache_of_index(*m).is_some_and(|(c, _)| c == cache));
                assert!(sharing.count() == 1 || cache_of_index(n).is_some_and(|(_, place)| place), "{}", index.name);
            }
        }
        // Keys of different indexes in a cache begin with different bytes.
        assert!(BASE_INDEXES.len() < 0x7F);
    }

    #[test]
    fn rows_of_a_key_come_back() {
        let mut rows = Vec::new();
        [&b"one"[..], b"", b"three"].iter().for_each(|row| push_row(&mut rows, row));
        let mut back = Vec::new();
        let mut add = |row: &[u8]| {
            back.push(row.to_vec());
            Ok(())
        };
        each_row(&rows, &mut add).expect("whole");
        assert_eq!(back, [&b"one"[..], b"", b"three"]);
        assert_eq!(each_row(&rows[..rows.len() - 1], &mut |_| Ok(())).unwrap_err().code(), 600);
    }

    #[test]
    fn a_key_has_the_numbers_and_the_name() {
        let index = |name: &str| BASE_INDEXES.iter().position(|index| index.name == name).expect("an index");
        let values = [int(7), int(1), text("EMP")];
        let (cache, key) = row_key(index("I_OBJ2"), values.iter()).expect("a key");
        assert_eq!((cache, key.as_slice()), (Cache::Objects, &b"\0\0\0\x07\0\0\0\x01EMP"[..]));
        assert_eq!(row_key(index("I_TAB1"), [Value::Null].iter()), None);
        assert_eq!(row_key(index("I_SOURCE1"), [int(7)].iter()), None);
    }
}
