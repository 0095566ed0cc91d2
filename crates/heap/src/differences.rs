//! The places at which two versions of a row differ.

/// Equal bytes between two differences that are worth a head of their own in a SPLICE_RUN: its redo and its undo each
/// have one of three to nine bytes.
const GAP_BYTES: usize = 12;

/// The differences of two bodies from left to right: offset, old bytes, new bytes. They do not overlap, and there is
/// at least one: that of equal bodies is empty.
///
/// Bodies of one length are compared byte by byte, and no difference changes the length. Bodies of two lengths have
/// one difference: all bytes between what they have in common at their beginnings and at their ends.
#[derive(Debug, Clone)]
pub(crate) struct Differences<'a> {
    /// Offset of the compared bytes in the body.
    offset: usize,
    old: &'a [u8],
    new: &'a [u8],
    at: usize,
    is_first: bool,
}

impl<'a> Differences<'a> {
    pub(crate) fn new(old: &'a [u8], new: &'a [u8]) -> Differences<'a> {
        let (begin, end) = in_common(old, new);
        Differences::at(begin, &old[begin..old.len() - end], &new[begin..new.len() - end])
    }

    /// The differences where `old`, from `offset` of a body on, becomes `new`. Neither their first nor their last bytes
    /// are equal.
    #[inline]
    pub(crate) fn at(offset: usize, old: &'a [u8], new: &'a [u8]) -> Differences<'a> {
        debug_assert!(old.is_empty() || old != new, "equal bytes have no difference, and the row would not be locked");
        Differences { offset, old, new, at: 0, is_first: true }
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

impl<'a> Iterator for Differences<'a> {
    type Item = (usize, &'a [u8], &'a [u8]);

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
    use testing::Random;

    /// `old` with its differences put in.
    fn changed(old: &[u8], new: &[u8]) -> (usize, Vec<u8>) {
        let (mut body, mut at, mut count) = (old.to_vec(), 0, 0);
        let all: Vec<_> = Differences::new(old, new).collect();
        for (from, gone, come) in &all {
            assert!(*from >= at, "differences overlap");
            assert!(gone.len() == come.len() || all.len() == 1);
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
        let all: Vec<_> = Differences::new(&old, &new).map(|(from, gone, _)| (from, gone.len())).collect();
        assert_eq!(all, [(7, 1), (1990, 1)]);
        // Differences that lie close together are one.
        new[7 + GAP_BYTES] ^= 1;
        let all: Vec<_> = Differences::new(&old, &new).map(|(from, gone, _)| (from, gone.len())).collect();
        assert_eq!(all, [(7, GAP_BYTES + 1), (1990, 1)]);
        assert_eq!(
            Differences::new(&old, &old).map(|(_, gone, come)| (gone.len(), come.len())).collect::<Vec<_>>(),
            [(0, 0)]
        );
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
