//! Texts of DBMS_METADATA: tables, their constraints and indexes.

use super::metadata_form::{Writer, sequence_options, texts};
use super::queries::quoted;
use crate::world::World;
use types::{Ora, Result};

/// A constraint as the dictionary has it.
struct Constraint {
    table: String,
    name: String,
    /// C, P, U or R.
    kind: String,
    condition: String,
    is_disabled: bool,
    is_generated: bool,
    is_validated: bool,
    deferral: String,
    columns: Vec<String>,
    /// Schema, table and columns of the key that it references, and the action of ON DELETE.
    references: Option<(String, String, Vec<String>, String)>,
}

impl Constraint {
    /// The column of a NOT NULL constraint.
    fn not_null(&self) -> Option<&str> {
        let is_check = self.kind == "C" && self.columns.len() == 1;
        let wanted = |column: &String| format!("\"{column}\" IS NOT NULL");
        self.columns.first().filter(|column| is_check && self.condition == wanted(column)).map(String::as_str)
    }
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
}

/// The columns of a constraint, in order.
fn columns_of<W: World>(w: &mut W, views: &str, owner: &str, name: &str) -> Result<Vec<String>> {
    let query = format!(
        "select column_name from sys.{views}_cons_columns where owner = {} and constraint_name = {} order by position, 1",
        quoted(owner),
        quoted(name)
    );
    Ok(texts(w, &query)?.into_iter().map(|mut row| row.swap_remove(0)).collect())
}

/// The constraints of tables that meet a condition: checks, keys, and then foreign keys.
fn constraints<W: World>(w: &mut W, writer: &Writer, schema: &str, condition: &str) -> Result<Vec<Constraint>> {
    let v = writer.views;
    let query = format!(
        "select table_name, constraint_name, constraint_type, search_condition, status, generated, validated, \
         deferrable, deferred, r_owner, r_constraint_name, delete_rule from sys.{v}_constraints where owner = {} and \
         {condition} and constraint_type in ('C', 'P', 'U', 'R') \
         order by decode(constraint_type, 'C', 1, 'P', 2, 'U', 3, 4), constraint_name",
        quoted(schema)
    );
    let mut all = Vec::new();
    for row in texts(w, &query)? {
        let columns = columns_of(w, v, schema, &row[1])?;
        let references = match row[2].as_str() {
            "R" => {
                // The key may be in a table that the views of the user do not show.
                let query = format!(
                    "select table_name from sys.{v}_constraints where owner = {} and constraint_name = {}",
                    quoted(&row[9]),
                    quoted(&row[10])
                );
                let table = texts(w, &query)?.into_iter().next().ok_or_else(Ora::unsupported)?;
                Some((row[9].clone(), table[0].clone(), columns_of(w, v, &row[9], &row[10])?, row[11].clone()))
            }
            _ => None,
        };
        let deferral = match (row[7].as_str(), row[8].as_str()) {
            ("DEFERRABLE", "DEFERRED") => " DEFERRABLE INITIALLY DEFERRED",
            ("DEFERRABLE", _) => " DEFERRABLE",
            _ => "",
        };
        all.push(Constraint {
            table: row[0].clone(),
            name: row[1].clone(),
            kind: row[2].clone(),
            condition: row[3].clone(),
            is_disabled: row[4] == "DISABLED",
            is_generated: row[5] == "GENERATED NAME",
            is_validated: row[6] == "VALIDATED",
            deferral: deferral.to_owned(),
            columns,
            references,
        });
    }
    Ok(all)
}

/// ENABLE or DISABLE, and whether the rows that were there are known to comply.
fn state(constraint: &Constraint) -> &'static str {
    match (constraint.is_disabled, constraint.is_validated) {
        (false, true) => "ENABLE",
        (false, false) => "ENABLE NOVALIDATE",
        (true, false) => "DISABLE",
        (true, true) => "DISABLE VALIDATE",
    }
}

/// CONSTRAINT with the name, unless the name was generated.
fn name_of(constraint: &Constraint) -> String {
    if constraint.is_generated { String::new() } else { format!("CONSTRAINT \"{}\" ", constraint.name) }
}

/// A constraint of a table, after its columns.
fn clause<W: World>(w: &mut W, writer: &Writer, schema: &str, constraint: &Constraint) -> Result<String> {
    let named = name_of(constraint);
    let (columns, deferral, state) = (list(&constraint.columns), &constraint.deferral, state(constraint));
    Ok(match (constraint.kind.as_str(), &constraint.references) {
        ("R", Some((owner, table, key, rule))) => {
            let rule = match rule.as_str() {
                "CASCADE" => " ON DELETE CASCADE",
                "SET NULL" => " ON DELETE SET NULL",
                _ => "",
            };
            format!(
                "{named}FOREIGN KEY ({columns}){}REFERENCES {} ({}){rule}{deferral} {state}",
                writer.line("\t  "),
                writer.named(owner, table),
                list(key)
            )
        }
        ("C", _) => format!("{named}CHECK ({}){deferral} {state}", constraint.condition),
        (kind, _) => {
            let word = if kind == "P" { "PRIMARY KEY" } else { "UNIQUE" };
            let index = match constraint.is_disabled {
                true => String::new(),
                false => {
                    let attributes = index_attributes(w, writer, schema, &constraint.name)?;
                    format!("{}USING INDEX {attributes} ", writer.line("  "))
                }
            };
            format!("{named}{word} ({columns}){deferral}{index}{}{state}", if index.is_empty() { " " } else { "" })
        }
    })
}

/// The attributes of the index of a key; empty if the key uses an index of another name.
fn index_attributes<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    if !writer.form.segment_attributes {
        return Ok(String::new());
    }
    let query = format!(
        "select pct_free, ini_trans, max_trans, tablespace_name from sys.{}_indexes where owner = {} and index_name = {}",
        writer.views,
        quoted(schema),
        quoted(name)
    );
    let found = texts(w, &query)?.into_iter().next();
    Ok(found.map_or_else(String::new, |row| {
        let tablespace = tablespace(writer, &row[3]);
        format!("PCTFREE {} INITRANS {} MAXTRANS {} {tablespace}", row[0], row[1], row[2])
    }))
}

fn tablespace(writer: &Writer, name: &str) -> String {
    match writer.form.tablespace && !name.is_empty() {
        true => format!("{}TABLESPACE \"{name}\" ", writer.line("  ")),
        false => String::new(),
    }
}

/// ALTER TABLE for each constraint of a table (`Ok`), or for the one with a name (`Err`).
pub(super) fn alter_constraints<W: World>(
    w: &mut W,
    writer: &Writer,
    schema: &str,
    of: std::result::Result<&str, &str>,
    references: bool,
) -> Result<String> {
    let condition = match of {
        Ok(table) => format!("table_name = {}", quoted(table)),
        Err(name) => format!("constraint_name = {}", quoted(name)),
    };
    let mut all = String::new();
    for constraint in constraints(w, writer, schema, &condition)? {
        if (constraint.kind == "R") != references {
            continue;
        }
        let (line, end) = (writer.line("  "), writer.end());
        let table = writer.named(schema, &constraint.table);
        match constraint.not_null() {
            Some(column) => all.push_str(&format!(
                "{line}ALTER TABLE {table} MODIFY (\"{column}\" {}NOT NULL{} {}){end}",
                name_of(&constraint),
                constraint.deferral,
                state(&constraint)
            )),
            None => {
                let clause = clause(w, writer, schema, &constraint)?;
                all.push_str(&format!("{line}ALTER TABLE {table} ADD {clause}{end}"));
            }
        }
    }
    Ok(all)
}

/// The type of a column, from its row of the view.
fn type_of(writer: &Writer, row: &[String]) -> String {
    let [_, ty, length, chars, used, precision, scale, ..] = row else { return String::new() };
    match ty.as_str() {
        "VARCHAR2" | "CHAR" if used == "C" => format!("{ty}({chars} CHAR)"),
        "VARCHAR2" | "CHAR" if writer.form.size_byte_keyword => format!("{ty}({length} BYTE)"),
        "VARCHAR2" | "CHAR" | "RAW" | "UROWID" => format!("{ty}({length})"),
        "NVARCHAR2" | "NCHAR" => format!("{ty}({chars})"),
        "NUMBER" => match (precision.as_str(), scale.as_str()) {
            ("", "") => "NUMBER".to_owned(),
            ("", scale) => format!("NUMBER(*,{scale})"),
            (precision, scale) => format!("NUMBER({precision},{})", if scale.is_empty() { "0" } else { scale }),
        },
        "FLOAT" => format!("FLOAT({precision})"),
        // The precision is behind a blank: TIMESTAMP (6), INTERVAL DAY (2) TO SECOND (6).
        _ if ty.starts_with("TIMESTAMP") || ty.starts_with("INTERVAL") => ty.replace('(', " ("),
        _ => ty.clone(),
    }
}

/// The clause of an identity column.
fn identity<W: World>(w: &mut W, writer: &Writer, of: &str, column: &str) -> Result<String> {
    let v = writer.views;
    let query = format!(
        "select to_char(s.min_value), to_char(s.max_value), to_char(s.increment_by), to_char(s.last_number), \
         s.cache_size, s.order_flag, s.cycle_flag, i.generation_type, i.identity_options from \
         sys.{v}_tab_identity_cols i, sys.{v}_sequences s where {of} and i.column_name = {} and s.sequence_owner = \
         i.owner and s.sequence_name = i.sequence_name",
        quoted(column)
    );
    let row = texts(w, &query)?.into_iter().next().ok_or_else(Ora::unsupported)?;
    let kind = if row[7] == "ALWAYS" { "ALWAYS" } else { "BY DEFAULT" };
    Ok(format!(" GENERATED {kind} AS IDENTITY {}", sequence_options(&row)))
}

/// CREATE TABLE; empty if the table does not exist.
pub(super) fn table<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    let v = writer.views;
    let of = format!("i.owner = {} and i.table_name = {}", quoted(schema), quoted(name));
    let query = format!(
        "select temporary, duration, iot_type, cluster_name, segment_created, pct_free, pct_used, ini_trans, max_trans, \
         compression, logging, tablespace_name, initial_extent, next_extent, min_extents, max_extents, partitioned \
         from sys.{v}_tables i where {of}"
    );
    let Some(about) = texts(w, &query)?.into_iter().next() else { return Ok(String::new()) };
    // A text that leaves out where the rows are would create another table.
    if !about[3].is_empty() || about[16] == "YES" || about[2].starts_with("IOT_") {
        return Err(Ora::unsupported());
    }
    let all = constraints(w, writer, schema, &format!("table_name = {}", quoted(name)))?;
    let columns = format!(
        "select column_name, data_type, data_length, char_length, char_used, data_precision, data_scale, data_default, \
         virtual_column, identity_column, default_on_null, hidden_column from sys.{v}_tab_cols i where {of} and \
         (hidden_column = 'NO' or column_name not like 'SYS\\_%' escape '\\') order by internal_column_id"
    );
    let mut items = Vec::new();
    for row in texts(w, &columns)? {
        let mut item = format!("\"{}\" {}", row[0], type_of(writer, &row));
        if row[11] == "YES" {
            item.push_str(" INVISIBLE");
        }
        if row[8] == "YES" {
            item.push_str(&format!(" GENERATED ALWAYS AS ({}) VIRTUAL ", row[7].trim_end()));
        } else if row[9] == "YES" {
            item.push_str(&identity(w, writer, &of, &row[0])?);
        } else if !row[7].is_empty() {
            let on_null = if row[10] == "YES" { " ON NULL" } else { "" };
            item.push_str(&format!(" DEFAULT{on_null} {}", row[7].trim_end()));
        }
        let own = all.iter().filter(|constraint| constraint.not_null() == Some(&row[0]));
        for constraint in own.filter(|_| writer.form.constraints && !writer.form.constraints_as_alter) {
            let (named, state) = (name_of(constraint), state(constraint));
            item.push_str(&format!(" {named}NOT NULL{} {state}", constraint.deferral));
        }
        items.push(item);
    }
    let mut altered = Vec::new();
    for constraint in all.iter().filter(|constraint| constraint.not_null().is_none()) {
        let is_wanted = match constraint.kind.as_str() {
            "R" => writer.form.constraints && writer.form.ref_constraints,
            _ => writer.form.constraints,
        };
        if is_wanted && !writer.form.constraints_as_alter {
            items.push(format!(" {}", clause(w, writer, schema, constraint)?));
        } else if is_wanted {
            altered.push(constraint.kind == "R");
        }
    }
    let is_temporary = about[0] == "Y";
    let word = if is_temporary { "CREATE GLOBAL TEMPORARY TABLE" } else { "CREATE TABLE" };
    let between = if writer.form.pretty { ", \n\t" } else { ", " };
    let mut text = format!(
        "{}{word} {} {}({}{}{}) ",
        writer.line("  "),
        writer.named(schema, name),
        writer.line("   "),
        if writer.form.pretty { "\t" } else { "" },
        items.join(between),
        writer.line("   "),
    );
    if is_temporary {
        let rows = if about[1] == "SYS$SESSION" { "PRESERVE" } else { "DELETE" };
        text.push_str(&format!("ON COMMIT {rows} ROWS "));
    } else {
        if about[2] == "IOT" {
            text.push_str("ORGANIZATION INDEX ");
        }
        text.push_str(&table_attributes(writer, &about));
    }
    text.push_str(writer.end());
    if writer.form.constraints && writer.form.constraints_as_alter {
        text.push_str(&alter_constraints(w, writer, schema, Ok(name), false)?);
        if writer.form.ref_constraints && altered.contains(&true) {
            text.push_str(&alter_constraints(w, writer, schema, Ok(name), true)?);
        }
    }
    Ok(text)
}

/// The physical attributes of a table.
fn table_attributes(writer: &Writer, about: &[String]) -> String {
    if !writer.form.segment_attributes {
        return String::new();
    }
    let line = writer.line("  ");
    let (is_created, is_heap) = (about[4] != "NO", about[2] != "IOT");
    let mut text = String::new();
    if is_heap {
        let when = if is_created { "IMMEDIATE" } else { "DEFERRED" };
        let used = if about[6].is_empty() { "40" } else { &about[6] };
        text.push_str(&format!("SEGMENT CREATION {when} {line}PCTFREE {} PCTUSED {used} ", about[5]));
    } else {
        text.push_str(&format!("{line}PCTFREE {} ", about[5]));
    }
    text.push_str(&format!("INITRANS {} MAXTRANS {} ", about[7], about[8]));
    if is_heap {
        let logging = if about[10] == "NO" { "NOLOGGING" } else { "LOGGING" };
        text.push_str(&format!("{}NOCOMPRESS {logging}", writer.line(" ")));
    }
    if is_created && writer.form.storage && !about[12].is_empty() {
        text.push_str(&storage(writer, &about[12..16]));
    }
    text.push_str(&tablespace(writer, &about[11]));
    text
}

/// STORAGE, from the initial and next extent and the least and largest number of extents.
fn storage(writer: &Writer, extents: &[String]) -> String {
    let line = writer.line("  ");
    let next = if extents[1].is_empty() { String::new() } else { format!(" NEXT {}", extents[1]) };
    format!(
        "{line}STORAGE(INITIAL {}{next} MINEXTENTS {} MAXEXTENTS {}{line}PCTINCREASE 0 FREELISTS 1 FREELIST GROUPS \
         1{line}BUFFER_POOL DEFAULT FLASH_CACHE DEFAULT CELL_FLASH_CACHE DEFAULT)",
        extents[0], extents[2], extents[3]
    )
}

/// CREATE INDEX for each index that meets a condition.
pub(super) fn indexes<W: World>(w: &mut W, writer: &Writer, condition: &str) -> Result<String> {
    let v = writer.views;
    let query = format!(
        "select i.owner, i.index_name, i.table_owner, i.table_name, i.uniqueness, i.pct_free, i.ini_trans, \
         i.max_trans, i.tablespace_name, i.visibility, i.initial_extent, i.next_extent, i.min_extents, i.max_extents, \
         i.index_type, i.status from sys.{v}_indexes i where {condition} and i.index_type in ('NORMAL', \
         'FUNCTION-BASED NORMAL', 'NORMAL/REV', 'FUNCTION-BASED NORMAL/REV') order by 1, 2"
    );
    let mut all = String::new();
    for row in texts(w, &query)? {
        let of = format!("c.index_owner = {} and c.index_name = {}", quoted(&row[0]), quoted(&row[1]));
        let columns = format!(
            "select c.column_name, c.descend, e.column_expression from sys.{v}_ind_columns c left join \
             sys.{v}_ind_expressions e on e.index_owner = c.index_owner and e.index_name = c.index_name and \
             e.column_position = c.column_position where {of} order by c.column_position"
        );
        let mut items = Vec::new();
        for column in texts(w, &columns)? {
            let item =
                if column[2].is_empty() { format!("\"{}\"", column[0]) } else { column[2].trim_end().to_owned() };
            items.push(if column[1] == "DESC" { format!("{item} DESC") } else { item });
        }
        let unique = if row[4] == "UNIQUE" { "UNIQUE " } else { "" };
        let line = writer.line("  ");
        all.push_str(&format!(
            "{line}CREATE {unique}INDEX {} ON {} ({}) ",
            writer.named(&row[0], &row[1]),
            writer.named(&row[2], &row[3]),
            items.join(", ")
        ));
        if row[14].ends_with("/REV") {
            all.push_str("REVERSE ");
        }
        if writer.form.segment_attributes {
            all.push_str(&format!("{line}PCTFREE {} INITRANS {} MAXTRANS {} ", row[5], row[6], row[7]));
            if row[9] == "INVISIBLE" {
                all.push_str("INVISIBLE ");
            }
            if writer.form.storage && !row[10].is_empty() {
                all.push_str(&storage(writer, &row[10..14]));
            }
            all.push_str(&tablespace(writer, &row[8]));
        }
        all.push_str(writer.end());
    }
    Ok(all)
}
