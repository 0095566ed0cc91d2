//! The sheets: the main panes, and the drill-downs.

use std::collections::BTreeMap;

use crate::model::*;
use crate::sample::*;
use crate::sheet::*;

/// The parameters of a view of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The window of the averages, in seconds.
    pub window_s: f64,
    /// Whether background processes count as active.
    pub background: bool,
}

/// Largest number of lines of long lists.
const LINES_MAX: usize = 200;

/// The detail that a sheet needs from the instance.
pub fn wanted(target: &Target) -> Option<Wanted> {
    match target {
        Target::Pane(_) => None,
        Target::Event(name) => (!name.is_empty()).then(|| Wanted::Event(name.clone())),
        Target::Session(sid, serial) => Some(Wanted::Session(*sid, *serial)),
        Target::Statement(id) => Some(Wanted::Statement(id.clone())),
        Target::Latch(name) => Some(Wanted::Latch(name.clone())),
    }
}

/// Makes the sheet of a target.
pub fn sheet(model: &Model, target: &Target, look: Look) -> Sheet {
    let window = model.window(look.window_s);
    let m = Maker { model, w: &window, look };
    match target {
        Target::Pane(pane) => m.whole(target, pane.title().to_string(), vec![m.pane(*pane)]),
        Target::Event(name) => m.event(target, name),
        Target::Session(sid, serial) => m.session(target, *sid, *serial),
        Target::Statement(id) => m.statement(target, id),
        Target::Latch(name) => m.latch(target, name),
    }
}

/// All main panes; the window is summed only once.
pub fn panes(model: &Model, look: Look) -> Vec<(Pane, Table)> {
    let window = model.window(look.window_s);
    let m = Maker { model, w: &window, look };
    Pane::ALL.into_iter().map(|pane| (pane, m.pane(pane))).collect()
}

/// The event, or the processor.
fn event_name(event: &str) -> &str {
    if event.is_empty() { "CPU" } else { event }
}

struct Maker<'a> {
    model: &'a Model,
    w: &'a Window,
    look: Look,
}

fn line(cells: Vec<Cell>, target: Option<Target>, class: Option<usize>) -> Line {
    Line { cells, target, class }
}

fn parameters(all: &[(String, u64)]) -> String {
    all.iter().map(|(name, n)| format!("{name}={n}")).collect::<Vec<_>>().join(" ")
}

impl Maker<'_> {
    fn whole(&self, target: &Target, title: String, tables: Vec<Table>) -> Sheet {
        Sheet { target: target.clone(), title, about: Vec::new(), text: String::new(), tables, waiting: false }
    }

    fn pane(&self, pane: Pane) -> Table {
        match pane {
            Pane::Events => self.events(),
            Pane::Sessions => self.sessions(),
            Pane::Statements => self.statements(),
            Pane::Latches => self.latches(),
            Pane::Mutexes => self.mutexes(),
            Pane::Blockers => self.blockers(),
            Pane::Figures => self.figures(),
            Pane::Designs => self.designs(),
        }
    }

    fn counts(&self, a: &Active) -> bool {
        self.look.background || !a.background
    }

    /// Active sessions in the window.
    fn all(&self) -> f64 {
        self.w.load().by_class(self.look.background).iter().sum()
    }

    /// Active sessions by the value of `key`.
    fn by<K: Ord + Clone>(&self, mut key: impl FnMut(&Active) -> Option<K>) -> Vec<(K, u64)> {
        self.w.by(|a| if self.counts(a) { key(a) } else { None })
    }

    fn events(&self) -> Table {
        let all = self.all();
        let mut seen: BTreeMap<(String, usize), u64> =
            self.by(|a| Some((a.event.clone(), class_of(&a.class)))).into_iter().collect();
        for e in self.w.events.values() {
            // Waits too short to be seen by a probe.
            let waits = if self.look.background { e.waits } else { e.waits_fg };
            if waits > 0 {
                seen.entry((e.name.clone(), class_of(&e.class))).or_insert(0);
            }
        }
        let counters = |name: &str| {
            let e = self.w.events.get(name);
            e.map_or((0, 0), |e| if self.look.background { (e.waits, e.time_us) } else { (e.waits_fg, e.time_us_fg) })
        };
        let mut lines: Vec<Line> = seen
            .into_iter()
            .map(|((name, class), times)| {
                let average = self.w.average(times);
                let (waits, us) = counters(&name);
                let of_waits = if name.is_empty() {
                    [Cell::Empty, Cell::Empty]
                } else {
                    [Cell::Rate(self.w.rate(waits)), Cell::micros_each(us, waits)]
                };
                let mut cells = vec![
                    Cell::text(event_name(&name)),
                    Cell::text(CLASSES[class].0),
                    Cell::Rate(average),
                    Cell::share(average, all),
                ];
                cells.extend(of_waits);
                line(cells, Some(Target::Event(name)), Some(class))
            })
            .collect();
        lines.sort_by(|a, b| {
            let by = |l: &Line, at: usize| match l.cells[at] {
                Cell::Rate(n) => n,
                _ => 0.0,
            };
            by(b, 2).total_cmp(&by(a, 2)).then(by(b, 4).total_cmp(&by(a, 4)))
        });
        Table {
            key: "events",
            title: "Top events".into(),
            columns: vec![
                words("event", "EVENT", 0, 0),
                words("wait_class", "CLASS", 14, 2),
                figure("active_sessions", "AAS", 6, 0),
                figure("share", "SHARE", 6, 1),
                figure("waits_per_s", "WAITS/S", 8, 0),
                figure("avg_wait_us", "AVG WAIT", 9, 0),
            ],
            lines,
            none: "No session is active.",
            ordered: false,
        }
    }

    fn sessions(&self) -> Table {
        let busy: BTreeMap<(u64, u64), u64> = self.w.by(|a| Some((a.sid, a.serial))).into_iter().collect();
        let sessions = self.model.now().map_or(&[][..], |now| now.sessions.as_slice());
        let mut all: Vec<(&Session, f64)> = sessions
            .iter()
            .filter(|s| self.look.background || !s.background)
            .map(|s| (s, self.w.average(busy.get(&(s.sid, s.serial)).copied().unwrap_or(0))))
            .collect();
        all.sort_by(|(a, busy_a), (b, busy_b)| {
            let active = |s: &Session| s.status == "ACTIVE";
            busy_b.total_cmp(busy_a).then(active(b).cmp(&active(a))).then(a.sid.cmp(&b.sid))
        });
        let lines = all.into_iter().take(LINES_MAX).map(|(s, busy)| self.session_line(s, busy)).collect();
        Table {
            key: "sessions",
            title: "Sessions".into(),
            columns: vec![
                figure("sid", "SID", 5, 0),
                figure("serial", "SERIAL#", 7, 5),
                words("user", "USER", 10, 0),
                words("status", "STATUS", 8, 4),
                figure("active", "ACTIVE", 6, 1),
                words("doing", "WAITS FOR", 0, 0),
                figure("since_us", "SINCE", 7, 0),
                words("sql_id", "SQL_ID", 13, 0),
                figure("blocker", "BLOCKER", 7, 2),
                words("parameters", "P1 P2 P3", 34, 8),
                words("program", "PROGRAM", 14, 6),
                words("module", "MODULE", 14, 7),
            ],
            lines,
            none: "Nobody else is connected.",
            ordered: false,
        }
    }

    fn session_line(&self, s: &Session, busy: f64) -> Line {
        let (doing, class) = doing(s);
        let name = if s.background { s.program.as_str() } else { s.user.as_str() };
        let cells = vec![
            Cell::Count(s.sid),
            Cell::Count(s.serial),
            Cell::text(name),
            Cell::text(s.status.as_str()),
            Cell::Share(busy.min(1.0)),
            Cell::text(doing),
            Cell::Micros(since_us(s)),
            Cell::text(s.sql_id.as_str()),
            s.blocker.map_or(Cell::Empty, Cell::Count),
            Cell::text(if s.waiting { parameters(&s.parameters) } else { String::new() }),
            Cell::text(s.program.as_str()),
            Cell::text(s.module.as_str()),
        ];
        line(cells, Some(Target::Session(s.sid, s.serial)), class)
    }

    fn statements(&self) -> Table {
        let active: BTreeMap<String, u64> =
            self.by(|a| (!a.sql_id.is_empty()).then(|| a.sql_id.clone())).into_iter().collect();
        let mut ids: Vec<&String> = active.keys().chain(self.w.statements.keys()).collect();
        ids.sort();
        ids.dedup();
        let nothing = StatementCount::default();
        let mut all: Vec<(&String, f64, &StatementCount)> = ids
            .into_iter()
            .map(|id| {
                let times = active.get(id).copied().unwrap_or(0);
                (id, self.w.average(times), self.w.statements.get(id).unwrap_or(&nothing))
            })
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.elapsed_us.cmp(&a.2.elapsed_us)));
        let top: BTreeMap<String, (usize, String, u64)> = self.top_events();
        let of = |(id, average, s): (&String, f64, &StatementCount)| {
            let foremost = top.get(id);
            let cells = vec![
                Cell::text(id.as_str()),
                Cell::Rate(average),
                Cell::text(foremost.map_or("", |(_, event, _)| event_name(event))),
                Cell::Rate(self.w.rate(s.executions)),
                Cell::micros_each(s.elapsed_us, s.executions),
                Cell::each(s.gets, s.executions),
                Cell::each(s.rows, s.executions),
                Cell::Rate(self.w.rate(s.reads)),
                Cell::text(one_line(self.model.text(id))),
            ];
            line(cells, Some(Target::Statement(id.clone())), foremost.map(|(class, _, _)| *class))
        };
        Table {
            key: "sql",
            title: "Top SQL".into(),
            columns: vec![
                words("sql_id", "SQL_ID", 13, 0),
                figure("active_sessions", "AAS", 6, 0),
                words("event", "MOSTLY", 20, 2),
                figure("executions_per_s", "EXEC/S", 7, 0),
                figure("elapsed_us_per_exec", "TIME/EX", 8, 0),
                figure("gets_per_exec", "GETS/EX", 7, 3),
                figure("rows_per_exec", "ROWS/EX", 7, 5),
                figure("reads_per_s", "READS/S", 7, 6),
                words("text", "TEXT", 0, 0),
            ],
            lines: all.into_iter().take(LINES_MAX).map(of).collect(),
            none: "No statement runs.",
            ordered: false,
        }
    }

    /// The main activity of each statement: class, event, probes.
    fn top_events(&self) -> BTreeMap<String, (usize, String, u64)> {
        let mut top: BTreeMap<String, (usize, String, u64)> = BTreeMap::new();
        for ((id, class, event), times) in self.by(|a| Some((a.sql_id.clone(), class_of(&a.class), a.event.clone()))) {
            // The busiest come first.
            top.entry(id).or_insert((class, event, times));
        }
        top
    }

    /// The session that probes saw holding each latch most often.
    fn holders(&self) -> BTreeMap<&str, (u64, &Hold, u64)> {
        let mut of: BTreeMap<&str, (u64, &Hold, u64)> = BTreeMap::new();
        for (hold, times) in &self.w.holds {
            let entry = of.entry(hold.latch.as_str()).or_insert((0, hold, 0));
            entry.0 += times;
            if *times > entry.2 {
                (entry.1, entry.2) = (hold, *times);
            }
        }
        of
    }

    fn latches(&self) -> Table {
        let holders = self.holders();
        let mut names: Vec<&str> = self.w.latches.keys().map(String::as_str).chain(holders.keys().copied()).collect();
        names.sort_unstable();
        names.dedup();
        let nothing = LatchCount::default();
        let mut all: Vec<(&str, &LatchCount)> =
            names.into_iter().map(|name| (name, self.w.latches.get(name).unwrap_or(&nothing))).collect();
        all.sort_by_key(|(_, l)| {
            std::cmp::Reverse((l.sleeps, l.misses + l.immediate_misses, l.gets + l.immediate_gets))
        });
        let of = |(name, l): (&str, &LatchCount)| {
            let held = holders.get(name);
            let gets = l.gets + l.immediate_gets;
            let misses = l.misses + l.immediate_misses;
            let cells = vec![
                Cell::text(name),
                Cell::Rate(self.w.rate(gets)),
                Cell::Rate(self.w.rate(misses)),
                Cell::share(misses as f64, gets as f64),
                Cell::Rate(self.w.rate(l.spin_gets)),
                Cell::Rate(self.w.rate(l.sleeps)),
                Cell::Micros(self.w.rate(l.wait_us)),
                held.map_or(Cell::Empty, |(times, ..)| Cell::Share(self.w.average(*times).min(1.0))),
                held.map_or(Cell::Empty, |(_, hold, _)| Cell::Count(hold.sid)),
                held.map_or(Cell::Empty, |(_, hold, _)| Cell::text(hold.place.as_str())),
            ];
            line(cells, Some(Target::Latch(name.to_string())), None)
        };
        Table {
            key: "latches",
            title: "Latches by sleeps and misses".into(),
            columns: vec![
                words("latch", "LATCH", 0, 0),
                figure("gets_per_s", "GETS/S", 7, 0),
                figure("misses_per_s", "MISSES/S", 8, 0),
                figure("miss_share", "MISS", 6, 3),
                figure("spin_gets_per_s", "SPINS/S", 7, 4),
                figure("sleeps_per_s", "SLEEPS/S", 8, 0),
                figure("wait_us_per_s", "WAIT/S", 7, 2),
                figure("held", "HELD", 6, 1),
                figure("holder", "HOLDER", 6, 1),
                words("place", "WHERE", 28, 6),
            ],
            lines: all.into_iter().map(of).collect(),
            none: "No latch was got.",
            ordered: false,
        }
    }

    fn mutexes(&self) -> Table {
        let mut all: Vec<_> = self.w.mutexes.iter().collect();
        all.sort_by_key(|(_, m)| std::cmp::Reverse((m.sleeps, m.wait_us)));
        let of = |((kind, place), m): (&(String, String), &MutexCount)| {
            let cells = vec![
                Cell::text(kind.as_str()),
                Cell::text(place.as_str()),
                Cell::Rate(self.w.rate(m.sleeps)),
                Cell::Micros(self.w.rate(m.wait_us)),
            ];
            line(cells, None, None)
        };
        Table {
            key: "mutexes",
            title: "Mutexes by sleeps".into(),
            columns: vec![
                words("mutex_type", "MUTEX", 16, 0),
                words("location", "WHERE", 0, 0),
                figure("sleeps_per_s", "SLEEPS/S", 9, 0),
                figure("wait_us_per_s", "WAIT/S", 9, 0),
            ],
            lines: all.into_iter().map(of).collect(),
            none: "No mutex sleeps.",
            ordered: false,
        }
    }

    fn blockers(&self) -> Table {
        let sessions = self.model.now().map_or(&[][..], |now| now.sessions.as_slice());
        let of = |link: &Link| {
            let indent = "  ".repeat(link.depth.min(12));
            let mark = if link.depth > 0 { "└ " } else { "" };
            let name = Cell::text(format!("{indent}{mark}{}", link.sid));
            let Some(s) = sessions.iter().find(|s| s.sid == link.sid) else {
                let mut cells = vec![name, Cell::Count(link.behind as u64)];
                cells.resize(8, Cell::Empty);
                return line(cells, None, None);
            };
            let (doing, class) = doing(s);
            let user = if s.background { s.program.as_str() } else { s.user.as_str() };
            let cells = vec![
                name,
                if link.behind > 0 { Cell::Count(link.behind as u64) } else { Cell::Empty },
                Cell::text(user),
                Cell::text(s.status.as_str()),
                Cell::text(doing),
                Cell::Micros(since_us(s)),
                Cell::text(if s.blocker.is_some() {
                    s.object.map_or(String::new(), |o| self.model.object(o))
                } else {
                    String::new()
                }),
                Cell::text(if s.sql_id.is_empty() { s.previous_sql_id.as_str() } else { s.sql_id.as_str() }),
            ];
            line(cells, Some(Target::Session(s.sid, s.serial)), class)
        };
        Table {
            key: "blockers",
            title: "Blocking sessions".into(),
            columns: vec![
                words("sid", "SID", 10, 0),
                figure("waiting_behind", "BEHIND", 6, 0),
                words("user", "USER", 10, 0),
                words("status", "STATUS", 8, 3),
                words("doing", "WAITS FOR", 0, 0),
                figure("since_us", "SINCE", 7, 0),
                words("object", "OBJECT", 16, 2),
                words("sql_id", "SQL_ID", 13, 1),
            ],
            lines: blocker_chains(sessions).iter().map(of).collect(),
            none: "No session waits for another one.",
            ordered: true,
        }
    }

    fn figures(&self) -> Table {
        let totals = self.model.now().map_or(&[][..], |now| now.figures.as_slice());
        let mut lines: Vec<Line> = totals
            .iter()
            .map(|(name, total)| {
                let rate = self.w.figure(name);
                line(vec![Cell::text(name.as_str()), Cell::Rate(rate), Cell::Count(*total)], None, None)
            })
            .collect();
        lines.sort_by(|a, b| a.cells[0].show().cmp(&b.cells[0].show()));
        Table {
            key: "figures",
            title: "Statistics".into(),
            columns: vec![
                words("statistic", "STATISTIC", 0, 0),
                figure("per_s", "PER SECOND", 12, 0),
                figure("total", "SINCE STARTUP", 20, 0),
            ],
            lines,
            none: "Nothing has been read yet.",
            ordered: false,
        }
    }

    /// The designs in force, with the runs of `lab switchback` that compare them.
    fn designs(&self) -> Table {
        let Some(now) = self.model.now() else { return Self::designs_of(Vec::new()) };
        let of = |it: &DesignNow| {
            let run = now.comparisons.iter().find(|run| run.structure == it.structure);
            let cells = vec![
                Cell::text(it.structure.as_str()),
                Cell::text(it.design.as_str()),
                Cell::Rate(self.w.figure(&switches_of(&it.structure))),
                run.map_or(Cell::Empty, |run| Cell::Count(run.sid)),
                run.map_or(Cell::Empty, |run| Cell::text(run.so_far.as_str())),
            ];
            let target = run.and_then(|run| now.sessions.iter().find(|s| s.sid == run.sid));
            line(cells, target.map(|s| Target::Session(s.sid, s.serial)), None)
        };
        Self::designs_of(now.designs.iter().map(of).collect())
    }

    fn designs_of(lines: Vec<Line>) -> Table {
        Table {
            key: "designs",
            title: "Designs in force".into(),
            columns: vec![
                words("structure", "STRUCTURE", 22, 0),
                words("design", "DESIGN", 16, 0),
                figure("switches_per_s", "SWITCHES/S", 11, 0),
                figure("sid", "SID", 6, 0),
                words("switchback", "SWITCHBACK: OPERATIONS/S SO FAR", 0, 0),
            ],
            lines,
            none: "Nothing has been read yet.",
            ordered: true,
        }
    }

    /// The activity of one target by another dimension.
    fn activity<K: Ord + Clone>(
        &self,
        key: &'static str,
        title: &str,
        columns: Vec<Column>,
        by: Vec<(K, u64)>,
        cells: impl Fn(&K) -> (Vec<Cell>, Option<Target>, Option<usize>),
    ) -> Table {
        let all: u64 = by.iter().map(|(_, times)| times).sum();
        let of = |(k, times): &(K, u64)| {
            let (mut row, target, class) = cells(k);
            row.insert(1, Cell::Rate(self.w.average(*times)));
            row.insert(2, Cell::share(*times as f64, all as f64));
            line(row, target, class)
        };
        let mut heads = columns;
        heads.insert(1, figure("active_sessions", "AAS", 6, 0));
        heads.insert(2, figure("share", "SHARE", 6, 0));
        Table {
            key,
            title: title.into(),
            columns: heads,
            lines: by.iter().take(LINES_MAX).map(of).collect(),
            none: "Nothing in the window.",
            ordered: false,
        }
    }

    fn by_session(&self, by: Vec<((u64, u64), u64)>) -> Table {
        let columns = vec![
            figure("sid", "SID", 6, 0),
            words("user", "USER", 12, 0),
            words("parameters", "P1 P2 P3", 0, 3),
            words("program", "PROGRAM", 14, 2),
        ];
        self.activity("sessions", "Sessions", columns, by, |(sid, serial)| {
            let s = self.model.session(*sid, *serial);
            let waits = s.filter(|s| s.waiting).map_or(String::new(), |s| parameters(&s.parameters));
            let cells = vec![
                Cell::Count(*sid),
                Cell::text(s.map_or("", |s| s.user.as_str())),
                Cell::text(waits),
                Cell::text(s.map_or("", |s| s.program.as_str())),
            ];
            (cells, Some(Target::Session(*sid, *serial)), None)
        })
    }

    fn by_statement(&self, by: Vec<(String, u64)>) -> Table {
        let columns = vec![words("sql_id", "SQL_ID", 13, 0), words("text", "TEXT", 0, 0)];
        self.activity("sql", "SQL", columns, by, |id| {
            let text = if id.is_empty() { "outside a statement".to_string() } else { one_line(self.model.text(id)) };
            let target = (!id.is_empty()).then(|| Target::Statement(id.clone()));
            (vec![Cell::text(id.as_str()), Cell::text(text)], target, None)
        })
    }

    fn by_event(&self, by: Vec<((usize, String), u64)>) -> Table {
        let columns = vec![words("event", "EVENT", 0, 0), words("wait_class", "CLASS", 14, 1)];
        self.activity("events", "Events", columns, by, |(class, event)| {
            let cells = vec![Cell::text(event_name(event)), Cell::text(CLASSES[*class].0)];
            (cells, Some(Target::Event(event.clone())), Some(*class))
        })
    }

    fn event(&self, target: &Target, name: &str) -> Sheet {
        let here = |a: &Active| a.event == name;
        let sessions = self.by_session(self.by(|a| here(a).then_some((a.sid, a.serial))));
        let statements = self.by_statement(self.by(|a| here(a).then(|| a.sql_id.clone())));
        let mut sheet = self.whole(target, event_name(name).to_string(), vec![sessions, statements]);
        let times: u64 = self.by(|a| here(a).then_some(())).iter().map(|(_, n)| n).sum();
        sheet.about.push(("active sessions", short(self.w.average(times))));
        if let Some(e) = self.w.events.get(name) {
            sheet.about.push(("class", e.class.clone()));
            sheet.about.push(("waits/s", short(self.w.rate(e.waits))));
            if e.waits > 0 {
                sheet.about.push(("average", duration(e.time_us as f64 / e.waits as f64)));
            }
        }
        if name.is_empty() {
            return sheet;
        }
        match self.model.detail(&Wanted::Event(name.to_string())).map(|kept| &kept.last) {
            Some(Found::Event { buckets }) => sheet.tables.push(histogram(buckets)),
            _ => sheet.waiting = true,
        }
        sheet
    }

    fn session(&self, target: &Target, sid: u64, serial: u64) -> Sheet {
        let here = |a: &Active| a.sid == sid && (serial == 0 || a.serial == serial);
        let by_event = self.w.by(|a| here(a).then(|| (class_of(&a.class), a.event.clone())));
        let by_statement = self.w.by(|a| here(a).then(|| a.sql_id.clone()));
        let tables = vec![self.by_event(by_event), self.by_statement(by_statement)];
        let mut sheet = self.whole(target, format!("Session {sid},{serial}"), tables);
        match self.model.session(sid, serial) {
            Some(s) => self.about_session(&mut sheet, s),
            None => sheet.about.push(("status", "this session has ended".into())),
        }
        match self.model.detail(&Wanted::Session(sid, serial)).map(|kept| &kept.last) {
            Some(Found::Session { events, last }) => sheet.tables.extend(session_tables(events, last)),
            Some(_) => {}
            None => sheet.waiting = true,
        }
        sheet
    }

    fn about_session(&self, sheet: &mut Sheet, s: &Session) {
        let mut say = |name: &'static str, value: String| {
            if !value.is_empty() {
                sheet.about.push((name, value));
            }
        };
        say("user", s.user.clone());
        say("status", s.status.clone());
        say("program", format!("{}@{}", s.program, s.machine));
        say("os user", s.os_user.clone());
        say("module", s.module.clone());
        say("action", s.action.clone());
        say("since", s.logon.clone());
        say("doing", doing(s).0);
        say("for", duration(since_us(s)));
        if s.waiting {
            say("with", parameters(&s.parameters));
        }
        say("blocked by", s.blocker.map_or(String::new(), |b| b.to_string()));
        say("object", s.object.map_or(String::new(), |o| self.model.object(o)));
        sheet.text = one_line(self.model.text(&s.sql_id));
    }

    fn statement(&self, target: &Target, id: &str) -> Sheet {
        let here = |a: &Active| a.sql_id == id;
        let by_event = self.by_event(self.by(|a| here(a).then(|| (class_of(&a.class), a.event.clone()))));
        let by_session = self.by_session(self.by(|a| here(a).then_some((a.sid, a.serial))));
        let mut sheet = self.whole(target, format!("SQL {id}"), vec![by_event, by_session]);
        sheet.text = self.model.text(id).to_string();
        let s = self.w.statements.get(id).cloned().unwrap_or_default();
        sheet.about.push(("executions/s", short(self.w.rate(s.executions))));
        for (name, cell) in [
            ("time each", Cell::micros_each(s.elapsed_us, s.executions)),
            ("processor each", Cell::micros_each(s.cpu_us, s.executions)),
            ("gets each", Cell::each(s.gets, s.executions)),
            ("reads each", Cell::each(s.reads, s.executions)),
            ("rows each", Cell::each(s.rows, s.executions)),
        ] {
            if cell != Cell::Empty {
                sheet.about.push((name, cell.show()));
            }
        }
        match self.model.detail(&Wanted::Statement(id.to_string())).map(|kept| &kept.last) {
            Some(Found::Statement { text, cursors, plan }) => {
                sheet.text.clone_from(text);
                sheet.tables.push(cursor_table(cursors));
                sheet.tables.push(plan_table(plan));
            }
            Some(_) => sheet.about.push(("cursor", "no longer in the library cache".into())),
            None => sheet.waiting = true,
        }
        sheet
    }

    fn latch(&self, target: &Target, name: &str) -> Sheet {
        let holders: Vec<((u64, String, String), u64)> = {
            let holds = self.w.holds.iter().filter(|(hold, _)| hold.latch == name);
            let mut all: Vec<_> = holds.map(|(h, times)| ((h.sid, h.place.clone(), h.mode.clone()), *times)).collect();
            all.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            all
        };
        let held = |((sid, place, mode), times): &((u64, String, String), u64)| {
            let cells = vec![
                Cell::Count(*sid),
                Cell::text(self.model.session(*sid, 0).map_or("", |s| s.user.as_str())),
                Cell::Share(self.w.average(*times).min(1.0)),
                Cell::text(mode.as_str()),
                Cell::text(place.as_str()),
            ];
            line(cells, Some(Target::Session(*sid, self.model.session(*sid, 0).map_or(0, |s| s.serial))), None)
        };
        let holders = Table {
            key: "holders",
            title: "Met holding it".into(),
            columns: vec![
                figure("sid", "SID", 6, 0),
                words("user", "USER", 12, 0),
                figure("held", "HELD", 7, 0),
                words("mode", "MODE", 10, 0),
                words("place", "WHERE", 0, 0),
            ],
            lines: holders.iter().map(held).collect(),
            none: "No probe saw it held.",
            ordered: false,
        };
        let mut sheet = self.whole(target, name.to_string(), vec![holders]);
        if let Some(l) = self.w.latches.get(name) {
            let gets = l.gets + l.immediate_gets;
            for (what, n) in
                [("gets/s", gets), ("misses/s", l.misses), ("spin gets/s", l.spin_gets), ("sleeps/s", l.sleeps)]
            {
                sheet.about.push((what, short(self.w.rate(n))));
            }
            sheet.about.push(("waited/s", duration(self.w.rate(l.wait_us))));
        }
        match self.model.detail(&Wanted::Latch(name.to_string())) {
            Some(kept) => sheet.tables.extend(latch_tables(kept)),
            None => sheet.waiting = true,
        }
        sheet
    }
}

/// The activity of a session and its class; `None` between calls.
fn doing(s: &Session) -> (String, Option<usize>) {
    if s.waiting {
        return (s.event.clone(), (s.class != "Idle").then(|| class_of(&s.class)));
    }
    if s.status == "ACTIVE" { ("on CPU".into(), Some(0)) } else { (s.status.to_lowercase(), None) }
}

/// The duration of the wait, or of the call.
fn since_us(s: &Session) -> f64 {
    if s.waiting { s.wait_us as f64 } else { s.since_call_s as f64 * 1e6 }
}

/// A text without line breaks and repeated blanks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn histogram(buckets: &[(u64, u64)]) -> Table {
    let all: u64 = buckets.iter().map(|(_, n)| n).sum();
    let of = |(us, n): &(u64, u64)| {
        let cells = vec![
            Cell::text(format!("< {}", duration(*us as f64))),
            Cell::Count(*n),
            Cell::share(*n as f64, all as f64),
        ];
        line(cells, None, None)
    };
    Table {
        key: "histogram",
        title: "Durations of waits, since startup".into(),
        columns: vec![words("upto", "TOOK", 12, 0), figure("waits", "WAITS", 12, 0), figure("share", "SHARE", 7, 0)],
        lines: buckets.iter().filter(|(_, n)| *n > 0).map(of).collect(),
        none: "No wait has ended yet.",
        ordered: true,
    }
}

fn session_tables(events: &[EventCount], last: &[LastWait]) -> [Table; 2] {
    let mut events: Vec<&EventCount> = events.iter().collect();
    events.sort_by_key(|e| std::cmp::Reverse((e.class != "Idle", e.time_us)));
    let event = |e: &&EventCount| {
        let class = (e.class != "Idle").then(|| class_of(&e.class));
        let cells = vec![
            Cell::text(e.name.as_str()),
            Cell::text(e.class.as_str()),
            Cell::Count(e.waits),
            Cell::Micros(e.time_us as f64),
            Cell::micros_each(e.time_us, e.waits),
        ];
        line(cells, class.map(|_| Target::Event(e.name.clone())), class)
    };
    let wait = |w: &LastWait| {
        let cells = vec![
            Cell::text(w.event.as_str()),
            Cell::Micros(w.wait_us as f64),
            Cell::Micros(w.gap_us as f64),
            Cell::text(parameters(&w.parameters)),
        ];
        line(cells, None, None)
    };
    [
        Table {
            key: "waits",
            title: "Waits since logon".into(),
            columns: vec![
                words("event", "EVENT", 0, 0),
                words("wait_class", "CLASS", 14, 1),
                figure("waits", "WAITS", 9, 0),
                figure("time_us", "TIME", 8, 0),
                figure("avg_wait_us", "AVG", 8, 0),
            ],
            lines: events.iter().map(event).collect(),
            none: "No waits.",
            ordered: false,
        },
        Table {
            key: "last",
            title: "Last waits".into(),
            columns: vec![
                words("event", "EVENT", 0, 0),
                figure("wait_us", "TOOK", 8, 0),
                figure("gap_us", "AFTER", 8, 0),
                words("parameters", "P1 P2 P3", 34, 1),
            ],
            lines: last.iter().map(wait).collect(),
            none: "No waits.",
            ordered: true,
        },
    ]
}

fn cursor_table(cursors: &[CursorFacts]) -> Table {
    let of = |c: &CursorFacts| {
        let cells = vec![
            Cell::Count(c.child),
            Cell::Count(c.plan_hash),
            Cell::text(c.schema.as_str()),
            Cell::Count(c.executions),
            Cell::micros_each(c.elapsed_us, c.executions),
            Cell::each(c.gets, c.executions),
            Cell::Count(c.users_executing),
            Cell::Count(c.loads),
            Cell::Count(c.invalidations),
            Cell::text(c.module.as_str()),
        ];
        line(cells, None, None)
    };
    Table {
        key: "cursors",
        title: "Child cursors, since they were loaded".into(),
        columns: vec![
            figure("child", "CHILD", 5, 0),
            figure("plan_hash_value", "PLAN HASH", 10, 2),
            words("schema", "SCHEMA", 10, 3),
            figure("executions", "EXECUTIONS", 11, 0),
            figure("elapsed_us_per_exec", "TIME/EX", 8, 0),
            figure("gets_per_exec", "GETS/EX", 8, 0),
            figure("users_executing", "RUNNING", 7, 0),
            figure("loads", "LOADS", 6, 4),
            figure("invalidations", "INVALID", 7, 5),
            words("module", "MODULE", 0, 1),
        ],
        lines: cursors.iter().map(of).collect(),
        none: "No cursor.",
        ordered: false,
    }
}

fn plan_table(plan: &[PlanLine]) -> Table {
    // Children with the same plan: only the first one's plan is shown.
    let first = plan.first().map_or(0, |l| l.child);
    let of = |l: &PlanLine| {
        let cells = vec![
            Cell::Count(l.id),
            Cell::text(format!("{}{}", " ".repeat(l.depth.min(40) as usize), l.operation.trim())),
            Cell::text(l.object.as_str()),
            l.rows.map_or(Cell::Empty, |n| Cell::Rate(n as f64)),
        ];
        line(cells, None, None)
    };
    Table {
        key: "plan",
        title: format!("Plan of child {first}"),
        columns: vec![
            figure("id", "ID", 4, 0),
            words("operation", "OPERATION", 0, 0),
            words("object", "OBJECT", 24, 0),
            figure("rows", "ROWS", 8, 1),
        ],
        lines: plan.iter().filter(|l| l.child == first).map(of).collect(),
        none: "It has no plan.",
        ordered: true,
    }
}

fn latch_tables(kept: &Kept) -> Vec<Table> {
    let (Found::Latch { children: first, places: places_first }, Found::Latch { children: last, places }) =
        (&kept.first, &kept.last)
    else {
        return Vec::new();
    };
    let seconds = kept.seconds();
    let rate = |n: u64| if seconds > 0.0 { Cell::Rate(n as f64 / seconds) } else { Cell::Empty };
    let since = children_since(first, last);
    let mut children: Vec<(&ChildCount, &ChildCount)> = last.iter().zip(&since).collect();
    children.sort_by_key(|(total, new)| {
        std::cmp::Reverse((new.sleeps, new.misses, new.gets, total.sleeps, total.misses, total.gets))
    });
    let child = |(total, new): &(&ChildCount, &ChildCount)| {
        let cells = vec![
            Cell::Count(total.child),
            Cell::text(total.address.trim_start_matches('0')),
            rate(new.gets),
            rate(new.misses),
            rate(new.spin_gets),
            rate(new.sleeps),
            Cell::Count(total.gets),
            Cell::Count(total.misses),
            Cell::Count(total.sleeps),
        ];
        line(cells, None, None)
    };
    let before: BTreeMap<&str, &PlaceCount> = places_first.iter().map(|p| (p.place.as_str(), p)).collect();
    let nothing = PlaceCount::default();
    let place = |p: &PlaceCount| {
        let b = before.get(p.place.as_str()).copied().unwrap_or(&nothing);
        let cells = vec![
            Cell::text(p.place.as_str()),
            rate(p.sleeps.saturating_sub(b.sleeps)),
            Cell::Count(p.sleeps),
            Cell::Count(p.waiter_sleeps),
            Cell::Count(p.no_wait_misses),
            Cell::Count(p.long_holds),
        ];
        line(cells, None, None)
    };
    let mut busiest: Vec<&PlaceCount> = places.iter().collect();
    busiest.sort_by_key(|p| std::cmp::Reverse((p.sleeps, p.no_wait_misses)));
    vec![
        Table {
            key: "children",
            title: "Children, busiest first; rates since this was opened".into(),
            columns: vec![
                figure("child", "CHILD", 6, 0),
                words("address", "ADDRESS", 16, 3),
                figure("gets_per_s", "GETS/S", 8, 0),
                figure("misses_per_s", "MISSES/S", 8, 0),
                figure("spin_gets_per_s", "SPINS/S", 8, 2),
                figure("sleeps_per_s", "SLEEPS/S", 8, 0),
                figure("gets", "GETS", 14, 1),
                figure("misses", "MISSES", 10, 1),
                figure("sleeps", "SLEEPS", 8, 0),
            ],
            lines: children.iter().map(child).collect(),
            none: "This latch has no children.",
            ordered: false,
        },
        Table {
            key: "places",
            title: "Where holders were waited for".into(),
            columns: vec![
                words("place", "WHERE", 0, 0),
                figure("sleeps_per_s", "SLEEPS/S", 9, 0),
                figure("sleeps", "SLEEPS", 10, 0),
                figure("waiter_sleeps", "WAITERS", 10, 1),
                figure("no_wait_misses", "NO-WAIT", 10, 2),
                figure("long_holds", "LONG", 8, 3),
            ],
            lines: busiest.into_iter().map(place).collect(),
            none: "No sleeps.",
            ordered: false,
        },
    ]
}
