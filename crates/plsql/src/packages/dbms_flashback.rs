//! DBMS_FLASHBACK.

use super::package::*;
use crate::requests::FlashbackRequest;
use crate::world::World;

package! {
    "DBMS_FLASHBACK",
    "package dbms_flashback is
       procedure enable_at_time(query_time timestamp);
       procedure enable_at_system_change_number(query_scn number);
       procedure disable;
       function get_system_change_number return number;
     end;";
    "ENABLE_AT_TIME" 1 => enable_at_time,
    "ENABLE_AT_SYSTEM_CHANGE_NUMBER" 1 => enable_at_time,
    "DISABLE" 1 => disable,
    "GET_SYSTEM_CHANGE_NUMBER" 1 => get_system_change_number,
}

fn enable_at_time<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.flashback(&FlashbackRequest::Enable(c.a.value(0).clone()))?)
}

fn disable<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.flashback(&FlashbackRequest::Disable)?)
}

fn get_system_change_number<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.flashback(&FlashbackRequest::CurrentScn)?)
}
