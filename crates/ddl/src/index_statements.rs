//! CREATE INDEX and ALTER INDEX.

use crate::columns::column_position;
use crate::index::{NewIndex, coalesce, define, fill, rebuild};
use crate::index_rows::{disable, enter, flags_of, set_flags};
use crate::virtual_column;
use crate::work::{Target, Work};
use dictionary::base::obj;
use dictionary::image::property;
use dictionary::*;
use enqueue::LockMode;
use sql::ast::{
    AlterIndex, AlterIndexAction, CreateIndex, Expr, ExprKind, Ident, IndexColumn, IndexTarget, SegmentOptions,
};
use types::{DataType, ObjectId, Ora, Result, Zone};

pub fn create(work: &mut Work<'_>, create: &CreateIndex) -> Result<()> {
    let CreateIndex {
        unique: _,
        bitmap,
        name: _,
        target: _,
        options: _,
        reverse,
        invisible: _,
        online: _,
        local: _,
        other,
        pos: _,
    } = create;
    let index = work.target(&create.name)?;
    crate::online::clean_up(work, Some(&index))?;
    let IndexTarget::Table { table, columns } = &create.target else {
        return Err(Ora::unsupported().at(create.pos.0));
    };
    if other.is_some() {
        return Err(Ora::unsupported().at(create.pos.0));
    }
    if *bitmap {
        return Err(Ora::with(439, &[&"Bit-mapped indexes"]).at(create.pos.0));
    }
    let table_target = work.target(table)?;
    let object = work.existing_for(&table_target, ObjectKind::Table, 942, SystemPrivilege::CreateAnyIndex)?;
    require_index_privilege(work, &index, &table_target, object)?;
    work.require_new(&index, ObjectKind::Index)?;
    let mut table = (*work.existing_table(object)?).clone();
    work.require_unused(&table)?;
    if create.online && table.temporary.is_some() {
        return Err(Ora::new(14451).at(table_target.pos));
    }
    let mut positions = Vec::new();
    let mut computed = false;
    for IndexColumn { expr, text: _, descending } in columns {
        let instant = instant_key(&table, expr)?;
        let key = instant.as_ref().unwrap_or(expr);
        let ExprKind::Name(name) = &key.kind else {
            if *reverse || matches!(table.organization, Organization::HashCluster { .. }) {
                return Err(Ora::unsupported().at(expr.pos.0));
            }
            if !create.online {
                work.lock(object)?;
            }
            positions.push((virtual_column::for_key(work, &mut table, key)?, *descending));
            computed = true;
            continue;
        };
        let ident = Ident { name: name.last().to_owned(), pos: name.pos };
        let position = column_position(&table, &ident)?;
        computed |= table.columns[position].virtual_text.is_some();
        positions.push((position, *descending));
    }
    let new = NewIndex {
        target: index,
        unique: create.unique,
        distinct: create.unique,
        kind: match (*reverse, computed) {
            (true, _) => IndexKind::Reverse,
            (_, true) => IndexKind::FunctionBased,
            _ => IndexKind::Normal,
        },
        columns: positions,
        options: create.options.clone(),
        invisible: create.invisible,
        for_key: false,
        local: create.local.clone(),
        of_key: false,
        duplicate: Ora::new(1452),
    };
    if create.online && table.partitioning().is_some() {
        return Err(Ora::unsupported().at(create.pos.0));
    }
    if create.online {
        return crate::online::create(work, &table, new);
    }
    work.lock(object)?;
    let index = define(work, &table, &new, false)?;
    if table.temporary.is_none() {
        work.hold_tablespace(index.segment.tablespace, LockMode::Share)?;
    }
    // The table is locked, so neither it nor its indexes change meanwhile; its owner's other objects may.
    work.without_dd(&mut |work| fill(work, &table, &index, index.unique.then_some(&new.duplicate)))?;
    work.require_owner(&new.target)?;
    work.require_new(&new.target, ObjectKind::Index)?;
    let data = index.local.is_none().then_some(index.object);
    work.insert_object(index.object, data, &new.target, ObjectKind::Index)?;
    enter(work, &index)?;
    if let Some(of) = table.partitioning() {
        crate::partition_rows::enter_local(work, &index, of)?;
    }
    work.touch(object);
    Ok(())
}

/// The key for a column with time zone: its instant, because instants are compared.
fn instant_key(table: &TableDef, key: &Expr) -> Result<Option<Expr>> {
    let ExprKind::Name(name) = &key.kind else { return Ok(None) };
    let column = table.column(name.last()).map(|(_, column)| column);
    match column {
        Some(c) if matches!(c.data_type, DataType::Timestamp { zone: Zone::WithTimeZone, .. }) => {
            let mut expr = sql::parse_expression(&format!("SYS_EXTRACT_UTC(\"{}\")", c.name))?;
            expr.pos = key.pos;
            Ok(Some(expr))
        }
        _ => Ok(None),
    }
}

fn require_index_privilege(work: &Work<'_>, index: &Target, table: &Target, object: ObjectId) -> Result<()> {
    work.require(index, None, SystemPrivilege::CreateAnyIndex)?;
    let on_table = table.owner == work.session.user
        || (table.owner != UserId::SYS && work.names.has(SystemPrivilege::CreateAnyIndex))
        || work.names.allowed(object, table.owner, ObjectPrivilege::Index)?;
    if on_table { Ok(()) } else { Err(Ora::new(1031).at(table.pos)) }
}

pub fn alter(work: &mut Work<'_>, alter: &AlterIndex) -> Result<()> {
    let AlterIndex { name: _, action, pos: _ } = alter;
    crate::online::clean_up(work, None)?;
    let target = work.target(&alter.name)?;
    let object = work.existing(&target, ObjectKind::Index, 1418)?;
    work.require(&target, None, SystemPrivilege::AlterAnyIndex)?;
    let index = work.image.index(object)?.ok_or_else(|| Ora::new(1418).at(target.pos))?;
    if index.building {
        return Err(Ora::with(8104, &[&object.0]).at(target.pos));
    }
    let flags = flags_of(&index);
    let table = work.existing_table(index.table)?;
    if table.temporary.is_some() && matches!(*action, AlterIndexAction::Rebuild { .. }) {
        return Err(Ora::new(14456).at(target.pos));
    }
    work.require_unused(&table)?;
    let part_of = |name: &Ident| {
        let local = index.local.as_ref().ok_or_else(|| Ora::new(14075).at(name.pos.0))?;
        let place = local.iter().position(|part| part.name == name.name);
        place.ok_or_else(|| Ora::new(2149).at(name.pos.0))
    };
    match action {
        _ if table.temporary.is_some() && *action == AlterIndexAction::Coalesce => {}
        AlterIndexAction::Rebuild { options: _, online: true, partition: _ } if table.partitioning().is_some() => {
            return Err(Ora::unsupported().at(alter.pos.0));
        }
        AlterIndexAction::Rebuild { options, online: _, partition: Some(name) } => {
            let place = part_of(name)?;
            work.lock(index.table)?;
            crate::partition_index::rebuild(work, &table, &index, place, options)?;
        }
        AlterIndexAction::Rebuild { options: _, online: _, partition: None } if index.local.is_some() => {
            return Err(Ora::new(14086).at(target.pos));
        }
        AlterIndexAction::PartitionUnusable(name) => {
            let place = part_of(name)?;
            work.lock(index.table)?;
            crate::partition_index::set_unusable(work, &index, Some(place))?;
        }
        AlterIndexAction::RenamePartition { from, to } => {
            let place = part_of(from)?;
            crate::partition_index::rename(work, &index, place, to)?;
        }
        AlterIndexAction::Unusable if index.local.is_some() => {
            work.lock(index.table)?;
            crate::partition_index::set_unusable(work, &index, None)?;
        }
        AlterIndexAction::Coalesce | AlterIndexAction::Shrink { .. } if index.local.is_some() => {
            return Err(Ora::unsupported().at(alter.pos.0));
        }
        AlterIndexAction::Rebuild { options, online: true, partition: None } if !index.disabled => {
            return crate::online::rebuild(work, &index, &target, options);
        }
        AlterIndexAction::Rebuild { options, online: _, partition: None } => {
            work.lock(index.table)?;
            virtual_column::check_keys(work, &table, &index)?;
            rebuild(work, &index, options)?;
        }
        AlterIndexAction::RenameTo(name) => {
            let new = Target { name: name.name.clone(), pos: name.pos.0, ..target };
            work.require_new(&new, ObjectKind::Index)?;
            let parts: Vec<ObjectId> = index.local.iter().flat_map(|all| all.iter()).map(|part| part.object).collect();
            crate::partition_rows::rename(work, &parts, &new.name)?;
            work.update_object(object, &mut |row| row[obj::NAME] = dictionary::rows::text(new.name.as_str()))?;
        }
        AlterIndexAction::Visible(visible) => {
            let invisible = if *visible { 0 } else { property::IND_INVISIBLE };
            set_flags(work, object, flags & !property::IND_INVISIBLE | invisible)?;
        }
        AlterIndexAction::Unusable => {
            if index.kind == IndexKind::IotTop {
                return Err(Ora::new(28650).at(target.pos));
            }
            work.lock(index.table)?;
            set_flags(work, object, flags | property::IND_UNUSABLE)?;
        }
        AlterIndexAction::Coalesce => coalesce(work, &index)?,
        AlterIndexAction::Shrink { .. } if table.temporary.is_some() => return Err(Ora::new(10635).at(target.pos)),
        AlterIndexAction::Shrink { compact } => crate::shrink::index(work, &index, *compact)?,
        // Only REBUILD moves an index.
        AlterIndexAction::Options(options) => {
            // Storage clauses do not change the contents of the index.
            if let Some(name) = &options.tablespace {
                return Err(Ora::new(2243).at(name.pos.0));
            }
        }
        AlterIndexAction::Other { text, pos } => match text.as_str() {
            "MONITORING USAGE" | "NOMONITORING USAGE" | "DEALLOCATE UNUSED" => {}
            // The function may return other values now, so the entries are made again.
            "ENABLE" if index.disabled => {
                work.lock(index.table)?;
                virtual_column::check_keys(work, &table, &index)?;
                rebuild(work, &index, &SegmentOptions::default())?;
            }
            "ENABLE" if index.kind == IndexKind::FunctionBased => {}
            "DISABLE" if index.kind == IndexKind::FunctionBased => {
                work.lock(index.table)?;
                disable(work, &index)?;
            }
            _ => return Err(Ora::unsupported().at(pos.0)),
        },
    }
    work.touch(index.table);
    work.altered(object)
}
