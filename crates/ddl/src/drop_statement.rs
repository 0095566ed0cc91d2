//! DROP of all kinds of objects, and PURGE.

use crate::drop::{enforces, sequence, table, view};
use crate::index_rows;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, clu, col};
use dictionary::*;
use sql::ast::{DropKind, DropObject, Purge};
use types::{ObjectId, Ora, Result};

pub fn drop_object(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    use SystemPrivilege as S;
    // FORCE and PURGE have no effect: dependents of a type or synonym are compiled at their next use, and there is no
    // recycle bin.
    let DropObject { kind, name, cascade, purge: _, including: _, and_files: _, force, pos } = drop;
    match kind {
        DropKind::User | DropKind::Role => return crate::user::drop_user(work, drop),
        DropKind::Synonym | DropKind::PublicSynonym => return crate::synonym::drop_synonym(work, drop),
        DropKind::Edition => return crate::edition::drop_edition(work, drop),
        DropKind::Context => return crate::context::drop(work, drop),
        DropKind::Directory => return crate::stored::drop_directory(work, drop),
        DropKind::AuditPolicy => return crate::audit::drop(work, drop),
        DropKind::Profile => return crate::profile::drop(work, drop),
        DropKind::Tablespace => return crate::tablespace::drop_tablespace(work, drop),
        // not a clause: the other kinds are handled below
        _ => {}
    }
    let target = work.target(name)?;
    match *kind {
        DropKind::Table => {
            let object = work.existing(&target, ObjectKind::Table, 942)?;
            work.require(&target, None, S::DropAnyTable)?;
            if work.existing_table(object)?.options.materialized {
                return Err(Ora::with(12083, &[&target.owner_name, &target.name]).at(target.pos));
            }
            table(work, object, *cascade, target.pos)
        }
        DropKind::Cluster => {
            let object = work.existing(&target, ObjectKind::Cluster, 943)?;
            work.require(&target, None, S::DropAnyCluster)?;
            cluster(work, object, drop, &target)
        }
        DropKind::Index => {
            let object = work.existing(&target, ObjectKind::Index, 1418)?;
            work.require(&target, None, S::DropAnyIndex)?;
            drop_index(work, object, &target)
        }
        DropKind::View => {
            let object = work.existing_for(&target, ObjectKind::View, 942, S::DropAnyView)?;
            work.require(&target, None, S::DropAnyView)?;
            view(work, object)
        }
        DropKind::Sequence => {
            let object = work.existing(&target, ObjectKind::Sequence, 2289)?;
            work.require(&target, None, S::DropAnySequence)?;
            sequence(work, object)
        }
        DropKind::Stored(sql::ast::StoredKind::Trigger) => crate::trigger::drop(work, &target),
        DropKind::Stored(kind) => crate::stored::drop_unit(work, &target, kind, *force),
        DropKind::MaterializedView => {
            // First, so that another user's view is not shown to exist.
            work.require(&target, None, S::DropAnyMaterializedView)?;
            let object = crate::materialized::table_of(work, &target)?;
            table(work, object, false, target.pos)
        }
        _ => Err(Ora::unsupported().at(pos.0)),
    }
}

fn cluster(work: &mut Work<'_>, object: ObjectId, drop: &DropObject, target: &Target) -> Result<()> {
    let def = work.image.cluster(object)?.ok_or_else(|| Ora::new(943).at(target.pos))?;
    if !def.tables.is_empty() && !drop.including {
        return Err(Ora::new(951).at(target.pos));
    }
    work.lock(object)?;
    for table_object in &def.tables {
        table(work, *table_object, drop.cascade, target.pos)?;
    }
    work.drop_segment_later(def.segment.header)?;
    work.change().delete_by(Base::Clu, by(clu::OBJ, object))?;
    work.change().delete_by(Base::Col, by(col::OBJ, object))?;
    work.delete_object(object)
}

fn drop_index(work: &mut Work<'_>, object: ObjectId, target: &Target) -> Result<()> {
    let index = work.image.index(object)?.ok_or_else(|| Ora::new(1418).at(target.pos))?;
    let table = work.existing_table(index.table)?;
    if enforces(&table, object) {
        return Err(Ora::new(2429).at(target.pos));
    }
    work.require_unused(&table)?;
    work.lock(index.table)?;
    work.touch(index.table);
    crate::virtual_column::forget_key(work, &table, &index)?;
    index_rows::remove(work, &index)
}

/// There is no recycle bin: dropped objects are gone.
pub fn purge(purge: &Purge) -> Result<()> {
    match purge {
        Purge::RecycleBin | Purge::DbaRecycleBin => Ok(()),
        Purge::Table(name) | Purge::Index(name) => Err(Ora::new(38307).at(name.pos.0)),
    }
}
