//! Definitions in images, and what tells two states of one apart.
//!
//! A plan in shared memory names its tables by number and says which state of each it was made from: a number over all
//! that a definition has. A counter of changes was rejected: an index, a foreign key of another table and statistics
//! are parts of a table's definition and changes of other rows of the dictionary.

use crate::{ClusterDef, IndexDef, ObjectKind, Organization, Resolved, SequenceDef, TableDef, ViewDef};
use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;
use types::image::{Damaged, Kind, Reader, SharedImage, Writer};

impl SharedImage for TableDef {
    fn put_shared(of: &Rc<TableDef>, w: &mut Writer) {
        // A table that is made up when it is named has no number to find it by.
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

/// Hashes what is written, without keeping it.
struct Hashed(DefaultHasher);

impl Write for Hashed {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.0.write(s.as_bytes());
        Ok(())
    }
}

/// A number over parts of a definition as they are printed for debugging: nothing that a part has is left out, whatever
/// is added to it.
fn over(parts: &[&dyn Debug]) -> u64 {
    let mut hashed = Hashed(DefaultHasher::new());
    for part in parts {
        writeln!(hashed, "{part:?}").expect("a hash takes everything");
    }
    hashed.0.finish()
}

/// A number that differs, but for chance, between two states of an object.
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
            constraints,
            referenced_by,
            statistics,
            temporary,
            options,
            epoch: _,
        } = self;
        let (cluster, organization) = match organization {
            Organization::HashCluster { cluster, key_positions } => (cluster.state(), key_positions as &dyn Debug),
            other => (0, other as &dyn Debug),
        };
        over(&[
            &(object, owner_id, owner, name),
            columns,
            organization,
            &cluster,
            indexes,
            constraints,
            referenced_by,
            &(statistics, temporary, options),
        ])
    }
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
        over(&[
            &(object, owner_id, owner, name, segment),
            columns,
            &(hashkeys, size_bytes, hash_text, single_table, tables),
        ])
    }
}

impl State for ViewDef {
    fn state(&self) -> u64 {
        // Whether it is valid is noted by those who compile it.
        let ViewDef {
            object,
            owner_id,
            owner,
            name,
            text,
            columns,
            read_only,
            check_option,
            bequeaths,
            catalog,
            valid: _,
            epoch: _,
        } = self;
        over(&[&(object, owner_id, owner, name), text, columns, &(read_only, check_option, bequeaths, catalog)])
    }
}

impl State for SequenceDef {
    fn state(&self) -> u64 {
        let SequenceDef { object, owner_id, owner, name, increment, minimum, maximum, cycle, order, cache, epoch: _ } =
            self;
        over(&[&(object, owner_id, owner, name), &(increment, minimum, maximum, cycle, order, cache)])
    }
}

impl State for crate::ProcedureDef {
    fn state(&self) -> u64 {
        let crate::ProcedureDef { object, owner_id, owner, name, kind, source, valid: _, epoch: _ } = self;
        over(&[&(object, owner_id, owner, name, kind), source])
    }
}

impl State for IndexDef {
    fn state(&self) -> u64 {
        over(&[self])
    }
}

/// The states of definitions, each worked out once an epoch.
#[derive(Default)]
pub struct States {
    epoch: u64,
    known: HashMap<(ObjectKind, u32), u64>,
}

impl States {
    /// The state of a definition that was read at a dictionary epoch.
    fn of(&mut self, kind: ObjectKind, number: u32, epoch: u64, def: &dyn State) -> u64 {
        // What is read while DDL commits may be read again with another result.
        if !crate::DictionaryShared::is_settled(epoch) {
            return def.state();
        }
        if self.epoch != epoch {
            self.known.clear();
            self.epoch = epoch;
        }
        *self.known.entry((kind, number)).or_insert_with(|| def.state())
    }

    /// The state of what a name stands for, in a dictionary of that epoch. What is built in has one.
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

    /// The state of an index.
    pub fn of_index(&mut self, def: &IndexDef, epoch: u64) -> u64 {
        self.of(ObjectKind::Index, def.object.0, epoch, def)
    }
}
