//! Statistics tables of DBMS_STATS: CREATE_STAT_TABLE, EXPORT_… and IMPORT_….
//!
//! A table has Oracle's columns. Rows of type T are tables (C1 the table, C5 its owner, N1 rows, N2 blocks, N3 average
//! length, N4 sample), of type I indexes (C1 the index, N1 rows, N2 leaves, N3 keys, N4 and N5 blocks per key, N6
//! clustering factor, N7 levels, N8 sample), of type C columns (C4 the column, N1 distinct values, N2 density, N4
//! sample, N5 NULLs, N8 average length, R1 and R2 minimum and maximum; one row for each endpoint of a histogram: N9 its
//! kind, N10 and N11 the endpoint's number and value, N12 its repeat count, R3 its bytes). Exported statistics are read
//! from the views and written with the caller's privileges.

use super::args::unquote;
use super::queries::{quoted, rows};
use crate::world::World;
use dictionary::statistics::Endpoints;
use dictionary::statistics_request::{Imported, ImportedIndex, TableNamed};
use dictionary::{ColumnStatistics, HistogramKind};
use types::{Ora, Value};

/// The version of the layout.
const VERSION: u32 = 8;

const COLUMNS: &str = "statid varchar2(128), type char(1), version number, flags number, c1 varchar2(128), \
    c2 varchar2(128), c3 varchar2(128), c4 varchar2(128), c5 varchar2(128), c6 varchar2(128), n1 number, n2 number, \
    n3 number, n4 number, n5 number, n6 number, n7 number, n8 number, n9 number, n10 number, n11 number, n12 number, \
    n13 number, d1 date, t1 timestamp(6) with time zone, r1 raw(1000), r2 raw(1000), r3 raw(1000), ch1 varchar2(1000), \
    cl1 clob";

/// A statistics table, and one of its sets.
pub(super) struct StatTable {
    owner: String,
    table: String,
    id: Option<String>,
}

/// The part of a table's statistics to export or import.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// The table, its columns, and optionally its indexes.
    Table {
        indexes: bool,
    },
    Column(&'a str),
}

impl StatTable {
    pub fn new(owner: String, table: &str, id: Option<String>) -> StatTable {
        StatTable { owner, table: unquote(table), id }
    }

    fn name(&self) -> String {
        format!("\"{}\".\"{}\"", self.owner, self.table)
    }

    fn id(&self) -> String {
        self.id.as_ref().map_or("cast(null as varchar2(128))".to_owned(), |id| quoted(id))
    }

    fn is_its_set(&self) -> String {
        self.id.as_ref().map_or("statid is null".to_owned(), |id| format!("statid = {}", quoted(id)))
    }

    fn exists<W: World>(&self, w: &mut W) -> Result<bool, Ora> {
        let known = format!(
            "select 1 from sys.all_tables where owner = {} and table_name = {}",
            quoted(&self.owner),
            quoted(&self.table)
        );
        Ok(!rows(w, &known)?.is_empty())
    }

    fn require<W: World>(&self, w: &mut W) -> Result<(), Ora> {
        if self.exists(w)? {
            return Ok(());
        }
        let text = format!("statistics table {} does not exist or insufficient privileges", self.name());
        Err(Ora::user(20000, text))
    }

    pub fn create<W: World>(&self, w: &mut W, tablespace: Option<String>, temporary: bool) -> Result<(), Ora> {
        if self.exists(w)? {
            return Err(Ora::user(20002, format!("Unable to create table {}: already exists", self.table)));
        }
        let (kind, end) = match (temporary, tablespace) {
            (true, _) => ("global temporary table", " on commit preserve rows".to_owned()),
            (false, None) => ("table", String::new()),
            (false, Some(name)) => ("table", format!(" tablespace \"{}\"", unquote(&name))),
        };
        w.execute_other(&format!("create {kind} {} ({COLUMNS}){end}", self.name()))
    }

    pub fn drop<W: World>(&self, w: &mut W) -> Result<(), Ora> {
        if !self.exists(w)? {
            return Err(Ora::user(20001, format!("{} is an invalid identifier or does not exist", self.name())));
        }
        w.execute_other(&format!("drop table {}", self.name()))
    }

    fn run<W: World>(&self, w: &mut W, text: &str) -> Result<(), Ora> {
        let mut cursor = w.open_cursor(text, &[], false)?;
        let done = w.execute(&mut cursor);
        w.end_fetch(&mut cursor);
        done.map(drop)
    }

    /// Writes the statistics of a table, or a part of them; replaces those of the same set.
    pub fn export<W: World>(&self, w: &mut W, of: &TableNamed, part: Part<'_>) -> Result<(), Ora> {
        self.require(w)?;
        let (to, id, owner, table) = (self.name(), self.id(), quoted(&of.owner), quoted(&of.table));
        let its = format!("{} and c5 = {owner}", self.is_its_set());
        let (is_whole, column) = match part {
            Part::Table { .. } => (true, String::new()),
            Part::Column(column) => (false, quoted(column)),
        };
        if is_whole {
            self.run(w, &format!("delete from {to} where {its} and type = 'T' and c1 = {table}"))?;
            self.run(
                w,
                &format!(
                    "insert into {to} (statid, type, version, flags, c1, c5, n1, n2, n3, n4, d1) select {id}, 'T', \
                     {VERSION}, decode(user_stats, 'YES', 1, 0), table_name, owner, num_rows, blocks, avg_row_len, \
                     sample_size, last_analyzed from sys.all_tab_statistics where owner = {owner} and table_name = {table} \
                     and last_analyzed is not null"
                ),
            )?;
        }
        let one = |name: &str| if is_whole { String::new() } else { format!(" and {name} = {column}") };
        self.run(w, &format!("delete from {to} where {its} and type = 'C' and c1 = {table}{}", one("c4")))?;
        let kinds: String =
            HistogramKind::ALL.iter().map(|kind| format!(", '{}', {}", kind.name(), *kind as u8)).collect();
        self.run(
            w,
            &format!(
                "insert into {to} (statid, type, version, flags, c1, c4, c5, n1, n2, n4, n5, n8, n9, n10, n11, n12, d1, \
                 r1, r2, r3) select {id}, 'C', {VERSION}, decode(s.user_stats, 'YES', 1, 0), s.table_name, \
                 s.column_name, s.owner, s.num_distinct, s.density, s.sample_size, s.num_nulls, s.avg_col_len, \
                 decode(s.histogram{kinds}), h.endpoint_number, h.endpoint_value, h.endpoint_repeat_count, \
                 s.last_analyzed, s.low_value, s.high_value, h.endpoint_actual_value_raw from \
                 sys.all_tab_col_statistics s left join sys.all_tab_histograms h on h.owner = s.owner and \
                 h.table_name = s.table_name and h.column_name = s.column_name and s.histogram <> 'NONE' where \
                 s.owner = {owner} and s.table_name = {table} and s.last_analyzed is not null{}",
                one("s.column_name")
            ),
        )?;
        if let Part::Table { indexes: true } = part {
            for (owner, index) in indexes_of(w, of)? {
                self.export_index(w, &owner, &index)?;
            }
        }
        Ok(())
    }

    pub fn export_index<W: World>(&self, w: &mut W, owner: &str, index: &str) -> Result<(), Ora> {
        self.require(w)?;
        let (to, id, owner, index) = (self.name(), self.id(), quoted(owner), quoted(index));
        let its = self.is_its_set();
        self.run(w, &format!("delete from {to} where {its} and type = 'I' and c5 = {owner} and c1 = {index}"))?;
        self.run(
            w,
            &format!(
                "insert into {to} (statid, type, version, flags, c1, c5, n1, n2, n3, n4, n5, n6, n7, n8, d1) select {id}, \
                 'I', {VERSION}, decode(user_stats, 'YES', 1, 0), index_name, owner, num_rows, leaf_blocks, distinct_keys, \
                 avg_leaf_blocks_per_key, avg_data_blocks_per_key, clustering_factor, blevel, sample_size, last_analyzed \
                 from sys.all_ind_statistics where owner = {owner} and index_name = {index} and last_analyzed is not null"
            ),
        )
    }

    /// Reads the statistics of a table, or a part of them, from the set.
    pub fn read<W: World>(&self, w: &mut W, of: &TableNamed, part: Part<'_>) -> Result<Imported, Ora> {
        self.require(w)?;
        let (from, its) = (self.name(), format!("{} and c5 = {}", self.is_its_set(), quoted(&of.owner)));
        let table = quoted(&of.table);
        let mut found = Imported::default();
        if let Part::Table { .. } = part {
            let query = format!("select n1, n2, n3, n4 from {from} where {its} and type = 'T' and c1 = {table}");
            found.table = rows(w, &query)?.first().map(|row| [0, 1, 2, 3].map(|at| row.get(at).and_then(number)));
        }
        let one = match part {
            Part::Table { .. } => String::new(),
            Part::Column(column) => format!(" and c4 = {}", quoted(column)),
        };
        let query = format!(
            "select c4, n1, n2, n4, n5, n8, n9, r1, r2, n10, n11, n12, r3 from {from} where {its} and type = 'C' and \
             c1 = {table}{one} order by c4, n10"
        );
        let all = rows(w, &query)?;
        for rows in all.chunk_by(|a, b| a[0] == b[0]) {
            let Some(Value::Text(name)) = rows[0].first() else { continue };
            found.columns.push((name.clone(), column_of(rows)?));
        }
        if let Part::Table { indexes: true } = part {
            for (owner, index) in indexes_of(w, of)? {
                found.indexes.extend(self.read_index(w, &owner, &index)?);
            }
        }
        Ok(found)
    }

    pub fn read_index<W: World>(&self, w: &mut W, owner: &str, index: &str) -> Result<Option<ImportedIndex>, Ora> {
        self.require(w)?;
        let query = format!(
            "select n1, n2, n3, n4, n5, n6, n7 from {} where {} and c5 = {} and type = 'I' and c1 = {}",
            self.name(),
            self.is_its_set(),
            quoted(owner),
            quoted(index)
        );
        let figures = rows(w, &query)?.first().map(|row| std::array::from_fn(|at| row.get(at).and_then(number)));
        Ok(figures.map(|figures| ImportedIndex { owner: owner.to_owned(), index: index.to_owned(), figures }))
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => Some(n.to_f64()),
        _ => None,
    }
}

fn indexes_of<W: World>(w: &mut W, of: &TableNamed) -> Result<Vec<(String, String)>, Ora> {
    let query = format!(
        "select owner, index_name from sys.all_indexes where table_owner = {} and table_name = {} order by 1, 2",
        quoted(&of.owner),
        quoted(&of.table)
    );
    let named = |row: Vec<Value>| match row.as_slice() {
        [Value::Text(owner), Value::Text(index), ..] => Some((owner.clone(), index.clone())),
        _ => None,
    };
    Ok(rows(w, &query)?.into_iter().filter_map(named).collect())
}

/// Largest number of endpoints of a histogram, as made by gathering.
const ENDPOINTS_MAX: usize = 2048;

/// The statistics in the rows of a column.
fn column_of(rows: &[Vec<Value>]) -> Result<ColumnStatistics, Ora> {
    if rows.len() > ENDPOINTS_MAX {
        return Err(Ora::user(20001, format!("a histogram of {} endpoints; the most is {ENDPOINTS_MAX}", rows.len())));
    }
    let head = &rows[0];
    let count = |at: usize| number(&head[at]).unwrap_or(0.0).max(0.0) as u64;
    let raw = |value: &Value| match value {
        Value::Raw(bytes) => Some(bytes.clone().into()),
        _ => None,
    };
    let kind = HistogramKind::read(count(6) as i64);
    let mut endpoints = Endpoints::default();
    for row in rows.iter().filter(|row| !row[9].is_null()) {
        let value: Box<[u8]> = raw(&row[12]).unwrap_or_default();
        let figure = |at: usize| number(&row[at]).unwrap_or(0.0);
        endpoints.push(&value, figure(10), figure(9).max(0.0) as u64, figure(11).max(0.0) as u64);
    }
    Ok(ColumnStatistics {
        distinct: count(1),
        density: number(&head[2]).unwrap_or(0.0),
        sample: count(3),
        nulls: count(4),
        average_bytes: count(5) as u32,
        ends: raw(&head[7]).zip(raw(&head[8])),
        range: None,
        histogram: endpoints.finish(kind),
    })
}
