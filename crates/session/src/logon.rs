//! Admission: every compared password leads to a session or a refusal here.
//!
//! A wrong password and an unknown name get the same answer, ORA-01017, whatever the state of the account; each counts
//! a failure in a row of USER_LOGON$. Only a client with the correct password gets other errors, in Oracle's order:
//! ORA-28000 for a locked account ([`Account::tells_of_lock`]), ORA-28001 for an expired password, ORA-28009 for SYS
//! without SYSDBA, ORA-01045 without CREATE SESSION, ORA-01035 in restricted mode, ORA-02391 for one session too many.
//! The audit trail tells more than the client: it has ORA-28000 for every refusal of a locked account.
//!
//! The commit of a failure is not awaited on disk, unless the failure locks the account.

use crate::core::Core;
use crate::refusal::{clean, has_archiver_failed, is_refusal, unwaited};
use dictionary::{Account, LogonState, Profile, Resource, UserDef, UserId};
use instance::Instance;
use net::local::Logon;
use params::Param;
use process::{Limits, Process};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use types::{Date, Ora, Result};

/// An admitted user.
pub(crate) struct Admitted {
    pub user: Rc<UserDef>,
    /// ORA-28002 when the password expires soon.
    pub warning: Option<Ora>,
}

/// The outcome of a client's proof of its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Right,
    Wrong,
    /// The password was right at the proof and has been changed since. It does not count as a guess of the new one.
    Outdated,
}

/// A refused logon.
pub(crate) struct Refused {
    /// The error for the client.
    pub told: Ora,
    /// The error for the audit trail.
    pub noted: Ora,
}

impl From<Ora> for Refused {
    fn from(e: Ora) -> Refused {
        Refused { told: e.clone(), noted: e }
    }
}

/// The limits of a session's profile; 0 for no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionLimits {
    /// The end of CONNECT_TIME, in monotonic nanoseconds.
    pub connect_end_ns: u64,
}

/// Admits or refuses a logon of `user` and notes the outcome in USER_LOGON$. `changed`: the logon changes the password,
/// so an expired password is accepted.
///
/// # Errors
/// Those of the module's list, except ORA-02391; those of reading the dictionary.
pub(crate) fn admit(
    core: &Core,
    user: Option<Rc<UserDef>>,
    shown: Shown,
    as_sysdba: bool,
    changed: bool,
) -> std::result::Result<Admitted, Refused> {
    // Nobody logs on as PUBLIC.
    let user = user.filter(|user| user.id != UserId::PUBLIC);
    let dictionary = core.dict.borrow().shared().clone();
    let state = dictionary.logon_state(&core.p, user.as_deref())?;
    let now = core.local_time();
    let Some(user) = user else {
        count_failures(core, None, now.own_date(), 1)?;
        return Err(Ora::new(1017).into());
    };
    let profile = core.dict.borrow_mut().profile_of(&user)?;
    let account = Account { user: &user, profile: &profile, state: &state, now: now.own_date() };
    let (is_locked, has_proved) = (account.is_locked(), shown == Shown::Right && user.verifier.is_some());
    let is_told = has_proved && account.tells_of_lock();
    if (!has_proved || is_locked && !is_told) && shown != Shown::Outdated {
        count_failures(core, Some((&user, &profile)), now.own_date(), 1)?;
    }
    if is_locked || !has_proved {
        let (wrong, locked) = (Ora::new(1017), Ora::new(28000));
        let told = if is_locked && is_told { &locked } else { &wrong };
        return Err(Refused { told: told.clone(), noted: if is_locked { locked } else { wrong } });
    }
    let grace_end = match account.password_age() {
        Err(e) if changed && e.is(28001) => None,
        age => age?.filter(|_| !changed),
    };
    match (as_sysdba, user.id == UserId::SYS) {
        (false, true) => return Err(Ora::new(28009).into()),
        // Only SYS has SYSDBA. The owner of the instance in the operating system connects without a password.
        (true, false) => return Err(Ora::new(1017).into()),
        (true, true) => {}
        (false, false) => {
            core.dict.borrow_mut().may_connect(&user)?;
            if core.instance.state().is_restricted() && !core.dict.borrow_mut().may_enter_restricted(&user)? {
                return Err(Ora::new(1035).into());
            }
        }
    }
    let must = state.failures > 0 || state.locked_at.is_some() || state.grace_end != grace_end;
    if must || state.last.is_none_or(|last| last.own_date() != now.own_date()) {
        let note = || {
            dictionary.note_logon(&core.p, Some(&user), must, &mut |state| {
                state.failures = 0;
                state.locked_at = None;
                state.grace_end = grace_end;
                state.last = Some(types::Timestamp::new(now.own_date(), now.nanos));
            })
        };
        // A failed write does not fail the logon: the user may have to log on to repair the database.
        let _ = unwaited(core.instance, &core.p, note);
    }
    let warning = grace_end.map(|end| Ora::with(28002, &[&days_left(now.own_date(), end)]));
    Ok(Admitted { user, warning })
}

fn days_left(now: Date, end: Date) -> i64 {
    (end.to_unix() - now.to_unix()).div_euclid(86_400).max(0) + i64::from((end.to_unix() - now.to_unix()) % 86_400 != 0)
}

/// The outcome of the refusal of several proofs of one user's password.
pub(crate) struct RefusedProofs {
    /// The number of wrong passwords that found the account unlocked.
    pub unlocked: usize,
    /// Correct passwords get ORA-28000 instead of ORA-01017.
    pub is_told: bool,
}

/// Counts `times` wrong passwords of one user, as if they came one after another. They cost one change of a row,
/// whatever their number and the account's state.
///
/// While the archiver has failed nothing is written: the failures are added to `held`, the number of unwritten
/// failures, and lock the account nevertheless. Once the archiver works again, a call writes all of `held`, also with 0
/// `times`.
///
/// # Errors
/// Those of reading the dictionary, and of changing the row.
pub(crate) fn refuse_proofs(
    core: &Core,
    user: Option<&UserDef>,
    times: usize,
    held: &mut usize,
) -> Result<RefusedProofs> {
    let user = user.filter(|user| user.id != UserId::PUBLIC);
    let now = core.local_time().own_date();
    // The same work is done for an unknown name, so that it takes the same time.
    let profile = user.map_or(dictionary::profile::DEFAULT, |user| &user.profile);
    let image = core.dict.borrow_mut().image()?;
    let profile = image.profiles().profile(profile);
    image.checked()?;
    let who = user.map(|user| (user, &profile));
    let mut state = state_with(core, who, now, *held)?;
    let account = user.map(|user| Account { user, profile: &profile, state: &state, now });
    let is_locked = account.as_ref().is_some_and(Account::is_locked);
    let is_told = account.is_some_and(|account| account.tells_of_lock());
    let mut unlocked = 0;
    if times > 0 {
        unlocked = fail(&mut state, who, now, times).unlocked;
        *held = held.saturating_add(times);
    }
    if *held > 0 && !has_archiver_failed(core.instance) {
        count_failures(core, who, now, *held)?;
        *held = 0;
    }
    Ok(RefusedProofs { unlocked: if is_locked { 0 } else { unlocked }, is_told })
}

/// True when the account exists and is locked, counting `held` unwritten failures.
///
/// # Errors
/// Those of reading the dictionary.
pub(crate) fn is_locked(core: &Core, user: Option<&UserDef>, held: usize) -> Result<bool> {
    let Some(user) = user.filter(|user| user.id != UserId::PUBLIC) else { return Ok(false) };
    let (profile, now) = (core.dict.borrow_mut().profile_of(user)?, core.local_time().own_date());
    let state = state_with(core, Some((user, &profile)), now, held)?;
    Ok(Account { user, profile: &profile, state: &state, now }.is_locked())
}

/// Counts a wrong old password in a session's statement, like a wrong password at a logon.
///
/// # Errors
/// Those of reading the dictionary, and of changing the row.
pub(crate) fn refuse_old(core: &Core, name: &str) -> Result<()> {
    let names = core.names()?;
    let user = names.image().user_named(name).filter(|user| !user.is_role).cloned();
    names.image().checked()?;
    let Some(user) = user else { return Ok(()) };
    let profile = core.dict.borrow_mut().profile_of(&user)?;
    count_failures(core, Some((&user, &profile)), core.local_time().own_date(), 1)
}

/// The state of an account after `held` more failures.
fn state_with(core: &Core, user: Option<(&UserDef, &Profile)>, now: Date, held: usize) -> Result<LogonState> {
    let dictionary = core.dict.borrow().shared().clone();
    let mut state = dictionary.logon_state(&core.p, user.map(|(user, _)| user))?;
    if held > 0 {
        fail(&mut state, user, now, held);
    }
    Ok(state)
}

/// The outcome of wrong passwords.
#[derive(Default)]
struct Failed {
    /// The number of wrong passwords before the account was locked for its failures.
    unlocked: usize,
    /// They have locked the account.
    locks: bool,
}

/// Counts wrong passwords. The failure that reaches FAILED_LOGIN_ATTEMPTS locks the account; later failures are counted
/// too, for [`Account::tells_of_lock`].
fn fail(state: &mut LogonState, user: Option<(&UserDef, &Profile)>, now: Date, times: usize) -> Failed {
    let limit = user.and_then(|(_, profile)| profile.limit(Resource::FailedLoginAttempts));
    let is_locked = user.is_some_and(|(user, profile)| Account { user, profile, state, now }.is_locked_for_failures());
    if !is_locked && state.locked_at.take().is_some() {
        state.failures = 0;
    }
    let unlocked = match limit {
        _ if is_locked => 0,
        Some(limit) => times.min((limit - state.failures).max(1) as usize),
        None => times,
    };
    state.failures = state.failures.saturating_add(times as i64).min(u32::MAX.into());
    let locks = !is_locked && limit.is_some_and(|limit| state.failures >= limit);
    if locks {
        state.locked_at = Some(now);
    }
    Failed { unlocked, locks }
}

/// Adds wrong passwords to the user's row, or to the row of unknown names. Waits for the disk only if the account is
/// locked by them.
fn count_failures(core: &Core, user: Option<(&UserDef, &Profile)>, now: Date, times: usize) -> Result<()> {
    let dictionary = core.dict.borrow().shared().clone();
    let mut locks = false;
    let mut note = || {
        dictionary.note_logon(&core.p, user.map(|(user, _)| user), true, &mut |state| {
            locks = fail(state, user, now, times).locks;
        })
    };
    use redo::RedoSink;
    let redo = core.instance.storage().redo;
    let earlier = redo.noted_commit(&core.p);
    note()?;
    if locks {
        core.sync_commits()?;
    } else {
        redo.forget_commit(&core.p, earlier, false);
    }
    Ok(())
}

/// Applies the limits of the user's profile to a new session (invariant 15).
///
/// # Errors
/// ORA-02391 when the user has too many sessions; those of reading the dictionary.
pub(crate) fn limit_session(core: &Core, user: &UserDef) -> Result<SessionLimits> {
    let instance = core.instance;
    if user.id == UserId::SYS || instance.params().number(Param::ResourceLimit) == 0 {
        return Ok(SessionLimits::default());
    }
    let profile = core.dict.borrow_mut().profile_of(user)?;
    if let Some(most) = profile.limit(Resource::SessionsPerUser) {
        let all = instance.processes();
        let is_users = |number: u32| all.session(number).is_some_and(|s| s.user.load(Ordering::Relaxed) == user.id.0);
        let sessions = all.live().filter(|(number, slot)| !slot.is_background() && is_users(*number)).count();
        if sessions as i64 > most {
            return Err(Ora::new(2391));
        }
    }
    let minute_s = instance.params().number(Param::ResourceMinute) as u64;
    let minutes = |resource| profile.limit(resource).map_or(0, |minutes| minutes as u64 * minute_s);
    let slot = core.p.number() as usize - 1;
    instance.state().set_idle_limit(slot, minutes(Resource::IdleTime));
    let connect_s = minutes(Resource::ConnectTime);
    let connect_end_ns = if connect_s == 0 { 0 } else { os::clock::now_ns() + connect_s * 1_000_000_000 };
    let most = |resource| profile.limit(resource).map(|most| most as u64);
    let cpu_ns = |resource| most(resource).map(|hundredths| hundredths * 10_000_000);
    core.p.set_limits(Limits {
        session_cpu_ns: cpu_ns(Resource::CpuPerSession),
        call_cpu_ns: cpu_ns(Resource::CpuPerCall),
        session_reads: most(Resource::LogicalReadsPerSession),
        call_reads: most(Resource::LogicalReadsPerCall),
    });
    Ok(SessionLimits { connect_end_ns })
}

/// Kills the sessions that have been idle for longer than IDLE_TIME, and returns their numbers for the caller to wake.
/// A woken session frees its resources; its next call gets ORA-02396.
pub fn snipe_idle(instance: &Instance, now_ns: u64) -> Vec<u32> {
    let all = instance.processes();
    let mut sniped = Vec::new();
    for (number, _) in all.live().filter(|(_, slot)| !slot.is_background()) {
        let Some(session) = all.session(number) else { continue };
        let serial = session.serial();
        let limit_s = instance.state().idle_limit(number as usize - 1);
        let is_idle = session.status() == process::SessionStatus::Inactive;
        let idle_s = now_ns.saturating_sub(session.last_call_ns()) / 1_000_000_000;
        if limit_s > 0 && is_idle && idle_s >= limit_s {
            // The mark names this session by its serial number. It is set before the kill, for the session's next call.
            let (state, slot) = (instance.state(), number as usize - 1);
            if state.note_sniped(slot, limit_s, serial) {
                if all.cancel(number, serial, process::Cancel::Killed) {
                    sniped.push(number);
                } else {
                    state.forget_sniped(slot, limit_s, serial);
                }
            }
        }
    }
    sniped
}

/// The entry of the alert log for a logon; `None` for a logon without an entry. Of many refusals in a minute only the
/// first have one; [`unlisted_entry`] gives the number of the others.
pub fn alert_entry(instance: &Instance, logon: &Logon, refused: Option<&Ora>) -> Option<String> {
    let of = |text: &str| clean(text);
    let who = format!("OS user {}, machine {}, program {}", of(&logon.os_user), of(&logon.machine), of(&logon.program));
    let name = if logon.user.is_empty() { "/".to_owned() } else { of(&logon.user) };
    let role = if logon.as_sysdba { " AS SYSDBA" } else { "" };
    match refused {
        None => logon.as_sysdba.then(|| format!("Logon {name}{role}: {who}")),
        Some(e) if is_refusal(e) && instance.state().may_list_refusal(seconds()) => {
            let text = e.to_string();
            let first = text.lines().next().unwrap_or_default();
            Some(format!("Logon of {name}{role} refused: {first}; {who}"))
        }
        Some(_) => None,
    }
}

/// The entry of the alert log for refusals without an entry of their own. Also writes one row of the audit trail for
/// the refusals that are missing there.
pub fn unlisted_entry(instance: &Instance, p: &Process) -> Option<String> {
    let [listed, noted] = instance.state().take_unlisted_refusals(seconds());
    if noted > 0 {
        let record = crate::audit::unlisted(instance, noted);
        let dictionary = instance.storage().dictionary;
        if unwaited(instance, p, || dictionary.write_audit(p, &record, &txn::Txn::new())).is_err() {
            instance.state().give_back_unnoted_refusals(noted);
        }
    }
    (listed > 0).then(|| format!("Logons refused and not listed: {listed}"))
}

fn seconds() -> u64 {
    os::clock::wall_ns() / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begun_is_a_day_left() {
        let now = Date::from_unix(1_000_000).unwrap();
        let at = |s: i64| Date::from_unix(1_000_000 + s).unwrap();
        assert_eq!([at(1), at(86_400), at(86_401), at(0)].map(|end| days_left(now, end)), [1, 1, 2, 0]);
    }
}
