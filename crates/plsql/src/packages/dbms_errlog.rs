//! DBMS_ERRLOG: tables for the rows of LOG ERRORS.

use super::package::*;
use super::sql_names::parts_of;
use crate::world::World;
use types::DataType;

package! {
    "DBMS_ERRLOG",
    "package dbms_errlog authid current_user is
       procedure create_error_log(dml_table_name varchar2, err_log_table_name varchar2 default null,
         err_log_table_owner varchar2 default null, err_log_table_space varchar2 default null,
         skip_unsupported boolean default false);
     end;";
    "CREATE_ERROR_LOG" 1 => create_error_log,
}

/// The characters of a table's name in the default name of its error log.
const NAME_MOST: usize = 25;

/// The type of a column of an error log for a column of this type; `None` for one that cannot be logged.
fn logged_as(ty: &DataType) -> Option<&'static str> {
    Some(match ty {
        DataType::Number { .. }
        | DataType::Float { .. }
        | DataType::BinaryFloat
        | DataType::BinaryDouble
        | DataType::Varchar2 { .. }
        | DataType::Char { .. }
        | DataType::Date
        | DataType::Timestamp { .. }
        | DataType::IntervalYm { .. }
        | DataType::IntervalDs { .. } => "varchar2(4000)",
        DataType::Nvarchar2 { .. } | DataType::Nchar { .. } => "nvarchar2(2000)",
        DataType::Raw { .. } => "raw(2000)",
        DataType::Rowid | DataType::Urowid => "urowid",
        _ => return None, // not a clause: LOBs and types of users
    })
}

fn create_error_log<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let named = parts_of(c.a.text(0)).filter(|name| name.link.is_none() && (1..=2).contains(&name.names.len()));
    let Some(named) = named else { return Err(Ora::new(942).into()) };
    let (owner, table) = match named.names.as_slice() {
        [owner, table] => (Some(owner.clone()), table.clone()),
        names => (None, names.first().cloned().unwrap_or_default()),
    };
    let columns = c.w.table_columns(owner.as_deref(), &table)?.ok_or_else(|| Ora::new(942))?;
    let to = match c.a.optional_text(1) {
        Some(name) => unquote(&name),
        None => format!("ERR$_{}", table.chars().take(NAME_MOST).collect::<String>()),
    };
    let to_owner = c.a.optional_text(2).map_or_else(|| c.w.schema(), |owner| unquote(&owner));
    let tablespace = c.a.optional_text(3).map(|name| unquote(&name));
    // A quotation mark would end the identifier inside the statement.
    if [Some(&to), Some(&to_owner), tablespace.as_ref()].into_iter().flatten().any(|name| name.contains('"')) {
        return Err(Ora::new(44003).into());
    }
    let unsupported: Vec<&str> =
        columns.iter().filter(|column| logged_as(&column.ty).is_none()).map(|column| column.name.as_str()).collect();
    if !unsupported.is_empty() && !c.a.flag(4) {
        let text = format!("Unsupported column type(s) found: {}", unsupported.join(" "));
        return Err(Ora::user(20069, text).into());
    }
    let mut text = format!(
        "create table \"{to_owner}\".\"{to}\" (ora_err_number$ number, ora_err_mesg$ varchar2(2000), \
         ora_err_rowid$ rowid, ora_err_optyp$ varchar2(2), ora_err_tag$ varchar2(2000)"
    );
    for column in &columns {
        if let Some(ty) = logged_as(&column.ty) {
            text.push_str(&format!(", \"{}\" {ty}", column.name));
        }
    }
    text.push(')');
    if let Some(tablespace) = tablespace {
        text.push_str(&format!(" tablespace \"{tablespace}\""));
    }
    c.w.execute_other(&text)?;
    Ok(())
}
