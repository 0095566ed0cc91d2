//! Database properties: the list for a new database, and PROPS$ as sessions read it through the row cache.

use crate::DictionaryShared;
use crate::base::{Base, props};
use crate::rows::as_text;
use latch::Generation;
use process::Process;
use row_cache::{Cache, Found, Key, RowCache, RowValue};
use types::{Result, Value};

/// Database properties, as NLS_DATABASE_PARAMETERS and DATABASE_PROPERTIES show them: name, value, description and the
/// first generation that has it.
///
/// The list is that of a 19c non-container database. Values that depend on the program or the new database are in
/// the module `create`.
///
/// Sources: Database Reference, "DATABASE_PROPERTIES"; published listings of the view.
pub(crate) const PROPERTIES: &[(&str, &str, &str, Generation)] = &[
    ("DICT.BASE", "2", "dictionary base tables version #", ALWAYS),
    ("DEFAULT_TEMP_TABLESPACE", "TEMP", "Name of default temporary tablespace", ALWAYS),
    ("DEFAULT_PERMANENT_TABLESPACE", "USERS", "Name of default permanent tablespace", ALWAYS),
    ("DEFAULT_EDITION", "ORA$BASE", "Name of the database default edition", ALWAYS),
    ("Flashback Timestamp TimeZone", "GMT", "Flashback timestamp created in GMT", ALWAYS),
    ("EXPORT_VIEWS_VERSION", "8", "Export views revision #", ALWAYS),
    ("TDE_MASTER_KEY_ID", "", "", ALWAYS),
    ("DST_UPGRADE_STATE", "NONE", "State of Day Light Saving Time Upgrade", ALWAYS),
    ("DST_SECONDARY_TT_VERSION", "0", "Version of secondary timezone data file", ALWAYS),
    ("DEFAULT_TBS_TYPE", "SMALLFILE", "Default tablespace type", ALWAYS),
    ("NLS_LANGUAGE", "AMERICAN", "Language", ALWAYS),
    ("NLS_TERRITORY", "AMERICA", "Territory", ALWAYS),
    ("NLS_CURRENCY", "$", "Local currency", ALWAYS),
    ("NLS_ISO_CURRENCY", "AMERICA", "ISO currency", ALWAYS),
    ("NLS_CHARACTERSET", "AL32UTF8", "Character set", ALWAYS),
    ("NLS_NCHAR_CHARACTERSET", "AL16UTF16", "NCHAR Character set", ALWAYS),
    ("NLS_NUMERIC_CHARACTERS", ".,", "Numeric characters", ALWAYS),
    ("NLS_CALENDAR", "GREGORIAN", "Calendar system", ALWAYS),
    ("NLS_DATE_FORMAT", "DD-MON-RR", "Date format", ALWAYS),
    ("NLS_DATE_LANGUAGE", "AMERICAN", "Date language", ALWAYS),
    ("NLS_SORT", "BINARY", "Linguistic definition", ALWAYS),
    ("NLS_TIME_FORMAT", "HH.MI.SSXFF AM", "Time format", ALWAYS),
    ("NLS_TIMESTAMP_FORMAT", "DD-MON-RR HH.MI.SSXFF AM", "Time stamp format", ALWAYS),
    ("NLS_TIME_TZ_FORMAT", "HH.MI.SSXFF AM TZR", "Time with timezone format", ALWAYS),
    ("NLS_TIMESTAMP_TZ_FORMAT", "DD-MON-RR HH.MI.SSXFF AM TZR", "Timestamp with timezone format", ALWAYS),
    ("NLS_DUAL_CURRENCY", "$", "Dual currency symbol", ALWAYS),
    ("NLS_COMP", "BINARY", "NLS comparison", ALWAYS),
    ("NLS_LENGTH_SEMANTICS", "BYTE", "NLS length semantics", ALWAYS),
    ("NLS_NCHAR_CONV_EXCP", "FALSE", "NLS conversion exception", ALWAYS),
    ("NLS_RDBMS_VERSION", "19.0.0.0.0", "RDBMS version for NLS parameters", ALWAYS),
    ("WORKLOAD_CAPTURE_MODE", "", "CAPTURE implies workload capture is in progress", ALWAYS),
    (
        "WORKLOAD_REPLAY_MODE",
        "",
        "PREPARE implies external replay clients can connect; REPLAY implies workload replay is in progress",
        ALWAYS,
    ),
    // Without a value: the key is in a file beside the control file, which no query reads.
    ("NO_USERID_VERIFIER_SALT", "", "Per database random key for computing faux salt", ALWAYS),
    ("MAX_STRING_SIZE", "STANDARD", "MAX_STRING_SIZE parameter used for dictionary metadata", Generation::V12_1),
    ("DICTIONARY_ENDIAN_TYPE", "LITTLE", "Endian type of the data dictionary", Generation::V12_2),
    ("MAX_PDB_SNAPSHOTS", "8", "maximum number of snapshots for a given PDB", Generation::Latchwork),
];

/// For properties of every generation.
const ALWAYS: Generation = Generation::V8_1_7;

/// True when a generation has a property. Properties that are not in the list belong to all generations.
pub(crate) fn has_property(generation: Generation, name: &str) -> bool {
    PROPERTIES.iter().all(|(known, .., since)| *known != name || generation >= *since)
}

/// A row of PROPS$ as kept by a session: its key in `dc_props`, and the value to store when the cache has lost it.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: String,
    hash: u64,
    /// The cached value: the length of the property's value, the value, the comment.
    kept: Vec<u8>,
}

/// The names of the database's properties in the order of PROPS$.
#[derive(Clone, Debug)]
pub struct PropertyList {
    /// The state of `dc_props` before the list was read.
    state: u64,
    rows: Vec<Property>,
}

impl PropertyList {
    pub fn rows(&self) -> &[Property] {
        &self.rows
    }

    /// True when no commit has changed PROPS$ since.
    pub fn is_current(&self, rows: &RowCache) -> bool {
        RowCache::is_settled(self.state) && rows.state(Cache::Props) == self.state
    }
}

/// Splits the cached value of a property into value and comment.
#[inline]
pub fn split_property(kept: &[u8]) -> (&[u8], &[u8]) {
    let Some((low, rest)) = kept.split_first_chunk::<2>() else { return (&[], &[]) };
    rest.split_at(usize::from(u16::from_le_bytes(*low)).min(rest.len()))
}

fn property(row: &[Value]) -> Property {
    let name = as_text(&row[props::NAME]).to_owned();
    let (value, comment) = (as_text(&row[props::VALUE]), as_text(&row[props::COMMENT]));
    let mut kept = (value.len() as u16).to_le_bytes().to_vec();
    kept.extend_from_slice(value.as_bytes());
    kept.extend_from_slice(comment.as_bytes());
    let hash = Key::new(Cache::Props, name.as_bytes()).hash();
    Property { name, hash, kept }
}

impl DictionaryShared {
    /// Reads the properties in PROPS$ that the generation has.
    ///
    /// # Errors
    /// Those of reading.
    pub fn properties(&self, p: &Process) -> Result<PropertyList> {
        // Read before the snapshot is taken: see the module `commit` of `row_cache`.
        let state = self.rows.map_or(1, |rows| rows.state(Cache::Props));
        let generation = p.all().domain().tunables().generation();
        let mut rows = Vec::new();
        self.scan_once(p, Base::Props, &mut |_, row: &[Value]| {
            if has_property(generation, as_text(&row[props::NAME])) {
                rows.push(property(row));
            }
            Ok(())
        })?;
        Ok(PropertyList { state, rows })
    }

    /// Looks a property up in `dc_props`: one get. A row missing in the cache is stored from the list, if nothing has
    /// changed since the list was read.
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
