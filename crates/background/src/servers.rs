//! A server of parallel queries: it executes its part for one coordinator after another.

use instance::Instance;
use session::Session;
use std::time::{Duration, Instant};
use types::Result;

/// Idle time after which a server ends, unless it is one of `parallel_min_servers`.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// Runs server `n` until it has been idle for a while (invariant 10).
///
/// # Errors
/// ORA-00020 when there is no process slot.
pub fn parallel_server(instance: &'static Instance, n: u32) -> Result<()> {
    let servers = instance.caches().servers;
    let mut session = match Session::slave(instance, &parallel::name(n)) {
        Ok(session) => session,
        Err(e) => {
            servers.refuse(instance.processes(), n);
            return Err(e);
        }
    };
    servers.attached(session.process(), n);
    let stays = i64::from(n) < instance.params().number(params::Param::ParallelMinServers);
    let mut idle = Instant::now();
    loop {
        match session.serve(n, IDLE_LIMIT) {
            Ok(true) => idle = Instant::now(),
            Ok(false) => {
                let is_over = instance.is_closing() || !stays && idle.elapsed() >= IDLE_LIMIT;
                if is_over && servers.may_leave(n) {
                    session.end();
                    return Ok(());
                }
                if instance.is_closing() {
                    // Its coordinator is about to end.
                    os::clock::sleep(Duration::from_millis(10));
                }
            }
            // The session was killed and executes nothing more.
            Err(_) => {
                servers.may_leave(n);
                session.end();
                return Ok(());
            }
        }
    }
}
