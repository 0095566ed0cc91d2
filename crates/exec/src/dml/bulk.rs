//! UPDATE and DELETE over a full scan, a batch of rows at a time (E10, E22).
//!
//! The scan copies whole blocks and locates the wanted columns, the new values are computed as columns, and a row is
//! updated by the bytes that differ. If the values of a batch cannot be computed together, its rows are computed one
//! after the other by the code for registers, so that the error is that of the first wrong row.

use super::Writer;
use super::run::{DmlRun, Set, changed_row};
use crate::batch::column::{Column, NULL};
use crate::batch::{self, Batch, Expression, Node};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{Expr, Reg, Source};
use types::Result;

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
    /// rows' addresses, `values` the new values of the columns, in ascending order; of a DELETE none. `None` if the rows
    /// have to be found one by one.
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
            if by_key || !has_place {
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
