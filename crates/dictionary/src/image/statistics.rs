//! Statistics of tables, columns and column groups.

use super::picture::Image;
use crate::base::*;
use crate::rows::{Row, as_i64, as_text, as_u32, int, text};
use crate::statistics::{Endpoints, flags};
use crate::*;
use std::collections::HashMap;
use types::ObjectId;

impl Image {
    /// The statistics of all columns and column groups of an object, by INTCOL#.
    fn all_column_statistics(&self, object: u32) -> &[(u32, ColumnStatistics)] {
        if let Some(known) = self.column_statistics.get(&object) {
            return known;
        }
        let heads = self.rows(Base::HistHead, hist_head::OBJ, object);
        let mut endpoints: HashMap<u32, Endpoints> = HashMap::new();
        if !heads.is_empty() {
            self.note(self.moment.scan_by(Base::Histgrm, &[histgrm::OBJ], &[int(object)], &mut |row| {
                endpoints.entry(as_u32(&row[histgrm::COL])).or_default().add(row);
                Ok(())
            }));
        }
        let statistics = heads.iter().map(|row| {
            let column = as_u32(&row[hist_head::COL]);
            let code = as_i64(&row[hist_head::FLAGS]).unwrap_or(0) & flags::HISTOGRAM_KIND;
            let histogram = endpoints.remove(&column);
            let histogram = histogram.and_then(|endpoints| endpoints.finish(HistogramKind::read(code)));
            (column, statistics_rows::from_head(row, histogram))
        });
        let statistics = statistics.collect();
        self.column_statistics.insert(object, statistics)
    }

    /// The statistics of a dictionary table or fixed table, and the number under which its columns have their
    /// statistics.
    pub fn own_statistics(&self, name: &str) -> Option<&(u32, TableStatistics)> {
        if let Some(known) = self.own_statistics.get(name) {
            return known.as_ref();
        }
        let of_row = |row: Row| {
            let count = |at: usize| as_i64(&row[at]).unwrap_or(0);
            let blocks = count(tab_stats::BLKCNT) as u64;
            let bytes = as_u32(&row[tab_stats::AVGRLN]);
            (as_u32(&row[tab_stats::OBJ]), TableStatistics::new(count(tab_stats::ROWCNT) as u64, blocks, bytes))
        };
        let row = self.find_rows(Base::TabStats, &[tab_stats::NAME], &[text(name)]).pop();
        self.own_statistics.insert(name.to_owned(), Box::new(row.map(of_row))).as_ref()
    }

    /// Adds the statistics of such a table to its definition.
    pub(super) fn with_own_statistics(&self, name: &str, columns: &mut [ColumnDef]) -> Option<TableStatistics> {
        let (object, statistics) = self.own_statistics(name)?;
        for (number, column) in (1..).zip(columns) {
            column.statistics = self.column_statistics(ObjectId(*object), number).cloned();
        }
        Some(statistics.clone())
    }

    /// Adds the statistics of a fixed table to its definition. `V_$X` is `V$X`, and `GV$X` has one column before the
    /// others.
    pub(crate) fn with_fixed_statistics(&self, name: &str, columns: &mut [ColumnDef]) -> Option<TableStatistics> {
        let name = name.replacen("V_$", "V$", 1);
        match name.strip_prefix('G') {
            Some(of) if of.starts_with("V$") || of.starts_with("X$") => {
                self.with_own_statistics(of, columns.get_mut(1..)?)
            }
            _ => self.with_own_statistics(&name, columns),
        }
    }

    /// The system statistics that were gathered or set.
    pub fn system_statistics(&self) -> SystemStatistics {
        *self.system_statistics.get_or_init(|| {
            let mut statistics = SystemStatistics::default();
            self.each(Base::AuxStats, &mut |row| statistics.take(row));
            statistics
        })
    }

    /// The column groups of a table: INTCOL#, name, positions of columns.
    pub fn column_groups(&self, table: ObjectId) -> &[(u32, String, Vec<usize>)] {
        if let Some(known) = self.column_groups.get(&table.0) {
            return known;
        }
        let group = |row: &Row| {
            let columns = statistics_rows::group_columns(&row[stats_extension::COLUMNS]);
            (as_u32(&row[stats_extension::COL]), as_text(&row[stats_extension::NAME]).to_owned(), columns)
        };
        let rows = self.rows(Base::StatsExtension, stats_extension::OBJ, table.0);
        self.column_groups.insert(table.0, rows.iter().map(group).collect())
    }

    /// The statistics of a column, numbered from 1, or of a column group.
    pub fn column_statistics(&self, object: ObjectId, column: u32) -> Option<&ColumnStatistics> {
        let all = self.all_column_statistics(object.0);
        all.iter().find(|(number, _)| *number == column).map(|(_, statistics)| statistics)
    }

    pub(super) fn group_statistics(&self, table: ObjectId) -> Vec<ColumnGroup> {
        let known = |(number, name, columns): &(u32, String, Vec<usize>)| {
            let statistics = self.column_statistics(table, *number)?.clone();
            Some(ColumnGroup { name: name.clone(), columns: columns.clone(), statistics })
        };
        self.column_groups(table).iter().filter_map(known).collect()
    }
}
