//! CREATE CLUSTER.

use crate::columns;
use crate::work::Work;
use dictionary::base::{Base, clu};
use dictionary::rows::{blank, flag, int, text};
use dictionary::*;
use sql::ast::CreateCluster;
use types::{Ora, Result, Value};

/// The most columns of a cluster key.
const KEY_COLUMNS_MAX: usize = 32;

pub fn create(work: &mut Work<'_>, create: &CreateCluster) -> Result<()> {
    let CreateCluster {
        name: _,
        columns: _,
        single_table,
        hashkeys: _,
        hash_is,
        size_bytes: _,
        indexed: _,
        options: _,
        pos,
    } = create;
    let target = work.target(&create.name)?;
    work.require(&target, Some(SystemPrivilege::CreateCluster), SystemPrivilege::CreateAnyCluster)?;
    work.require_new(&target, ObjectKind::Cluster)?;
    let hashkeys = create.hashkeys.filter(|_| *single_table && hash_is.is_none());
    let Some(hashkeys) = hashkeys else {
        // Indexed clusters, clusters of several tables and HASH IS are not supported.
        return Err(Ora::unsupported().at(pos.0));
    };
    if create.columns.len() > KEY_COLUMNS_MAX {
        return Err(Ora::new(1793).at(target.pos));
    }
    columns::check_names(create.columns.iter().map(|(name, _)| (name.name.as_str(), name.pos.0)))?;
    let mut key = Vec::new();
    for (name, ty) in &create.columns {
        key.push(ColumnDef::new(name.name.clone(), plan::data_type(ty)?));
    }
    let options = &create.options;
    let initrans = options.initrans.unwrap_or(2).clamp(1, 255) as u8;
    let tablespace = work.tablespace(options.tablespace.as_ref(), target.owner)?;
    let object = work.new_object();
    let block_size = work.host.parts().storage.heap.transactions().cache().block_size();
    // Without SIZE each key has a block.
    let size = create.size_bytes.unwrap_or(block_size as u64);
    let size_bytes = u32::try_from(size).map_err(|_| Ora::new(2457).at(pos.0))?;
    let geometry = ::cluster::Geometry::new(hashkeys, size_bytes, block_size, initrans).map_err(|e| e.at(pos.0))?;
    let header = {
        let parts = work.host.parts();
        parts.storage.clusters.create_segment_in(parts.p, parts.txn, tablespace, object, &geometry, initrans)?
    };
    work.insert_object(object, Some(object), &target, ObjectKind::Cluster)?;
    let mut row = blank(Base::Clu);
    row[clu::OBJ] = int(object.0);
    row[clu::DATAOBJ] = int(object.0);
    row[clu::TS] = int(tablespace);
    row[clu::FILE] = int(header.file());
    row[clu::BLOCK] = int(header.block());
    row[clu::COLS] = int(key.len() as i64);
    row[clu::PCTFREE] = int(options.pctfree.unwrap_or(10));
    row[clu::INITRANS] = int(initrans);
    row[clu::SIZE] = int(size_bytes);
    row[clu::HASHKEYS] = int(geometry.hash_buckets);
    row[clu::HASHFUNC] = hash_is.as_ref().map_or(Value::Null, |_| text(""));
    row[clu::FLAGS] = flag(*single_table);
    work.change().insert(Base::Clu, &row)?;
    columns::insert(work, object, &key)
}
