//! The steps of a compilation: binder, rewrites, physical planner.

use crate::ir::*;
use crate::physical::Physical;
use crate::physical::degree::Parallel;
use crate::physical::state::Peeks;
use crate::rewrite::switches::RewritesOff;
use crate::scope::Compiler;
use crate::services::{BindType, ColumnUses, Correction, Functions, Sampler, TextOwner, Variables};
use dictionary::{Catalog, UserId};
use sql::ast::Statement;
use types::{DataType, Ora, Result, Value};

/// The session parameters that affect planning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optimizer {
    /// `_rewrite_off`.
    pub rewrites_off: RewritesOff,
    /// `_optim_peek_user_binds`.
    pub peeks: bool,
    /// `optimizer_dynamic_sampling`.
    pub sampling: u8,
    /// `_optimizer_join_elimination_enabled = FALSE`.
    pub keeps_joins: bool,
    /// Parallel queries.
    pub parallel: Parallel,
}

/// Evidence beyond the dictionary (P23).
#[derive(Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// Bind values of the execution that the statement is planned for, in the order of the plan's binds.
    pub values: Option<&'a [Value]>,
    pub sampler: Option<&'a dyn Sampler>,
    /// Corrections that an execution of the previous plan found.
    pub corrections: &'a [Correction],
    /// Receives the columns that predicates use.
    pub uses: Option<&'a dyn ColumnUses>,
}

/// Compiles a query or a DML statement.
///
/// # Errors
/// The errors that Oracle reports at parse time, with their positions: ORA-00904, 00918, 00932, 00934, 00937, 00942,
/// 00947, 00979, 01031 and others.
pub fn compile(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    binds: &[BindType],
) -> Result<Plan> {
    compile_at(statement, catalog, functions, (Vec::new(), binds), None, &Optimizer::default())
}

/// As [`compile`]. Binds in `binds` are numbered in that order, others in the order of their first occurrence. With
/// `scn`, every table without an AS OF clause is read as of that SCN.
///
/// # Errors
/// As [`compile`].
pub fn compile_at(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    (names, binds): (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
    optimizer: &Optimizer,
) -> Result<Plan> {
    compile_as(
        statement,
        catalog,
        functions,
        (names, binds),
        scn,
        (None, false),
        (optimizer, None, Evidence::default()),
    )
}

/// As [`compile_at`], with evidence.
///
/// # Errors
/// As [`compile`]; those of reading a sample.
pub fn compile_with_evidence(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    names: (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
    optimizer: &Optimizer,
    evidence: Evidence<'_>,
) -> Result<Plan> {
    compile_as(statement, catalog, functions, names, scn, (None, false), (optimizer, None, evidence))
}

/// As [`compile`], for a statement that the executor derives from a table's conditions: functions are resolved for the
/// table's owner.
///
/// # Errors
/// As [`compile`].
pub fn compile_for_owner(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    names: (Vec<String>, &[BindType]),
    owner: UserId,
) -> Result<Plan> {
    let text_owner = TextOwner { owner, bequeaths: false, view: false, catalog: false };
    let optimizer = (&Optimizer::default(), None, Evidence::default());
    compile_as(statement, catalog, functions, names, None, (Some(text_owner), false), optimizer)
}

/// Resolves the columns, binds, objects and functions of a statement without planning it: the plan has no row sources.
/// Names that are not columns may be variables; they become binds after those of the text.
///
/// # Errors
/// As [`compile`]; those of `variables`.
pub fn describe(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    variables: &dyn Variables,
    names: (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
) -> Result<Plan> {
    let optimizer = (&Optimizer::default(), Some(variables), Evidence::default());
    compile_as(statement, catalog, functions, names, scn, (None, true), optimizer)
}

/// Compiles a statement, or only describes it.
fn compile_as(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    (names, binds): (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
    (text_owner, is_described): (Option<TextOwner>, bool),
    (optimizer, variables, evidence): (&Optimizer, Option<&dyn Variables>, Evidence<'_>),
) -> Result<Plan> {
    let scn =
        scn.map(|scn| Expr::new(Node::Const(Value::Number(types::Number::from_i128(scn.0.into()))), DataType::NUMBER));
    let mut c = Compiler::new(catalog, functions, names, binds, scn);
    c.text_owners.extend(text_owner);
    c.variables = variables;
    (c.rewrites_off, c.keeps_joins) = (optimizer.rewrites_off, optimizer.keeps_joins);
    (c.peeks.is_on, c.peeks.values) = (optimizer.peeks, evidence.values);
    c.corrections = evidence.corrections;
    c.parallel = optimizer.parallel;
    (c.sampling.level, c.sampling.sampler) = (optimizer.sampling, evidence.sampler);
    c.query_blocks.number(statement);
    let mut body = match statement {
        Statement::Query(q) => {
            let (rel, mut out, columns, _) = c.built(q, true)?;
            c.locate_outputs(&rel, &mut out);
            c.rows = Some(rel);
            PlanBody::Query(QueryPlan { source: Source::Empty, out, columns })
        }
        Statement::Insert(i) => c.insert(i)?,
        Statement::Update(u) => c.update(u)?,
        Statement::Delete(d) => c.delete(d)?,
        Statement::Merge(m) => c.merge(m)?,
        _ => return Err(Ora::new(900)),
    };
    let out = match &mut body {
        PlanBody::Query(query) => Some(&mut query.out),
        PlanBody::Insert(insert) => match &mut insert.source {
            InsertSource::Query(query) => Some(&mut query.out),
            InsertSource::Values(_) => None,
        },
        _ => None,
    };
    let mut physical = match is_described {
        true => Physical::default(),
        false => {
            c.rewrite(out.map(Vec::as_mut_slice));
            c.hand_out_hints();
            if let Some(told) = evidence.uses {
                c.tell_column_uses(told);
            }
            c.physical()?
        }
    };
    if let (PlanBody::Query(query), Some(rows)) = (&body, &mut physical.rows)
        && !locks_rows(rows)
    {
        c.parallelize(rows, &query.out, &physical.subs);
    }
    if !c.corrections.is_empty() {
        c.notes.push(Note::StatisticsFeedback);
    }
    if let (Some(source), Some(place)) = (physical.rows, body.source_mut()) {
        *place = source;
    }
    let locks = matches!(&body, PlanBody::Query(q) if locks_rows(&q.source));
    let lock_rowid = match &body {
        PlanBody::Query(q) => lock_rowid(&q.source),
        _ => None,
    };
    let cacheable = (matches!(body, PlanBody::Query(_)) && c.volatile == 0 && !locks).then_some(c.cache_deps);
    Ok(Plan {
        body,
        subs: physical.subs,
        ctes: physical.ctes,
        regs: c.regs,
        binds: c.binds.into_all(),
        sequences: c.sequences,
        dependencies: c.dependencies,
        units: c.units,
        cacheable,
        result_cache: c.result_cache || (c.force_results && c.all_force),
        no_result_cache: c.no_result_cache,
        counts_operations: c.counts_operations,
        lock_rowid,
        locks_rows: locks,
        moments: c.moments,
        below_views: c.below_views,
        peeks: peeks_of(c.peeks),
        is_peeked: evidence.values.is_some(),
        notes: c.notes,
        bind_aware: c.bind_aware,
        change_block: c.query_blocks.change,
        query_blocks: c.query_blocks.into_names(),
    })
}

/// The comparisons with binds, in the same order for all plans of a statement.
fn peeks_of(peeks: Peeks<'_>) -> Vec<BindPredicate> {
    let mut found = peeks.found.into_inner();
    found.sort_by_key(|p| (p.table.object.0, p.column, p.bind, p.how.rank()));
    found
}

/// The logical tree of a query as text: as bound, and after the rewrites that `optimizer` leaves on.
///
/// # Errors
/// As [`compile`]; ORA-00900 for a statement that is not a query.
pub fn logical_text(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    optimizer: &Optimizer,
) -> Result<(String, String)> {
    let Statement::Query(q) = statement else { return Err(Ora::new(900)) };
    let mut c = Compiler::new(catalog, functions, Vec::new(), &[], None);
    (c.rewrites_off, c.keeps_joins) = (optimizer.rewrites_off, optimizer.keeps_joins);
    let (rel, mut out, ..) = c.built(q, true)?;
    c.rows = Some(rel);
    let bound = c.logical_text();
    c.rewrite(Some(&mut out));
    Ok((bound, c.logical_text()))
}

fn locks_rows(source: &Source) -> bool {
    match source {
        Source::ForUpdate { .. } => true,
        Source::Sort { input, .. }
        | Source::Limit { input, .. }
        | Source::Count { input, .. }
        | Source::Window { input, .. }
        | Source::Project { input, .. } => locks_rows(input),
        _ => false,
    }
}

/// The register of the rowid of the first table whose rows the query locks.
fn lock_rowid(source: &Source) -> Option<Reg> {
    match source {
        Source::ForUpdate { tables, .. } => tables.first().map(|t| t.rowid),
        Source::Sort { input, .. }
        | Source::Limit { input, .. }
        | Source::Count { input, .. }
        | Source::Window { input, .. }
        | Source::Project { input, .. } => lock_rowid(input),
        _ => None,
    }
}
