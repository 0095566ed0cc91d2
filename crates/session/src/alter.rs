//! ALTER SESSION and ALTER SYSTEM.

use crate::commit_write::CommitWrite;
use crate::core::Core;
use crate::nls;
use dictionary::SystemPrivilege;
use exec::{ExecCtx, SessionState, Timing};
use params::{Param, SessionParams};
use plan::ParallelQuery;
use sql::ast::{
    AlterSession, AlterSessionAction, AlterSystem, AlterSystemAction, Expr, ExprKind, Literal, ParameterSetting,
};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;
use types::{Ora, Result};

/// Runs ALTER SESSION.
///
/// # Errors
/// ORA-02248 for an unknown parameter, ORA-02096 for a parameter that ALTER SESSION cannot change; the parameter's own
/// error for a bad value.
pub fn alter_session(core: &Core, cx: &mut ExecCtx<'_>, a: &AlterSession) -> Result<()> {
    let AlterSession { action, pos: _ } = a;
    match action {
        AlterSessionAction::Set(settings) => settings.iter().try_for_each(|s| {
            match s.name.name.eq_ignore_ascii_case("CONSTRAINTS") || s.name.name.eq_ignore_ascii_case("CONSTRAINT") {
                true => crate::constraints::set_in_session(cx, s),
                false => set_in_session(core, cx.session, s),
            }
        }),
        // Accepted without effect: database links, advice, parallel DML and parallel DDL.
        AlterSessionAction::Other(text) => set_parallel(core, cx.session, text, a.pos.0),
    }
}

/// `ENABLE | DISABLE | FORCE PARALLEL QUERY [PARALLEL n]`.
///
/// # Errors
/// ORA-02248 for a degree that is not a positive number.
fn set_parallel(core: &Core, session: &mut SessionState, text: &str, pos: u32) -> Result<()> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let query = match &words[..] {
        ["DISABLE", "PARALLEL", "QUERY"] => ParallelQuery::Disabled,
        ["ENABLE", "PARALLEL", "QUERY"] => ParallelQuery::Enabled,
        ["FORCE", "PARALLEL", "QUERY"] => ParallelQuery::Forced(None),
        ["FORCE", "PARALLEL", "QUERY", "PARALLEL", degree] => match degree.parse() {
            Ok(degree @ 1..) => ParallelQuery::Forced(Some(degree)),
            _ => return Err(Ora::new(2248).at(pos)),
        },
        _ => return Ok(()),
    };
    session.options.planner.parallel.query = query;
    let shown = match query {
        ParallelQuery::Enabled => 0,
        ParallelQuery::Disabled => 1,
        ParallelQuery::Forced(_) => 2,
    };
    core.p.session().parallel_query.store(shown, Ordering::Relaxed);
    apply_options(core, session);
    Ok(())
}

fn set_in_session(core: &Core, session: &mut SessionState, s: &ParameterSetting) -> Result<()> {
    let ParameterSetting { name: _, value, quoted } = s;
    let at = |e: Ora| e.at(s.name.pos.0);
    match s.name.name.to_ascii_uppercase().as_str() {
        "CURRENT_SCHEMA" => {
            let name = if *quoted { value.clone() } else { value.to_uppercase() };
            core.set_current_schema(session, &name)
        }
        "TIME_ZONE" => {
            let local = core.local_time().zone().unwrap_or(types::TimeZone::UTC);
            let zone = nls::time_zone(value, local).map_err(at)?;
            session.change_nls(|n| n.zone = zone);
            Ok(())
        }
        "ERROR_ON_OVERLAP_TIME" => {
            let on = match value.to_ascii_uppercase().as_str() {
                "TRUE" => true,
                "FALSE" => false,
                _ => return Err(at(Ora::new(2248))),
            };
            session.change_nls(|n| n.error_on_overlap = on);
            Ok(())
        }
        "ISOLATION_LEVEL" => match value.to_ascii_uppercase().replace('_', " ").as_str() {
            "READ COMMITTED" => set_isolation(core, session, txn::Isolation::ReadCommitted),
            "SERIALIZABLE" => set_isolation(core, session, txn::Isolation::Serializable),
            _ => Err(at(Ora::new(2183))),
        },
        "EDITION" => {
            let name = if *quoted { value.clone() } else { value.to_uppercase() };
            crate::edition::set(core, &name).map_err(at)
        }
        "EVENTS" | "EVENT" => core.require(SystemPrivilege::AlterSession).map_err(at),
        name => {
            if name == "SQL_TRACE" {
                core.require(SystemPrivilege::AlterSession).map_err(at)?;
            }
            nls::check_format(name, value, &session.nls).map_err(at)?;
            if name == "PLSQL_CCFLAGS" {
                crate::units::check_setting(Param::PlsqlCcflags, value).map_err(at)?;
            }
            let (param, _) = core.params.borrow_mut().alter_session(name, value).map_err(at)?;
            apply(core, session, param)
        }
    }
}

/// DBMS_SESSION.SET_NLS. The value has the form of ALTER SESSION, quotes included.
///
/// # Errors
/// ORA-02248 for a name that is no NLS parameter; ORA-00922 for a malformed value; the parameter's own error for a bad
/// value.
pub fn set_nls(core: &Core, session: &mut SessionState, parameter: &str, value: &str) -> Result<()> {
    let name = parameter.trim().to_ascii_uppercase();
    let invalid = || Ora::new(2248);
    if !name.starts_with("NLS_") || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(invalid());
    }
    let value = value.trim();
    let quoted = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\''));
    let value = match quoted {
        Some(inner) if !inner.replace("''", "").contains('\'') => inner.replace("''", "'"),
        None if value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '#')) => value.to_owned(),
        _ => return Err(Ora::new(922)),
    };
    let name = sql::ast::Ident { name, pos: sql::ast::Pos(0) };
    set_in_session(core, session, &ParameterSetting { name, value, quoted: quoted.is_some() })
        .map_err(Ora::without_position)
}

/// Sets the isolation level of the next transactions.
fn set_isolation(core: &Core, session: &mut SessionState, level: txn::Isolation) -> Result<()> {
    if session.txn.has_only_read() {
        core.rollback(session)?;
    }
    if session.txn.has_begun() {
        return Err(Ora::new(1453));
    }
    session.txn.set_usual(level);
    Ok(())
}

/// Puts a changed session parameter into force.
fn apply(core: &Core, session: &mut SessionState, param: Param) -> Result<()> {
    if param.name().starts_with("nls_") {
        let params = core.params.borrow();
        session.change_nls(|n| nls::apply(&params, n));
    }
    apply_options(core, session);
    Ok(())
}

/// The parameters of the optimizer's fingerprint: cursors compiled under different values are not shared.
const OPTIMIZER: &[Param] = &[
    Param::OptimizerMode,
    Param::OptimizerFeaturesEnable,
    Param::OptimizerIndexCostAdj,
    Param::OptimizerIndexCaching,
    Param::OptimizerDynamicSampling,
    Param::CursorSharing,
    Param::OldConnectByEnabled,
    Param::BatchExecution,
    Param::StarTransformationEnabled,
    Param::QueryRewriteEnabled,
    Param::ResultCacheMode,
    Param::StatisticsLevel,
    Param::RewriteOff,
    Param::OptimPeekUserBinds,
    Param::OptimizerJoinEliminationEnabled,
    Param::OptimizerAdaptiveCursorSharing,
    Param::OptimizerUseFeedback,
];

/// Copies the parameters that the executor obeys. Called when a session begins and when a parameter has changed.
pub fn apply_options(core: &Core, session: &mut SessionState) {
    let params = core.params.borrow();
    core.commit_write.set(CommitWrite::of(&params));
    session.options.result_cache_force = params.get(Param::ResultCacheMode) == "FORCE";
    session.options.result_cache = core.shared.results.is_enabled();
    session.options.old_connect_by = params.flag(Param::OldConnectByEnabled);
    session.options.batches = params.flag(Param::BatchExecution);
    session.options.work_area_limit_bytes = params.number(Param::PgaMaxSize) as usize;
    let policy = params.get(Param::WorkareaSizePolicy);
    session.options.work_area_auto = policy != "MANUAL";
    session.options.spill_bytes = match policy.as_str() {
        "MANUAL" => params.number(Param::SortAreaSize).max(params.number(Param::HashAreaSize)).max(16 << 10) as usize,
        _ => exec::work_area::limit_of(params.number(Param::PgaAggregateTarget) as u64) as usize,
    };
    let degree = params.number(Param::CpuCount).max(1) * params.number(Param::ParallelThreadsPerCpu).max(1);
    session.options.planner.parallel.degree = degree as u32;
    session.options.optimizer = params.fingerprint(OPTIMIZER);
    session.options.plsql = params.fingerprint(crate::units::SETTINGS);
    if session.options.planner.parallel.query != ParallelQuery::Enabled {
        let mut hasher = std::hash::DefaultHasher::new();
        (session.options.optimizer, session.options.planner.parallel.query).hash(&mut hasher);
        session.options.optimizer = hasher.finish();
    }
    session.options.planner.rewrites_off = plan::RewritesOff::of(&params.get(Param::RewriteOff)).unwrap_or_default();
    session.options.planner.peeks = params.flag(Param::OptimPeekUserBinds);
    session.options.planner.keeps_joins = !params.flag(Param::OptimizerJoinEliminationEnabled);
    session.options.planner.sampling = params.number(Param::OptimizerDynamicSampling) as u8;
    session.options.feedback = params.flag(Param::OptimizerUseFeedback);
    session.options.adaptive_sharing = params.flag(Param::OptimizerAdaptiveCursorSharing);
    session.options.optimizer_mode = params::word_of(Param::OptimizerMode, &params.get(Param::OptimizerMode));
    session.options.timing = timing(&params);
    session.options.counts_operations = params.get(Param::StatisticsLevel) == "ALL";
    core.p.set_timed(session.options.timing != Timing::Off);
    let multiblock = params.number(Param::DbFileMultiblockReadCount).max(1) as u64;
    core.instance.storage().cache.set_multiblock(&core.p, multiblock);
}

/// The timing that `timed_statistics` and `statistics_level` ask for. BASIC times nothing unless `timed_statistics` was
/// set explicitly.
fn timing(params: &SessionParams) -> Timing {
    let asked = params.flag(Param::TimedStatistics);
    match params.get(Param::StatisticsLevel).as_str() {
        _ if !asked => Timing::Off,
        "BASIC" if params.is_default(Param::TimedStatistics) => Timing::Off,
        "ALL" => Timing::All,
        _ => Timing::Sampled,
    }
}

/// Runs ALTER SYSTEM.
///
/// # Errors
/// Errors of [`admin::alter_system`].
pub fn alter_system(core: &Core, session: &mut SessionState, a: &AlterSystem) -> Result<()> {
    if let AlterSystemAction::Set { settings, scope: _, deferred: _ } = &a.action {
        for s in settings.iter().filter(|s| s.name.name == "PLSQL_CCFLAGS") {
            crate::units::check_setting(Param::PlsqlCcflags, &s.value).map_err(|e| e.at(s.name.pos.0))?;
        }
    }
    let done = admin::alter_system(core, a);
    if let AlterSystemAction::Set { .. } = a.action {
        // Also after an error: the settings before the failed one are in force.
        apply_options(core, session);
    }
    done
}

/// The value of a literal whole number.
///
/// # Errors
/// ORA-00933 for anything else.
pub fn literal_number(e: &Expr) -> Result<u32> {
    let n = match &e.kind {
        ExprKind::Literal(Literal::Number(text)) => text.parse().ok(),
        _ => None, // not a clause: refused below
    };
    n.ok_or_else(|| Ora::new(933).at(e.pos.0))
}
