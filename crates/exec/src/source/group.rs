//! GROUP BY with grouping sets, and aggregation without GROUP BY.
//!
//! Groups are found by a hash of their key and returned in key order, so that subtotals follow their details, as with
//! Oracle's SORT GROUP BY ROLLUP.

use super::RowSource;
use super::fold::Fold;
use super::sort_keys::encode_part;
use crate::aggregate::{Acc, AggCode};
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::hash::KeyMap;
use crate::machine::{Held, Machine};
use crate::spill::limits::LEVELS_MAX;
use crate::spill::partition::{Division, level_of};
use crate::spill::sorter::Sorter;
use crate::spill::{Reader, rows};
use crate::work_area::Way;
use plan::{Agg, AggKind, Expr, Reg};
use types::sorting::sort_checked;
use types::{Number, Result, Value};

/// Memory of a group in addition to its key and values, and memory of an aggregate; written, an aggregate takes twelve
/// bytes.
const GROUP_BYTES: usize = 64;
const AGGREGATE_BYTES: usize = 96;

/// One input row of so many is sampled for its length.
const LOOKED_AT: u64 = 256;

struct GroupRow {
    key: Vec<u8>,
    set: usize,
    values: Vec<Value>,
    accs: Vec<Acc>,
}

pub struct Group<S> {
    input: S,
    keys: Vec<(Code, Reg)>,
    sets: Vec<Vec<usize>>,
    aggs: Vec<AggCode>,
    scalar: bool,
    groups: Vec<GroupRow>,
    at: usize,
    done: bool,
    /// Registers of the evaluated keys of the current row.
    key_regs: Vec<Reg>,
    /// Registers of an input row.
    regs: Vec<Reg>,
    /// Memory of the groups.
    held: Held,
    /// The finished groups in order, if they did not fit into memory.
    on_disk: Option<Sorter>,
    /// Aggregates computed from the bytes of a scan's rows.
    fold: Option<Fold>,
}

impl<S: RowSource> Group<S> {
    pub fn build(
        mut input: S,
        regs: Vec<Reg>,
        keys: &[(Expr, Reg)],
        sets: &[Vec<usize>],
        aggs: &[Agg],
        scalar: bool,
        b: &mut Builder<'_>,
    ) -> Group<S> {
        let aggs: Vec<AggCode> = aggs.iter().map(|a| AggCode::build(a, b)).collect();
        let fold = match input.as_scan() {
            Some((scan, watch)) if scalar => Fold::build(scan, &aggs, watch.is_some()),
            _ => None,
        };
        Group {
            input,
            keys: keys.iter().map(|(e, r)| (b.code(e), *r)).collect(),
            sets: sets.to_vec(),
            aggs,
            fold,
            scalar,
            groups: Vec::new(),
            at: 0,
            done: false,
            key_regs: Vec::new(),
            regs,
            held: Held::default(),
            on_disk: None,
        }
    }

    pub fn open(&mut self, m: &mut Machine) {
        self.held.release(m);
        self.groups.clear();
        self.on_disk = None;
        self.at = 0;
        self.done = false;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)?;
        if self.scalar {
            self.run_scalar(m, cx)?;
        } else {
            self.run_grouped(m, cx)?;
            sort_checked(&mut self.groups, |a, b| a.key.cmp(&b.key), &mut || cx.check_cancel())?;
        }
        self.done = true;
        Ok(())
    }

    fn run_scalar(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut accs: Vec<Acc> = self.aggs.iter().map(AggCode::start).collect();
        let folded = match (&mut self.fold, self.input.as_scan()) {
            (Some(fold), Some((scan, None))) => fold.run(scan, &self.aggs, &mut accs, m, cx)?,
            (Some(fold), Some((scan, Some(watch)))) => {
                // An additional accumulator counts the rows that pass.
                accs.extend(self.aggs.first().map(AggCode::start));
                let folded = fold.run(scan, &self.aggs, &mut accs, m, cx)?;
                accs.truncate(self.aggs.len());
                if folded {
                    let count = &mut m.watched[watch];
                    (count.rows, count.ends) = (count.rows + fold.rows(), count.ends + 1);
                }
                folded
            }
            _ => false,
        };
        if folded {
            // All rows have been added.
        } else if self.aggs.iter().all(AggCode::only_counts) {
            loop {
                let rows = self.input.pass(m, cx)?;
                if rows == 0 {
                    break;
                }
                accs.iter_mut().for_each(|acc| acc.count(rows));
            }
        } else {
            while self.input.next(m, cx)? {
                let mut grown = 0;
                for (agg, acc) in self.aggs.iter().zip(&mut accs) {
                    grown += agg.add_measured(acc, m, cx)?;
                }
                if grown > 0 {
                    self.held.charge(grown, m, cx)?;
                }
            }
        }
        self.groups.push(GroupRow { key: Vec::new(), set: 0, values: Vec::new(), accs });
        Ok(())
    }

    fn run_grouped(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut by_key: KeyMap<usize> = KeyMap::default();
        let mut division = None;
        let (mut rows, mut seen, mut bytes) = (0u64, 0u64, 0u64);
        while self.input.next(m, cx)? {
            self.absorb(0..self.sets.len(), &mut by_key, 0, &mut division, m, cx)?;
            rows += 1;
            if rows.is_multiple_of(LOOKED_AT) {
                (seen, bytes) = (seen + 1, bytes + self.row_bytes(m));
            }
        }
        // Every row goes to one group of each set.
        let written = bytes * rows / seen.max(1) * self.sets.len() as u64;
        // GROUP BY () returns a row for empty input.
        if self.groups.is_empty() && self.sets.iter().any(Vec::is_empty) && self.sets.len() == 1 {
            self.key_regs.clear();
            let group = self.new_group(0, Vec::new(), m);
            self.groups.push(group);
        }
        match division {
            Some(division) => self.finish_on_disk(division, written, m, cx),
            None => {
                let (used, records) = (self.held.bytes() as u64, self.groups.len() as u64);
                let in_memory = GROUP_BYTES as u64 - 8 + self.aggs.len() as u64 * (AGGREGATE_BYTES as u64 - 12);
                let sorted = used.saturating_sub(records * in_memory);
                cx.shared.areas.note(cx, used, 0, || (Way::Overflow { records, sorted }, written));
                Ok(())
            }
        }
    }

    /// Adds the current row to its groups in `sets`. If a new group does not fit into memory, its rows go to `later`.
    fn absorb(
        &mut self,
        sets: std::ops::Range<usize>,
        by_key: &mut KeyMap<usize>,
        level: u32,
        later: &mut Option<Division>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        self.key_regs.clear();
        for (code, _) in &self.keys {
            let r = code.eval(m, cx)?;
            self.key_regs.push(r);
        }
        let mut key = std::mem::take(&mut m.key);
        for set in sets {
            key.clear();
            self.encode(set, m, &mut key);
            let at = match by_key.get(&key) {
                Some(&at) => at,
                None => {
                    let more = key.len() * 2 + GROUP_BYTES + self.aggs.len() * AGGREGATE_BYTES;
                    if self.held.bytes() + more > cx.session.options.spill_bytes && level < LEVELS_MAX {
                        let division = later.get_or_insert_with(|| Division::new(level, &m.temporary, cx));
                        let mut record = (set as u16).to_le_bytes().to_vec();
                        rows::encode(self.regs.iter().map(|&r| m.value(r)), &mut record);
                        division.push(&key, &record, cx)?;
                        continue;
                    }
                    self.held.charge(more, m, cx)?;
                    by_key.insert(key.clone(), self.groups.len());
                    self.groups.push(self.new_group(set, key.clone(), m));
                    self.groups.len() - 1
                }
            };
            let accs = &mut self.groups[at].accs;
            let mut grown = 0;
            for (agg, acc) in self.aggs.iter().zip(accs) {
                grown += agg.add_measured(acc, m, cx)?;
            }
            if grown > 0 {
                self.held.charge(grown, m, cx)?;
            }
        }
        m.key = key;
        Ok(())
    }

    /// Finishes the groups in memory, then those of each partition of the deferred rows.
    fn finish_on_disk(
        &mut self,
        division: Division,
        written: u64,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let mut sorter = Sorter::new(&m.temporary);
        let (mut need, mut deepest) = (self.held.bytes() as u64, 0);
        self.finish_groups(&mut sorter, m, cx)?;
        let mut waiting = Vec::new();
        let mut next = Some(division);
        let mut record = Vec::new();
        loop {
            if let Some(division) = next.take() {
                let level = division.level;
                deepest = deepest.max(level + 1);
                waiting.extend(division.finish(cx)?.into_iter().filter(|p| p.records() > 0).map(|part| {
                    let level = level_of(&part, level);
                    (part, level)
                }));
            }
            let Some((part, level)) = waiting.pop() else { break };
            let (mut by_key, mut reader) = (KeyMap::default(), Reader::default());
            while part.next(&mut reader, &mut record, cx)? {
                let (set, mut row) = record.split_at(2);
                let set = usize::from(u16::from_le_bytes([set[0], set[1]]));
                m.decode(&self.regs, &mut row)?;
                self.absorb(set..set + 1, &mut by_key, level, &mut next, m, cx)?;
            }
            need += self.held.bytes() as u64;
            self.finish_groups(&mut sorter, m, cx)?;
        }
        sorter.finish(cx)?;
        let (records, (_, sorted)) = (sorter.pushed(), sorter.way());
        cx.shared.areas.note(cx, need, deepest.max(1), || (Way::Overflow { records, sorted }, written));
        self.on_disk = Some(sorter);
        Ok(())
    }

    /// Writes the groups in memory to `to` and clears them.
    fn finish_groups(&mut self, to: &mut Sorter, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut record = Vec::new();
        for mut group in std::mem::take(&mut self.groups) {
            record.clear();
            rows::encode(&group.values, &mut record);
            for (agg, acc) in self.aggs.iter().zip(&mut group.accs) {
                rows::encode([&result(agg, acc, &self.sets, group.set, cx)?], &mut record);
            }
            to.push(&group.key, &record, cx.session.options.spill_bytes, cx)?;
        }
        self.held.release(m);
        Ok(())
    }

    /// Bytes of the row in the registers when written.
    fn row_bytes(&self, m: &Machine) -> u64 {
        let mut record = Vec::new();
        rows::encode(self.regs.iter().map(|&r| m.value(r)), &mut record);
        record.len() as u64 + 6
    }

    /// The key of the current row in one grouping set: rolled-up columns sort after all values, and the set's number
    /// comes last.
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

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.done {
            self.run(m, cx)?;
        }
        if let Some(sorter) = &mut self.on_disk {
            let Some(mut record) = sorter.next(cx)? else { return Ok(false) };
            let outs = self.keys.iter().map(|(_, reg)| *reg).chain(self.aggs.iter().map(|agg| agg.out));
            for reg in outs {
                rows::decode(&mut record, &mut m.regs[reg as usize])?;
            }
            return Ok(true);
        }
        let Some(group) = self.groups.get_mut(self.at) else { return Ok(false) };
        self.at += 1;
        for ((_, reg), v) in self.keys.iter().zip(group.values.drain(..)) {
            m.put(*reg, v);
        }
        let set = group.set;
        for (agg, acc) in self.aggs.iter().zip(&mut group.accs) {
            let v = result(agg, acc, &self.sets, set, cx)?;
            m.put(agg.out, v);
        }
        Ok(true)
    }
}

/// The value of an aggregate for a group.
fn result(agg: &AggCode, acc: &mut Acc, sets: &[Vec<usize>], set: usize, cx: &mut ExecCtx<'_>) -> Result<Value> {
    Ok(match agg.kind {
        AggKind::Grouping | AggKind::GroupingId => grouping(&agg.keys, &sets[set]),
        AggKind::GroupId => group_id(sets, set),
        _ => acc.finish(agg, cx)?,
    })
}

/// GROUPING_ID: one bit a key, the first key highest; 1 where the key is rolled up.
fn grouping(keys: &[usize], set: &[usize]) -> Value {
    let bits = keys.iter().fold(0i64, |bits, k| bits << 1 | i64::from(!set.contains(k)));
    Value::Number(Number::from(bits))
}

/// GROUP_ID: the number of equal grouping sets before this one.
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
