//! DBMS_ALERT: a session registers for alerts, and waits until another one signals them and commits.
//!
//! A registration is a row of DBMS_ALERT_INFO. SIGNAL changes the rows of an alert in the caller's transaction, so the
//! alert exists from the commit on, and two sessions signal one alert one after the other, as in Oracle. A wait reads
//! the rows of its session again and again. Rejected: a wake-up by the commit, which every commit would pay for.

use crate::core::Core;
use crate::recursive::recursive;
use crate::world::{World, number};
use plsql::{AlertRequest as Request, World as _};
use std::time::{Duration, Instant};
use types::{Ora, Result, Value};

/// The first and the longest pause between two looks, in seconds.
const PAUSES_S: (f64, f64) = (0.01, 0.25);

/// The identity of a session in the rows. Serial numbers begin again when the instance starts, and rows outlive it.
fn identity(core: &Core, sid: u32, serial: u64) -> String {
    let started = core.instance.state().started_wall_ns() / 1_000_000_000;
    format!("{sid:X}.{serial:X}.{started:X}")
}

/// Carries a call out. Registrations and waits commit the caller's transaction, as in Oracle.
///
/// # Errors
/// ORA-04092 and ORA-14552 where a call may not commit; ORA-20000 for a wait without a registration.
pub fn call(w: &mut World<'_>, request: &Request) -> Result<[Value; 3]> {
    let nothing = [Value::Null, Value::Null, Value::Null];
    let own = Value::text(identity(w.core, w.core.p.sid(), w.core.p.serial()));
    match request {
        Request::Signal { name, message } => {
            let message = message.as_deref().map_or(Value::Null, Value::text);
            let sql = "update sys.dbms_alert_info set changed = 'Y', message = :1 where name = :2";
            recursive(w.core, &mut w.cx, sql, &[message, Value::text(name.as_str())])?;
            return Ok(nothing);
        }
        _ => {
            w.cx.session.may_control_transaction()?;
            w.commit()?;
        }
    }
    match request {
        Request::Register { name, cleanup } => {
            if *cleanup {
                remove_ended(w)?;
            }
            let key = [Value::text(name.as_str()), own];
            let sql = "select 1 from sys.dbms_alert_info where name = :1 and sid = :2";
            if recursive(w.core, &mut w.cx, sql, &key)?.is_empty() {
                let sql = "insert into sys.dbms_alert_info values (:1, :2, 'N', null)";
                recursive(w.core, &mut w.cx, sql, &key)?;
            }
            w.commit()?;
            Ok(nothing)
        }
        Request::Remove(name) => {
            let sql = "delete from sys.dbms_alert_info where name = :1 and sid = :2";
            recursive(w.core, &mut w.cx, sql, &[Value::text(name.as_str()), own])?;
            w.commit()?;
            Ok(nothing)
        }
        Request::RemoveAll => {
            recursive(w.core, &mut w.cx, "delete from sys.dbms_alert_info where sid = :1", &[own])?;
            w.commit()?;
            Ok(nothing)
        }
        Request::Wait { name, timeout_s } => wait(w, name.as_deref(), *timeout_s, own),
        Request::Signal { .. } => Ok(nothing),
    }
}

fn wait(w: &mut World<'_>, name: Option<&str>, timeout_s: f64, own: Value) -> Result<[Value; 3]> {
    let wanted = name.map_or(Value::Null, Value::text);
    let of_session = "select name, message, changed from sys.dbms_alert_info where sid = :1 and name = nvl(:2, name) \
         order by changed desc";
    let began = Instant::now();
    let limit = Duration::try_from_secs_f64(timeout_s).unwrap_or(Duration::MAX);
    let mut pause = PAUSES_S.0;
    loop {
        let rows = recursive(w.core, &mut w.cx, of_session, &[own.clone(), wanted.clone()])?;
        let Some(first) = rows.into_iter().next() else {
            let text = match name {
                Some(name) => format!("ORU-10024: there are no alerts registered.: {name}"),
                None => "ORU-10024: there are no alerts registered.".into(),
            };
            return Err(Ora::user(20000, text));
        };
        if let [name, message, Value::Text(changed_flag)] = &first[..]
            && changed_flag == "Y"
        {
            // A later signal of the alert that has not been received replaces its message. A signal that is not
            // committed locks the row: this wait has a limit, and does not wait for the lock.
            let key = [own.clone(), name.clone(), message.clone()];
            let lock = "select 1 from sys.dbms_alert_info where sid = :1 and name = :2 and changed = 'Y' \
                 and (message = :3 or (message is null and :3 is null)) for update skip locked";
            if !recursive(w.core, &mut w.cx, lock, &key)?.is_empty() {
                let take = "update sys.dbms_alert_info set changed = 'N' where sid = :1 and name = :2";
                recursive(w.core, &mut w.cx, take, &key[..2])?;
                w.commit()?;
                return Ok([name.clone(), message.clone(), number(0)]);
            }
        }
        // The reads began a transaction if the session is serializable: the next one sees later commits.
        w.commit()?;
        let left = limit.saturating_sub(began.elapsed()).as_secs_f64();
        if left <= 0.0 {
            return Ok([Value::Null, Value::Null, number(1)]);
        }
        w.sleep(pause.min(left))?;
        pause = (pause * 2.0).min(PAUSES_S.1);
    }
}

/// Removes the registrations of sessions that have ended.
fn remove_ended(w: &mut World<'_>) -> Result<()> {
    let found = recursive(w.core, &mut w.cx, "select distinct sid from sys.dbms_alert_info", &[])?;
    for sid in found.into_iter().flatten() {
        let Value::Text(text) = &sid else { continue };
        let number = text.split('.').next().and_then(|sid| u32::from_str_radix(sid, 16).ok());
        let slot = number.and_then(|number| Some((number, w.core.instance.processes().session(number)?.serial())));
        if slot.is_none_or(|(sid, serial)| identity(w.core, sid, serial) != *text) {
            recursive(w.core, &mut w.cx, "delete from sys.dbms_alert_info where sid = :1", &[sid])?;
        }
    }
    Ok(())
}
