//! DBWn: writes dirty blocks, when a session needs free buffers, when a checkpoint is made, and, some time after their
//! change, when nobody asks.
//!
//! The working sets of the buffer cache are divided among the writers: each writes for every n-th set and leaves the
//! others alone. Buffers that a session was about to replace are written at once, and then what a checkpoint waits for.
//! Other dirty buffers wait until they are two rounds old, so that a block that many transactions change is written once
//! in a while and not by each of them, and yet little is left for a checkpoint to write.

use instance::Instance;
use std::time::{Duration, Instant};
use types::Result;
use wait::Event;

/// How long DBWn sleeps unless it is posted.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs writer `n` until it is asked to end; the first one then writes every dirty block.
pub fn dbwn(instance: &'static Instance, n: usize) -> Result<()> {
    let p = instance.attach_background(&instance::writer_name(n))?;
    let slot = p.number() as usize - 1;
    instance.state().set_writer(n, slot);
    let (cache, redo, share) = (instance.storage().cache, instance.storage().redo, instance.share_of_writer(n));
    // How far the redo was one and two rounds ago, and up to where checkpoints have had changes written.
    let (mut rounds, mut written) = ([redo.head(); 2], 0);
    let mut began = Instant::now();
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            return if instance.is_ephemeral() || n > 0 { Ok(()) } else { instance.write_all(&p) };
        }
        instance.write_for_free_buffers(&p, share)?;
        let wanted = cache.write_before_rba();
        if wanted.0 > written {
            instance.write_older(&p, share, wanted)?;
            written = wanted.0;
        }
        // The blocks of a throw-away database need no disk: they are written only to make room.
        if began.elapsed() >= SLEEP && !instance.is_ephemeral() {
            instance.write_older(&p, share, rounds[0])?;
            rounds = [rounds[1], redo.head()];
            began = Instant::now();
        }
        let guard = p.wait(Event::RdbmsIpcMessage, SLEEP.as_millis() as u64 / 10, 0, 0);
        if !p.sleep(posts, Some(SLEEP)) {
            guard.timed_out();
        }
    }
}
