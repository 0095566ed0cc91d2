//! The ring of samples.
//!
//! A sample of a session is a row of words. The sampler writes rows behind the last shown row, each under an odd
//! version, and one store shows all rows of a moment (invariant 2). A reader therefore sees a moment whole or not at
//! all. A sampler that is killed meanwhile leaves only rows that are not shown; its successor writes them again. A row
//! that is overwritten while it is read fails its version check and is left out, like a row that is no longer in the
//! ring.
//!
//! Two words of a shown row may still change, each by one store: the time of the row's wait, and the object of the
//! wait.

use sga::{Sga, SgaBuilder, SgaSlice, sga_struct};
use std::sync::atomic::{AtomicU64, Ordering::*, fence};

/// The texts of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Program,
    Module,
    Action,
    ClientId,
    Machine,
}

const TEXTS: usize = 5;
const TEXT_WORDS: usize = 8;

/// Bits of [`Sample::flags`].
pub mod bit {
    /// The session waited; otherwise it was on a processor, or ready for one.
    pub const WAITING: u64 = 1;
    pub const BACKGROUND: u64 = 1 << 1;
    /// The sample is one of those kept on disk.
    pub const KEPT: u64 = 1 << 2;
    /// The session waits or has waited before: EVENT, SEQ# and P1 to P3 are set.
    pub const HAS_WAIT: u64 = 1 << 3;
    /// A statement was being executed.
    pub const SQL: u64 = 1 << 4;
    /// PL/SQL was being executed.
    pub const PLSQL: u64 = 1 << 5;
    pub const PARSE: u64 = 1 << 6;
    pub const HARD_PARSE: u64 = 1 << 7;
    pub const CONNECTION: u64 = 1 << 8;
    /// The differences from the session's previous sample are set.
    pub const DELTAS: u64 = 1 << 9;
    /// File and block are known; with [`ROW`] the row, too.
    pub const BLOCK: u64 = 1 << 10;
    pub const ROW: u64 = 1 << 11;
    /// PLAN_HASH is set.
    pub const PLAN: u64 = 1 << 12;
}

macro_rules! sample {
    ($( $(#[$doc:meta])* $field:ident ),* $(,)?) => {
        /// The activity of one session at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Sample {
            $( $(#[$doc])* pub $field: u64, )*
            texts: [[u64; TEXT_WORDS]; TEXTS],
        }

        const WORDS: usize = [$( stringify!($field) ),*].len();

        /// The place of a word in a row.
        fn place_of(name: &str) -> usize {
            [$( stringify!($field) ),*].iter().position(|field| *field == name).expect("a field")
        }

        impl Sample {
            fn words(&self) -> [u64; WORDS] {
                [$( self.$field ),*]
            }

            fn of(words: [u64; WORDS], texts: [[u64; TEXT_WORDS]; TEXTS]) -> Sample {
                let [$( $field ),*] = words;
                Sample { $( $field, )* texts }
            }
        }
    };
}

sample! {
    /// SAMPLE_ID: hundredths of a second since 2020 when the instance was started, and one more for each moment since.
    sample_id,
    /// Wall-clock nanoseconds since 1970.
    wall_ns,
    /// Microseconds that the sample stands for.
    interval_us,
    /// [`bit`].
    flags,
    sid,
    serial,
    user,
    /// The number that `sql_id` prints; 0 for none.
    sql,
    child,
    plan_hash,
    /// COMMAND of the statement, and of the client's call; 0 for none.
    opcode,
    top_opcode,
    /// As `sql`, for the client's call.
    top_sql,
    execution,
    execution_wall_ns,
    /// The subprogram of PL/SQL that was entered first, and the subprogram that ran, unless SQL ran: the object's
    /// number in the high half, the subprogram's in the low half; 0 for none.
    entry,
    subprogram,
    /// The event's number in its list.
    event,
    sequence,
    p1,
    p2,
    p3,
    /// The time of the last wait, for a session on a processor.
    wait_us,
    /// The time of the wait it was in, plus one; 0 while the time is unknown.
    waited_us,
    /// The sid of its blocker, 0 for none, and the blocker's serial number.
    blocker,
    blocker_serial,
    /// CURRENT_OBJ#; 0 while it is unknown.
    object,
    /// CURRENT_FILE# and CURRENT_BLOCK# as an rdba.
    block,
    row,
    /// XID as [`types::Xid::to_bits`], plus one; 0 for none.
    transaction,
    /// Differences from the session's previous sample: wall-clock time, DB time and processor time in microseconds,
    /// reads and writes and their bytes.
    delta_us,
    delta_db_us,
    delta_cpu_us,
    delta_reads,
    delta_writes,
    delta_read_bytes,
    delta_write_bytes,
}

impl Sample {
    /// A sample of a moment, without a session.
    pub fn at(sample_id: u64, wall_ns: u64, interval_us: u64, flags: u64) -> Sample {
        Sample { sample_id, wall_ns, interval_us, flags, ..Sample::default() }
    }

    /// Whether all bits are set.
    pub fn is(&self, bits: u64) -> bool {
        self.flags & bits == bits
    }

    /// Sets a text; a text of more than 64 bytes is cut at a character.
    pub fn set_text(&mut self, which: Text, text: &str) {
        let mut len = text.len().min(TEXT_WORDS * 8);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; TEXT_WORDS * 8];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        for (word, eight) in self.texts[which as usize].iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        }
    }

    /// A text.
    pub fn text(&self, which: Text) -> String {
        let bytes: Vec<u8> = self.texts[which as usize].iter().flat_map(|word| word.to_le_bytes()).collect();
        let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }

    /// The `sql_id` with this number; `None` for 0.
    pub fn sql_id(number: u64) -> Option<String> {
        (number != 0).then(|| library_cache::sql_id_of(number))
    }
}

sga_struct! {
    /// One for the instance. Written by MMNL, except for the figures of saves.
    struct Fixed {
        /// Rows shown since the start of the instance.
        shown: AtomicU64,
        /// The last SAMPLE_ID, and the number of sampled moments.
        sample_id: AtomicU64,
        moments: AtomicU64,
        last_wall_ns: AtomicU64,
        elapsed_us: AtomicU64,
        /// Rows before this number are saved on disk. Written by the process that saved them, under the lock of the
        /// snapshots.
        saved: AtomicU64,
        saves: AtomicU64,
        /// Saves made because the ring was getting full.
        urgent_saves: AtomicU64,
        saved_rows: AtomicU64,
        save_us: AtomicU64,
        /// Rows to be saved that were overwritten before that.
        lost: AtomicU64,
        pad: AtomicU64,
    }

    /// One sample.
    struct Row {
        /// Twice the row's number in the history, counted from 0, plus two; one less while the row is written.
        version: AtomicU64,
        words: [AtomicU64; WORDS],
        texts: [[AtomicU64; TEXT_WORDS]; TEXTS],
    }
}

/// The areas of the ring.
#[derive(Clone, Copy, Debug)]
pub struct AshLayout {
    fixed: SgaSlice<Fixed>,
    rows: SgaSlice<Row>,
}

impl AshLayout {
    /// Reserves a ring of about `bytes` bytes.
    pub fn reserve(builder: &mut SgaBuilder, bytes: u64) -> AshLayout {
        let rows = (bytes / size_of::<Row>() as u64).clamp(64, 1 << 24) as usize;
        AshLayout { fixed: builder.reserve("ASH: fixed", 1), rows: builder.reserve("ASH buffers", rows) }
    }
}

/// The figures of the ring and of its writer.
#[derive(Clone, Copy, Debug, Default)]
pub struct AshFigures {
    pub bytes: u64,
    pub fixed_bytes: u64,
    /// Moments sampled, and their rows, since the start of the instance.
    pub moments: u64,
    pub rows: u64,
    pub row_bytes: u64,
    /// The last moment; 0 for none.
    pub sample_id: u64,
    pub wall_ns: u64,
    /// Time that sampling took.
    pub elapsed_us: u64,
    pub saves: u64,
    pub urgent_saves: u64,
    pub saved_rows: u64,
    pub save_us: u64,
    pub lost: u64,
}

/// The ring.
#[derive(Clone, Copy)]
pub struct Ash {
    fixed: &'static Fixed,
    rows: &'static [Row],
}

/// 2020-01-01 in seconds since 1970.
const FIRST_SAMPLE_S: u64 = 1_577_836_800;

impl Ash {
    /// Formats the areas.
    pub fn create(sga: &'static Sga, layout: &AshLayout) -> Ash {
        let ash = Ash { fixed: &sga.slice(layout.fixed)[0], rows: sga.slice(layout.rows) };
        // Numbers grow from one start of the database to the next, because at most a hundred samples are taken in a
        // second.
        let since = (os::clock::wall_ns() / 10_000_000).saturating_sub(FIRST_SAMPLE_S * 100);
        ash.fixed.sample_id.store(since, Relaxed);
        ash
    }

    fn row(&self, number: u64) -> &'static Row {
        &self.rows[(number % self.rows.len() as u64) as usize]
    }

    /// The number of rows in the ring.
    pub fn capacity(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The numbers of the rows that may be read.
    pub fn shown(&self) -> std::ops::Range<u64> {
        // Pairs with the Release in `show`: a reader that sees the number sees the rows.
        let shown = self.fixed.shown.load(Acquire);
        shown.saturating_sub(self.capacity())..shown
    }

    /// A row by its number; `None` when it has been overwritten.
    pub fn sample(&self, number: u64) -> Option<Sample> {
        let row = self.row(number);
        let whole = number * 2 + 2;
        if row.version.load(Acquire) != whole {
            return None;
        }
        let words = std::array::from_fn(|n| row.words[n].load(Relaxed));
        let texts = std::array::from_fn(|n| std::array::from_fn(|word| row.texts[n][word].load(Relaxed)));
        fence(Acquire); // pairs with the Release fence in `put`
        (row.version.load(Relaxed) == whole).then(|| Sample::of(words, texts))
    }

    /// All samples in the ring, newest first.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        self.shown().rev().map_while(|number| self.sample(number))
    }

    /// The oldest sample in the ring.
    pub fn oldest(&self) -> Option<Sample> {
        self.shown().find_map(|number| self.sample(number))
    }

    /// The figures of `v$ash_info`.
    pub fn figures(&self) -> AshFigures {
        let f = self.fixed;
        let get = |word: &AtomicU64| word.load(Relaxed);
        AshFigures {
            bytes: std::mem::size_of_val(self.rows) as u64,
            fixed_bytes: size_of::<Fixed>() as u64,
            moments: get(&f.moments),
            rows: get(&f.shown),
            row_bytes: size_of::<Row>() as u64,
            sample_id: if get(&f.moments) == 0 { 0 } else { get(&f.sample_id) },
            wall_ns: get(&f.last_wall_ns),
            elapsed_us: get(&f.elapsed_us),
            saves: get(&f.saves),
            urgent_saves: get(&f.urgent_saves),
            saved_rows: get(&f.saved_rows),
            save_us: get(&f.save_us),
            lost: get(&f.lost),
        }
    }

    /// Whether more than two thirds of the ring are not on disk, so that they should be saved soon.
    pub fn is_filling(&self) -> bool {
        let unsaved = self.fixed.shown.load(Relaxed).saturating_sub(self.fixed.saved.load(Relaxed));
        unsaved * 3 > self.capacity() * 2
    }

    /// Notes that the rows before `upto` are on disk, `rows` of them by this save. The caller holds the lock of the
    /// snapshots.
    pub fn note_saved(&self, upto: u64, rows: u64, us: u64, is_urgent: bool) {
        let f = self.fixed;
        f.saved.fetch_max(upto, Relaxed);
        f.saves.fetch_add(1, Relaxed);
        f.urgent_saves.fetch_add(u64::from(is_urgent), Relaxed);
        f.saved_rows.fetch_add(rows, Relaxed);
        f.save_us.fetch_add(us, Relaxed);
    }

    /// The number of the next moment. Only MMNL may call this function and those below.
    pub fn next_id(&self) -> u64 {
        self.fixed.sample_id.load(Relaxed) + 1
    }

    /// Writes row `n`, from 0, of the moment that is being sampled, without showing it.
    pub fn put(&self, n: u64, sample: &Sample) {
        let number = self.fixed.shown.load(Relaxed) + n;
        let row = self.row(number);
        if number >= self.capacity() && number - self.capacity() >= self.fixed.saved.load(Relaxed) {
            let kept = row.words[place_of("flags")].load(Relaxed) & bit::KEPT != 0;
            add(&self.fixed.lost, u64::from(kept));
        }
        row.version.store(number * 2 + 1, Relaxed);
        fence(Release); // pairs with the Acquire fence in `sample`: a reader of a new word sees the odd version
        for (word, value) in row.words.iter().zip(sample.words()) {
            word.store(value, Relaxed);
        }
        for (words, values) in row.texts.iter().zip(sample.texts) {
            words.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
        }
        row.version.store(number * 2 + 2, Release); // pairs with the Acquire load in `sample`
    }

    /// Shows the `rows` rows of a moment; returns the number of the first.
    pub fn show(&self, sample_id: u64, wall_ns: u64, rows: u64, us: u64) -> u64 {
        let f = self.fixed;
        f.sample_id.store(sample_id, Relaxed);
        f.last_wall_ns.store(wall_ns, Relaxed);
        add(&f.moments, 1);
        add(&f.elapsed_us, us);
        let first = f.shown.load(Relaxed);
        f.shown.store(first + rows, Release); // pairs with the Acquire in `shown`
        first
    }

    /// Notes the time of a row's wait, unless the row has been overwritten.
    pub fn note_waited(&self, number: u64, us: u64) {
        self.amend(number, place_of("waited_us"), us + 1);
    }

    /// Notes the object of a row's wait.
    pub fn note_object(&self, number: u64, object: u64) {
        self.amend(number, place_of("object"), object);
    }

    fn amend(&self, number: u64, at: usize, value: u64) {
        let row = self.row(number);
        if row.version.load(Relaxed) == number * 2 + 2 {
            row.words[at].store(value, Relaxed);
        }
    }
}

/// Adds to a word that only this process writes.
fn add(word: &AtomicU64, n: u64) {
    word.store(word.load(Relaxed) + n, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sga::LargePages;
    use std::sync::atomic::AtomicBool;

    fn ring(rows: u64) -> Ash {
        let mut builder = SgaBuilder::new();
        let layout = AshLayout::reserve(&mut builder, rows * size_of::<Row>() as u64);
        Ash::create(builder.create(LargePages::False).unwrap(), &layout)
    }

    fn moment(ash: &Ash, rows: u64) {
        let id = ash.next_id();
        for n in 0..rows {
            let mut s = Sample { sample_id: id, sid: n, p1: id * n, p2: id + n, p3: id ^ n, ..Sample::default() };
            s.set_text(Text::Machine, &format!("machine {}", id + n));
            ash.put(n, &s);
        }
        ash.show(id, id, rows, 0);
    }

    fn is_whole(s: &Sample) -> bool {
        let id = s.sample_id;
        (s.p1, s.p2, s.p3) == (id * s.sid, id + s.sid, id ^ s.sid)
            && s.text(Text::Machine) == format!("machine {}", id + s.sid)
    }

    #[test]
    fn the_newest_samples_are_there_and_the_oldest_are_overwritten() {
        let ash = ring(64);
        assert_eq!((ash.samples().count(), ash.oldest()), (0, None));
        for _ in 0..50 {
            moment(&ash, 3);
        }
        let all: Vec<Sample> = ash.samples().collect();
        assert_eq!(all.len(), 64);
        assert!(all.iter().all(is_whole));
        assert!(all.windows(2).all(|w| w[0].sample_id >= w[1].sample_id), "the newest first");
        assert_eq!(ash.oldest(), all.last().copied());
        assert_eq!((ash.figures().moments, ash.figures().rows), (50, 150));
    }

    #[test]
    fn what_a_sampler_left_half_done_is_not_seen_and_its_successor_goes_on() {
        let ash = ring(64);
        moment(&ash, 60);
        let before: Vec<Sample> = ash.samples().collect();
        // The sampler dies after two rows of the next moment, in the middle of a third.
        ash.put(0, &Sample::default());
        ash.put(1, &Sample::default());
        ash.row(62).version.store(62 * 2 + 1, Relaxed);
        assert_eq!(ash.samples().collect::<Vec<_>>(), before);
        // Only the overwritten rows are missing.
        ash.put(10, &Sample::default());
        assert_eq!(ash.samples().count(), 60 - 7);
        moment(&ash, 3);
        assert_eq!(ash.samples().take(3).filter(is_whole).count(), 3);
    }

    #[test]
    fn a_row_is_amended_while_it_is_there() {
        let ash = ring(64);
        moment(&ash, 2);
        ash.note_waited(1, 0);
        ash.note_object(0, 77);
        let all: Vec<Sample> = ash.samples().collect();
        assert_eq!((all[0].waited_us, all[0].object, all[1].waited_us, all[1].object), (1, 0, 0, 77));
        (0..40).for_each(|_| moment(&ash, 2));
        ash.note_waited(1, 5);
        assert!(ash.samples().all(|s| s.waited_us == 0));
    }

    #[test]
    fn what_is_overwritten_before_it_is_saved_is_counted() {
        let ash = ring(64);
        let kept = Sample { flags: bit::KEPT, ..Sample::default() };
        for _ in 0..60 {
            ash.put(0, &kept);
            ash.show(ash.next_id(), 0, 1, 0);
        }
        assert!(ash.is_filling() && ash.figures().lost == 0);
        ash.note_saved(50, 50, 0, true);
        assert!(!ash.is_filling());
        for _ in 0..60 {
            ash.put(0, &kept);
            ash.show(ash.next_id(), 0, 1, 0);
        }
        assert_eq!(ash.figures().lost, 6, "those from 50 to 55");
    }

    #[test]
    fn readers_see_whole_rows_while_the_ring_turns() {
        let ash = ring(64);
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut seen = 0u64;
                        while !end.load(Relaxed) || seen == 0 {
                            for s in ash.samples() {
                                assert!(is_whole(&s), "{s:?}");
                                seen += 1;
                            }
                        }
                        seen
                    })
                })
                .collect();
            (0..20_000).for_each(|_| moment(&ash, 5));
            end.store(true, Relaxed);
            assert!(readers.into_iter().all(|r| r.join().unwrap() > 0));
        });
    }
}
