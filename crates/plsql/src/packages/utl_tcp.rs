//! UTL_TCP: no access control list lets a session reach the network, so each call that opens a connection is refused.

use super::package::*;
use crate::world::World;

package! {
    "UTL_TCP",
    "package utl_tcp is
       crlf constant varchar2(2) := chr(13) || chr(10);
       network_error exception; pragma exception_init(network_error, -29260);
       type connection is record (remote_host varchar2(255), remote_port pls_integer, local_host varchar2(255),
         local_port pls_integer, charset varchar2(30), newline varchar2(2), tx_timeout pls_integer,
         private_sd pls_integer);
       function open_connection(remote_host varchar2, remote_port pls_integer, local_host varchar2 default null,
         local_port pls_integer default null, in_buffer_size pls_integer default null,
         out_buffer_size pls_integer default null, charset varchar2 default null, newline varchar2 default null,
         tx_timeout pls_integer default null, wallet_path varchar2 default null,
         wallet_password varchar2 default null) return connection;
     end;";
    "OPEN_CONNECTION" 1 => refuse,
}

/// ORA-24247, as for a user without an access control list.
fn refuse<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Err(Ora::new(24247).into())
}
