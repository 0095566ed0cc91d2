//! Use of index order: MIN and MAX read one end of an index, and sorts that an index makes superfluous are removed.
//!
//! This works on the finished plan, which shows whether a sort returns its first rows only, and what lies below it. A
//! scan is changed to an index if that reads less, by the same measure that chose its access path. A path chosen by a
//! hint stays (P8).
//!
//! NULLs come last in an index. A row whose key is entirely NULL has no entry, so an index serves an order only where
//! that cannot occur; MIN and MAX ignore NULLs anyway. Text has the same byte order in indexes and in sorts; CHAR and
//! types with time zone do not and are excluded.

use super::access::{covers, has_every_row, size_of, whole};
use super::cost;
use crate::ir::*;
use dictionary::{IndexDef, IndexKey, IndexKind};
use std::rc::Rc;
use types::{DataType, Value, Zone};

/// Processes a row source and all row sources below it.
pub fn follow_indexes(source: &mut Source) {
    below(source, &mut follow_indexes);
    match source {
        Source::Group { input, keys, sets, aggs, scalar: true, .. } if keys.is_empty() && sets.len() == 1 => {
            if let ([agg], Source::Scan(scan)) = (&aggs[..], &mut **input)
                && reads_one_end(scan, agg)
            {
                let one = Expr { node: Node::Const(Value::Number(1.into())), ty: DataType::NUMBER };
                let scan = std::mem::replace(&mut **input, Source::Empty);
                **input = Source::Count {
                    input: Box::new(scan),
                    reg: None,
                    stop: Some((CmpOp::Le, one)),
                    conds: Vec::new(),
                    rows: 1.0,
                };
            }
        }
        // The number of rows is known from a limit above.
        Source::Limit { input, offset: None, count: Some(count), percent: false, ties, .. } if ties.is_empty() => {
            let stop = (CmpOp::Le, count.clone());
            match &mut **input {
                Source::Sort { .. } => leave_out_sort(input, Some(&stop)),
                Source::Project { input, .. } => leave_out_sort(input, Some(&stop)),
                _ => {}
            }
        }
        Source::Sort { .. } => leave_out_sort(source, None),
        _ => {}
    }
}

/// Calls `f` with each row source directly below.
fn below(source: &mut Source, f: &mut dyn FnMut(&mut Source)) {
    match source {
        // Its row sources are probed with the parent's columns.
        Source::ConnectBy(_) => {}
        // The sort below may return its first rows only.
        Source::Limit { input, .. } => match &mut **input {
            Source::Sort { input, .. } => f(input),
            Source::Project { input, .. } => match &mut **input {
                Source::Sort { input, .. } => f(input),
                other => f(other),
            },
            other => f(other),
        },
        other => other.for_each_child_mut(f),
    }
}

/// Whether values of a type have the same order in an index as in comparisons.
fn orders_by_bytes(ty: &DataType) -> bool {
    match ty {
        DataType::Char { .. } | DataType::Nchar { .. } => false,
        DataType::Timestamp { zone, .. } => *zone != Zone::WithTimeZone,
        _ => true,
    }
}

/// The table column in a register.
fn column_of(scan: &Scan, e: &Expr) -> Option<usize> {
    let Node::Reg(reg) = e.node else { return None };
    let (column, _) = scan.columns.iter().find(|(_, r)| *r == reg)?;
    let column = usize::from(*column);
    orders_by_bytes(&scan.table.columns[column].data_type).then_some(column)
}

/// Whether key part `at` is the column, ascending.
fn rises(index: &IndexDef, at: usize, column: usize) -> bool {
    index.columns.get(at).is_some_and(|part| part.key == IndexKey::Column(column) && !part.descending)
}

fn usable(index: &IndexDef) -> bool {
    // The partitions of a local index are read one after the other.
    index.local.is_none()
        && index.is_usable()
        && !index.invisible
        && matches!(index.kind, IndexKind::Normal | IndexKind::IotTop)
}

/// Whether the scan may use an index over all rows: it reads present rows, and the statement names no partition (P30).
fn may_change(scan: &Scan) -> bool {
    scan.as_of.is_none() && !scan.prune.as_ref().is_some_and(|prune| prune.is_named())
}

/// Makes a scan return the row with the lowest or highest value first, if an index allows it.
fn reads_one_end(scan: &mut Scan, agg: &Agg) -> bool {
    let max = match agg.kind {
        AggKind::Min => false,
        AggKind::Max => true,
        _ => return false,
    };
    let [arg] = &agg.args[..] else { return false };
    if !scan.filter.is_empty() || !may_change(scan) || agg.keep_last.is_some() {
        return false;
    }
    let Some(column) = column_of(scan, arg) else { return false };
    match &mut scan.access {
        Access::IndexRange(range) => {
            let plain = range.skip == 0 && !range.is_iterated() && range.recheck.is_empty();
            if !plain || !usable(&range.index) || !rises(&range.index, range.prefix.len(), column) {
                return false;
            }
            (range.descending, range.no_nulls, range.first_only) = (max, max, true);
            let index_only = range.index_only;
            scan.rows = 1.0;
            read_entries(scan, 1.0, index_only);
            true
        }
        Access::Full | Access::IndexFast { .. } if !scan.hinted => {
            let Some(index) = scan.table.indexes.iter().find(|index| usable(index) && rises(index, 0, column)) else {
                return false;
            };
            let mut range = whole(index, max);
            let index_only = covers(index, &scan.columns);
            (range.index_only, range.no_nulls, range.first_only) = (index_only, max, true);
            scan.access = Access::IndexRange(Box::new(range));
            scan.rows = 1.0;
            read_entries(scan, 1.0, index_only);
            true
        }
        _ => false,
    }
}

/// Removes a sort if the scan below it can return its rows in that order. `limit`: the number of rows requested from
/// above.
fn leave_out_sort(source: &mut Source, limit: Option<&StopKey>) {
    let Source::Sort { input, keys, top, .. } = source else { return };
    let Source::Scan(scan) = &mut **input else { return };
    let wanted = top.as_ref().or(limit);
    if follows(scan, keys, wanted) {
        let input = std::mem::replace(&mut **input, Source::Empty);
        *source = input;
    }
}

/// Makes a scan use an index whose order is that of the keys.
fn follows(scan: &mut Scan, keys: &[SortKey], wanted: Option<&StopKey>) -> bool {
    if !may_change(scan) {
        return false;
    }
    let Some(columns) = keys.iter().map(|key| column_of(scan, &key.expr)).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some(down) = keys.first().map(|key| key.desc) else { return false };
    let as_in_index = |(key, column): (&SortKey, &usize)| {
        key.desc == down && (key.nulls_first == down || !scan.table.columns[*column].nullable)
    };
    if !keys.iter().zip(&columns).all(as_in_index) {
        return false;
    }
    let serves = |index: &IndexDef, prefix: usize| {
        usable(index) && columns.iter().enumerate().all(|(i, column)| rises(index, prefix + i, *column))
    };
    match &mut scan.access {
        Access::IndexRange(range) => {
            let every_row = !range.is_whole() || has_every_row(&scan.table, &range.index);
            let plain = range.skip == 0 && !range.is_iterated() && range.recheck.is_empty();
            if !plain || !serves(&range.index, range.prefix.len()) || !every_row {
                return false;
            }
            range.descending = down;
            true
        }
        Access::Full | Access::IndexFast { .. } => {
            let mut fit = scan.table.indexes.iter().filter(|i| serves(i, 0) && has_every_row(&scan.table, i));
            let Some(index) = fit.find(|index| !scan.hinted && pays(scan, index, wanted)).cloned() else {
                return false;
            };
            if index.kind != IndexKind::IotTop {
                read_entries(scan, visited(scan, wanted), covers(&index, &scan.columns));
            }
            follow(scan, &index, down);
            true
        }
        _ => false,
    }
}

fn follow(scan: &mut Scan, index: &Rc<IndexDef>, down: bool) {
    let mut range = whole(index, down);
    range.index_only = covers(index, &scan.columns);
    scan.access = Access::IndexRange(Box::new(range));
}

/// Whether using the index costs less than reading the table and sorting.
fn pays(scan: &Scan, index: &IndexDef, wanted: Option<&StopKey>) -> bool {
    if index.kind == IndexKind::IotTop {
        return true;
    }
    if covers(index, &scan.columns) && scan.rowid.is_none() {
        return true;
    }
    if wanted.is_none() {
        return false;
    }
    let (rows, blocks) = size_of(&scan.table);
    // The cost of a block is known from the chosen scan.
    let read = match scan.access {
        Access::Full if scan.cost.io > 0.0 => scan.cost.io,
        _ => 1.0 + blocks * cost::IN_SCAN,
    };
    let scanned = read + rows * cost::PER_ROW + cost::sort(rows, 1);
    of_entries(visited(scan, wanted), false).total < scanned
}

/// The rows read until enough rows have passed the filter.
fn visited(scan: &Scan, wanted: Option<&StopKey>) -> f64 {
    let (rows, _) = size_of(&scan.table);
    let wanted = match wanted {
        Some((_, Expr { node: Node::Const(Value::Number(n)), .. })) => n.to_f64(),
        Some(_) => cost::UNKNOWN_LIMIT,
        None => return rows,
    };
    (wanted * rows / scan.rows.max(1.0)).min(rows)
}

/// Records that a scan reads this many entries of an index.
fn read_entries(scan: &mut Scan, entries: f64, index_only: bool) {
    scan.cost = of_entries(entries, index_only);
    scan.entries = (entries, of_entries(entries, true));
}

/// The cost of index entries, with table rows unless `index_only`.
fn of_entries(entries: f64, index_only: bool) -> Cost {
    let by_entry = if index_only { cost::PER_ENTRY } else { cost::BY_ROWID + cost::PER_ENTRY };
    let read = cost::DESCENT + if index_only { 0.0 } else { entries * cost::PER_VISIT };
    Cost::new(cost::DESCENT + entries * by_entry, read)
}
