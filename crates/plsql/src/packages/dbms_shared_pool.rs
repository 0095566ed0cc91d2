//! DBMS_SHARED_POOL.

use super::package::*;
use crate::requests::SharedPoolRequest;
use crate::world::World;

package! {
    "DBMS_SHARED_POOL",
    "package dbms_shared_pool is
       procedure markhot(schema varchar2, objname varchar2, namespace number default 1, global boolean default true);
       procedure markhot(hash varchar2, namespace number default 1, global boolean default true);
       procedure unmarkhot(schema varchar2, objname varchar2, namespace number default 1, global boolean default true);
       procedure unmarkhot(hash varchar2, namespace number default 1, global boolean default true);
       procedure keep(name varchar2, flag char default 'P');
       procedure unkeep(name varchar2, flag char default 'P');
       procedure purge(name varchar2, flag char default 'P', heaps number default 1);
     end;";
    "MARKHOT" 1 => markhot,
    "MARKHOT" 2 => pool_mark_hot,
    "UNMARKHOT" 1 => markhot,
    "UNMARKHOT" 2 => unmarkhot,
    "KEEP" 1 => keep,
    "UNKEEP" 1 => unkeep,
    "PURGE" 1 => purge,
}

fn markhot<W: World>(_: &mut Call<'_, W>) -> Run<()> {
    // Only cursors can be hot or kept.
    Err(Ora::new(6570).into())
}

fn pool_mark_hot<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.shared_pool(&SharedPoolRequest::MarkHot(c.a.text(0).to_string()))?)
}

fn unmarkhot<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.shared_pool(&SharedPoolRequest::UnmarkHot(c.a.text(0).to_string()))?)
}

fn keep<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.shared_pool(&SharedPoolRequest::Keep(c.a.text(0).to_string(), true))?)
}

fn unkeep<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.shared_pool(&SharedPoolRequest::Keep(c.a.text(0).to_string(), false))?)
}

fn purge<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.shared_pool(&SharedPoolRequest::Purge(c.a.text(0).to_string()))?)
}
