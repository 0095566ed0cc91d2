//! Dropping tables, clusters, views and sequences.

use crate::work::{Work, by};
use crate::{constraint, index_rows};
use dictionary::base::*;
use dictionary::*;
use sql::ast::KeyIndex;
use types::{ObjectId, Result};

/// Drops a table with its indexes, constraints, comments and triggers.
pub fn table(work: &mut Work<'_>, object: ObjectId, cascade: bool, pos: u32) -> Result<()> {
    let mut def = (*work.existing_table(object)?).clone();
    work.require_unused(&def)?;
    work.lock(object)?;
    constraint::remove_references(work, &def, None, cascade, pos)?;
    for constraint in def.constraints.clone() {
        if let ConstraintKindDef::ForeignKey { table, .. } = constraint.kind {
            work.touch(table);
        }
        constraint::remove(work, &mut def, &constraint, KeyIndex::AsMade)?;
    }
    for index in &def.indexes {
        index_rows::remove(work, index)?;
    }
    for lob in &def.lobs {
        crate::lob_storage::remove(work, lob)?;
    }
    for trigger in work.image.triggers_on(object) {
        crate::stored::remove_unit(work, trigger)?;
    }
    if let Some(of) = def.partitioning() {
        crate::partition_rows::remove_table(work, object, of)?;
    } else if let Some(heap) = def.heap_table() {
        work.drop_segment_later(heap.header)?;
    } else {
        crate::truncate::empty_cluster_of(work, &def)?;
    }
    for identity in def.columns.iter().filter_map(|column| column.identity.as_ref()) {
        sequence(work, identity.sequence)?;
    }
    work.change().delete_by(Base::Tab, by(tab::OBJ, object))?;
    work.change().delete_by(Base::Col, by(col::OBJ, object))?;
    work.change().delete_by(Base::Com, by(com::OBJ, object))?;
    crate::stats_store::forget_table(work, object)?;
    if def.options.materialized {
        crate::materialized::forget(work, object)?;
    }
    work.delete_object(object)
}

/// Drops a cluster with its tables: DROP USER CASCADE.
pub fn cluster_with_tables(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let Some(def) = work.image.cluster(object)? else {
        return Ok(());
    };
    work.lock(object)?;
    work.drop_segment_later(def.segment.header)?;
    work.change().delete_by(Base::Clu, by(clu::OBJ, object))?;
    work.change().delete_by(Base::Col, by(col::OBJ, object))?;
    work.delete_object(object)
}

/// Whether an index enforces a key of its table.
pub fn enforces(table: &TableDef, object: ObjectId) -> bool {
    table.constraints.iter().any(|constraint| {
        matches!(constraint.kind, ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. }
            if index == object)
    })
}

/// Drops a view with its comments and triggers.
pub fn view(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    for trigger in work.image.triggers_on(object) {
        crate::stored::remove_unit(work, trigger)?;
    }
    work.change().delete_by(Base::View, by(self::view::OBJ, object))?;
    work.change().delete_by(Base::Word, by(word::OBJ, object))?;
    work.change().delete_by(Base::Error, by(error::OBJ, object))?;
    work.change().delete_by(Base::Col, by(col::OBJ, object))?;
    work.change().delete_by(Base::Com, by(com::OBJ, object))?;
    work.delete_object(object)
}

pub fn sequence(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    work.change().delete_by(Base::Seq, by(seq::OBJ, object))?;
    work.sequences.push(object);
    work.delete_object(object)
}
