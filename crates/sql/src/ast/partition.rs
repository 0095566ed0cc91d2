//! Partitions of tables and indexes.

use super::{Expr, Ident, Name, Pos, SegmentOptions};

/// `PARTITION BY …` of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    pub columns: Vec<Ident>,
    pub method: PartitionMethod,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionMethod {
    /// `RANGE`, with the expression of `INTERVAL (…)` and the tablespaces of its `STORE IN`.
    Range {
        interval: Option<Expr>,
        store_in: Vec<Ident>,
        partitions: Vec<PartitionSpec>,
    },
    List {
        partitions: Vec<PartitionSpec>,
    },
    Hash(HashPartitions),
    /// SYSTEM, REFERENCE, CONSISTENT HASH, and tables with subpartitions.
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HashPartitions {
    Listed(Vec<PartitionSpec>),
    /// `PARTITIONS n [STORE IN (…)]`.
    Count {
        count: u32,
        store_in: Vec<Ident>,
        pos: Pos,
    },
}

/// A partition in a list of partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionSpec {
    pub name: Option<Ident>,
    pub values: PartitionValues,
    pub options: SegmentOptions,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    None,
    /// `VALUES LESS THAN (…)`.
    LessThan(Vec<BoundValue>),
    /// `VALUES (…)`: a tuple for each value.
    List(Vec<Vec<BoundValue>>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum BoundValue {
    MaxValue(Pos),
    Default(Pos),
    Expr(Expr),
}

impl BoundValue {
    pub fn pos(&self) -> Pos {
        match self {
            BoundValue::MaxValue(pos) | BoundValue::Default(pos) => *pos,
            BoundValue::Expr(expr) => expr.pos,
        }
    }
}

/// `PARTITION (p)` or `PARTITION FOR (…)` behind the name of a table, or `PARTITION p` in ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionRef {
    pub subpartition: bool,
    pub which: WhichPartition,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WhichPartition {
    Name(Ident),
    For(Vec<Expr>),
}

/// The effect of partition DDL on indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionUpkeep {
    /// `UPDATE [GLOBAL] INDEXES`.
    pub update_indexes: bool,
}

/// The action of ALTER TABLE on a partition.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionAction {
    Add(PartitionSpec, PartitionUpkeep),
    Drop(Vec<PartitionRef>, PartitionUpkeep),
    Truncate {
        partitions: Vec<PartitionRef>,
        cascade: bool,
        upkeep: PartitionUpkeep,
    },
    Rename {
        from: PartitionRef,
        to: Ident,
    },
    Move {
        partition: PartitionRef,
        options: SegmentOptions,
        upkeep: PartitionUpkeep,
    },
    /// `SPLIT PARTITION p AT (…)` or `VALUES (…)`, `INTO (PARTITION a, PARTITION b)`.
    Split {
        partition: PartitionRef,
        at: PartitionValues,
        into: Vec<PartitionSpec>,
        upkeep: PartitionUpkeep,
    },
    Merge {
        partitions: Vec<PartitionRef>,
        into: Option<PartitionSpec>,
        upkeep: PartitionUpkeep,
    },
    Exchange {
        partition: PartitionRef,
        table: Name,
        including_indexes: bool,
        validation: bool,
        upkeep: PartitionUpkeep,
    },
    /// `COALESCE PARTITION`, of hash partitions.
    Coalesce(PartitionUpkeep),
    /// `MODIFY PARTITION p UNUSABLE LOCAL INDEXES`, or `REBUILD UNUSABLE LOCAL INDEXES`.
    LocalIndexes {
        partition: PartitionRef,
        rebuild: bool,
    },
    /// `SET INTERVAL (…)`; without an expression no further partitions are made.
    SetInterval(Option<Expr>),
    /// Other forms of MODIFY PARTITION, SET STORE IN and actions on subpartitions.
    Other,
}
