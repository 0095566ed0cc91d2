//! ALTER TABLE … EXCHANGE PARTITION: a partition and a table exchange their segments, and no row is copied.

use crate::index::empty_unusable;
use crate::index_rows;
use crate::partition_alter::{has_rows, heap_of, keep_global, place_of};
use crate::partition_rows;
use crate::rows;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, obj, tab};
use dictionary::rows::int;
use dictionary::*;
use sql::ast::PartitionAction;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

pub fn exchange(
    work: &mut Work<'_>,
    table: &mut TableDef,
    action: &PartitionAction,
    of_statement: &Target,
    pos: u32,
) -> Result<()> {
    work.require(of_statement, None, SystemPrivilege::AlterAnyTable)?;
    require_rows(work, of_statement, table.object)?;
    let of = table.partitioning().ok_or_else(|| Ora::new(14501).at(pos))?.clone();
    let of = &*of;
    let PartitionAction::Exchange { partition, table: name, including_indexes, validation, upkeep } = action else {
        return Err(Ora::internal("[no exchange]"));
    };
    let place = place_of(work, table, of, partition)?;
    let target = work.target(name)?;
    let object = work.existing(&target, ObjectKind::Table, 942)?;
    if !work.names.allowed(object, target.owner, ObjectPrivilege::Alter)? {
        return Err(Ora::new(1031).at(target.pos));
    }
    require_rows(work, &target, object)?;
    let other = (*work.existing_table(object)?).clone();
    let pos = target.pos;
    let Some(segment) = other.heap().copied().filter(|_| other.temporary.is_none()) else {
        return Err(Ora::new(14095).at(pos));
    };
    require_alike(table, &other, pos)?;
    work.lock(object)?;
    let rows_there = rows::any(work, &other)?;
    let p = &of.partitions[place];
    let rows_here = has_rows(work, &heap_of(table, p))?;
    let referenced = |t: &TableDef, but: ObjectId| t.referenced_by.iter().any(|r| r.enabled && r.from_table != but);
    if rows_here && referenced(table, table.object) || rows_there && referenced(&other, other.object) {
        return Err(Ora::new(2266).at(pos));
    }
    if *validation {
        let (mut key, mut fits) = (Vec::new(), true);
        rows::scan(work, &other, &mut |_, row| {
            fits = of.place_of_row(row, &mut key).ok() == Some(place);
            Ok(fits)
        })?;
        if !fits {
            return Err(Ora::new(14099).at(pos));
        }
    }
    crate::lob_storage::require_none(&other, pos)?;
    let pairs = if *including_indexes { Some(index_pairs(table, &other, place, pos)?) } else { None };
    // Each keeps its own PCTFREE and INITRANS.
    let to_partition = SegmentRef { pctfree: p.segment.pctfree, initrans: p.segment.initrans, ..segment };
    let to_table = SegmentRef { pctfree: segment.pctfree, initrans: segment.initrans, ..p.segment };
    partition_rows::moved(work, p, &to_partition)?;
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        crate::create_table::set_segment(row, &to_table);
    })?;
    work.update_object(object, &mut |row| row[obj::DATAOBJ] = int(to_table.data_object.0))?;
    match pairs {
        Some(pairs) => {
            for (part, index) in pairs {
                let tree =
                    SegmentRef { pctfree: part.segment.pctfree, initrans: part.segment.initrans, ..index.segment };
                partition_rows::moved_tree(work, &part, &tree)?;
                if index.unusable {
                    partition_rows::set_unusable(work, &part)?;
                }
                let s = part.segment;
                index_rows::moved(work, index.object, s.header, s.data_object, s.tablespace)?;
                if part.unusable {
                    let flags = index_rows::flags_of(&index) | dictionary::image::property::IND_UNUSABLE;
                    index_rows::set_flags(work, index.object, flags)?;
                }
            }
        }
        None => {
            for local in table.indexes.iter().filter_map(|index| index.local.clone()) {
                partition_rows::set_unusable(work, &local[place])?;
            }
            for index in &other.indexes {
                empty_unusable(work, index)?;
            }
        }
    }
    work.touch(object);
    let mut partitions = of.partitions.clone();
    partitions[place].segment = to_partition;
    let new = of.with(partitions);
    table.organization = Organization::Partitioned(Rc::new(new));
    if rows_here || rows_there { keep_global(work, table, *upkeep) } else { Ok(()) }
}

/// ORA-01031 unless the session may read, empty and fill the table: all of its rows come from the other one. Oracle's
/// documentation names ALTER only.
fn require_rows(work: &Work<'_>, target: &Target, object: ObjectId) -> Result<()> {
    work.require(target, None, SystemPrivilege::DropAnyTable)?;
    for privilege in [ObjectPrivilege::Select, ObjectPrivilege::Insert] {
        if !work.names.allowed(object, target.owner, privilege)? {
            return Err(Ora::new(1031).at(target.pos));
        }
    }
    Ok(())
}

/// The identity of a constraint of some kind; `None` for other kinds.
type Kind<'a> = &'a dyn Fn(&ConstraintKindDef) -> Option<String>;

/// ORA-14096, ORA-14097, ORA-14118, ORA-14128, ORA-14130.
fn require_alike(table: &TableDef, other: &TableDef, pos: u32) -> Result<()> {
    if table.columns.len() != other.columns.len() {
        return Err(Ora::new(14096).at(pos));
    }
    let alike = |(a, b): (&ColumnDef, &ColumnDef)| {
        a.data_type == b.data_type
            && a.nullable == b.nullable
            && a.hidden == b.hidden
            && a.virtual_text == b.virtual_text
            && (a.hidden || a.name == b.name)
    };
    if !table.columns.iter().zip(&other.columns).all(alike) {
        return Err(Ora::new(14097).at(pos));
    }
    let of_kind = |t: &TableDef, kind: Kind<'_>| {
        // Rows that come in are not checked, so what the other table promises of its rows must be the same.
        let promise = |c: &ConstraintDef| Some((kind(&c.kind)?, c.enabled, c.validated, c.deferrable));
        let in_force = t.constraints.iter().filter(|c| c.enabled || c.validated);
        let mut all: Vec<_> = in_force.filter_map(promise).collect();
        all.sort_unstable();
        all
    };
    let check = |kind: &ConstraintKindDef| match kind {
        ConstraintKindDef::Check { text } => Some(text.clone()),
        _ => None,
    };
    let key = |kind: &ConstraintKindDef| match kind {
        ConstraintKindDef::PrimaryKey { columns, .. } => Some(format!("P{columns:?}")),
        ConstraintKindDef::Unique { columns, .. } => Some(format!("U{columns:?}")),
        _ => None,
    };
    let foreign = |kind: &ConstraintKindDef| match kind {
        ConstraintKindDef::ForeignKey { columns, table, key, .. } => Some(format!("{columns:?} {table} {key}")),
        _ => None,
    };
    let not_null = |kind: &ConstraintKindDef| match kind {
        // The column's NULLABLE says the same unless the constraint is deferrable or not validated.
        ConstraintKindDef::NotNull { column } if table.columns[*column].nullable => Some(column.to_string()),
        _ => None,
    };
    let checks: [(u32, Kind<'_>); 4] = [(14097, &not_null), (14118, &check), (14130, &key), (14128, &foreign)];
    for (error, kind) in checks {
        if of_kind(table, kind) != of_kind(other, kind) {
            return Err(Ora::new(error).at(pos));
        }
    }
    Ok(())
}

/// A partition of a local index, and the index of the other table that corresponds.
type Pair = (IndexPartitionDef, Rc<IndexDef>);

/// The indexes that are exchanged. ORA-14098 unless each has its counterpart.
fn index_pairs(table: &TableDef, other: &TableDef, place: usize, pos: u32) -> Result<Vec<Pair>> {
    let mut left: Vec<Rc<IndexDef>> = other.indexes.clone();
    let mut pairs = Vec::new();
    for index in &table.indexes {
        let Some(local) = &index.local else { continue };
        let same = |have: &Rc<IndexDef>| {
            have.columns == index.columns && have.unique == index.unique && have.kind == index.kind
        };
        let at = left.iter().position(same).ok_or_else(|| Ora::new(14098).at(pos))?;
        pairs.push((local[place].clone(), left.remove(at)));
    }
    if left.is_empty() { Ok(pairs) } else { Err(Ora::new(14098).at(pos)) }
}
