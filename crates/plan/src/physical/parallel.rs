//! Parallel parts of a plan ([`Source::Parallel`], P28).
//!
//! One full scan drives a part: each process reads other blocks of its table, and every row of the part comes from
//! exactly one row of that scan. Each process reads the other tables of the part whole: the build side of a hash join,
//! the right side of nested loops. Each operator above must therefore treat a row independently of the other rows:
//! filters, projections, joins that keep or drop a row of the driving side. Aggregation, DISTINCT and top-N sort are
//! done twice: below for the rows of each process, above for the combined results.
//!
//! The coordinator alone evaluates everything that depends on the process: stored or non-deterministic functions,
//! sequences, ROWNUM, analytic functions, WITH queries, fixed and temporary tables, flashback.

use super::planned::produced;
use crate::ir::*;
use crate::physical::degree::{Because, DEFAULT_DEGREE, Parallel, ParallelQuery, Wish};
use crate::scope::Compiler;
use dictionary::{Base, Organization, TableDef};
use sql::ast;
use std::collections::HashSet;
use types::DataType;

/// The keys, grouping sets and aggregates of an aggregation.
struct Grouping {
    keys: Vec<(Expr, Reg)>,
    sets: Vec<Vec<usize>>,
    aggs: Vec<Agg>,
}

/// The degree that the hints of a block demand for a table.
fn wish_for(hints: &[ast::Hint], alias: &str) -> Wish {
    let mut wish = Wish::None;
    for hint in hints.iter().filter(|hint| hint.args.first().is_some_and(|arg| arg == alias)) {
        match (hint.name.as_str(), &hint.args[1..]) {
            ("NO_PARALLEL" | "NOPARALLEL", _) => return Wish::No,
            ("PARALLEL", []) => wish = Wish::Default,
            ("PARALLEL", [degree, ..]) => wish = degree.parse().map_or(Wish::Default, Wish::Degree),
            _ => {}
        }
    }
    wish
}

impl Compiler<'_> {
    /// The number of processes for a full scan of a table, and the reason.
    pub(super) fn degree_of(&self, table: &TableDef, alias: &str, hints: &[ast::Hint]) -> (u32, Because) {
        let Parallel { query, degree: default } = self.parallel;
        let of = |wish: Wish| match wish {
            Wish::Default => default,
            Wish::Degree(n) => n,
            Wish::None | Wish::No => 1,
        };
        let by_hint = match wish_for(hints, alias) {
            Wish::None => self.parallel_wish,
            wish => wish,
        };
        let (degree, because) = match (query, by_hint) {
            (ParallelQuery::Disabled, _) => (1, Because::Session),
            (_, wish) if wish != Wish::None => (of(wish), Because::Hint),
            (ParallelQuery::Forced(degree), _) => (degree.unwrap_or(default), Because::Session),
            (ParallelQuery::Enabled, _) if table.options.degree == DEFAULT_DEGREE => (default, Because::Table),
            (ParallelQuery::Enabled, _) => (table.options.degree, Because::Table),
        };
        (degree.clamp(1, u32::from(u16::MAX)), because)
    }

    /// Inserts [`Source::Parallel`] above the parts that several processes can run.
    pub(crate) fn parallelize(&mut self, source: &mut Source, out: &[Expr], subs: &[SubPlan]) {
        if self.parallel.query == ParallelQuery::Disabled || !self.sequences.is_empty() {
            return;
        }
        let placed = self.place(std::mem::replace(source, Source::Empty), subs);
        *source = placed;
        prune(source, out, subs);
    }

    fn place(&mut self, source: Source, subs: &[SubPlan]) -> Source {
        let boxed = |c: &mut Self, input: Box<Source>| Box::new(c.place(*input, subs));
        if let Some(degree) = driven(&source, subs) {
            return self.coordinate(source, degree);
        }
        match source {
            Source::Group { input, keys, sets, aggs, scalar, rows } => match driven(&input, subs) {
                Some(degree) if is_safe_group(&keys, &aggs, subs) => {
                    self.group(*input, degree, Grouping { keys, sets, aggs }, scalar, rows)
                }
                _ => Source::Group { input: boxed(self, input), keys, sets, aggs, scalar, rows },
            },
            Source::Distinct { input, regs, rows } => match driven(&input, subs) {
                Some(degree) => {
                    let below = Source::Distinct { input, regs: regs.clone(), rows };
                    Source::Distinct { input: Box::new(self.coordinate(below, degree)), regs, rows }
                }
                None => Source::Distinct { input: boxed(self, input), regs, rows },
            },
            Source::Sort { input, keys, regs, top: Some(top), rows } => {
                let is_safe = are_safe(keys.iter().map(|key| &key.expr).chain([&top.1]), subs);
                match driven(&input, subs).filter(|_| is_safe) {
                    Some(degree) => {
                        let (below_keys, below_regs) = (keys.clone(), regs.clone());
                        let below =
                            Source::Sort { input, keys: below_keys, regs: below_regs, top: Some(top.clone()), rows };
                        let input = Box::new(self.coordinate(below, degree));
                        Source::Sort { input, keys, regs, top: Some(top), rows }
                    }
                    None => Source::Sort { input: boxed(self, input), keys, regs, top: Some(top), rows },
                }
            }
            Source::Sort { input, keys, regs, top: None, rows } => {
                Source::Sort { input: boxed(self, input), keys, regs, top: None, rows }
            }
            Source::Filter { input, conds, rows } => Source::Filter { input: boxed(self, input), conds, rows },
            Source::Startup { input, conds, rows } => Source::Startup { input: boxed(self, input), conds, rows },
            Source::Project { input, exprs, view, rows } => {
                Source::Project { input: boxed(self, input), exprs, view, rows }
            }
            Source::Count { input, reg, stop, conds, rows } => {
                Source::Count { input: boxed(self, input), reg, stop, conds, rows }
            }
            Source::Window { input, funcs, regs, rows } => {
                Source::Window { input: boxed(self, input), funcs, regs, rows }
            }
            Source::Limit { input, offset, count, percent, ties, rows } => {
                Source::Limit { input: boxed(self, input), offset, count, percent, ties, rows }
            }
            Source::Set { kind, inputs, out, recursion: None, rows } => {
                let inputs = inputs.into_iter().map(|(input, exprs)| (self.place(input, subs), exprs)).collect();
                Source::Set { kind, inputs, out, recursion: None, rows }
            }
            other => other,
        }
    }

    /// Puts a coordinator above a part.
    fn coordinate(&mut self, mut input: Source, (degree, because): (u32, Because)) -> Source {
        drive(&mut input);
        let rows = input.rows().unwrap_or(UNKNOWN_ROWS);
        let id = self.coordinators;
        self.coordinators += 1;
        let note = Note::Degree(degree, because as u8);
        if !self.notes.iter().any(|note| matches!(note, Note::Degree(..))) {
            self.notes.push(note);
        }
        let regs = produced(&input);
        Source::Parallel { input: Box::new(input), id, degree, regs, rows }
    }

    /// Aggregation in two steps, if every aggregate can be computed from partial aggregates; otherwise only its input
    /// is parallel.
    fn group(
        &mut self,
        input: Source,
        degree: (u32, Because),
        Grouping { keys, sets, aggs }: Grouping,
        scalar: bool,
        rows: f64,
    ) -> Source {
        if !aggs.iter().all(is_of_parts) || keys.is_empty() && !scalar {
            let input = Box::new(self.coordinate(input, degree));
            return Source::Group { input, keys, sets, aggs, scalar, rows };
        }
        let mut below_keys = Vec::with_capacity(keys.len());
        let mut above_keys = Vec::with_capacity(keys.len());
        for (e, reg) in keys {
            let part = self.new_reg();
            above_keys.push((Expr::new(Node::Reg(part), e.ty), reg));
            below_keys.push((e, part));
        }
        let (mut below, mut above, mut averages) = (Vec::new(), Vec::new(), Vec::new());
        for agg in aggs {
            match agg.kind {
                AggKind::Grouping | AggKind::GroupingId | AggKind::GroupId => above.push(agg),
                AggKind::Avg => {
                    let (sum, count) = (self.new_reg(), self.new_reg());
                    let ty = agg.ty;
                    let of = |c: &mut Self, kind, above: &mut Vec<Agg>, below: &mut Vec<Agg>, out| {
                        let part = c.new_reg();
                        below.push(Agg { kind, out: part, ..agg.clone() });
                        above.push(Agg { args: vec![Expr::new(Node::Reg(part), ty)], ..plain(AggKind::Sum, out, ty) });
                    };
                    of(self, AggKind::Sum, &mut above, &mut below, sum);
                    of(self, AggKind::Count, &mut above, &mut below, count);
                    let reg = |reg| Box::new(Expr::new(Node::Reg(reg), ty));
                    averages.push((Expr::new(Node::Arith(ArithOp::Div, reg(sum), reg(count)), ty), agg.out));
                }
                kind => {
                    let kind = match kind {
                        AggKind::CountStar | AggKind::Count => AggKind::Sum,
                        other => other,
                    };
                    let part = self.new_reg();
                    let args = vec![Expr::new(Node::Reg(part), agg.ty)];
                    above.push(Agg { args, ..plain(kind, agg.out, agg.ty) });
                    below.push(Agg { out: part, ..agg });
                }
            }
        }
        let most = input.rows().unwrap_or(rows);
        let all = (0..below_keys.len()).collect::<Vec<_>>();
        let below = Source::Group {
            input: Box::new(input),
            sets: if scalar && below_keys.is_empty() { sets.clone() } else { vec![all] },
            keys: below_keys,
            aggs: below,
            scalar,
            rows: if scalar { 1.0 } else { (rows * f64::from(degree.0)).min(most) },
        };
        let input = Box::new(self.coordinate(below, degree));
        let group = Source::Group { input, keys: above_keys, sets, aggs: above, scalar, rows };
        if averages.is_empty() {
            return group;
        }
        Source::Project { input: Box::new(group), exprs: averages, view: None, rows }
    }
}

/// An aggregate without DISTINCT, order or other options.
fn plain(kind: AggKind, out: Reg, ty: DataType) -> Agg {
    Agg {
        kind,
        distinct: false,
        args: Vec::new(),
        order: Vec::new(),
        keep_last: None,
        keys: Vec::new(),
        ignore_nulls: false,
        from_last: false,
        truncate: None,
        out,
        ty,
    }
}

/// Whether an aggregate can be computed from partial aggregates. Sums of inexact numbers depend on the order of the
/// rows.
fn is_of_parts(agg: &Agg) -> bool {
    use AggKind::*;
    let is_number = matches!(agg.ty, DataType::Number { .. });
    let is_plain = !agg.distinct && agg.keep_last.is_none() && agg.order.is_empty();
    match agg.kind {
        Grouping | GroupingId | GroupId => true,
        CountStar | Count | Min | Max => is_plain,
        Sum | Avg => is_plain && is_number && agg.args.iter().all(|e| matches!(e.ty, DataType::Number { .. })),
        _ => false,
    }
}

fn is_safe_group(keys: &[(Expr, Reg)], aggs: &[Agg], subs: &[SubPlan]) -> bool {
    let args = aggs.iter().flat_map(|agg| &agg.args);
    are_safe(keys.iter().map(|(e, _)| e).chain(args), subs)
}

/// The degree of a row source that may run in several processes, each with other rows of its driving scan.
fn driven(source: &Source, subs: &[SubPlan]) -> Option<(u32, Because)> {
    let is_safe = || {
        let mut all = true;
        source.for_each_expr(&mut |e| all &= is_safe(e, subs));
        all
    };
    match source {
        Source::Scan(scan) => {
            let is_driver = scan.degree > 1
                && matches!(scan.access, Access::Full)
                && matches!(scan.table.organization, Organization::Heap(_))
                && is_plain_scan(scan)
                && is_safe();
            let because = [Because::Hint, Because::Table, Because::Session];
            is_driver.then(|| (scan.degree, because[usize::from(scan.degree_because.min(2))]))
        }
        Source::Filter { input, .. } | Source::Project { input, .. } | Source::JoinFilter { input, .. } => {
            driven(input, subs).filter(|_| is_safe())
        }
        Source::HashJoin { left, right, kind, build, .. } => {
            let (built, probing) = match (kind, build) {
                (JoinKind::Full, _) => return None,
                (JoinKind::Inner, Side::Left) => (left, right),
                (_, Side::Right) => (right, left),
                // Each process would return build rows without a match of its own.
                (_, Side::Left) => return None,
            };
            driven(probing, subs).filter(|_| is_safe() && is_whole(built, subs))
        }
        Source::NestedLoops { left, right, kind, .. } => {
            driven(left, subs).filter(|_| *kind != JoinKind::Full && is_safe() && is_whole(right, subs))
        }
        _ => None,
    }
}

/// Whether each process may read the whole row source and finds the same rows.
fn is_whole(source: &Source, subs: &[SubPlan]) -> bool {
    let mut may = match source {
        Source::Scan(scan) => is_plain_scan(scan),
        Source::Sort { top, .. } => top.is_none(),
        Source::Dual
        | Source::Empty
        | Source::Filter { .. }
        | Source::Startup { .. }
        | Source::Project { .. }
        | Source::NestedLoops { .. }
        | Source::HashJoin { .. }
        | Source::MergeJoin { .. }
        | Source::JoinFilter { .. }
        | Source::Buffer { .. }
        | Source::Distinct { .. }
        | Source::Group { .. } => true,
        Source::Set { inputs, recursion, .. } => {
            recursion.is_none() && inputs.iter().all(|(_, exprs)| are_safe(exprs, subs))
        }
        Source::Fixed { .. }
        | Source::Cte { .. }
        | Source::Count { .. }
        | Source::Window { .. }
        | Source::ConnectBy(_)
        | Source::Limit { .. }
        | Source::ForUpdate { .. }
        | Source::Elements { .. }
        | Source::Parallel { .. } => false,
    };
    source.for_each_expr(&mut |e| may &= is_safe(e, subs));
    source.for_each_child(&mut |child| may = may && is_whole(child, subs));
    may
}

/// Whether a scan finds the same rows in every process.
fn is_plain_scan(scan: &Scan) -> bool {
    let table = &scan.table;
    let is_base = || Base::ALL.iter().any(|base| base.table().object == table.object);
    let is_named = |(at, _): &(u16, Reg)| {
        table.columns.get(usize::from(*at)).is_none_or(|column| matches!(column.data_type, DataType::Named(_)))
    };
    table.temporary.is_none()
        && scan.as_of.is_none()
        && scan.versions.is_none()
        && scan.pseudos.is_empty()
        && !matches!(table.organization, Organization::Fixed(_))
        && !scan.columns.iter().any(is_named)
        && !is_base()
}

fn are_safe<'e>(exprs: impl IntoIterator<Item = &'e Expr>, subs: &[SubPlan]) -> bool {
    exprs.into_iter().all(|e| is_safe(e, subs))
}

/// Whether an expression has the same value in every process.
fn is_safe(e: &Expr, subs: &[SubPlan]) -> bool {
    if matches!(e.ty, DataType::Named(_) | DataType::Cursor) {
        return false;
    }
    let mut safe = true;
    e.walk(&mut |e| {
        safe &= match &e.node {
            Node::Call(..) | Node::SysContext(..) | Node::Nextval(_) | Node::Currval(_) => false,
            Node::Special(Special::SysGuid) => false,
            Node::Func(f, _) => f.0.deterministic,
            Node::Scalar(sub) | Node::Exists(sub) => is_whole_sub(*sub, subs),
            Node::InSub { sub, .. } | Node::Quantified { sub, .. } => is_whole_sub(*sub, subs),
            _ => true,
        };
    });
    safe
}

fn is_whole_sub(sub: SubId, subs: &[SubPlan]) -> bool {
    subs.get(sub).is_some_and(|sub| {
        sub.multiset.is_none() && sub.steady && is_whole(&sub.source, subs) && are_safe(&sub.out, subs)
    })
}

/// Makes the driving scan of a part read other blocks in each process.
fn drive(source: &mut Source) {
    match source {
        Source::Scan(scan) => scan.granules = true,
        Source::Filter { input, .. }
        | Source::Project { input, .. }
        | Source::JoinFilter { input, .. }
        | Source::Group { input, .. }
        | Source::Distinct { input, .. }
        | Source::Sort { input, .. } => drive(input),
        Source::HashJoin { left, right, build, .. } => match build {
            Side::Left => drive(right),
            Side::Right => drive(left),
        },
        Source::NestedLoops { left, .. } => drive(left),
        _ => {}
    }
}

/// Removes registers that are not read above from the rows sent to coordinators.
fn prune(source: &mut Source, out: &[Expr], subs: &[SubPlan]) {
    let mut read = HashSet::new();
    let mut note = |e: &Expr| {
        e.walk(&mut |e| {
            if let Node::Reg(reg) = e.node {
                read.insert(reg);
            }
        });
    };
    out.iter().for_each(&mut note);
    for sub in subs {
        sub.out.iter().for_each(&mut note);
        sub.source.walk(&mut |source| source.for_each_expr(&mut note));
    }
    above(source, &mut |source| {
        source.for_each_expr(&mut note);
    });
    above(source, &mut |source| {
        if let Source::Distinct { regs, .. } = source {
            read.extend(regs);
        }
    });
    prune_below(source, &read);
}

/// Calls `f` on the row sources without a coordinator above them.
fn above(source: &Source, f: &mut dyn FnMut(&Source)) {
    if !matches!(source, Source::Parallel { .. }) {
        f(source);
        source.for_each_child(&mut |child| above(child, f));
    }
}

fn prune_below(source: &mut Source, read: &HashSet<Reg>) {
    if let Source::Parallel { regs, .. } = source {
        regs.retain(|reg| read.contains(reg));
        return;
    }
    if let Source::Sort { input, regs, .. } = source {
        prune_below(input, read);
        let kept = produced(input);
        regs.retain(|reg| kept.contains(reg));
        return;
    }
    source.for_each_child_mut(&mut |child| prune_below(child, read));
}
