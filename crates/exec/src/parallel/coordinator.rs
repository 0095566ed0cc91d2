//! The row source of a coordinator.

use super::job::{Fragment, Job, Settings};
use super::message::{END, ERROR, REFUSED, ROWS, take_error, take_number};
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::RowSource;
use crate::table::Storage;
use heap::HeapTable;
use parallel::{Came, GRANULES_MAX};
use plan::{Expr, Reg, Source, SubPlan};
use process::Process;
use std::ops::Range;
use std::rc::Rc;
use types::image::{self, Image, Writer};
use types::{Ora, Result, Value, Xid};
use wait::Stat;

/// Granules for each server, so that a slow server leaves some to the others; and the least and most blocks of a
/// granule.
const GRANULES_EACH: u64 = 13;
const BLOCKS_LEAST: u64 = 4;
const BLOCKS_MOST: u64 = 2048;

/// The part of a plan that servers can run.
pub struct Part {
    /// The image of the part; `None` when it has none.
    fragment: Option<Rc<[u8]>>,
    /// The table whose blocks are divided into granules.
    table: HeapTable,
}

impl Part {
    /// The part as servers run it; `None` if its driving scan does not read a heap.
    ///
    /// # Errors
    /// Those of finding the table.
    pub fn of(input: &Source, regs: &[Reg], b: &Builder<'_>) -> Result<Option<Part>> {
        let Some(scan) = driver(input) else { return Ok(None) };
        let Storage::Heap(table) = Storage::of(&scan.table, b)? else { return Ok(None) };
        Ok(Some(Part { fragment: fragment_of(input, regs, b), table }))
    }
}

/// PX COORDINATOR.
pub struct Coordinator<S> {
    /// The part as row sources for serial execution.
    serial: S,
    fragment: Option<Rc<[u8]>>,
    table: HeapTable,
    id: usize,
    degree: u32,
    regs: Vec<Reg>,
    /// The binds' registers.
    binds: Range<Reg>,
    state: State,
    /// The current message, the position of its next row, and the number of rows left in it.
    message: Vec<u8>,
    at: usize,
    left: u64,
    refused: usize,
    received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Serial,
    Team,
    Done,
}

impl<S: RowSource> Coordinator<S> {
    /// `serial`: the part as row sources for serial execution.
    pub fn new(part: Part, (id, degree, regs): (usize, u32, &[Reg]), serial: S, b: &Builder<'_>) -> Coordinator<S> {
        let Part { fragment, table } = part;
        Coordinator {
            serial,
            fragment,
            table,
            id,
            degree,
            regs: regs.to_vec(),
            binds: b.binds..b.binds + b.bind_count,
            state: State::Closed,
            message: Vec::new(),
            at: 0,
            left: 0,
            refused: 0,
            received: 0,
        }
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        m.end_team(self.id, cx.p);
        (self.at, self.left, self.refused, self.received) = (0, 0, 0, 0);
        if self.begin(m, cx)? {
            self.state = State::Team;
            return Ok(());
        }
        self.open_serially(m, cx)
    }

    fn open_serially(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.state = State::Serial;
        self.serial.open(m, cx)
    }

    /// Starts the servers; false if none is available.
    fn begin(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let p = cx.p;
        let Some(fragment) = &self.fragment else {
            p.count(Stat::ParallelDowngradedToSerial, 1);
            return Ok(false);
        };
        let places = cx.shared.heap.places_of(p, &self.table)?;
        let wanted = self.degree as usize;
        let Some(team) = cx.shared.servers.take(p, wanted) else {
            p.count(Stat::ParallelDowngradedToSerial, 1);
            return Ok(false);
        };
        let blocks = places.div_ceil(team.len() as u64 * GRANULES_EACH).clamp(BLOCKS_LEAST, BLOCKS_MOST);
        let blocks = blocks.max(places.div_ceil(GRANULES_MAX));
        let snapshot = *m.snapshot();
        let job = Job {
            fragment: fragment.to_vec(),
            epoch: m.epoch,
            binds: self.binds.clone().map(|reg| m.value(reg).clone()).collect(),
            now: Value::Timestamp(m.now(cx)),
            leader: team.leader(),
            granules: places.div_ceil(blocks),
            blocks,
            scn: snapshot.scn,
            xid: snapshot.xid.map_or(0, Xid::to_bits),
            own: snapshot.own.map(|own| vec![own.rdba.0.into(), own.seq.into(), own.rec.into()]),
            cursor: m.cursor.to_numbers(),
            session: Settings::of(cx.session),
        };
        let mut w = Writer::default();
        job.put(&mut w);
        let count = team.len();
        let Some(job) = w.finish() else {
            team.release(p);
            p.count(Stat::ParallelDowngradedToSerial, 1);
            return Ok(false);
        };
        count_team(p, wanted, count);
        if cx.session.parallel.begin((m.identity(), m.execution), count) {
            p.count(Stat::QueriesParallelized, 1);
        }
        // The machine owns the team, so that it is freed however the execution ends.
        m.set_team(self.id, team);
        for place in 0..count {
            let Some(team) = m.team(self.id) else { break };
            team.send(p, place, &job, &mut || cx.check_cancel())?;
            p.count(Stat::PxLocalMessagesSent, 1);
            cx.session.parallel.count_sent();
            faults::point("px-job-sent");
        }
        Ok(true)
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        loop {
            match self.state {
                State::Serial => return self.serial.next(m, cx),
                State::Closed | State::Done => return Ok(false),
                State::Team if self.left > 0 => {
                    self.left -= 1;
                    let mut rest = self.message.get(self.at..).unwrap_or_default();
                    m.decode(&self.regs, &mut rest)?;
                    self.at = self.message.len() - rest.len();
                    return Ok(true);
                }
                State::Team => {
                    if let Err(e) = self.hear(m, cx) {
                        self.state = State::Done;
                        m.end_team(self.id, cx.p);
                        return Err(e);
                    }
                }
            }
        }
    }

    /// Takes the next message.
    fn hear(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let p = cx.p;
        let Some(team) = m.team(self.id) else { return Err(Ora::internal("a coordinator without servers")) };
        match team.receive(p, &mut self.message, &mut || cx.check_cancel())? {
            Came::Message(place) => {
                p.count(Stat::PxLocalMessagesReceived, 1);
                cx.session.parallel.count_received();
                let name = parallel::name(team.server(place));
                let damaged = || Ora::internal("message of a parallel query server is damaged");
                let (kind, mut rest) = self.message.split_first().ok_or_else(damaged)?;
                match *kind {
                    ROWS => {
                        self.left = take_number(&mut rest).ok_or_else(damaged)?;
                        self.at = self.message.len() - rest.len();
                        self.received += self.left;
                    }
                    END => {
                        team.has_ended(place);
                        let rows = take_number(&mut rest).ok_or_else(damaged)?;
                        let bytes = take_number(&mut rest).ok_or_else(damaged)?;
                        let counted: Vec<_> = image::read(rest, &image::NoObjects).map_err(|_| damaged())?;
                        if let Some(run) = &mut m.run {
                            run.add(&counted);
                        }
                        cx.session.parallel.note_producer(self.id, &name, rows, bytes);
                    }
                    REFUSED => {
                        team.has_ended(place);
                        self.refused += 1;
                    }
                    ERROR => {
                        team.has_ended(place);
                        let e = take_error(&mut rest, 0).ok_or_else(damaged)?;
                        return Err(Ora::with(12801, &[&name]).because(e));
                    }
                    _ => return Err(damaged()),
                }
            }
            Came::Refused(_) => self.refused += 1,
            Came::Died(_) => return Err(Ora::new(12805)),
            Came::Nothing => {
                let count = team.len();
                m.end_team(self.id, p);
                if self.refused == count {
                    // No server has read anything.
                    p.count(Stat::ParallelDowngradedToSerial, 1);
                    return self.open_serially(m, cx);
                }
                cx.session.parallel.note_consumer(self.id, self.received);
                self.state = State::Done;
            }
        }
        Ok(())
    }
}

/// Counts a query's servers.
fn count_team(p: &Process, wanted: usize, got: usize) {
    p.count(Stat::DfoTreesParallelized, 1);
    let missing = (wanted - got) * 100 / wanted.max(1);
    p.count(
        match missing {
            _ if got == wanted => Stat::ParallelNotDowngraded,
            0..25 => Stat::ParallelDowngraded1To25,
            25..50 => Stat::ParallelDowngraded25To50,
            50..75 => Stat::ParallelDowngraded50To75,
            _ => Stat::ParallelDowngraded75To99,
        },
        1,
    );
}

/// The driving scan, whose blocks are divided into granules.
fn driver(source: &Source) -> Option<&plan::Scan> {
    if let Source::Scan(scan) = source {
        return scan.granules.then_some(scan);
    }
    let mut found = None;
    source.for_each_child(&mut |child| {
        if found.is_none() {
            found = driver(child);
        }
    });
    found
}

/// The subqueries that a part evaluates, directly or through other subqueries; `None` at the positions of the others.
fn reached<'a>(input: &Source, subs: &'a [SubPlan]) -> Vec<Option<&'a SubPlan>> {
    let mut all: Vec<Option<&SubPlan>> = Vec::new();
    let mut open = Vec::new();
    let note = |source: &Source, open: &mut Vec<usize>| {
        source.walk(&mut |source| source.for_each_expr(&mut |e: &Expr| e.each_subquery(&mut |sub| open.push(sub))));
    };
    note(input, &mut open);
    while let Some(at) = open.pop() {
        let Some(sub) = subs.get(at).filter(|_| all.get(at).is_none_or(Option::is_none)) else { continue };
        all.resize(all.len().max(at + 1), None);
        note(&sub.source, &mut open);
        sub.out.iter().for_each(|e| e.each_subquery(&mut |sub| open.push(sub)));
        all[at] = Some(sub);
    }
    all
}

/// The image of a part; `None` when it has none.
fn fragment_of(input: &Source, regs: &[Reg], b: &Builder<'_>) -> Option<Rc<[u8]>> {
    let subs = reached(input, b.subs);
    let sources = || std::iter::once(input).chain(subs.iter().flatten().map(|sub| &sub.source));
    let counted = b.counting.as_ref().map(|counting| counting.part(sources()));
    let subs = subs.iter().map(|sub| sub.cloned()).collect();
    let fragment = Fragment { source: input.clone(), regs: regs.to_vec(), all: b.binds, subs, counted };
    let mut w = Writer::default();
    fragment.put(&mut w);
    w.finish().map(Into::into)
}
