//! Definitions in images, and the state number of a definition.
//!
//! A plan in shared memory names its tables by number, with a state number for each: a hash of everything in the
//! definition. A counter of changes was rejected: an index, or a foreign key of another table, is part of a table's
//! definition but changes other rows of the dictionary. Statistics are not part of the state: a plan made with other
//! statistics stays correct, and DBMS_STATS decides when the cursors become invalid (D16).

use crate::{ClusterDef, ColumnDef, IndexDef, ObjectKind, Organization, Resolved, SequenceDef, TableDef, ViewDef};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use types::image::{Damaged, Kind, Reader, SharedImage, Writer};

impl SharedImage for TableDef {
    fn put_shared(of: &Rc<TableDef>, w: &mut Writer) {
        // A fixed table is built when it is named; it has no number by which it can be found.
        if of.is_fixed() {
            w.fail();
        }
        w.object(of.object);
    }
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<TableDef>, Damaged> {
        r.object(Kind::Table)
    }
}

impl SharedImage for IndexDef {
    fn put_shared(of: &Rc<IndexDef>, w: &mut Writer) {
        w.object(of.object);
    }
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<IndexDef>, Damaged> {
        r.object(Kind::Index)
    }
}

impl SharedImage for SequenceDef {
    fn put_shared(of: &Rc<SequenceDef>, w: &mut Writer) {
        w.object(of.object);
    }
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<SequenceDef>, Damaged> {
        r.object(Kind::Sequence)
    }
}

/// A hash of parts of a definition, by their bytes. Hashing printed text was rejected: the histograms of a table have
/// thousands of endpoints.
fn over(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// A hash of the statistics of a table, its columns and its indexes, which are not part of its state.
pub fn statistics_of(table: &TableDef) -> u64 {
    over((
        &table.statistics,
        table.columns.iter().map(|column| &column.statistics).collect::<Vec<_>>(),
        table.indexes.iter().map(|index| &index.statistics).collect::<Vec<_>>(),
    ))
}

/// A number that differs, except by chance, between two states of an object.
pub trait State {
    fn state(&self) -> u64;
}

impl State for TableDef {
    fn state(&self) -> u64 {
        let TableDef {
            object,
            owner_id,
            owner,
            name,
            columns,
            organization,
            indexes,
            lobs,
            constraints,
            referenced_by,
            triggers,
            statistics: _,
            temporary,
            options,
            epoch: _,
        } = self;
        // The epoch of a cluster's definition is not part of its state.
        let organization = match organization {
            Organization::Heap(segment) => over((0, segment)),
            Organization::HashCluster { cluster, key_positions } => over((1, cluster.state(), key_positions)),
            Organization::Index(segment) => over((2, segment)),
            Organization::Fixed(id) => over((3, id)),
            Organization::Partitioned(p) => over((4, p.method as u8, &p.columns, &p.partitions, &p.interval)),
        };
        over((
            (object, owner_id, owner, name),
            (columns.iter().map(shape).collect::<Vec<_>>(), organization),
            (indexes.iter().map(|index| index.state()).collect::<Vec<_>>(), lobs, constraints, referenced_by),
            triggers,
            (temporary, options),
        ))
    }
}

/// A hash of the definition of a column.
fn shape(column: &ColumnDef) -> u64 {
    let ColumnDef {
        name,
        data_type,
        nullable,
        default_text,
        default_on_null,
        virtual_text,
        identity,
        hidden,
        invisible,
        moved,
        statistics: _,
    } = column;
    over((
        (name, data_type, nullable, default_text, default_on_null),
        (virtual_text, identity, hidden, invisible, moved),
    ))
}

impl State for ClusterDef {
    fn state(&self) -> u64 {
        let ClusterDef {
            object,
            owner_id,
            owner,
            name,
            segment,
            columns,
            hashkeys,
            size_bytes,
            hash_text,
            single_table,
            tables,
            epoch: _,
        } = self;
        over((
            (object, owner_id, owner, name, segment),
            columns.iter().map(shape).collect::<Vec<_>>(),
            (hashkeys, size_bytes, hash_text, single_table, tables),
        ))
    }
}

impl State for ViewDef {
    fn state(&self) -> u64 {
        // The validity of a view is not part of its state: it is stored by the sessions that compile it.
        let ViewDef {
            object,
            owner_id,
            owner,
            name,
            text,
            columns,
            types,
            triggers,
            read_only,
            check_option,
            bequeaths,
            catalog,
            valid: _,
            epoch: _,
        } = self;
        over((
            (object, owner_id, owner, name),
            text,
            (columns, types, triggers),
            (read_only, check_option, bequeaths, catalog),
        ))
    }
}

impl State for SequenceDef {
    fn state(&self) -> u64 {
        let SequenceDef {
            object,
            owner_id,
            owner,
            name,
            increment,
            minimum,
            maximum,
            cycle,
            order,
            cache,
            start,
            flags,
            epoch: _,
        } = self;
        over(((object, owner_id, owner, name), (increment, minimum, maximum, cycle, order, cache, start, flags)))
    }
}

impl State for crate::ProcedureDef {
    fn state(&self) -> u64 {
        let crate::ProcedureDef { object, owner_id, owner, name, kind, source, settings, valid: _, epoch: _ } = self;
        over(((object, owner_id, owner, name, kind), (source, settings)))
    }
}

impl State for IndexDef {
    fn state(&self) -> u64 {
        let IndexDef {
            object,
            owner_id,
            owner,
            name,
            table,
            segment,
            unique,
            columns,
            invisible,
            unusable,
            building,
            disabled,
            of_key,
            kind,
            local,
            statistics: _,
        } = self;
        over((
            (object, owner_id, owner, name, table, segment),
            (unique, columns, invisible, unusable, building, disabled, of_key, kind, local),
        ))
    }
}

/// The state numbers of definitions, each computed once per epoch.
#[derive(Default)]
pub struct States {
    epoch: u64,
    known: HashMap<(ObjectKind, u32), u64>,
}

impl States {
    /// The state number of a definition that was read at a dictionary epoch.
    fn of(&mut self, kind: ObjectKind, number: u32, epoch: u64, def: &dyn State) -> u64 {
        // A definition read while DDL commits may be read again with another result, so it is not kept.
        if !crate::DictionaryShared::is_settled(epoch) {
            return def.state();
        }
        if self.epoch != epoch {
            self.known.clear();
            self.epoch = epoch;
        }
        *self.known.entry((kind, number)).or_insert_with(|| def.state())
    }

    /// The state number of a resolved name in a dictionary of this epoch. Built-in objects have a constant one.
    pub fn of_resolved(&mut self, resolved: &Resolved, epoch: u64) -> u64 {
        match resolved {
            Resolved::Table(def) if def.is_fixed() => def.object.0.into(),
            Resolved::View(def) if def.catalog => def.object.0.into(),
            Resolved::Table(def) => self.of(ObjectKind::Table, def.object.0, epoch, &**def),
            Resolved::View(def) => self.of(ObjectKind::View, def.object.0, epoch, &**def),
            Resolved::Sequence(def) => self.of(ObjectKind::Sequence, def.object.0, epoch, &**def),
            Resolved::Unit(def) => self.of(ObjectKind::Procedure, def.object.0, epoch, &**def),
        }
    }

    /// The state number of an index.
    pub fn of_index(&mut self, def: &IndexDef, epoch: u64) -> u64 {
        self.of(ObjectKind::Index, def.object.0, epoch, def)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{ColumnStatistics, Endpoint, Histogram, HistogramKind, TableStatistics};
    use crate::{ColumnDef, IndexKind, SegmentRef, TableOptions, UserId};
    use std::sync::Arc;
    use types::{DataType, ObjectId, Rdba};

    fn segment(data_object: u32) -> SegmentRef {
        SegmentRef { tablespace: 4, header: Rdba(77), data_object: ObjectId(data_object), pctfree: 10, initrans: 1 }
    }

    fn histogram(place: f64) -> Option<Arc<Histogram>> {
        let endpoint = |value, place, cumulative| Endpoint { value, place, cumulative, repeats: 0 };
        let endpoints = [endpoint(&b"a"[..], 1.0, 3), endpoint(&b"b"[..], place, 5)];
        Some(Arc::new(Histogram::new(HistogramKind::Frequency, endpoints)))
    }

    fn table() -> TableDef {
        let mut column = ColumnDef::new("N", DataType::NUMBER);
        column.statistics = Some(ColumnStatistics { histogram: histogram(2.0), ..ColumnStatistics::new(2, 0, None) });
        let index = IndexDef {
            object: ObjectId(20_002),
            owner_id: UserId(30),
            owner: "U".into(),
            name: "I".into(),
            table: ObjectId(20_001),
            segment: segment(20_002),
            unique: true,
            columns: Vec::new(),
            invisible: false,
            unusable: false,
            building: false,
            disabled: false,
            of_key: false,
            kind: IndexKind::Normal,
            local: None,
            statistics: None,
        };
        TableDef {
            object: ObjectId(20_001),
            owner_id: UserId(30),
            owner: "U".into(),
            name: "T".into(),
            columns: vec![column],
            organization: Organization::Heap(segment(20_001)),
            indexes: vec![Rc::new(index)],
            lobs: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            statistics: Some(TableStatistics::new(5, 1, 3)),
            temporary: None,
            options: TableOptions::default(),
            epoch: 1,
        }
    }

    #[test]
    fn a_state_has_every_part_of_a_table_but_the_epoch_and_statistics() {
        let changed = |change: &dyn Fn(&mut TableDef)| {
            let mut table = table();
            change(&mut table);
            table.state()
        };
        let same = table().state();
        assert_eq!(changed(&|t| t.epoch = 9), same);
        let index = |t: &mut TableDef, change: &dyn Fn(&mut IndexDef)| {
            let mut index = (*t.indexes[0]).clone();
            change(&mut index);
            t.indexes[0] = Rc::new(index);
        };
        assert_eq!(changed(&|t| t.columns[0].statistics = None), same);
        assert_eq!(changed(&|t| t.statistics = Some(TableStatistics::new(6, 1, 3))), same);
        assert_eq!(changed(&|t| index(t, &|i| i.statistics = Some(Default::default()))), same);
        let others = [
            changed(&|t| t.name = "TT".into()),
            changed(&|t| t.columns[0].nullable = false),
            changed(&|t| t.columns[0].default_text = Some("1".into())),
            changed(&|t| t.organization = Organization::Heap(segment(20_003))),
            changed(&|t| t.organization = Organization::Index(segment(20_001))),
            changed(&|t| index(t, &|i| i.unusable = true)),
            changed(&|t| index(t, &|i| i.disabled = true)),
            changed(&|t| t.indexes.clear()),
            changed(&|t| t.options.degree = 4),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(*other, same, "change {at}");
            assert!(!others[..at].contains(other), "change {at}");
        }
    }
}
