//! The parameters in force, in the SGA.
//!
//! All processes read the same values, so `ALTER SYSTEM SET` takes effect for all at once. A parameter has two copies
//! of its text and a version; the low bit of the version selects the copy. A writer fills the other copy and then adds
//! one to the version, so a writer that dies half-way has changed nothing, and a reader writes nothing shared. The
//! caller's enqueue keeps writers apart (invariants 2 and 3).

use crate::init::InitParams;
use crate::list::{Kind, PARAMS, Param};
use crate::value::MAX_VALUE_LEN;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of one copy: the length, then the text.
const COPY_WORDS: usize = 1 + MAX_VALUE_LEN / 8;
const IS_DEFAULT: u64 = 1;
const SYSTEM_MODIFIED: u64 = 2;

const _: () = assert!(MAX_VALUE_LEN.is_multiple_of(8));

/// The areas of the parameters in the SGA.
#[derive(Clone, Copy)]
pub struct ParamsLayout {
    versions: SgaSlice<AtomicU64>,
    flags: SgaSlice<AtomicU64>,
    numbers: SgaSlice<AtomicU64>,
    texts: SgaSlice<AtomicU64>,
    epoch: SgaSlice<AtomicU64>,
}

impl ParamsLayout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder) -> ParamsLayout {
        let n = PARAMS.len();
        ParamsLayout {
            versions: builder.reserve("parameters", n),
            flags: builder.reserve("parameters", n),
            numbers: builder.reserve("parameters", n),
            texts: builder.reserve("parameters", n * 2 * COPY_WORDS),
            epoch: builder.reserve("parameters", 1),
        }
    }
}

/// The parameters in force.
#[derive(Clone, Copy)]
pub struct SystemParams {
    versions: &'static [AtomicU64],
    flags: &'static [AtomicU64],
    numbers: &'static [AtomicU64],
    texts: &'static [AtomicU64],
    epoch: &'static AtomicU64,
}

impl SystemParams {
    /// Fills the areas with the values at start-up. Called once, before any other process exists.
    pub fn create(sga: &'static Sga, layout: &ParamsLayout, init: &InitParams) -> SystemParams {
        let params = SystemParams {
            versions: sga.slice(layout.versions),
            flags: sga.slice(layout.flags),
            numbers: sga.slice(layout.numbers),
            texts: sga.slice(layout.texts),
            epoch: &sga.slice(layout.epoch)[0],
        };
        for d in PARAMS {
            let i = d.param as usize;
            params.publish(d.param, init.get(d.param));
            let default = if init.is_default(d.param) { IS_DEFAULT } else { 0 };
            params.flags[i].store(default, Ordering::Relaxed);
        }
        params
    }

    /// The services that the listener offers: SERVICE_NAMES and the two names of the database, each once regardless of
    /// case.
    pub fn services(&self) -> Vec<String> {
        let named = self.get(Param::ServiceNames);
        let names = named.split(',').map(|name| name.trim().to_owned());
        let mut services: Vec<String> = Vec::new();
        for name in names.chain([self.get(Param::DbUniqueName), self.get(Param::DbName)]) {
            if !name.is_empty() && !services.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                services.push(name);
            }
        }
        services
    }

    /// Changes a value for the whole instance. `value` is in normal form; the caller holds the parameter enqueue.
    pub fn set(&self, param: Param, value: &str) {
        self.publish(param, value);
        let flags = &self.flags[param as usize];
        let new = (flags.load(Ordering::Relaxed) | SYSTEM_MODIFIED) & !IS_DEFAULT;
        flags.store(new, Ordering::Relaxed);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Changes a derived value; it still counts as a default. The caller holds the parameter enqueue.
    pub fn derive(&self, param: Param, value: impl ToString) {
        self.publish(param, &value.to_string());
        self.epoch.fetch_add(1, Ordering::Release);
    }

    fn publish(&self, param: Param, value: &str) {
        let i = param as usize;
        let version = self.versions[i].load(Ordering::Relaxed);
        let copy = self.copy(i, version + 1);
        // Pairs with the fence in `get`: a reader that sees a word of this copy also sees that the version has passed.
        fence(Ordering::Release);
        let bytes = &value.as_bytes()[..value.len().min(MAX_VALUE_LEN)];
        copy[0].store(bytes.len() as u64, Ordering::Relaxed);
        for (word, piece) in copy[1..].iter().zip(bytes.chunks(8)) {
            let mut raw = [0; 8];
            raw[..piece.len()].copy_from_slice(piece);
            word.store(u64::from_le_bytes(raw), Ordering::Relaxed);
        }
        self.numbers[i].store(as_number(param, value) as u64, Ordering::Relaxed);
        // Pairs with the Acquire load in `get`: a reader that sees the new version sees its copy.
        self.versions[i].store(version + 1, Ordering::Release);
    }

    fn copy(&self, param: usize, version: u64) -> &[AtomicU64] {
        let at = (param * 2 + (version % 2) as usize) * COPY_WORDS;
        &self.texts[at..at + COPY_WORDS]
    }

    /// The value as text; empty when unset.
    pub fn get(&self, param: Param) -> String {
        let i = param as usize;
        let mut bytes = [0u8; MAX_VALUE_LEN];
        loop {
            let version = self.versions[i].load(Ordering::Acquire);
            let copy = self.copy(i, version);
            let len = (copy[0].load(Ordering::Relaxed) as usize).min(MAX_VALUE_LEN);
            for (piece, word) in bytes.chunks_exact_mut(8).zip(&copy[1..]) {
                piece.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
            fence(Ordering::Acquire);
            if self.versions[i].load(Ordering::Relaxed) == version {
                return String::from_utf8_lossy(&bytes[..len]).into_owned();
            }
        }
    }

    /// The value of a number, size or boolean (1 or 0): one load.
    pub fn number(&self, param: Param) -> i64 {
        self.numbers[param as usize].load(Ordering::Relaxed) as i64
    }

    /// The value of a boolean: one load.
    pub fn flag(&self, param: Param) -> bool {
        self.number(param) != 0
    }

    /// Whether the value is still the default.
    pub fn is_default(&self, param: Param) -> bool {
        self.flags[param as usize].load(Ordering::Relaxed) & IS_DEFAULT != 0
    }

    /// Whether `ALTER SYSTEM` changed it since start-up.
    pub fn is_system_modified(&self, param: Param) -> bool {
        self.flags[param as usize].load(Ordering::Relaxed) & SYSTEM_MODIFIED != 0
    }

    /// Grows with every `ALTER SYSTEM SET`, so that a session knows when the values it keeps are stale.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }
}

fn as_number(param: Param, value: &str) -> i64 {
    match param.def().kind {
        Kind::Boolean => i64::from(value == "TRUE"),
        _ => value.parse().unwrap_or(0),
    }
}
