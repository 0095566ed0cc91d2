//! Switching the design of a structure in the running instance.

use crate::designs;
use crate::instance::Instance;
use latch::InForce;
use params::{CbcDesign, LatchSleep, LibraryCacheDesign, Param, ResultCacheDesign, RowCacheDesign};
use process::Process;
use types::{Ora, Result};

impl Instance {
    /// The structures whose designs can be switched, each with the design in force and the number of its last switch;
    /// 0 where switches have no number.
    pub fn designs_in_force(&self) -> Vec<(&'static str, String, u32)> {
        let (storage, caches) = (self.storage(), self.caches());
        let sleep = self.processes().domain().tunables().sleep_algorithm();
        let spins = self.processes().domain().tunables().spin_count();
        let epoch = |in_force: InForce| in_force.epoch();
        vec![
            (
                "cache buffers chains",
                designs::chains_name(storage.cache.design()).into(),
                epoch(storage.cache.in_force()),
            ),
            ("result cache", designs::results_name(caches.results.design()).into(), epoch(caches.results.in_force())),
            ("row cache", designs::rows_name(storage.rows.design()).into(), epoch(storage.rows.in_force())),
            ("library cache", designs::library_name(caches.library.design()).into(), epoch(caches.library.in_force())),
            ("latch sleep", designs::sleep_name(sleep).into(), 0),
            ("spin count", spins.to_string(), 0),
        ]
    }

    /// Puts the design that a `_switch_` parameter names into force. Sessions go on: those inside the structure finish
    /// by the design that they began with, and have left it when this returns. The caller holds the parameter enqueue.
    ///
    /// # Errors
    /// ORA-00051 when sessions stay inside for seconds; ORA-00028, ORA-01013. Except in the cache buffers chains, the
    /// former design stays in force.
    pub fn switch_design(&self, p: &Process, param: Param, value: &str) -> Result<()> {
        let unknown = || Ora::new(2097).because(Ora::with(96, &[&value, &param.name(), &"a design or a generation"]));
        let (storage, caches) = (self.storage(), self.caches());
        match param {
            Param::SwitchCbc => {
                let design = CbcDesign::named(value).ok_or_else(unknown)?;
                storage.cache.switch(p, designs::chains(design, self.designs().generation))
            }
            Param::SwitchResultCache => {
                caches.results.switch(designs::results(ResultCacheDesign::named(value).ok_or_else(unknown)?));
                Ok(())
            }
            Param::SwitchRowCache => {
                let design = RowCacheDesign::named(value).ok_or_else(unknown)?;
                storage.rows.switch(p, designs::rows(design)).map(drop)
            }
            Param::SwitchLibraryCache => {
                let design = LibraryCacheDesign::named(value).ok_or_else(unknown)?;
                caches.library.switch(p, designs::library(design)).map(drop)
            }
            Param::SwitchLatchSleep => {
                let design = LatchSleep::named(value).ok_or_else(unknown)?;
                p.all().domain().switch_sleep(designs::sleep(design));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
