//! PRIVATE_JDBC.

use super::package::*;
use crate::world::World;

package! {
    "PRIVATE_JDBC",
    "package private_jdbc is
       function get_compatible return varchar2;
       function get_max_string_size return varchar2;
     end;";
    "GET_COMPATIBLE" 1 => get_compatible,
    "GET_MAX_STRING_SIZE" 1 => get_max_string_size,
}

fn get_compatible<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.database_says("compatible")?)
}

fn get_max_string_size<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.database_says("max_string_size")?)
}
