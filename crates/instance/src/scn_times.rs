//! SMON's samples of SCNs and their times.

use crate::instance::Instance;
use params::Param;
use process::Process;
use txn::Moment;
use types::Scn;

/// Samples that are collected before they are saved.
const SAVE_MOMENTS: usize = 20;
/// The age in microseconds at which saved samples are deleted, and the number of saves between two deletions.
const FORGET_US: u64 = 8 * 86_400 * 1_000_000;
const FORGET_EVERY: u32 = 100;

fn now_us() -> u64 {
    os::clock::wall_ns() / 1000
}

/// The state of SMON between two samples.
#[derive(Debug, Default)]
pub struct ScnSampler {
    unsaved: Vec<Moment>,
    /// The SCN of the last save: its own commit is no reason for a sample.
    saved_scn: Scn,
    saves: u32,
}

impl ScnSampler {
    /// Takes a sample if there were commits since the last one, and saves samples now and then. Sets the retention of
    /// undo, and notes the numbers of transactions and enqueues.
    pub fn sample(&mut self, instance: &Instance, p: &Process) {
        let storage = instance.storage();
        let times = storage.txns.times();
        let moment = Moment { time_us: now_us(), scn: storage.txns.current_scn() };
        if moment.scn != self.saved_scn && times.note(moment) {
            self.unsaved.push(moment);
        }
        let seconds = instance.params().number(Param::UndoRetention).max(0) as u64;
        times.retain(moment.time_us, seconds);
        let open = storage.txns.transactions().len() as u64;
        let tablespace = storage.txns.current_undo_tablespace();
        storage.txns.undo_intervals().note(moment.time_us / 1_000_000, undo_totals(storage), open, tablespace);
        storage.enqueues.note_usage();
        if self.unsaved.len() >= SAVE_MOMENTS {
            self.save(instance, p);
        }
    }

    /// Saves the samples. A save that fails is repeated with the next samples.
    pub fn save(&mut self, instance: &Instance, p: &Process) {
        if self.unsaved.is_empty() {
            return;
        }
        self.saves = self.saves.wrapping_add(1);
        let forget = self.saves.is_multiple_of(FORGET_EVERY).then(|| now_us().saturating_sub(FORGET_US));
        if let Ok(scn) = instance.storage().dictionary.save_moments(p, &self.unsaved, forget) {
            self.unsaved.clear();
            self.saved_scn = scn;
        }
    }
}

/// The figures of undo since the start of the instance, and the number of transactions that began.
pub fn undo_totals(storage: &crate::storage::Storage) -> [u64; 6] {
    let [taken, expired, unexpired, too_old, no_space] = storage.txns.times().undo_figures();
    let tx = storage.enqueues.figures(enqueue::EnqueueType::Tx);
    [taken, expired, unexpired, too_old, no_space, tx.requests.saturating_sub(tx.waits)]
}
