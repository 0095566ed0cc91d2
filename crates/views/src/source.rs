//! The sources of the views.

use std::cell::RefCell;
use std::rc::Rc;

use exec::Shared;
use instance::Instance;
use params::{Param, SessionParams};
use process::{Process, Processes};
use types::Nls;

/// Facts of the instance that no other shared structure contains.
#[derive(Clone, Debug)]
pub struct InstanceFacts {
    /// INSTANCE_NAME, and NAME of `v$database`.
    pub name: String,
    pub host: String,
    /// VERSION: the Oracle release that Latchwork follows, `19.0.0.0.0`.
    pub version: String,
    /// BANNER of `v$version`.
    pub banner: String,
    /// Wall-clock nanoseconds since 1970 at start-up.
    pub started_wall_ns: u64,
}

impl InstanceFacts {
    /// Collects the facts of an instance.
    pub fn of(instance: &Instance) -> InstanceFacts {
        InstanceFacts {
            name: instance.params().get(Param::InstanceName),
            host: os::process::host_name(),
            version: instance::RELEASE.into(),
            banner: format!(
                "{}, compatible with Release {}",
                instance::BANNER.replace("Release ", ""),
                instance::RELEASE
            ),
            started_wall_ns: instance.state().started_wall_ns(),
        }
    }
}

/// The shared structures and the reading process.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub p: &'a Rc<Process>,
    pub processes: &'static Processes,
    pub shared: &'a Shared,
    pub instance: &'static Instance,
    pub facts: &'a InstanceFacts,
    /// The parameters as the reading session sees them.
    pub session_params: &'a RefCell<SessionParams>,
    /// The reading session's language settings.
    pub nls: &'a Nls,
    /// The figures of the reading session's parallel queries.
    pub queries: &'a exec::parallel::ParallelFigures,
}

impl Source<'_> {
    /// The generation whose names and figures the views show (V4).
    pub fn generation(&self) -> latch::Generation {
        self.processes.domain().tunables().generation()
    }

    /// The address of a process slot.
    pub fn process_address(&self, number: u32) -> u64 {
        self.processes.slot(number).map_or(0, |slot| std::ptr::from_ref(slot) as usize as u64)
    }

    /// The address of a session slot.
    pub fn session_address(&self, sid: u32) -> u64 {
        self.processes.session(sid).map_or(0, |slot| std::ptr::from_ref(slot) as usize as u64)
    }
}
