#![forbid(unsafe_code)]
//! Background processes: PMON, DBWn, LGWR, CKPT, ARC0, SMON, MMON, MMNL, CJQ0 and the job slaves.

mod archiver;
mod checkpointer;
mod jobs;
mod log_writer;
mod mmnl;
mod mmon;
mod pmon;
mod servers;
mod smon;
mod writer;

pub use archiver::arc0;
pub use checkpointer::ckpt;
pub use jobs::{cjq0, slave};
pub use log_writer::lgwr;
pub use mmnl::mmnl;
pub use mmon::mmon;
pub use pmon::pmon;
pub use servers::parallel_server;
pub use smon::smon;
pub use writer::dbwn;

use instance::Instance;
use process::Process;
use std::time::Duration;
use wait::Event;

/// Writes a failure that is tried again to the alert log: once, not at every attempt.
fn tell_once(log: &dyn Fn(&str), told: &mut String, what: &str, e: &types::Ora) {
    let text = e.to_string();
    if *told != text {
        log(&format!("{what}\n{text}"));
        *told = text;
    }
}

/// Has this process begin the writes of a batch of blocks together, if the parameters say so and the system can. `log`
/// writes to the alert log.
fn begin_asynchronous(instance: &Instance, p: &Process, log: &dyn Fn(&str)) {
    if instance.writes_asynchronously()
        && let Err(e) = instance.storage().cache.write_asynchronously(p)
    {
        let pid = os::process::own_id();
        log(&format!("Asynchronous I/O is not available to process {pid}: it writes blocks one after the other\n{e}"));
    }
}

/// Sleeps until a post after `posts` or until the time is up; true when posted.
fn idle(p: &Process, event: Event, posts: u32, time: Duration) -> bool {
    let guard = p.wait(event, time.as_millis() as u64 / 10, 0, 0);
    let posted = p.sleep(posts, Some(time));
    if !posted {
        guard.timed_out();
    }
    posted
}
