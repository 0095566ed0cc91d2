//! DBMS_CONNECTION_POOL: the settings of the connection pool in CPOOL$, and their copy in the SGA.

use crate::core::Core;
use crate::recursive::recursive;
use crate::session::Session;
use crate::world::{World, number};
use dictionary::connection_pool::{DEFAULT_POOL, SETTINGS, place};
use exec::ExecCtx;
use instance::Text;
use instance::connection_pool::PoolSettings;
use plsql::{ConnectionPoolRequest, World as _};
use types::{Ora, Result, Value};

/// Runs a request of DBMS_CONNECTION_POOL: changes CPOOL$ in a transaction of its own, and the copy in the SGA.
///
/// # Errors
/// ORA-56500 for an unknown pool; ORA-56504, ORA-56505 and ORA-56507 for settings; ORA-56609 when a session of the pool
/// tries to stop the pool.
pub(crate) fn request(w: &mut World<'_>, pool: &str, request: ConnectionPoolRequest<'_>) -> Result<()> {
    if request == ConnectionPoolRequest::Stop && w.core.p.session().is_pooled() {
        return Err(Ora::new(56609));
    }
    let instance = w.core.instance;
    let known = instance.state().pool();
    // The copy changes while the row is locked, so row and copy end with the same change.
    w.autonomous_begin()?;
    let changed = change(w.core, &mut w.cx, pool, request);
    let ended = match &changed {
        Ok((before, after)) => {
            known.take_over(after.0, &after.1);
            w.commit().inspect_err(|_| known.take_over(before.0, &before.1))
        }
        Err(_) => w.rollback(),
    };
    let back = w.autonomous_end();
    changed?;
    ended?;
    back?;
    instance.wake_supervisor();
    Ok(())
}

/// Whether the pool is to be active, and its settings.
type Row = (bool, PoolSettings);

fn integer(value: &Value) -> i64 {
    match value {
        Value::Number(n) => n.to_i64().unwrap_or(0),
        _ => 0,
    }
}

fn read(rows: &[Vec<Value>]) -> Option<Row> {
    let (status, settings) = rows.first()?.split_first()?;
    let settings = PoolSettings::try_from(settings.iter().map(integer).collect::<Vec<_>>()).ok()?;
    Some((integer(status) == 1, settings))
}

const READ: &str = "select status, minsize, maxsize, incrsize, session_cached_cursors, inactivity_timeout, \
                    max_think_time, max_use_session, max_lifetime_session, num_cbrok, maxconn_cbrok, \
                    max_txn_think_time from sys.cpool$ where connection_pool = ";

/// Locks and changes the row. Returns its old and its new values.
fn change(core: &Core, cx: &mut ExecCtx<'_>, pool: &str, request: ConnectionPoolRequest<'_>) -> Result<(Row, Row)> {
    let name = Value::text(pool);
    // The lock serializes changes of the pool.
    let locked = Text::joined(&[READ, ":1 for update"]);
    let rows = recursive(core, cx, locked, std::slice::from_ref(&name))?;
    let before = read(&rows).ok_or_else(|| Ora::new(56500))?;
    let (mut is_active, mut settings) = before;
    match request {
        ConnectionPoolRequest::Start => is_active = true,
        ConnectionPoolRequest::Stop => is_active = false,
        ConnectionPoolRequest::Configure(given) => {
            let places = (0..SETTINGS.len()).filter(|at| !SETTINGS[*at].name.ends_with("CBROK"));
            for (at, value) in places.zip(given) {
                settings[at] = value.ok_or_else(|| Ora::new(56507))?;
            }
            check(&settings).map_err(|e| Ora::new(56507).because(e))?;
        }
        ConnectionPoolRequest::Alter { name, value } => {
            let name = name.trim().to_uppercase();
            let at = SETTINGS.iter().position(|s| s.name == name).ok_or_else(|| Ora::new(56504))?;
            settings[at] = value.trim().parse().map_err(|_| Ora::new(56505))?;
            check(&settings)?;
        }
        ConnectionPoolRequest::RestoreDefaults => settings = SETTINGS.map(|setting| setting.default),
    }
    let mut set = |column: &'static str, value: i64| {
        let sql = Text::joined(&["update sys.cpool$ set ", column, " = :1 where connection_pool = :2"]);
        recursive(core, cx, sql, &[number(value), name.clone()]).map(drop)
    };
    set("status", is_active.into())?;
    SETTINGS.iter().zip(&settings).try_for_each(|(setting, value)| set(setting.name, *value))?;
    Ok((before, (is_active, settings)))
}

/// ORA-56505 unless all settings are in their ranges and MINSIZE does not exceed MAXSIZE.
fn check(settings: &PoolSettings) -> Result<()> {
    let fits = SETTINGS.iter().zip(settings).all(|(setting, value)| (setting.least..=setting.most).contains(value));
    if fits && settings[place::MINSIZE] <= settings[place::MAXSIZE] { Ok(()) } else { Err(Ora::new(56505)) }
}

impl Session {
    /// Activates the pool in the instance if it is active in CPOOL$.
    ///
    /// # Errors
    /// Errors from reading CPOOL$.
    pub fn begin_connection_pool(&mut self) -> Result<()> {
        if self.core.instance.state().pool().is_active() {
            return Ok(());
        }
        let rows = self.run(&format!("{READ}'{DEFAULT_POOL}'"))?;
        if let Some((true, settings)) = read(&rows) {
            self.core.instance.state().pool().activate(&settings);
            self.core.instance.wake_supervisor();
        }
        Ok(())
    }
}
