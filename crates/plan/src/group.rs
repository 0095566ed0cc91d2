//! GROUP BY, aggregates and window functions.
//!
//! A grouped block is first resolved as if it were not grouped, with aggregates as registers. Then every expression
//! above the grouping is rewritten: an expression equal to a grouping key becomes the key's register, and any other
//! column is ORA-00979 (ORA-00937 without GROUP BY). A key that is a plain column keeps its register, so that
//! subqueries in the select list need no rewriting.

use crate::ir::*;
use crate::logical::Rel;
use crate::refusals::unsupported;
use crate::scope::*;
use crate::sort_keys::sort_item;
use crate::typing::*;
use sql::ast::{self, ExprKind, GroupElement};
use types::{DataType, Ora, Result};

/// The keys of GROUP BY and its grouping sets.
#[derive(Default)]
pub struct GroupShape {
    pub keys: Vec<Expr>,
    /// Positions in `keys`.
    pub sets: Vec<Vec<usize>>,
}

impl Compiler<'_> {
    pub fn group_by(&mut self, g: &ast::GroupBy, shape: &mut GroupShape) -> Result<()> {
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for element in &g.elements {
            let more = self.group_element(element, shape)?;
            // Several grouping elements form the product of their sets.
            sets = sets
                .iter()
                .flat_map(|a| {
                    more.iter().map(move |b| {
                        let mut set = a.clone();
                        set.extend(b.iter().filter(|k| !a.contains(k)));
                        set
                    })
                })
                .collect();
            if sets.len() > 4096 {
                return Err(Ora::new(30485).at(g.pos.0));
            }
        }
        shape.sets = sets;
        Ok(())
    }

    fn group_element(&mut self, e: &GroupElement, shape: &mut GroupShape) -> Result<Vec<Vec<usize>>> {
        Ok(match e {
            GroupElement::Expr(e) => vec![self.group_columns(e, shape)?],
            GroupElement::Rollup(items) => {
                let items = self.group_items(items, shape)?;
                (0..=items.len()).rev().map(|n| items[..n].concat()).collect()
            }
            GroupElement::Cube(items) => {
                let items = self.group_items(items, shape)?;
                if items.len() > 12 {
                    return Err(Ora::new(30485));
                }
                let all = 1usize << items.len();
                let pick = |mask: usize| {
                    let chosen = items.iter().enumerate().filter(move |(i, _)| mask >> i & 1 == 1);
                    chosen.flat_map(|(_, keys)| keys.iter().copied()).collect::<Vec<_>>()
                };
                (0..all).rev().map(pick).collect()
            }
            GroupElement::GroupingSets(elements) => {
                let mut sets = Vec::new();
                for e in elements {
                    sets.extend(self.group_element(e, shape)?);
                }
                sets
            }
        })
    }

    fn group_items(&mut self, items: &[ast::Expr], shape: &mut GroupShape) -> Result<Vec<Vec<usize>>> {
        items.iter().map(|e| self.group_columns(e, shape)).collect()
    }

    /// The keys of one element; a composite element `(a, b)` has several.
    fn group_columns(&mut self, e: &ast::Expr, shape: &mut GroupShape) -> Result<Vec<usize>> {
        if let ExprKind::Row(items) = &e.kind {
            let mut keys = Vec::new();
            for item in items {
                keys.extend(self.group_columns(item, shape)?);
            }
            return Ok(keys);
        }
        let expr = self.expr(e)?;
        let mut subquery = false;
        expr.walk(&mut |x| subquery |= matches!(x.node, Node::Scalar(_)));
        if subquery {
            return Err(Ora::new(22818).at(e.pos.0)); // Subquery expressions not allowed here
        }
        check_comparable(&expr.ty, e.pos.0)?;
        let at = shape.keys.iter().position(|k| self.is_same(k, &expr)).unwrap_or_else(|| {
            shape.keys.push(expr);
            shape.keys.len() - 1
        });
        Ok(vec![at])
    }

    /// Puts the grouping above `input` and rewrites the expressions above it.
    #[allow(clippy::too_many_arguments)]
    pub fn build_group(
        &mut self,
        input: Rel,
        shape: GroupShape,
        out: &mut [Expr],
        having: &mut Vec<Expr>,
        order: &mut [SortKey],
        places: &[u32],
        has_group_by: bool,
    ) -> Result<Rel> {
        let mut keys: Vec<(Expr, Reg)> = Vec::new();
        let available = self.produced(&input);
        for key in shape.keys {
            let reg = match key.node {
                Node::Reg(r) if available.binary_search(&r).is_ok() && !keys.iter().any(|(_, k)| *k == r) => r,
                _ => self.new_reg(),
            };
            keys.push((key, reg));
        }
        let sets = if has_group_by { shape.sets } else { vec![Vec::new()] };
        let nested = std::mem::take(&mut self.block().nested);
        for (value, at) in std::mem::take(&mut self.block().fixed) {
            let mut is_key = false;
            keys.iter().for_each(|(key, _)| key.walk(&mut |part| is_key |= self.is_same(part, &value)));
            if !is_key {
                return Err(Ora::new(if has_group_by { 979 } else { 937 }).at(at));
            }
        }
        let rewriter = Regroup { keys: &keys, available: &available, code: if has_group_by { 979 } else { 937 } };
        if nested.is_empty() {
            for (i, e) in out.iter_mut().enumerate() {
                let e2 = std::mem::replace(e, null());
                *e = rewriter.rewrite(self, e2, places.get(i).copied().unwrap_or(0))?;
            }
        }
        for e in having.iter_mut() {
            let e2 = std::mem::replace(e, null());
            *e = Regroup { code: 979, ..rewriter }.rewrite(self, e2, 0)?;
        }
        for key in order.iter_mut().filter(|_| nested.is_empty()) {
            let e2 = std::mem::replace(&mut key.expr, null());
            key.expr = Regroup { code: 979, ..rewriter }.rewrite(self, e2, 0)?;
        }
        let nested = nested
            .into_iter()
            .map(|mut agg| {
                for e in agg.args.iter_mut().chain(agg.order.iter_mut().map(|key| &mut key.expr)) {
                    let e2 = std::mem::replace(e, null());
                    *e = Regroup { code: 979, ..rewriter }.rewrite(self, e2, 0)?;
                }
                Ok(agg)
            })
            .collect::<Result<Vec<_>>>()?;
        let mut windows = std::mem::take(&mut self.block().windows);
        for w in &mut windows {
            w.each_expr_mut(&mut |e| {
                let e2 = std::mem::replace(e, null());
                *e = rewriter.rewrite(self, e2, 0)?;
                Ok(())
            })?;
        }
        self.block().windows = windows;
        let mut aggs = std::mem::take(&mut self.block().aggs);
        for agg in &mut aggs {
            if matches!(agg.kind, AggKind::Grouping | AggKind::GroupingId) {
                let args = std::mem::take(&mut agg.args);
                for a in args {
                    let at = keys.iter().position(|(k, _)| *k == a);
                    agg.keys.push(at.ok_or_else(|| Ora::new(979))?);
                }
            }
        }
        let groups = Rel::Group { input: Box::new(input), keys, sets, aggs, scalar: !has_group_by };
        if nested.is_empty() {
            return Ok(groups);
        }
        self.group_again(groups, nested, available, out, having, order, places)
    }

    /// Adds aggregates over the groups. Expressions above may name nothing but these aggregates.
    #[allow(clippy::too_many_arguments)]
    fn group_again(
        &mut self,
        groups: Rel,
        aggs: Vec<Agg>,
        mut below: Vec<Reg>,
        out: &mut [Expr],
        having: &mut Vec<Expr>,
        order: &mut [SortKey],
        places: &[u32],
    ) -> Result<Rel> {
        below.extend(self.produced(&groups));
        below.sort_unstable();
        let rewriter = Regroup { keys: &[], available: &below, code: 937 };
        for (i, e) in out.iter_mut().enumerate() {
            let e2 = std::mem::replace(e, null());
            *e = rewriter.rewrite(self, e2, places.get(i).copied().unwrap_or(0))?;
        }
        for key in order.iter_mut() {
            let e2 = std::mem::replace(&mut key.expr, null());
            key.expr = rewriter.rewrite(self, e2, 0)?;
        }
        let having = std::mem::take(having);
        let input = if having.is_empty() { groups } else { Rel::Filter { input: Box::new(groups), conds: having } };
        Ok(Rel::Group { input: Box::new(input), keys: Vec::new(), sets: vec![Vec::new()], aggs, scalar: true })
    }

    /// An aggregate or window function, if `name` is one.
    pub fn aggregate_call(&mut self, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        let Some(name) = call.name.as_simple() else { return Ok(None) };
        let Some(kind) = aggregate_kind(name, call.over.is_some()) else { return Ok(None) };
        if let Some(window) = &call.over {
            return self.window_function(kind, call, window, pos).map(Some);
        }
        let is_window_only = is_window_only(kind);
        let Some(block) = self.blocks.last_mut() else { return Err(Ora::new(934).at(pos)) };
        if is_window_only {
            return Err(Ora::new(30484).at(pos)); // missing window specification
        }
        match block.clause {
            Clause::Select | Clause::Having | Clause::OrderBy => {}
            _ => return Err(Ora::new(934).at(pos)),
        }
        if block.in_aggregate {
            // An aggregate may be the argument of another one: the inner one is over each group, the outer one over all
            // groups.
            if block.in_nested || block.clause == Clause::Having {
                return Err(Ora::new(935).at(pos));
            }
            if !block.has_group_by {
                return Err(Ora::new(978).at(pos)); // nested group function without GROUP BY
            }
            block.in_nested = true;
            block.found_nested = true;
            let agg = self.aggregate(kind, call, pos);
            self.block().in_nested = false;
            return agg.map(|agg| Some(add_aggregate(&mut self.block().aggs, agg)));
        }
        block.in_aggregate = true;
        block.found_nested = false;
        let agg = self.aggregate(kind, call, pos);
        let block = self.block();
        block.in_aggregate = false;
        let list = if block.found_nested { &mut block.nested } else { &mut block.aggs };
        Ok(Some(add_aggregate(list, agg?)))
    }

    fn aggregate(&mut self, kind: AggKind, call: &ast::Call, pos: u32) -> Result<Agg> {
        let ast::Call {
            name: _, // not a clause: `kind` is derived from it
            distinct,
            args: given,
            within_group,
            keep,
            ignore_nulls,
            from_last,
            over,
            on_overflow,
        } = call;
        let star = matches!(given.first().map(|a| &a.value.kind), Some(ExprKind::Star));
        let kind = if kind == AggKind::Count && star { AggKind::CountStar } else { kind };
        if star && (kind != AggKind::CountStar || *distinct) {
            return Err(Ora::new(936).at(given[0].value.pos.0));
        }
        let mut args = Vec::new();
        for ast::Argument { name, value } in given {
            if let Some(name) = name {
                return Err(Ora::new(907).at(name.pos.0));
            }
            if kind != AggKind::CountStar {
                args.push(self.expr(value)?);
            }
        }
        check_arg_count(kind, args.len(), pos)?;
        let has_order = |e: &Expr| !matches!(e.ty, types::DataType::Named(_));
        if matches!(kind, AggKind::Min | AggKind::Max) && !args.iter().all(has_order) {
            return Err(Ora::new(22950).at(pos));
        }
        let mut order = Vec::new();
        for item in within_group {
            order.push(sort_item(self, item)?);
        }
        let is_percentile = matches!(kind, AggKind::PercentileCont | AggKind::PercentileDisc);
        match order.len() {
            0 if is_percentile => return Err(Ora::with(2000, &[&"WITHIN"]).at(pos)),
            0 => {}
            1 if is_percentile => {}
            _ if kind == AggKind::Listagg => {}
            _ if is_percentile => return Err(Ora::new(909).at(pos)),
            _ => return Err(Ora::new(923).at(pos)), // WITHIN GROUP is not for this function
        }
        let mut is_descending = false;
        if is_percentile {
            let key = order.remove(0);
            is_descending = key.desc;
            args.insert(0, key.expr);
        }
        let mut keep_last = None;
        if let Some(ast::Keep { last, order_by }) = keep {
            if is_percentile || kind == AggKind::Listagg {
                return Err(Ora::new(923).at(pos));
            }
            keep_last = Some(*last);
            for item in order_by {
                order.push(sort_item(self, item)?);
            }
        }
        if on_overflow.is_some() {
            return Err(unsupported("ON OVERFLOW", pos));
        }
        let (args, ty) = aggregate_type(kind, args, pos)?;
        if *distinct {
            let place = |at: usize| given.get(at).map_or(pos, |arg| arg.value.pos.0);
            args.iter().enumerate().try_for_each(|(at, arg)| check_comparable(&arg.ty, place(at)))?;
        }
        let out = self.new_reg();
        if (ignore_nulls.is_some() && !takes_null_treatment(kind)) || (*from_last && kind != AggKind::NthValue) {
            return Err(Ora::new(if over.is_some() { 907 } else { 923 }).at(pos));
        }
        Ok(Agg {
            kind,
            distinct: *distinct,
            args,
            order,
            keep_last,
            keys: Vec::new(),
            ignore_nulls: *ignore_nulls == Some(true),
            from_last: *from_last || is_descending,
            out,
            ty,
        })
    }

    fn window_function(&mut self, kind: AggKind, call: &ast::Call, w: &ast::Window, pos: u32) -> Result<Expr> {
        match self.blocks.last() {
            Some(b) if matches!(b.clause, Clause::Select | Clause::OrderBy) && !b.in_window && !b.in_aggregate => {}
            _ => return Err(Ora::new(30483).at(pos)), // window functions are not allowed here
        }
        if w.name.is_some() {
            return Err(unsupported("named window", pos));
        }
        if call.distinct && !w.order_by.is_empty() {
            return Err(Ora::new(30487).at(pos));
        }
        use AggKind::{Listagg, Median, PercentileCont, PercentileDisc, RatioToReport};
        let of_whole_partitions = matches!(kind, Listagg | Median | PercentileCont | PercentileDisc | RatioToReport);
        if of_whole_partitions && !(w.order_by.is_empty() && w.frame.is_none()) {
            return Err(Ora::new(30487).at(pos)); // ORDER BY not allowed here
        }
        self.block().in_window = true;
        let result = self.window_parts(kind, call, w, pos);
        self.block().in_window = false;
        let func = result?;
        let value = Expr::new(Node::Reg(func.agg.out), func.agg.ty);
        self.block().windows.push(func);
        Ok(value)
    }

    fn window_parts(&mut self, kind: AggKind, call: &ast::Call, w: &ast::Window, pos: u32) -> Result<WindowFunc> {
        let agg = self.aggregate(kind, call, pos)?;
        let mut partition = Vec::new();
        for e in &w.partition_by {
            let key = self.expr(e)?;
            check_comparable(&key.ty, e.pos.0)?;
            partition.push(key);
        }
        let mut order = Vec::new();
        for item in &w.order_by {
            order.push(sort_item(self, item)?);
        }
        let needs_order = matches!(
            kind,
            AggKind::RowNumber
                | AggKind::Rank
                | AggKind::DenseRank
                | AggKind::PercentRank
                | AggKind::CumeDist
                | AggKind::Ntile
                | AggKind::Lag
                | AggKind::Lead
        );
        if needs_order && order.is_empty() {
            return Err(Ora::new(30485).at(pos)); // missing ORDER BY expression in the window specification
        }
        let frame = match &w.frame {
            None => None,
            Some(f) => {
                if f.unit == ast::FrameUnit::Groups {
                    return Err(unsupported("GROUPS frame", pos));
                }
                let start = self.frame_bound(&f.start)?;
                let end = match &f.end {
                    Some(e) => self.frame_bound(e)?,
                    None => Bound::CurrentRow,
                };
                Some(Frame { rows: f.unit == ast::FrameUnit::Rows, start, end })
            }
        };
        Ok(WindowFunc { agg, partition, order, frame })
    }

    fn frame_bound(&mut self, b: &ast::FrameBound) -> Result<Bound> {
        Ok(match b {
            ast::FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            ast::FrameBound::CurrentRow => Bound::CurrentRow,
            ast::FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
            ast::FrameBound::Preceding(e) => Bound::Preceding(self.expr(e)?),
            ast::FrameBound::Following(e) => Bound::Following(self.expr(e)?),
        })
    }
}

impl WindowFunc {
    /// Calls `f` with each expression of the function.
    pub fn each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        for e in self.agg.args.iter_mut().chain(&mut self.partition) {
            f(e)?;
        }
        for key in self.agg.order.iter_mut().chain(&mut self.order) {
            f(&mut key.expr)?;
        }
        if let Some(frame) = &mut self.frame {
            for b in [&mut frame.start, &mut frame.end] {
                if let Bound::Preceding(e) | Bound::Following(e) = b {
                    f(e)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether RESPECT NULLS and IGNORE NULLS are allowed for the function.
fn takes_null_treatment(kind: AggKind) -> bool {
    use AggKind::*;
    matches!(kind, FirstValue | LastValue | NthValue | Lag | Lead)
}

/// Adds an aggregate to a list, unless it is already there, and returns its value.
fn add_aggregate(list: &mut Vec<Agg>, agg: Agg) -> Expr {
    let same = list.iter().find(|a| Agg { out: agg.out, ..(*a).clone() } == agg);
    if let Some(same) = same {
        return Expr::new(Node::Reg(same.out), same.ty);
    }
    let value = Expr::new(Node::Reg(agg.out), agg.ty);
    list.push(agg);
    value
}

/// Rewrites expressions above a grouping.
#[derive(Clone, Copy)]
struct Regroup<'k> {
    keys: &'k [(Expr, Reg)],
    /// Registers below the grouping, in order.
    available: &'k [Reg],
    code: u32,
}

impl Regroup<'_> {
    fn rewrite(&self, c: &mut Compiler<'_>, mut e: Expr, place: u32) -> Result<Expr> {
        if let Some((_, reg)) = self.keys.iter().find(|(k, _)| c.is_same(k, &e)) {
            return Ok(Expr::new(Node::Reg(*reg), e.ty));
        }
        match &e.node {
            Node::Reg(r) => self.check(c, *r, place)?,
            Node::Scalar(s) | Node::Exists(s) | Node::InSub { sub: s, .. } | Node::Quantified { sub: s, .. } => {
                for r in c.subs[*s].outer.clone() {
                    self.check(c, r, place)?;
                }
            }
            _ => {}
        }
        let mut failed = None;
        e.for_each_child_mut(&mut |child| {
            if failed.is_none() {
                let taken = std::mem::replace(child, null());
                match self.rewrite(c, taken, place) {
                    Ok(done) => *child = done,
                    Err(error) => failed = Some(error),
                }
            }
        });
        failed.map_or(Ok(e), Err)
    }

    /// A column from below the grouping must be a key.
    fn check(&self, c: &mut Compiler<'_>, reg: Reg, place: u32) -> Result<()> {
        let is_key = self.keys.iter().any(|(_, k)| *k == reg);
        if is_key || self.available.binary_search(&reg).is_err() {
            return Ok(());
        }
        let at = c.place_of(reg).unwrap_or(place);
        Err(Ora::new(self.code).at(at))
    }
}

/// Whether a name is that of an aggregate or window function.
pub fn is_aggregate(name: &str, over: bool) -> bool {
    aggregate_kind(name, over).is_some()
}

fn aggregate_kind(name: &str, over: bool) -> Option<AggKind> {
    Some(match name {
        "COUNT" => AggKind::Count,
        "SUM" => AggKind::Sum,
        "AVG" => AggKind::Avg,
        "MIN" => AggKind::Min,
        "MAX" => AggKind::Max,
        "STDDEV" => AggKind::Stddev,
        "STDDEV_SAMP" => AggKind::StddevSamp,
        "STDDEV_POP" => AggKind::StddevPop,
        "VARIANCE" => AggKind::Variance,
        "VAR_SAMP" => AggKind::VarSamp,
        "VAR_POP" => AggKind::VarPop,
        "MEDIAN" => AggKind::Median,
        "PERCENTILE_CONT" => AggKind::PercentileCont,
        "PERCENTILE_DISC" => AggKind::PercentileDisc,
        "LISTAGG" => AggKind::Listagg,
        "GROUPING" if !over => AggKind::Grouping,
        "GROUPING_ID" if !over => AggKind::GroupingId,
        "GROUP_ID" if !over => AggKind::GroupId,
        "ROW_NUMBER" => AggKind::RowNumber,
        "RANK" => AggKind::Rank,
        "DENSE_RANK" => AggKind::DenseRank,
        "PERCENT_RANK" => AggKind::PercentRank,
        "CUME_DIST" => AggKind::CumeDist,
        "NTILE" => AggKind::Ntile,
        "LAG" => AggKind::Lag,
        "LEAD" => AggKind::Lead,
        "FIRST_VALUE" => AggKind::FirstValue,
        "LAST_VALUE" => AggKind::LastValue,
        "NTH_VALUE" => AggKind::NthValue,
        "RATIO_TO_REPORT" => AggKind::RatioToReport,
        _ => return None,
    })
}

fn is_window_only(kind: AggKind) -> bool {
    matches!(
        kind,
        AggKind::RowNumber
            | AggKind::Rank
            | AggKind::DenseRank
            | AggKind::PercentRank
            | AggKind::CumeDist
            | AggKind::Ntile
            | AggKind::Lag
            | AggKind::Lead
            | AggKind::FirstValue
            | AggKind::LastValue
            | AggKind::NthValue
            | AggKind::RatioToReport
    )
}

fn check_arg_count(kind: AggKind, n: usize, pos: u32) -> Result<()> {
    use AggKind::*;
    let (least, most) = match kind {
        CountStar | RowNumber | Rank | DenseRank | PercentRank | CumeDist | GroupId => (0, 0),
        Listagg | NthValue => (1 + usize::from(kind == NthValue), 2),
        Lag | Lead => (1, 3),
        GroupingId => (1, usize::MAX),
        _ => (1, 1),
    };
    if n < least {
        return Err(Ora::new(938 - u32::from(n == 0 && least == 1) * 29).at(pos)); // ORA-00909, ORA-00938
    }
    if n > most {
        return Err(Ora::new(909).at(pos)); // invalid number of arguments
    }
    Ok(())
}

/// Converts the arguments and gives the type of the result.
fn aggregate_type(kind: AggKind, mut args: Vec<Expr>, pos: u32) -> Result<(Vec<Expr>, DataType)> {
    use AggKind::*;
    let numeric = |args: &mut Vec<Expr>| -> Result<DataType> {
        let a = args.remove(0);
        let ty = match class(&a.ty) {
            Class::Double => DataType::BinaryDouble,
            Class::Float => DataType::BinaryFloat,
            Class::Number | Class::Text => number(),
            Class::IntervalDs | Class::IntervalYm => a.ty,
            _ => return Err(inconsistent("NUMBER", type_name(&a.ty), pos)),
        };
        args.insert(0, convert(a, &ty, pos)?);
        Ok(ty)
    };
    let ty = match kind {
        CountStar | Count | Grouping | GroupingId | GroupId | RowNumber | Rank | DenseRank | PercentRank | CumeDist => {
            number()
        }
        Sum | Avg | StddevSamp | Stddev | StddevPop | VarSamp | Variance | VarPop | RatioToReport => {
            numeric(&mut args)?
        }
        Median | PercentileCont => match class(&args[0].ty) {
            Class::Date | Class::Timestamp => args[0].ty,
            _ => numeric(&mut args)?,
        },
        PercentileDisc => match class(&args[0].ty) {
            Class::Lob | Class::Other => return Err(inconsistent("-", type_name(&args[0].ty), pos)),
            _ => args[0].ty,
        },
        Ntile => {
            numeric(&mut args)?;
            number()
        }
        Min | Max | FirstValue | LastValue | NthValue => {
            if matches!(class(&args[0].ty), Class::Lob | Class::Other) {
                return Err(inconsistent("-", type_name(&args[0].ty), pos));
            }
            match args[0].ty {
                // The longest value may be that of any row.
                DataType::Char { len, .. } if args[0].is_const() => text(len),
                ty => ty,
            }
        }
        Lag | Lead => {
            let ty = args[0].ty;
            if args.len() > 1 {
                let offset = args.remove(1);
                args.insert(1, convert(offset, &number(), pos)?);
            }
            if args.len() > 2 {
                let default = args.remove(2);
                args.push(convert(default, &ty, pos)?);
            }
            ty
        }
        Listagg => {
            args = args.into_iter().map(|a| convert(a, &text(4000), pos)).collect::<Result<_>>()?;
            text(4000)
        }
    };
    if matches!(kind, PercentileCont | PercentileDisc) {
        let fraction = args.remove(1);
        args.push(convert(fraction, &number(), pos)?);
    }
    Ok((args, ty))
}
