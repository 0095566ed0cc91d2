//! DBW0: writes dirty blocks, when a session needs free buffers and, some time after their change, when nobody asks.
//!
//! Buffers that a session was about to replace are written at once. Other dirty buffers wait
//! until they are two rounds old, so that a block that many transactions change is written once in a while and not by
//! each of them, and yet little is left for a checkpoint to write.

use instance::Instance;
use std::time::{Duration, Instant};
use types::Result;
use wait::Event;

/// How long DBW0 sleeps unless it is posted.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs DBW0 until it is asked to end and no dirty block is left.
pub fn dbw0(instance: &'static Instance) -> Result<()> {
    let p = instance.attach_background("DBW0")?;
    let slot = p.number() as usize - 1;
    instance.state().set_writer(slot);
    let redo = instance.storage().redo;
    // How far the redo was one and two rounds ago.
    let mut rounds = [redo.head(); 2];
    let mut began = Instant::now();
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            return if instance.is_ephemeral() { Ok(()) } else { instance.write_all(&p) };
        }
        instance.write_for_free_buffers(&p)?;
        // The blocks of a throw-away database need no disk: they are written only to make room.
        if began.elapsed() >= SLEEP && !instance.is_ephemeral() {
            instance.write_older(&p, rounds[0])?;
            rounds = [rounds[1], redo.head()];
            began = Instant::now();
        }
        let guard = p.wait(Event::RdbmsIpcMessage, SLEEP.as_millis() as u64 / 10, 0, 0);
        if !p.sleep(posts, Some(SLEEP)) {
            guard.timed_out();
        }
    }
}
