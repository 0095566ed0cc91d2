//! Reads totals at both ends of a period.

use crate::Source;
use std::collections::BTreeMap;
use types::{Result, Value};

/// Totals at both ends under a name.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// The names of the figures' subject.
    pub key: Vec<String>,
    pub begin: Vec<u64>,
    pub end: Vec<u64>,
}

impl Ends {
    /// The increase of figure `n`.
    pub fn added(&self, n: usize) -> u64 {
        self.end.get(n).copied().unwrap_or(0).saturating_sub(self.begin.get(n).copied().unwrap_or(0))
    }

    /// The first name.
    pub fn name(&self) -> &str {
        self.key.first().map_or("", String::as_str)
    }
}

/// Reads totals at both ends.
pub(crate) struct Loader<'a> {
    pub(crate) source: &'a mut dyn Source,
    pub(crate) ends: [i64; 2],
    pub(crate) dbid: i64,
}

impl Loader<'_> {
    pub(crate) fn rows(&mut self, columns: &str, view: &str, snapshot: i64) -> Result<Vec<Vec<Value>>> {
        let sql = format!("select {columns} from dba_hist_{view} where snap_id = :1 and dbid = :2");
        self.source.query(&sql, &[Value::Number(snapshot.into()), Value::Number(self.dbid.into())])
    }

    /// The rows of a view at both ends, matched by their first `keys` columns, in the order of the end.
    pub(crate) fn ends(&mut self, keys: usize, columns: &str, view: &str) -> Result<Vec<Ends>> {
        let [begin, end] = self.ends;
        let mut before: BTreeMap<Vec<String>, Vec<u64>> = BTreeMap::new();
        for row in self.rows(columns, view, begin)? {
            before.insert(row[..keys].iter().map(text).collect(), row[keys..].iter().map(count).collect());
        }
        let rows = self.rows(columns, view, end)?;
        let row = |row: Vec<Value>| {
            let key: Vec<String> = row[..keys].iter().map(text).collect();
            let begin = before.get(&key).cloned().unwrap_or_default();
            Ends { key, begin, end: row[keys..].iter().map(count).collect() }
        };
        Ok(rows.into_iter().map(row).collect())
    }

    pub(crate) fn named(&mut self, columns: &str, view: &str) -> Result<BTreeMap<String, (u64, u64)>> {
        let rows = self.ends(1, columns, view)?;
        let pair = |e: Ends| (e.key[0].clone(), (e.begin.first().copied().unwrap_or(0), e.end[0]));
        Ok(rows.into_iter().map(pair).collect())
    }
}

pub(crate) fn text(v: &Value) -> String {
    match v {
        Value::Text(t) => t.clone(),
        Value::Number(n) => n.to_string(),
        _ => String::new(),
    }
}

pub(crate) fn count(v: &Value) -> u64 {
    match v {
        Value::Number(n) => n.to_i64().map_or_else(|_| n.to_f64().max(0.0) as u64, |n| u64::try_from(n).unwrap_or(0)),
        _ => 0,
    }
}

pub(crate) fn real(v: &Value) -> f64 {
    match v {
        Value::Number(n) => n.to_f64(),
        _ => 0.0,
    }
}
