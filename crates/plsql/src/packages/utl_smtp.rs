//! UTL_SMTP: no access control list lets a session reach the network, so each call that opens a connection is refused.

use super::package::*;
use crate::world::World;

package! {
    "UTL_SMTP",
    "package utl_smtp is
       type connection is record (host varchar2(255), port pls_integer, tx_timeout pls_integer);
       function open_connection(host varchar2, port pls_integer default 25, tx_timeout pls_integer default null)
         return connection;
     end;";
    "OPEN_CONNECTION" 1 => refuse,
}

/// ORA-24247, as for a user without an access control list.
fn refuse<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Err(Ora::new(24247).into())
}
