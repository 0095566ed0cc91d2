//! The job queue.
use session::Instance;
use std::time::Duration;
use types::Result;

/// Runs the coordinator until it is asked to end.
pub fn cjq0(instance: &'static Instance, _fork_wanted: &dyn Fn()) -> Result<()> {
    let p = instance.attach_background("CJQ0")?;
    let slot = p.number() as usize - 1;
    while !instance.state().is_asked_to_end(slot) {
        let posts = p.posts();
        crate::idle(&p, wait::Event::RdbmsIpcMessage, posts, Duration::from_secs(5));
    }
    Ok(())
}

/// Runs slave `n`.
pub fn slave(_instance: &'static Instance, _n: u32, _log: &dyn Fn(&str)) -> Result<()> {
    Ok(())
}
