//! SMON_SCN_TIME: the mapping of SCNs to times that survives a restart.
//!
//! A row holds up to a hundred pairs of time and SCN. The first pair is stored as numbers. TIM_SCN_MAP holds all pairs
//! as hexadecimal differences from the first, in microseconds and SCNs. Pairs sampled after the last row was written
//! are lost when the instance dies; a time in that gap then maps to the SCN before it.

use crate::base::{Base, scn_time};
use crate::change::Change;
use crate::rows::text;
use crate::shared::DictionaryShared;
use process::Process;
use txn::{Moment, NoHook, Txn};
use types::{Date, Number, Result, Scn, Value};

/// Most pairs in a row.
const ROW_MOMENTS: usize = 100;

fn number(n: u64) -> Value {
    Value::Number(Number::from_i128(n.into()))
}

fn unsigned(v: &Value) -> u64 {
    match v {
        Value::Number(n) => n.to_i64().map_or(0, |n| n.max(0) as u64),
        _ => 0,
    }
}

fn row_of(moments: &[Moment]) -> Result<Vec<Value>> {
    let first = moments[0];
    let pair = |m: &Moment| format!("{:x},{:x}", m.time_us - first.time_us, m.scn.0 - first.scn.0);
    let map: Vec<String> = moments.iter().map(pair).collect();
    let scn = first.scn.0;
    Ok(vec![
        number(0),
        number(first.time_us),
        Value::Date(Date::from_unix((first.time_us / 1_000_000) as i64)?),
        number(scn >> 32),
        number(scn & 0xFFFF_FFFF),
        number(moments.len() as u64),
        text(map.join(" ")),
        number(scn),
        number(0),
    ])
}

/// Adds the pairs of a row; a pair that cannot be decoded ends them.
fn moments_of(row: &[Value], to: &mut Vec<Moment>) {
    let (time_us, scn) = (unsigned(&row[scn_time::TIME_MP]), unsigned(&row[scn_time::SCN]));
    let Value::Text(map) = &row[scn_time::TIM_SCN_MAP] else { return };
    let pair = |p: &str| {
        let (t, s) = p.split_once(',')?;
        let (t, s) = (u64::from_str_radix(t, 16).ok()?, u64::from_str_radix(s, 16).ok()?);
        Some(Moment { time_us: time_us.checked_add(t)?, scn: Scn(scn.checked_add(s)?) })
    };
    to.extend(map.split(' ').map_while(pair));
}

impl DictionaryShared {
    /// Adds the saved pairs to the instance's map, in order. Called at start-up.
    ///
    /// # Errors
    /// Those of reading.
    pub fn load_moments(&self, p: &Process) -> Result<()> {
        let mut all = Vec::new();
        self.scan_once(p, Base::ScnTime, &mut |_, row| {
            moments_of(row, &mut all);
            Ok(())
        })?;
        all.sort_by_key(|m| m.time_us);
        let times = self.txns().times();
        for m in all {
            times.note(m);
        }
        Ok(())
    }

    /// Saves pairs in ascending order and deletes those before `forget_us`. Returns the SCN afterwards.
    ///
    /// # Errors
    /// Those of inserting rows.
    pub fn save_moments(&self, p: &Process, moments: &[Moment], forget_us: Option<u64>) -> Result<Scn> {
        let mut txn = Txn::new();
        let mut change = Change::new(self, p, &mut txn);
        let mut save = || {
            for some in moments.chunks(ROW_MOMENTS) {
                change.insert(Base::ScnTime, &row_of(some)?)?;
            }
            match forget_us {
                Some(before) => {
                    change.delete(Base::ScnTime, &|row| unsigned(&row[scn_time::TIME_MP]) < before).map(|_| ())
                }
                None => Ok(()),
            }
        };
        match save() {
            Ok(()) => self.txns().commit(p, &mut txn, &NoHook).map(|_| self.txns().current_scn()),
            Err(e) => {
                self.txns().rollback(p, &mut txn)?;
                Err(e)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back_from_a_row_and_a_damaged_row_gives_fewer() {
        let all: Vec<Moment> = (0..100)
            .map(|i| Moment { time_us: 1_700_000_000_000_000 + i * 3_000_123, scn: Scn(5_000 + i * i) })
            .collect();
        let mut row = row_of(&all).unwrap();
        let Value::Text(map) = &row[scn_time::TIM_SCN_MAP] else { panic!() };
        assert!(map.len() < 4000);
        let mut back = Vec::new();
        moments_of(&row, &mut back);
        assert_eq!(back, all);
        row[scn_time::TIM_SCN_MAP] = text("0,0 10,zz 20,2");
        back.clear();
        moments_of(&row, &mut back);
        assert_eq!(back, all[..1]);
    }
}
