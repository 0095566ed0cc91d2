//! An instance inside one operating-system process, for tests: threads act as processes.
//!
//! There is no supervisor and there are no background processes: a session that needs a free buffer writes dirty ones
//! itself, and there is no clean-up after a thread that panics in the middle of a call.

use crate::instance::Instance;
use params::InitParams;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use types::{Ora, Result};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A throw-away instance of this process. Dropping it removes its files; its memory stays until the process ends.
pub struct InProcess {
    instance: &'static Instance,
    dir: PathBuf,
}

impl InProcess {
    /// Makes an instance with the given init parameters.
    ///
    /// # Errors
    /// Errors of bad parameters, unusable files and unavailable memory.
    pub fn start(params: &[(&str, &str)]) -> Result<InProcess> {
        let mut init = InitParams::default();
        init.set("processes", "40")?;
        init.set("db_cache_size", "16M")?;
        for (name, value) in params {
            init.set(name, value)?;
        }
        let n = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("latchwork-in-process-{}-{n}", os::process::own_id()));
        std::fs::create_dir_all(&dir).map_err(|e| Ora::internal(format!("{}: {e}", dir.display())))?;
        match Instance::open(&dir, &init, true) {
            Ok(instance) => Ok(InProcess { instance, dir }),
            Err(e) => {
                let _ = std::fs::remove_dir_all(&dir);
                Err(e)
            }
        }
    }

    /// The instance.
    pub fn instance(&self) -> &'static Instance {
        self.instance
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_opens_in_this_process_and_its_files_go_away() {
        let i = InProcess::start(&[("latch_generation", "11.1")]).unwrap();
        let dir = i.instance().dir().to_path_buf();
        assert!(dir.join("system01.dbf").is_file());
        assert_eq!(i.instance().designs().generation.name(), "11.1");
        assert!(i.instance().current_scn() > types::Scn(0));
        i.instance().close().unwrap();
        drop(i);
        assert!(!dir.exists());
        assert_eq!(InProcess::start(&[("processes", "1")]).err().unwrap().code(), 68);
    }
}
