//! Parallel parts of plans: the coordinator's row source, and the work of a server (E31).
//!
//! A coordinator sends each server the same [`Job`] and returns their rows in the order of arrival. It also holds the
//! part as row sources of its own, for the case without servers. A server builds row sources from the image in the job
//! and sends rows until no granule is left.
//!
//! | message | from a server |
//! |---|---|
//! | `ROWS` | how many, and their values one behind the other (`spill::rows`) |
//! | `END` | there are no more; rows and bytes of all messages before; what its operations did, if counted |
//! | `ERROR` | the number, text and stack of an error, behind the rows before it |
//! | `REFUSED` | the server has read nothing, and another process must run its share: the dictionary has changed |
//!
//! The reads and the time of a server count for the statement: the server adds them to the shared cursor itself when
//! its part ends, with or without an error. The figures of operations go through the coordinator, which owns the
//! execution; those of a server that fails, or that the coordinator does not wait for, are left out.

use crate::batch::{self, Wanted};
use crate::code::Builder;
use crate::ctx::{Caller, ExecCtx, Options, SessionState};
use crate::machine::Machine;
use crate::measure::{self, Counting};
use crate::source::Op;
use crate::spill::rows;
use crate::statistics::Timing;
use crate::sub::SubState;
use dictionary::Catalog;
use heap::{Granules, HeapTable};
use library_cache::{AreaCounts, Delta, Handle, LineCounts};
use parallel::{Assignment, Came, GRANULES_MAX};
use plan::{Expr, Reg, Source, SubPlan};
use process::Process;
use std::any::Any;
use std::ops::Range;
use std::rc::Rc;
use txn::Snapshot;
use types::image::{self, Image, Kind, Objects, Writer};
use types::{Facility, LenUnit, Nls, ObjectId, Ora, Place, Rdba, Result, Scn, Timestamp, Uba, Value, Xid};
use wait::Stat;

const ROWS: u8 = 1;
const END: u8 = 2;
const ERROR: u8 = 3;
const REFUSED: u8 = 4;

/// A server sends its rows once they have this many bytes: `parallel_execution_message_size`.
const MESSAGE_BYTES: usize = 16 << 10;

/// Granules for each server, so that a slow server leaves some to the others; and the least and most blocks of a
/// granule.
const GRANULES_EACH: u64 = 13;
const BLOCKS_LEAST: u64 = 4;
const BLOCKS_MOST: u64 = 2048;

/// The part of a plan that a server runs.
#[derive(Debug, Image)]
struct Fragment {
    source: Source,
    /// The registers of a row, in the order in which their values are sent.
    regs: Vec<Reg>,
    /// Number of registers of the plan; the registers of the binds follow.
    all: u32,
    /// The subqueries that the part reaches, at their positions in the plan.
    subs: Vec<Option<SubPlan>>,
    /// The operations of its row sources, if they are counted.
    counted: Option<measure::Part>,
}

impl Fragment {
    /// All row sources, in the order of [`measure::Part`].
    fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.source).chain(self.subs.iter().flatten().map(|sub| &sub.source))
    }
}

/// Everything that a server needs to run its part.
#[derive(Debug, Image)]
pub struct Job {
    fragment: Vec<u8>,
    /// The dictionary's epoch of the plan.
    epoch: u64,
    binds: Vec<Value>,
    now: Value,
    /// The server whose area holds the granule counter, the number of granules, and the blocks of each.
    leader: u32,
    granules: u64,
    blocks: u64,
    scn: Scn,
    xid: u64,
    /// The newest undo record of the transaction: block, sequence number, record.
    own: Option<Vec<u64>>,
    /// The shared cursor of the statement ([`Handle::to_numbers`]).
    cursor: (u32, u64),
    session: Settings,
}

/// The settings of the coordinator's session that can change rows.
#[derive(Debug, Image)]
struct Settings {
    user: String,
    user_id: u32,
    parsing_user: u32,
    schema: String,
    texts: Vec<String>,
    decimal: u32,
    group: u32,
    characters: bool,
    error_on_overlap: bool,
    /// The time zone, as that of a time; and the current date.
    zone: Value,
    today: Value,
    work_area_limit_bytes: u64,
    spill_bytes: u64,
    work_area_auto: bool,
    temporary_tablespace: u32,
    batches: bool,
    old_connect_by: bool,
}

impl Settings {
    fn of(session: &SessionState) -> Settings {
        let (nls, options) = (&session.nls, &session.options);
        let Nls {
            language,
            territory,
            currency,
            iso_currency,
            date_format,
            timestamp_format,
            timestamp_tz_format,
            date_language,
            decimal,
            group,
            sort,
            comp,
            length_semantics,
            zone,
            error_on_overlap,
            today,
        } = nls;
        let texts = [language, territory, currency, iso_currency, date_format, timestamp_format, timestamp_tz_format];
        let texts = texts.into_iter().chain([date_language, sort, comp]).cloned().collect();
        Settings {
            user: session.user.clone(),
            user_id: session.user_id,
            parsing_user: session.parsing_user,
            schema: session.schema.to_string(),
            texts,
            decimal: u32::from(*decimal),
            group: u32::from(*group),
            characters: *length_semantics == LenUnit::Char,
            error_on_overlap: *error_on_overlap,
            zone: Value::Timestamp(Timestamp::of_clock(types::Date::UNIX_EPOCH, 0, Place::In(*zone))),
            today: Value::Date(*today),
            work_area_limit_bytes: options.work_area_limit_bytes as u64,
            spill_bytes: options.spill_bytes as u64,
            work_area_auto: options.work_area_auto,
            temporary_tablespace: options.temporary_tablespace,
            batches: options.batches,
            old_connect_by: options.old_connect_by,
        }
    }

    /// The language settings; `None` for an invalid image.
    fn nls(&self) -> Option<Nls> {
        let mut texts = self.texts.iter().cloned();
        let mut next = || texts.next();
        let (Value::Timestamp(at), Value::Date(today)) = (&self.zone, &self.today) else { return None };
        let Place::In(zone) = at.place() else { return None };
        Some(Nls {
            language: next()?,
            territory: next()?,
            currency: next()?,
            iso_currency: next()?,
            date_format: next()?,
            timestamp_format: next()?,
            timestamp_tz_format: next()?,
            date_language: next()?,
            sort: next()?,
            comp: next()?,
            decimal: char::from_u32(self.decimal)?,
            group: char::from_u32(self.group)?,
            length_semantics: if self.characters { LenUnit::Char } else { LenUnit::Byte },
            zone,
            error_on_overlap: self.error_on_overlap,
            today: *today,
        })
    }
}

/// A line of `v$pq_tqstat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLine {
    /// Number of the coordinator within the query, from 1.
    pub dfo: u64,
    pub producer: bool,
    pub process: String,
    pub rows: u64,
    pub bytes: u64,
}

/// The figures of a session's parallel queries.
#[derive(Clone, Debug, Default)]
pub struct ParallelFigures {
    /// Queues of the last query.
    pub queues: Vec<QueueLine>,
    pub last: ParallelCounts,
    pub all: ParallelCounts,
    /// The execution that `last` belongs to: its coordinators count together.
    execution: (u64, u64),
}

/// Lines of `v$pq_sesstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelCounts {
    pub queries: u64,
    pub trees: u64,
    pub servers: u64,
    pub degree: u64,
    pub sets: u64,
    pub sent: u64,
    pub received: u64,
}

/// PX COORDINATOR.
pub struct Coordinator {
    /// The part as row sources for serial execution.
    serial: Op,
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

impl Coordinator {
    pub fn build(
        input: &Source,
        (id, degree, regs): (usize, u32, &[Reg]),
        b: &mut Builder<'_>,
    ) -> Result<Option<Coordinator>> {
        let Some(scan) = driver(input) else { return Ok(None) };
        let crate::table::Storage::Heap(table) = crate::table::Storage::of(&scan.table, b)? else { return Ok(None) };
        let fragment = fragment_of(input, regs, b);
        let serial = Op::build(input, b)?;
        Ok(Some(Coordinator {
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
        }))
    }

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

impl ParallelFigures {
    /// Counts a coordinator that has servers; true if it is the first of the execution.
    fn begin(&mut self, execution: (u64, u64), servers: usize) -> bool {
        let is_first = self.execution != execution;
        if is_first {
            self.execution = execution;
            self.queues.clear();
            self.last = ParallelCounts { queries: 1, ..ParallelCounts::default() };
            self.all.queries += 1;
        }
        for counts in [&mut self.last, &mut self.all] {
            counts.trees += 1;
            counts.servers += servers as u64;
            counts.sets += 1;
        }
        self.last.degree = self.last.degree.max(servers as u64);
        is_first
    }

    fn count_sent(&mut self) {
        self.last.sent += 1;
        self.all.sent += 1;
    }

    fn count_received(&mut self) {
        self.last.received += 1;
        self.all.received += 1;
    }

    fn note_producer(&mut self, id: usize, process: &str, rows: u64, bytes: u64) {
        let dfo = id as u64 + 1;
        self.queues.push(QueueLine { dfo, producer: true, process: process.to_owned(), rows, bytes });
    }

    /// Notes that the coordinator has read all rows of its servers.
    fn note_consumer(&mut self, id: usize, rows: u64) {
        let dfo = id as u64 + 1;
        let bytes = self.queues.iter().filter(|line| line.dfo == dfo && line.producer).map(|line| line.bytes).sum();
        self.queues.push(QueueLine { dfo, producer: false, process: "QC".to_owned(), rows, bytes });
    }
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

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let (n, rest) = from.split_first_chunk::<8>()?;
    *from = rest;
    Some(u64::from_le_bytes(*n))
}

fn put_number(n: u64, to: &mut Vec<u8>) {
    to.extend_from_slice(&n.to_le_bytes());
}

/// Most nested errors that are sent.
const ERRORS_MOST: usize = 16;

fn put_error(e: &Ora, to: &mut Vec<u8>) {
    to.push(e.facility() as u8);
    put_number(e.code().into(), to);
    put_number(e.message().len() as u64, to);
    to.extend_from_slice(e.message().as_bytes());
    let context = &e.context()[..e.context().len().min(ERRORS_MOST)];
    put_number(context.len() as u64, to);
    for e in context {
        let mut one = Vec::new();
        put_error(e, &mut one);
        to.extend_from_slice(&one);
    }
}

fn take_error(from: &mut &[u8], depth: usize) -> Option<Ora> {
    let (facility, rest) = from.split_first()?;
    *from = rest;
    let facilities = [Facility::Ora, Facility::Pls, Facility::Sp2, Facility::Tns, Facility::Lwk];
    let facility = facilities.into_iter().find(|f| *f as u8 == *facility)?;
    let code = u32::try_from(take_number(from)?).ok()?;
    let len = usize::try_from(take_number(from)?).ok()?;
    let (text, rest) = from.split_at_checked(len)?;
    *from = rest;
    let mut e = Ora::from_text(facility, code, std::str::from_utf8(text).ok()?);
    let count = take_number(from)?;
    if depth >= ERRORS_MOST || count > ERRORS_MOST as u64 {
        return None;
    }
    for _ in 0..count {
        e = e.because(take_error(from, depth + 1)?);
    }
    Some(e)
}

/// Sends the coordinator an error that ends a server's part.
///
/// # Errors
/// The error, if the coordinator does not want it any more; ORA-00028 when the session was killed.
pub fn report(p: &Process, assignment: &Assignment, e: Ora) -> Result<()> {
    if !assignment.is_wanted() {
        return Err(e);
    }
    let mut message = vec![ERROR];
    put_error(&e, &mut message);
    assignment.send(p, &message)?;
    if e.is(28) { Err(e) } else { Ok(()) }
}

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

impl Job {
    /// Waits for the job of an assignment.
    ///
    /// # Errors
    /// ORA-01013 when the coordinator wants no more rows; ORA-00600 for an invalid job.
    pub fn receive(p: &Process, assignment: &Assignment) -> Result<Job> {
        let mut bytes = Vec::new();
        assignment.receive(p, &mut bytes)?;
        image::read(&bytes, &image::NoObjects).map_err(|_| Ora::internal("job of a parallel query is damaged"))
    }

    /// The user who runs the query.
    pub fn user(&self) -> (&str, u32) {
        (&self.session.user, self.session.user_id)
    }

    /// A session with the settings of the coordinator's.
    ///
    /// # Errors
    /// ORA-00600 for an invalid job.
    pub fn session(&self, options: &Options) -> Result<SessionState> {
        let s = &self.session;
        let nls = s.nls().ok_or_else(|| Ora::internal("job of a parallel query is damaged"))?;
        let mut state = SessionState::new(&s.user, s.user_id, nls);
        state.parsing_user = s.parsing_user;
        state.schema = s.schema.as_str().into();
        state.options = Options {
            work_area_limit_bytes: s.work_area_limit_bytes as usize,
            spill_bytes: s.spill_bytes as usize,
            work_area_auto: s.work_area_auto,
            temporary_tablespace: s.temporary_tablespace,
            batches: s.batches,
            old_connect_by: s.old_connect_by,
            counts_operations: false,
            ..options.clone()
        };
        Ok(state)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        let own = match self.own.as_deref() {
            None => None,
            Some([rdba, seq, rec]) => Some(Uba {
                rdba: Rdba(u32::try_from(*rdba).ok()?),
                seq: u32::try_from(*seq).ok()?,
                rec: u8::try_from(*rec).ok()?,
            }),
            Some(_) => return None,
        };
        let xid = (self.xid != 0).then(|| Xid::from_bits(self.xid));
        Some(Snapshot { scn: self.scn, xid, own, serializable: false })
    }

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
        let mut subs = Vec::with_capacity(fragment.subs.len());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_with_their_stack() {
        let e = Ora::new(1476).because(Ora::with(6512, &[&"X", &"1"])).because(Ora::new(1722));
        let mut bytes = Vec::new();
        put_error(&e, &mut bytes);
        let back = take_error(&mut &bytes[..], 0).unwrap();
        assert_eq!(back.to_string(), e.to_string());
        for end in 0..bytes.len() {
            assert_eq!(take_error(&mut &bytes[..end], 0), None);
        }
    }

    #[test]
    fn settings_come_back_whole() {
        let nls = Nls {
            currency: String::new(),
            decimal: ',',
            group: '.',
            zone: types::TimeZone::Region(types::Region::named("Europe/Berlin").unwrap()),
            error_on_overlap: true,
            today: types::Date::from_ymd(2024, 2, 29).unwrap(),
            length_semantics: LenUnit::Char,
            sort: "XGERMAN".into(),
            ..Nls::default()
        };
        let session = SessionState::new("SCOTT", 7, nls.clone());
        let mut w = Writer::default();
        Settings::of(&session).put(&mut w);
        let back: Settings = image::read(&w.finish().unwrap(), &image::NoObjects).unwrap();
        assert_eq!(back.nls().unwrap(), nls);
        assert_eq!((back.user.as_str(), back.schema.as_str()), ("SCOTT", "SCOTT"));
    }
}
