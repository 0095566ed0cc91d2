//! DBMS_TRANSACTION.

use super::package::*;
use crate::requests::SessionlessRequest;
use crate::world::World;

package! {
    "DBMS_TRANSACTION",
    "package dbms_transaction is
       transaction_type_sessionless constant pls_integer := 1;
       transaction_new constant pls_integer := 1; transaction_resume constant pls_integer := 2;
       procedure commit;
       procedure rollback;
       procedure savepoint(savept varchar2);
       procedure rollback_savepoint(savept varchar2);
       procedure read_only;
       procedure read_write;
       function local_transaction_id(create_transaction boolean default false) return varchar2;
       function start_transaction(xid raw default null, transaction_type pls_integer default 1,
         timeout pls_integer default 60, flag pls_integer default 1) return raw;
       procedure suspend_transaction;
       function get_transaction_id return varchar2;
     end;";
    "COMMIT" 1 => commit,
    "ROLLBACK" 1 => rollback,
    "SAVEPOINT" 1 => savepoint,
    "ROLLBACK_SAVEPOINT" 1 => rollback_savepoint,
    "READ_ONLY" 1 => read_only,
    "READ_WRITE" 1 => read_write,
    "LOCAL_TRANSACTION_ID" 1 => local_transaction_id,
    "START_TRANSACTION" 1 => start_transaction,
    "SUSPEND_TRANSACTION" 1 => suspend_transaction,
    "GET_TRANSACTION_ID" 1 => get_transaction_id,
}

fn commit<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.commit()?;
    Ok(())
}

fn rollback<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.rollback()?;
    Ok(())
}

fn savepoint<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.savepoint(&c.a.text(0).to_uppercase())?;
    Ok(())
}

fn rollback_savepoint<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.rollback_to(&c.a.text(0).to_uppercase())?;
    Ok(())
}

fn read_only<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_transaction("set transaction read only")?;
    Ok(())
}

fn read_write<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_transaction("set transaction read write")?;
    Ok(())
}

fn local_transaction_id<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let create = matches!(c.a.0.first(), Some(Datum::Val(Value::Boolean(true))));
    Ok(c.w.transaction_id(create)?)
}

fn start_transaction<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [Some(kind), Some(timeout_s), Some(flag)] = [1, 2, 3].map(|i| c.a.integer(i)) else {
        return Err(Ora::new(26213).into());
    };
    Ok(c.w.sessionless(&SessionlessRequest::Start { id: c.a.raw(0), kind, timeout_s, flag })?)
}

fn suspend_transaction<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.sessionless(&SessionlessRequest::Suspend)?)
}

fn get_transaction_id<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.sessionless(&SessionlessRequest::Id)?)
}
