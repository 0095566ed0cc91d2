//! The work of a server.

use super::job::{Fragment, Job};
use super::message::{END, REFUSED, ROWS, put_number, report};
use crate::batch::{self, Wanted};
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::{Machine, Subquery};
use crate::measure::Counting;
use crate::session_state::Caller;
use crate::source::subquery::SubState;
use crate::source::{Op, RowSource};
use crate::spill::rows;
use crate::statistics::Timing;
use dictionary::Catalog;
use heap::Granules;
use library_cache::{AreaCounts, Delta, Handle, LineCounts};
use parallel::Assignment;
use plan::Reg;
use process::Process;
use std::any::Any;
use std::ops::Range;
use std::rc::Rc;
use types::image::{self, Image, Kind, Objects, Writer};
use types::{ObjectId, Ora, Result, Value};
use wait::Stat;

impl Job {
    /// Runs the part and sends its rows, then its end or its error.
    ///
    /// # Errors
    /// ORA-01013 when the coordinator wants no more rows, ORA-00028 when the session was killed. Nothing is sent then.
    pub fn run(self, assignment: &Assignment, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut sender = Sender { assignment, message: Vec::new(), count: 0, rows: 0, bytes: 0 };
        let p = cx.p;
        let before = Work::of(p);
        let sent = self.send_rows(&mut sender, cx);
        cx.shared.library.add(p, Handle::of_numbers(self.cursor), &before.until_now(p, cx.session.options.timing));
        match sent {
            Ok(Some(counted)) => sender.end(&counted, p),
            Ok(None) => assignment.send(p, &[REFUSED]),
            Err(e) => report(p, assignment, e),
        }
    }

    /// Sends the rows and returns the figures of the operations, empty if not counted. `None`: the dictionary is not
    /// the one that the part was planned for.
    fn send_rows(&self, sender: &mut Sender<'_>, cx: &mut ExecCtx<'_>) -> Result<Option<Vec<Counted>>> {
        let damaged = || Ora::internal("job of a parallel query is damaged");
        let catalog = cx.host.catalog()?;
        if catalog.epoch() != self.epoch {
            return Ok(None);
        }
        let fragment: Fragment = image::read(&self.fragment, &ByNumber(&*catalog)).map_err(|_| damaged())?;
        let snapshot = self.snapshot().ok_or_else(damaged)?;
        let (op, mut m) = self.build(&fragment, sender.assignment, cx)?;
        if !cx.host.is_current(self.epoch) {
            return Ok(None);
        }
        m.begin(snapshot);
        m.epoch = self.epoch;
        if let Value::Timestamp(now) = &self.now {
            m.set_now(*now);
        }
        for (at, value) in self.binds.iter().enumerate() {
            m.regs.get_mut(fragment.all as usize + at).ok_or_else(damaged)?.set(value);
        }
        let sent = send_all(op, &fragment.regs, sender, &mut m, cx);
        m.temporary.clear(cx.shared.txns.space().temp());
        sent.map(|()| Some(m.run.map_or_else(Vec::new, |run| run.counted())))
    }

    fn build(&self, fragment: &Fragment, assignment: &Assignment, cx: &ExecCtx<'_>) -> Result<(Op, Machine)> {
        let mut regs = vec![Value::Null; fragment.all as usize + self.binds.len()];
        let mut b = Builder::new(&mut regs, fragment.all, Caller { is_query: true, ..Caller::default() }, cx);
        b.granules = Some(Rc::new(Given {
            assignment: *assignment,
            leader: self.leader,
            granules: self.granules,
            blocks: self.blocks,
        }));
        b.counting = fragment.counted.as_ref().map(|part| Counting::of_part(part, fragment.sources()));
        let wanted = Wanted::of_regs(&fragment.regs);
        let op = match batch::build(&fragment.source, &wanted, &mut b)? {
            Some(node) => Op::Batch(Box::new(batch::Rows::new(node))),
            None => Op::build(&fragment.source, &mut b)?,
        };
        // Only the driving scan is divided.
        b.granules = None;
        let mut subs: Vec<Option<Box<dyn Subquery>>> = Vec::with_capacity(fragment.subs.len());
        for sub in &fragment.subs {
            subs.push(match sub {
                None => None,
                Some(sub) => {
                    let op = Op::build(&sub.source, &mut b)?;
                    Some(Box::new(SubState::new(op, b.codes(&sub.out), sub)))
                }
            });
        }
        let run = b.counting.take().map(|counting| Box::new(counting.run));
        let mut m = Machine::new(regs, 0);
        m.subs = subs;
        m.run = run;
        Ok((op, m))
    }
}

/// A server sends its rows once they have this many bytes: `parallel_execution_message_size`.
const MESSAGE_BYTES: usize = 16 << 10;

/// The granules given out for an execution.
struct Given {
    assignment: Assignment,
    leader: u32,
    granules: u64,
    blocks: u64,
}

impl Granules for Given {
    fn next_granule(&self) -> Result<Option<Range<u64>>> {
        let granule = self.assignment.next_granule(self.leader, self.granules)?;
        Ok(granule.map(|n| n * self.blocks..(n + 1) * self.blocks))
    }
}

/// The dictionary, with objects by number. A job names no functions of the host.
struct ByNumber<'a>(&'a dyn Catalog);

impl Objects for ByNumber<'_> {
    fn object(&self, kind: Kind, number: u32) -> Option<Rc<dyn Any>> {
        let object = ObjectId(number);
        Some(match kind {
            Kind::Table => self.0.table_by_id(object).ok()??,
            Kind::Index => self.0.index_by_id(object).ok()??,
            Kind::Sequence => self.0.sequence_by_id(object).ok()??,
        })
    }
    fn handle(&self, _function: usize) -> Option<u64> {
        None
    }
}

/// An operation's number in the plan, and its figures.
type Counted = (usize, LineCounts, AreaCounts);

/// The work of the server process before its part began.
struct Work {
    gets: u64,
    reads: u64,
    waits_us: [u64; wait::CHARGED.len()],
    elapsed_ns: u64,
    cpu_ns: u64,
}

impl Work {
    fn of(p: &Process) -> Work {
        let line = p.stats();
        Work {
            gets: line.get(Stat::SessionLogicalReads),
            reads: line.get(Stat::PhysicalReads),
            waits_us: p.charged_us(),
            elapsed_ns: os::clock::now_ns(),
            cpu_ns: os::clock::thread_cpu_ns(),
        }
    }

    /// The work since then, as figures of a statement.
    fn until_now(&self, p: &Process, timing: Timing) -> Delta {
        let now = Work::of(p);
        let mut delta = Delta {
            buffer_gets: now.gets.saturating_sub(self.gets),
            disk_reads: now.reads.saturating_sub(self.reads),
            ..Delta::default()
        };
        if timing != Timing::Off {
            delta.elapsed_us = now.elapsed_ns.saturating_sub(self.elapsed_ns) / 1000;
            delta.cpu_us = now.cpu_ns.saturating_sub(self.cpu_ns) / 1000;
        }
        delta.add_waits(std::array::from_fn(|n| now.waits_us[n].saturating_sub(self.waits_us[n])));
        delta
    }
}

fn send_all(mut op: Op, regs: &[Reg], sender: &mut Sender<'_>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    op.open(m, cx)?;
    while op.next(m, cx)? {
        sender.row(regs, m);
        if sender.message.len() >= MESSAGE_BYTES {
            sender.flush(cx.p)?;
            cx.check_cancel()?;
        }
    }
    sender.flush(cx.p)
}

/// Rows on their way to the coordinator.
struct Sender<'a> {
    assignment: &'a Assignment,
    message: Vec<u8>,
    count: u64,
    rows: u64,
    bytes: u64,
}

/// Bytes of a message before its rows.
const HEAD_BYTES: usize = 9;

impl Sender<'_> {
    fn row(&mut self, regs: &[Reg], m: &Machine) {
        if self.message.is_empty() {
            self.message.resize(HEAD_BYTES, ROWS);
        }
        rows::encode(regs.iter().map(|reg| m.value(*reg)), &mut self.message);
        self.count += 1;
    }

    fn flush(&mut self, p: &Process) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.message[1..HEAD_BYTES].copy_from_slice(&self.count.to_le_bytes());
        self.assignment.send(p, &self.message)?;
        p.count(Stat::PxLocalMessagesSent, 1);
        self.rows += self.count;
        self.bytes += self.message.len() as u64;
        self.count = 0;
        self.message.clear();
        Ok(())
    }

    fn end(self, counted: &Vec<Counted>, p: &Process) -> Result<()> {
        let mut message = vec![END];
        put_number(self.rows, &mut message);
        put_number(self.bytes, &mut message);
        let mut w = Writer::default();
        counted.put(&mut w);
        message.extend(w.finish().unwrap_or_default());
        self.assignment.send(p, &message)?;
        p.count(Stat::PxLocalMessagesSent, 1);
        Ok(())
    }
}
