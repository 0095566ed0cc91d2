//! DBMS_OUTPUT.

use super::package::*;
use crate::datum::{Coll, CollData, CollInfo};
use crate::world::World;
use std::rc::Rc;

package! {
    "DBMS_OUTPUT",
    "package dbms_output is
       type chararr is table of varchar2(32767) index by binary_integer;
       procedure enable(buffer_size integer default 20000);
       procedure disable;
       procedure put(a varchar2);
       procedure put_line(a varchar2);
       procedure new_line;
       procedure get_line(line out varchar2, status out integer);
       procedure get_lines(lines out chararr, numlines in out integer);
       procedure get_lines(lines out dbmsoutput_linesarray, numlines in out integer);
     end;";
    "ENABLE" 1 => enable,
    "DISABLE" 1 => disable,
    "PUT" 1 => put,
    "PUT_LINE" 1 => put_line,
    "NEW_LINE" 1 => new_line,
    "GET_LINE" 1 => get_line,
    "GET_LINES" 1 => get_lines, "GET_LINES" 2 => get_lines_array,
}

fn enable<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let limit = c.a.integer(0).map(|n| n.clamp(2000, 1_000_000) as usize);
    c.s.set_output(true, limit);
    Ok(())
}

fn disable<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.s.set_output(false, None);
    Ok(())
}

fn put<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.s.with_output(|o| o.put(c.a.text(0)))?;
    Ok(())
}

fn put_line<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.s.with_output(|o| o.put(c.a.text(0)).map(|()| o.new_line()))?;
    Ok(())
}

fn new_line<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.s.with_output(|o| o.new_line());
    Ok(())
}

fn get_line<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let line = c.s.with_output(|o| o.take());
    c.a.set(1, number(i64::from(line.is_none())));
    c.a.set(0, line.map_or(Value::Null, Value::text));
    Ok(())
}

fn get_lines<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let wanted = c.a.integer(1).unwrap_or(0).max(0) as usize;
    let lines = c.s.take_output(wanted);
    c.a.set(1, number(lines.len() as i64));
    let items = lines.into_iter().map(Value::text);
    c.a.0[0] = by_integer(items);
    Ok(())
}

fn get_lines_array<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let wanted = c.a.integer(1).unwrap_or(0).max(0) as usize;
    let lines = c.s.take_output(wanted);
    c.a.set(1, number(lines.len() as i64));
    let info = Rc::new(CollInfo { element: Datum::default(), limit: Some(i32::MAX as u32), kind: CollKind::Varray });
    let items = lines.into_iter().map(|line| Some(Datum::Val(Value::text(line)))).collect();
    c.a.set_datum(0, Datum::Coll(Some(Rc::new(Coll { info, data: CollData::Dense(items) }))));
    Ok(())
}
