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
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            return instance.write_all(&p);
        }
        while instance.write_some(&p)? {}
        crate::idle(&p, Event::RdbmsIpcMessage, posts, SLEEP);
    }
}
