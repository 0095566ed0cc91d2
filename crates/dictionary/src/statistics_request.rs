//! What DBMS_STATS asks for: the language of the package on one side, and of what changes the dictionary on the other.

use crate::{ColumnStatistics, HistogramKind};
use types::Timestamp;

/// A table, by dictionary-form names.
#[derive(Clone, Debug, PartialEq)]
pub struct TableNamed {
    pub owner: String,
    pub table: String,
}

/// How statistics are gathered.
#[derive(Clone, Debug, PartialEq)]
pub struct Gather {
    /// Of 100; 0 is AUTO_SAMPLE_SIZE, `None` the preference.
    pub percent: Option<f64>,
    /// Whole blocks are chosen, not rows.
    pub block_sample: bool,
    /// METHOD_OPT as given; `None` is the preference.
    pub method: Option<String>,
    /// Indexes as well; `None` is the preference.
    pub cascade: Option<bool>,
    pub force: bool,
}

/// Statistics of a column as SET_COLUMN_STATS gives them; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnFigures {
    pub distinct: Option<f64>,
    pub density: Option<f64>,
    pub nulls: Option<f64>,
    pub average_bytes: Option<f64>,
    /// The ends and the histogram; what is there is replaced by both.
    pub histogram: Option<HistogramFigures>,
}

/// The ends of a column and its histogram as SET_COLUMN_STATS gives them. Values are as stored, cut to
/// [`crate::statistics::ENDPOINT_BYTES`].
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramFigures {
    /// The lowest and the highest value.
    pub ends: (Vec<u8>, Vec<u8>),
    /// `None` is a column without a histogram.
    pub kind: HistogramKind,
    /// In the order of their values, none twice.
    pub endpoints: Vec<EndpointFigures>,
}

/// An endpoint of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointFigures {
    pub value: Vec<u8>,
    /// Rows up to and with it; buckets in a height-balanced histogram.
    pub cumulative: u64,
    /// Rows of exactly this value, in a hybrid one.
    pub repeats: u64,
}

/// The statistics of a table in a table of statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Rows, blocks, average length, sample.
    pub table: Option<[Option<f64>; 4]>,
    /// Columns and column groups by name. Ranges follow from the ends.
    pub columns: Vec<(String, ColumnStatistics)>,
    pub indexes: Vec<ImportedIndex>,
}

/// The statistics of an index in a table of statistics; the figures are those of [`StatisticsRequest::SetIndex`].
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedIndex {
    pub owner: String,
    pub index: String,
    pub figures: [Option<f64>; 7],
}

/// Tables that have no row in TAB$.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnTables {
    Dictionary,
    Fixed,
}

/// How system statistics are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemGathering {
    /// The device and the processor are measured now: NOWORKLOAD.
    Device,
    /// The counting of reads begins.
    Start,
    /// It ends, and what was counted becomes the statistics.
    Stop,
}

/// What DBMS_STATS asks for.
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
    /// Rows, leaf blocks, distinct keys, leaf and data blocks a key, clustering factor, levels.
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
    /// Replaces statistics by those of a table of statistics.
    Import {
        table: TableNamed,
        imported: Imported,
        force: bool,
    },
    /// The name of a column group, which is made where `create` says so.
    Extension {
        table: TableNamed,
        columns: String,
        create: bool,
    },
    DropExtension {
        table: TableNamed,
        columns: String,
    },
    /// Sets a preference of a table, or of the database; `None` takes it away.
    SetPreference {
        table: Option<TableNamed>,
        name: String,
        value: Option<String>,
    },
    /// The value of a preference that counts for a table, or for the database.
    Preference {
        table: Option<TableNamed>,
        name: String,
    },
    /// Adds up the rows changed since the last time; `asked` for by its name, which takes a privilege.
    Flush {
        asked: bool,
    },
    /// The uses of a table's columns in predicates as lines of REPORT_COL_USAGE; NULL where there are none.
    ColumnUses(TableNamed),
    /// Deletes the history from before a moment; without one, what is older than the retention.
    Purge(Option<Timestamp>),
    /// Since when statistics can be restored.
    Availability,
    /// Days that statistics can be restored for.
    Retention,
    /// Sets them: 0 keeps no history, -1 all of it.
    SetRetention(i64),
    /// Gathers the statistics of the dictionary's own tables, or of fixed tables.
    GatherOwn {
        tables: OwnTables,
        /// Passes over those that have statistics.
        empty_only: bool,
        gather: Gather,
    },
    /// Deletes those statistics.
    DeleteOwn(OwnTables),
    GatherSystem(SystemGathering),
    /// Sets a system statistic.
    SetSystem {
        name: String,
        value: f64,
    },
    /// A system statistic, or STATUS, DSTART or DSTOP.
    System(String),
    /// Goes back to the values of a new database.
    DeleteSystem,
    /// A request with NO_INVALIDATE: true leaves the cursors that depend on what changes, false makes them invalid at
    /// once, `None` is the preference.
    Invalidating {
        no_invalidate: Option<bool>,
        request: Box<StatisticsRequest>,
    },
}

impl StatisticsRequest {
    /// Whether it changes nothing.
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
