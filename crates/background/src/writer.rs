//! DBW0: writes dirty blocks, when a session needs free buffers and, a few at a time, when nobody asks.

use session::Instance;
use std::time::Duration;
use types::Result;
use wait::Event;

/// How long DBW0 sleeps unless it is posted.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs DBW0 until it is asked to end and no dirty block is left.
pub fn dbw0(instance: &'static Instance) -> Result<()> {
    let p = instance.attach_background("DBW0")?;
    let slot = p.number() as usize - 1;
    instance.state().set_writer(slot);
    // The blocks of a throw-away database need no disk: they are written only to make room.
    let mut asked_for_buffers = false;
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            return if instance.is_ephemeral() { Ok(()) } else { instance.write_all(&p) };
        }
        if asked_for_buffers || !instance.is_ephemeral() {
            while instance.write_some(&p)? {}
        }
        let guard = p.wait(Event::RdbmsIpcMessage, SLEEP.as_millis() as u64 / 10, 0, 0);
        asked_for_buffers = p.sleep(posts, Some(SLEEP));
        if !asked_for_buffers {
            guard.timed_out();
        }
    }
}
