//! TRUNCATE: the table gets a new, empty segment; the old one is dropped after the commit.

use crate::create_table::new_segment;
use crate::index;
use crate::partition_rows;
use crate::work::{Target, Work};
use dictionary::base::{Base, clu, obj, tab};
use dictionary::rows::int;
use dictionary::*;
use sql::ast::Truncate;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

pub fn truncate(work: &mut Work<'_>, statement: &Truncate) -> Result<()> {
    let Truncate { cluster: _, name, reuse_storage: _, cascade, pos: _ } = statement;
    let target = work.target(name)?;
    if statement.cluster {
        let object = work.existing(&target, ObjectKind::Cluster, 943)?;
        work.require(&target, None, SystemPrivilege::DropAnyTable)?;
        let cluster = work.image.cluster(object)?.ok_or_else(|| Ora::new(943).at(target.pos))?;
        // The hash function of a cluster's segment is fixed; Oracle refuses this for hash clusters, too.
        return Err(Ora::new(if cluster.hashkeys > 0 { 3293 } else { 943 }).at(target.pos));
    }
    let object = work.existing(&target, ObjectKind::Table, 942)?;
    work.require(&target, None, SystemPrivilege::DropAnyTable)?;
    let tables = with_children(work, object, *cascade, target.pos)?;
    tables.into_iter().try_for_each(|table| empty(work, &table, target.pos))
}

/// The tables that the statement truncates: the named one, and with CASCADE those whose rows refer to a truncated one.
///
/// # Errors
/// ORA-02266 without CASCADE, ORA-01031 for a table of another user, ORA-14705 for a foreign key without ON DELETE
/// CASCADE.
fn with_children(work: &Work<'_>, object: ObjectId, cascade: bool, pos: u32) -> Result<Vec<Rc<TableDef>>> {
    let mut tables = vec![work.existing_table(object)?];
    let mut at = 0;
    while let Some(table) = tables.get(at).cloned() {
        at += 1;
        if table.temporary.is_some() {
            continue;
        }
        for reference in table.referenced_by.iter().filter(|reference| reference.enabled) {
            if tables.iter().any(|known| known.object == reference.from_table) {
                continue;
            }
            let child = work.existing_table(reference.from_table)?;
            if !cascade {
                return Err(Ora::new(2266).at(pos));
            }
            // ORA-14705 names the child, so the privilege is checked first.
            let of = Target { owner: child.owner_id, owner_name: child.owner.clone(), name: child.name.clone(), pos };
            work.require(&of, None, SystemPrivilege::DropAnyTable)?;
            if reference.on_delete != OnDeleteDef::Cascade {
                return Err(Ora::with(14705, &[&child.owner, &child.name]).at(pos));
            }
            tables.push(child);
        }
    }
    Ok(tables)
}

/// Empties a table.
fn empty(work: &mut Work<'_>, table: &Rc<TableDef>, pos: u32) -> Result<()> {
    let object = table.object;
    if matches!(table.organization, Organization::HashCluster { .. }) {
        return Err(Ora::new(3292).at(pos));
    }
    if table.temporary.is_some() {
        work.host.empty_temporary(object);
        return Ok(());
    }
    work.lock(object)?;
    let truncated = dictionary::monitoring::Changes { truncated: true, ..Default::default() };
    work.host.parts().dict.shared().note_changes(object, truncated);
    if table.options.index_organized {
        for index in &table.indexes {
            index::empty(work, index)?;
        }
        work.touch(object);
        return Ok(());
    }
    if let Some(of) = table.partitioning() {
        for p in &of.partitions {
            let segment = partition_rows::new_segment(work, p, p.segment.tablespace)?;
            partition_rows::moved(work, p, &segment)?;
            work.drop_segment_later(p.segment.header)?;
        }
        for index in &table.indexes {
            index::empty(work, index)?;
        }
        work.touch(object);
        return work.altered(object);
    }
    let Some(heap) = table.heap().copied() else {
        return Err(Ora::new(1702).at(pos));
    };
    let (_, old) = new_segment(work, table, heap.tablespace)?;
    work.drop_segment_later(old)?;
    for index in &table.indexes {
        index::empty(work, index)?;
    }
    table.lobs.iter().try_for_each(|lob| crate::lob_storage::empty(work, lob))
}

/// DROP of a table in a hash cluster: gives the cluster a new, empty segment.
pub fn empty_cluster_of(work: &mut Work<'_>, table: &TableDef) -> Result<()> {
    let Organization::HashCluster { cluster, .. } = &table.organization else {
        return Ok(());
    };
    let segment = &cluster.segment;
    let data_object = work.new_object();
    let header = {
        let parts = work.host.parts();
        let block_size = parts.storage.heap.transactions().cache().block_size();
        let geometry = ::cluster::Geometry::new(cluster.hashkeys, cluster.size_bytes, block_size, segment.initrans)?;
        let clusters = parts.storage.clusters;
        let initrans = segment.initrans;
        clusters.create_segment_in(parts.p, parts.txn, segment.tablespace, data_object, &geometry, initrans)?
    };
    work.drop_segment_later(segment.header)?;
    work.change().update_by(Base::Clu, crate::work::by(clu::OBJ, cluster.object), &mut |row| {
        row[clu::DATAOBJ] = int(data_object.0);
        row[clu::FILE] = int(header.file());
        row[clu::BLOCK] = int(header.block());
    })?;
    // The table's own row is deleted with the table; if it stays, it points to the new segment.
    work.change().update_by(Base::Tab, crate::work::by(tab::OBJ, table.object), &mut |row| {
        row[tab::DATAOBJ] = int(data_object.0);
    })?;
    work.update_object(cluster.object, &mut |row| row[obj::DATAOBJ] = int(data_object.0))
}
