//! DBMS_UTILITY.

use super::package::*;
use super::queries::{quoted, rows};
use super::sql_names::{parts_of, tokens_of};
use crate::machine::error_stack;
use crate::world::World;
use types::{Date, Region, Result};

package! {
    "DBMS_UTILITY",
    "package dbms_utility is
       type uncl_array is table of varchar2(227) index by binary_integer;
       type lname_array is table of varchar2(4000) index by binary_integer;
       type name_array is table of varchar2(30) index by binary_integer;
       type quoted_name_array is table of varchar2(32) index by binary_integer;
       type dblink_array is table of varchar2(128) index by binary_integer;
       type index_table_type is table of binary_integer index by binary_integer;
       type number_array is table of number index by binary_integer;
       type maxname_array is table of varchar2(32767) index by binary_integer;
       function get_time return number;
       function get_cpu_time return number;
       function format_error_stack return varchar2;
       function format_error_backtrace return varchar2;
       function format_call_stack return varchar2;
       function get_hash_value(name varchar2, base number, hash_size number) return number;
       procedure get_tz_transitions(regionid number, transitions out raw);
       procedure comma_to_table(list varchar2, tablen out binary_integer, tab out uncl_array);
       procedure comma_to_table(list varchar2, tablen out binary_integer, tab out lname_array);
       procedure table_to_comma(tab uncl_array, tablen out binary_integer, list out varchar2);
       procedure table_to_comma(tab lname_array, tablen out binary_integer, list out varchar2);
       procedure exec_ddl_statement(parse_string varchar2);
       procedure db_version(version out varchar2, compatibility out varchar2);
       procedure canonicalize(name varchar2, canon_name out varchar2, canon_len binary_integer);
       procedure name_tokenize(name varchar2, a out varchar2, b out varchar2, c out varchar2, dblink out varchar2,
         nextpos out binary_integer);
       procedure name_resolve(name varchar2, context number, schema out varchar2, part1 out varchar2,
         part2 out varchar2, dblink out varchar2, part1_type out number, object_number out number);
       procedure compile_schema(schema varchar2, compile_all boolean default true,
         reuse_settings boolean default false);
       function get_parameter_value(parnam varchar2, intval in out binary_integer, strval in out varchar2,
         listno binary_integer default 1) return binary_integer;
       function is_cluster_database return boolean;
       function current_instance return number;
       function port_string return varchar2;
       function is_bit_set(r raw, n number) return number;
       function get_endianness return number;
       function old_current_schema return varchar2;
       function old_current_user return varchar2;
       function make_data_block_address(file number, block number) return number;
       function data_block_address_file(dba number) return number;
       function data_block_address_block(dba number) return number;
     end;";
    "GET_TIME" 1 => get_time, "GET_CPU_TIME" 1 => get_cpu_time, "FORMAT_ERROR_STACK" 1 => format_error_stack,
    "FORMAT_ERROR_BACKTRACE" 1 => format_error_backtrace, "FORMAT_CALL_STACK" 1 => format_call_stack,
    "GET_HASH_VALUE" 1 => get_hash_value, "GET_TZ_TRANSITIONS" 1 => get_tz_transitions,
    "COMMA_TO_TABLE" 1 => comma_to_table, "COMMA_TO_TABLE" 2 => comma_to_table,
    "TABLE_TO_COMMA" 1 => table_to_comma, "TABLE_TO_COMMA" 2 => table_to_comma,
    "EXEC_DDL_STATEMENT" 1 => exec_ddl_statement, "DB_VERSION" 1 => db_version, "CANONICALIZE" 1 => canonicalize,
    "NAME_TOKENIZE" 1 => name_tokenize, "NAME_RESOLVE" 1 => name_resolve, "COMPILE_SCHEMA" 1 => compile_schema,
    "GET_PARAMETER_VALUE" 1 => get_parameter_value, "IS_CLUSTER_DATABASE" 1 => is_cluster_database,
    "CURRENT_INSTANCE" 1 => current_instance, "PORT_STRING" 1 => port_string, "IS_BIT_SET" 1 => is_bit_set,
    "GET_ENDIANNESS" 1 => get_endianness, "OLD_CURRENT_SCHEMA" 1 => old_current_schema,
    "OLD_CURRENT_USER" 1 => old_current_user, "MAKE_DATA_BLOCK_ADDRESS" 1 => make_data_block_address,
    "DATA_BLOCK_ADDRESS_FILE" 1 => data_block_address_file, "DATA_BLOCK_ADDRESS_BLOCK" 1 => data_block_address_block,
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
    let value = c.a.integer(1).unwrap_or(0).checked_add((hash >> 1) as i64 % size);
    Ok(number(value.ok_or_else(|| scalar::value_error(""))?))
}

fn get_tz_transitions<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let region = c.a.integer(0).and_then(|n| u16::try_from(n).ok()).and_then(Region::numbered);
    c.a.set(1, Value::Raw(transitions(region.ok_or_else(|| Ora::new(1882))?)));
    Ok(())
}

/// The elements are names; blanks stay around them, as in Oracle.
fn comma_to_table<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let parts: Vec<&str> = c.a.text(0).split(',').collect();
    if let Some(wrong) = parts.iter().find(|part| parts_of(part).is_none()) {
        return Err(Ora::user(20001, format!("comma-separated list invalid near {}", wrong.trim())).into());
    }
    let parts: Vec<Value> = parts.into_iter().map(Value::text).collect();
    c.a.set(1, number(parts.len() as i64));
    c.a.0[2] = by_integer(parts.into_iter());
    Ok(())
}

/// The elements from subscript 1 up to the first that is missing or NULL.
fn table_to_comma<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let mut parts: Vec<String> = Vec::new();
    if let Some(Datum::Coll(Some(table))) = c.a.datum(0) {
        while let Some(Datum::Val(Value::Text(part))) = table.at(parts.len() as i64 + 1) {
            parts.push(part.clone());
        }
    }
    c.a.set(1, number(parts.len() as i64));
    c.a.set(2, Value::text(parts.join(",")));
    Ok(())
}

fn exec_ddl_statement<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let text = c.a.text(0).to_string();
    c.w.execute_other(&text)?;
    Ok(())
}

/// A name in the form of the dictionary, cut to a length; of a qualified name each part is quoted.
fn canonicalize<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let name = parts_of(c.a.text(0)).filter(|name| name.link.is_none()).ok_or_else(|| scalar::value_error(""))?;
    let mut text = match name.names.as_slice() {
        [only] => only.clone(),
        parts => parts.iter().map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join("."),
    };
    let most = c.a.integer(2).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let cut = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(cut);
    c.a.set(1, Value::text(text));
    Ok(())
}

fn name_tokenize<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let name = tokens_of(c.a.text(0)).filter(|name| name.names.len() <= 3).ok_or_else(|| Ora::new(931))?;
    let end = name.end;
    let mut parts = name.names.into_iter();
    for at in 1..=3 {
        c.a.set(at, parts.next().map_or(Value::Null, Value::text));
    }
    c.a.set(4, name.link.map_or(Value::Null, Value::text));
    c.a.set(5, number(end as i64));
    Ok(())
}

/// NAME_RESOLVE: synonyms are followed. Types are 2 table, 4 view, 5 synonym, 6 sequence, 7 procedure, 8 function,
/// 9 package, 12 trigger, 13 type.
fn name_resolve<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let text = c.a.text(0).to_owned();
    let missing = || Ora::with(6564, &[&text]);
    let name = parts_of(&text).ok_or_else(missing)?;
    if name.link.is_some() {
        return Err(Ora::unsupported().into());
    }
    let schema = c.w.schema();
    let (first, rest) = name.names.split_first().ok_or_else(missing)?;
    // The first part is an object of the schema, a public synonym, or a schema.
    let mut tries = vec![(schema, first.clone(), rest), ("PUBLIC".to_owned(), first.clone(), rest)];
    if let Some((second, rest)) = rest.split_first() {
        tries.push((first.clone(), second.clone(), rest));
    }
    for (owner, object, rest) in tries {
        if let Some((owner, object, kind, id)) = resolve(c.w, owner, object)? {
            let part = match (kind, rest) {
                (9 | 13, [part]) => Some(part.clone()),
                (_, []) => None,
                _ => continue,
            };
            // A subprogram alone is part 2.
            let (part1, part2) = if matches!(kind, 7 | 8) { (None, Some(object)) } else { (Some(object), part) };
            c.a.set(2, Value::text(owner));
            c.a.set(3, part1.map_or(Value::Null, Value::text));
            c.a.set(4, part2.map_or(Value::Null, Value::text));
            c.a.set(5, Value::Null);
            c.a.set(6, number(kind));
            c.a.set(7, id);
            return Ok(());
        }
    }
    Err(missing().into())
}

/// Most synonyms that are followed.
const SYNONYMS_MAX: usize = 32;

/// Owner, name, type and number of an object, behind synonyms.
fn resolve<W: World>(w: &mut W, owner: String, name: String) -> Result<Option<(String, String, i64, Value)>> {
    let (mut owner, mut name) = (owner, name);
    for _ in 0..SYNONYMS_MAX {
        let query = format!(
            "select decode(object_type, 'TABLE', 2, 'VIEW', 4, 'SYNONYM', 5, 'SEQUENCE', 6, 'PROCEDURE', 7, \
             'FUNCTION', 8, 'PACKAGE', 9, 'TRIGGER', 12, 'TYPE', 13), object_id from sys.all_objects where owner = {} \
             and object_name = {} and object_type in ('TABLE', 'VIEW', 'SYNONYM', 'SEQUENCE', 'PROCEDURE', 'FUNCTION', \
             'PACKAGE', 'TRIGGER', 'TYPE')",
            quoted(&owner),
            quoted(&name)
        );
        let Some(row) = rows(w, &query)?.into_iter().next() else { return Ok(None) };
        let [Value::Number(kind), id] = row.as_slice() else { return Ok(None) };
        let kind = kind.as_i64().unwrap_or(0);
        if kind != 5 {
            return Ok(Some((owner, name, kind, id.clone())));
        }
        let query = format!(
            "select table_owner, table_name from sys.all_synonyms where owner = {} and synonym_name = {}",
            quoted(&owner),
            quoted(&name)
        );
        let Some(row) = rows(w, &query)?.into_iter().next() else { return Ok(None) };
        let [Value::Text(to), Value::Text(of)] = row.as_slice() else { return Ok(None) };
        (owner, name) = (to.clone(), of.clone());
    }
    Err(Ora::new(1775))
}

/// COMPILE_SCHEMA: errors of units stay in the views.
fn compile_schema<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let schema = c.a.text(0).to_owned();
    let all = !matches!(c.a.value(1), Value::Boolean(false));
    let which = if all { "1 = 1" } else { "status = 'INVALID'" };
    let query = format!(
        "select object_type, object_name from sys.all_objects where owner = {} and {which} and object_type in ('VIEW', \
         'PROCEDURE', 'FUNCTION', 'PACKAGE', 'PACKAGE BODY', 'TRIGGER', 'TYPE') order by decode(object_type, 'TYPE', 1, \
         'PACKAGE', 2, 'VIEW', 3, 4), object_name",
        quoted(&schema)
    );
    for row in rows(c.w, &query)? {
        let [Value::Text(kind), Value::Text(name)] = row.as_slice() else { continue };
        let (word, part) = match kind.strip_suffix(" BODY") {
            Some(word) => (word, " body"),
            None if kind == "PACKAGE" => (kind.as_str(), " specification"),
            None => (kind.as_str(), ""),
        };
        c.w.execute_other(&format!("alter {word} \"{schema}\".\"{name}\" compile{part}"))?;
    }
    Ok(())
}

/// GET_PARAMETER_VALUE: 0 for a number or a flag, 1 for a text. The caller must be allowed to read `v$parameter`.
fn get_parameter_value<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let name = c.a.text(0).to_lowercase();
    let query = format!("select value from v$parameter where name = {}", quoted(&name));
    let value = match rows(c.w, &query)?.into_iter().next().as_deref() {
        Some([Value::Text(text)]) => text.clone(),
        Some(_) => String::new(),
        None => return Err(Ora::user(20000, "get_parameter_value: invalid or unsupported parameter").into()),
    };
    let flag = match value.as_str() {
        "TRUE" => Some(1),
        "FALSE" => Some(0),
        text => text.parse::<i64>().ok(),
    };
    match flag {
        Some(n) => {
            c.a.set(1, number(n));
            Ok(number(0))
        }
        None => {
            c.a.set(1, number(value.len() as i64));
            c.a.set(2, Value::text(value));
            Ok(number(1))
        }
    }
}

fn is_cluster_database<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::Boolean(false))
}

fn current_instance<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.sys_context("USERENV", "INSTANCE")?)
}

fn port_string<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::text("x86_64/Linux 2.4.xx"))
}

/// Bits are counted from the last one, from 1.
fn is_bit_set<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (bytes, n) = (c.a.raw(0), c.a.integer(1).unwrap_or(0));
    let at = n.checked_sub(1).and_then(|at| usize::try_from(at).ok()).filter(|at| at / 8 < bytes.len());
    Ok(number(at.map_or(0, |at| i64::from(bytes[bytes.len() - 1 - at / 8] >> (at % 8) & 1))))
}

fn get_endianness<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(if cfg!(target_endian = "big") { 1 } else { 2 }))
}

fn old_current_schema<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::text(c.w.schema()))
}

fn old_current_user<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::text(c.w.user()))
}

/// Bits of the block's number in an address.
const BLOCK_BITS: u32 = 22;

fn make_data_block_address<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [file, block] = [0, 1].map(|i| c.a.integer(i).unwrap_or(0));
    if !(0..1 << 10).contains(&file) || !(0..1 << BLOCK_BITS).contains(&block) {
        return Err(scalar::value_error("").into());
    }
    Ok(number(file << BLOCK_BITS | block))
}

fn data_block_address_file<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.a.integer(0).unwrap_or(0) >> BLOCK_BITS & 0x3ff))
}

fn data_block_address_block<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.a.integer(0).unwrap_or(0) & ((1 << BLOCK_BITS) - 1)))
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
