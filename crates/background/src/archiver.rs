//! ARC0: archives complete logs, so that they can be reused.

use instance::Instance;
use std::time::Duration;
use types::Result;
use wait::Event;

/// The sleep of ARC0 unless it is posted, and the time after which it tries a failed archiving again.
const SLEEP: Duration = Duration::from_secs(10);

/// Runs ARC0 until it is asked to end. `log` writes to the alert log.
///
/// # Errors
/// None of archiving: a log that cannot be archived is tried again, and sessions wait for logs meanwhile.
pub fn arc0(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background("ARC0")?;
    let (slot, redo) = (p.number() as usize - 1, instance.storage().redo);
    redo.become_arch(&p);
    let mut told = String::new();
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            redo.resign(&p);
            return Ok(());
        }
        match redo.archive_all(&p) {
            Ok(sequences) => {
                for sequence in sequences {
                    log(&format!("ARC0: Completed archiving thread 1 sequence {sequence}"));
                }
                told.clear();
            }
            // Reported once, not every ten seconds.
            Err(e) if e.to_string() != told => {
                told = e.to_string();
                log(&format!("ARC0: Archival stopped, will retry\n{told}"));
            }
            Err(_) => {}
        }
        crate::idle(&p, Event::RdbmsIpcMessage, posts, SLEEP);
    }
}
