//! The places at which two versions of a row differ.

use crate::ops::{RunEnd, SPLICE_RUN_HEAD};
use types::row::{Column, RowReader};

/// Equal bytes between two differences that are worth a head of their own in a run of splices: its redo and its undo
/// each have one of three to nine bytes.
const GAP_BYTES: usize = 12;

/// The differences of two bodies from left to right: offset in the old body, old bytes, new bytes. They do not overlap,
/// and there is at least one: that of equal bodies is empty.
///
/// Bodies of one length are compared byte by byte, and no difference changes the length. Bodies of two lengths are
/// compared column by column. Bodies that are no rows (`types::row`) have differences, too; they may be larger than
/// necessary.
#[derive(Debug, Clone)]
pub(crate) enum Differences<'a> {
    /// Of bytes of one length, or one difference of bytes of two lengths.
    Bytes(Bytes<'a>),
    /// Of rows of two lengths.
    Columns(Columns<'a>),
}

/// Offset in the old body, old bytes, new bytes.
type Difference<'a> = (usize, &'a [u8], &'a [u8]);

impl<'a> Differences<'a> {
    pub(crate) fn new(old: &'a [u8], new: &'a [u8]) -> Differences<'a> {
        match (old.len() != new.len()).then(|| Columns::new(old, new)).flatten() {
            Some(columns) => Differences::Columns(columns),
            None => Differences::Bytes(Bytes::trimmed(0, old, new)),
        }
    }

    /// The differences where `old`, from `offset` of a body on, becomes `new`. Neither their first nor their last bytes
    /// are equal.
    #[inline]
    pub(crate) fn at(offset: usize, old: &'a [u8], new: &'a [u8]) -> Differences<'a> {
        Differences::Bytes(Bytes::new(offset, old, new))
    }

    /// The bytes of all differences together.
    #[inline]
    pub(crate) fn sizes(&self) -> Sizes {
        match self {
            Differences::Bytes(bytes) => Sizes::of(bytes.clone()),
            Differences::Columns(columns) => Sizes::of(columns.clone()),
        }
    }

    /// Appends the differences of a row, which lies in entry `slot`, to a run of splices and to the run that undoes it.
    /// `locks`: the lock byte after and before. True when a difference changes the length and is not the row's only
    /// one: the run then needs the operation [`crate::ops::SPLICES`].
    #[inline]
    pub(crate) fn write(
        self,
        slot: u16,
        locks: (u8, u8),
        (redo_end, redo): Splices<'_>,
        (undo_end, undo): Splices<'_>,
    ) -> bool {
        let columns = match self {
            Differences::Bytes(bytes) => {
                for (from, gone, come) in bytes {
                    redo_end.splice(redo, (slot, locks.0), from, gone.len(), come);
                    undo_end.splice(undo, (slot, locks.1), from, come.len(), gone);
                }
                return false;
            }
            Differences::Columns(columns) => columns,
        };
        let (mut count, mut shift) = (0, 0);
        for (from, gone, come) in columns {
            redo_end.splice(redo, (slot, locks.0), from, gone.len(), come);
            undo_end.splice(undo, (slot, locks.1), from.wrapping_add_signed(shift), come.len(), gone);
            shift += come.len() as isize - gone.len() as isize;
            count += 1;
        }
        count > 1
    }
}

/// A run of splices and its last row.
type Splices<'r> = (&'r mut RunEnd, &'r mut Vec<u8>);

/// Bytes of all differences of a row.
#[derive(Default)]
pub(crate) struct Sizes {
    pub gone: usize,
    pub come: usize,
    /// In the run that undoes them, at most.
    pub undo: usize,
}

impl Sizes {
    #[inline]
    fn of<'a>(all: impl Iterator<Item = Difference<'a>>) -> Sizes {
        all.fold(Sizes::default(), |sum, (_, gone, come)| Sizes {
            gone: sum.gone + gone.len(),
            come: sum.come + come.len(),
            undo: sum.undo + SPLICE_RUN_HEAD + gone.len(),
        })
    }
}

/// As [`Differences`], byte by byte. Bytes of two lengths have one difference.
#[derive(Debug, Clone)]
pub(crate) struct Bytes<'a> {
    /// Offset of the compared bytes in the body.
    offset: usize,
    old: &'a [u8],
    new: &'a [u8],
    at: usize,
    is_first: bool,
}

impl<'a> Bytes<'a> {
    #[inline]
    fn new(offset: usize, old: &'a [u8], new: &'a [u8]) -> Bytes<'a> {
        debug_assert!(old.is_empty() || old != new, "equal bytes have no difference, and the row would not be locked");
        Bytes { offset, old, new, at: 0, is_first: true }
    }

    /// As [`Bytes::new`], without the bytes in common at the beginning and at the end.
    fn trimmed(offset: usize, old: &'a [u8], new: &'a [u8]) -> Bytes<'a> {
        let (begin, end) = in_common(old, new);
        Bytes::new(offset + begin, &old[begin..old.len() - end], &new[begin..new.len() - end])
    }

    /// Offset behind the difference that begins at `from`, in bodies of one length.
    fn end_of(&self, from: usize) -> usize {
        let (old, new) = (self.old, self.new);
        let mut end = from + 1;
        loop {
            while end + 8 <= old.len() && old[end..end + 8] != new[end..end + 8] {
                end += 8;
            }
            let same = prefix(&old[end..], &new[end..]);
            if same >= GAP_BYTES || end + same == old.len() {
                break;
            }
            end += same + 1;
        }
        let equal = old[from..end].iter().rev().zip(new[from..end].iter().rev()).take_while(|(a, b)| a == b);
        end - equal.count()
    }
}

impl<'a> Iterator for Bytes<'a> {
    type Item = Difference<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (is_first, (old, new)) = (std::mem::take(&mut self.is_first), (self.old, self.new));
        if old.len() != new.len() || old.len() <= GAP_BYTES {
            return is_first.then_some((self.offset, old, new));
        }
        let from = self.at + prefix(&old[self.at..], &new[self.at..]);
        if from == old.len() {
            return None;
        }
        self.at = self.end_of(from);
        Some((self.offset + from, &old[from..self.at], &new[from..self.at]))
    }
}

/// As [`Differences`], of rows of two lengths: each column is compared with the column of the same number, first the
/// bytes of its length, then its value.
#[derive(Debug, Clone)]
pub(crate) struct Columns<'a> {
    old: &'a [u8],
    new: &'a [u8],
    readers: (RowReader<'a>, RowReader<'a>),
    /// Columns not read yet that both rows have.
    left: usize,
    /// Ends of the parts compared so far, in both bodies, and of the value that is compared next.
    at: (usize, usize),
    value: Option<(usize, usize)>,
    is_over: bool,
    /// The differences of the part that is being compared.
    part: Bytes<'a>,
    /// A difference that the next one may join, and how much further its bytes lie in the new body.
    kept: Option<Difference<'a>>,
    shift: isize,
}

impl<'a> Columns<'a> {
    /// `None` where a body has no head.
    fn new(old: &'a [u8], new: &'a [u8]) -> Option<Columns<'a>> {
        let readers = (RowReader::new(old)?, RowReader::new(new)?);
        let left = readers.0.count().min(readers.1.count());
        let heads = (old.len() - readers.0.rest().len(), new.len() - readers.1.rest().len());
        let part = Bytes { offset: 0, old: &[], new: &[], at: 0, is_first: false };
        let value = Some(heads);
        Some(Columns { old, new, readers, left, at: (0, 0), value, is_over: false, part, kept: None, shift: 0 })
    }

    /// Ends of the next part: the bytes of a length or a value. The last part is what follows the columns of both rows.
    fn end_of_part(&mut self) -> (usize, usize) {
        if let Some(value) = self.value.take() {
            return value;
        }
        let columns = match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.readers.0.next_column().zip(self.readers.1.next_column())
            }
            None => None,
        };
        let Some((old, new)) = columns else {
            self.is_over = true;
            return (self.old.len(), self.new.len());
        };
        let ends = (self.old.len() - self.readers.0.rest().len(), self.new.len() - self.readers.1.rest().len());
        self.value = Some(ends);
        let len = |column: Column<'_>| column.bytes().map_or(0, <[u8]>::len);
        (ends.0 - len(old), ends.1 - len(new))
    }

    /// The next difference of a part.
    fn of_part(&mut self) -> Option<Difference<'a>> {
        loop {
            if let Some(found) = self.part.next() {
                return Some(found);
            }
            if self.is_over {
                return None;
            }
            let (from, end) = (self.at, self.end_of_part());
            self.at = end;
            let (old, new) = (&self.old[from.0..end.0], &self.new[from.1..end.1]);
            if old != new {
                self.part = Bytes::trimmed(from.0, old, new);
            }
        }
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Difference<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.of_part();
            let Some((from, gone, come)) = self.kept else {
                found?;
                self.kept = found;
                continue;
            };
            match found {
                Some((at, more_gone, more_come)) if at - (from + gone.len()) < GAP_BYTES => {
                    let same = at - (from + gone.len());
                    let begin = from.wrapping_add_signed(self.shift);
                    let come = begin..begin + come.len() + same + more_come.len();
                    self.kept = Some((from, &self.old[from..at + more_gone.len()], &self.new[come]));
                }
                _ => {
                    self.shift += come.len() as isize - gone.len() as isize;
                    self.kept = found;
                    return Some((from, gone, come));
                }
            }
        }
    }
}

/// Length of the common prefix.
fn prefix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut begin = 0;
    while begin + 8 <= most && a[begin..begin + 8] == b[begin..begin + 8] {
        begin += 8;
    }
    begin + a[begin..most].iter().zip(&b[begin..most]).take_while(|(a, b)| a == b).count()
}

/// Length of the common prefix of two bodies, and of the common suffix of the remaining bytes.
fn in_common(a: &[u8], b: &[u8]) -> (usize, usize) {
    let begin = prefix(a, b);
    let (a, b) = (&a[begin..], &b[begin..]);
    let most = a.len().min(b.len());
    let mut end = 0;
    while end + 8 <= most && a[a.len() - end - 8..a.len() - end] == b[b.len() - end - 8..b.len() - end] {
        end += 8;
    }
    let rest = a[..a.len() - end].iter().rev().zip(b[..b.len() - end].iter().rev()).take(most - end);
    (begin, end + rest.take_while(|(a, b)| a == b).count())
}

#[cfg(test)]
mod tests {
    use super::{Differences, GAP_BYTES};
    use crate::ops::RunEnd;
    use testing::Random;
    use types::row::RowWriter;

    fn all<'a>(old: &'a [u8], new: &'a [u8]) -> Vec<super::Difference<'a>> {
        match Differences::new(old, new) {
            Differences::Bytes(bytes) => bytes.collect(),
            Differences::Columns(columns) => columns.collect(),
        }
    }

    /// `old` with its differences put in.
    fn changed(old: &[u8], new: &[u8]) -> (usize, Vec<u8>) {
        let (mut body, mut at, mut count) = (old.to_vec(), 0, 0);
        let all = all(old, new);
        for (from, gone, come) in &all {
            assert!(*from >= at, "differences overlap");
            assert!(gone.len() == come.len() || old.len() != new.len());
            assert_eq!(&old[*from..from + gone.len()], *gone);
            at = from + gone.len();
            count += 1;
        }
        for (from, gone, come) in all.into_iter().rev() {
            body.splice(from..from + gone.len(), come.iter().copied());
        }
        (count, body)
    }

    #[test]
    fn two_changed_columns_are_two_differences_and_what_lies_between_is_in_none() {
        let old: Vec<u8> = (0..2000_u32).map(|n| n as u8).collect();
        let mut new = old.clone();
        new[7] ^= 1;
        new[1990] ^= 1;
        let found: Vec<_> = all(&old, &new).into_iter().map(|(from, gone, _)| (from, gone.len())).collect();
        assert_eq!(found, [(7, 1), (1990, 1)]);
        // Differences that lie close together are one.
        new[7 + GAP_BYTES] ^= 1;
        let found: Vec<_> = all(&old, &new).into_iter().map(|(from, gone, _)| (from, gone.len())).collect();
        assert_eq!(found, [(7, GAP_BYTES + 1), (1990, 1)]);
        assert_eq!(
            all(&old, &old).into_iter().map(|(_, gone, come)| (gone.len(), come.len())).collect::<Vec<_>>(),
            [(0, 0)]
        );
    }

    /// A row of text columns; `None` is NULL.
    fn row(columns: &[Option<Vec<u8>>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = RowWriter::new(&mut out, columns.len());
        for column in columns {
            match column {
                Some(text) => writer.bytes(text),
                None => writer.null(),
            }
        }
        out
    }

    #[test]
    fn columns_whose_length_changes_are_differences_without_the_columns_between_them() {
        let between = vec![b'x'; 2000];
        let (old, new) = ([b"first", b"last."], [b"FIRST AND MORE".as_slice(), b"LAST"]);
        let columns = |ends: [&[u8]; 2]| row(&[Some(ends[0].to_vec()), Some(between.clone()), Some(ends[1].to_vec())]);
        let (old, new) = (columns(old.map(|text| text.as_slice())), columns(new));
        let found: Vec<_> =
            all(&old, &new).into_iter().map(|(from, gone, come)| (from, gone.len(), come.len())).collect();
        assert_eq!(found, [(1, 6, 15), (1 + 6 + 2003, 6, 5)]);
        // A text that is made longer at its end: its length and what is new.
        let text = |len| row(&[Some(vec![b'a'; len]), Some(vec![b'b'; 100])]);
        let (old, new) = (text(100), text(103));
        let found: Vec<_> =
            all(&old, &new).into_iter().map(|(from, gone, come)| (from, gone.len(), come.len())).collect();
        assert_eq!(found, [(1, 1, 1), (102, 0, 3)]);
    }

    #[test]
    fn differences_of_rows_make_the_new_row_of_the_old_one_and_undo_makes_the_old_one() {
        let mut random = Random::new(33);
        for n in 0..6000 {
            let mut text = || (0..random.below(40)).map(|_| b'a' + (n % 3) as u8).collect::<Vec<_>>();
            let old: Vec<_> = (0..8).map(|_| Some(text())).collect();
            let (mut new, mut fresh) = (old.clone(), [text(), text(), text()]);
            for text in &mut fresh {
                let at = random.below(9) as usize;
                let text = (random.below(5) > 0).then(|| std::mem::take(text));
                if at < new.len() { new[at] = text } else { new.push(text) }
            }
            if random.below(5) == 0 {
                new.truncate(random.below(8) as usize);
            }
            let (mut old, mut new) = (row(&old), row(&new));
            // Damaged rows have differences, too.
            if random.below(6) == 0 {
                let at = random.below(old.len() as u64) as usize;
                old[at] = random.below(256) as u8;
                new.truncate(1 + random.below(new.len() as u64) as usize);
            }
            if old == new {
                continue;
            }
            let (mut redo, mut undo) = (Vec::new(), Vec::new());
            let (mut redo_end, mut undo_end) = (RunEnd::begin(1, &mut redo), RunEnd::begin(0, &mut undo));
            Differences::new(&old, &new).write(0, (1, 0), (&mut redo_end, &mut redo), (&mut undo_end, &mut undo));
            assert_eq!(changed(&old, &new).1, new);
            assert_eq!(crate::ops::spliced(&redo, &old), new);
            assert_eq!(crate::ops::spliced(&undo, &new), old);
        }
    }

    #[test]
    fn differences_make_the_new_body_of_the_old_one() {
        let mut random = Random::new(31);
        for _ in 0..4000 {
            let len = random.below(90) as usize;
            let old: Vec<u8> = (0..len).map(|_| random.below(3) as u8).collect();
            let mut new = old.clone();
            for _ in 0..random.below(6) {
                if len > 0 {
                    new[random.below(len as u64) as usize] = random.below(3) as u8;
                }
            }
            if random.below(4) == 0 {
                let (at, cut) = (random.below(len as u64 + 1) as usize, random.below(5) as usize);
                let end = (at + cut).min(len);
                new.splice(at..end, (0..random.below(5)).map(|n| n as u8));
            }
            let (count, body) = changed(&old, &new);
            assert!(count > 0);
            assert_eq!(body, new);
        }
    }
}
