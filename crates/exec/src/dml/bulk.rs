//! Rows updated or deleted in batches.
//!
//! UPDATE and DELETE find rows as of their snapshot, so changing the rows found earlier does not affect them.
//!
//! Over a full scan the rows are also found and computed in batches (E22): the scan copies whole blocks and locates the
//! wanted columns, the new values are computed as columns, and a row is updated by the bytes that differ. If the values
//! of a batch cannot be computed together, its rows are computed one after the other by the code for registers, so that
//! the error is that of the first wrong row.

use super::row::{DmlRun, Set, changed_row};
use super::writer::Writer;
use crate::batch::column::{Column, NULL};
use crate::batch::{self, Batch, Expression, Node};
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::Op;
use plan::{Expr, Reg, Source};
use txn::Snapshot;
use types::Result;

/// Most bytes of found rows for which a cursor keeps the memory.
const KEPT_MOST: usize = 64 << 10;

/// The rows of a statement, and what is computed of them.
pub struct Bulk {
    node: Box<dyn Node>,
    batch: Batch,
    /// The columns that expressions read, with their registers.
    reads: Vec<(usize, Reg)>,
    /// The new value of each changed column, in the order of the columns.
    values: Vec<Expression>,
}

/// The registers that an expression of the plan reads; false if it contains a subquery.
fn plain_regs<'p>(exprs: impl Iterator<Item = &'p Expr>, regs: &mut Vec<Reg>) -> bool {
    let mut plain = true;
    for e in exprs {
        e.walk(&mut |e| match &e.node {
            plan::Node::Reg(r) => regs.push(*r),
            plan::Node::Scalar(_)
            | plan::Node::Exists(_)
            | plan::Node::InSub { .. }
            | plan::Node::Quantified { .. } => plain = false,
            _ => {}
        });
    }
    plain
}

impl Bulk {
    /// The batches of a statement that changes the rows of `source` by their bytes. `rowid` is the register of the
    /// rows' addresses, `values` the new values of the columns, in ascending order; of a DELETE none. `None` if the
    /// rows have to be found one by one.
    pub fn build(
        source: &Source,
        rowid: Reg,
        values: &[(u16, &Expr, Code)],
        writer: &Writer,
        b: &mut Builder<'_>,
    ) -> Result<Option<Bulk>> {
        let Source::Scan(scan) = source else { return Ok(None) };
        let mut regs = Vec::new();
        // A batch has no register for the address of a row.
        if !plain_regs(scan.filter.iter().chain(values.iter().map(|v| v.1)), &mut regs) || regs.contains(&rowid) {
            return Ok(None);
        }
        let placed = match values.is_empty() {
            true => writer.key_columns(),
            false => values.iter().map(|v| v.0).collect(),
        };
        let Some(node) = batch::build_changing(source, &placed, &regs, b)? else { return Ok(None) };
        let all = node.regs().iter().copied().enumerate();
        let reads = all.filter(|(_, reg)| regs.contains(reg)).collect();
        let values = values.iter().map(|v| Expression::new(v.2.clone(), node.regs())).collect::<Option<Vec<_>>>();
        Ok(values.map(|values| Bulk { node, batch: Batch::default(), reads, values }))
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.node.open(m, cx)
    }

    /// Finds the next rows. False at the end.
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.node.next_batch(&mut self.batch, m, cx)
    }

    /// Bytes of memory that the rows found last take.
    pub fn used(&self) -> usize {
        self.batch.used()
    }

    /// Frees the memory of the rows found: a cursor that is kept has little of it.
    pub fn close(&mut self) {
        if self.batch.used() > KEPT_MOST {
            self.batch = Batch::default();
        }
    }

    /// The bytes of the rows found last.
    pub fn bytes(&self) -> &[u8] {
        &self.batch.arena
    }

    /// Notes the updates of the rows found last.
    pub fn note_updates(
        &mut self,
        writer: &mut Writer,
        sets: &[Set],
        columns: &[u16],
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let mut made = Some(Vec::with_capacity(self.values.len()));
        for value in &self.values {
            let column = value.column(&mut self.batch, m, cx);
            made = made.zip(column).map(|(mut all, column)| {
                all.push(column);
                all
            });
        }
        match made {
            Some(values) => self.note_values(writer, &values, columns, run, m, cx),
            None => self.note_one_by_one(writer, sets, columns, run, m, cx),
        }
    }

    fn note_values(
        &mut self,
        writer: &mut Writer,
        values: &[Column],
        columns: &[u16],
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Batch { places, arena, .. } = &self.batch;
        let by_key = writer.has_index_over(columns);
        for (n, row) in places.rows.iter().enumerate() {
            let has_place = places.spans.iter().all(|spans| spans[n].len != NULL);
            // The shortest rows may end in padding, which would stay behind the new values.
            let may_be_padded = row.len as usize <= heap::BODY_BYTES_MIN;
            if by_key || !has_place || may_be_padded {
                // The row becomes longer, or its entries are needed as well.
                for (value, column) in values.iter().zip(columns) {
                    value.put(n, arena, &mut m.regs[writer.new[usize::from(*column)] as usize])?;
                }
                let before = &arena[row.at as usize..][..row.len as usize];
                writer.rewrite_later(row.rowid, before, columns, m, cx)?;
            } else {
                writer.splice_later(row, arena, columns, |of| (places.spans[of][n], &values[of], n), m, cx)?;
            }
            run.changed_at(row.rowid);
        }
        Ok(())
    }

    fn note_one_by_one(
        &mut self,
        writer: &mut Writer,
        sets: &[Set],
        columns: &[u16],
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Batch { places, arena, columns: read, .. } = &self.batch;
        for (n, row) in places.rows.iter().enumerate() {
            for (slot, reg) in &self.reads {
                read[*slot].put(n, arena, &mut m.regs[*reg as usize])?;
            }
            changed_row(writer, &[], sets, m, cx)?;
            let before = &arena[row.at as usize..][..row.len as usize];
            writer.rewrite_later(row.rowid, before, columns, m, cx)?;
            run.changed_at(row.rowid);
        }
        Ok(())
    }

    /// Notes the deletions of the rows found last.
    pub fn note_deletions(&mut self, writer: &mut Writer, run: &mut DmlRun) {
        let Batch { places, arena, .. } = &self.batch;
        for (n, row) in places.rows.iter().enumerate() {
            writer.delete_found_later(row, |of| places.spans[of][n], arena);
            run.changed_at(row.rowid);
        }
    }
}

/// Notes the changes of a batch.
pub type Note<'a> = dyn FnMut(&mut Writer, &mut Bulk, &mut DmlRun, &mut Machine, &mut ExecCtx<'_>) -> Result<()> + 'a;

/// Changes rows batch by batch; `note` notes the changes of a batch. The changes noted before an error are made before
/// it is raised, because an error of an earlier row comes first.
pub fn each_batch(
    writer: &mut Writer,
    bulk: &mut Bulk,
    deleting: bool,
    (seen, run): (&Snapshot, &mut DmlRun),
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
    note: &mut Note<'_>,
) -> Result<()> {
    bulk.open(m, cx)?;
    while bulk.next(m, cx)? {
        let noted = note(writer, bulk, run, m, cx);
        writer.charge(bulk.used(), m, cx)?;
        if !writer.change_found(bulk.bytes(), deleting, seen, cx)? {
            run.restart = true;
            return Ok(());
        }
        noted?;
        cx.check_cancel()?;
    }
    writer.finish(cx)
}

/// Makes the scan of a statement's rows keep their bytes, and decode only the columns that its conditions and these
/// values read. False if the rows come from another source, or a subquery may read the columns; nothing was done then.
pub fn keep_bytes<'p>(
    source: &plan::Source,
    values: impl Iterator<Item = Option<&'p plan::Expr>>,
    op: &mut Op,
) -> bool {
    let (plan::Source::Scan(scan), Op::Scan(op)) = (source, op) else { return false };
    let (mut regs, mut plain) = (Vec::new(), true);
    let mut look = |e: &plan::Expr| {
        e.walk(&mut |e| match &e.node {
            plan::Node::Reg(r) => regs.push(*r),
            plan::Node::Scalar(_)
            | plan::Node::Exists(_)
            | plan::Node::InSub { .. }
            | plan::Node::Quantified { .. } => plain = false,
            _ => {}
        });
    };
    scan.filter.iter().for_each(&mut look);
    let all = values.map(|v| v.map(&mut look)).all(|v| v.is_some());
    all && plain && op.keep_bytes(&regs)
}
