//! Statistics: `v$statname`, `v$mystat`, `v$sesstat`, `v$sysstat`, and the clock they are measured by.

use wait::Stat;

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;

pub const STATNAME: &[(&str, Type)] =
    &[("STATISTIC#", N), ("NAME", V(64)), ("CLASS", N), ("STAT_ID", N), ("DISPLAY_NAME", V(64))];
pub const SYSSTAT: &[(&str, Type)] = &[("STATISTIC#", N), ("NAME", V(64)), ("CLASS", N), ("VALUE", N), ("STAT_ID", N)];
pub const SESSTAT: &[(&str, Type)] = &[("SID", N), ("STATISTIC#", N), ("VALUE", N)];
pub const TIMER: &[(&str, Type)] = &[("HSECS", N)];

pub fn statname(_: &Source<'_>) -> Vec<Row> {
    let all = Stat::all();
    all.map(|stat| vec![n(stat.number()), t(stat.name()), n(stat.class().0), n(stat.id()), t(stat.name())]).collect()
}

pub fn sysstat(s: &Source<'_>) -> Vec<Row> {
    let values = s.processes.system_stats(s.p);
    Stat::all()
        .zip(values)
        .map(|(stat, value)| vec![n(stat.number()), t(stat.name()), n(stat.class().0), n(value), n(stat.id())])
        .collect()
}

fn of_session(s: &Source<'_>, sid: u32, rows: &mut Vec<Row>) {
    if let Some(line) = s.processes.stat_line(sid) {
        rows.extend(Stat::all().map(|stat| vec![n(sid), n(stat.number()), n(line.get(stat))]));
    }
}

pub fn mystat(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    of_session(s, s.p.sid(), &mut rows);
    rows
}

pub fn sesstat(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        of_session(s, sid, &mut rows);
    }
    rows
}

pub fn timer(_: &Source<'_>) -> Vec<Row> {
    vec![vec![n(os::clock::now_ns() / 10_000_000)]]
}
