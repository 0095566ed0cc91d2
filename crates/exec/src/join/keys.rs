//! The keys of one side of a join.

use super::row_key::{Match, RowKey, hash_bytes, push_part, word_of};
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{JoinKey, KeyNulls};
use types::Result;

/// The keys of one side of a join.
pub struct Keys {
    parts: Vec<(Code, bool, KeyNulls)>,
}

impl Keys {
    /// The keys of the left and of the right side, with those of NOT IN last.
    pub fn build(keys: &[JoinKey], b: &mut Builder<'_>) -> (Keys, Keys) {
        let mut keys: Vec<&JoinKey> = keys.iter().collect();
        keys.sort_by_key(|key| key.nulls == KeyNulls::Unknown);
        let left = keys.iter().map(|k| (b.code(&k.left), k.padded, k.nulls)).collect();
        let right = keys.iter().map(|k| (b.code(&k.right), k.padded, k.nulls)).collect();
        (Keys { parts: left }, Keys { parts: right })
    }

    /// Keys without special treatment of NULL.
    pub fn plain(parts: Vec<(Code, bool)>) -> Keys {
        Keys { parts: parts.into_iter().map(|(code, padded)| (code, padded, KeyNulls::Never)).collect() }
    }

    /// Keys without columns of NOT IN.
    pub fn of_parts(parts: Vec<(Code, bool, KeyNulls)>) -> Keys {
        Keys { parts }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Number of columns of NOT IN.
    pub fn open_ones(&self) -> usize {
        self.parts.iter().filter(|(.., nulls)| *nulls == KeyNulls::Unknown).count()
    }

    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Computes the key of the row in the registers. With columns of NOT IN it is always bytes.
    pub fn eval(&self, out: &mut RowKey, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Match> {
        if let [(code, _, nulls)] = &self.parts[..]
            && *nulls != KeyNulls::Unknown
        {
            let r = code.eval(m, cx)?;
            if let Some(word) = word_of(m.value(r)) {
                out.set_word(word);
                return Ok(Match::Whole);
            }
        }
        out.is_word = false;
        out.bytes.clear();
        out.plain = 0;
        let mut open = false;
        for (code, padded, nulls) in &self.parts {
            let r = code.eval(m, cx)?;
            let v = m.value(r);
            if *nulls != KeyNulls::Unknown && v.is_null() && *nulls == KeyNulls::Never {
                return Ok(Match::Never);
            }
            open |= *nulls == KeyNulls::Unknown && v.is_null();
            push_part(v, *padded, &mut out.bytes);
            if *nulls != KeyNulls::Unknown {
                out.plain = out.bytes.len();
            }
        }
        out.hash = hash_bytes(&out.bytes);
        Ok(if open { Match::Open } else { Match::Whole })
    }
}
