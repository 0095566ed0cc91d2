//! Statistics of tables without a row in TAB$: those of the dictionary, and fixed tables.
//!
//! All tables are counted before any statistics are stored, without the DD enqueue. The rows of a fixed table are those
//! at the moment of reading. Nothing is saved for RESTORE_TABLE_STATS. Changes of these tables are not counted, so it
//! is unknown whether their statistics are stale.

use crate::gather::{self, Figures, IndexFigures, Wanted};
use crate::histogram::Size;
use crate::stats_gather::{choose, sample};
use crate::stats_preferences::{changed, preference};
use crate::stats_store::store_index;
use crate::work::Work;
use crate::{method_opt, stats_store};
use dictionary::base::{Base, hist_head, histgrm, ind, tab_stats};
use dictionary::rows::{as_text, as_u32, blank, int, text};
use dictionary::statistics_request::{Gather, OwnTables};
use dictionary::statistics_rows::{head_row, histogram_rows};
use dictionary::{SystemPrivilege, TableDef};
use std::collections::HashSet;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

/// Whether the session may analyze objects of SYS.
pub fn may_analyze(work: &Work<'_>) -> bool {
    work.names.is_sysdba() || work.names.has(SystemPrivilege::AnalyzeAnyDictionary)
}

fn require(work: &Work<'_>, tables: OwnTables) -> Result<()> {
    if may_analyze(work) {
        return Ok(());
    }
    Err(Ora::user(
        20000,
        match tables {
            OwnTables::Dictionary => "Insufficient privileges to analyze an object in Dictionary Schema",
            OwnTables::Fixed => "Insufficient privileges to analyze an object in Fixed Objects",
        },
    ))
}

/// All tables of that kind, by name. A table whose rows differ between sessions has no statistics.
fn all(work: &Work<'_>, tables: OwnTables) -> Result<Vec<Rc<TableDef>>> {
    let mut all = match tables {
        OwnTables::Dictionary => {
            Base::ALL.iter().map(|base| work.image.base_table(*base)).collect::<Result<Vec<_>>>()?
        }
        OwnTables::Fixed => work.names.fixed_tables().collect(),
    };
    all.retain(|table| table.temporary.is_none());
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The figures of a counted table.
struct Counted {
    table: Rc<TableDef>,
    figures: Figures,
    blocks: u64,
    indexes: Vec<(ObjectId, IndexFigures)>,
}

/// Gathers the statistics of all tables of that kind, or of those without statistics.
///
/// # Errors
/// ORA-20000 without SYSDBA or ANALYZE ANY DICTIONARY, and for an invalid METHOD_OPT; ORA-20001 for a percentage out of
/// range; those of reading.
pub fn gather(work: &mut Work<'_>, tables: OwnTables, empty_only: bool, options: &Gather) -> Result<()> {
    require(work, tables)?;
    let mut wanted = Vec::new();
    for table in all(work, tables)? {
        if !(empty_only && table.statistics.is_some()) {
            let how = wanted_of(work, tables, &table, options)?;
            wanted.push((table, how));
        }
    }
    let cascade = options.cascade.unwrap_or(true);
    // Other sessions may run DDL meanwhile: none of these tables is dropped or changed.
    let counted = work.without_dd(&mut |work| {
        wanted.iter().map(|(table, wanted)| count(work, tables, table, wanted, cascade)).collect::<Result<Vec<_>>>()
    })?;
    store(work, tables, &counted)
}

/// The columns to count, and the sizes of their histograms.
fn wanted_of(work: &mut Work<'_>, tables: OwnTables, table: &TableDef, options: &Gather) -> Result<Wanted> {
    if tables == OwnTables::Fixed {
        let columns = vec![Some(Size::Buckets(1)); table.columns.len()];
        return Ok(Wanted { sample: gather::Sample::default(), columns, groups: Vec::new() });
    }
    let method = match &options.method {
        Some(method) => method.clone(),
        None => preference(work, table.object, "METHOD_OPT")?,
    };
    let mut columns = vec![None; table.columns.len()];
    for (clause, size) in method_opt::parse(&method)? {
        // Uses of the dictionary's columns are not recorded, so AUTO makes no histogram.
        let size = if size == Size::Auto { Size::Buckets(1) } else { size };
        choose(work, table, &clause, size, &mut columns, &mut Vec::new())?;
    }
    Ok(Wanted { sample: sample(work, table.object, options)?, columns, groups: Vec::new() })
}

fn count(
    work: &mut Work<'_>,
    tables: OwnTables,
    table: &Rc<TableDef>,
    wanted: &Wanted,
    cascade: bool,
) -> Result<Counted> {
    let table = Rc::clone(table);
    if tables == OwnTables::Fixed {
        let figures = gather::fixed(work, &table, wanted)?;
        return Ok(Counted { table, figures, blocks: 0, indexes: Vec::new() });
    }
    let figures = gather::table(work, &table, wanted)?;
    let parts = work.host.parts();
    let mut indexes = Vec::new();
    for index in table.indexes.iter().filter(|_| cascade) {
        indexes.push((index.object, gather::index(&parts, &table, index)?));
    }
    let blocks = stats_store::blocks(&parts, &table)?;
    Ok(Counted { table, figures, blocks, indexes })
}

/// Replaces the statistics of tables and of the counted columns.
fn store(work: &mut Work<'_>, tables: OwnTables, all: &[Counted]) -> Result<()> {
    let now = work.now;
    let (mut own, mut heads, mut endpoints) = (Vec::new(), Vec::new(), Vec::new());
    for Counted { table, figures, blocks, .. } in all {
        let object = match tables {
            OwnTables::Dictionary => table.object,
            // In the next version of the program the number in the catalog of fixed tables may stand for another table.
            OwnTables::Fixed => match work.image.own_statistics(&table.name) {
                Some((object, _)) => ObjectId(*object),
                None => work.host.parts().dict.shared().next_object(),
            },
        };
        let mut row = blank(Base::TabStats);
        row[tab_stats::OBJ] = int(object.0);
        row[tab_stats::NAME] = text(table.name.as_str());
        row[tab_stats::ROWCNT] = int(figures.rows as i64);
        row[tab_stats::BLKCNT] = int(*blocks as i64);
        row[tab_stats::AVGRLN] = int(figures.average_row_bytes as i64);
        row[tab_stats::SAMPLESIZE] = int(figures.sample as i64);
        row[tab_stats::ANALYZETIME] = Value::Date(now);
        row[tab_stats::STATFLAGS] = int(0);
        own.push(row);
        for (at, statistics) in &figures.columns {
            let number = *at as u32 + 1;
            heads.push(head_row(object, number, statistics, false, now));
            if let Some(histogram) = &statistics.histogram {
                let is_text = plan::class(&table.columns[*at].data_type) == plan::Class::Text;
                endpoints.extend(histogram_rows(object, number, histogram, is_text));
            }
        }
    }
    let names: HashSet<&str> = own.iter().map(|row| as_text(&row[tab_stats::NAME])).collect();
    work.change().delete(Base::TabStats, &|row| names.contains(as_text(&row[tab_stats::NAME])))?;
    let place = |row: &[Value], obj: usize, col: usize| (as_u32(&row[obj]), as_u32(&row[col]));
    let columns: HashSet<_> = heads.iter().map(|row| place(row, hist_head::OBJ, hist_head::COL)).collect();
    work.change().delete(Base::HistHead, &|row| columns.contains(&place(row, hist_head::OBJ, hist_head::COL)))?;
    work.change().delete(Base::Histgrm, &|row| columns.contains(&place(row, histgrm::OBJ, histgrm::COL)))?;
    for (base, rows) in [(Base::TabStats, &own), (Base::HistHead, &heads), (Base::Histgrm, &endpoints)] {
        work.change().insert_many(base, rows)?;
    }
    for (index, figures) in all.iter().flat_map(|counted| &counted.indexes) {
        store_index(work, *index, figures)?;
    }
    changed_all(work, tables, all.iter().map(|counted| counted.table.object))
}

/// Invalidates the cursors over tables of the dictionary as requested or preferred. Cursors over fixed tables have no
/// dependency on them, and keep their plans.
fn changed_all(work: &mut Work<'_>, tables: OwnTables, mut all: impl Iterator<Item = ObjectId>) -> Result<()> {
    match tables {
        OwnTables::Dictionary => all.try_for_each(|object| changed(work, object)),
        OwnTables::Fixed => Ok(()),
    }
}

/// Deletes the statistics of all tables of that kind, with those of their indexes.
///
/// # Errors
/// Those of [`gather`].
pub fn delete(work: &mut Work<'_>, tables: OwnTables) -> Result<()> {
    require(work, tables)?;
    let mut gone = Vec::new();
    for table in all(work, tables)? {
        if let Some((object, _)) = work.image.own_statistics(&table.name) {
            gone.push((table.object, *object));
        }
    }
    let objects: HashSet<u32> = gone.iter().map(|(_, object)| *object).collect();
    let places = [(Base::TabStats, tab_stats::OBJ), (Base::HistHead, hist_head::OBJ), (Base::Histgrm, histgrm::OBJ)];
    for (base, at) in places {
        work.change().delete(base, &|row| objects.contains(&as_u32(&row[at])))?;
    }
    if tables == OwnTables::Dictionary {
        let own = |row: &[Value]| objects.contains(&as_u32(&row[ind::BO]));
        work.change().update(Base::Ind, &own, &mut stats_store::clear_index)?;
    }
    changed_all(work, tables, gone.iter().map(|(object, _)| *object))
}
