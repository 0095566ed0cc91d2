//! DBMS_SQL.

use super::package::*;
use crate::world::World;

package! {
    "DBMS_SQL",
    "package dbms_sql is
       procedure return_result(rc in out sys_refcursor, to_client boolean default true);
     end;";
    "RETURN_RESULT" 1 => return_result,
}

fn return_result<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    // Results that are not for the client would be for the caller of DBMS_SQL, which does not exist here.
    if c.a.flag(1) {
        c.s.return_result(std::mem::replace(&mut c.a.0[0], Datum::Cur(None)))?;
    }
    Ok(())
}
