//! Aggregates and window functions.

use crate::ir::*;
use crate::refusals::unsupported;
use crate::resolve::Operands;
use crate::scope::*;
use crate::sort_keys::sort_item;
use crate::typing::*;
use sql::ast::{self, ExprKind};
use types::{DataType, Ora, Result};

impl Compiler<'_> {
    /// An aggregate or window function, if `name` is one.
    pub fn aggregate_call(&mut self, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        let Some(name) = call.name.as_simple() else { return Ok(None) };
        let Some(kind) = aggregate_kind(name, call.over.is_some()) else { return Ok(None) };
        if let Some(window) = &call.over {
            return self.window_function(kind, call, window, pos).map(Some);
        }
        let is_window_only = is_window_only(kind) && !is_hypothetical(kind, call);
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
            default_on_error,
            json,
            xml: _, // not a clause: no aggregate has any
        } = call;
        if default_on_error.is_some() {
            return Err(Ora::new(907).at(pos));
        }
        // APPROX_COUNT_DISTINCT is exact here.
        let distinct = &(*distinct || call.name.as_simple() == Some("APPROX_COUNT_DISTINCT"));
        let is_hypothetical = is_hypothetical(kind, call);
        let star = matches!(given.first().map(|a| &a.value.kind), Some(ExprKind::Star));
        let kind = if kind == AggKind::Count && star { AggKind::CountStar } else { kind };
        if star && (kind != AggKind::CountStar || *distinct) {
            return Err(Ora::new(936).at(given[0].value.pos.0));
        }
        let mut args = match json {
            Some(clauses) => self.json_aggregated(call, clauses, pos)?,
            None => Vec::new(),
        };
        let plain = if json.is_some() { &[][..] } else { given };
        for ast::Argument { name, value } in plain {
            if let Some(name) = name {
                return Err(Ora::new(907).at(name.pos.0));
            }
            if kind != AggKind::CountStar {
                args.push(self.operand(value)?);
            }
        }
        if is_hypothetical {
            if args.len() != within_group.len() {
                return Err(Ora::new(909).at(pos));
            }
        } else {
            check_arg_count(kind, args.len(), pos)?;
        }
        let has_order = |e: &Expr| !matches!(e.ty, types::DataType::Named(_) | types::DataType::Xml);
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
            _ if matches!(kind, AggKind::Listagg | AggKind::Collect | AggKind::JsonArray | AggKind::Xml) => {}
            _ if is_hypothetical => {
                for (arg, key) in args.iter_mut().zip(&order) {
                    *arg = convert(arg.clone(), &key.expr.ty, pos)?;
                }
            }
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
            if is_percentile
                || matches!(kind, AggKind::Listagg | AggKind::JsonArray | AggKind::JsonObject | AggKind::Xml)
            {
                return Err(Ora::new(923).at(pos));
            }
            keep_last = Some(*last);
            for item in order_by {
                order.push(sort_item(self, item)?);
            }
        }
        let truncate = match on_overflow {
            Some(_) if kind != AggKind::Listagg => return Err(Ora::new(907).at(pos)),
            None | Some(ast::Overflow::Error) => None,
            Some(ast::Overflow::Truncate { indicator, count }) => {
                let indicator = match indicator.as_ref().map(|e| (&e.kind, e.pos.0)) {
                    None => "...".to_owned(),
                    Some((ExprKind::Literal(ast::Literal::String { text, national: _ }), _)) => text.clone(),
                    Some((_, pos)) => return Err(Ora::new(30496).at(pos)),
                };
                Some((indicator, *count))
            }
        };
        let (args, ty) = match (kind, self.collects.take()) {
            (AggKind::Collect, Some((ty, element))) => {
                let args =
                    args.into_iter().map(|arg| convert(arg, &element, pos).map(|arg| Expr { ty: element, ..arg }));
                let args = args.collect::<Result<_>>()?;
                (args, ty)
            }
            (AggKind::Collect, None) => return Err(unsupported("COLLECT without CAST", pos)),
            (_, collects) => {
                self.collects = collects;
                aggregate_type(kind, args, pos)?
            }
        };
        if *distinct && (kind.is_of_pairs() || is_hypothetical) {
            return Err(Ora::new(30482).at(pos));
        }
        if *distinct {
            let place = |at: usize| given.get(at).map_or(pos, |arg| arg.value.pos.0);
            args.iter().enumerate().try_for_each(|(at, arg)| self.check_grouping(&arg.ty, place(at)))?;
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
            truncate,
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
            let key = self.operand(e)?;
            self.check_grouping(&key.ty, e.pos.0)?;
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
            ast::FrameBound::Preceding(e) => Bound::Preceding(self.operand(e)?),
            ast::FrameBound::Following(e) => Bound::Following(self.operand(e)?),
        })
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
        "COLLECT" if !over => AggKind::Collect,
        "STATS_MODE" if !over => AggKind::StatsMode,
        "CORR" => AggKind::Corr,
        "COVAR_POP" => AggKind::CovarPop,
        "COVAR_SAMP" => AggKind::CovarSamp,
        "REGR_SLOPE" => AggKind::RegrSlope,
        "REGR_INTERCEPT" => AggKind::RegrIntercept,
        "REGR_COUNT" => AggKind::RegrCount,
        "REGR_R2" => AggKind::RegrR2,
        "REGR_AVGX" => AggKind::RegrAvgx,
        "REGR_AVGY" => AggKind::RegrAvgy,
        "REGR_SXX" => AggKind::RegrSxx,
        "REGR_SYY" => AggKind::RegrSyy,
        "REGR_SXY" => AggKind::RegrSxy,
        "APPROX_COUNT_DISTINCT" if !over => AggKind::Count,
        "APPROX_MEDIAN" if !over => AggKind::Median,
        "APPROX_PERCENTILE" if !over => AggKind::PercentileCont,
        "JSON_ARRAYAGG" if !over => AggKind::JsonArray,
        "JSON_OBJECTAGG" if !over => AggKind::JsonObject,
        "XMLAGG" if !over => AggKind::Xml,
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

/// Whether a call asks for the rank of a hypothetical row: `RANK(values) WITHIN GROUP (ORDER BY …)`.
fn is_hypothetical(kind: AggKind, call: &ast::Call) -> bool {
    is_of_hypothetical_row(kind) && !call.within_group.is_empty() && call.over.is_none()
}

/// Whether an aggregate with arguments has them for a hypothetical row.
pub fn is_of_hypothetical_row(kind: AggKind) -> bool {
    use AggKind::*;
    matches!(kind, Rank | DenseRank | PercentRank | CumeDist)
}

fn check_arg_count(kind: AggKind, n: usize, pos: u32) -> Result<()> {
    use AggKind::*;
    let (least, most) = match kind {
        _ if kind.is_of_pairs() => (2, 2),
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
        Collect => return Err(unsupported("COLLECT without CAST", pos)),
        CountStar | Count | Grouping | GroupingId | GroupId | RowNumber | Rank | DenseRank | PercentRank | CumeDist => {
            number()
        }
        Corr | CovarPop | CovarSamp | RegrSlope | RegrIntercept | RegrCount | RegrR2 | RegrAvgx | RegrAvgy
        | RegrSxx | RegrSyy | RegrSxy => {
            for arg in &mut args {
                if !matches!(class(&arg.ty), Class::Number | Class::Text | Class::Float | Class::Double) {
                    return Err(inconsistent("NUMBER", type_name(&arg.ty), pos));
                }
                *arg = convert(arg.clone(), &number(), pos)?;
            }
            number()
        }
        Sum | Avg | StddevSamp | Stddev | StddevPop | VarSamp | Variance | VarPop | RatioToReport => {
            numeric(&mut args)?
        }
        Median | PercentileCont => match class(&args[0].ty) {
            Class::Date | Class::Timestamp => args[0].ty,
            _ => numeric(&mut args)?,
        },
        PercentileDisc | StatsMode => match class(&args[0].ty) {
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
        JsonArray | JsonObject => DataType::Clob,
        Xml => match args[0].ty {
            DataType::Xml | DataType::Null => DataType::Xml,
            ty => return Err(inconsistent("SYS.XMLTYPE", type_name(&ty), pos)),
        },
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
