//! MMON: takes the snapshots of the workload repository that are due and drops the old ones; saves the active session
//! history when its ring is nearly full before the next snapshot.

use instance::{Instance, Phase};
use session::Session;
use std::time::Duration;
use types::{Result, Value};

/// The interval at which MMON checks the time.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Seconds after a failure until the next attempt.
const TRY_AGAIN_S: i64 = 60;

/// Seconds since the last snapshot of this instance, or since its start; and the settings in minutes.
const DUE: &str = "select (sysdate - greatest(i.startup_time, nvl((select max(cast(s.end_interval_time as date)) from sys.wrm$_snapshot s \
     where s.startup_time = i.startup_time), i.startup_time))) * 86400, c.snap_interval_min, c.retention_min \
     from v$instance i, v$database d, sys.wrm$_wr_control c where c.dbid(+) = d.dbid";

/// The newest and the oldest snapshot that are older than a number of minutes and in no baseline.
const OLD: &str = "select max(s.snap_id), min(s.snap_id) from sys.wrm$_snapshot s \
     where s.end_interval_time < localtimestamp - numtodsinterval(:1, 'MINUTE') and not exists \
     (select null from sys.wrm$_baseline k where s.snap_id between k.start_snap_id and k.end_snap_id)";

fn number(v: &Value) -> Option<i64> {
    match v {
        Value::Number(n) => Some(n.to_f64() as i64),
        _ => None,
    }
}

/// Runs MMON until it is asked to end. `log` writes to the alert log.
///
/// # Errors
/// ORA-00020 when there is no process slot. A failed snapshot is logged and tried again after a minute.
pub fn mmon(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let mut session = Session::background(instance, "MMON")?;
    let slot = session.slot();
    let mut look = Look::default();
    let mut told = String::new();
    while !instance.state().is_asked_to_end(slot) {
        let posts = session.posts();
        if instance.state().phase() == Phase::Open
            && look.is_time(instance)
            && let Err(e) = look.round(instance, &mut session)
        {
            look.again_s = TRY_AGAIN_S;
            crate::tell_once(log, &mut told, "MMON: no snapshot could be taken:", &e);
        }
        if instance.ash().is_filling()
            && let Err(e) = session.save_history()
        {
            crate::tell_once(log, &mut told, "MMON: the active session history could not be saved:", &e);
        }
        session.idle(wait::Event::RdbmsIpcMessage, posts, LOOK_EVERY);
    }
    session.end();
    Ok(())
}

/// The time of the next read of the repository tables, which are read seldom.
#[derive(Default)]
struct Look {
    /// The change count of the settings at the last read.
    seen: Option<u64>,
    /// Monotonic seconds of the last read, and seconds until the next.
    at_s: i64,
    again_s: i64,
}

fn now_s() -> i64 {
    (os::clock::now_ns() / 1_000_000_000) as i64
}

impl Look {
    fn is_time(&self, instance: &Instance) -> bool {
        self.seen != Some(instance.state().repository_changes()) || now_s() - self.at_s >= self.again_s
    }

    fn round(&mut self, instance: &Instance, session: &mut Session) -> Result<()> {
        (self.seen, self.at_s, self.again_s) = (Some(instance.state().repository_changes()), now_s(), TRY_AGAIN_S);
        let rows = session.recursive_query(DUE, &[])?;
        let Some([since, interval, retention]) = rows.first().map(|row| [0, 1, 2].map(|n| number(&row[n]))) else {
            return Ok(());
        };
        let interval_s = interval.unwrap_or(monitor::INTERVAL_MIN) * 60;
        let basic = instance.params().get(params::Param::StatisticsLevel).eq_ignore_ascii_case("BASIC");
        if interval_s == 0 || basic {
            return Ok(());
        }
        let mut since_s = since.unwrap_or(0);
        if since_s >= interval_s {
            session.run("begin dbms_workload_repository.create_snapshot; end;")?;
            since_s = 0;
            self.drop_old(session, retention.unwrap_or(monitor::RETENTION_MIN))?;
        }
        self.again_s = (interval_s - since_s).clamp(1, TRY_AGAIN_S * 10);
        Ok(())
    }

    fn drop_old(&self, session: &mut Session, retention_min: i64) -> Result<()> {
        if retention_min == 0 {
            return Ok(());
        }
        let minutes = Value::Number(retention_min.into());
        let rows = session.recursive_query(OLD, &[minutes])?;
        let ends = rows.first().map(|row| [number(&row[1]), number(&row[0])]);
        if let Some([Some(low), Some(high)]) = ends {
            session.run(&format!("begin dbms_workload_repository.drop_snapshot_range({low}, {high}); end;"))?;
        }
        Ok(())
    }
}
