//! UTL_HTTP: no access control list lets a session reach the network, so each call that opens a connection is refused.

use super::package::*;
use crate::world::World;

package! {
    "UTL_HTTP",
    "package utl_http is
       request_failed exception; pragma exception_init(request_failed, -29273);
       type req is record (url varchar2(32767), method varchar2(64), http_version varchar2(64));
       http_version_1_0 constant varchar2(64) := 'HTTP/1.0'; http_version_1_1 constant varchar2(64) := 'HTTP/1.1';
       function request(url varchar2, proxy varchar2 default null, wallet_path varchar2 default null,
         wallet_password varchar2 default null) return varchar2;
       function begin_request(url varchar2, method varchar2 default 'GET', http_version varchar2 default null)
         return req;
     end;";
    "REQUEST" 1 => refuse,
    "BEGIN_REQUEST" 1 => refuse,
}

/// ORA-29273 with ORA-24247, as for a user without an access control list.
fn refuse<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Err(Ora::new(29273).because(Ora::new(24247)).into())
}
