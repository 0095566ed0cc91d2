//! The head of the report of the active session history: instance, period, number of samples.

use super::seen::{Filter, Seen};
use crate::Source;
use crate::doc::{Body, Cell, Section, Table, left, number};
use crate::text::table_text;
use types::{Result, Value};

/// Facts of the instance.
#[derive(Clone, Debug, Default)]
pub struct Header {
    pub database: String,
    pub instance: String,
    dbid: String,
    release: String,
    host: String,
    processors: f64,
    sga_bytes: u64,
    cache_bytes: u64,
    ring_bytes: u64,
}

impl Header {
    /// # Errors
    /// Those of the query.
    pub fn load(source: &mut dyn Source) -> Result<Header> {
        let sql = "select d.name, to_char(d.dbid), i.instance_name, i.version, i.host_name, \
                   (select max(o.value) from v$osstat o where o.stat_name = 'NUM_CPUS'), (select sum(s.value) from v$sga s), \
                   (select max(s.value) from v$sga s where s.name = 'Database Buffers'), (select a.total_size from v$ash_info a) \
                   from v$database d, v$instance i";
        let rows = source.query(sql, &[])?;
        let Some(row) = rows.first() else { return Ok(Header::default()) };
        let text = |n: usize| if let Value::Text(t) = &row[n] { t.to_string() } else { String::new() };
        let real = |n: usize| if let Value::Number(value) = &row[n] { value.to_f64() } else { 0.0 };
        Ok(Header {
            database: text(0),
            dbid: text(1),
            instance: text(2),
            release: text(3),
            host: text(4),
            processors: real(5),
            sga_bytes: real(6) as u64,
            cache_bytes: real(7) as u64,
            ring_bytes: real(8) as u64,
        })
    }

    /// The first section.
    pub fn section(&self, seen: &Seen, filter: &Filter) -> Section {
        let database = Table {
            columns: vec![
                left("DB Name", 12),
                number("DB Id", 12),
                left("Instance", 12),
                number("Inst Num", 8),
                left("Release", 11),
                left("RAC", 3),
                left("Host", 16),
            ],
            rows: vec![vec![
                Cell::text(&self.database),
                Cell::text(&self.dbid),
                Cell::text(&self.instance),
                Cell::Count(1),
                Cell::text(&self.release),
                Cell::text("NO"),
                Cell::text(&self.host),
            ]],
        };
        let memory = Table {
            columns: vec![
                number("CPUs", 4),
                number("SGA Size (M)", 14),
                number("Buffer Cache (M)", 18),
                number("ASH Buffer Size (M)", 20),
            ],
            rows: vec![vec![
                Cell::Count(self.processors as u64),
                Cell::Megabytes(self.sga_bytes),
                Cell::Megabytes(self.cache_bytes),
                Cell::Megabytes(self.ring_bytes),
            ]],
        };
        let tables = vec![database, memory, self.period(seen, filter)];
        let mut text = String::new();
        for table in &tables {
            table_text(table, &mut text);
            text.push('\n');
        }
        let summary = "This table displays the period and the samples of the report";
        Section { title: "ASH Report".into(), summary, notes: Vec::new(), body: Body::Verbatim { text, tables } }
    }

    fn period(&self, seen: &Seen, filter: &Filter) -> Table {
        let active: f64 = seen.samples.iter().map(|s| s.seconds).sum::<f64>() / seen.elapsed_s();
        let mut rows = vec![
            vec![Cell::text("Analysis Begin Time:"), Cell::text(&seen.begin)],
            vec![Cell::text("Analysis End Time:"), Cell::text(&seen.end)],
            vec![Cell::text("Elapsed Time (mins):"), Cell::Decimal(seen.elapsed_s() / 60.0, 2)],
            vec![Cell::text("Sample Count:"), Cell::Count(seen.samples.len() as u64)],
            vec![Cell::text("Average Active Sessions:"), Cell::Decimal(active, 2)],
            vec![Cell::text("Avg. Active Session per CPU:"), Cell::ratio(active, self.processors, 2)],
        ];
        let told = filter.told();
        let target = if told.is_empty() { "None specified".to_string() } else { told.join(" and ") };
        rows.push(vec![Cell::text("Report Target:"), Cell::text(target)]);
        Table { columns: vec![left("", 28), left("", 50)], rows }
    }
}
