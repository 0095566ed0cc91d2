//! Records found by key in temporary space: a file sorted by key, and an index in memory with one key a chunk.
//!
//! A division by a hash of the key was rejected: it serves keys that come in groups. Look-ups come one at a time in any
//! order, and each would read a whole part.

use super::pool::Pool;
use super::rows::{put_part, take_part};
use super::sorter::Sorter;
use super::{Reader, Start, TempFile};
use crate::ctx::ExecCtx;
use std::cmp::Ordering;
use types::Result;

/// Records in the order of their keys; equal keys in the order in which they came.
pub struct Lookup {
    file: TempFile,
    /// The first key that starts in a chunk, and where.
    index: Vec<(Box<[u8]>, Start)>,
}

/// A place in a [`Lookup`].
#[derive(Default)]
pub struct Found {
    reader: Reader,
    record: Vec<u8>,
}

impl Lookup {
    /// Writes the records of a sorter that has all of them; of records with equal keys only the first if `once`.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn build(mut sorter: Sorter, once: bool, pool: &Pool, cx: &ExecCtx<'_>) -> Result<Lookup> {
        let (mut file, mut index) = (TempFile::new(pool, cx), Vec::<(Box<[u8]>, Start)>::new());
        let (mut record, mut last) = (Vec::new(), None::<Vec<u8>>);
        while let Some((key, row)) = sorter.next_keyed(cx)? {
            if once && last.as_deref() == Some(key) {
                continue;
            }
            let start = file.start();
            if index.last().is_none_or(|(_, last)| last.chunk != start.chunk) {
                index.push((key.into(), start));
            }
            record.clear();
            put_part(key, &mut record);
            record.extend_from_slice(row);
            file.push(&record, cx)?;
            if once {
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
            }
        }
        file.finish(cx)?;
        Ok(Lookup { file, index })
    }

    /// Moves to the first record with this key.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn seek(&self, key: &[u8], at: &mut Found, cx: &ExecCtx<'_>) -> Result<()> {
        // Records with the key may stand before the first one that starts a chunk with it.
        let n = self.index.partition_point(|(first, _)| &**first < key);
        let Some((_, start)) = self.index.get(n.saturating_sub(1)) else { return Ok(()) };
        self.file.seek(&mut at.reader, *start, cx)
    }

    /// The next record with this key. `None` behind the last.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next<'f>(&self, key: &[u8], at: &'f mut Found, cx: &ExecCtx<'_>) -> Result<Option<&'f [u8]>> {
        loop {
            if !self.file.next(&mut at.reader, &mut at.record, cx)? {
                return Ok(None);
            }
            let mut rest = &at.record[..];
            match take_part(&mut rest)?.cmp(key) {
                Ordering::Less => {}
                Ordering::Equal => break,
                Ordering::Greater => return Ok(None),
            }
        }
        Ok(Some(&at.record[4 + key.len()..]))
    }

    /// The next record, whatever its key. `None` behind the last.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next_of_all<'f>(&self, at: &'f mut Found, cx: &ExecCtx<'_>) -> Result<Option<&'f [u8]>> {
        if !self.file.next(&mut at.reader, &mut at.record, cx)? {
            return Ok(None);
        }
        let mut rest = &at.record[..];
        take_part(&mut rest)?;
        Ok(Some(rest))
    }
}
