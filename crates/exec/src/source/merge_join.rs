//! Merge joins: both inputs are sorted by the keys, and rows with equal keys are paired.
//!
//! The right rows of one key are buffered while left rows have the key; those that do not fit into memory go to
//! temporary space. With range conditions, the buffered rows are sorted by their range expressions, so that the rows
//! within the ranges of a left row are adjacent. In memory they are found by binary search. In temporary space, the
//! scan begins at the first row that matched the previous left row, as long as the left values rise, and ends at the
//! first row after the ranges. Without keys, all right rows have one key.

use super::RowSource;
use super::sort_keys::encode_part;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::eval::all_true;
use crate::machine::Machine;
use crate::spill::{Reader, Start, TempFile, rows};
use plan::{CmpOp, JoinKey, JoinKind, KeyNulls, Reg};
use types::{Ora, Result};

pub struct MergeJoin<S> {
    left: S,
    right: S,
    kind: JoinKind,
    left_keys: Vec<Code>,
    right_keys: Vec<Code>,
    ranges: Vec<Range>,
    residual: Vec<Cond>,
    right_regs: Vec<Reg>,
    /// The key of the last left row.
    key: Vec<u8>,
    /// Buffer for a right row's value of a range while its record is made.
    edge: Vec<u8>,
    /// Key and record of the right row read last; `None` after the last one.
    ahead_key: Vec<u8>,
    ahead: Vec<u8>,
    has_ahead: bool,
    started: bool,
    group: Group,
    state: State,
}

/// `left op right`, with `<`, `<=`, `>` or `>=`. The right values within a group ascend.
pub struct Range {
    pub op: CmpOp,
    pub left: Code,
    pub right: Code,
    /// The left row's value.
    edge: Vec<u8>,
    /// The previous left row's value, for a group in temporary space.
    before: Vec<u8>,
}

impl Range {
    pub fn new(op: CmpOp, left: Code, right: Code) -> Range {
        Range { op, left, right, edge: Vec::new(), before: Vec::new() }
    }

    /// Whether the matching rows are the first ones of a group; otherwise they are the last ones.
    fn takes_first(&self) -> bool {
        matches!(self.op, CmpOp::Gt | CmpOp::Ge)
    }

    /// Whether the condition holds for a right row's value.
    fn holds(&self, right: &[u8]) -> bool {
        let left = &self.edge[..];
        match self.op {
            CmpOp::Lt => left < right,
            CmpOp::Le => left <= right,
            CmpOp::Gt => left > right,
            CmpOp::Ge => left >= right,
            CmpOp::Eq => left == right,
            CmpOp::Ne => left != right,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    NextLeft,
    /// Reading the rows of the group; whether one has matched.
    InGroup(bool),
    Done,
}

/// The right rows of one key. A record has the values of the ranges, each after its length, then the row's values.
#[derive(Default)]
struct Group {
    key: Vec<u8>,
    is_there: bool,
    bytes: Vec<u8>,
    /// Where each record ends.
    ends: Vec<usize>,
    used: usize,
    file: Option<TempFile>,
    /// The next row, and the end of the rows that may match. In temporary space 0, and more than 0 if rows may match.
    at: usize,
    until: usize,
    reader: Reader,
    record: Vec<u8>,
    /// In temporary space: start of the rows that may match the following left rows.
    from: Start,
}

impl Group {
    fn get(&self, n: usize) -> &[u8] {
        &self.bytes[if n == 0 { 0 } else { self.ends[n - 1] }..self.ends[n]]
    }

    /// The value of row `n` for a range.
    fn edge(&self, n: usize, range: usize) -> Result<&[u8]> {
        let mut record = self.get(n);
        for _ in 0..range {
            rows::take_part(&mut record)?;
        }
        rows::take_part(&mut record)
    }

    fn forget(&mut self, m: &mut Machine) {
        self.bytes.clear();
        self.ends.clear();
        m.release(self.used);
        (self.used, self.file, self.is_there) = (0, None, false);
        // The reader's chunk belongs to the deleted file.
        self.reader = Reader::default();
        self.from = Start::default();
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

impl<S: RowSource> MergeJoin<S> {
    /// # Errors
    /// ORA-00600 for a kind or keys that cannot be merge joined.
    #[expect(clippy::too_many_arguments, reason = "the parts of the plan's row source")]
    pub fn new(
        left: S,
        right: S,
        kind: JoinKind,
        keys: &[JoinKey],
        ranges: Vec<Range>,
        residual: Vec<Cond>,
        right_regs: &[Reg],
        b: &mut Builder<'_>,
    ) -> Result<MergeJoin<S>> {
        let fits = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        let is_range = |range: &Range| !matches!(range.op, CmpOp::Eq | CmpOp::Ne);
        if !fits || !ranges.iter().all(is_range) || keys.iter().any(|key| key.padded || key.nulls != KeyNulls::Never) {
            return Err(Ora::internal("merge join of an unsupported kind"));
        }
        let (left_keys, right_keys) = keys.iter().map(|key| (b.code(&key.left), b.code(&key.right))).unzip();
        Ok(MergeJoin {
            left,
            right,
            kind,
            left_keys,
            right_keys,
            ranges,
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

    /// Reads the next right row that can match.
    fn read_right(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.has_ahead = false;
        while self.right.next(m, cx)? {
            self.ahead_key.clear();
            if !encode(&self.right_keys, &mut self.ahead_key, m, cx)? {
                continue;
            }
            self.ahead.clear();
            let mut ranged = true;
            for range in &self.ranges {
                self.edge.clear();
                ranged &= encode(std::slice::from_ref(&range.right), &mut self.edge, m, cx)?;
                rows::put_part(&self.edge, &mut self.ahead);
            }
            if !ranged {
                continue;
            }
            rows::encode(self.right_regs.iter().map(|&r| m.value(r)), &mut self.ahead);
            self.has_ahead = true;
            break;
        }
        Ok(())
    }

    /// Moves the right side to the rows with the left row's key.
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
            cx.check_cancel()?;
            self.group.push(&self.ahead, m, cx)?;
            self.read_right(m, cx)?;
        }
        if let Some(file) = &mut self.group.file {
            file.finish(cx)?;
        }
        Ok(())
    }

    /// Restricts the group to the rows that may match the left row.
    fn choose(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let group = &mut self.group;
        (group.at, group.until) = (0, 0);
        for range in &mut self.ranges {
            range.edge.clear();
            if !encode(std::slice::from_ref(&range.left), &mut range.edge, m, cx)? {
                // The condition is UNKNOWN for every row.
                return Ok(());
            }
        }
        if let Some(file) = &group.file {
            group.until = usize::MAX;
            for range in self.ranges.iter_mut().filter(|range| !range.takes_first()) {
                if range.edge < range.before {
                    group.from = Start::default();
                }
                range.before.clone_from(&range.edge);
            }
            return file.seek(&mut group.reader, group.from, cx);
        }
        group.until = group.ends.len();
        for (at, range) in self.ranges.iter().enumerate() {
            // Either the rows from a position on, or those before one.
            let first = range.takes_first();
            let (mut low, mut high) = (0, group.ends.len());
            while low < high {
                let middle = (low + high) / 2;
                if range.holds(group.edge(middle, at)?) == first {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if first { group.until = group.until.min(low) } else { group.at = group.at.max(low) }
        }
        Ok(())
    }

    /// Puts the next possibly matching row of the group into its registers.
    fn next_in_group(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let group = &mut self.group;
        if group.at >= group.until {
            return Ok(false);
        }
        let Some(file) = &group.file else {
            let mut record = group.get(group.at);
            for _ in &self.ranges {
                rows::take_part(&mut record)?;
            }
            m.decode(&self.right_regs, &mut record)?;
            group.at += 1;
            return Ok(true);
        };
        while file.next(&mut group.reader, &mut group.record, cx)? {
            let mut record = &group.record[..];
            let mut is_before = false;
            for range in &self.ranges {
                if range.holds(rows::take_part(&mut record)?) {
                    continue;
                }
                if range.takes_first() {
                    // No later row can match.
                    return Ok(false);
                }
                is_before = true;
            }
            if is_before {
                group.from = file.place(&group.reader);
                cx.check_cancel()?;
                continue;
            }
            m.decode(&self.right_regs, &mut record)?;
            return Ok(true);
        }
        Ok(false)
    }

    #[inline(never)]
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
                        cx.check_cancel()?;
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

/// Appends a key that sorts as its values do. False if a part is NULL.
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
