//! Merge joins: both sides come in the order of the keys, and rows with equal keys are paired.
//!
//! The right rows of one key are kept while left rows have it; more than fit into memory go to temporary space. With a
//! range they are in the order of its expression, so that those that meet it lie together: in memory they are found by
//! bisection. Without keys, all right rows are of one key.

use super::Op;
use super::sort::encode_part;
use crate::code::{Builder, Code, Cond, all_true};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::spill::{Reader, TempFile, rows};
use plan::{CmpOp, JoinKey, JoinKind, KeyNulls, Reg};
use types::{Ora, Result};

pub struct MergeJoin {
    left: Op,
    right: Op,
    kind: JoinKind,
    left_keys: Vec<Code>,
    right_keys: Vec<Code>,
    range: Option<(CmpOp, Code, Code)>,
    residual: Vec<Cond>,
    right_regs: Vec<Reg>,
    /// The key of the last left row, and what it is compared with in the range.
    key: Vec<u8>,
    edge: Vec<u8>,
    /// The right row that was read last: its key and its record. None behind the last one.
    ahead_key: Vec<u8>,
    ahead: Vec<u8>,
    has_ahead: bool,
    started: bool,
    group: Group,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    NextLeft,
    /// In the rows of the group; whether one has matched.
    InGroup(bool),
    Done,
}

/// The right rows of one key. A record: the range's value, with its length before it, and the row's.
#[derive(Default)]
struct Group {
    key: Vec<u8>,
    is_there: bool,
    bytes: Vec<u8>,
    /// Where each record ends.
    ends: Vec<usize>,
    used: usize,
    file: Option<TempFile>,
    /// The next row, and behind the last one that may match.
    at: usize,
    until: usize,
    reader: Reader,
    record: Vec<u8>,
}

impl Group {
    fn get(&self, n: usize) -> &[u8] {
        &self.bytes[if n == 0 { 0 } else { self.ends[n - 1] }..self.ends[n]]
    }

    /// The value of the range of row `n`; none for NULL, which comes last.
    fn edge(&self, n: usize) -> Result<&[u8]> {
        rows::take_part(&mut self.get(n))
    }

    fn forget(&mut self, m: &mut Machine) {
        self.bytes.clear();
        self.ends.clear();
        m.release(self.used);
        (self.used, self.file, self.is_there) = (0, None, false);
    }

    fn push(&mut self, record: &[u8], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(file) = &mut self.file {
            return file.push(record, cx);
        }
        let bytes = record.len() + 8;
        if self.used + bytes > cx.session.options.spill_bytes && !self.ends.is_empty() {
            let mut file = TempFile::new(&m.temporary, cx);
            for n in 0..self.ends.len() {
                file.push(self.get(n), cx)?;
            }
            file.push(record, cx)?;
            self.bytes = Vec::new();
            self.ends = Vec::new();
            m.release(std::mem::take(&mut self.used));
            self.file = Some(file);
            return Ok(());
        }
        m.charge(bytes, cx)?;
        self.used += bytes;
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

/// Whether a value stands in the relation to one of the right side that `op` names.
fn holds(left: &[u8], op: CmpOp, right: &[u8]) -> bool {
    match op {
        CmpOp::Lt => left < right,
        CmpOp::Le => left <= right,
        CmpOp::Gt => left > right,
        CmpOp::Ge => left >= right,
        CmpOp::Eq => left == right,
        CmpOp::Ne => left != right,
    }
}

impl MergeJoin {
    /// # Errors
    /// ORA-00600 for a kind or keys that a plan does not have here.
    #[expect(clippy::too_many_arguments, reason = "the parts of the plan's row source")]
    pub fn new(
        left: Op,
        right: Op,
        kind: JoinKind,
        keys: &[JoinKey],
        range: Option<(CmpOp, Code, Code)>,
        residual: Vec<Cond>,
        right_regs: &[Reg],
        b: &mut Builder<'_>,
    ) -> Result<MergeJoin> {
        let fits = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        let ranges = range.as_ref().is_none_or(|(op, ..)| !matches!(op, CmpOp::Eq | CmpOp::Ne));
        if !fits || !ranges || keys.iter().any(|key| key.padded || key.nulls != KeyNulls::Never) {
            return Err(Ora::internal("a merge join of another kind"));
        }
        let (left_keys, right_keys) = keys.iter().map(|key| (b.code(&key.left), b.code(&key.right))).unzip();
        Ok(MergeJoin {
            left,
            right,
            kind,
            left_keys,
            right_keys,
            range,
            residual,
            right_regs: right_regs.to_vec(),
            key: Vec::new(),
            edge: Vec::new(),
            ahead_key: Vec::new(),
            ahead: Vec::new(),
            has_ahead: false,
            started: false,
            group: Group::default(),
            state: State::Done,
        })
    }

    fn restart(&mut self, m: &mut Machine) {
        self.group.forget(m);
        self.key.clear();
        (self.started, self.has_ahead, self.state) = (false, false, State::NextLeft);
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.restart(m);
        self.left.open(m, cx)?;
        self.right.open(m, cx)
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.restart(m);
        self.left.rewind(m, cx)?;
        self.right.rewind(m, cx)
    }

    /// Reads the next right row that may match anything.
    fn read_right(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.has_ahead = false;
        while self.right.next(m, cx)? {
            self.ahead_key.clear();
            if !encode(&self.right_keys, &mut self.ahead_key, m, cx)? {
                continue;
            }
            let mut edge = std::mem::take(&mut self.edge);
            edge.clear();
            let ranged = match &self.range {
                Some((_, _, code)) => encode(std::slice::from_ref(code), &mut edge, m, cx)?,
                None => true,
            };
            self.ahead.clear();
            rows::put_part(&edge, &mut self.ahead);
            self.edge = edge;
            if !ranged {
                continue;
            }
            rows::encode(self.right_regs.iter().map(|&r| m.value(r)), &mut self.ahead);
            self.has_ahead = true;
            break;
        }
        Ok(())
    }

    /// Moves the right side on to the rows of the left row's key.
    fn find_group(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.group.is_there && self.group.key == self.key {
            return Ok(());
        }
        if !self.started {
            self.started = true;
            self.read_right(m, cx)?;
        }
        self.group.forget(m);
        while self.has_ahead && self.ahead_key < self.key {
            cx.check_cancel()?;
            self.read_right(m, cx)?;
        }
        self.group.key.clone_from(&self.key);
        self.group.is_there = true;
        while self.has_ahead && self.ahead_key == self.key {
            self.group.push(&self.ahead, m, cx)?;
            self.read_right(m, cx)?;
        }
        if let Some(file) = &mut self.group.file {
            file.finish(cx)?;
        }
        Ok(())
    }

    /// Sets the group's rows to those that may match the left row.
    fn choose(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.edge.clear();
        let ranged = match &self.range {
            Some((_, code, _)) => encode(std::slice::from_ref(code), &mut self.edge, m, cx)?,
            None => true,
        };
        let group = &mut self.group;
        (group.at, group.until, group.reader) = (0, group.ends.len(), Reader::default());
        if !ranged {
            group.until = 0;
            group.reader = group.file.as_ref().map_or_else(Reader::default, TempFile::end);
            return Ok(());
        }
        if let (Some((op, ..)), None) = (&self.range, &group.file) {
            // Rows from a place on, or up to one.
            let first = matches!(op, CmpOp::Gt | CmpOp::Ge);
            let (mut low, mut high) = (0, group.ends.len());
            while low < high {
                let middle = (low + high) / 2;
                if holds(&self.edge, *op, group.edge(middle)?) == first {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if first { group.until = low } else { group.at = low }
        }
        Ok(())
    }

    /// Puts the next row of the group that may match into its registers.
    fn next_in_group(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let group = &mut self.group;
        if let Some(file) = &group.file {
            while file.next(&mut group.reader, &mut group.record, cx)? {
                let mut record = &group.record[..];
                let edge = rows::take_part(&mut record)?;
                if self.range.as_ref().is_none_or(|(op, ..)| holds(&self.edge, *op, edge)) {
                    m.decode(&self.right_regs, &mut record)?;
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        if group.at >= group.until {
            return Ok(false);
        }
        let mut record = group.get(group.at);
        rows::take_part(&mut record)?;
        m.decode(&self.right_regs, &mut record)?;
        group.at += 1;
        Ok(true)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        loop {
            match self.state {
                State::Done => return Ok(false),
                State::NextLeft => {
                    if !self.left.next(m, cx)? {
                        self.state = State::Done;
                        continue;
                    }
                    cx.check_cancel()?;
                    let before = std::mem::take(&mut self.key);
                    if !encode(&self.left_keys, &mut self.key, m, cx)? {
                        self.key = before;
                        if matches!(self.kind, JoinKind::Left | JoinKind::Anti) {
                            return Ok(self.give_alone(m));
                        }
                        continue;
                    }
                    if self.key < before {
                        return Err(Ora::internal("rows of a merge join are not in order"));
                    }
                    self.find_group(m, cx)?;
                    self.choose(m, cx)?;
                    self.state = State::InGroup(false);
                }
                State::InGroup(found) => {
                    if !self.next_in_group(m, cx)? {
                        self.state = State::NextLeft;
                        if !found && matches!(self.kind, JoinKind::Left | JoinKind::Anti) {
                            return Ok(self.give_alone(m));
                        }
                        continue;
                    }
                    if !all_true(&self.residual, m, cx)? {
                        continue;
                    }
                    match self.kind {
                        JoinKind::Semi => self.state = State::NextLeft,
                        JoinKind::Anti => {
                            self.state = State::NextLeft;
                            continue;
                        }
                        _ => self.state = State::InGroup(true),
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn give_alone(&self, m: &mut Machine) -> bool {
        if self.kind == JoinKind::Left {
            m.nulls(&self.right_regs);
        }
        true
    }
}

/// Appends a key whose order is that of its values. False when a part is NULL.
fn encode(keys: &[Code], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    for code in keys {
        let r = code.eval(m, cx)?;
        if m.value(r).is_null() {
            return Ok(false);
        }
        encode_part(m, r, false, false, out);
    }
    Ok(true)
}
