//! Queries.

use super::{Alias, Clause, List};
use crate::ast::*;
use std::fmt::{self, Display, Formatter};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.with.is_empty() {
            write!(f, "WITH {} ", List(&self.with))?;
        }
        self.body.fmt(f)?;
        if let Some(order_by) = &self.order_by {
            let siblings = if order_by.siblings { "SIBLINGS " } else { "" };
            write!(f, " ORDER {siblings}BY {}", List(&order_by.items))?;
        }
        if let Some(limit) = &self.limit {
            limit.fmt(f)?;
        }
        if let Some(for_update) = &self.for_update {
            f.write_str(" FOR UPDATE")?;
            if !for_update.of.is_empty() {
                write!(f, " OF {}", List(&for_update.of))?;
            }
            for_update.wait.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for LockWait {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            LockWait::Wait => Ok(()),
            LockWait::NoWait => f.write_str(" NOWAIT"),
            LockWait::Seconds(seconds) => write!(f, " WAIT {seconds}"),
            LockWait::SkipLocked => f.write_str(" SKIP LOCKED"),
        }
    }
}

impl Display for RowLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(offset) = &self.offset {
            write!(f, " OFFSET {offset} ROWS")?;
        }
        let Some(fetch) = &self.fetch else {
            return Ok(());
        };
        f.write_str(" FETCH FIRST")?;
        if let Some(count) = &fetch.count {
            write!(f, " {count}")?;
        }
        if fetch.percent {
            f.write_str(" PERCENT")?;
        }
        f.write_str(if fetch.with_ties { " ROWS WITH TIES" } else { " ROWS ONLY" })
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        write!(f, " AS ({})", self.query)?;
        if let Some(Search { depth_first, keys, sequence }) = &self.search {
            let order = if *depth_first { "DEPTH" } else { "BREADTH" };
            write!(f, " SEARCH {order} FIRST BY {} SET {sequence}", List(keys))?;
        }
        if let Some(Cycle { columns, mark, value, otherwise }) = &self.cycle {
            write!(f, " CYCLE {} SET {mark} TO {value} DEFAULT {otherwise}", List(columns))?;
        }
        Ok(())
    }
}

impl Display for SearchKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.column.fmt(f)?;
        direction(self.descending, self.nulls_first, f)
    }
}

impl Display for QueryBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            QueryBody::Select(select) => select.fmt(f),
            QueryBody::Nested(query) => write!(f, "({query})"),
            QueryBody::SetOperation { op, all, left, right, .. } => {
                let op = match op {
                    SetOp::Union => "UNION",
                    SetOp::Intersect => "INTERSECT",
                    SetOp::Minus => "MINUS",
                };
                write!(f, "{left} {op}{} {right}", if *all { " ALL" } else { "" })
            }
        }
    }
}

impl Display for Hints {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() { Ok(()) } else { write!(f, " /*+ {} */", self.text) }
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { " DISTINCT" } else { "" };
        write!(f, "SELECT{}{distinct} {}", self.hints, List(&self.items))?;
        if let Some(into) = &self.into {
            write!(f, " {into}")?;
        }
        write!(f, " FROM {}{}", List(&self.from), Clause("WHERE", &self.filter))?;
        if let Some(connect_by) = &self.connect_by {
            let nocycle = if connect_by.nocycle { "NOCYCLE " } else { "" };
            write!(f, "{} CONNECT BY {nocycle}{}", Clause("START WITH", &connect_by.start_with), connect_by.condition)?;
        }
        if let Some(group_by) = &self.group_by {
            write!(f, " GROUP BY {}", List(&group_by.elements))?;
        }
        Clause("HAVING", &self.having).fmt(f)
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SelectItemKind::Star => f.write_str("*"),
            SelectItemKind::TableStar(name) => write!(f, "{name}.*"),
            SelectItemKind::Expr { expr, alias: Some(alias), .. } => write!(f, "{expr} AS \"{}\"", alias.name),
            SelectItemKind::Expr { expr, .. } => expr.fmt(f),
        }
    }
}

impl Display for IntoClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}INTO {}", if self.bulk { "BULK COLLECT " } else { "" }, List(&self.targets))
    }
}

impl Display for GroupElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GroupElement::Expr(expr) => expr.fmt(f),
            GroupElement::Rollup(list) => write!(f, "ROLLUP({})", List(list)),
            GroupElement::Cube(list) => write!(f, "CUBE({})", List(list)),
            GroupElement::GroupingSets(list) => write!(f, "GROUPING SETS ({})", List(list)),
        }
    }
}

impl Display for OrderItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)?;
        direction(self.descending, self.nulls_first, f)
    }
}

fn direction(descending: bool, nulls_first: Option<bool>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(if descending { " DESC" } else { "" })?;
    match nulls_first {
        Some(true) => f.write_str(" NULLS FIRST"),
        Some(false) => f.write_str(" NULLS LAST"),
        None => Ok(()),
    }
}

impl Display for Versions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let by_scn = !matches!((&self.low, &self.high), (Some(AsOf::Timestamp(_)), _) | (_, Some(AsOf::Timestamp(_))));
        write!(f, "VERSIONS BETWEEN {} ", if by_scn { "SCN" } else { "TIMESTAMP" })?;
        let bound = |f: &mut Formatter<'_>, bound: &Option<AsOf>, none: &str| match bound {
            Some(AsOf::Scn(e) | AsOf::Timestamp(e)) => write!(f, "{e}"),
            None => f.write_str(none),
        };
        bound(f, &self.low, "MINVALUE")?;
        f.write_str(" AND ")?;
        bound(f, &self.high, "MAXVALUE")
    }
}

impl Display for AsOf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AsOf::Scn(e) => write!(f, "AS OF SCN {e}"),
            AsOf::Timestamp(e) => write!(f, "AS OF TIMESTAMP {e}"),
        }
    }
}

impl Display for TableRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TableRefKind::Table(table) => table.fmt(f),
            TableRefKind::Subquery { query, restriction, lateral, as_of, alias, pivot } => {
                let restriction = match restriction {
                    Some(Restriction::ReadOnly) => " WITH READ ONLY",
                    Some(Restriction::CheckOption) => " WITH CHECK OPTION",
                    None => "",
                };
                write!(f, "{}({query}{restriction})", if *lateral { "LATERAL " } else { "" })?;
                as_of.iter().try_for_each(|as_of| write!(f, " {as_of}"))?;
                pivot.iter().try_for_each(|pivot| write!(f, " {pivot}"))?;
                Alias(alias).fmt(f)
            }
            TableRefKind::Collection { expr, outer, alias } => {
                match &expr.kind {
                    ExprKind::Subquery(query) => write!(f, "TABLE({query})")?,
                    ExprKind::Call(call) if call.json.is_some() || call.xml.is_some() => write!(f, "{expr}")?,
                    _ => write!(f, "TABLE({expr})")?,
                }
                f.write_str(if *outer { " (+)" } else { "" })?;
                Alias(alias).fmt(f)
            }
            TableRefKind::Join { kind, left, right, constraint } => {
                let natural = if *constraint == JoinConstraint::Natural { "NATURAL " } else { "" };
                let word = match kind {
                    JoinKind::Inner => "INNER JOIN",
                    JoinKind::Left => "LEFT OUTER JOIN",
                    JoinKind::Right => "RIGHT OUTER JOIN",
                    JoinKind::Full => "FULL OUTER JOIN",
                    JoinKind::Cross => "CROSS JOIN",
                    JoinKind::CrossApply => "CROSS APPLY",
                    JoinKind::OuterApply => "OUTER APPLY",
                };
                write!(f, "{left} {natural}{word} ")?;
                let nested = matches!(right.kind, TableRefKind::Join { .. });
                if nested {
                    write!(f, "({right})")?
                } else {
                    right.fmt(f)?
                }
                match constraint {
                    JoinConstraint::On(condition) => write!(f, " ON {condition}"),
                    JoinConstraint::Using(columns) => write!(f, " USING ({})", List(columns)),
                    JoinConstraint::None | JoinConstraint::Natural => Ok(()),
                }
            }
        }
    }
}

impl Display for PartitionRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.subpartition { "SUBPARTITION" } else { "PARTITION" })?;
        match &self.which {
            WhichPartition::Name(name) => write!(f, " ({name})"),
            WhichPartition::For(values) => write!(f, " FOR ({})", List(values)),
        }
    }
}

impl Display for TableName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        self.partition.iter().try_for_each(|partition| write!(f, " {partition}"))?;
        if let Some(sample) = &self.sample {
            write!(f, " SAMPLE {}({})", if sample.block { "BLOCK " } else { "" }, sample.percent)?;
            sample.seed.iter().try_for_each(|seed| write!(f, " SEED ({seed})"))?;
        }
        self.versions.iter().try_for_each(|versions| write!(f, " {versions}"))?;
        self.as_of.iter().try_for_each(|as_of| write!(f, " {as_of}"))?;
        self.pivot.iter().try_for_each(|pivot| write!(f, " {pivot}"))?;
        Alias(&self.alias).fmt(f)
    }
}

/// An expression with its alias in PIVOT.
struct Aliased<'a>(&'a (Expr, Option<Ident>));

impl Display for Aliased<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (expr, alias) = self.0;
        write!(f, "{expr}{}", Alias(alias))
    }
}

impl Display for Pivot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Pivot::Pivot { aggregates, columns, values, alias } => {
                let aggregates: Vec<Aliased<'_>> = aggregates.iter().map(Aliased).collect();
                let values: Vec<Aliased<'_>> = values.iter().map(Aliased).collect();
                let (aggregates, columns) = (List(&aggregates), List(columns));
                write!(f, "PIVOT ({aggregates} FOR ({columns}) IN ({})){}", List(&values), Alias(alias))
            }
            Pivot::Unpivot { include_nulls, values, names, columns, alias } => {
                let nulls = if *include_nulls { "INCLUDE" } else { "EXCLUDE" };
                write!(f, "UNPIVOT {nulls} NULLS (({}) FOR ({}) IN (", List(values), List(names))?;
                for (i, (columns, value)) in columns.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}({}){}", List(columns), Clause("AS", value))?;
                }
                write!(f, ")){}", Alias(alias))
            }
        }
    }
}
