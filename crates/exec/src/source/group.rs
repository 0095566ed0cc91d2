//! GROUP BY with its grouping sets, and aggregation without GROUP BY.
//!
//! Groups are found by a hash of their key and given up in key order, so that sub-totals follow their details, as with Oracle's
//! SORT GROUP BY ROLLUP.

use super::Op;
use super::sort::encode_part;
use crate::aggregate::{Acc, AggCode};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::hash::KeyMap;
use crate::machine::Machine;
use plan::{Agg, AggKind, Expr, Reg, Source};
use types::{Number, Result, Value};

struct GroupRow {
    key: Vec<u8>,
    set: usize,
    values: Vec<Value>,
    accs: Vec<Acc>,
}

pub struct Group {
    input: Op,
    keys: Vec<(Code, Reg)>,
    sets: Vec<Vec<usize>>,
    aggs: Vec<AggCode>,
    scalar: bool,
    groups: Vec<GroupRow>,
    at: usize,
    done: bool,
    /// Registers the keys were evaluated into, for this row.
    key_regs: Vec<Reg>,
}

impl Group {
    pub fn build(
        input: &Source,
        keys: &[(Expr, Reg)],
        sets: &[Vec<usize>],
        aggs: &[Agg],
        scalar: bool,
        b: &mut Builder<'_>,
    ) -> Result<Group> {
        Ok(Group {
            input: Op::build(input, b)?,
            keys: keys.iter().map(|(e, r)| (b.code(e), *r)).collect(),
            sets: sets.to_vec(),
            aggs: aggs.iter().map(|a| AggCode::build(a, b)).collect(),
            scalar,
            groups: Vec::new(),
            at: 0,
            done: false,
            key_regs: Vec::new(),
        })
    }

    pub fn open(&mut self) {
        self.groups.clear();
        self.at = 0;
        self.done = false;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)?;
        if self.scalar {
            self.run_scalar(m, cx)?;
        } else {
            self.run_grouped(m, cx)?;
            self.groups.sort_by(|a, b| a.key.cmp(&b.key));
        }
        self.done = true;
        Ok(())
    }

    fn run_scalar(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut accs: Vec<Acc> = self.aggs.iter().map(AggCode::start).collect();
        while self.input.next(m, cx)? {
            for (agg, acc) in self.aggs.iter().zip(&mut accs) {
                agg.add(acc, m, cx)?;
            }
        }
        self.groups.push(GroupRow { key: Vec::new(), set: 0, values: Vec::new(), accs });
        Ok(())
    }

    fn run_grouped(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut by_key: KeyMap<usize> = KeyMap::default();
        let mut key = Vec::new();
        while self.input.next(m, cx)? {
            self.key_regs.clear();
            for (code, _) in &self.keys {
                let r = code.eval(m, cx)?;
                self.key_regs.push(r);
            }
            for set in 0..self.sets.len() {
                key.clear();
                self.encode(set, m, &mut key);
                let at = match by_key.get(&key) {
                    Some(&at) => at,
                    None => {
                        m.charge(key.len() * 2 + 64 + self.aggs.len() * 96, cx)?;
                        by_key.insert(key.clone(), self.groups.len());
                        self.groups.push(self.new_group(set, key.clone(), m));
                        self.groups.len() - 1
                    }
                };
                let accs = &mut self.groups[at].accs;
                for (agg, acc) in self.aggs.iter().zip(accs) {
                    agg.add(acc, m, cx)?;
                }
            }
        }
        // GROUP BY () has a row for no input too.
        if self.groups.is_empty() && self.sets.iter().any(Vec::is_empty) && self.sets.len() == 1 {
            self.key_regs.clear();
            let group = self.new_group(0, Vec::new(), m);
            self.groups.push(group);
        }
        Ok(())
    }

    /// The key of the current row in one grouping set: rolled-up parts come after all values, the set's number last.
    fn encode(&self, set: usize, m: &mut Machine, out: &mut Vec<u8>) {
        for (i, &r) in self.key_regs.iter().enumerate() {
            if self.sets[set].contains(&i) {
                encode_part(m, r, false, false, out);
            } else {
                out.push(3);
            }
        }
        if self.sets.len() > 1 {
            out.extend_from_slice(&(set as u16).to_be_bytes());
        }
    }

    fn new_group(&self, set: usize, key: Vec<u8>, m: &Machine) -> GroupRow {
        let value = |(i, &r): (usize, &Reg)| if self.sets[set].contains(&i) { m.value(r).clone() } else { Value::Null };
        let values = self.key_regs.iter().enumerate().map(value).collect();
        GroupRow { key, set, values, accs: self.aggs.iter().map(AggCode::start).collect() }
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.done {
            self.run(m, cx)?;
        }
        let Some(group) = self.groups.get_mut(self.at) else { return Ok(false) };
        self.at += 1;
        for ((_, reg), v) in self.keys.iter().zip(group.values.drain(..)) {
            m.put(*reg, v);
        }
        let set = group.set;
        for (agg, acc) in self.aggs.iter().zip(&mut group.accs) {
            let v = match agg.kind {
                AggKind::Grouping | AggKind::GroupingId => grouping(&agg.keys, &self.sets[set]),
                AggKind::GroupId => group_id(&self.sets, set),
                _ => acc.finish(agg, cx)?,
            };
            m.put(agg.out, v);
        }
        Ok(true)
    }
}

/// One bit a key, the first the highest: 1 where the key is rolled up.
fn grouping(keys: &[usize], set: &[usize]) -> Value {
    let bits = keys.iter().fold(0i64, |bits, k| bits << 1 | i64::from(!set.contains(k)));
    Value::Number(Number::from(bits))
}

/// How many equal grouping sets come before this one.
fn group_id(sets: &[Vec<usize>], set: usize) -> Value {
    let sorted = |s: &[usize]| {
        let mut s = s.to_vec();
        s.sort_unstable();
        s
    };
    let me = sorted(&sets[set]);
    let before = sets[..set].iter().filter(|s| sorted(s) == me).count();
    Value::Number(Number::from_u64(before as u64))
}
