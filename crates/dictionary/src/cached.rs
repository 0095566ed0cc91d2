//! The dictionary's rows in the row cache: which caches a commit closes, and database properties.

use crate::base::{Base, props};
use crate::create::is_property_since_12_2;
use crate::rows::as_text;
use crate::shared::DictionaryShared;
use crate::{Image, UserDef, UserId};
use latch::Generation;
use process::Process;
use row_cache::{Cache, CacheSet, Found, Key, RowCache, RowValue};
use std::rc::Rc;
use types::{ObjectId, Result};

/// The caches whose rows come from any of these tables: what a transaction closes that has changed them.
pub fn caches_of(objects: &[ObjectId]) -> CacheSet {
    let own = objects.iter().filter(|object| object.0 < crate::FIRST_USER_OBJECT);
    let bases = own.filter_map(|object| Base::of_object(*object));
    bases.map(|base| CacheSet::of(caches_of_base(base))).fold(CacheSet::default(), CacheSet::and)
}

fn caches_of_base(base: Base) -> &'static [Cache] {
    match base {
        Base::User => &[Cache::Users, Cache::UserIds],
        Base::Obj => &[Cache::Objects, Cache::ObjectIds],
        Base::Tab | Base::Clu | Base::Ind => &[Cache::ObjectIds, Cache::Segments],
        Base::Col => &[Cache::ObjectIds, Cache::HistogramDefs],
        Base::HistHead | Base::Histgrm => &[Cache::HistogramDefs],
        Base::Seq => &[Cache::Sequences],
        Base::Con | Base::Cdef | Base::Ccol => &[Cache::Constraints],
        Base::Syn => &[Cache::Synonyms],
        Base::Trigger => &[Cache::Triggers],
        Base::Dir => &[Cache::Directories],
        Base::Sysauth => &[Cache::SystemPrivileges, Cache::UserGrants, Cache::ObjectGrants],
        Base::Objauth | Base::Userauth => &[Cache::ObjectGrants],
        Base::Defrole => &[Cache::UserGrants],
        Base::Props => &[Cache::Props],
        Base::Ts => &[Cache::Tablespaces],
        Base::Tsq => &[Cache::TablespaceQuotas],
        _ => &[],
    }
}

/// A row of PROPS$ as a session remembers it: its key in `dc_props`, and what to store when the cache has lost it.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: String,
    hash: u64,
    /// The length of the value, the value, the comment: what the cache keeps.
    kept: Vec<u8>,
}

/// The names of the database's properties in the order of PROPS$.
#[derive(Clone, Debug)]
pub struct PropertyList {
    /// The state of `dc_props` before they were read.
    state: u64,
    rows: Vec<Property>,
}

impl PropertyList {
    pub fn rows(&self) -> &[Property] {
        &self.rows
    }

    /// Whether no commit has changed PROPS$ since.
    pub fn is_current(&self, rows: &RowCache) -> bool {
        RowCache::is_settled(self.state) && rows.state(Cache::Props) == self.state
    }
}

/// The value and the comment in what the cache keeps of a property.
#[inline]
pub fn split_property(kept: &[u8]) -> (&[u8], &[u8]) {
    let Some((low, rest)) = kept.split_first_chunk::<2>() else { return (&[], &[]) };
    rest.split_at(usize::from(u16::from_le_bytes(*low)).min(rest.len()))
}

fn property(row: &[types::Value]) -> Property {
    let name = as_text(&row[props::NAME]).to_owned();
    let (value, comment) = (as_text(&row[props::VALUE]), as_text(&row[props::COMMENT]));
    let mut kept = (value.len() as u16).to_le_bytes().to_vec();
    kept.extend_from_slice(value.as_bytes());
    kept.extend_from_slice(comment.as_bytes());
    let hash = Key::new(Cache::Props, name.as_bytes()).hash();
    Property { name, hash, kept }
}

impl DictionaryShared {
    /// The row cache that look-ups go through.
    pub fn row_cache(&self) -> Option<&'static RowCache> {
        self.rows
    }

    /// Reads PROPS$: what the generation knows of it.
    ///
    /// # Errors
    /// Those of reading.
    pub fn properties(&self, p: &Process) -> Result<PropertyList> {
        // Before the snapshot: see `row_cache`'s module `commit`.
        let state = self.rows.map_or(1, |rows| rows.state(Cache::Props));
        let is_old = p.all().domain().tunables().generation() < Generation::V12_2;
        let mut rows = Vec::new();
        self.scan_once(p, Base::Props, &mut |_, row: &[types::Value]| {
            if !is_old || !is_property_since_12_2(as_text(&row[props::NAME])) {
                rows.push(property(row));
            }
            Ok(())
        })?;
        Ok(PropertyList { state, rows })
    }

    /// Looks a property up in `dc_props`: one get. A row that the cache does not have is stored from the list, if
    /// nothing has changed since that was read.
    ///
    /// Waits: those of the row cache.
    #[inline]
    pub fn property<'v>(
        &self,
        p: &Process,
        list: &'v PropertyList,
        at: usize,
        value: &'v mut RowValue,
    ) -> (&'v [u8], &'v [u8]) {
        let known = &list.rows[at];
        let Some(rows) = self.rows else { return split_property(&known.kept) };
        match rows.get(p, &Key::hashed(Cache::Props, known.name.as_bytes(), known.hash), value) {
            Found::Hit => split_property(value.bytes()),
            Found::Miss(load) => {
                load.store_as_of(list.state, Some(&known.kept));
                split_property(&known.kept)
            }
            Found::Bypass => split_property(&known.kept),
        }
    }
}

/// A session's way to look things up in the row cache.
///
/// What a look-up finds is an identity: the number of an object or user, or that there is none. Definitions are made of
/// the session's picture of the dictionary; a row that the cache does not have is stored from it, if nothing has
/// changed since the picture was read. Should the cache know of an object that the picture does not have, because it
/// was made since, the picture decides: a statement is compiled against one moment.
#[derive(Clone)]
pub(crate) struct Look {
    p: Rc<Process>,
    rows: &'static RowCache,
}

/// The bytes of a key: numbers, most significant byte first, then a name.
fn key_bytes(numbers: &[u32], name: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

impl Look {
    pub fn new(p: &Rc<Process>, rows: &'static RowCache) -> Look {
        Look { p: Rc::clone(p), rows }
    }

    /// The number that a cache has for a key; `known` is what the picture says.
    pub fn number(
        &self,
        image: &Image,
        cache: Cache,
        numbers: &[u32],
        name: &str,
        known: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let bytes = key_bytes(numbers, name);
        let mut value = RowValue::new();
        match self.rows.get(&self.p, &Key::new(cache, &bytes), &mut value) {
            Found::Hit if !value.is_existent() => None,
            Found::Hit => value.bytes().try_into().ok().map(u32::from_le_bytes),
            Found::Miss(load) => {
                let number = known();
                let kept = number.map(u32::to_le_bytes);
                load.store_as_of(image.state(cache), kept.as_ref().map(<[u8; 4]>::as_slice));
                number
            }
            Found::Bypass => known(),
        }
    }

    /// Whether a cache has something for a key.
    pub fn is(&self, image: &Image, cache: Cache, numbers: &[u32], known: impl FnOnce() -> bool) -> bool {
        self.number(image, cache, numbers, "", || known().then_some(1)).is_some()
    }

    /// `dc_users`, by name.
    pub fn user_named<'i>(&self, image: &'i Image, name: &str) -> Option<&'i Rc<UserDef>> {
        let known = || image.user_named(name).map(|user| user.id.0);
        let id = self.number(image, Cache::Users, &[], name, known)?;
        image.user(UserId(id)).filter(|user| user.name == name).or_else(|| image.user_named(name))
    }
}
