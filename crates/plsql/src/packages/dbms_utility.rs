//! DBMS_UTILITY.

use super::package::*;
use crate::machine::error_stack;
use crate::world::World;
use types::{Date, Region};

package! {
    "DBMS_UTILITY",
    "package dbms_utility is
       type uncl_array is table of varchar2(227) index by binary_integer;
       type lname_array is table of varchar2(4000) index by binary_integer;
       function get_time return number;
       function get_cpu_time return number;
       function format_error_stack return varchar2;
       function format_error_backtrace return varchar2;
       function format_call_stack return varchar2;
       function get_hash_value(name varchar2, base number, hash_size number) return number;
       procedure get_tz_transitions(regionid number, transitions out raw);
       procedure comma_to_table(list varchar2, tablen out binary_integer, tab out uncl_array);
       procedure exec_ddl_statement(parse_string varchar2);
       procedure db_version(version out varchar2, compatibility out varchar2);
     end;";
    "GET_TIME" 1 => get_time,
    "GET_CPU_TIME" 1 => get_cpu_time,
    "FORMAT_ERROR_STACK" 1 => format_error_stack,
    "FORMAT_ERROR_BACKTRACE" 1 => format_error_backtrace,
    "DB_VERSION" 1 => db_version,
    "FORMAT_CALL_STACK" 1 => format_call_stack,
    "GET_HASH_VALUE" 1 => get_hash_value,
    "GET_TZ_TRANSITIONS" 1 => get_tz_transitions,
    "COMMA_TO_TABLE" 1 => comma_to_table,
    "EXEC_DDL_STATEMENT" 1 => exec_ddl_statement,
}

fn get_time<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.hsecs() as i32 as i64))
}

fn get_cpu_time<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.cpu_hsecs() as i32 as i64))
}

fn format_error_stack<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.m.current_error() {
        Some(e) => Value::text(format!("{}\n", error_stack(e))),
        None => Value::Null,
    })
}

fn format_error_backtrace<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.m.current_error() {
        Some(_) => Value::text(c.m.backtrace.clone()),
        None => Value::Null,
    })
}

fn db_version<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (version, compatible) = (c.w.database_says("version")?, c.w.database_says("compatible")?);
    c.a.set(1, compatible);
    c.a.set(0, version);
    Ok(())
}

fn format_call_stack<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut text =
        String::from("----- PL/SQL Call Stack -----\n  object      line  object\n  handle    number  name\n");
    for (line, name) in c.m.call_stack() {
        text.push_str(&format!("{:>10}{line:>10}  {name}\n", "0x0"));
    }
    Ok(Value::text(text))
}

fn get_hash_value<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let hash =
        c.a.text(0).bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let size = c.a.integer(2).unwrap_or(1).max(1);
    Ok(number(c.a.integer(1).unwrap_or(0) + ((hash >> 1) as i64 % size)))
}

fn get_tz_transitions<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let region = c.a.integer(0).and_then(|n| u16::try_from(n).ok()).and_then(Region::numbered);
    c.a.set(1, Value::Raw(transitions(region.ok_or_else(|| Ora::new(1882))?)));
    Ok(())
}

fn comma_to_table<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let parts: Vec<Value> = c.a.text(0).split(',').map(|p| Value::text(p.trim())).collect();
    c.a.set(1, number(parts.len() as i64));
    c.a.0[2] = by_integer(parts.into_iter());
    Ok(())
}

fn exec_ddl_statement<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let text = c.a.text(0).to_string();
    c.w.execute_other(&text)?;
    Ok(())
}

/// The changes of a region's clock between 1800 and 2100 in the clients' form: their number in four bytes, and for each
/// its UTC time in seven bytes, the hours and minutes of the new offset, and whether it is summer time.
fn transitions(region: Region) -> Vec<u8> {
    let unix = |year| Date::from_ymd(year, 1, 1).map_or(0, |d| d.to_unix());
    let (first, last) = (unix(1800), unix(2100));
    let mut bytes = vec![0; 4];
    let (mut count, mut at) = (0u32, first);
    while at < last {
        let period = region.at(at);
        let date = Date::from_unix(at).unwrap_or(Date::UNIX_EPOCH);
        let minutes = period.offset / 60;
        bytes.extend_from_slice(&date.to_bytes());
        bytes.extend([(minutes / 60 + 20) as u8, (minutes % 60 + 60) as u8, u8::from(period.summer)]);
        count += 1;
        at = period.until;
    }
    bytes[..4].copy_from_slice(&count.to_be_bytes());
    bytes
}
