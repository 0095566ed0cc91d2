//! Findings in sentences: each gives a figure, its subject and its section. No finding uses a figure that was not
//! counted.

use super::{efficiencies, foreground};
use crate::Period;
use crate::doc::{Finding, decimal};
use crate::loader::Ends;
use crate::period::Statement;

/// The findings of a period, the largest scope first.
pub fn of(p: &Period) -> Vec<Finding> {
    let all = [active(p), cpu(p), event(p), statement(p), latch(p), mutex(p), parsing(p), reads(p), commits(p)];
    all.into_iter().flatten().collect()
}

fn finding(section: &'static str, text: String) -> Option<Finding> {
    Some(Finding { text, section })
}

fn per_cent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

fn active(p: &Period) -> Option<Finding> {
    let sessions = p.db_time_us() as f64 / 1e6 / p.elapsed_s;
    let cpus = p.os.get("NUM_CPUS").map_or(0.0, |(_, n)| *n);
    let of = if cpus > 0.0 { format!(" on {cpus:.0} CPUs") } else { String::new() };
    finding(
        "Load Profile",
        format!(
            "{} sessions were active on average{of}: {} s of DB time in {} s.",
            decimal(sessions, 2),
            decimal(p.db_time_us() as f64 / 1e6, 1),
            decimal(p.elapsed_s, 1)
        ),
    )
}

fn cpu(p: &Period) -> Option<Finding> {
    let used = per_cent(p.time_us("DB CPU") as f64, p.db_time_us() as f64);
    if p.db_time_us() == 0 {
        return None;
    }
    let waited: u64 = foreground(p).iter().map(|r| r.3).sum();
    let waited = per_cent(waited as f64, p.db_time_us() as f64);
    let rest = 100.0 - used - waited;
    let queue = if rest >= 10.0 {
        format!(
            " In the other {rest:.0} % processes neither ran nor waited for the instance: they were ready to run without a CPU."
        )
    } else {
        String::new()
    };
    finding("Time Model Statistics", format!("{used:.0} % of DB time was on the CPU, {waited:.0} % were waits.{queue}"))
}

fn event(p: &Period) -> Option<Finding> {
    let (event, class, waits, us) = foreground(p).into_iter().next()?;
    let share = per_cent(us as f64, p.db_time_us() as f64);
    if share < 5.0 {
        return None;
    }
    let each = crate::doc::micros(us as f64 / waits.max(1) as f64);
    finding(
        "Foreground Wait Events",
        format!("The longest waits were for '{event}' ({class}): {share:.0} % of DB time, {each} each, {waits} times."),
    )
}

fn statement(p: &Period) -> Option<Finding> {
    // For a block that spends its time in a statement, the finding names the statement, which can be tuned.
    let share = |s: &Statement| per_cent(s.elapsed_us as f64, p.db_time_us() as f64);
    let longest = |blocks: bool| {
        let these = p.statements.iter().filter(|s| s.is_block() == blocks);
        these.max_by_key(|s| s.elapsed_us).filter(|s| share(s) >= 10.0)
    };
    let s = longest(false).or_else(|| longest(true))?;
    let share = share(s);
    finding(
        "SQL ordered by Elapsed Time",
        format!("Statement {} took about {:.0} % of DB time in {} executions.", s.id, share, s.executions),
    )
}

/// The lesson of the laboratory about a latch or mutex.
fn lesson(name: &str) -> &'static str {
    const LESSONS: &[(&str, &str)] = &[
        ("Result Cache", " The laboratory has this latch in every design: latchwork lab run result-cache."),
        ("row cache", " The laboratory has it in every design: latchwork lab run row-cache."),
        ("Row Cache", " The laboratory has it in every design: latchwork lab run row-cache."),
        ("cache buffers chains", " The laboratory has it in every design: latchwork lab run kill-cpu."),
        ("library cache", " The laboratory has it in every design: latchwork lab run hot-cursor."),
        ("Library Cache", " The laboratory has it in every design: latchwork lab run hot-cursor."),
        ("Cursor Pin", " The laboratory has it in every design: latchwork lab run hot-cursor."),
    ];
    LESSONS.iter().find(|(begins, _)| name.starts_with(begins)).map_or("", |(_, lesson)| lesson)
}

fn latch(p: &Period) -> Option<Finding> {
    let e = p.latches.iter().filter(|e| e.added(1) > 0).max_by_key(|e| (e.added(6), e.added(1)))?;
    let [gets, misses, sleeps, spins] = [0, 1, 2, 5].map(|n| e.added(n) as f64);
    let missed = per_cent(misses, gets);
    if missed < 0.1 && e.added(6) < 1000 {
        return None;
    }
    finding(
        "Latch Sleep Breakdown",
        format!(
            "Latch '{}' was missed in {} of 100 gets; {:.0} of 100 misses were won by spinning, {} sleeps took {} s.{}",
            e.name(),
            decimal(missed, 2),
            per_cent(spins, misses).min(100.0),
            sleeps,
            decimal(e.added(6) as f64 / 1e6, 2),
            lesson(e.name())
        ),
    )
}

fn mutex(p: &Period) -> Option<Finding> {
    let mut kinds: Vec<(&str, u64, u64)> = Vec::new();
    for e in &p.mutexes {
        match kinds.iter_mut().find(|k| k.0 == e.name()) {
            Some(k) => (k.1, k.2) = (k.1 + e.added(0), k.2 + e.added(1)),
            None => kinds.push((e.name(), e.added(0), e.added(1))),
        }
    }
    let (kind, sleeps, us) = kinds.into_iter().max_by_key(|k| k.1).filter(|k| k.1 > 0)?;
    let s = decimal(us as f64 / 1e6, 2);
    finding(
        "Mutex Sleep Summary",
        format!("Mutexes of type '{kind}' were slept on {sleeps} times, {s} s.{}", lesson(kind)),
    )
}

fn parsing(p: &Period) -> Option<Finding> {
    let (hard, all) = (p.stat("parse count (hard)"), p.stat("parse count (total)"));
    let share = per_cent(p.time_us("parse time elapsed") as f64, p.db_time_us() as f64);
    if share < 5.0 {
        return None;
    }
    finding("Time Model Statistics", format!("Parsing took {share:.0} % of DB time: {hard} hard parses of {all}."))
}

fn reads(p: &Period) -> Option<Finding> {
    let (_, hit) = efficiencies(p).into_iter().find(|(name, _)| name.starts_with("Buffer  Hit"))?;
    let blocks = p.stat("physical reads cache");
    if hit >= 99.0 || blocks < 1000 {
        return None;
    }
    finding(
        "Instance Efficiency Percentages (Target 100%)",
        format!("{hit:.1} of 100 buffer gets found their block in the cache; {blocks} blocks were read."),
    )
}

fn commits(p: &Period) -> Option<Finding> {
    let sync = p.events.iter().find(|e| e.name() == "log file sync").map(|e: &Ends| (e.added(3), e.added(5)))?;
    let share = per_cent(sync.1 as f64, p.db_time_us() as f64);
    if share < 10.0 {
        return None;
    }
    let each = crate::doc::micros(sync.1 as f64 / sync.0.max(1) as f64);
    let per_write = p.stat("user commits") as f64 / p.stat("redo writes").max(1) as f64;
    finding(
        "Foreground Wait Events",
        format!(
            "Commits waited {each} each for the log, {share:.0} % of DB time; {} of them went to the disk at a time.",
            decimal(per_write, 1)
        ),
    )
}
