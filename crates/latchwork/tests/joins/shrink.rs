//! Reduces a failing statement: one edit at a time, as long as it keeps failing.

use super::tree::{Cond, Expr, From, JoinKind, Query, Select, Statement};

/// Counts the places where a part may be removed, and removes it at one of them.
struct Editor {
    left: usize,
    done: bool,
}

impl Editor {
    fn is_here(&mut self) -> bool {
        if self.done || self.left > 0 {
            self.left = self.left.saturating_sub(1);
            return false;
        }
        self.done = true;
        true
    }

    fn statement(&mut self, statement: &mut Statement) {
        if statement.first.is_some() && self.is_here() {
            statement.first = None;
        } else if !statement.order.is_empty() && statement.first.is_none() && self.is_here() {
            statement.order.clear();
        }
        let whole = !statement.order.is_empty();
        self.query(&mut statement.query, !whole);
    }

    fn query(&mut self, query: &mut Query, may_lose_columns: bool) {
        match query {
            Query::Set(_, left, right) => {
                if self.is_here() {
                    *query = (**left).clone();
                } else if self.is_here() {
                    *query = (**right).clone();
                } else {
                    self.query(left, false);
                    self.query(right, false);
                }
            }
            Query::Select(select) => self.select(select, may_lose_columns),
        }
    }

    fn select(&mut self, select: &mut Select, may_lose_columns: bool) {
        for flag in [&mut select.distinct, &mut select.rownum] {
            if *flag && self.is_here() {
                *flag = false;
            }
        }
        if select.having.is_some() && self.is_here() {
            select.having = None;
        }
        if select.cond.is_some() && self.is_here() {
            select.cond = None;
        }
        if select.from.len() > 1 {
            for at in 0..select.from.len() {
                if self.is_here() {
                    select.from.remove(at);
                    break;
                }
            }
        }
        if may_lose_columns && select.items.len() > 1 {
            for at in 0..select.items.len() {
                if self.is_here() {
                    select.items.remove(at);
                    break;
                }
            }
        }
        if select.group.len() > 1 && self.is_here() {
            select.group.pop();
        }
        select.from.iter_mut().for_each(|from| self.from(from));
        select.cond.iter_mut().for_each(|cond| self.cond(cond));
        select.having.iter_mut().for_each(|cond| self.cond(cond));
        select.items.iter_mut().for_each(|e| self.expr(e));
    }

    fn from(&mut self, from: &mut From) {
        match from {
            From::Table(..) => {}
            From::View(_, query, _) => self.query(query, false),
            From::Join(left, right, kind, on) => {
                if self.is_here() {
                    *from = (**left).clone();
                } else if self.is_here() {
                    *from = (**right).clone();
                } else if *kind != JoinKind::Inner && *kind != JoinKind::Cross && self.is_here() {
                    *kind = JoinKind::Inner;
                } else {
                    self.from(left);
                    self.from(right);
                    self.cond(on);
                }
            }
        }
    }

    fn cond(&mut self, cond: &mut Cond) {
        match cond {
            Cond::And(all) | Cond::Or(all) => {
                if all.len() > 1 {
                    for at in 0..all.len() {
                        if self.is_here() {
                            all.remove(at);
                            return;
                        }
                    }
                }
                all.iter_mut().for_each(|c| self.cond(c));
            }
            Cond::Not(of) => {
                if self.is_here() {
                    *cond = (**of).clone();
                } else {
                    self.cond(of);
                }
            }
            Cond::InList(e, list, _) => {
                if list.len() > 1 {
                    for at in 0..list.len() {
                        if self.is_here() {
                            list.remove(at);
                            return;
                        }
                    }
                }
                self.expr(e);
            }
            Cond::Compare(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Cond::Between(a, b, c) => [a, b, c].into_iter().for_each(|e| self.expr(e)),
            Cond::Exists(query, _) => self.query(query, true),
            Cond::In(row, query, _) => {
                row.iter_mut().for_each(|e| self.expr(e));
                self.query(query, false);
            }
            Cond::Quantified(_, e, query, _) => {
                self.expr(e);
                self.query(query, false);
            }
            Cond::Like(e, ..) | Cond::IsNull(e, _) => self.expr(e),
            Cond::Constant(_) => {}
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        match e {
            Expr::Column(..) | Expr::Literal(_) => {}
            Expr::Add(a, b) | Expr::Subtract(a, b) | Expr::Multiply(a, b) | Expr::Nvl(a, b) => {
                if matches!(**a, Expr::Column(..)) && self.is_here() {
                    *e = (**a).clone();
                } else {
                    self.expr(a);
                    self.expr(b);
                }
            }
            Expr::Case(cond, a, b) => {
                if self.is_here() {
                    *e = (**a).clone();
                } else if self.is_here() {
                    *e = (**b).clone();
                } else {
                    self.cond(cond);
                    self.expr(a);
                    self.expr(b);
                }
            }
            Expr::Aggregate(_, of, _) => of.iter_mut().for_each(|e| self.expr(e)),
            Expr::Scalar(query) => self.query(query, false),
        }
    }
}

/// The smallest statement for which `fails` still holds, after at most `tries` tries.
pub fn shrink(statement: &Statement, tries: usize, mut fails: impl FnMut(&Statement) -> bool) -> Statement {
    let mut best = statement.clone();
    let mut at = 0;
    for _ in 0..tries {
        let mut smaller = best.clone();
        let mut editor = Editor { left: at, done: false };
        editor.statement(&mut smaller);
        if !editor.done {
            break;
        }
        if fails(&smaller) {
            best = smaller;
        } else {
            at += 1;
        }
    }
    best
}
