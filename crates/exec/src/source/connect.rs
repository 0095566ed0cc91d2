//! CONNECT BY.
//!
//! Depth first: the children of a row are found by running the child row source with the row's columns in the PRIOR registers, and
//! kept on a stack while their own children are visited. The row generator (no PRIOR, over DUAL) needs no stack.

use super::sort::Keys;
use super::{Op, assign, copy};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::machine::{Machine, Saved};
use plan::{ConnectBy, Reg, Source};
use std::rc::Rc;
use types::{Number, Ora, Result, Value};

/// A row on the way from the root to the current row, with its brothers still to come.
struct Level {
    rows: std::vec::IntoIter<Saved>,
    /// Values of CONNECT_BY_ROOT and of the paths above this level.
    roots: Rc<[Value]>,
    paths: Rc<[String]>,
    /// The row whose children these are, as its PRIOR columns: for the cycle check.
    parent: Option<Box<[Value]>>,
}

pub struct Connect {
    start: Op,
    child: Op,
    row: Vec<Reg>,
    prior: Vec<(Reg, Reg)>,
    level: Reg,
    rownum: Option<Reg>,
    is_leaf: Option<Reg>,
    is_cycle: Option<Reg>,
    nocycle: bool,
    roots: Vec<(Code, Reg)>,
    paths: Vec<(Code, Code, Reg)>,
    siblings: Keys,
    generator: bool,
    /// Start and child are DUAL: one row, made without a stack.
    simple: bool,
    stack: Vec<Level>,
    started: bool,
    given: u64,
}

impl Connect {
    pub fn build(c: &ConnectBy, b: &mut Builder<'_>) -> Result<Connect> {
        let simple = c.generator && is_dual(&c.start) && is_dual(&c.child) && c.paths.is_empty() && c.is_leaf.is_none();
        Ok(Connect {
            start: Op::build(&c.start, b)?,
            child: Op::build(&c.child, b)?,
            row: c.row.clone(),
            prior: c.prior.clone(),
            level: c.level,
            rownum: c.rownum,
            is_leaf: c.is_leaf,
            is_cycle: c.is_cycle,
            nocycle: c.nocycle,
            roots: c.roots.iter().map(|(e, r)| (b.code(e), *r)).collect(),
            paths: c.paths.iter().map(|(e, s, r)| (b.code(e), b.code(s), *r)).collect(),
            siblings: Keys::build(&c.siblings, b),
            generator: c.generator,
            simple,
            stack: Vec::new(),
            started: false,
            given: 0,
        })
    }

    pub fn open(&mut self) {
        self.stack.clear();
        self.started = false;
        self.given = 0;
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.simple { self.next_simple(m, cx) } else { self.next_row(m, cx) }
    }

    fn set_level(&self, level: u64, m: &mut Machine) {
        m.put(self.level, Value::Number(Number::from_u64(level)));
        if let Some(r) = self.rownum {
            m.put(r, Value::Number(Number::from_u64(self.given + 1)));
        }
    }

    fn next_simple(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.set_level(self.given + 1, m);
        let op = if self.given == 0 { &mut self.start } else { &mut self.child };
        op.open(m, cx)?;
        if !op.next(m, cx)? {
            return Ok(false);
        }
        if self.given == 0 {
            for (code, dst) in &self.roots {
                assign(code, *dst, m, cx)?;
            }
        }
        self.given += 1;
        if self.given.is_multiple_of(4096) {
            cx.p.check_cancel()?;
        }
        Ok(true)
    }

    /// All rows of the start or child row source, in sibling order.
    fn collect(&mut self, from_child: bool, level: u64, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<Saved>> {
        self.set_level(level, m);
        let mut rows: Vec<(Vec<u8>, Saved)> = Vec::new();
        let op = if from_child { &mut self.child } else { &mut self.start };
        op.open(m, cx)?;
        while op.next(m, cx)? {
            let mut key = Vec::new();
            self.siblings.encode(m, cx, &mut key)?;
            rows.push((key, m.regs_saved(&self.row)));
        }
        if !self.siblings.is_empty() {
            rows.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    fn next_row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.started {
            self.started = true;
            let rows = self.collect(false, 1, m, cx)?;
            let level = Level { rows: rows.into_iter(), roots: Rc::new([]), paths: Rc::new([]), parent: None };
            self.stack.push(level);
        }
        loop {
            let depth = self.stack.len();
            let Some(top) = self.stack.last_mut() else { return Ok(false) };
            let Some(row) = top.rows.next() else {
                self.stack.pop();
                continue;
            };
            let (roots, paths) = (top.roots.clone(), top.paths.clone());
            m.restore(&self.row, &row);
            self.given += 1;
            if self.given.is_multiple_of(1024) {
                cx.p.check_cancel()?;
            }
            let roots = if depth == 1 { self.root_values(m, cx)? } else { roots };
            let paths = self.path_values(&paths, m, cx)?;
            let cycle = self.descend(depth, roots.clone(), paths.clone(), m, cx)?;
            // The search for children has used the registers: put the row back, with its own parent in PRIOR.
            m.restore(&self.row, &row);
            let leaf = self.stack.len() == depth;
            self.present(depth, leaf, cycle, &roots, &paths, m);
            return Ok(true);
        }
    }

    fn root_values(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rc<[Value]>> {
        let mut values = Vec::with_capacity(self.roots.len());
        for (code, _) in &self.roots {
            let r = code.eval(m, cx)?;
            values.push(m.value(r).clone());
        }
        Ok(values.into())
    }

    fn path_values(&self, above: &[String], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rc<[String]>> {
        let mut paths = Vec::with_capacity(self.paths.len());
        for (i, (code, separator, _)) in self.paths.iter().enumerate() {
            let mut path = above.get(i).cloned().unwrap_or_default();
            let s = separator.eval(m, cx)?;
            m.value(s).write_text(&cx.session.nls, &mut path)?;
            let v = code.eval(m, cx)?;
            m.value(v).write_text(&cx.session.nls, &mut path)?;
            if path.len() > 4000 {
                return Err(Ora::new(1489));
            }
            paths.push(path);
        }
        Ok(paths.into())
    }

    /// Looks for the children of the current row and puts them on the stack. True when a loop was cut off.
    fn descend(
        &mut self,
        depth: usize,
        roots: Rc<[Value]>,
        paths: Rc<[String]>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        for &(from, to) in &self.prior {
            copy(from, to, m);
        }
        let me: Box<[Value]> = self.prior.iter().map(|(from, _)| m.value(*from).clone()).collect();
        let mut cycle = false;
        let mut children = self.collect(true, depth as u64 + 1, m, cx)?;
        if !self.generator && !self.prior.is_empty() {
            let places: Vec<usize> =
                self.prior.iter().filter_map(|(from, _)| self.row.iter().position(|r| r == from)).collect();
            // PRIOR LEVEL and the like differ from row to row: no loop can be told by them.
            if places.len() == self.prior.len() {
                let mut looped = false;
                children.retain(|child| {
                    let is_ancestor = self.is_ancestor(child, &places, &me);
                    looped |= is_ancestor;
                    !is_ancestor
                });
                if looped && !self.nocycle {
                    return Err(Ora::new(1436)); // CONNECT BY loop in user data
                }
                cycle = looped;
            }
        }
        if !children.is_empty() {
            m.charge(children.len() * self.row.len() * 8, cx)?;
            self.stack.push(Level { rows: children.into_iter(), roots, paths, parent: Some(me) });
        }
        Ok(cycle)
    }

    fn is_ancestor(&self, child: &Saved, places: &[usize], me: &[Value]) -> bool {
        let same = |row: &[Value]| places.iter().zip(row).all(|(&at, v)| child[at] == *v);
        same(me) || self.stack.iter().filter_map(|l| l.parent.as_deref()).any(same)
    }

    /// Sets the pseudo-columns of the current row.
    fn present(&self, depth: usize, leaf: bool, cycle: bool, roots: &[Value], paths: &[String], m: &mut Machine) {
        m.put(self.level, Value::Number(Number::from_u64(depth as u64)));
        if let Some(r) = self.is_leaf {
            m.put(r, Value::Number(Number::from(i64::from(leaf))));
        }
        if let Some(r) = self.is_cycle {
            m.put(r, Value::Number(Number::from(i64::from(cycle))));
        }
        for ((_, r), v) in self.roots.iter().zip(roots) {
            m.regs[*r as usize].set(v);
        }
        for ((_, _, r), v) in self.paths.iter().zip(paths) {
            m.regs[*r as usize].set_text(v);
        }
        // PRIOR of a row given up is its parent's row.
        let parent = if leaf { self.stack.last() } else { self.stack.get(self.stack.len().wrapping_sub(2)) };
        match parent.and_then(|l| l.parent.as_deref()) {
            Some(values) => {
                for ((_, to), v) in self.prior.iter().zip(values) {
                    m.regs[*to as usize].set(v);
                }
            }
            None => {
                for (_, to) in &self.prior {
                    m.put(*to, Value::Null);
                }
            }
        }
    }
}

/// DUAL with conditions and nothing else.
fn is_dual(s: &Source) -> bool {
    match s {
        Source::Dual => true,
        Source::Filter { input, .. } | Source::Startup { input, .. } => is_dual(input),
        _ => false,
    }
}
