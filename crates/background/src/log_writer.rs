//! LGWR: writes the log buffer, and opens the next log when one is full.
//!
//! In the `latchwork` design a committing session writes its own redo; LGWR then writes redo that no session waits for,
//! and empties a full log buffer. When a log cannot be written, LGWR ends, and the instance with it, before any change
//! can be lost (invariant 7).

use instance::Instance;
use std::time::Duration;
use types::Result;
use wait::Event;

/// Longest sleep of LGWR; a post ends it.
const SLEEP: Duration = Duration::from_secs(3);

/// The time after which LGWR tries again to open the next log.
const AGAIN: Duration = Duration::from_millis(500);

/// Runs LGWR until it is asked to end. `log` writes to the alert log.
///
/// # Errors
/// The log cannot be written: ORA-00345.
pub fn lgwr(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background("LGWR")?;
    let (slot, redo) = (p.number() as usize - 1, instance.storage().redo);
    redo.become_lgwr(&p);
    let mut sequence = redo.current_sequence();
    let mut told = String::new();
    loop {
        let posts = p.posts();
        match redo.write_out(&p) {
            // The next log cannot be opened because the control file cannot be written. Sessions that need the log
            // wait.
            Err(e) if e.is(200) && !instance.state().is_asked_to_end(slot) => {
                crate::tell_once(log, &mut told, "LGWR cannot open the next log, will retry", &e);
                crate::idle(&p, Event::RdbmsIpcMessage, p.posts(), AGAIN);
                continue;
            }
            done => done?,
        }
        told.clear();
        while sequence < redo.current_sequence() {
            sequence += 1;
            log(&format!("Thread 1 advanced to log sequence {sequence} (LGWR switch)"));
        }
        if instance.state().is_asked_to_end(slot) {
            redo.resign(&p);
            return Ok(());
        }
        if !crate::idle(&p, Event::RdbmsIpcMessage, posts, SLEEP) {
            redo.bear_witness(&p)?;
        }
    }
}
