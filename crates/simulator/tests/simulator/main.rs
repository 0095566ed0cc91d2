//! The simulator as its users see it.

mod closed_forms;
mod files;
mod forecasts;
mod published;
mod words;

use latch_simulator::{Bound, Cell, Closed, Design, Figures, Machine, Time, Workload};

/// A closed form with one latch.
pub fn form(gap: Time, hold: Time) -> Closed {
    Closed { gets: 1, gap, hold, latches: 1, writes: 1.0, lines: 0.0 }
}

/// Runs a closed form with one design on the first processors of a machine.
pub fn run(machine: &Machine, form: Closed, design: Design, cpus: u32, sessions: u32, calls: u64) -> Figures {
    let workload = Workload::closed(form).unwrap();
    let designs = vec![design; form.latches.into()];
    let cell = Cell {
        machine,
        workload: &workload,
        designs: &designs,
        cpus,
        sessions,
        seed: 1,
        calls,
        slowdown: 1.0,
        bound: Bound::Lower,
    };
    cell.run().unwrap()
}

/// A machine with plain round figures: transfers of 50 ns, all of the scheduler known.
pub fn plain_machine(cores: u32) -> Machine {
    let text = format!(
        "name = \"plain\"\nsource = \"made up\"\n[shape]\ncores = {cores}\n[transfer_ns]\nown = 4\ndie = 50\nspread = 0.1\n\
         [processor]\nspin_ns = 2\n[scheduler_us]\nslice = 1000\nwake_idle = 10\nwake_busy = 2\nlate_50us = 50\n\
         late_1ms = 60\nswitch = 1\nyield = 0.5\npost = 1\n"
    );
    Machine::parse(&text).unwrap()
}
