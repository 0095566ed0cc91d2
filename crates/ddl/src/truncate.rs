//! TRUNCATE: the table gets a new, empty segment; the old one is dropped after the commit.

use crate::create_table::new_segment;
use crate::index;
use crate::partition_rows;
use crate::work::Work;
use dictionary::base::{Base, clu, obj, tab};
use dictionary::rows::int;
use dictionary::*;
use sql::ast::Truncate;
use types::{Ora, Result};

pub fn truncate(work: &mut Work<'_>, statement: &Truncate) -> Result<()> {
    let Truncate { cluster: _, name, reuse_storage: _, cascade, pos } = statement;
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
    let table = work.existing_table(object)?;
    if matches!(table.organization, Organization::HashCluster { .. }) {
        return Err(Ora::new(3292).at(target.pos));
    }
    if table.temporary.is_some() {
        work.host.empty_temporary(object);
        return Ok(());
    }
    let foreign = table.referenced_by.iter().any(|reference| reference.enabled && reference.from_table != object);
    // Tables that reference this one are not truncated with it.
    if foreign && *cascade {
        return Err(Ora::unsupported().at(pos.0));
    }
    if foreign {
        return Err(Ora::new(2266).at(target.pos));
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
        return Err(Ora::new(1702).at(target.pos));
    };
    let (_, old) = new_segment(work, &table, heap.tablespace)?;
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
