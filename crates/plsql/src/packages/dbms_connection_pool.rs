//! DBMS_CONNECTION_POOL.

use super::package::*;
use crate::requests::ConnectionPoolRequest;
use crate::world::World;

package! {
    "DBMS_CONNECTION_POOL",
    "package dbms_connection_pool is
       procedure start_pool(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL');
       procedure stop_pool(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL');
       procedure configure_pool(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL',
         minsize number default 4, maxsize number default 40, incrsize number default 2,
         session_cached_cursors number default 20, inactivity_timeout number default 300,
         max_think_time number default 120, max_use_session number default 500000,
         max_lifetime_session number default 86400, max_txn_think_time number default 0);
       procedure alter_param(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL',
         param_name varchar2, param_value varchar2);
       procedure restore_defaults(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL');
     end;";
    "START_POOL" 1 => start_pool,
    "STOP_POOL" 1 => stop_pool,
    "CONFIGURE_POOL" 1 => configure_pool,
    "ALTER_PARAM" 1 => alter_param,
    "RESTORE_DEFAULTS" 1 => restore_defaults,
}

fn start_pool<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.connection_pool(c.a.text(0), ConnectionPoolRequest::Start)?)
}

fn stop_pool<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.connection_pool(c.a.text(0), ConnectionPoolRequest::Stop)?)
}

fn configure_pool<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let settings = std::array::from_fn(|i| c.a.integer(i + 1));
    Ok(c.w.connection_pool(c.a.text(0), ConnectionPoolRequest::Configure(settings))?)
}

fn alter_param<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (name, value) = (c.a.text(1), c.a.text(2));
    Ok(c.w.connection_pool(c.a.text(0), ConnectionPoolRequest::Alter { name, value })?)
}

fn restore_defaults<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Ok(c.w.connection_pool(c.a.text(0), ConnectionPoolRequest::RestoreDefaults)?)
}
