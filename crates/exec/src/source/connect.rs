//! CONNECT BY, in two algorithms.
//!
//! Both algorithms go depth first and keep the path to the current row on a stack of their own, so memory alone limits
//! the depth of a hierarchy. The children of a row are looked for when the next row is requested, or before the row is
//! returned if CONNECT_BY_ISLEAF or CONNECT_BY_ISCYCLE needs them.
//!
//! The old algorithm (`_old_connect_by_enabled`) runs the child row source for every row it returns: one probe a node,
//! each with its logical reads. Its rows live as long as they are on the stack. The new algorithm keeps the children it
//! has found: those of equal parents are looked up once, by a probe or among all rows, which are read once
//! ([`super::connect_memory`]). When they outgrow the memory, it continues like the old algorithm; rows that were read
//! once are then looked up in temporary space.
//!
//! Rows of a level that do not fit into memory are written and read back one at a time: the roots, and in the old
//! algorithm the children of one parent.
//!
//! The row generator (no PRIOR, over DUAL) needs no stack.

use super::RowSource;
use super::connect_arena::{Arena, Columns, Found, collect};
use super::connect_memory::Memory;
use super::sort_keys::Keys;
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::eval::assign;
use crate::machine::{Machine, copy};
use crate::spill::lookup::Found as Place;
use crate::spill::rows;
use crate::spill::sorter::Sorter;
use plan::{ConnectBy, Reg};
use std::collections::HashMap;
use std::rc::Rc;
use types::{Number, Ora, Result, Value};

/// Beyond this depth, ancestors are looked up in a hash table.
const DEEP: usize = 64;
/// Most rows skipped by one call of [`Connect::pass`].
const PASSED_MOST: u64 = 256;
/// Rows between two checks for cancellation.
const CANCEL_ROWS: u64 = 256;

/// The remaining children of one row. Numbers are rows of the arena, or positions in its links.
struct Level {
    next: u32,
    end: u32,
    lie: Lie,
    /// Rows and links from here on are discarded with the level.
    rows_mark: u32,
    links_mark: u32,
    cut_mark: u32,
    /// The parent of these rows, and its mark, which distinguishes it from other rows.
    parent: u32,
    mark: u64,
    /// Bits of the marks of this parent and of all ancestors: a row whose bit is missing is none of them.
    above: u64,
    /// Values of CONNECT_BY_ROOT and of the paths above this level.
    roots: Option<Rc<[Value]>>,
    paths: Option<Rc<[String]>>,
    /// The rows of the level, if they are in temporary space.
    rest: Option<Box<Rest>>,
}

/// The rows of a level in temporary space, and the arena position of the one in memory.
struct Rest {
    rows: Written,
    at: u32,
}

enum Written {
    Sorted(Box<Sorter>),
    /// All rows among which children are looked up.
    Whole(Place),
}

/// The list that the numbers of a level index.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    Rows,
    Links,
    /// The children left after loops were cut.
    Cut,
}

/// A row that was returned and whose children are not looked up yet.
struct Pending {
    row: u32,
    roots: Option<Rc<[Value]>>,
    paths: Option<Rc<[String]>>,
}

impl Found {
    fn lie(self) -> Lie {
        if self.linked { Lie::Links } else { Lie::Rows }
    }
}

impl Arena {
    fn named(&self, n: u32, lie: Lie) -> u32 {
        match lie {
            Lie::Rows => n,
            Lie::Links => self.links[n as usize],
            Lie::Cut => self.cut[n as usize],
        }
    }
}

/// The bit of a mark in [`Level::above`].
fn bit_of(mark: u64) -> u64 {
    1 << (mark >> 58)
}

/// The result of looking up children.
struct Search {
    found: Found,
    lie: Lie,
    /// The mark of the parent.
    mark: u64,
    /// Whether a child was an ancestor and was left out.
    looped: bool,
    /// Whether the children are kept after the level.
    kept: bool,
    /// Boxed, because a search is moved and almost never has it.
    rest: Option<Box<Sorter>>,
}

pub struct Connect<S> {
    start: S,
    child: S,
    memory: Option<Box<Memory<S>>>,
    /// Whether the memory is used in this execution.
    remembers: bool,
    pub(super) columns: Columns,
    rownum: Option<Reg>,
    level: Reg,
    is_leaf: Option<Reg>,
    is_cycle: Option<Reg>,
    nocycle: bool,
    prior_wanted: bool,
    level_decides: bool,
    roots: Vec<(Code, Reg)>,
    paths: Vec<(Code, Code, Reg)>,
    siblings: Keys,
    /// Whether start and child are DUAL: one row, made without a stack.
    simple: bool,
    /// Whether children are looked up before their parent is returned.
    eager: bool,
    arena: Arena,
    stack: Vec<Level>,
    /// Ancestors beyond [`DEEP`], by mark.
    deep: HashMap<u64, u32>,
    pending: Option<Pending>,
    started: bool,
    given: u64,
}

impl<S: RowSource> Connect<S> {
    /// `children`: the row source of the memory.
    pub fn build(c: &ConnectBy, start: S, child: S, children: Option<S>, b: &mut Builder<'_>) -> Connect<S> {
        let plain = plan::is_dual(&c.start) && plan::is_dual(&c.child);
        let simple = plain && c.generator && c.paths.is_empty() && c.is_leaf.is_none();
        let columns = Columns::of(c);
        let moving = columns.prior.iter().any(|(_, _, at)| at.is_none());
        let memory = c.memory.as_ref().zip(children).map(|(memory, source)| Memory::build(memory, source, &columns, b));
        Connect {
            start,
            child,
            memory: memory.map(Box::new),
            remembers: false,
            arena: Arena::new(columns.row.len()),
            columns,
            rownum: c.rownum,
            level: c.level,
            is_leaf: c.is_leaf,
            is_cycle: c.is_cycle,
            nocycle: c.nocycle,
            prior_wanted: c.prior_wanted,
            level_decides: c.level_decides,
            roots: c.roots.iter().map(|(e, r)| (b.code(e), *r)).collect(),
            paths: c.paths.iter().map(|(e, s, r)| (b.code(e), b.code(s), *r)).collect(),
            siblings: Keys::build(&c.siblings, b),
            simple,
            eager: moving || c.is_leaf.is_some() || c.is_cycle.is_some(),
            stack: Vec::new(),
            deep: HashMap::new(),
            pending: None,
            started: false,
            given: 0,
        }
    }

    #[inline(never)]
    pub fn open(&mut self) {
        self.stack.clear();
        self.deep.clear();
        self.pending = None;
        self.started = false;
        self.given = 0;
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.simple { self.next_simple(m, cx) } else { self.next_row(m, cx) }
    }

    fn set_level(&self, level: u64, m: &mut Machine) {
        m.put_whole(self.level, level as i64);
        if let Some(r) = self.rownum {
            m.put_whole(r, self.given as i64 + 1);
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
            cx.check_cancel()?;
        }
        Ok(true)
    }

    fn next_row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.started {
            self.started = true;
            self.find_roots(m, cx)?;
        }
        if let Some(p) = self.pending.take() {
            self.descend(p, m, cx)?;
        }
        let Some(row) = self.step(m, cx)? else { return Ok(false) };
        let depth = self.stack.len();
        let Some(top) = self.stack.last() else { return Ok(false) };
        let (roots, paths, parent) = (top.roots.clone(), top.paths.clone(), top.parent);
        m.restore(&self.columns.row, self.arena.row(row));
        m.put_whole(self.level, depth as i64);
        let roots = if depth == 1 { self.root_values(m, cx)? } else { roots };
        let paths = self.path_values(paths.as_deref(), m, cx)?;
        if self.eager {
            let cycle = self.descend(Pending { row, roots: roots.clone(), paths: paths.clone() }, m, cx)?;
            // The search for children has used the registers: restore the row.
            m.restore(&self.columns.row, self.arena.row(row));
            m.put_whole(self.level, depth as i64);
            let leaf = self.stack.len() == depth;
            self.set_flag(self.is_leaf, leaf, m);
            self.set_flag(self.is_cycle, cycle, m);
        } else {
            self.pending = Some(Pending { row, roots: roots.clone(), paths: paths.clone() });
        }
        self.present(parent, depth, roots.as_deref(), paths.as_deref(), m);
        Ok(true)
    }

    /// Takes the next row of the topmost level that has one, and leaves finished levels.
    #[inline]
    fn step(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<u32>> {
        loop {
            let Some(top) = self.stack.last() else { return Ok(None) };
            if top.next == top.end && (top.rest.is_none() || !self.read_rest(m, cx)?) {
                self.ascend();
                continue;
            }
            let Some(top) = self.stack.last_mut() else { return Ok(None) };
            let row = self.arena.named(top.next, top.lie);
            top.next += 1;
            self.given += 1;
            if self.given.is_multiple_of(CANCEL_ROWS) {
                cx.check_cancel()?;
            }
            return Ok(Some(row));
        }
    }

    /// Skips rows that are only counted; returns their number, or 0 at the end.
    #[inline(never)]
    pub fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        // CONNECT_BY_ROOT and paths may raise errors, and an eager search reads the registers: rows cannot be skipped.
        if self.simple || self.eager || !self.roots.is_empty() || !self.paths.is_empty() {
            return self.next(m, cx).map(u64::from);
        }
        if !self.started {
            self.started = true;
            self.find_roots(m, cx)?;
        }
        let mut passed = 0;
        while passed < PASSED_MOST {
            if let Some(p) = self.pending.take() {
                self.descend(p, m, cx)?;
            }
            let Some(row) = self.step(m, cx)? else { break };
            self.pending = Some(Pending { row, roots: None, paths: None });
            passed += 1;
        }
        Ok(passed)
    }

    /// Finds the rows of the first level.
    fn find_roots(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.arena.clear(m);
        self.set_level(1, m);
        self.remembers = !cx.session.options.old_connect_by && self.memory.is_some();
        let mut roots = None;
        if let Some(memory) = self.memory.as_deref_mut().filter(|_| self.remembers) {
            match memory.begin(&mut self.arena, &self.columns, &self.siblings, m, cx)? {
                Some(all) => roots = all.map(|all| (all, None)),
                None => {
                    self.remembers = false;
                    self.arena.clear(m);
                    if memory.all_are_roots_on_disk() {
                        roots = Some(self.roots_on_disk(m, cx)?);
                    }
                }
            }
        }
        let (roots, rest) = match roots {
            Some(all) => all,
            None => {
                let Connect { start, arena, columns, siblings, .. } = self;
                start.open(m, cx)?;
                let limit = cx.session.options.spill_bytes;
                let mut next = |m: &mut Machine, cx: &mut ExecCtx<'_>| start.next(m, cx);
                let (found, rest) = collect(&mut next, arena, columns, siblings, limit, &mut |_, _| true, m, cx)?;
                (found, rest.map(Written::Sorted))
            }
        };
        let rest = rest.map(|rows| Box::new(Rest { rows, at: self.arena.len() }));
        // Rows found by probes must stay in memory above the root; roots read back one at a time leave no stable place
        // for them.
        if rest.is_some() && self.memory.as_deref().is_some_and(Memory::probes) {
            self.remembers = false;
        }
        if let Some(memory) = self.memory.as_deref_mut().filter(|_| self.remembers) {
            memory.tell_apart(&self.arena, m, cx)?;
        }
        self.stack.push(Level {
            next: roots.first,
            end: roots.end,
            lie: roots.lie(),
            rows_mark: u32::MAX,
            links_mark: u32::MAX,
            cut_mark: 0,
            parent: u32::MAX,
            mark: 0,
            above: 0,
            roots: None,
            paths: None,
            rest,
        });
        Ok(())
    }

    /// All rows as roots, from temporary space: in the order they were read, or in sibling order.
    fn roots_on_disk(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<(Found, Option<Written>)> {
        let none = Found { first: 0, end: 0, linked: false };
        if self.siblings.is_empty() {
            return Ok((none, Some(Written::Whole(Place::default()))));
        }
        let (mut sorter, mut key, mut record) = (Sorter::new(&m.temporary), Vec::new(), Vec::new());
        let mut at = Place::default();
        let Some(memory) = self.memory.as_deref() else { return Err(Ora::internal("CONNECT BY without memory")) };
        while memory.next_on_disk(&mut at, &self.columns, m, cx)? {
            key.clear();
            record.clear();
            self.siblings.encode(m, cx, &mut key)?;
            rows::encode(self.columns.row.iter().map(|&r| m.value(r)), &mut record);
            sorter.push(&key, &record, cx.session.options.spill_bytes, cx)?;
        }
        sorter.finish(cx)?;
        Ok((none, Some(Written::Sorted(Box::new(sorter)))))
    }

    /// Reads the next row of the topmost level from temporary space over the previous one. False at the end.
    #[cold]
    fn read_rest(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Connect { stack, arena, columns, memory, remembers, .. } = self;
        let Some(level) = stack.last_mut() else { return Ok(false) };
        let Some(rest) = &mut level.rest else { return Ok(false) };
        let mut memory = memory.as_deref_mut();
        arena.forget_rows(rest.at);
        if let Some(memory) = memory.as_deref_mut().filter(|_| *remembers) {
            memory.forget(rest.at);
        }
        let found = match &mut rest.rows {
            Written::Sorted(sorter) => match sorter.next(cx)? {
                Some(mut record) => m.decode(&columns.row, &mut record).map(|()| true)?,
                None => false,
            },
            Written::Whole(at) => match &memory {
                Some(memory) => memory.next_on_disk(at, columns, m, cx)?,
                None => false,
            },
        };
        if !found {
            return Ok(false);
        }
        let row = arena.push(&columns.row, m, cx)?;
        if let Some(memory) = memory.filter(|_| *remembers) {
            memory.tell_apart(arena, m, cx)?;
        }
        (level.next, level.end, level.lie) = (row, row + 1, Lie::Rows);
        Ok(true)
    }

    /// Leaves a finished level.
    fn ascend(&mut self) {
        let Some(level) = self.stack.pop() else { return };
        if level.parent != u32::MAX {
            match self.memory.as_deref_mut().filter(|_| self.remembers) {
                Some(memory) => memory.leave(level.mark),
                None if self.stack.len() > DEEP => {
                    let n = self.deep.get(&level.mark).copied().unwrap_or_default();
                    match n {
                        0 | 1 => self.deep.remove(&level.mark),
                        n => self.deep.insert(level.mark, n - 1),
                    };
                }
                None => {}
            }
        }
        self.arena.cut.truncate(level.cut_mark as usize);
        if level.rows_mark != u32::MAX {
            self.arena.forget(level.rows_mark, level.links_mark);
            if let Some(memory) = self.memory.as_deref_mut().filter(|_| self.remembers) {
                memory.forget(level.rows_mark);
            }
        }
    }

    fn root_values(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Rc<[Value]>>> {
        if self.roots.is_empty() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(self.roots.len());
        for (code, _) in &self.roots {
            let r = code.eval(m, cx)?;
            values.push(m.value(r).clone());
        }
        Ok(Some(values.into()))
    }

    fn path_values(
        &self,
        above: Option<&[String]>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Option<Rc<[String]>>> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        let mut paths = Vec::with_capacity(self.paths.len());
        for (i, (code, separator, _)) in self.paths.iter().enumerate() {
            let mut path = above.and_then(|paths| paths.get(i)).cloned().unwrap_or_default();
            let begin = path.len();
            let s = separator.eval(m, cx)?;
            m.value(s).write_text(&cx.session.nls, &mut path)?;
            let value = path.len();
            let v = code.eval(m, cx)?;
            m.value(v).write_text(&cx.session.nls, &mut path)?;
            if path[value..].contains(&path[begin..value]) {
                return Err(Ora::new(30004));
            }
            if path.len() > 4000 {
                return Err(Ora::new(1489));
            }
            paths.push(path);
        }
        Ok(Some(paths.into()))
    }

    /// Looks up the children of a row and pushes them as a level. True if a loop was cut.
    fn descend(&mut self, of: Pending, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let depth = self.stack.len();
        if self.eager {
            for (from, to, at) in &self.columns.prior {
                if at.is_none() {
                    copy(*from, *to, m);
                }
            }
        }
        if self.level_decides {
            self.set_level(depth as u64 + 1, m);
        }
        let (rows_mark, links_mark) = (self.arena.len(), self.arena.links.len() as u32);
        let rest_mark = rows_mark;
        let cut_mark = self.arena.cut.len() as u32;
        let Search { found, lie, mark, looped, kept, rest } = match self.remembers {
            true => self.recall(of.row, m, cx)?,
            false => self.probe(of.row, m, cx)?,
        };
        if looped && !self.nocycle {
            return Err(Ora::new(1436)); // CONNECT BY loop in user data
        }
        if found.first == found.end && rest.is_none() {
            return Ok(looped);
        }
        match self.memory.as_deref_mut().filter(|_| self.remembers) {
            Some(memory) => memory.enter(mark),
            None if depth > DEEP => *self.deep.entry(mark).or_insert(0) += 1,
            None => {}
        }
        // Rows kept for other parents are not discarded with the level.
        let (rows_mark, links_mark) = if kept { (u32::MAX, u32::MAX) } else { (rows_mark, links_mark) };
        if self.stack.len() == self.stack.capacity() {
            m.charge(self.stack.len().max(4) * size_of::<Level>(), cx)?;
        }
        self.stack.push(Level {
            next: found.first,
            end: found.end,
            lie,
            rows_mark,
            links_mark,
            cut_mark,
            parent: of.row,
            mark,
            above: self.stack.last().map_or(0, |l| l.above) | bit_of(mark),
            roots: of.roots,
            paths: of.paths,
            rest: rest.map(|rows| Box::new(Rest { rows: Written::Sorted(rows), at: rest_mark })),
        });
        Ok(looped)
    }

    /// The old algorithm: looks up the children of this row with the child row source, or among all rows in temporary
    /// space.
    fn probe(&mut self, row: u32, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Search> {
        self.columns.set_prior(self.arena.row(row), m);
        let Connect { child, memory, arena, columns, siblings, stack, deep, .. } = self;
        let mark = columns.cycle.as_ref().map_or(0, |places| arena.mark(row, places));
        let mut looped = false;
        let above = stack.last().map_or(0, |l| l.above) | bit_of(mark);
        let mut is_new = |arena: &Arena, child: u32| {
            let Some(places) = &columns.cycle else { return true };
            let own = arena.mark(child, places);
            if above & bit_of(own) == 0 {
                return true;
            }
            let same = |other: u32| arena.same(child, other, places);
            let deeper = stack.len() > DEEP && deep.get(&own).is_some_and(|n| *n > 0);
            let seen = if stack.len() > DEEP && !deeper { &stack[..DEEP + 1] } else { &stack[..] };
            let known = own == mark && same(row)
                || seen.iter().any(|l| l.mark == own && l.parent != u32::MAX && same(l.parent));
            looped |= known;
            !known
        };
        let limit = cx.session.options.spill_bytes;
        let (found, rest) = match memory.as_deref().filter(|memory| memory.is_on_disk()) {
            Some(memory) => {
                let mut search = memory.search_on_disk(m, cx)?;
                let mut next = |m: &mut Machine, cx: &mut ExecCtx<'_>| memory.next_child(&mut search, columns, m, cx);
                collect(&mut next, arena, columns, siblings, limit, &mut is_new, m, cx)?
            }
            None => {
                child.open(m, cx)?;
                let mut next = |m: &mut Machine, cx: &mut ExecCtx<'_>| child.next(m, cx);
                collect(&mut next, arena, columns, siblings, limit, &mut is_new, m, cx)?
            }
        };
        Ok(Search { found, lie: found.lie(), mark, looped, kept: false, rest })
    }

    /// The new algorithm: the children of the row, from memory or by a search.
    fn recall(&mut self, row: u32, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Search> {
        let Connect { memory, arena, columns, siblings, .. } = self;
        let Some(memory) = memory.as_deref_mut() else { return Err(Ora::internal("CONNECT BY without memory")) };
        let class = memory.class_of(row);
        let (found, kept) = memory.children(row, arena, columns, siblings, m, cx)?;
        let whole = Search { found, lie: found.lie(), mark: class.into(), looped: false, kept, rest: None };
        if columns.cycle.is_none() {
            return Ok(whole);
        }
        let numbers = found.first..found.end;
        // The row itself is on the path to its children.
        let looped = |child: u32| memory.class_of(child) == class || memory.is_on_path(child);
        if !numbers.clone().any(|n| looped(arena.named(n, whole.lie))) {
            return Ok(whole);
        }
        let first = arena.cut.len() as u32;
        for n in numbers {
            let child = arena.named(n, whole.lie);
            if !looped(child) {
                arena.cut.push(child);
            }
        }
        let found = Found { first, end: arena.cut.len() as u32, linked: true };
        Ok(Search { found, lie: Lie::Cut, looped: true, ..whole })
    }

    fn set_flag(&self, reg: Option<Reg>, on: bool, m: &mut Machine) {
        if let Some(r) = reg {
            m.put(r, Value::Number(Number::from(i64::from(on))));
        }
    }

    /// Sets the pseudo-columns of the current row.
    fn present(&self, parent: u32, depth: usize, roots: Option<&[Value]>, paths: Option<&[String]>, m: &mut Machine) {
        for ((_, r), v) in self.roots.iter().zip(roots.unwrap_or_default()) {
            m.regs[*r as usize].set(v);
        }
        for ((_, _, r), v) in self.paths.iter().zip(paths.unwrap_or_default()) {
            m.regs[*r as usize].set_text(v);
        }
        if !self.prior_wanted {
            return;
        }
        // PRIOR columns of a returned row are those of its parent.
        if parent == u32::MAX {
            self.columns.prior.iter().for_each(|(_, to, _)| {
                m.put(*to, Value::Null);
            });
            return;
        }
        self.columns.set_prior(self.arena.row(parent), m);
        for (from, to, at) in &self.columns.prior {
            if at.is_none() && *from == self.level {
                m.put(*to, Value::Number(Number::from_u64(depth as u64 - 1)));
            }
        }
    }
}
