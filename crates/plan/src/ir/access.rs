//! Accesses to tables.

use super::expr::{Expr, Node, Reg};
use dictionary::{IndexDef, TableDef};
use std::rc::Rc;
use types::DataType;
use types::image::Image;

/// The columns that a table delivers, and their registers.
pub type ColumnMap = Vec<(u16, Reg)>;

/// A value compared with a key part: of an index, a cluster or a join filter.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Key {
    pub value: Expr,
    /// The column is CHAR, and trailing blanks of the value are ignored. Exact only for a comparison with
    /// [`super::Compare::Padded`]: a VARCHAR2 value is compared with a CHAR column without padding.
    pub padded: bool,
}

impl From<Expr> for Key {
    fn from(value: Expr) -> Key {
        Key { value, padded: false }
    }
}

/// The condition on a leading column of an index scan.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum KeyPart {
    Is(Key),
    /// IN: the values in index order, each once and without NULL.
    In(Vec<Key>),
}

impl KeyPart {
    pub fn keys(&self) -> &[Key] {
        match self {
            KeyPart::Is(key) => std::slice::from_ref(key),
            KeyPart::In(keys) => keys,
        }
    }

    pub fn keys_mut(&mut self) -> &mut [Key] {
        match self {
            KeyPart::Is(key) => std::slice::from_mut(key),
            KeyPart::In(keys) => keys,
        }
    }
}

impl From<Expr> for KeyPart {
    fn from(value: Expr) -> KeyPart {
        KeyPart::Is(value.into())
    }
}

/// How the rows of a table are found.
#[derive(Clone, Debug, Image)]
pub enum Access {
    Full,
    /// By the value of a ROWID expression.
    Rowid(Expr),
    /// Equality on all columns of a unique index; the table is visited unless `index_only`.
    IndexUnique {
        index: Rc<IndexDef>,
        keys: Vec<Key>,
        index_only: bool,
        /// As in `IndexRange`.
        recheck: Vec<Expr>,
    },
    IndexRange(Box<IndexRange>),
    /// INDEX FAST FULL SCAN: all blocks of the index, many at a time, in no order. Every row of the table must have an
    /// entry, and the index must contain every column that is read.
    IndexFast {
        index: Rc<IndexDef>,
    },
    /// Equality on the whole key of a hash cluster.
    ClusterHash {
        keys: Vec<Key>,
    },
}

/// Index entries between two bounds, or in several such ranges one after the other. Rows come in index order, also with
/// IN lists and skipped columns.
#[derive(Clone, Debug, Image)]
pub struct IndexRange {
    pub index: Rc<IndexDef>,
    /// INDEX SKIP SCAN: number of leading columns without a condition; every combination of their values in the index
    /// is searched.
    pub skip: usize,
    /// The values that the columns after the skipped ones are equal to.
    pub prefix: Vec<KeyPart>,
    /// Bounds of the column after the prefix; whether each is inclusive.
    pub low: Option<(Key, bool)>,
    pub high: Option<(Key, bool)>,
    /// `column LIKE pattern` on the column after the prefix, which ascends and is not a CHAR compared with padding: the
    /// range of texts that share the pattern's prefix before its first wildcard. The condition stays in the filter.
    /// There are no other bounds then.
    pub like: Option<LikeRange>,
    pub descending: bool,
    pub index_only: bool,
    /// Whether entries with NULL in the first column after the prefix are skipped.
    pub no_nulls: bool,
    /// Only the first row is read: MIN or MAX.
    pub first_only: bool,
    /// The key parts as expressions over the row, if one of them is a virtual column; otherwise empty, because the
    /// row's bytes contain them.
    pub recheck: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq, Image)]
pub struct LikeRange {
    pub pattern: Expr,
    pub escape: Option<Expr>,
}

impl IndexRange {
    /// All entries of an index; the table is visited.
    pub fn whole(index: Rc<IndexDef>) -> IndexRange {
        IndexRange {
            index,
            skip: 0,
            prefix: Vec::new(),
            low: None,
            high: None,
            like: None,
            descending: false,
            index_only: false,
            no_nulls: false,
            first_only: false,
            recheck: Vec::new(),
        }
    }

    /// Whether the scan has no bounds.
    pub fn is_whole(&self) -> bool {
        self.prefix.is_empty() && self.low.is_none() && self.high.is_none() && self.like.is_none()
    }

    /// Whether there are several ranges.
    pub fn is_iterated(&self) -> bool {
        self.prefix.iter().any(|part| matches!(part, KeyPart::In(_)))
    }
}

/// A pseudo-column of a table's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Pseudo {
    /// ORA_ROWSCN: an SCN at or above that of the row's last committed change.
    RowScn,
    /// Pseudo-columns of VERSIONS BETWEEN; this one is the SCN at which the version was committed.
    StartScn,
    StartTime,
    EndScn,
    EndTime,
    Xid,
    Operation,
}

impl Pseudo {
    pub fn named(name: &str) -> Option<Pseudo> {
        Some(match name {
            "ORA_ROWSCN" => Pseudo::RowScn,
            "VERSIONS_STARTSCN" => Pseudo::StartScn,
            "VERSIONS_STARTTIME" => Pseudo::StartTime,
            "VERSIONS_ENDSCN" => Pseudo::EndScn,
            "VERSIONS_ENDTIME" => Pseudo::EndTime,
            "VERSIONS_XID" => Pseudo::Xid,
            "VERSIONS_OPERATION" => Pseudo::Operation,
            _ => return None,
        })
    }

    pub fn data_type(self) -> DataType {
        match self {
            Pseudo::RowScn | Pseudo::StartScn | Pseudo::EndScn => DataType::NUMBER,
            Pseudo::StartTime | Pseudo::EndTime => DataType::TIMESTAMP,
            Pseudo::Xid => DataType::Raw { len: 8 },
            Pseudo::Operation => DataType::Varchar2 { len: 1, unit: types::LenUnit::Byte },
        }
    }
}

/// VERSIONS BETWEEN: positions in the plan's moments; `None` is MINVALUE or MAXVALUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub struct Versions {
    pub low: Option<usize>,
    pub high: Option<usize>,
}

/// A cost in single-block reads ([`crate::physical::cost`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Cost {
    pub total: f64,
    /// The part for reading blocks; the rest is processor time.
    pub io: f64,
}

impl Cost {
    pub fn new(total: f64, io: f64) -> Cost {
        Cost { total, io }
    }

    /// A cost of processor time.
    pub fn of_cpu(cpu: f64) -> Cost {
        Cost { total: cpu, io: 0.0 }
    }

    /// The cost of `n` repetitions.
    #[must_use]
    pub fn times(self, n: f64) -> Cost {
        Cost { total: self.total * n, io: self.io * n }
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { total: self.total + other.total, io: self.io + other.io }
    }
}

/// Conditions from which the executor finds the partitions to be read. They stay in the filter of the scan or in its
/// access path: a partition that is read in vain changes no result.
#[derive(Clone, Debug, Default, PartialEq, Image)]
pub struct Prune {
    /// For the leading columns of the partitioning key.
    pub columns: Vec<PruneColumn>,
    /// `PARTITION (p)`: the position of the only partition.
    pub place: Option<u32>,
    /// `PARTITION FOR (…)`: a value for each column of the key.
    pub of: Vec<Key>,
}

/// The known limits of a column of the partitioning key.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum PruneColumn {
    Any,
    /// It equals one of these values.
    In(Vec<Key>),
    Null,
    /// It lies between two bounds, each with whether it is included.
    Between(Option<(Key, bool)>, Option<(Key, bool)>),
}

impl Prune {
    /// Whether a clause of the statement names the partition.
    pub fn is_named(&self) -> bool {
        self.place.is_some() || !self.of.is_empty()
    }

    /// Whether nothing restricts the partitions.
    pub fn is_all(&self) -> bool {
        !self.is_named() && self.columns.iter().all(|column| *column == PruneColumn::Any)
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.columns.iter().flat_map(PruneColumn::keys).chain(&self.of)
    }

    pub fn keys_mut(&mut self) -> impl Iterator<Item = &mut Key> {
        self.columns.iter_mut().flat_map(PruneColumn::keys_mut).chain(&mut self.of)
    }
}

impl PruneColumn {
    fn keys(&self) -> Vec<&Key> {
        match self {
            PruneColumn::Any | PruneColumn::Null => Vec::new(),
            PruneColumn::In(keys) => keys.iter().collect(),
            PruneColumn::Between(low, high) => low.iter().chain(high).map(|(key, _)| key).collect(),
        }
    }

    fn keys_mut(&mut self) -> Vec<&mut Key> {
        match self {
            PruneColumn::Any | PruneColumn::Null => Vec::new(),
            PruneColumn::In(keys) => keys.iter_mut().collect(),
            PruneColumn::Between(low, high) => low.iter_mut().chain(high).map(|(key, _)| key).collect(),
        }
    }
}

#[derive(Clone, Debug, Image)]
pub struct Scan {
    pub table: Rc<TableDef>,
    /// The alias in the statement.
    pub alias: String,
    pub access: Access,
    pub columns: ColumnMap,
    pub rowid: Option<Reg>,
    pub filter: Vec<Expr>,
    /// Estimated rows, for display and for the join order.
    pub rows: f64,
    /// The cost of reading them.
    pub cost: Cost,
    /// Estimated index entries, and the part of the cost for reading them.
    pub entries: (f64, Cost),
    /// AS OF: position in the plan's moments.
    pub as_of: Option<usize>,
    pub versions: Option<Versions>,
    /// Pseudo-columns that are read, and their registers.
    pub pseudos: Vec<(Pseudo, Reg)>,
    /// A hint has chosen the access path; no other one is considered.
    pub hinted: bool,
    /// The present query block, and the block whose text contains the table: positions in [`super::Plan::query_blocks`]
    /// from 1 on; 0: none (P20).
    pub block: u32,
    pub origin: u32,
    /// The number of processes that read the table by a full scan, and the reason ([`crate::Because`]); 1: no
    /// parallelism.
    pub degree: u32,
    pub degree_because: u8,
    /// Of a partitioned table: the partitions that are read.
    pub prune: Option<Box<Prune>>,
    /// PX BLOCK ITERATOR: each process of a [`super::Source::Parallel`] reads other blocks.
    pub granules: bool,
}

impl Scan {
    /// Whether the estimate of its rows is weak: it has several conditions, or one that is not a comparison of a column
    /// with a value.
    pub fn is_guess(&self) -> bool {
        let mut conditions = self.filter.len();
        self.access.for_each_expr(&mut |_| conditions += 1);
        let is_value = |e: &Expr| matches!(e.node, Node::Const(_) | Node::Bind(_));
        let is_column = |e: &Expr| matches!(e.node, Node::Reg(_));
        let is_plain = |e: &Expr| match &e.node {
            Node::Cmp(_, _, a, b) => (is_column(a) && is_value(b)) || (is_column(b) && is_value(a)),
            Node::IsNull(a, _) => is_column(a),
            Node::InList { value, list, .. } => is_column(value) && list.iter().all(is_value),
            _ => false,
        };
        conditions > 1 || self.filter.iter().any(|e| !is_plain(e))
    }

    /// Whether the partitions of a partitioned table are read one after the other: without an index, or by a local one.
    pub fn reads_partitions(&self) -> bool {
        match &self.access {
            _ if self.prune.is_none() => false,
            Access::Full => true,
            Access::Rowid(_) | Access::ClusterHash { .. } => false,
            Access::IndexUnique { index, .. } | Access::IndexFast { index } => index.local.is_some(),
            Access::IndexRange(range) => range.index.local.is_some(),
        }
    }

    /// Whether an index leads to the table. The plan then has an operation for its entries directly below.
    pub fn has_entries_below(&self) -> bool {
        let itself = |index: &IndexDef| index.kind == dictionary::IndexKind::IotTop;
        match &self.access {
            Access::IndexUnique { index, index_only, .. } => !itself(index) && !index_only,
            Access::IndexRange(range) => !itself(&range.index) && !range.index_only,
            Access::Full | Access::Rowid(_) | Access::IndexFast { .. } | Access::ClusterHash { .. } => false,
        }
    }
}
