//! Column groups: the extensions of DBMS_STATS.

use crate::method_opt::{self, Columns};
use crate::stats_store::delete_column;
use crate::work::{Work, by};
use dictionary::base::{Base, col_usage, stats_extension};
use dictionary::rows::{Row, as_u32, blank, int, text};
use dictionary::statistics::FIRST_GROUP;
use dictionary::{TableDef, statistics_rows};
use types::{ObjectId, Ora, Result, Value};

/// The number of a column, or INTCOL# of a column group.
pub fn column_number(work: &Work<'_>, table: ObjectId, name: &str) -> Result<u32> {
    let def = work.existing_table(table)?;
    if let Some((at, _)) = def.column(name) {
        return Ok(at as u32 + 1);
    }
    let group = work.image.column_groups(table).iter().find(|(_, group, _)| group == name);
    let failed = || Ora::user(20000, format!("column {name} does not exist or insufficient privileges"));
    group.map(|(number, ..)| *number).ok_or_else(failed)
}

pub fn no_column(name: &str) -> Ora {
    Ora::with(904, &[&format_args!("\"{name}\"")])
}

pub fn positions(table: &TableDef, names: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for name in names {
        let (at, column) = table.column(name).ok_or_else(|| no_column(name))?;
        if column.virtual_text.is_some() || positions.contains(&at) {
            return Err(Ora::user(20001, format!("Error when processing extension - column {name} cannot be used")));
        }
        positions.push(at);
    }
    if positions.len() < 2 {
        return Err(Ora::user(20001, "Error when processing extension - a group has at least two columns"));
    }
    Ok(positions)
}

/// The columns of an extension given as text: `(A,B)`. Expressions are ORA-03001.
pub fn extension_columns(table: &TableDef, columns: &str) -> Result<Vec<usize>> {
    let clauses = method_opt::parse(&format!("FOR COLUMNS {columns} SIZE 1")).map_err(|_| Ora::unsupported())?;
    match clauses.as_slice() {
        [(Columns::Named(names), _)] => positions(table, names),
        _ => Err(Ora::unsupported()),
    }
}

/// INTCOL# of the group with exactly these columns.
pub fn group_number(work: &mut Work<'_>, table: ObjectId, positions: &[usize]) -> Result<Option<u32>> {
    let rows = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, table))?;
    let same = |row: &&Row| {
        let columns = statistics_rows::group_columns(&row[stats_extension::COLUMNS]);
        columns.len() == positions.len() && positions.iter().all(|position| columns.contains(position))
    };
    Ok(rows.iter().find(same).map(|row| as_u32(&row[stats_extension::COL])))
}

pub fn group_name(table: &TableDef, positions: &[usize]) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
    let names: Vec<&str> = positions.iter().map(|at| table.columns[*at].name.as_str()).collect();
    let list = names.join("\",\"");
    let halves = [crate::distinct::hash(list.as_bytes()), crate::distinct::hash(format!("({list})").as_bytes())];
    let bits = u128::from(halves[0]) << 64 | u128::from(halves[1]);
    let digit = |n: u32| char::from(DIGITS[(bits >> (5 * n) & 31) as usize]);
    format!("SYS_STU{}", (0..23).map(digit).collect::<String>())
}

pub fn make_group(work: &mut Work<'_>, table: &TableDef, positions: &[usize]) -> Result<(u32, String)> {
    let name = group_name(table, positions);
    let rows = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, table.object))?;
    let last = rows.iter().map(|row| as_u32(&row[stats_extension::COL])).max().unwrap_or(FIRST_GROUP - 1);
    let numbers: Vec<String> = positions.iter().map(|at| (at + 1).to_string()).collect();
    let mut row = blank(Base::StatsExtension);
    row[stats_extension::OBJ] = int(table.object.0);
    row[stats_extension::COL] = int(last + 1);
    row[stats_extension::NAME] = text(name.as_str());
    row[stats_extension::COLUMNS] = text(numbers.join(","));
    row[stats_extension::CREATOR] = text("USER");
    work.change().insert(Base::StatsExtension, &row)?;
    work.touch(table.object);
    Ok((last + 1, name))
}

pub fn extension(work: &mut Work<'_>, object: ObjectId, columns: &str, create: bool) -> Result<String> {
    let table = work.existing_table(object)?;
    let positions = extension_columns(&table, columns)?;
    let found = group_number(work, object, &positions)?;
    match (found, create) {
        (Some(_), true) => Err(Ora::user(20007, format!("extension {columns} already exists in the table"))),
        (Some(number), false) => {
            let group = work.image.column_groups(object).iter().find(|(have, ..)| *have == number);
            Ok(group.map(|(_, name, _)| name.clone()).unwrap_or_default())
        }
        (None, true) => make_group(work, &table, &positions).map(|(_, name)| name),
        (None, false) => Err(Ora::user(20000, format!("extension {columns} does not exist"))),
    }
}

pub fn drop_extension(work: &mut Work<'_>, object: ObjectId, columns: &str) -> Result<()> {
    let table = work.existing_table(object)?;
    let positions = extension_columns(&table, columns)?;
    let Some(number) = group_number(work, object, &positions)? else {
        return Err(Ora::user(20000, format!("extension {columns} does not exist")));
    };
    delete_column(work, object, number, false)?;
    let mine = |row: &[Value]| as_u32(&row[stats_extension::COL]) == number;
    work.change().delete_by(Base::StatsExtension, by(stats_extension::OBJ, object).and(&mine))?;
    Ok(())
}

/// Deletes the statistics of a dropped column, and the groups that contain it.
///
/// # Errors
/// Those of changing the dictionary.
pub fn forget_column(work: &mut Work<'_>, object: ObjectId, position: usize) -> Result<()> {
    let rows = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, object))?;
    let with = |row: &&Row| statistics_rows::group_columns(&row[stats_extension::COLUMNS]).contains(&position);
    let groups: Vec<u32> = rows.iter().filter(with).map(|row| as_u32(&row[stats_extension::COL])).collect();
    let mine = |row: &[Value]| groups.contains(&as_u32(&row[stats_extension::COL]));
    work.change().delete_by(Base::StatsExtension, by(stats_extension::OBJ, object).and(&mine))?;
    for number in groups.iter().copied().chain([position as u32 + 1]) {
        delete_column(work, object, number, false)?;
    }
    let mine = |row: &[Value]| as_u32(&row[col_usage::COL]) == position as u32 + 1;
    work.change().delete_by(Base::ColUsage, by(col_usage::OBJ, object).and(&mine))?;
    Ok(())
}
