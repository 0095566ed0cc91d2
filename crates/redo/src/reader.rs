//! Reading redo back, through any number of log files.
//!
//! The files are put in the order of the stream. Each is read up to where the next one begins, so what an older use of
//! a file left behind its redo is not looked at. Every length is checked before it is used, and no bytes in a file make
//! more than an error or an early end of the redo out of it.
//!
//! **Where no sound record stands** the redo ends, or it is damaged, and the two must not be taken for one another:
//! commits behind damage would be lost without a word. A write is made of one range, behind the sync of the one before,
//! so what a crash cuts off is inside the last range. Therefore:
//!
//! | | it is |
//! |---|---|
//! | another copy of the same log has a sound record there | that copy's business: reading goes on in it |
//! | the log goes on: the next sequence, or the copy's header, says where it ends | damage |
//! | sequences that come later are there, the next one is not | a missing log |
//! | a record stands behind it that was made when this place was on disk already | damage |
//! | none of these | the end of the redo |
//!
//! The fourth needs a record that was made later, at another time: damage inside the last write of all looks like a
//! torn write.

use crate::Rba;
use crate::ahead::{Ahead, CHUNK, ROOM};
use crate::file::{LOG_BLOCK_BYTES, LOG_HEADER_BYTES, LogHeader, io_error, name};
use crate::record::{RECORD_HEAD, RecordReader, claimed_len, head_of};
use os::blocks::Blocks;
use os::file::{File, OpenMode};
use std::path::PathBuf;
use types::format::date_to_char;
use types::{Facility, Ora, Result, Scn};

/// Less redo than this is not read ahead.
const AHEAD_MIN: u64 = 4 << 20;

/// No record is longer: 16 blocks of 32 KB with all that was done to them are far below.
pub const RECORD_MAX: usize = 64 << 20;

struct Piece {
    file: File,
    header: LogHeader,
    /// The redo of the piece ends here or before: the file has no more.
    end: Rba,
    /// Where its redo ends, if anything says so.
    known_end: Option<Rba>,
    /// Further copies of the same log, with the ends of their files.
    copies: Vec<(File, Rba)>,
}

impl Piece {
    fn of(file: File, header: LogHeader) -> Piece {
        let room = file.len_bytes().unwrap_or(0).saturating_sub(LOG_HEADER_BYTES);
        let end = Rba(header.start.0.saturating_add(room));
        let known_end = Some(header.end).filter(|end| end.0 > 0);
        Piece { file, header, end: known_end.map_or(end, |known| known.min(end)), known_end, copies: Vec::new() }
    }

    /// The redo ends at `end`, whatever the file has behind it.
    fn ends_at(&mut self, end: Rba) {
        self.known_end = Some(end);
        self.end = self.end.min(end);
        self.copies.iter_mut().for_each(|(_, e)| *e = end.min(*e));
    }

    /// Reads from `at` on until the buffer is full or the file ends; returns how much.
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        let place = LOG_HEADER_BYTES + at.saturating_sub(self.header.start.0);
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_some_at(&mut buffer[done..], place + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) => {
                    let blocks = buffer.len() as u64 / LOG_BLOCK_BYTES;
                    let failed = Ora::with(333, &[&(place / LOG_BLOCK_BYTES), &blocks]);
                    return Err(failed.because(name(self.file.path())).because(io_error(&e)));
                }
            }
        }
        Ok(done)
    }

    /// The first record behind `at` that was made when everything up to `at`, and more, was on disk.
    fn witness(&self, at: Rba) -> Result<Option<Rba>> {
        let log = self.header.id();
        let mut chunk = vec![0; CHUNK];
        let mut from = at.0 + STEP;
        let end = self.written_end(at).0;
        while from + RECORD_HEAD as u64 <= end {
            let want = CHUNK.min((end - from) as usize);
            let got = self.read(from, &mut chunk[..want])?;
            let mut n = 0;
            while n + RECORD_HEAD <= got {
                let here = Rba(from + n as u64);
                let head = head_of(&chunk[n..got], here, log).filter(|h| h.on_disk > at);
                if let Some(head) = head
                    && self.is_sound(here, head.len)?
                {
                    return Ok(Some(here));
                }
                n += STEP as usize;
            }
            if n == 0 {
                break;
            }
            from += n as u64;
        }
        Ok(None)
    }

    /// Where the file ends for who is at `at`: at the reach, which covers all that was ever written. Redo behind it
    /// shows that the header is older than the rest, as a copy's may be that was made while the log was written; it
    /// says nothing then.
    fn written_end(&self, at: Rba) -> Rba {
        let reach = Rba(self.header.start.0.saturating_add(self.header.reach_bytes));
        if self.header.reach_bytes > 0 && at <= reach { self.end.min(reach) } else { self.end }
    }

    fn is_sound(&self, at: Rba, len: usize) -> Result<bool> {
        if len > RECORD_MAX || at.0 + len as u64 > self.end.0 {
            return Ok(false);
        }
        let mut bytes = vec![0; len];
        let got = self.read(at.0, &mut bytes)?;
        Ok(RecordReader::new(&bytes[..got], at, self.header.id()).is_ok())
    }
}

/// Records begin at multiples of this.
const STEP: u64 = 8;

/// What stands at a place.
enum Stands {
    /// A sound record of this length.
    Record(usize),
    Void(usize),
}

/// Reads the records of a stretch of the redo stream.
pub struct LogReader {
    pieces: Vec<Piece>,
    /// The piece that is being read.
    piece: usize,
    /// The position of the next record.
    at: Rba,
    /// What was read and not yet given out: `buffer[from..filled]`, from the position `at` on. Behind it is what
    /// earlier use left.
    buffer: Blocks,
    /// The file that is being read, read ahead, if that is wanted and can be had.
    ahead: Option<Ahead>,
    looks_ahead: bool,
    from: usize,
    filled: usize,
    end_seen: bool,
    read_bytes: u64,
    /// SCN and time of the last record given out.
    last: (Scn, u32),
    /// Nothing is given out from here on.
    limit: Rba,
    /// Damage is the end of the redo.
    stops_at_damage: bool,
    damage: Option<Ora>,
}

impl LogReader {
    /// Opens the log files that hold the stream from `from` on. Files of other databases or incarnations, files that
    /// hold only what lies before `from`, and files that were never written to are passed over; of two with the same
    /// sequence the second is read where the first is damaged.
    ///
    /// # Errors
    /// ORA-00313 when a file cannot be opened; ORA-00308 when none of them holds `from`.
    pub fn open(files: &[PathBuf], database: u64, incarnation: u32, from: Rba) -> Result<LogReader> {
        let mut pieces = Vec::new();
        for path in files {
            let missing = |e| Ora::with(313, &[&0, &1]).because(name(path)).because(io_error(&e));
            let file = File::open(path, OpenMode::Read).map_err(missing)?;
            let Ok(header) = LogHeader::of(&file) else { continue };
            if (header.database, header.incarnation) == (database, incarnation) {
                pieces.push(Piece::of(file, header));
            }
        }
        LogReader::over(pieces, from)
    }

    fn over(mut all: Vec<Piece>, from: Rba) -> Result<LogReader> {
        all.sort_by_key(|piece| (piece.header.sequence, std::cmp::Reverse(piece.known_end)));
        let mut pieces: Vec<Piece> = Vec::with_capacity(all.len());
        for piece in all {
            match pieces.last_mut().filter(|p| p.header.sequence == piece.header.sequence) {
                Some(same) if same.header.start == piece.header.start => same.copies.push((piece.file, piece.end)),
                Some(_) => {}
                None => pieces.push(piece),
            }
        }
        for n in 1..pieces.len() {
            // A sequence that follows at once ends the one before it, whatever that has behind this position.
            if pieces[n].header.sequence == pieces[n - 1].header.sequence + 1 {
                let end = pieces[n].header.start;
                pieces[n - 1].ends_at(end);
            }
        }
        let holds = |piece: &Piece| (piece.header.start..=piece.known_end.unwrap_or(piece.end)).contains(&from);
        // At a boundary it is the later one, which may hold more.
        let Some(first) = pieces.iter().rposition(holds) else {
            let text = format!("no log file holds the redo from position {} on", from.0);
            return Err(Ora::from_text(Facility::Ora, 308, text));
        };
        pieces.drain(..first);
        let last = (pieces[0].header.first_scn, pieces[0].header.first_time_s);
        Ok(LogReader {
            pieces,
            piece: 0,
            at: from,
            buffer: Blocks::default(),
            ahead: None,
            looks_ahead: false,
            from: 0,
            filled: 0,
            end_seen: false,
            read_bytes: 0,
            last,
            limit: Rba(u64::MAX),
            stops_at_damage: false,
            damage: None,
        })
    }

    /// From now on the redo ends at `limit`, where a record begins or the redo ends. What is before it is on disk: a
    /// log that goes on being written to can be read up to there.
    pub fn end_at(&mut self, limit: Rba) {
        self.limit = limit;
    }

    /// Has long logs read ahead from now on, by threads that end with the reader: for a process that has to be fast and
    /// does not fork meanwhile.
    pub fn look_ahead(&mut self) {
        self.looks_ahead = true;
    }

    /// From now on the redo ends where it is damaged, or a log is missing; [`LogReader::damage`] says so then.
    pub fn stop_at_damage(&mut self) {
        self.stops_at_damage = true;
    }

    /// The damage at which the redo was made to end.
    pub fn damage(&self) -> Option<&Ora> {
        self.damage.as_ref()
    }

    /// The position behind the last record given out, or made void: at the end, the end of the redo.
    pub fn position(&self) -> Rba {
        self.at
    }

    /// The sequence number of the file that is being read.
    pub fn sequence(&self) -> u32 {
        self.pieces[self.piece].header.sequence
    }

    /// Bytes of redo that are still to come, at most.
    pub fn bytes_left(&self) -> u64 {
        let later = self.pieces.iter().skip(self.piece + 1).map(|p| (p.header.start, p.written_end(p.header.start)));
        let here = (self.at, self.pieces[self.piece].written_end(self.at));
        later
            .chain([here])
            .fold(0, |sum: u64, (from, end)| sum.saturating_add(end.min(self.limit).0.saturating_sub(from.0)))
    }

    /// Bytes of log read so far, for reports of progress.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// The next record and the position at which it begins; `None` at the end of the redo. Void records are passed
    /// over.
    ///
    /// # Errors
    /// ORA-00333 when the device fails; ORA-00353 when the redo goes on behind a place that cannot be read; ORA-00308
    /// when it goes on in a log that is missing.
    pub fn next_record(&mut self) -> Result<Option<(Rba, RecordReader<'_>)>> {
        let len = loop {
            match self.step()? {
                None => return Ok(None),
                Some(Stands::Void(len)) => self.pass(len),
                Some(Stands::Record(len)) => break len,
            }
        };
        Ok(Some(self.give(len)))
    }

    /// The record of `len` bytes that was found to stand at the present position.
    fn give(&mut self, len: usize) -> (Rba, RecordReader<'_>) {
        let (start, from) = (self.at, self.from);
        self.pass(len);
        let record = RecordReader::of_checked(&self.buffer.bytes()[from..from + len]).expect("checked a moment ago");
        self.last = (record.scn, record.time_s);
        (start, record)
    }

    /// As [`LogReader::next_record`], as long as the next record has been read already: `None` is not the end of the
    /// redo. All records given out so since [`LogReader::take_buffer`], and the first of them by
    /// [`LogReader::next_record`], lie in one buffer.
    pub fn next_buffered(&mut self) -> Option<(Rba, RecordReader<'_>)> {
        loop {
            let piece = &self.pieces[self.piece];
            let have = &self.buffer.bytes()[self.from..self.filled];
            if self.end_seen || self.at >= self.limit || have.len() < RECORD_HEAD {
                return None;
            }
            let len = claimed_len(have).filter(|len| *len <= have.len())?;
            if len as u64 > piece.end.0.saturating_sub(self.at.0) {
                return None;
            }
            // What is not sound is for `next_record` to judge.
            let is_void = RecordReader::new(have, self.at, piece.header.id()).ok()?.is_void;
            if !is_void {
                return Some(self.give(len));
            }
            self.pass(len);
        }
    }

    /// Whether the redo ends here, but for void records, which are passed.
    ///
    /// # Errors
    /// As [`LogReader::next_record`].
    pub fn at_end(&mut self) -> Result<bool> {
        loop {
            match self.step()? {
                None => return Ok(true),
                Some(Stands::Void(len)) => self.pass(len),
                Some(Stands::Record(_)) => return Ok(false),
            }
        }
    }

    /// Where, in the buffer, the record ends that was given out last.
    pub fn buffer_place(&self) -> usize {
        self.from
    }

    /// Gives the buffer away, with the records that were given out of it where they were; `spare` is used from now on.
    pub fn take_buffer(&mut self, mut spare: Blocks) -> Blocks {
        let rest = &self.buffer.bytes()[self.from..self.filled];
        spare.grow(rest.len());
        spare.bytes_mut()[..rest.len()].copy_from_slice(rest);
        (self.filled, self.from) = (rest.len(), 0);
        std::mem::replace(&mut self.buffer, spare)
    }

    fn pass(&mut self, len: usize) {
        self.at = Rba(self.at.0 + len as u64);
        self.from += len;
    }

    /// What stands at the present position; `None` at the end of the redo.
    fn step(&mut self) -> Result<Option<Stands>> {
        while !self.end_seen && self.at < self.limit {
            while self.at >= self.pieces[self.piece].end && self.next_piece() {}
            if let Some(sound) = self.sound_record()? {
                return Ok(Some(sound));
            }
            self.end_seen = match self.goes_on() {
                Ok(goes_on) => !goes_on,
                Err(damage) if self.stops_at_damage && !damage.is(333) => {
                    self.damage = Some(damage);
                    true
                }
                Err(e) => return Err(e),
            };
        }
        Ok(None)
    }

    /// Goes on to the next file, if it follows at once.
    fn next_piece(&mut self) -> bool {
        let (here, next) = (&self.pieces[self.piece], self.pieces.get(self.piece + 1));
        let follows = next.is_some_and(|next| {
            next.header.sequence == here.header.sequence + 1 && next.header.start == self.at && here.end == self.at
        });
        if follows {
            self.piece += 1;
            self.forget();
        }
        follows
    }

    /// What was read ahead is read again.
    fn forget(&mut self) {
        (self.from, self.filled) = (0, 0);
        self.ahead = None;
    }

    /// Says what it means that no sound record stands here: true when one can be had after all, false for the end of
    /// the redo.
    ///
    /// # Errors
    /// As [`LogReader::next_record`].
    fn goes_on(&mut self) -> Result<bool> {
        if self.take_copy()? {
            return Ok(true);
        }
        let piece = &self.pieces[self.piece];
        let is_cut_short = piece.known_end.is_some_and(|end| self.at < end);
        if !is_cut_short {
            if let Some(later) = self.pieces.get(self.piece + 1) {
                let text = format!(
                    "log sequence {} is missing, sequence {} is there",
                    piece.header.sequence + 1,
                    later.header.sequence
                );
                return Err(Ora::from_text(Facility::Ora, 308, text));
            }
            if piece.known_end.is_some() || piece.witness(self.at)?.is_none() {
                return Ok(false);
            }
        }
        // A log that is being written to shows later bytes before earlier ones to who reads it in pieces.
        self.forget();
        if self.sound_record()?.is_some() { Ok(true) } else { Err(self.damaged()) }
    }

    /// Goes on in another copy of the log, if that has a sound record here.
    fn take_copy(&mut self) -> Result<bool> {
        for n in 0..self.pieces[self.piece].copies.len() {
            self.swap_copy(n);
            if self.sound_record()?.is_some() {
                return Ok(true);
            }
            self.swap_copy(n);
        }
        Ok(false)
    }

    fn swap_copy(&mut self, n: usize) {
        self.forget();
        let piece = &mut self.pieces[self.piece];
        std::mem::swap(&mut piece.file, &mut piece.copies[n].0);
        std::mem::swap(&mut piece.end, &mut piece.copies[n].1);
    }

    /// The error for redo that cannot be read here.
    pub fn damaged(&self) -> Ora {
        let piece = &self.pieces[self.piece];
        let block = (LOG_HEADER_BYTES + self.at.0.saturating_sub(piece.header.start.0)) / LOG_BLOCK_BYTES;
        let mut time = String::new();
        let date = types::Date::from_unix(self.last.1.into());
        let _ = date.and_then(|d| date_to_char(&d, "MM/DD/YYYY HH24:MI:SS", &types::Nls::default(), &mut time));
        Ora::with(353, &[&block, &self.last.0.0, &time]).because(name(piece.file.path()))
    }

    fn sound_record(&mut self) -> Result<Option<Stands>> {
        let room = self.pieces[self.piece].end.0.saturating_sub(self.at.0);
        if room < RECORD_HEAD as u64 {
            return Ok(None);
        }
        self.have(RECORD_HEAD)?;
        let Some(len) = claimed_len(&self.buffer.bytes()[self.from..self.filled]) else { return Ok(None) };
        if len as u64 > room || len > RECORD_MAX {
            return Ok(None);
        }
        self.have(len)?;
        let record = RecordReader::new(
            &self.buffer.bytes()[self.from..self.filled],
            self.at,
            self.pieces[self.piece].header.id(),
        );
        Ok(record.ok().map(|r| if r.is_void { Stands::Void(r.len) } else { Stands::Record(r.len) }))
    }

    /// Makes the buffer hold at least `len` bytes from the present position on, as far as the file has them; zeros
    /// behind its end.
    fn have(&mut self, len: usize) -> Result<()> {
        while self.filled - self.from < len {
            if !self.take_ahead() {
                return self.read_more(len);
            }
        }
        Ok(())
    }

    fn read_more(&mut self, len: usize) -> Result<()> {
        self.buffer.bytes_mut().copy_within(self.from..self.filled, 0);
        (self.filled, self.from) = (self.filled - self.from, 0);
        let piece = &self.pieces[self.piece];
        let have = self.filled;
        let at = self.at.0 + have as u64;
        let want = (len.max(CHUNK) - have).min(piece.end.0.saturating_sub(at) as usize);
        self.filled = have + want;
        // At once as long as it is going to be: what it is made longer by is filled with zeros.
        self.buffer.grow(self.filled.max(CHUNK));
        let got = piece.read(at, &mut self.buffer.bytes_mut()[have..self.filled])?;
        self.buffer.bytes_mut()[have + got..self.filled].fill(0);
        self.read_bytes += got as u64;
        Ok(())
    }

    /// Goes on to the next chunk that was read ahead; false when there is none, and the ordinary way is to be gone.
    fn take_ahead(&mut self) -> bool {
        let piece = &self.pieces[self.piece];
        let begins = self.at.0 + (self.filled - self.from) as u64;
        let left = piece.end.0.saturating_sub(begins);
        let place = LOG_HEADER_BYTES + begins.saturating_sub(piece.header.start.0);
        let written = piece.written_end(Rba(begins)).0.saturating_sub(begins);
        if self.looks_ahead && self.ahead.is_none() && written >= AHEAD_MIN {
            self.ahead = Ahead::start(piece.file.path(), place, place + written);
            self.looks_ahead = self.ahead.is_some();
        }
        let Some(ahead) = &mut self.ahead else { return false };
        let skipped = place.checked_sub(ahead.position()).filter(|n| *n < CHUNK as u64 && left > 0);
        let chunk = skipped.and_then(|skipped| Some((skipped as usize, ahead.take()?)));
        let Some((skipped, (chunk, got))) = chunk.filter(|(skipped, (_, got))| got > skipped) else {
            self.ahead = None;
            return false;
        };
        let new = (got - skipped).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.read_bytes += new as u64;
        let used = self.put_behind(chunk, ROOM + skipped, new);
        if let Some(ahead) = &mut self.ahead {
            ahead.give(used);
        }
        true
    }

    /// Makes the `new` bytes of `chunk` from `at` on follow what is in the buffer. Returns the buffer that is not
    /// needed any more.
    fn put_behind(&mut self, mut chunk: Blocks, at: usize, new: usize) -> Blocks {
        let rest = self.filled - self.from;
        if rest <= at {
            let before = at - rest;
            chunk.bytes_mut()[before..at].copy_from_slice(&self.buffer.bytes()[self.from..self.filled]);
            (self.from, self.filled) = (before, at + new);
            return std::mem::replace(&mut self.buffer, chunk);
        }
        // A record longer than the room.
        self.buffer.bytes_mut().copy_within(self.from..self.filled, 0);
        self.buffer.grow(rest + new);
        self.buffer.bytes_mut()[rest..rest + new].copy_from_slice(&chunk.bytes()[at..at + new]);
        (self.from, self.filled) = (0, rest + new);
        chunk
    }

    /// Has the device keep all redo that there is: a crash may have left the newest in the memory of the machine only,
    /// and blocks made from it must not be on the device before it.
    ///
    /// # Errors
    /// ORA-00345.
    pub fn sync(&self) -> Result<()> {
        for piece in &self.pieces {
            for file in std::iter::once(&piece.file).chain(piece.copies.iter().map(|(file, _)| file)) {
                let failed =
                    |e: os::OsError| Ora::with(345, &[&0, &0]).because(name(file.path())).because(io_error(&e));
                file.sync().map_err(failed)?;
            }
        }
        Ok(())
    }

    /// SCN and time of the newest log file.
    pub fn last_header(&self) -> LogHeader {
        self.pieces[self.pieces.len() - 1].header
    }

    /// The SCN at which the first of the files begins.
    pub fn first_scn(&self) -> Scn {
        self.pieces[0].header.first_scn
    }
}
