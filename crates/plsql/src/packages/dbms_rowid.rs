//! DBMS_ROWID: the parts of a rowid. All rowids are extended ones.

use super::package::*;
use crate::world::World;
use types::{ObjectId, Rdba, Result, Rowid};

package! {
    "DBMS_ROWID",
    "package dbms_rowid is
       rowid_type_restricted constant integer := 0; rowid_type_extended constant integer := 1;
       rowid_is_valid constant integer := 0; rowid_is_invalid constant integer := 1;
       rowid_object_undefined constant integer := 0;
       rowid_convert_internal constant integer := 0; rowid_convert_external constant integer := 1;
       rowid_invalid exception; pragma exception_init(rowid_invalid, -1410);
       function rowid_create(rowid_type number, object_number number, relative_fno number, block_number number,
         row_number number) return rowid;
       procedure rowid_info(rowid_in rowid, rowid_type out number, object_number out number,
         relative_fno out number, block_number out number, row_number out number,
         ts_type_in varchar2 default 'SMALLFILE');
       function rowid_type(row_id rowid) return number;
       function rowid_object(row_id rowid) return number;
       function rowid_relative_fno(row_id rowid, ts_type_in varchar2 default 'SMALLFILE') return number;
       function rowid_block_number(row_id rowid, ts_type_in varchar2 default 'SMALLFILE') return number;
       function rowid_row_number(row_id rowid) return number;
       function rowid_to_absolute_fno(row_id rowid, schema_name varchar2, object_name varchar2) return number;
     end;";
    "ROWID_CREATE" 1 => rowid_create, "ROWID_INFO" 1 => rowid_info, "ROWID_TYPE" 1 => rowid_type,
    "ROWID_OBJECT" 1 => rowid_object, "ROWID_RELATIVE_FNO" 1 => rowid_relative_fno,
    "ROWID_BLOCK_NUMBER" 1 => rowid_block_number, "ROWID_ROW_NUMBER" 1 => rowid_row_number,
    "ROWID_TO_ABSOLUTE_FNO" 1 => rowid_to_absolute_fno,
}

/// The rowid in an argument; `None` for NULL.
fn rowid(a: &Args<'_>, at: usize) -> Result<Option<Rowid>> {
    match a.value(at) {
        Value::Null => Ok(None),
        Value::Rowid(rowid) => Ok(Some(*rowid)),
        _ => Err(Ora::new(1410)),
    }
}

/// Refuses the addresses of bigfile tablespaces, whose blocks have other numbers.
fn require_small(a: &Args<'_>, at: usize) -> Result<()> {
    let is_small = a.optional_text(at).is_none_or(|kind| kind.eq_ignore_ascii_case("SMALLFILE"));
    if is_small { Ok(()) } else { Err(Ora::unsupported()) }
}

/// A part of the rowid in the first argument.
fn part<W: World>(c: &Call<'_, W>, of: impl Fn(Rowid) -> u32) -> Run<Value> {
    Ok(rowid(&c.a, 0)?.map_or(Value::Null, |rowid| number(i64::from(of(rowid)))))
}

fn rowid_create<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [kind, object, file, block, row] = [0, 1, 2, 3, 4].map(|i| c.a.integer(i));
    if kind != Some(1) {
        return Err(Ora::unsupported().into());
    }
    let below = |n: Option<i64>, limit: i64| n.filter(|n| (0..limit).contains(n)).ok_or_else(|| Ora::new(1410));
    let (file, block) = (below(file, 1 << 10)?, below(block, 1 << 22)?);
    let obj = ObjectId(below(object, 1 << 32)? as u32);
    let slot = below(row, 1 << 16)? as u16;
    Ok(Value::Rowid(Rowid { obj, rdba: Rdba::new(file as u32, block as u32), slot }))
}

fn rowid_info<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_small(&c.a, 6)?;
    if let Some(rowid) = rowid(&c.a, 0)? {
        let parts = [1, rowid.obj.0, rowid.rdba.file(), rowid.rdba.block(), u32::from(rowid.slot)];
        (1..).zip(parts).for_each(|(at, part)| c.a.set(at, number(i64::from(part))));
    }
    Ok(())
}

fn rowid_type<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    part(c, |_| 1)
}

fn rowid_object<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    part(c, |rowid| rowid.obj.0)
}

fn rowid_relative_fno<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    require_small(&c.a, 1)?;
    part(c, |rowid| rowid.rdba.file())
}

fn rowid_block_number<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    require_small(&c.a, 1)?;
    part(c, |rowid| rowid.rdba.block())
}

fn rowid_row_number<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    part(c, |rowid| u32::from(rowid.slot))
}

/// Files have one number, also in their tablespace.
fn rowid_to_absolute_fno<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    part(c, |rowid| rowid.rdba.file())
}
