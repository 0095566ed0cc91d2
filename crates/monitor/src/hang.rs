//! Hang analysis: the report of waiters and blockers that `latchwork hang` and ORADEBUG HANGANALYZE print.
//!
//! The report reads shared memory as it stands: it takes no latch and no mutex, runs no SQL and writes nothing. It
//! therefore works while every session hangs, and in a process without a slot. Its lines may be of different moments.

use buffer_cache::BufferInfo;
use enqueue::LockView;
use instance::Instance;
use latch::{HolderView, LatchName, Where};
use process::ProcessState;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use types::escape::one_line;
use wait::{WaitClass, WaitState, WaitView};

/// Longest chain of waiters that is followed.
const CHAIN_MAX: usize = 100;

/// One process at the moment of the report.
struct Seen {
    os_pid: i32,
    state: ProcessState,
    wait: Option<WaitView>,
    /// The numbers of its blockers, each with the resource that it waits for.
    blockers: Vec<(u32, String)>,
}

/// The data of a report.
struct Picture {
    instance: &'static Instance,
    processes: BTreeMap<u32, Seen>,
    holders: Vec<HolderView>,
    latch_waits: Vec<(u32, u64, Where, u64, u64)>,
    enqueue_waits: Vec<(LockView, LockView)>,
    owned: Vec<BufferInfo>,
}

/// The report of the instance. Latches: none. Waits: none. Errors: none; a process that ends meanwhile is left out.
pub fn report(instance: &'static Instance) -> String {
    let picture = Picture::take(instance);
    let mut out = String::new();
    picture.head(&mut out);
    picture.chains(&mut out);
    picture.latches(&mut out);
    picture.enqueues(&mut out);
    picture.buffers(&mut out);
    picture.sessions(&mut out);
    out
}

impl Picture {
    fn take(instance: &'static Instance) -> Picture {
        let (all, storage) = (instance.processes(), instance.storage());
        let now = os::clock::now_ns();
        let domain = all.domain();
        let mut picture = Picture {
            instance,
            processes: BTreeMap::new(),
            holders: domain.holders().collect(),
            latch_waits: domain.latch_waits().collect(),
            enqueue_waits: storage.enqueues.waits(),
            owned: (0..storage.cache.buffers())
                .filter_map(|n| storage.cache.info(n))
                .filter(|b| b.owner.is_some() || b.shared_pins > 0)
                .collect(),
        };
        for (number, slot) in all.live() {
            let (state, os_pid) = slot.state();
            let wait = all.wait_slot(number).and_then(|w| w.view(now));
            let blockers = picture.blockers_of(number, wait.as_ref());
            picture.processes.insert(number, Seen { os_pid, state, wait, blockers });
        }
        picture
    }

    /// The blockers of a process; none where the wait has no holder.
    fn blockers_of(&self, number: u32, wait: Option<&WaitView>) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        for (_, address, ..) in self.latch_waits.iter().filter(|w| w.0 == number) {
            let holders = self.holders.iter().filter(|h| h.address == *address && h.number != number);
            found.extend(holders.map(|h| (h.number, self.latch_text(h))));
        }
        for (request, lock) in self.enqueue_waits.iter().filter(|(request, _)| request.sid == number) {
            let held = lock.held as u32;
            found.push((
                lock.sid,
                format!("{}, held in mode {held}, wanted in {}", resource(lock), request.requested as u32),
            ));
        }
        let waiting = wait.filter(|w| w.state == WaitState::Waiting);
        if let Some(w) = waiting.filter(|w| w.event.name() == "library cache pin") {
            // Mode 2 of P3 wants to run the unit, mode 3 to define it.
            let does = if w.p[2] / 100 == 2 { "defines" } else { "runs" };
            let blockers = self.instance.caches().library.pin_blockers(number);
            found.extend(blockers.into_iter().map(|b| (b, format!("stored unit {}, which it {does}", w.p[0]))));
        }
        if let Some(w) = waiting.filter(|w| ["buffer busy waits", "read by other session"].contains(&w.event.name())) {
            let at = self.instance.storage().cache.files().address(w.p[0] as u32, w.p[1] as u32);
            for b in self.owned.iter().filter(|b| at.is_some() && b.block == at) {
                let block = b.block.unwrap_or_default();
                found.extend(b.owner.map(|slot| (slot as u32 + 1, format!("block {block}, pinned exclusively"))));
            }
        }
        found.retain(|(blocker, _)| *blocker != number);
        found
    }

    fn head(&self, out: &mut String) {
        let waiting = self.processes.values().filter(|s| !s.blockers.is_empty()).count();
        let _ = writeln!(out, "Instance in {}", self.instance.dir().display());
        let _ = writeln!(out, "{} processes, {waiting} of which wait for another one", self.processes.len());
    }

    /// Each chain of waiters, from the blocker that does not wait, or round a circle.
    fn chains(&self, out: &mut String) {
        let blockers = || self.processes.values().flat_map(|s| s.blockers.iter().map(|(b, _)| *b));
        let roots: BTreeSet<u32> =
            blockers().filter(|b| self.processes.get(b).is_none_or(|s| s.blockers.is_empty())).collect();
        let _ = writeln!(out, "\nWho waits for whom");
        let mut shown = BTreeSet::new();
        for root in &roots {
            let _ = writeln!(out, "  {}", self.process_text(*root));
            shown.insert(*root);
            self.waiters_of(*root, 1, &mut shown, out);
        }
        // A chain without an end is a circle: each process in it waits for another one in it.
        let circles: Vec<u32> = self
            .processes
            .iter()
            .filter(|(n, s)| !s.blockers.is_empty() && !shown.contains(n))
            .map(|(n, _)| *n)
            .collect();
        for first in circles {
            if shown.insert(first) {
                let _ = writeln!(out, "  a circle: {}", self.process_text(first));
                self.waiters_of(first, 1, &mut shown, out);
            }
        }
        if shown.is_empty() {
            let _ = writeln!(out, "  nobody waits for anybody");
        }
    }

    fn waiters_of(&self, blocker: u32, depth: usize, shown: &mut BTreeSet<u32>, out: &mut String) {
        if depth > CHAIN_MAX {
            return;
        }
        for (number, seen) in &self.processes {
            for (_, what) in seen.blockers.iter().filter(|(b, _)| *b == blocker) {
                let pad = "  ".repeat(depth + 1);
                let _ = writeln!(out, "{pad}blocks {}", self.process_text(*number));
                let _ = writeln!(out, "{pad}  by {what}");
                if shown.insert(*number) {
                    self.waiters_of(*number, depth + 1, shown, out);
                }
            }
        }
    }

    fn process_text(&self, number: u32) -> String {
        let Some(seen) = self.processes.get(&number) else { return format!("process {number}, which is gone") };
        let session = self.instance.processes().session(number);
        let who = session.map_or_else(String::new, |s| {
            let (user, program) = (one_line(&s.username.get()), one_line(&s.program.get()));
            let (executes, _) = self.instance.caches().library.session_cursors(number);
            let sql = executes.map_or_else(String::new, |cursor| format!(", sql_id {}", cursor.digest.sql_id()));
            format!("sid {number},{} {user} {program}{sql}", s.serial())
        });
        let state = match (seen.state, os::process::run_state(seen.os_pid)) {
            (_, None) => "dead",
            (_, Some('T' | 't')) => "stopped",
            (ProcessState::Cleaning, _) => "being cleaned up behind",
            (ProcessState::Starting, _) => "starting",
            _ => "alive",
        };
        format!("{who}, os process {} ({state}): {}", seen.os_pid, wait_text(seen.wait.as_ref()))
    }

    fn latch_text(&self, h: &HolderView) -> String {
        let name = h.name.map_or("mutex", LatchName::name);
        let child = if h.child > 0 { format!(" child {}", h.child) } else { String::new() };
        format!("{name}{child} at {:016X}, held {} in {} (why {})", h.address, h.mode.text(), h.place.name(), h.why)
    }

    fn latches(&self, out: &mut String) {
        let _ = writeln!(out, "\nLatches and mutexes held");
        for h in &self.holders {
            let _ = writeln!(out, "  sid {}: {}, {} gets", h.number, self.latch_text(h), h.gets);
        }
        let _ = writeln!(out, "\nLatches waited for");
        let now = os::clock::now_ns();
        for (number, address, place, why, since) in &self.latch_waits {
            let ms = now.saturating_sub(*since) / 1_000_000;
            let _ = writeln!(out, "  sid {number}: {address:016X} for {ms} ms, from {} (why {why})", place.name());
        }
    }

    fn enqueues(&self, out: &mut String) {
        let _ = writeln!(out, "\nEnqueues waited for");
        for (request, lock) in &self.enqueue_waits {
            let _ = writeln!(
                out,
                "  sid {}: {} in mode {}, which sid {} has in mode {}",
                request.sid,
                resource(request),
                request.requested as u32,
                lock.sid,
                lock.held as u32
            );
        }
    }

    fn buffers(&self, out: &mut String) {
        let _ = writeln!(out, "\nBlocks pinned");
        let cache = self.instance.storage().cache;
        for number in self.processes.keys() {
            for at in cache.pins_of(*number) {
                let owner = self.owned.iter().find(|b| b.block == Some(at)).and_then(|b| b.owner);
                let how = if owner == Some(*number as usize - 1) { "exclusively" } else { "shared" };
                let _ = writeln!(out, "  sid {number}: block {at}, {how}");
            }
        }
    }

    fn sessions(&self, out: &mut String) {
        let _ = writeln!(out, "\nSessions");
        for number in self.processes.keys() {
            let _ = writeln!(out, "  {}", self.process_text(*number));
        }
    }
}

fn resource(lock: &LockView) -> String {
    format!("{}-{:08X}-{:08X}", lock.kind.letters(), lock.id1, lock.id2)
}

fn wait_text(wait: Option<&WaitView>) -> String {
    let Some(w) = wait else { return "has not waited yet".into() };
    let [a, b, c] = w.event.parameters();
    if w.state != WaitState::Waiting {
        return format!("works, {:.3} s since its last wait, '{}'", w.since_us as f64 / 1e6, w.event.name());
    }
    let idle = if w.event.class() == WaitClass::Idle { "is idle" } else { "waits" };
    let mut text = format!("{idle} {:.3} s in '{}'", w.wait_us as f64 / 1e6, w.event.name());
    for (name, value) in [a, b, c].iter().zip(w.p).filter(|(name, _)| !name.is_empty()) {
        let _ = write!(text, " {name}={value:#x}");
    }
    text
}
