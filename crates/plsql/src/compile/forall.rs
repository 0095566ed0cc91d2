//! FORALL.

use super::compiler::{CResult, Compiler, Val};
use super::scope::*;
use super::symbols::TargetRef;
use crate::datum::Datum;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{self, ForAllBounds, Ident, Into, Pos, SqlKind, StatementKind};
use std::rc::Rc;

impl<W: World> Compiler<'_, W> {
    pub(super) fn forall(
        &mut self,
        variable: &Ident,
        bounds: &ForAllBounds,
        save: bool,
        sql: &StatementKind,
    ) -> CResult<()> {
        let counter = self.f.counters;
        self.f.counters += 1;
        self.f.counters_high = self.f.counters_high.max(self.f.counters);
        let i = self.temp();
        // INDICES OF and VALUES OF walk a collection; a range counts.
        let mut walk = None;
        let head;
        let mut collected = Vec::new();
        if let StatementKind::Sql(q) = sql
            && let Some((into, _)) = &q.returning
        {
            self.forall_targets(into, &mut collected)?;
        }
        self.emit(Op::ForAllBegin);
        match bounds {
            ForAllBounds::Range { low, high } => {
                let lo = self.expr(low, None)?.o;
                let hi = self.expr(high, None)?.o;
                self.emit(Op::ForAllFrom { lo });
                self.emit(Op::ForInit { counter, lo, hi, reverse: false });
                head = self.emit(Op::ForNext { counter, i, out: 0 });
            }
            ForAllBounds::IndicesOf { collection, between: _ } | ForAllBounds::ValuesOf(collection) => {
                let TargetRef::Path(p) = self.target_path(collection)? else {
                    return Err(self.pls(382, &[], collection.pos));
                };
                let p = self.entered(p);
                let Ty::Coll(c) = p.ty.clone() else { return Err(self.pls(382, &[], collection.pos)) };
                let at = self.temp();
                let null = self.null();
                let path = self.path(p.root, p.steps.clone());
                self.emit(Op::Collection { method: Method::First, d: at, path, a: null, b: null });
                let top = self.here();
                head = self.emit(Op::JumpIfNull { c: at, to: 0 });
                let mut skips = Vec::new();
                match bounds {
                    ForAllBounds::ValuesOf(_) => {
                        let mut steps = p.steps.clone();
                        steps.push(Step::Index { key: at, text: false });
                        let element = self.path(p.root, steps);
                        self.emit(Op::GetPath { d: i, path: element });
                        if c.element.class() != Class::Number {
                            return Err(self.pls(382, &[], collection.pos));
                        }
                    }
                    ForAllBounds::IndicesOf { collection: _, between: Some((low, high)) } => {
                        self.emit(Op::Move { d: i, s: at });
                        let lo = self.expr(low, None)?.o;
                        skips.push(self.emit(Op::CmpJump { op: Cmp::Ge, a: at, b: lo, to: 0 }));
                        let hi = self.expr(high, None)?.o;
                        skips.push(self.emit(Op::CmpJump { op: Cmp::Le, a: at, b: hi, to: 0 }));
                    }
                    ForAllBounds::IndicesOf { collection: _, between: None }
                    | ForAllBounds::Range { low: _, high: _ } => {
                        self.emit(Op::Move { d: i, s: at });
                    }
                }
                self.emit(Op::ForAllAt { i });
                walk = Some((path, at, top, skips));
            }
        }
        let top = self.here();
        let Place::Local(slot) = i.place() else { unreachable!("temporaries are local") };
        self.scopes.push(Scope::default());
        let symbol = Symbol::Var(Var { loc: self.loc_of(slot), ty: Ty::INTEGER, access: Access::LoopIndex });
        self.declare(variable, symbol)?;
        let from = self.here();
        let result = match sql {
            StatementKind::Sql(q) => self.forall_sql(q, &collected, save),
            // Targets of its RETURNING take positions among those of USING.
            StatementKind::ExecuteImmediate { text, using, into: _, returning: _ } => {
                self.execute_immediate(text, None, using, None)
            }
            _ => unreachable!("the parser takes only these"),
        };
        self.scopes.pop();
        result?;
        self.emit(Op::ForAllStep { save, from });
        if walk.is_none() {
            self.gather(counter, i, from);
        }
        if let Some((path, at, top, skips)) = walk {
            skips.into_iter().for_each(|j| self.patch(j));
            let null = self.null();
            self.emit(Op::Collection { method: Method::Next, d: at, path, a: at, b: null });
            self.emit(Op::Loop { to: top });
        } else {
            self.emit(Op::ForLoop { counter, i, body: top });
        }
        self.patch(head);
        self.emit(Op::ForAllEnd);
        for (target, v, pos) in collected {
            self.store(&target, v, pos)?;
        }
        Ok(())
    }

    /// Lets the iterations of the range from op `from` on be executed together, if every bind of their INSERT is an
    /// element at the subscript `i`, the subscript, or invariant.
    pub(super) fn gather(&mut self, counter: u32, i: Opd, from: Label) {
        let ops = &self.f.ops[from as usize..];
        let sql = ops.iter().find_map(|op| if let Op::ExecuteLater { sql, .. } = op { Some(*sql) } else { None });
        let Some(sql) = sql else { return };
        let made =
            |o: Opd| ops.iter().find(|op| matches!(op, Op::GetPath { d, .. } | Op::Move { d, .. } if *d == o)).cloned();
        let source = |o: Opd| match made(o) {
            None => Some(if o == i { GatherFrom::Index } else { GatherFrom::Value(o) }),
            Some(Op::Move { s, .. }) if s == i => Some(GatherFrom::Index),
            Some(Op::Move { s, .. }) if made(s).is_none() => Some(GatherFrom::Value(s)),
            Some(Op::GetPath { path, .. }) => {
                let Path { root: Root::Slot(root), steps } = &self.pool.paths[path as usize] else { return None };
                let field = match steps.as_slice() {
                    [Step::Index { key, text: false }] if *key == i => None,
                    [Step::Index { key, text: false }, Step::Scalar(field)] if *key == i => Some(*field),
                    _ => return None,
                };
                made(*root).is_none().then_some(GatherFrom::Element { path, field })
            }
            Some(_) => None,
        };
        let binds: Option<Vec<GatherFrom>> = self.pool.sql[sql as usize].binds.iter().map(|o| source(*o)).collect();
        if let Some(binds) = binds {
            self.pool.gathers.push(Gather { sql, counter, binds });
            let gather = self.pool.gathers.len() as u32 - 1;
            self.emit(Op::ForAllGather { gather });
        }
    }

    /// Collections that RETURNING fills over all iterations. The loop may read the targets, so they are assigned after
    /// its end.
    pub(super) fn forall_targets(&mut self, into: &Into, collected: &mut Vec<(TargetRef, Val, Pos)>) -> CResult<()> {
        if !into.bulk {
            return Err(self.pls(437, &[], into.pos));
        }
        for e in &into.targets {
            let target = self.target_path(e)?;
            let ty = target.ty();
            let Ty::Coll(c) = &ty else { return Err(self.pls(497, &[], e.pos)) };
            let o = self.temp();
            let template = self.template(Datum::Coll(Some(Rc::new(crate::datum::Coll::empty(&c.info)))));
            self.emit(Op::Init { d: o, template });
            collected.push((target, Val { o, ty }, e.pos));
        }
        Ok(())
    }

    pub(super) fn forall_sql(
        &mut self,
        q: &ast::SqlText,
        collected: &[(TargetRef, Val, Pos)],
        save: bool,
    ) -> CResult<()> {
        let from = self.here();
        let statement = self.static_sql(q)?;
        let Some((into, _)) = &q.returning else {
            let row = self.null();
            let plain = self.f.ops[from as usize..].iter().all(|op| matches!(op, Op::GetPath { .. } | Op::Move { .. }));
            self.emit(match q.kind == SqlKind::Insert && plain {
                true => Op::ExecuteLater { sql: statement.index, row, save },
                false => Op::Execute { sql: statement.index, row },
            });
            return Ok(());
        };
        let (bulk, copies) = self.bulk_targets(into, Some(&statement.columns))?;
        if !copies.is_empty() {
            return Err(self.pls(707, &[&"RETURNING BULK COLLECT INTO an attribute"], into.pos));
        }
        for (i, (_, v, _)) in collected.iter().enumerate() {
            let path = self.path(Root::Slot(v.o), Vec::new());
            self.pool.bulks[bulk as usize].targets[i].path = path;
        }
        self.emit(Op::BulkInto { sql: statement.index, bulk });
        Ok(())
    }
}
