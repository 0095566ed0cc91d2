//! UTL_IDENT.

use super::package::*;
use crate::world::World;

package! {
    "UTL_IDENT",
    "package utl_ident is
       is_oracle_server constant boolean := true; is_oracle_client constant boolean := false;
       is_timesten constant boolean := false;
     end;";
}
