//! SQLite in this process: a database in memory, statements prepared once by its cache. Decimals are floating-point
//! numbers there, dates are texts.

use crate::answer::{Cell, Rows};
use crate::data;
use crate::engine::{Engine, Failure, Memory};
use crate::text::{Kind, Query, Table, for_sqlite};
use rusqlite::types::{Value, ValueRef};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub struct Sqlite {
    database: rusqlite::Connection,
}

impl Sqlite {
    pub fn start(memory: Memory) -> Sqlite {
        let database = rusqlite::Connection::open_in_memory().expect("opens");
        let cache_kb = memory.buffers_mb * 1024;
        let set =
            format!("pragma case_sensitive_like = on; pragma temp_store = memory; pragma cache_size = -{cache_kb}");
        database.execute_batch(&set).expect("sets");
        database.set_prepared_statement_cache_capacity(64);
        Sqlite { database }
    }

    fn rows(&self, sql: &str) -> rusqlite::Result<Rows> {
        let mut statement = self.database.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut found = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = found.next()? {
            let cell = |at| match row.get_ref(at).expect("a column") {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(n) => Cell::Exact(n.to_string()),
                ValueRef::Real(x) => Cell::Float(x),
                ValueRef::Text(text) | ValueRef::Blob(text) => Cell::Text(String::from_utf8_lossy(text).to_string()),
            };
            all.push((0..columns).map(cell).collect());
        }
        Ok(all)
    }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn load(&mut self, tables: &[Table], rows: &Path) {
        for table in tables {
            let more = format!(", primary key ({})", table.key.join(", "));
            let create = table.create(
                |kind, _| match kind {
                    Kind::Whole => "integer".to_string(),
                    Kind::Decimal => "real".to_string(),
                    Kind::Date | Kind::Text => "text".to_string(),
                },
                &more,
            );
            self.database.execute_batch(&format!("{create}; begin")).expect("creates");
            let marks = vec!["?"; table.columns.len()].join(", ");
            let mut insert =
                self.database.prepare(&format!("insert into {} values ({marks})", table.name)).expect("prepares");
            for line in data::lines(rows, &table.name) {
                let values = line.split('|').zip(&table.columns).map(|(text, (_, kind, _))| match kind {
                    Kind::Whole => Value::Integer(text.parse().expect("a number")),
                    Kind::Decimal => Value::Real(text.parse().expect("a number")),
                    Kind::Date | Kind::Text => Value::Text(text.to_string()),
                });
                insert.execute(rusqlite::params_from_iter(values)).expect("inserts");
            }
            drop(insert);
            self.database.execute_batch("commit").expect("commits");
        }
        self.database.execute_batch("analyze").expect("analyses");
    }

    fn run(&mut self, query: &Query, timeout: Duration) -> Result<Rows, Failure> {
        let end = Instant::now() + timeout;
        let breaker = self.database.get_interrupt_handle();
        let (done, ended) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if ended.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
                breaker.interrupt();
            }
        });
        let result = self.rows(&for_sqlite(&query.sql));
        drop(done);
        watch.join().expect("no panic");
        let late = Instant::now() > end;
        result.map_err(|e| if late { Failure::Timeout } else { Failure::Error(e.to_string()) })
    }

    fn parse(&mut self, sql: &str, _: Duration) -> Result<(), Failure> {
        self.database.prepare(&for_sqlite(sql)).map(drop).map_err(|e| Failure::Error(e.to_string()))
    }

    fn process(&self) -> Option<u32> {
        None
    }
}
