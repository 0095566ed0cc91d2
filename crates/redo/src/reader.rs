//! Reading redo back, through any number of log files.
//!
//! The files are ordered by their position in the stream. Each is read up to the beginning of the next one, so bytes
//! from an earlier use of the file are not read. Every length is checked before it is used, and arbitrary bytes in a
//! file lead to an error or an early end of the redo, nothing worse.
//!
//! **A place without a sound record** is either the end of the redo or damage. The two must be distinguished: commits
//! behind damage would be lost silently. A write covers one range, after the sync of the previous one, so a crash cuts
//! off only bytes inside the last range. Therefore (R6):
//!
//! | case | result |
//! |---|---|
//! | another copy of the same log has a sound record there | reading continues in that copy |
//! | the next sequence, or the copy's header, shows that the log goes on | damage |
//! | later sequences exist, the next one does not | a missing log |
//! | a later record was made when this place was already on disk | damage |
//! | none of these | the end of the redo |
//!
//! The fourth case needs a later record, made at another time: damage inside the very last write looks like a torn
//! write.

use crate::Rba;
use crate::ahead::{Ahead, CHUNK, ROOM};
use crate::file::{LOG_BLOCK_BYTES, LOG_HEADER_BYTES, LogHeader, io_error, name};
use crate::record::{RECORD_HEAD, RecordReader, claimed_len, head_of};
use os::blocks::Blocks;
use os::file::{File, OpenMode};
use std::path::PathBuf;
use types::format::date_to_char;
use types::{Facility, Ora, Result, Scn};

/// Redo shorter than this is not read ahead.
const AHEAD_MIN: u64 = 4 << 20;

/// No record is longer: 16 blocks of 32 KB with all their changes are far below.
pub const RECORD_MAX: usize = 64 << 20;

struct Piece {
    file: File,
    header: LogHeader,
    /// The redo of the piece ends here or before: the end of the file.
    end: Rba,
    /// The end of its redo, if it is known.
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

    /// Sets the end of the redo to `end`; later bytes of the file are ignored.
    fn ends_at(&mut self, end: Rba) {
        self.known_end = Some(end);
        self.end = self.end.min(end);
        self.copies.iter_mut().for_each(|(_, e)| *e = end.min(*e));
    }

    /// Reads from `at` until the buffer is full or the file ends; returns the number of bytes.
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

    /// The first record after `at` that was made when at least everything up to `at` was on disk.
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

    /// The end of the file for a search from `at`: the reach, which covers all bytes ever written. Redo behind the
    /// reach shows that the header is older than the rest, as in a copy made while the log was written; the reach is
    /// then ignored.
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

/// The content of a place.
enum Stands {
    /// A sound record of this length.
    Record(usize),
    Void(usize),
}

/// Reads the records of a stretch of the redo stream.
pub struct LogReader {
    pieces: Vec<Piece>,
    /// The index of the piece that is being read.
    piece: usize,
    /// The position of the next record.
    at: Rba,
    /// The bytes read and not yet returned: `buffer[from..filled]`, from the position `at` on. Behind them are bytes
    /// from earlier use.
    buffer: Blocks,
    /// The reader ahead of the present file, if requested and available.
    ahead: Option<Ahead>,
    looks_ahead: bool,
    from: usize,
    filled: usize,
    end_seen: bool,
    read_bytes: u64,
    /// SCN and time of the last record returned.
    last: (Scn, u32),
    /// Nothing is returned from here on.
    limit: Rba,
    /// Damage is the end of the redo.
    stops_at_damage: bool,
    damage: Option<Ora>,
}

impl LogReader {
    /// Opens the log files that hold the stream from `from` on. Skips files of other databases or incarnations, files
    /// that end before `from`, and files that were never written. Of two with the same sequence the second is read
    /// where the first is damaged.
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
            // A sequence that follows directly ends the previous one; bytes of the previous one behind that position
            // are ignored.
            if pieces[n].header.sequence == pieces[n - 1].header.sequence + 1 {
                let end = pieces[n].header.start;
                pieces[n - 1].ends_at(end);
            }
        }
        let holds = |piece: &Piece| (piece.header.start..=piece.known_end.unwrap_or(piece.end)).contains(&from);
        // At a boundary the later one: it may hold more.
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

    /// Makes the redo end at `limit`, a record's beginning or the end of the redo. Everything before it is on disk: a
    /// log that is still being written can be read up to there.
    pub fn end_at(&mut self, limit: Rba) {
        self.limit = limit;
    }

    /// Reads long logs ahead from now on, by threads that end with the reader (R16): for a process that has to be fast
    /// and does not fork meanwhile.
    pub fn look_ahead(&mut self) {
        self.looks_ahead = true;
    }

    /// From now on the redo ends where it is damaged or a log is missing; [`LogReader::damage`] then returns the error.
    pub fn stop_at_damage(&mut self) {
        self.stops_at_damage = true;
    }

    /// The damage at which the redo ended.
    pub fn damage(&self) -> Option<&Ora> {
        self.damage.as_ref()
    }

    /// The position after the last record returned or skipped as void: at the end, the end of the redo.
    pub fn position(&self) -> Rba {
        self.at
    }

    /// The sequence number of the file that is being read.
    pub fn sequence(&self) -> u32 {
        self.pieces[self.piece].header.sequence
    }

    /// Bytes of redo not read yet, at most.
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

    /// The next record and its position; `None` at the end of the redo. Void records are skipped.
    ///
    /// # Errors
    /// ORA-00333 when the device fails; ORA-00353 when the redo goes on after an unreadable place; ORA-00308 when it
    /// goes on in a missing log.
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

    /// Returns the record of `len` bytes found at the present position.
    fn give(&mut self, len: usize) -> (Rba, RecordReader<'_>) {
        let (start, from) = (self.at, self.from);
        self.pass(len);
        let record = RecordReader::of_checked(&self.buffer.bytes()[from..from + len]).expect("checked a moment ago");
        self.last = (record.scn, record.time_s);
        (start, record)
    }

    /// As [`LogReader::next_record`], while the next record is already in the buffer: `None` does not mean the end of
    /// the redo. All records returned in this way since [`LogReader::take_buffer`], and the first of them by
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
            // `next_record` decides about an unsound record.
            let is_void = RecordReader::new(have, self.at, piece.header.id()).ok()?.is_void;
            if !is_void {
                return Some(self.give(len));
            }
            self.pass(len);
        }
    }

    /// Whether the redo ends here, apart from void records, which are skipped.
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

    /// The end of the last returned record within the buffer.
    pub fn buffer_place(&self) -> usize {
        self.from
    }

    /// Takes the buffer out, with the returned records at their places; `spare` replaces it.
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

    /// The content of the present position; `None` at the end of the redo.
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

    /// Continues with the next file, if it follows directly.
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

    /// Discards the bytes read ahead, so that they are read again.
    fn forget(&mut self) {
        (self.from, self.filled) = (0, 0);
        self.ahead = None;
    }

    /// Decides what the missing sound record means: true when a record is found after all, false for the end of the
    /// redo.
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
        // In a log that is still being written, reads in parts may see later bytes before earlier ones.
        self.forget();
        if self.sound_record()?.is_some() { Ok(true) } else { Err(self.damaged()) }
    }

    /// Continues in another copy of the log, if that has a sound record here.
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

    /// The error for unreadable redo here.
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

    /// Fills the buffer to at least `len` bytes from the present position, as far as the file goes; zeros follow its
    /// end.
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
        // Grows to the final size at once, because growth fills with zeros.
        self.buffer.grow(self.filled.max(CHUNK));
        let got = piece.read(at, &mut self.buffer.bytes_mut()[have..self.filled])?;
        self.buffer.bytes_mut()[have + got..self.filled].fill(0);
        self.read_bytes += got as u64;
        Ok(())
    }

    /// Continues with the next chunk read ahead; false when there is none and ordinary reads must follow.
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

    /// Appends the `new` bytes of `chunk` at `at` to the buffered bytes. Returns the buffer that is no longer needed.
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

    /// Syncs all existing redo to the device: after a crash its newest part may be in the memory of the machine only,
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

    /// The SCN at which the first file begins.
    pub fn first_scn(&self) -> Scn {
        self.pieces[0].header.first_scn
    }
}
