//! CKPT: makes checkpoints, when a log is full, when they are asked for, and when the last one is too long ago.

use params::Param;
use session::Instance;
use std::time::Duration;
use types::Result;
use wait::Event;

/// How long CKPT sleeps unless it is posted.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs CKPT until it is asked to end. `log` writes to the alert log.
///
/// # Errors
/// Blocks, log or control file cannot be written.
pub fn ckpt(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background("CKPT")?;
    let (slot, redo) = (p.number() as usize - 1, instance.storage().redo);
    redo.become_ckpt(&p);
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            redo.resign(&p);
            return Ok(());
        }
        if instance.is_checkpoint_due() {
            let tell = instance.params().flag(Param::LogCheckpointsToAlert);
            if tell {
                log(&format!("Beginning log switch checkpoint up to RBA {}", redo.head()));
            }
            instance.checkpoint(&p)?;
            if tell {
                let done = redo.checkpoint();
                log(&format!("Completed checkpoint up to RBA {:#x}, SCN: {}", done.rba, done.scn));
            }
            continue;
        }
        crate::idle(&p, Event::RdbmsIpcMessage, posts, SLEEP);
    }
}
