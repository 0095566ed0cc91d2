//! Switching the design of a structure in the running instance, and putting designs back when the session that tried
//! them ends.
//!
//! A session may hold the designs that it switches (`_switch_holder`): the SGA then has its number and the designs
//! before. PMON puts these back when the session is gone, so an experiment that is killed, or loses its connection,
//! leaves no design behind that was only tried. A switch by another session is meant to stay, and ends the hold on that
//! structure.

use crate::designs;
use crate::instance::Instance;
use crate::state::SWITCHED_MAX;
use enqueue::{EnqueueType, LockMode, Timeout};
use params::{CbcDesign, LatchSleep, LibraryCacheDesign, Param, ResultCacheDesign, RowCacheDesign};
use process::Process;
use types::{Ora, Result};

/// The structures, each with the parameter that switches it and the names of its designs by number. A structure without
/// names has a number instead.
const SWITCHED: [(Param, &str, &[&str]); SWITCHED_MAX] = [
    (Param::SwitchCbc, "cache buffers chains", &designs::CHAINS),
    (Param::SwitchResultCache, "result cache", &designs::RESULTS),
    (Param::SwitchRowCache, "row cache", &designs::ROWS),
    (Param::SwitchLibraryCache, "library cache", &designs::LIBRARY),
    (Param::SwitchLatchSleep, "latch sleep", &designs::SLEEP),
    (Param::SpinCount, "spin count", &[]),
];

/// In the design before a switch: the parameter had no value.
const WAS_EMPTY: u64 = 1 << 32;

impl Instance {
    /// The number of the design in force, and of its last switch; 0 where switches have no number.
    fn design_now(&self, param: Param) -> (u64, u32) {
        let tunables = self.processes().domain().tunables();
        let in_force = match param {
            Param::SwitchCbc => self.storage().cache.in_force(),
            Param::SwitchResultCache => self.caches().results.in_force(),
            Param::SwitchRowCache => self.storage().rows.in_force(),
            Param::SwitchLibraryCache => self.caches().library.in_force(),
            Param::SwitchLatchSleep => return (tunables.sleep_algorithm() as u64, 0),
            _ => return (tunables.spin_count().into(), 0),
        };
        (in_force.code().into(), in_force.epoch())
    }

    /// The structures whose designs can be switched, each with the design in force and the number of its last switch;
    /// 0 where switches have no number.
    pub fn designs_in_force(&self) -> Vec<(&'static str, String, u32)> {
        let of = |(param, structure, names): (Param, &'static str, &[&str])| {
            let (design, epoch) = self.design_now(param);
            (structure, value_of(names, design), epoch)
        };
        SWITCHED.into_iter().map(of).collect()
    }

    /// Makes a session the holder of the designs that it switches from now on; puts back what an ended holder has left.
    /// The caller has the parameter enqueue.
    ///
    /// # Errors
    /// ORA-00030 for an unknown session, ORA-00054 while another session holds designs; those of a switch.
    pub fn hold_designs(&self, p: &Process, sid: u32, serial: u64) -> Result<()> {
        if !self.is_session(sid, serial) {
            return Err(Ora::new(30));
        }
        match self.state().design_holder() {
            Some(holder) if holder == (sid, serial) => return Ok(()),
            Some((sid, serial)) if self.is_session(sid, serial) => return Err(Ora::new(54)),
            Some(_) => self.put_designs_back(p)?,
            None => {}
        }
        self.state().set_design_holder(Some((sid, serial)));
        // PMON sleeps for less time while there is a holder.
        if let Some(pmon) = self.state().pmon() {
            self.post(pmon);
        }
        Ok(())
    }

    /// As [`Self::switch_design`], for a session that may be the holder: the design before is kept for the end of the
    /// holder. A switch by another session ends the hold on the structure as soon as its design is in force, in the
    /// cache buffers chains also when it fails behind that.
    ///
    /// # Errors
    /// As [`Self::switch_design`].
    pub fn switch_by_session(&self, p: &Process, param: Param, value: &str) -> Result<()> {
        self.before_switch(p, param);
        let before = self.design_now(param);
        let done = self.switch_design(p, param, value);
        if done.is_ok() || (param == Param::SwitchCbc && self.design_now(param) != before) {
            self.after_switch(p, param);
        }
        done
    }

    /// Notes the design before a switch by the holder. The caller has the parameter enqueue.
    fn before_switch(&self, p: &Process, param: Param) {
        if self.is_holder(p)
            && let Some(at) = place_of(param)
        {
            let was_empty = if self.params().get(param).is_empty() { WAS_EMPTY } else { 0 };
            self.state().hold_design(at, self.design_now(param).0 | was_empty);
        }
    }

    /// Ends the hold on a structure after a switch by another session. The caller has the parameter enqueue.
    fn after_switch(&self, p: &Process, param: Param) {
        if !self.is_holder(p)
            && let Some(at) = place_of(param)
        {
            self.state().release_design(at);
        }
    }

    /// Whether the designs that the process switches go back when it ends.
    pub fn is_holder(&self, p: &Process) -> bool {
        self.state().design_holder() == Some((p.sid(), p.serial()))
    }

    /// Whether the session is there. One that has died counts until PMON has cleaned up behind it.
    pub(crate) fn is_session(&self, sid: u32, serial: u64) -> bool {
        let all = self.processes();
        all.owner(sid).is_some() && all.session(sid).is_some_and(|session| session.serial() == serial)
    }

    /// Puts the designs of a holder back that has ended. PMON calls this at intervals; while a session changes a
    /// parameter, PMON does it later.
    ///
    /// # Errors
    /// The first one of a switch; the next call tries again.
    pub fn restore_designs(&self, p: &Process) -> Result<()> {
        let has_ended = || self.state().design_holder().is_some_and(|(sid, serial)| !self.is_session(sid, serial));
        if !has_ended() {
            return Ok(());
        }
        let enqueues = self.storage().enqueues;
        let Ok(lock) = enqueues.get(p, EnqueueType::Ci, 1, 0, LockMode::Exclusive, Timeout::NoWait) else {
            return Ok(());
        };
        let done = if has_ended() { self.put_designs_back(p) } else { Ok(()) };
        enqueues.release(p, lock);
        done
    }

    /// A structure that cannot be switched does not keep the others from going back.
    fn put_designs_back(&self, p: &Process) -> Result<()> {
        let mut done = Ok(());
        for (at, before) in self.state().held_designs() {
            let (param, _, names) = SWITCHED[at];
            let value = value_of(names, before & !WAS_EMPTY);
            match self.switch_design(p, param, &value) {
                Ok(()) => {
                    self.set_parameter(param, if before & WAS_EMPTY == 0 { &value } else { "" });
                    self.state().release_design(at);
                }
                failed => done = done.and(failed),
            }
        }
        done?;
        self.state().set_design_holder(None);
        self.set_parameter(Param::SwitchHolder, "");
        Ok(())
    }

    /// Puts the design that a `_switch_` parameter names into force; without a name, that at start. Sessions go on:
    /// those inside the structure finish by the design that they began with, and have left it when this returns. The
    /// caller holds the parameter enqueue.
    ///
    /// # Errors
    /// ORA-00051 when sessions stay inside for seconds; ORA-00028, ORA-01013. Except in the cache buffers chains, the
    /// former design stays in force.
    pub fn switch_design(&self, p: &Process, param: Param, value: &str) -> Result<()> {
        let unknown = || Ora::new(2097).because(Ora::with(96, &[&value, &param.name(), &"a design or a generation"]));
        let (storage, caches) = (self.storage(), self.caches());
        let at_start = value.is_empty().then(|| self.designs());
        match param {
            Param::SwitchCbc => {
                let design = CbcDesign::named(value).or(at_start.map(|d| d.cbc)).ok_or_else(unknown)?;
                storage.cache.switch(p, designs::chains(design, self.designs().generation))
            }
            Param::SwitchResultCache => {
                let design = ResultCacheDesign::named(value).or(at_start.map(|d| d.result_cache));
                caches.results.switch(designs::results(design.ok_or_else(unknown)?));
                Ok(())
            }
            Param::SwitchRowCache => {
                let design = RowCacheDesign::named(value).or(at_start.map(|d| d.row_cache)).ok_or_else(unknown)?;
                storage.rows.switch(p, designs::rows(design)).map(drop)
            }
            Param::SwitchLibraryCache => {
                let design =
                    LibraryCacheDesign::named(value).or(at_start.map(|d| d.library_cache)).ok_or_else(unknown)?;
                caches.library.switch(p, designs::library(design)).map(drop)
            }
            Param::SwitchLatchSleep => {
                let design = LatchSleep::named(value).or(at_start.map(|d| d.sleep)).ok_or_else(unknown)?;
                p.all().domain().switch_sleep(designs::sleep(design));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn value_of(names: &[&str], design: u64) -> String {
    names.get(design as usize).map_or_else(|| design.to_string(), |name| (*name).to_string())
}

fn place_of(param: Param) -> Option<usize> {
    SWITCHED.iter().position(|(of, ..)| *of == param)
}
