//! ALTER SYSTEM, and the parts of ALTER DATABASE and ALTER TABLESPACE that do not change the dictionary.

use crate::administrator::Administrator;
use crate::{backup, media, parameter, undo_tablespace};
use dictionary::SystemPrivilege;
use params::{Param, SessionParams};
use process::Cancel;
use sql::ast::{AlterSystem, AlterSystemAction, ParameterSetting, Scope};
use types::{Ora, Result};

/// Runs ALTER SYSTEM.
///
/// # Errors
/// ORA-01031; ORA-02065, ORA-02095, ORA-02096 and those of an invalid value; ORA-00026, ORA-00027, ORA-00029 and
/// ORA-00030 of KILL SESSION; those of the other statements.
pub fn alter_system(a: &dyn Administrator, statement: &AlterSystem) -> Result<()> {
    let AlterSystem { action, pos: _ } = statement;
    match action {
        // These are parts of ALTER DATABASE and ALTER TABLESPACE.
        AlterSystemAction::Backup { begin, tablespace } => return backup::run(a, *begin, tablespace.as_ref()),
        AlterSystemAction::Archivelog(on) => return backup::set_archivelog(a, *on),
        AlterSystemAction::Recover(target) => return media::recover(a, target),
        AlterSystemAction::AddLogfile { group: _, file: _, bytes: _ } | AlterSystemAction::DropLogfile { group: _ } => {
            return change_logs(a, action);
        }
        // not a clause: the other actions come below
        _ => {}
    }
    a.require(SystemPrivilege::AlterSystem)?;
    match action {
        // No parameter can be DEFERRED.
        AlterSystemAction::Set { settings, scope: _, deferred: true } => {
            Err(Ora::new(2096).at(settings.first().map_or(0, |s| s.name.pos.0)))
        }
        AlterSystemAction::Set { settings, scope, deferred: false } => {
            settings.iter().try_for_each(|s| set_in_system(a, s, *scope))
        }
        // Both statements roll the session back at once, with and without IMMEDIATE.
        AlterSystemAction::KillSession { target, immediate: _ }
        | AlterSystemAction::DisconnectSession { target, immediate: _, post_transaction: false } => {
            kill_session(a, target)
        }
        AlterSystemAction::Checkpoint => a.instance().checkpoint(a.process()),
        AlterSystemAction::FlushBufferCache => a.instance().storage().cache.empty(a.process()).map(drop),
        AlterSystemAction::SwitchLogfile => a.instance().storage().redo.switch(a.process()).map(drop),
        AlterSystemAction::ArchiveLogCurrent => a.instance().storage().redo.archive_current(a.process()).map(drop),
        AlterSystemAction::FlushSharedPool => {
            a.instance().caches().library.flush(a.process());
            a.instance().storage().rows.flush(a.process());
            Ok(())
        }
        // REGISTER has nothing to do: the instance has its own listener.
        AlterSystemAction::Register => Ok(()),
        AlterSystemAction::RestrictedSession(restricted) => {
            a.instance().state().set_restricted(*restricted);
            Ok(())
        }
        AlterSystemAction::DisconnectSession { target: _, immediate: _, post_transaction: true }
        | AlterSystemAction::Reset(_)
        | AlterSystemAction::Other(_)
        | AlterSystemAction::Backup { .. }
        | AlterSystemAction::AddLogfile { .. }
        | AlterSystemAction::DropLogfile { .. }
        | AlterSystemAction::Recover(_)
        | AlterSystemAction::Archivelog(_) => Err(Ora::unsupported()),
    }
}

/// ALTER DATABASE ADD and DROP LOGFILE.
fn change_logs(a: &dyn Administrator, action: &AlterSystemAction) -> Result<()> {
    a.require(SystemPrivilege::AlterDatabase)?;
    let redo = a.instance().storage().redo;
    match action {
        AlterSystemAction::AddLogfile { group, file, bytes } => {
            redo.add_group(a.process(), *group, file.as_deref(), *bytes)
        }
        AlterSystemAction::DropLogfile { group } => redo.drop_group(a.process(), *group),
        _ => Err(Ora::unsupported()),
    }
}

/// Changes one parameter in memory, in the parameter file, or in both.
///
/// # Errors
/// ORA-02065, ORA-02095 and those of an invalid value; ORA-32001 when the file cannot be written; ORA-32017 when a
/// parameter must not be in it.
fn set_in_system(a: &dyn Administrator, s: &ParameterSetting, scope: Option<Scope>) -> Result<()> {
    let at = |e: Ora| e.at(s.name.pos.0);
    let spfile_only = scope == Some(Scope::Spfile);
    let (param, value) = SessionParams::check_system(&s.name.name, &s.value, spfile_only).map_err(at)?;
    // A design that is only tried, and its session, mean nothing to the next start.
    let is_tried = match param {
        Param::SwitchHolder => true,
        Param::SwitchCbc
        | Param::SwitchResultCache
        | Param::SwitchRowCache
        | Param::SwitchLibraryCache
        | Param::SwitchLatchSleep => a.instance().is_holder(a.process()),
        _ => false,
    };
    if is_tried && matches!(scope, Some(Scope::Spfile | Scope::Both)) {
        return Err(at(Ora::new(32017)));
    }
    if spfile_only {
        return a.instance().write_init_file(param, &value);
    }
    if param == Param::PgaAggregateLimit {
        check_pga_limit(a, &value).map_err(at)?;
    }
    let also_in_file = scope == Some(Scope::Both);
    match param {
        Param::UndoTablespace => undo_tablespace::switch(a, &value, also_in_file).map_err(at)?,
        Param::SwitchCbc
        | Param::SwitchResultCache
        | Param::SwitchRowCache
        | Param::SwitchLibraryCache
        | Param::SwitchLatchSleep
        | Param::SpinCount => parameter::switch(a, param, &value, also_in_file).map_err(at)?,
        Param::SwitchHolder => parameter::hold(a, &value).map_err(at)?,
        Param::LatchRecording => parameter::record(a, &value, also_in_file).map_err(at)?,
        _ => parameter::set(a, param, &value, also_in_file)?,
    }
    Ok(())
}

/// ORA-00093 for a limit below the default; only the parameter file may set one. 0 is no limit.
fn check_pga_limit(a: &dyn Administrator, value: &str) -> Result<()> {
    let (bytes, least) = (value.parse::<u64>().unwrap_or(0), a.instance().pga_limit_by_default());
    if bytes == 0 || bytes >= least {
        return Ok(());
    }
    let (name, least) = (Param::PgaAggregateLimit.name(), format!("{}M", least.div_ceil(1 << 20)));
    Err(Ora::new(2097).because(Ora::with(93, &[&name, &least, &"100000G"])))
}

/// Kills the session `'sid,serial#'`. An instance after another comma is ignored.
fn kill_session(a: &dyn Administrator, target: &str) -> Result<()> {
    let (sid, serial) = parameter::session_named(target)?;
    if sid == a.process().sid() {
        return Err(Ora::new(27));
    }
    let all = a.instance().processes();
    let serves = a.instance().is_parallel_server(sid);
    let runs_job = serves || a.instance().state().job_of(sid as usize - 1).is_some();
    if all.slot(sid).is_some_and(|s| s.is_named()) && !runs_job {
        return Err(Ora::new(29));
    }
    if !all.cancel(sid, serial, Cancel::Killed) {
        return Err(Ora::new(30));
    }
    if !runs_job {
        // The session may be waiting for its client, so its server is woken. A session without a client notices the
        // kill itself; its job has then failed.
        a.instance().wake_server(sid);
    }
    // PMON kills the process if it stays stopped by a signal.
    if let Some(pmon) = a.instance().state().pmon() {
        a.instance().post(pmon);
    }
    Ok(())
}
