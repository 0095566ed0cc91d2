//! Requests of DBMS_STATS: the interface between the package and the code that changes the dictionary.

use crate::{ColumnStatistics, HistogramKind};
use types::Timestamp;

/// A table, by dictionary-form names.
#[derive(Clone, Debug, PartialEq)]
pub struct TableNamed {
    pub owner: String,
    pub table: String,
}

/// The options of gathering statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Gather {
    /// Percentage; 0 is AUTO_SAMPLE_SIZE, `None` the preference.
    pub percent: Option<f64>,
    /// The sample consists of whole blocks, not of rows.
    pub block_sample: bool,
    /// METHOD_OPT in its original form; `None` is the preference.
    pub method: Option<String>,
    /// Indexes as well; `None` is the preference.
    pub cascade: Option<bool>,
    pub force: bool,
}

/// Statistics of a column from SET_COLUMN_STATS; a `None` field stays unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnFigures {
    pub distinct: Option<f64>,
    pub density: Option<f64>,
    pub nulls: Option<f64>,
    pub average_bytes: Option<f64>,
    /// The lowest and highest value and the histogram, which replace the present ones.
    pub histogram: Option<HistogramFigures>,
}

/// The lowest and highest value of a column and its histogram from SET_COLUMN_STATS. Values are in stored form, cut to
/// [`crate::statistics::ENDPOINT_BYTES`].
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramFigures {
    /// The lowest and the highest value.
    pub ends: (Vec<u8>, Vec<u8>),
    /// `None` is a column without a histogram.
    pub kind: HistogramKind,
    /// In ascending order of values, without duplicates.
    pub endpoints: Vec<EndpointFigures>,
}

/// An endpoint of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointFigures {
    pub value: Vec<u8>,
    /// Rows up to and including it; buckets in a height-balanced histogram.
    pub cumulative: u64,
    /// Rows with exactly this value, in a hybrid histogram.
    pub repeats: u64,
}

/// The statistics of a table, read from a user's statistics table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Rows, blocks, average length, sample.
    pub table: Option<[Option<f64>; 4]>,
    /// Columns and column groups by name. Ranges are computed from the lowest and highest value.
    pub columns: Vec<(String, ColumnStatistics)>,
    pub indexes: Vec<ImportedIndex>,
}

/// The statistics of an index, read from a user's statistics table; the figures are those of
/// [`StatisticsRequest::SetIndex`].
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedIndex {
    pub owner: String,
    pub index: String,
    pub figures: [Option<f64>; 7],
}

/// The tables without a row in TAB$.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnTables {
    Dictionary,
    Fixed,
}

/// The modes of gathering system statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemGathering {
    /// NOWORKLOAD: measures device and processor now.
    Device,
    /// Begins to count reads.
    Start,
    /// Ends the counting and stores the result as the statistics.
    Stop,
}

/// A request of DBMS_STATS.
#[derive(Clone, Debug, PartialEq)]
pub enum StatisticsRequest {
    Gather(TableNamed, Gather),
    GatherIndex {
        owner: String,
        index: String,
        percent: Option<f64>,
        force: bool,
    },
    DeleteTable {
        table: TableNamed,
        columns: bool,
        indexes: bool,
        force: bool,
    },
    DeleteColumn {
        table: TableNamed,
        column: String,
        histogram_only: bool,
        force: bool,
    },
    DeleteIndex {
        owner: String,
        index: String,
        force: bool,
    },
    SetTable {
        table: TableNamed,
        rows: Option<f64>,
        blocks: Option<f64>,
        average: Option<f64>,
        force: bool,
    },
    SetColumn {
        table: TableNamed,
        column: String,
        figures: ColumnFigures,
        force: bool,
    },
    /// Rows, leaf blocks, distinct keys, leaf and data blocks per key, clustering factor, levels.
    SetIndex {
        owner: String,
        index: String,
        figures: [Option<f64>; 7],
        force: bool,
    },
    /// Locks the statistics, or unlocks them.
    Lock(TableNamed, bool),
    Restore {
        table: TableNamed,
        as_of: Timestamp,
        force: bool,
    },
    /// Replaces statistics by those of a user's statistics table.
    Import {
        table: TableNamed,
        imported: Imported,
        force: bool,
    },
    /// The name of a column group, which is created if `create` is set.
    Extension {
        table: TableNamed,
        columns: String,
        create: bool,
    },
    DropExtension {
        table: TableNamed,
        columns: String,
    },
    /// Sets a preference of a table or of the database; `None` deletes it.
    SetPreference {
        table: Option<TableNamed>,
        name: String,
        value: Option<String>,
    },
    /// The value of a preference in force for a table or for the database.
    Preference {
        table: Option<TableNamed>,
        name: String,
    },
    /// Adds the counts of changed rows to MON_MODS_ALL$. With `asked`, the procedure was called by name, which needs a
    /// privilege.
    Flush {
        asked: bool,
    },
    /// The uses of a table's columns in predicates, as lines of REPORT_COL_USAGE; NULL when there are none.
    ColumnUses(TableNamed),
    /// Deletes the history before a time, or before the retention period when no time is given.
    Purge(Option<Timestamp>),
    /// The time since when statistics can be restored.
    Availability,
    /// The days for which statistics can be restored.
    Retention,
    /// Sets these days: 0 keeps no history, -1 all of it.
    SetRetention(i64),
    /// Gathers the statistics of dictionary tables or of fixed tables.
    GatherOwn {
        tables: OwnTables,
        /// Skips tables that have statistics.
        empty_only: bool,
        gather: Gather,
    },
    /// Deletes the statistics of dictionary tables or of fixed tables.
    DeleteOwn(OwnTables),
    GatherSystem(SystemGathering),
    /// Sets a system statistic.
    SetSystem {
        name: String,
        value: f64,
    },
    /// A system statistic, or STATUS, DSTART or DSTOP.
    System(String),
    /// Restores the values of a new database.
    DeleteSystem,
    /// A request with NO_INVALIDATE: true keeps the dependent cursors, false invalidates them at once, `None` is the
    /// preference.
    Invalidating {
        no_invalidate: Option<bool>,
        request: Box<StatisticsRequest>,
    },
}

impl StatisticsRequest {
    /// True for a request that changes nothing.
    pub fn only_asks(&self) -> bool {
        use StatisticsRequest::*;
        if let Invalidating { request, .. } = self {
            return request.only_asks();
        }
        matches!(
            self,
            Preference { .. } | ColumnUses(_) | System(_) | Availability | Retention | Extension { create: false, .. }
        )
    }
}
