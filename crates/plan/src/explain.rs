//! The plan as text, in the indented form of DBMS_XPLAN.

use crate::ir::*;
use crate::rows::{built_first, filter_name, hash_options};
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, source) = match &self.body {
            PlanBody::Query(q) => ("SELECT STATEMENT", Some(&q.source)),
            PlanBody::Insert(i) => match &i.source {
                InsertSource::Query(q) => ("INSERT STATEMENT", Some(&q.source)),
                InsertSource::Values(_) => ("INSERT STATEMENT", None),
            },
            PlanBody::InsertAll(i) => ("INSERT STATEMENT (MULTI-TABLE)", Some(&i.query.source)),
            PlanBody::Update(u) => ("UPDATE STATEMENT", Some(&u.source)),
            PlanBody::Delete(d) => ("DELETE STATEMENT", Some(&d.source)),
            PlanBody::Merge(m) => ("MERGE STATEMENT", Some(&m.source)),
            PlanBody::Instead(i) => match i.firing.event {
                TriggerEvent::Insert => ("INSERT STATEMENT", i.query.as_ref().map(|q| &q.source)),
                TriggerEvent::Update => ("UPDATE STATEMENT", i.query.as_ref().map(|q| &q.source)),
                TriggerEvent::Delete => ("DELETE STATEMENT", i.query.as_ref().map(|q| &q.source)),
            },
        };
        writeln!(f, "{what}")?;
        let mut depth = 1;
        if self.result_cache && self.cacheable.is_some() {
            writeln!(f, " RESULT CACHE")?;
            depth = 2;
        }
        if let Some(s) = source {
            line(s, depth, f)?;
        }
        for (i, s) in self.subs.iter().enumerate() {
            writeln!(f, "SUBQUERY {i}{}", if s.outer.is_empty() { "" } else { " (correlated)" })?;
            line(&s.source, 1, f)?;
        }
        for (i, c) in self.ctes.iter().enumerate() {
            writeln!(f, "WITH {i}")?;
            line(&c.source, 1, f)?;
        }
        Ok(())
    }
}

fn line(s: &Source, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let pad = " ".repeat(depth);
    let filtered = |n: usize| if n == 0 { String::new() } else { format!(" [{n} filters]") };
    match s {
        Source::Dual => writeln!(f, "{pad}FAST DUAL"),
        Source::Empty => writeln!(f, "{pad}NO ROWS"),
        Source::Scan(scan) => scan_line(scan, &pad, f),
        Source::Fixed { name, filter, .. } => writeln!(f, "{pad}FIXED TABLE FULL {name}{}", filtered(filter.len())),
        Source::Filter { input, conds, .. } => {
            writeln!(f, "{pad}FILTER{}", filtered(conds.len()))?;
            line(input, depth + 1, f)
        }
        Source::Startup { input, .. } => {
            writeln!(f, "{pad}FILTER (STARTUP)")?;
            line(input, depth + 1, f)
        }
        Source::Project { input, view, .. } => match view {
            Some(v) => {
                writeln!(f, "{pad}VIEW {v}")?;
                line(input, depth + 1, f)
            }
            None => line(input, depth, f),
        },
        Source::NestedLoops { left, right, kind, .. } => {
            writeln!(f, "{pad}NESTED LOOPS{}", kind_name(*kind))?;
            line(left, depth + 1, f)?;
            line(right, depth + 1, f)
        }
        Source::HashJoin { left, right, kind, build, keys, filters, .. } => {
            writeln!(f, "{}", format!("{pad}HASH JOIN {}", hash_options(*kind, *build, keys)).trim_end())?;
            let (built, probing) = built_first(left, right, *build);
            for (n, filter) in filters.iter().enumerate() {
                writeln!(f, "{pad}{} JOIN FILTER CREATE {}", " ".repeat(n), filter_name(filter.id))?;
            }
            line(built, depth + 1 + filters.len(), f)?;
            line(probing, depth + 1, f)
        }
        Source::MergeJoin { left, right, kind, .. } => {
            writeln!(f, "{pad}MERGE JOIN{}", kind_name(*kind))?;
            line(left, depth + 1, f)?;
            line(right, depth + 1, f)
        }
        Source::JoinFilter { input, id, .. } => {
            writeln!(f, "{pad}JOIN FILTER USE {}", filter_name(*id))?;
            line(input, depth + 1, f)
        }
        Source::Parallel { input, .. } => {
            writeln!(f, "{pad}PX COORDINATOR")?;
            writeln!(f, "{pad} PX SEND QC (RANDOM)")?;
            line(input, depth + 2, f)
        }
        Source::Buffer { input, .. } => {
            writeln!(f, "{pad}BUFFER SORT")?;
            line(input, depth + 1, f)
        }
        Source::Cte { name, .. } => writeln!(f, "{pad}TABLE ACCESS FULL (WITH) {name}"),
        Source::Count { input, .. } if takes_one_end(input) => {
            writeln!(f, "{pad}FIRST ROW")?;
            line(input, depth + 1, f)
        }
        Source::Count { input, stop, .. } => {
            writeln!(f, "{pad}COUNT{}", if stop.is_some() { " STOPKEY" } else { "" })?;
            line(input, depth + 1, f)
        }
        Source::Sort { input, top, .. } => {
            writeln!(f, "{pad}SORT ORDER BY{}", if top.is_some() { " STOPKEY" } else { "" })?;
            line(input, depth + 1, f)
        }
        Source::Distinct { input, .. } => {
            writeln!(f, "{pad}HASH UNIQUE")?;
            line(input, depth + 1, f)
        }
        Source::Group { input, sets, scalar, .. } => {
            let how = if *scalar {
                "SORT AGGREGATE"
            } else if sets.len() > 1 {
                "SORT GROUP BY ROLLUP"
            } else {
                "HASH GROUP BY"
            };
            writeln!(f, "{pad}{how}")?;
            line(input, depth + 1, f)
        }
        Source::Window { input, .. } => {
            writeln!(f, "{pad}WINDOW SORT")?;
            line(input, depth + 1, f)
        }
        Source::Set { kind, inputs, .. } => {
            let name = match kind {
                SetKind::UnionAll => "UNION-ALL",
                SetKind::Union => "UNION",
                SetKind::Intersect => "INTERSECTION",
                SetKind::Minus => "MINUS",
                SetKind::Recursive => "UNION ALL (RECURSIVE WITH)",
            };
            writeln!(f, "{pad}{name}")?;
            inputs.iter().try_for_each(|(s, _)| line(s, depth + 1, f))
        }
        Source::ConnectBy(c) => {
            let children = c.memory.as_ref().map(|memory| &memory.children);
            let (how, from) = match children {
                None => (" WITHOUT FILTERING", None),
                Some(ConnectChildren::Probe(source)) => (" WITH FILTERING", Some(source)),
                Some(ConnectChildren::Rows { base, all_roots: true, .. }) => (" WITHOUT FILTERING", Some(base)),
                Some(ConnectChildren::Rows { base, .. }) => (" NO FILTERING WITH START-WITH", Some(base)),
            };
            writeln!(f, "{pad}CONNECT BY{how}")?;
            if !matches!(children, Some(ConnectChildren::Rows { all_roots: true, .. })) {
                line(&c.start, depth + 1, f)?;
            }
            from.map_or(Ok(()), |source| line(source, depth + 1, f))
        }
        Source::Limit { input, .. } => {
            writeln!(f, "{pad}VIEW (ROW LIMIT)")?;
            line(input, depth + 1, f)
        }
        Source::ForUpdate { input, .. } => {
            writeln!(f, "{pad}FOR UPDATE")?;
            line(input, depth + 1, f)
        }
        Source::Elements { shape: ElementShape::Xml(_), .. } => writeln!(f, "{pad}XPATH EVALUATION"),
        Source::Elements { shape: ElementShape::Json(_), .. } => writeln!(f, "{pad}JSONTABLE EVALUATION"),
        Source::Elements { .. } => writeln!(f, "{pad}COLLECTION ITERATOR"),
    }
}

fn takes_one_end(s: &Source) -> bool {
    matches!(s, Source::Scan(scan) if matches!(scan.access, Access::IndexRange(ref range) if range.first_only))
}

fn kind_name(k: JoinKind) -> &'static str {
    match k {
        JoinKind::Inner => "",
        JoinKind::Left | JoinKind::Single => " OUTER",
        JoinKind::Full => " FULL OUTER",
        JoinKind::Semi => " SEMI",
        JoinKind::Anti | JoinKind::AntiNullAware => " ANTI",
    }
}

fn scan_line(s: &Scan, pad: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = &s.table.name;
    let filters = if s.filter.is_empty() { String::new() } else { format!(" [{} filters]", s.filter.len()) };
    let itself = |index: &dictionary::IndexDef| index.kind == dictionary::IndexKind::IotTop;
    if s.reads_partitions() {
        writeln!(f, "{pad}PARTITION ITERATOR")?;
    }
    match &s.access {
        Access::Full if s.table.options.index_organized => {
            let index = s.table.row_index().map_or(name.as_str(), |index| index.name.as_str());
            writeln!(f, "{pad}INDEX FULL SCAN {index}{filters}")
        }
        Access::IndexUnique { index, .. } if itself(index) => {
            writeln!(f, "{pad}INDEX UNIQUE SCAN {}{filters}", index.name)
        }
        Access::IndexRange(range) if itself(&range.index) => {
            writeln!(f, "{pad}INDEX {} {}{filters}", range_name(range), range.index.name)
        }
        Access::Full if s.granules => {
            writeln!(f, "{pad}PX BLOCK ITERATOR")?;
            writeln!(f, "{pad} TABLE ACCESS FULL {name}{filters}")
        }
        Access::Full => {
            let what = if s.versions.is_some() { " (VERSIONS)" } else { "" };
            writeln!(f, "{pad}TABLE ACCESS FULL {name}{what}{filters}")
        }
        Access::Rowid(_) => writeln!(f, "{pad}TABLE ACCESS BY USER ROWID {name}{filters}"),
        Access::ClusterHash { .. } => writeln!(f, "{pad}TABLE ACCESS HASH {name}{filters}"),
        Access::IndexUnique { index, index_only, .. } => {
            if !index_only {
                writeln!(f, "{pad}TABLE ACCESS BY INDEX ROWID {name}{filters}")?;
            }
            writeln!(f, "{pad} INDEX UNIQUE SCAN {}", index.name)
        }
        Access::IndexFast { index } => writeln!(f, "{pad} INDEX FAST FULL SCAN {}{filters}", index.name),
        Access::IndexRange(range) => {
            if range.index_only {
                return writeln!(f, "{pad} INDEX {} {}{filters}", range_name(range), range.index.name);
            }
            writeln!(f, "{pad}TABLE ACCESS BY INDEX ROWID {name}{filters}")?;
            writeln!(f, "{pad} INDEX {} {}", range_name(range), range.index.name)
        }
    }
}

/// The name of the index scan.
fn range_name(range: &IndexRange) -> String {
    let iterated = if range.is_iterated() { " (INLIST)" } else { "" };
    format!("{}{iterated}", range.options())
}
