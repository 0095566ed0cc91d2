//! ORADEBUG, for sessions AS SYSDBA: latches held by hand, and dumps of the activity of the instance.
//!
//! A command arrives as the text of a statement, but does not pass the parser or a cursor, and gets no latch except the
//! one in the command. `CALL` knows three functions by their published names: `kslgetl` and `kslgetsl` get a latch by
//! its address, `kslfre` frees it. A latch held by hand is freed at the end of the session, or by PMON if the process
//! dies (invariant 6).

use crate::administrator::Administrator;
use latch::{ByHandError, Latch, LatchName, Where};
use std::cell::Cell;
use std::fmt::Write as _;
use types::escape::one_line;
use types::{Ora, Result};

/// The number of the process for DUMP and SHORT_STACK; 0 before one is chosen.
#[derive(Default)]
pub struct Debug {
    target: Cell<u32>,
}

const DONE: &str = "Statement processed.";

const HELP: &str = "\
HELP                                    this list
SETMYPID                                debug this process
SETORAPID   <pid>                       debug the process of this number
SETOSPID    <os process>                debug the process of this operating-system number
SHORT_STACK                             where the process is
DUMP        PROCESSSTATE <level>        the process: session, wait, latches, pins
DUMP        SYSTEMSTATE <level>         all processes, who waits for whom
DUMP        LATCHES <level>             latches that are held or waited for, all gets
HANGANALYZE [level]                     who waits for whom
TRACEFILE_NAME                          the file that dumps go to
CALL        kslgetl <address> <willing> [why] [where]
CALL        kslgetsl <address> <willing> <why> <where> <mode>      mode 8 shared, 16 exclusive
CALL        kslfre <address>";

/// The command in a statement that begins with ORADEBUG; `None` for other statements.
pub fn command(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let (word, rest) = text.split_at_checked(8)?;
    (word.eq_ignore_ascii_case("oradebug") && rest.starts_with([' ', '\t']) || text.eq_ignore_ascii_case("oradebug"))
        .then(|| rest.trim().trim_end_matches(';').trim_end())
}

/// Runs a command and returns the lines of its answer.
///
/// # Errors
/// ORA-01031 without SYSDBA, ORA-00070 for an invalid command, ORA-00072 for a process that does not exist, ORA-00074
/// before a process is chosen, ORA-00600 `[504]` for a get against the order of levels, `[545]` for a shared get of a
/// latch that cannot be shared.
pub fn run(a: &dyn Administrator, debug: &Debug, line: &str) -> Result<Vec<String>> {
    // (invariant 1) The command comes from the client, outside of any unit: the identity in force is the login's.
    if !a.is_sysdba() {
        return Err(Ora::new(1031));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some((first, rest)) = words.split_first() else { return Ok(lines(HELP)) };
    let chosen = || match debug.target.get() {
        0 => Err(Ora::new(74)),
        number => Ok(number),
    };
    match (first.to_ascii_lowercase().as_str(), rest) {
        ("help", _) => Ok(lines(HELP)),
        ("setmypid", []) => {
            debug.target.set(a.process().number());
            Ok(lines(DONE))
        }
        ("setorapid", [pid, ..]) => choose(a, debug, pid.parse().ok(), pid),
        ("setospid", [pid, ..]) => {
            let number = pid.parse().ok().and_then(|os_pid| a.instance().processes().by_os_pid(os_pid));
            choose(a, debug, number, pid)
        }
        ("unlimit" | "flush" | "close_trace", _) => chosen().map(|_| lines(DONE)),
        ("tracefile_name", []) => chosen().map(|_| vec![crate::trace::file(a).display().to_string()]),
        ("short_stack", []) => chosen().map(|number| vec![short_stack(a, number)]),
        ("dump", [what, ..]) => {
            let text = dump(a, chosen()?, what)?;
            crate::trace::write(a, &text);
            Ok(lines(DONE))
        }
        ("hanganalyze", _) => {
            crate::trace::write(a, &monitor::hang::report(a.instance()));
            Ok(vec![format!("Hang Analysis in {}", crate::trace::file(a).display())])
        }
        ("call", [function, arguments @ ..]) => {
            chosen()?;
            call(a, function, arguments)
        }
        _ => Err(Ora::with(70, &[&first])),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}

fn choose(a: &dyn Administrator, debug: &Debug, number: Option<u32>, said: &str) -> Result<Vec<String>> {
    let found = number.filter(|n| a.instance().processes().live().any(|(live, _)| live == *n));
    let Some(number) = found else { return Err(Ora::with(72, &[&said])) };
    debug.target.set(number);
    let all = a.instance().processes();
    let os_pid = all.slot(number).map_or(0, |slot| slot.state().1);
    let image = all.session(number).map_or_else(String::new, |s| one_line(&s.program.get()));
    Ok(vec![format!("Oracle pid: {number}, Unix process pid: {os_pid}, image: {image}")])
}

/// Parses a number: decimal, or hexadecimal after 0x.
fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Finds the latch at an address, among all latches of the instance (invariant 6).
fn latch_at(a: &dyn Administrator, address: u64) -> Option<&'static Latch> {
    let all = a.instance().processes();
    LatchName::all().find_map(|name| {
        let children = all.children(name);
        let mut latches = children.into_iter().flat_map(|set| set.iter()).chain(std::iter::once(all.latch(name)));
        latches.find(|latch| latch.address() == address)
    })
}

fn call(a: &dyn Administrator, function: &str, arguments: &[&str]) -> Result<Vec<String>> {
    let words: Option<Vec<u64>> = arguments.iter().map(|word| number(word)).collect();
    let words = words.ok_or_else(|| Ora::with(70, &[&arguments.join(" ")]))?;
    let at = |n: usize| words.get(n).copied();
    let latch = || {
        let address = at(0).unwrap_or(0);
        latch_at(a, address).ok_or_else(|| Ora::with(70, &[&format_args!("call: no latch at {address:#x}")]))
    };
    let place = |n: usize| at(n).and_then(|w| Where::from_index(w as usize)).unwrap_or(Where::NoLatch);
    let held = match function.to_ascii_lowercase().as_str() {
        "kslfre" => a.process().latches().free_by_hand(latch()?),
        "kslgetl" => get(a, latch()?, false, at(1) != Some(0), place(3), at(2).unwrap_or(0))?,
        "kslgetsl" | "kslgetsl_w" => {
            let shared = match at(4) {
                Some(8) => true,
                Some(16) => false,
                _ => return Err(Ora::with(70, &[&"call: mode 8 or 16"])),
            };
            get(a, latch()?, shared, at(1) != Some(0), place(3), at(2).unwrap_or(0))?
        }
        _ => return Err(Ora::with(70, &[&format_args!("call {function}")])),
    };
    Ok(vec![format!("Function returned {}", u8::from(held))])
}

fn get(a: &dyn Administrator, latch: &Latch, shared: bool, willing: bool, at: Where, why: u64) -> Result<bool> {
    match a.process().latches().get_by_hand(latch, shared, willing, at, why) {
        Ok(()) => Ok(true),
        Err(ByHandError::Busy | ByHandError::Full) => Ok(false),
        Err(ByHandError::Order) => Err(refused(504, latch, latch.name().level().into())),
        Err(ByHandError::NotShared) => Err(refused(545, latch, 8)),
    }
}

fn refused(argument: u32, latch: &Latch, third: u64) -> Ora {
    Ora::with(600, &[&argument, &format_args!("{:#x}", latch.address()), &third, &latch.name().name()])
}

/// Frees the latches that the session holds by hand; called at its end.
pub fn free_all(a: &dyn Administrator) {
    let client = a.process().latches();
    if client.held_count() > 0 {
        let held: Vec<u64> = a
            .instance()
            .processes()
            .domain()
            .holders()
            .filter(|h| h.number == a.process().number())
            .map(|h| h.address)
            .collect();
        held.into_iter().filter_map(|address| latch_at(a, address)).for_each(|latch| {
            client.free_by_hand(latch);
        });
    }
}

/// The activity of a process: for this process its call stack, for another one its wait and its kernel function.
fn short_stack(a: &dyn Administrator, number: u32) -> String {
    if number == a.process().number() {
        let all = std::backtrace::Backtrace::force_capture().to_string();
        let names = all.lines().filter_map(|l| l.trim().split_once(": ")).filter(|(n, _)| n.parse::<u32>().is_ok());
        return names.map(|(_, name)| name).collect::<Vec<_>>().join("<-");
    }
    let all = a.instance().processes();
    let os_pid = all.slot(number).map_or(0, |slot| slot.state().1);
    let wait = all.wait_slot(number).and_then(|w| w.view(os::clock::now_ns()));
    let wait = wait.filter(|w| w.state == wait::WaitState::Waiting).map_or("", |w| w.event.name());
    let kernel = os::process::kernel_place(os_pid).unwrap_or_else(|| "running".into());
    if wait.is_empty() { kernel } else { format!("{kernel}<-[{wait}]") }
}

fn dump(a: &dyn Administrator, target: u32, what: &str) -> Result<String> {
    let mut text = String::new();
    match what.to_ascii_lowercase().as_str() {
        "systemstate" | "hanganalyze" => text = monitor::hang::report(a.instance()),
        "processstate" => {
            let all = monitor::hang::report(a.instance());
            let _ = writeln!(text, "PROCESS STATE of process {target}: {}", short_stack(a, target));
            let marks = [format!("sid {target},"), format!("sid {target}:")];
            for line in all.lines().filter(|l| marks.iter().any(|m| l.trim_start().starts_with(m))) {
                let _ = writeln!(text, "{line}");
            }
            for block in a.instance().storage().cache.pins_of(target) {
                let _ = writeln!(text, "  pin of block {block}");
            }
        }
        "latches" => {
            let all = a.instance().processes();
            for name in LatchName::all() {
                let counts = all.latch_counts(name);
                if counts.gets > 0 {
                    let _ = writeln!(
                        text,
                        "{:016X} {} level {}: gets {} misses {} sleeps {}",
                        all.latch(name).address(),
                        name.name(),
                        name.level(),
                        counts.gets,
                        counts.misses,
                        counts.sleeps
                    );
                }
            }
            text.push_str(&monitor::hang::report(a.instance()));
        }
        _ => return Err(Ora::with(70, &[&format_args!("dump {what}")])),
    }
    Ok(text)
}
