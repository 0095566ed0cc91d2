//! DBMS_MVIEW.

use super::package::*;
use crate::world::World;

package! {
    "DBMS_MVIEW",
    "package dbms_mview is
       procedure refresh(list varchar2, method varchar2 default null, rollback_seg varchar2 default null,
         push_deferred_rpc boolean default true, refresh_after_errors boolean default false,
         purge_option binary_integer default 1, parallelism binary_integer default 0,
         heap_size binary_integer default 0, atomic_refresh boolean default true, nested boolean default false,
         out_of_place boolean default false, skip_ext_data boolean default false);
     end;";
    "REFRESH" 1 => refresh,
}

fn refresh<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (list, methods) = (c.a.text(0).to_owned(), c.a.text(1).to_uppercase());
    let mut methods = methods.chars();
    for name in list.split(',') {
        // A view without a letter of its own is refreshed by its own method.
        let fast = match methods.next() {
            None | Some('?' | 'C' | 'A') => false,
            Some('F') => true,
            Some(_) => return Err(Ora::unsupported().into()),
        };
        c.w.refresh_view(name.trim(), fast)?;
    }
    Ok(())
}
