//! DBMS_STANDARD: the functions of triggers on schemas and the database, which also have names without the package.

use super::package::*;
use crate::datum::{Coll, CollData, CollInfo};
use crate::event::EventFacts;
use crate::world::World;
use std::rc::Rc;

package! {
    "DBMS_STANDARD",
    "package dbms_standard is
       type ora_name_list_t is table of varchar2(4000);
       function client_ip_address return varchar2;
       function database_name return varchar2;
       function des_encrypted_password(user varchar2 default null) return varchar2;
       function dictionary_obj_name return varchar2;
       function dictionary_obj_name_list(object_list out ora_name_list_t) return binary_integer;
       function dictionary_obj_owner return varchar2;
       function dictionary_obj_owner_list(owner_list out ora_name_list_t) return binary_integer;
       function dictionary_obj_type return varchar2;
       function grantee(user_list out ora_name_list_t) return binary_integer;
       function instance_num return binary_integer;
       function is_alter_column(column_name varchar2) return boolean;
       function is_creating_nested_table return boolean;
       function is_drop_column(column_name varchar2) return boolean;
       function is_servererror(errno binary_integer) return boolean;
       function login_user return varchar2;
       function partition_pos return binary_integer;
       function privilege_list(priv_list out ora_name_list_t) return binary_integer;
       function revokee(user_list out ora_name_list_t) return binary_integer;
       function server_error(position binary_integer) return binary_integer;
       function server_error_depth return binary_integer;
       function server_error_msg(position binary_integer) return varchar2;
       function server_error_num_params(position binary_integer) return binary_integer;
       function server_error_param(position binary_integer, param binary_integer) return varchar2;
       function sql_txt(sql_text out ora_name_list_t) return binary_integer;
       function sysevent return varchar2;
       function with_grant_option return boolean;
     end;";
    "CLIENT_IP_ADDRESS" 1 => |c| of_logon(c),
    "DATABASE_NAME" 1 => |c| context(c, "DB_NAME"),
    "DES_ENCRYPTED_PASSWORD" 1 => nothing,
    "DICTIONARY_OBJ_NAME" 1 => |c| text_of(c, |event| &event.object_name),
    "DICTIONARY_OBJ_NAME_LIST" 1 => |c| list_of(c, |event| vec![event.object_name.clone()]),
    "DICTIONARY_OBJ_OWNER" 1 => |c| text_of(c, |event| &event.object_owner),
    "DICTIONARY_OBJ_OWNER_LIST" 1 => |c| list_of(c, |event| vec![event.object_owner.clone()]),
    "DICTIONARY_OBJ_TYPE" 1 => |c| text_of(c, |event| &event.object_type),
    "GRANTEE" 1 => |c| list_of(c, |event| event.grantees.clone()),
    "INSTANCE_NUM" 1 => |c| context(c, "INSTANCE"),
    "IS_ALTER_COLUMN" 1 => |c| has(c, |event| &event.altered),
    "IS_CREATING_NESTED_TABLE" 1 => no,
    "IS_DROP_COLUMN" 1 => |c| has(c, |event| &event.dropped),
    "IS_SERVERERROR" 1 => is_servererror,
    "LOGIN_USER" 1 => |c| context(c, "SESSION_USER"),
    "PARTITION_POS" 1 => nothing,
    "PRIVILEGE_LIST" 1 => |c| list_of(c, |event| event.privileges.clone()),
    "REVOKEE" 1 => |c| list_of(c, |event| event.grantees.clone()),
    "SERVER_ERROR" 1 => server_error,
    "SERVER_ERROR_DEPTH" 1 => server_error_depth,
    "SERVER_ERROR_MSG" 1 => server_error_msg,
    "SERVER_ERROR_NUM_PARAMS" 1 => no_parameters,
    "SERVER_ERROR_PARAM" 1 => nothing,
    "SQL_TXT" 1 => sql_txt,
    "SYSEVENT" 1 => |c| text_of(c, |event| &event.name),
    "WITH_GRANT_OPTION" 1 => with_grant_option,
}

/// The other names of the functions whose name is not `ORA_` with that of the package.
const SYNONYMS: &[(&str, &str)] = &[
    ("ORA_DICT_OBJ_NAME", "DICTIONARY_OBJ_NAME"),
    ("ORA_DICT_OBJ_NAME_LIST", "DICTIONARY_OBJ_NAME_LIST"),
    ("ORA_DICT_OBJ_OWNER", "DICTIONARY_OBJ_OWNER"),
    ("ORA_DICT_OBJ_OWNER_LIST", "DICTIONARY_OBJ_OWNER_LIST"),
    ("ORA_DICT_OBJ_TYPE", "DICTIONARY_OBJ_TYPE"),
    ("ORA_NAME_LIST_T", "ORA_NAME_LIST_T"),
];

/// The member of DBMS_STANDARD that a name without a package means.
pub(super) fn member(name: &str) -> Option<&'static str> {
    let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == name).map(|(_, member)| *member);
    let own = || {
        let plain = name.strip_prefix("ORA_").unwrap_or(name);
        PACKAGE.subprograms.iter().find(|(member, _)| *member == plain).map(|(member, _)| *member)
    };
    synonym.or_else(own)
}

/// The longest part of a statement in the list of `sql_txt`, in bytes.
const PART_MAX: usize = 64;

fn event<W: World>(c: &Call<'_, W>) -> Rc<EventFacts> {
    c.w.event().unwrap_or_default()
}

fn text_of<W: World>(c: &mut Call<'_, W>, of: fn(&EventFacts) -> &String) -> Run<Value> {
    Ok(Value::text(of(&event(c)).as_str()))
}

fn context<W: World>(c: &mut Call<'_, W>, parameter: &str) -> Run<Value> {
    Ok(c.w.sys_context("USERENV", parameter)?)
}

fn of_logon<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    if event(c).name == "LOGON" { context(c, "IP_ADDRESS") } else { Ok(Value::Null) }
}

fn nothing<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::Null)
}

fn no<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::Boolean(false))
}

fn no_parameters<W: World>(_: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(0))
}

/// Returns a list in the first argument, and its length as the result; NULL for an empty one.
fn list_of<W: World>(c: &mut Call<'_, W>, of: fn(&EventFacts) -> Vec<String>) -> Run<Value> {
    let list: Vec<String> = of(&event(c)).into_iter().filter(|name| !name.is_empty()).collect();
    Ok(put_list(c, list))
}

fn put_list<W: World>(c: &mut Call<'_, W>, list: Vec<String>) -> Value {
    if list.is_empty() {
        return Value::Null;
    }
    let length = list.len() as i64;
    let info = Rc::new(CollInfo { element: Datum::default(), limit: None, kind: CollKind::Nested });
    let items = list.into_iter().map(|item| Some(Datum::Val(Value::text(item)))).collect();
    c.a.set_datum(0, Datum::Coll(Some(Rc::new(Coll { info, data: CollData::Dense(items) }))));
    number(length)
}

fn sql_txt<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let event = event(c);
    let mut rest = event.text.as_deref().unwrap_or_default();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let most = PART_MAX.min(rest.len());
        let end = (1..=most).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part.to_owned());
        rest = after;
    }
    Ok(put_list(c, parts))
}

fn has<W: World>(c: &mut Call<'_, W>, of: fn(&EventFacts) -> &Vec<String>) -> Run<Value> {
    let is_it = of(&event(c)).iter().any(|name| name.eq_ignore_ascii_case(c.a.text(0)));
    Ok(Value::Boolean(is_it))
}

fn with_grant_option<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::Boolean(event(c).with_grant_option))
}

fn is_servererror<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let code = c.a.integer(0).map(i64::unsigned_abs);
    Ok(Value::Boolean(event(c).errors().iter().any(|error| Some(u64::from(error.code())) == code)))
}

fn server_error_depth<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(event(c).errors().len() as i64))
}

/// The error at a position of the stack, from 1.
fn at_position<R>(position: Option<i64>, event: &EventFacts, of: impl FnOnce(&Ora) -> R) -> Option<R> {
    let at = usize::try_from(position?.checked_sub(1)?).ok()?;
    event.errors().get(at).map(|error| of(error))
}

/// 0 behind the end of the stack.
fn server_error<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let code = at_position(c.a.integer(0), &event(c), |error| i64::from(error.code()));
    Ok(number(code.unwrap_or(0)))
}

fn server_error_msg<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let text = at_position(c.a.integer(0), &event(c), Ora::headline);
    Ok(text.map_or(Value::Null, Value::text))
}
