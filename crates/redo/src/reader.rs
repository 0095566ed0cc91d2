//! Reading redo back, through any number of log files.
//!
//! The files are put in the order of the stream. Each is read up to where the next one begins, so what an older use of a file
//! left behind its redo is not looked at; in the last one the redo ends with the first record that does not check. Every length
//! is checked before it is used, and no bytes in a file make more than an early end of the redo out of it.

use crate::Rba;
use crate::file::{LOG_BLOCK_BYTES, LOG_HEADER_BYTES, LogHeader, io_error, name};
use crate::record::{RECORD_HEAD, RecordReader, claimed_len};
use os::file::{File, OpenMode};
use std::path::PathBuf;
use types::{Facility, Ora, Result, Scn};

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;
/// No record is longer: 16 blocks of 32 KB with all that was done to them are far below.
pub const RECORD_MAX: usize = 64 << 20;

struct Piece {
    file: File,
    header: LogHeader,
    /// The redo of the piece ends here or before.
    end: Rba,
}

/// Reads the records of a stretch of the redo stream.
pub struct LogReader {
    pieces: Vec<Piece>,
    /// The piece that is being read.
    piece: usize,
    /// The position of the next record.
    at: Rba,
    /// What was read and not yet given out: `buffer[from..]`, from the position `at` on.
    buffer: Vec<u8>,
    from: usize,
    end_seen: bool,
    read_bytes: u64,
}

impl LogReader {
    /// Opens the log files that hold the stream from `from` on. Files of other databases or incarnations, files that hold only
    /// what lies before `from`, and files that were never written to are passed over; of two with the same sequence one is read.
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
                let room = file.len_bytes().unwrap_or(0).saturating_sub(LOG_HEADER_BYTES);
                let whole = header.start.0 + room;
                let end = Rba(if header.end.0 == 0 { whole } else { whole.min(header.end.0) });
                pieces.push(Piece { file, header, end });
            }
        }
        LogReader::over(pieces, from)
    }

    fn over(mut pieces: Vec<Piece>, from: Rba) -> Result<LogReader> {
        pieces.sort_by_key(|piece| (piece.header.sequence, std::cmp::Reverse(piece.header.end)));
        pieces.dedup_by_key(|piece| piece.header.sequence);
        for n in 1..pieces.len() {
            // A sequence that follows at once ends the one before it, whatever that has behind this position.
            if pieces[n].header.sequence == pieces[n - 1].header.sequence + 1 {
                pieces[n - 1].end = pieces[n].header.start;
            }
        }
        let holds = |piece: &Piece| (piece.header.start..=piece.end).contains(&from);
        // At a boundary it is the later one, which may hold more.
        let Some(first) = pieces.iter().rposition(holds) else {
            let text = format!("no log file holds the redo from position {} on", from.0);
            return Err(Ora::from_text(Facility::Ora, 308, text));
        };
        pieces.drain(..first);
        Ok(LogReader { pieces, piece: 0, at: from, buffer: Vec::new(), from: 0, end_seen: false, read_bytes: 0 })
    }

    /// The position behind the last record given out, or made void: at the end, the end of the redo.
    pub fn position(&self) -> Rba {
        self.at
    }

    /// The sequence number of the file that is being read.
    pub fn sequence(&self) -> u32 {
        self.pieces[self.piece].header.sequence
    }

    /// Bytes of log read so far, for reports of progress.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// The next record and the position at which it begins; `None` at the end of the redo. Void records are passed over.
    ///
    /// # Errors
    /// ORA-00333 when the device fails.
    pub fn next_record(&mut self) -> Result<Option<(Rba, RecordReader<'_>)>> {
        let len = loop {
            match self.step()? {
                None => return Ok(None),
                Some((len, true)) => self.pass(len),
                Some((len, false)) => break len,
            }
        };
        let (start, from) = (self.at, self.from);
        self.pass(len);
        let record = RecordReader::new(&self.buffer[from..from + len], start).expect("checked a moment ago");
        Ok(Some((start, record)))
    }

    fn pass(&mut self, len: usize) {
        self.at = Rba(self.at.0 + len as u64);
        self.from += len;
    }

    /// Length of the record at the present position, and whether it is void; `None` at the end of the redo.
    fn step(&mut self) -> Result<Option<(usize, bool)>> {
        if self.end_seen {
            return Ok(None);
        }
        while self.at >= self.pieces[self.piece].end && self.next_piece() {}
        let sound = self.sound_record()?;
        self.end_seen = sound.is_none();
        Ok(sound)
    }

    /// Goes on to the next file, if it follows at once.
    fn next_piece(&mut self) -> bool {
        let (here, next) = (&self.pieces[self.piece], self.pieces.get(self.piece + 1));
        let follows = next.is_some_and(|next| {
            next.header.sequence == here.header.sequence + 1 && next.header.start == self.at && here.end == self.at
        });
        if follows {
            self.piece += 1;
            self.buffer.clear();
            self.from = 0;
        }
        follows
    }

    fn sound_record(&mut self) -> Result<Option<(usize, bool)>> {
        let room = self.pieces[self.piece].end.0.saturating_sub(self.at.0);
        if room < RECORD_HEAD as u64 {
            return Ok(None);
        }
        self.have(RECORD_HEAD)?;
        let Some(len) = claimed_len(&self.buffer[self.from..]) else { return Ok(None) };
        if len as u64 > room || len > RECORD_MAX {
            return Ok(None);
        }
        self.have(len)?;
        let record = RecordReader::new(&self.buffer[self.from..], self.at);
        Ok(record.ok().map(|r| (r.len, r.is_void)))
    }

    /// Makes the buffer hold at least `len` bytes from the present position on, as far as the file has them.
    fn have(&mut self, len: usize) -> Result<()> {
        if self.buffer.len() - self.from >= len {
            return Ok(());
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let piece = &self.pieces[self.piece];
        let have = self.buffer.len();
        let at = self.at.0 + have as u64;
        let want = (len.max(CHUNK) - have).min(piece.end.0.saturating_sub(at) as usize);
        self.buffer.resize(have + want, 0);
        let place = LOG_HEADER_BYTES + (at - piece.header.start.0);
        let mut done = 0;
        while done < want {
            let read = piece.file.read_some_at(&mut self.buffer[have + done..], place + done as u64);
            match read {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) => {
                    let failed = Ora::with(333, &[&(place / LOG_BLOCK_BYTES), &(want as u64 / LOG_BLOCK_BYTES)]);
                    return Err(failed.because(name(piece.file.path())).because(io_error(&e)));
                }
            }
        }
        self.read_bytes += done as u64;
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
