//! DBMS_XA.

use super::package::*;
use crate::requests::XaRequest;
use crate::world::World;

package! {
    "DBMS_XA",
    "package dbms_xa is
       type dbms_xa_xid_array is table of raw(140) index by binary_integer;
       tmnoflags constant pls_integer := 0; tmsuccess constant pls_integer := 67108864;
       tmjoin constant pls_integer := 2097152; tmsuspend constant pls_integer := 33554432;
       tmresume constant pls_integer := 134217728;
       xa_rbbase constant pls_integer := 100; xa_rbrollback constant pls_integer := 100;
       xa_rbcommfail constant pls_integer := 101; xa_rbdeadlock constant pls_integer := 102;
       xa_rbintegrity constant pls_integer := 103; xa_rbother constant pls_integer := 104;
       xa_rbproto constant pls_integer := 105; xa_rbtimeout constant pls_integer := 106;
       xa_rbtransient constant pls_integer := 107; xa_rbend constant pls_integer := 107;
       xa_nomigrate constant pls_integer := 9; xa_heurhaz constant pls_integer := 8;
       xa_heurcom constant pls_integer := 7; xa_heurrb constant pls_integer := 6;
       xa_heurmix constant pls_integer := 5; xa_retry constant pls_integer := 4;
       xa_rdonly constant pls_integer := 3; xa_ok constant pls_integer := 0;
       xaer_async constant pls_integer := -2; xaer_rmerr constant pls_integer := -3;
       xaer_nota constant pls_integer := -4; xaer_inval constant pls_integer := -5;
       xaer_proto constant pls_integer := -6; xaer_rmfail constant pls_integer := -7;
       xaer_dupid constant pls_integer := -8; xaer_outside constant pls_integer := -9;
       function xa_start(xid raw, flag pls_integer) return pls_integer;
       function xa_end(xid raw, flag pls_integer) return pls_integer;
       function xa_prepare(xid raw) return pls_integer;
       function xa_commit(xid raw, onephase boolean) return pls_integer;
       function xa_rollback(xid raw) return pls_integer;
       function xa_forget(xid raw) return pls_integer;
       function xa_recover return dbms_xa_xid_array;
       function xa_settimeout(seconds pls_integer) return pls_integer;
       function xa_getlastoer return pls_integer;
       procedure dist_txn_sync;
     end;";
    "XA_START" 1 => xa_start,
    "XA_END" 1 => xa_end,
    "XA_PREPARE" 1 => xa_prepare,
    "XA_COMMIT" 1 => xa_commit,
    "XA_ROLLBACK" 1 => xa_rollback,
    "XA_FORGET" 1 => xa_forget,
    "XA_RECOVER" 1 => xa_recover,
    "XA_SETTIMEOUT" 1 => xa_settimeout,
    "XA_GETLASTOER" 1 => xa_getlastoer,
    "DIST_TXN_SYNC" 1 => dist_txn_sync,
}

fn xa_start<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(c.a.raw(0), &XaRequest::Start { flags: c.a.integer(1).unwrap_or(0) })?))
}

fn xa_end<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(c.a.raw(0), &XaRequest::End { flags: c.a.integer(1).unwrap_or(0) })?))
}

fn xa_prepare<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(c.a.raw(0), &XaRequest::Prepare)?))
}

fn xa_commit<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(c.a.raw(0), &XaRequest::Commit { one_phase: c.a.flag(1) })?))
}

fn xa_rollback<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(c.a.raw(0), &XaRequest::Rollback)?))
}

fn xa_forget<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(c.a.raw(0), &XaRequest::Forget)?))
}

fn xa_recover<W: World>(c: &mut Call<'_, W>) -> Run<Datum> {
    Ok(by_integer(c.w.xa_recover()?.into_iter().map(Value::Raw)))
}

fn xa_settimeout<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(&[], &XaRequest::SetTimeout(c.a.integer(0).unwrap_or(0)))?))
}

fn xa_getlastoer<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.xa(&[], &XaRequest::LastError)?))
}

fn dist_txn_sync<W: World>(_: &mut Call<'_, W>) -> Run<()> {
    // There is one instance, so nothing needs synchronization.
    Ok(())
}
