//! DBWn: writes dirty blocks when a session needs free buffers, when a checkpoint is made, and otherwise some time
//! after their change.
//!
//! The working sets of the buffer cache are divided among the writers: writer `n` of `m` writes every `m`-th set
//! (invariant 9). Buffers that a session was about to replace are written at once, and then the buffers that a
//! checkpoint waits for. Other dirty buffers are written two rounds after their change: a block that many transactions
//! change is then not written for each of them, and a checkpoint still finds few blocks to write.

use instance::Instance;
use std::time::{Duration, Instant};
use types::Result;
use wait::Event;

/// Longest sleep of DBWn; a post ends it.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs writer `n` until it is asked to end; writer 0 then writes every dirty block (invariant 6). `log` writes to the
/// alert log.
pub fn dbwn(instance: &'static Instance, n: usize, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background(&instance::writer_name(n))?;
    let slot = p.number() as usize - 1;
    instance.state().set_writer(n, slot);
    let (cache, redo, share) = (instance.storage().cache, instance.storage().redo, instance.share_of_writer(n));
    crate::begin_asynchronous(instance, &p, log);
    // The redo addresses of one and two rounds ago, and the address up to which checkpoints have requested writes.
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
        // The blocks of a throw-away database need not be on disk: they are written only to free buffers.
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
