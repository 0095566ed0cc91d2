//! Hash joins.
//!
//! The plan names the side that is built into a table of packed rows ([`Table`]); each row of the other side, the
//! probe, looks its matches up. The kind and the built side decide what a match does, and what happens to rows without
//! one ([`How`]). Rows of the build side are marked where it matters whether they have matched.
//!
//! A build side that does not fit into memory is partitioned by a hash of the key, and so is the probe; the partitions
//! are joined one after the other, and a partition that is still too large is partitioned again. What the hash cannot
//! divide further (rows of one key, joins without keys) is joined piece by piece, with one pass over the probe's
//! partition for each piece; a bit for each probe row records whether it has matched. So the join stays within its
//! memory whatever the data (E27).
//!
//! NOT IN drops a left row that equals a right one, or may equal it because of a NULL (E28). Rows without NULL in the
//! columns of NOT IN are found by key. Rows with a NULL, and all rows for a probe row with a NULL, are compared one by
//! one, among the rows with equal other keys if there are any.

use super::RowSource;
use crate::builder::Builder;
use crate::code::Cond;
use crate::ctx::ExecCtx;
use crate::eval::all_true;
use crate::join::bloom::{Bloom, Maker};
use crate::join::how::{How, OnMatch};
use crate::join::keys::Keys;
use crate::join::row_key::{Match, RowKey, hash_bytes, may_equal, split};
use crate::join::table::{ROW_MORE, Row, Table, hash_of, push_key, take_key};
use crate::machine::{Held, Machine};
use crate::spill::limits::LEVELS_MAX;
use crate::spill::partition::{Division, level_of};
use crate::spill::{Reader, TempFile, rows};
use crate::work_area::Way;
use plan::{BuiltFilter, JoinKey, JoinKind, Reg, Side};
use std::rc::Rc;
use types::{Ora, Result};

/// One side of a join.
pub struct Input<S> {
    pub op: S,
    pub keys: Keys,
    pub regs: Vec<Reg>,
}

/// The next step of the join.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nothing has been read.
    Start,
    /// The table is complete; the probe must be opened or rewound.
    Built,
    NextProbe,
    /// Reading the rows of the table that may match the probe row.
    Chain(Option<Row>),
    /// Returning unmatched rows of the table, from this one on.
    Unmatched(usize),
    /// The probe rows of this partition are finished.
    NextPart,
    Done,
}

/// Pairs of rows between two checks for cancellation.
const CANCEL_COMPARED: u32 = 1024;

pub struct HashJoin<S> {
    build: Input<S>,
    probe: Input<S>,
    how: How,
    residual: Vec<Cond>,
    filters: Vec<Filter>,
    table: Table,
    /// Memory of the table.
    held: Held,
    state: State,
    probe_open: bool,
    key: RowKey,
    /// Whether the probe row has matched.
    found: bool,
    open: Open,
    on_disk: Option<Parts>,
    /// Figures of the probe rows if the table is large: with less memory they would be written, too.
    probed: Option<Probed>,
    /// Number of pairs compared.
    compared: u32,
}

/// A filter to be built (E26), and its keys if they differ from those of the join.
pub struct Filter {
    pub id: usize,
    pub keys: Option<Keys>,
}

impl Filter {
    /// The filters of a join, built from its build side.
    pub fn build(filters: &[BuiltFilter], keys: &[JoinKey], side: Side, b: &mut Builder<'_>) -> Vec<Filter> {
        let mut build = |filter: &BuiltFilter| {
            let of: Vec<&JoinKey> = filter.keys.iter().filter_map(|n| keys.get(*n)).collect();
            let is_key = filter.keys.iter().copied().eq(0..keys.len());
            let mut code =
                |key: &&JoinKey| (b.code(if side == Side::Left { &key.left } else { &key.right }), key.padded);
            Filter { id: filter.id, keys: (!is_key).then(|| Keys::plain(of.iter().map(&mut code).collect())) }
        };
        filters.iter().map(&mut build).collect()
    }
}

/// Rows that NOT IN compares one by one: hash of the plain keys and number in the table, in that order.
#[derive(Default)]
struct Open {
    /// Rows with a NULL in a column of NOT IN.
    some: Vec<(u64, Row)>,
    /// All rows, once a probe row needs them.
    all: Vec<(u64, Row)>,
    has_all: bool,
    found: Vec<Row>,
}

/// Probe rows of a large table: their number, and the bytes of the sampled ones.
#[derive(Default)]
struct Probed {
    rows: u64,
    seen: u64,
    bytes: u64,
}

/// One probe row of so many is sampled.
const PROBED: u64 = 1024;

/// The sides of a partitioned join.
struct Parts {
    /// Partitions of the build side, kept while the join is open: the probe may start again.
    builds: Vec<Rc<TempFile>>,
    /// Whether the probe has been partitioned.
    divided: bool,
    /// Partition of the build side, partition of the probe, level of their next division.
    waiting: Vec<(Rc<TempFile>, Rc<TempFile>, u32)>,
    part: Option<Part>,
    record: Vec<u8>,
    /// Drops probe rows without a match before they are written.
    filter: Bloom,
    /// Bytes that the build side needed in memory, and when written; the second is taken when the join is counted.
    work: (u64, Option<u64>),
}

/// A partition being joined.
struct Part {
    build: Rc<TempFile>,
    /// Where the rows continue that did not fit into the table.
    rest: Option<Reader>,
    probe: Rc<TempFile>,
    reader: Reader,
    /// Number of the probe row, and the probe rows that have matched an earlier piece of the table.
    row: u64,
    matched: Vec<u64>,
    /// Whether the build side is read in pieces.
    pieces: bool,
}

impl Part {
    fn has_matched(&self) -> bool {
        self.pieces && self.matched.get((self.row / 64) as usize).is_some_and(|word| word >> (self.row % 64) & 1 == 1)
    }

    fn note_match(&mut self) {
        if self.pieces {
            let word = (self.row / 64) as usize;
            if self.matched.len() <= word {
                self.matched.resize(word + 1, 0);
            }
            self.matched[word] |= 1 << (self.row % 64);
        }
    }
}

/// First byte of a record of a partitioned side.
const LINKED: u8 = 0;
const LOOSE: u8 = 1;

impl<S: RowSource> HashJoin<S> {
    pub fn new(
        left: Input<S>,
        right: Input<S>,
        kind: JoinKind,
        side: Side,
        residual: Vec<Cond>,
        filters: Vec<Filter>,
    ) -> HashJoin<S> {
        let (build, probe) = match side {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        HashJoin {
            build,
            probe,
            how: How::of(kind, side),
            residual,
            filters,
            table: Table::default(),
            held: Held::default(),
            state: State::Done,
            probe_open: false,
            key: RowKey::default(),
            found: false,
            open: Open::default(),
            on_disk: None,
            probed: None,
            compared: 0,
        }
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine) {
        (self.state, self.probe_open, self.on_disk, self.probed) = (State::Start, false, None, None);
        self.forget_table(m);
        self.filters.iter().for_each(|filter| m.set_filter(filter.id, None));
    }

    #[inline(never)]
    pub fn rewind(&mut self) {
        if self.state == State::Start {
            return;
        }
        self.state = State::Built;
        if let Some(parts) = &mut self.on_disk {
            (parts.divided, parts.part) = (false, None);
            parts.waiting.clear();
        } else if self.how.marks {
            self.table.unmark();
        }
    }

    fn forget_table(&mut self, m: &mut Machine) {
        self.table.clear();
        self.open.some.clear();
        self.open.all.clear();
        self.open.has_all = false;
        self.held.release(m);
    }

    /// Whether partitioning by the key can make partitions smaller.
    fn is_divisible(&self) -> bool {
        self.build.keys.len() > self.build.keys.open_ones() || !self.how.aware && !self.build.keys.is_empty()
    }

    /// Whether rows of the table need no values, because none are read.
    fn is_bare(&self) -> bool {
        matches!(self.how.on_match, OnMatch::TakeProbe | OnMatch::DropProbe) && self.residual.is_empty()
    }

    fn build_table(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.build.op.open(m, cx)?;
        let limit = cx.session.options.spill_bytes;
        let mut makers: Vec<Maker> = self.filters.iter().map(|_| Maker::new(limit / 4)).collect();
        let bare = self.is_bare();
        let (mut pushed, mut written) = (0u64, 0u64);
        let mut key = std::mem::take(&mut self.key);
        let mut other = RowKey::default();
        let mut division: Option<(Division, Maker)> = None;
        let mut record = Vec::new();
        while self.build.op.next(m, cx)? {
            let matches = self.build.keys.eval(&mut key, m, cx)?;
            if matches == Match::Never {
                // It matches nothing, but is kept if the join returns unmatched rows.
                if !self.how.keep_build {
                    continue;
                }
                loose(&mut key, pushed);
            } else {
                for (filter, maker) in self.filters.iter().zip(&mut makers) {
                    match &filter.keys {
                        None => maker.add(&key),
                        Some(keys) => {
                            if keys.eval(&mut other, m, cx)? == Match::Whole {
                                maker.add(&other);
                            }
                        }
                    }
                }
            }
            let is_loose = matches == Match::Never;
            pushed += 1;
            let regs = if bare { &[][..] } else { &self.build.regs[..] };
            if let Some((division, filter)) = &mut division {
                record.clear();
                record.push(if is_loose { LOOSE } else { LINKED });
                push_key(&key, &mut record);
                rows::encode(regs.iter().map(|&r| m.value(r)), &mut record);
                if !is_loose {
                    filter.add_hash(key.hash);
                }
                let hash = part_hash(self.how.aware, &key);
                division.push_hash(hash, &record, cx)?;
                written += record.len() as u64 + 4;
                continue;
            }
            let is_open = matches == Match::Open;
            let bytes = self.table.push(&key, is_loose || is_open, |out| {
                rows::encode(regs.iter().map(|&r| m.value(r)), out);
                Ok(())
            })?;
            self.held.charge(bytes, m, cx)?;
            if self.held.bytes() > limit {
                let mut maker = Maker::new(limit / 4);
                let mut divided = Division::new(0, &m.temporary, cx);
                for n in 0..self.table.len() {
                    let row = self.table.rows()[n];
                    let values = self.table.record(n);
                    take_key(&mut &values[..], &mut other)?;
                    let is_loose = self.table.is_loose(row) && !self.is_open_key(&other)?;
                    record.clear();
                    record.push(if is_loose { LOOSE } else { LINKED });
                    record.extend_from_slice(values);
                    let hash = if is_loose { other.hash } else { self.hash_for_part(&other)? };
                    if !is_loose {
                        maker.add_hash(other.hash);
                    }
                    divided.push_hash(hash, &record, cx)?;
                    written += record.len() as u64 + 4;
                }
                let need = self.held.bytes() as u64;
                self.on_disk = Some(Parts {
                    builds: Vec::new(),
                    divided: false,
                    waiting: Vec::new(),
                    part: None,
                    record: Vec::new(),
                    filter: Bloom::default(),
                    work: (need / pushed.max(1), None),
                });
                division = Some((divided, maker));
                self.forget_table(m);
            }
        }
        self.key = key;
        for (filter, maker) in self.filters.iter().zip(makers) {
            m.set_filter(filter.id, Some(Rc::new(maker.finish())));
        }
        if let (Some((division, filter)), Some(parts)) = (division, &mut self.on_disk) {
            parts.builds = division.finish(cx)?.into_iter().map(Rc::new).collect();
            parts.filter = filter.finish();
            parts.work = (parts.work.0 * pushed, Some(written));
            return Ok(());
        }
        let areas = cx.shared.areas;
        areas.note(cx, self.held.bytes() as u64, 0, || {
            (Way::Divide, (self.held.bytes() as u64).saturating_sub(pushed * (ROW_MORE as u64 + 3)))
        });
        self.probed = areas.is_large(self.held.bytes() as u64).then(Probed::default);
        self.link(cx)
    }

    /// Whether the key of a record has a NULL in a column of NOT IN.
    fn is_open_key(&self, key: &RowKey) -> Result<bool> {
        let plain = self.build.keys.len() - self.build.keys.open_ones();
        Ok(self.how.aware && !key.is_word && split(&key.bytes, plain)?.1)
    }

    /// [`part_hash`] of a key read back.
    fn hash_for_part(&self, key: &RowKey) -> Result<u64> {
        if !self.how.aware || key.is_word {
            return Ok(key.hash);
        }
        let plain = self.build.keys.len() - self.build.keys.open_ones();
        Ok(hash_bytes(&key.bytes[..split(&key.bytes, plain)?.0]))
    }

    /// Prepares the rows of the table for look-ups.
    fn link(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let distinct = self.is_bare() && !self.how.aware;
        self.table.link(distinct, &mut || cx.check_cancel())?;
        self.open.some.clear();
        self.open.all.clear();
        self.open.has_all = false;
        if self.how.aware {
            let mut key = RowKey::default();
            for n in 0..self.table.len() {
                let row = self.table.rows()[n];
                if !self.table.is_loose(row) {
                    continue;
                }
                take_key(&mut self.table.record(n), &mut key)?;
                if self.is_open_key(&key)? {
                    self.open.some.push((self.hash_for_part(&key)?, row));
                }
            }
            self.open.some.sort_unstable();
        }
        Ok(())
    }

    /// Partitions the probe in the same way as the build side.
    fn divide_probe(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut division = Division::new(0, &m.temporary, cx);
        let mut key = std::mem::take(&mut self.key);
        let (mut record, mut written, mut count) = (Vec::new(), 0, 0u64);
        while self.probe.op.next(m, cx)? {
            let matches = self.probe.keys.eval(&mut key, m, cx)?;
            count += 1;
            let Some(parts) = &self.on_disk else { break };
            let hopeless = matches == Match::Never || !self.how.aware && !parts.filter.may_have(&key, matches);
            if hopeless && !self.how.keep_probe {
                continue;
            }
            record.clear();
            if matches == Match::Never {
                loose(&mut key, count);
                record.push(LOOSE);
            } else {
                record.push(LINKED);
            }
            push_key(&key, &mut record);
            rows::encode(self.probe.regs.iter().map(|&r| m.value(r)), &mut record);
            let hash = part_hash(self.how.aware, &key);
            division.push_hash(hash, &record, cx)?;
            written += record.len() as u64 + 4;
        }
        self.key = key;
        let probes = division.finish(cx)?;
        let divisible = self.is_divisible();
        let Some(parts) = &mut self.on_disk else { return Ok(()) };
        parts.divided = true;
        let need = parts.work.0;
        let limit = cx.session.options.spill_bytes as u64;
        let all = parts.builds.iter().map(|build| build.records()).sum::<u64>().max(1);
        let again = parts.builds.iter().any(|build| need * build.records() / all > limit);
        match parts.work.1.take() {
            Some(builds) => cx.shared.areas.note(cx, need, 1 + u32::from(again), || (Way::Divide, builds + written)),
            None => cx.shared.areas.note_more(cx, Way::Divide, need, written),
        }
        let level = |build: &TempFile| {
            if !divisible || build.records() == all { LEVELS_MAX } else { level_of(build, 0) }
        };
        parts.waiting = parts
            .builds
            .iter()
            .cloned()
            .zip(probes)
            .map(|(b, p)| (level(&b), b, p))
            .map(|(l, b, p)| (b, Rc::new(p), l))
            .collect();
        Ok(())
    }

    /// Builds the table of the next partition. False if none is left.
    fn next_part(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some(mut parts) = self.on_disk.take() else { return Ok(false) };
        let there = self.load_part(&mut parts, m, cx);
        self.on_disk = Some(parts);
        there
    }

    fn load_part(&mut self, parts: &mut Parts, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.forget_table(m);
        if let Some(mut part) = parts.part.take()
            && let Some(mut reader) = part.rest.take()
        {
            let full = self.load_rows(&part.build, &mut reader, &mut parts.record, m, cx)?;
            part.rest = full.then_some(reader);
            (part.reader, part.row) = (Reader::default(), 0);
            parts.part = Some(part);
            self.link(cx)?;
            return Ok(true);
        }
        while let Some((build, probe, level)) = parts.waiting.pop() {
            self.forget_table(m);
            let probe_matters = probe.records() > 0 && (build.records() > 0 || self.how.keep_probe);
            let build_matters = self.how.keep_build && build.records() > 0;
            if !(probe_matters || build_matters) {
                continue;
            }
            let pieces = level >= LEVELS_MAX;
            let mut reader = Reader::default();
            let full = self.load_rows(&build, &mut reader, &mut parts.record, m, cx)?;
            if full && !pieces {
                let all = build.records();
                let builds = self.divide_again(&build, level, m, cx)?;
                let probes = self.divide_again(&probe, level, m, cx)?;
                parts.waiting.extend(builds.into_iter().zip(probes).map(|(b, p)| {
                    // A division that puts all rows into one partition cannot divide them further.
                    let level = if b.records() == all { LEVELS_MAX } else { level_of(&b, level) };
                    (Rc::new(b), Rc::new(p), level)
                }));
                continue;
            }
            self.link(cx)?;
            parts.part = Some(Part {
                build,
                rest: full.then_some(reader),
                probe,
                reader: Reader::default(),
                row: 0,
                matched: Vec::new(),
                pieces: full,
            });
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads rows of the build side into the table. True if the table is full before the end; the reader then stands at
    /// the next row.
    fn load_rows(
        &mut self,
        build: &TempFile,
        reader: &mut Reader,
        record: &mut Vec<u8>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let limit = cx.session.options.spill_bytes;
        let mut key = RowKey::default();
        while build.next(reader, record, cx)? {
            let Some((flag, rest)) = record.split_first() else {
                return Err(Ora::internal("row of a hash join is damaged"));
            };
            let mut is_loose = *flag == LOOSE;
            if self.how.aware && !is_loose {
                take_key(&mut &rest[..], &mut key)?;
                is_loose = self.is_open_key(&key)?;
            }
            let bytes = self.table.push_record(rest, is_loose)?;
            self.held.charge(bytes, m, cx)?;
            if self.held.bytes() > limit && build.has_more(reader) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Partitions a too large partition by other bits of the hash.
    fn divide_again(&self, part: &TempFile, level: u32, m: &Machine, cx: &ExecCtx<'_>) -> Result<Vec<TempFile>> {
        let (mut division, mut reader, mut record) =
            (Division::new(level, &m.temporary, cx), Reader::default(), Vec::new());
        let mut key = RowKey::default();
        while part.next(&mut reader, &mut record, cx)? {
            let Some((flag, rest)) = record.split_first() else {
                return Err(Ora::internal("row of a hash join is damaged"));
            };
            let hash = if self.how.aware && *flag != LOOSE {
                take_key(&mut &rest[..], &mut key)?;
                self.hash_for_part(&key)?
            } else {
                hash_of(rest)
            };
            division.push_hash(hash, &record, cx)?;
        }
        division.finish(cx)
    }

    /// Moves to the next row of the probe. `None` at the end.
    fn next_probe(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Match>> {
        if let Some(parts) = &mut self.on_disk {
            let Some(part) = &mut parts.part else { return Ok(None) };
            if !part.probe.next(&mut part.reader, &mut parts.record, cx)? {
                return Ok(None);
            }
            part.row += 1;
            let Some((flag, mut rest)) = parts.record.split_first().map(|(flag, rest)| (*flag, rest)) else {
                return Err(Ora::internal("row of a hash join is damaged"));
            };
            take_key(&mut rest, &mut self.key)?;
            m.decode(&self.probe.regs, &mut rest)?;
            if flag == LOOSE {
                return Ok(Some(Match::Never));
            }
            if self.how.aware && !self.key.is_word {
                let plain = self.probe.keys.len() - self.probe.keys.open_ones();
                let (at, open) = split(&self.key.bytes, plain)?;
                self.key.plain = at;
                return Ok(Some(if open { Match::Open } else { Match::Whole }));
            }
            return Ok(Some(Match::Whole));
        }
        if !self.probe.op.next(m, cx)? {
            self.note_probed(cx);
            return Ok(None);
        }
        if let Some(probed) = &mut self.probed {
            probed.add(&self.probe.regs, m);
        }
        self.probe.keys.eval(&mut self.key, m, cx).map(Some)
    }

    fn note_probed(&mut self, cx: &ExecCtx<'_>) {
        if let Some(probed) = self.probed.replace(Probed::default()) {
            let written = probed.bytes * probed.rows / probed.seen.max(1);
            cx.shared.areas.note_more(cx, Way::Divide, self.held.bytes() as u64, written);
        }
    }

    /// Starts the probe; the table must be complete.
    fn start(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.on_disk.is_none() && self.table.is_empty() && !self.how.keep_probe {
            self.state = State::Done;
            return Ok(());
        }
        match self.probe_open {
            true => self.probe.op.rewind(m, cx)?,
            false => self.probe.op.open(m, cx)?,
        }
        self.probe_open = true;
        self.state = State::NextProbe;
        if self.on_disk.is_some() {
            self.divide_probe(m, cx)?;
            self.state = State::NextPart;
        }
        Ok(())
    }

    /// Whether rows of the build side remain beyond those in the table, which the probe row has yet to be compared
    /// with.
    fn has_more_pieces(&self) -> bool {
        self.on_disk.as_ref().and_then(|parts| parts.part.as_ref()).is_some_and(|part| part.rest.is_some())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        loop {
            match self.state {
                State::Start => {
                    self.build_table(m, cx)?;
                    self.state = State::Built;
                }
                State::Built => self.start(m, cx)?,
                State::NextProbe => {
                    let Some(matches) = self.next_probe(m, cx)? else {
                        self.state = if self.how.keep_build { State::Unmatched(0) } else { State::NextPart };
                        continue;
                    };
                    self.found = self.on_disk.as_ref().is_some_and(|p| p.part.as_ref().is_some_and(Part::has_matched));
                    if self.found && matches!(self.how.on_match, OnMatch::TakeProbe | OnMatch::DropProbe) {
                        continue;
                    }
                    let first = match matches {
                        Match::Never => None,
                        _ if self.how.aware => {
                            self.compare_openly(matches, m, cx)?;
                            None
                        }
                        _ => self.table.find(&self.key),
                    };
                    // Without other conditions, the rows of a key are marked together.
                    let is_done = matches!(self.how.on_match, OnMatch::TakeBuild | OnMatch::DropBuild)
                        && self.residual.is_empty()
                        && first.is_some_and(|row| self.table.is_marked(row));
                    self.state = State::Chain(first.filter(|_| !is_done));
                }
                State::Chain(Some(row)) => {
                    self.state = State::Chain(self.table.next(row));
                    // A chain may contain all rows of the table: a join without equalities.
                    self.compared = self.compared.wrapping_add(1);
                    if self.compared.is_multiple_of(CANCEL_COMPARED) {
                        cx.check_cancel()?;
                    }
                    if self.how.on_match == OnMatch::TakeBuild && self.table.is_marked(row) {
                        continue;
                    }
                    if self.check(row, m, cx)? && self.take(row)? {
                        return Ok(true);
                    }
                }
                State::Chain(None) => {
                    self.state = State::NextProbe;
                    if self.how.keep_probe && !self.found && !self.has_more_pieces() {
                        if self.how.on_match == OnMatch::Pair {
                            m.nulls(&self.build.regs);
                        }
                        return Ok(true);
                    }
                    cx.check_cancel()?;
                }
                State::Unmatched(at) => {
                    let rows = self.table.rows();
                    let Some(n) = (at..rows.len()).find(|n| !self.table.is_marked(rows[*n])) else {
                        self.state = State::NextPart;
                        continue;
                    };
                    m.decode(&self.build.regs, &mut self.table.values(rows[n]))?;
                    if self.how.on_match == OnMatch::Pair {
                        m.nulls(&self.probe.regs);
                    }
                    self.state = State::Unmatched(n + 1);
                    return Ok(true);
                }
                State::NextPart => {
                    let there = self.next_part(m, cx)?;
                    self.state = if there { State::NextProbe } else { State::Done };
                }
                State::Done => return Ok(false),
            }
        }
    }

    /// Puts a row of the table into its registers and checks the conditions that are not keys.
    #[inline]
    fn check(&mut self, row: Row, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.is_bare() {
            m.decode(&self.build.regs, &mut self.table.values(row))?;
        }
        all_true(&self.residual, m, cx)
    }

    /// Handles a match of a row of the table with the probe row. True: a result row is in the registers.
    #[inline]
    fn take(&mut self, row: Row) -> Result<bool> {
        let again = self.found;
        self.found = true;
        let marked = self.how.marks && self.table.mark(row);
        if let Some(part) = self.on_disk.as_mut().and_then(|parts| parts.part.as_mut()) {
            part.note_match();
        }
        match self.how.on_match {
            OnMatch::Pair => {
                // The left row is either the marked row or the probe row.
                if self.how.single && (if self.how.marks { marked } else { again }) {
                    return Err(Ora::new(1427)); // a second match
                }
                Ok(true)
            }
            OnMatch::TakeProbe => {
                self.state = State::NextProbe;
                Ok(true)
            }
            OnMatch::DropProbe => {
                self.state = State::NextProbe;
                Ok(false)
            }
            OnMatch::TakeBuild => Ok(!marked),
            OnMatch::DropBuild => Ok(false),
        }
    }

    /// NOT IN: collects the rows of the table that the probe row equals or may equal; one row, if that is enough.
    fn compare_openly(&mut self, matches: Match, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let first_is_enough = self.how.on_match == OnMatch::DropProbe;
        let plain = self.build.keys.len() - self.build.keys.open_ones();
        let mut found = std::mem::take(&mut self.open.found);
        found.clear();
        if matches == Match::Whole {
            let mut at = self.table.find(&self.key);
            while let Some(row) = at {
                found.push(row);
                at = self.table.next(row);
            }
        } else if !self.open.has_all {
            let mut key = RowKey::default();
            for n in 0..self.table.len() {
                let row = self.table.rows()[n];
                take_key(&mut self.table.record(n), &mut key)?;
                let open = self.is_open_key(&key)?;
                if open || !self.table.is_loose(row) {
                    self.open.all.push((self.hash_for_part(&key)?, row));
                }
            }
            self.open.all.sort_unstable();
            self.open.has_all = true;
        }
        let hash = part_hash(true, &self.key);
        let list = if matches == Match::Open { &self.open.all } else { &self.open.some };
        let from = list.partition_point(|(other, _)| *other < hash);
        let len = list[from..].partition_point(|(other, _)| *other == hash);
        let range = from..from + len;
        let mut matched = false;
        for row in &found {
            if matched && first_is_enough {
                break;
            }
            if !(self.how.marks && self.table.is_marked(*row)) && self.check(*row, m, cx)? {
                self.take(*row)?;
                matched = true;
            }
        }
        self.open.found = found;
        for n in range {
            if matched && first_is_enough {
                break;
            }
            let row = if matches == Match::Open { self.open.all[n].1 } else { self.open.some[n].1 };
            if self.how.marks && self.table.is_marked(row) {
                continue;
            }
            if may_equal(&self.key.bytes, self.table.key(row), plain)? && self.check(row, m, cx)? {
                self.take(row)?;
                matched = true;
            }
            if n % 1024 == 0 {
                cx.check_cancel()?;
            }
        }
        Ok(())
    }
}

/// The hash that chooses the partition of a row: NOT IN keeps rows with equal plain keys together.
fn part_hash(aware: bool, key: &RowKey) -> u64 {
    if aware && !key.is_word { hash_bytes(&key.bytes[..key.plain]) } else { key.hash }
}

/// A key for a row that matches nothing, to spread such rows over the partitions.
fn loose(key: &mut RowKey, number: u64) {
    key.is_word = true;
    key.hash = crate::join::row_key::mix(number ^ 1 << 63);
    key.bytes.clear();
}

impl Probed {
    fn add(&mut self, regs: &[Reg], m: &Machine) {
        if self.rows.is_multiple_of(PROBED) {
            let mut record = Vec::new();
            rows::encode(regs.iter().map(|&r| m.value(r)), &mut record);
            self.seen += 1;
            self.bytes += record.len() as u64 + 16;
        }
        self.rows += 1;
    }
}

impl<S: RowSource> RowSource for HashJoin<S> {
    fn open(&mut self, m: &mut Machine, _cx: &mut ExecCtx<'_>) -> Result<()> {
        self.open(m);
        Ok(())
    }

    fn rewind(&mut self, _m: &mut Machine, _cx: &mut ExecCtx<'_>) -> Result<()> {
        self.rewind();
        Ok(())
    }

    fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.next(m, cx)
    }
}
