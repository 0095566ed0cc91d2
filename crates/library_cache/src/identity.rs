//! The identity of statements, objects and children.

use types::sql_id_of;

/// The kinds of objects: the rows of `v$librarycache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Namespace {
    SqlArea = 0,
    TableProcedure = 1,
    Body = 2,
    Trigger = 3,
    Index = 4,
    Cluster = 5,
}

impl Namespace {
    /// The number of namespaces.
    pub const COUNT: usize = 6;
    /// All namespaces by number.
    pub const ALL: [Namespace; Namespace::COUNT] = [
        Namespace::SqlArea,
        Namespace::TableProcedure,
        Namespace::Body,
        Namespace::Trigger,
        Namespace::Index,
        Namespace::Cluster,
    ];

    /// The column NAMESPACE.
    pub fn name(self) -> &'static str {
        match self {
            Namespace::SqlArea => "SQL AREA",
            Namespace::TableProcedure => "TABLE/PROCEDURE",
            Namespace::Body => "BODY",
            Namespace::Trigger => "TRIGGER",
            Namespace::Index => "INDEX",
            Namespace::Cluster => "CLUSTER",
        }
    }

    /// The namespace of objects with that TYPE# in OBJ$; `None` for types that are not cached.
    pub fn of_type(code: u16) -> Option<Namespace> {
        match code {
            1 => Some(Namespace::Index),
            2 | 4..=9 | 13 => Some(Namespace::TableProcedure),
            3 => Some(Namespace::Cluster),
            11 | 14 => Some(Namespace::Body),
            12 => Some(Namespace::Trigger),
            _ => None,
        }
    }

    pub(crate) fn of(number: u8) -> Namespace {
        Namespace::ALL[number as usize % Namespace::COUNT]
    }
}

/// The identity of a statement: MD5 over its text and a final NUL, as Oracle takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The `sql_id`: the last eight bytes, two little-endian words, in base 32; 13 digits.
    pub fn sql_id(self) -> String {
        sql_id_of(self.value())
    }

    /// The hash value: the low half of the `sql_id`'s number.
    pub fn hash_value(self) -> u32 {
        self.value() as u32
    }

    /// The number that `sql_id` prints.
    pub fn value(self) -> u64 {
        let word = |at: usize| u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]);
        u64::from(word(8)) << 32 | u64::from(word(12))
    }

    /// FULL_HASH_VALUE: 32 digits, each word most significant byte first.
    pub fn full_hash(self) -> String {
        self.0.chunks(4).flat_map(|word| word.iter().rev()).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest with these 32 digits.
    pub fn of_full_hash(text: &str) -> Option<Digest> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 16];
        for (n, byte) in bytes.iter_mut().enumerate() {
            let at = (n / 4 * 4 + 3 - n % 4) * 2;
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Digest(bytes))
    }

    pub(crate) fn halves(self) -> (u64, u64) {
        let half = |at: usize| u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"));
        (half(0), half(8))
    }

    pub(crate) fn of_halves(low: u64, high: u64) -> Digest {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&high.to_le_bytes());
        Digest(bytes)
    }
}

/// A statement to be parsed.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    pub digest: Digest,
    /// The text in `v$sql`: the statement's bytes, or the normalised text of a PL/SQL block. The digest is taken over
    /// it.
    pub text: &'a str,
    pub command: u32,
}

/// The properties by which the cursors of one statement differ.
#[derive(Clone, Copy, Debug)]
pub struct Env<'a> {
    /// The user whose privileges apply.
    pub user: u32,
    /// The schema of unqualified names.
    pub schema: &'a str,
    /// The optimizer's settings.
    pub optimizer: u64,
    /// The NLS settings.
    pub nls: u64,
    /// The rights beyond the user's own: roles, SYSDBA.
    pub auth: u64,
    /// The types of the binds; 0 while they are unknown, which fits every child.
    pub binds: u64,
}

/// A session's reference to a child. It may outlive the child; the life shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    pub(crate) child: u32,
    pub(crate) life: u64,
}

impl Handle {
    /// The reference to no child, for a cursor without room in the cache (L8). Nothing is counted or pinned with it.
    pub const NONE: Handle = Handle { child: u32::MAX, life: 0 };

    /// The handle as numbers, for another process of the instance.
    #[must_use]
    pub fn to_numbers(self) -> (u32, u64) {
        (self.child, self.life)
    }

    /// The handle of these numbers. A handle that refers to no child counts nothing.
    #[must_use]
    pub fn of_numbers((child, life): (u32, u64)) -> Handle {
        Handle { child, life }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sql_id_has_thirteen_digits_without_the_confusable_letters() {
        let id = Digest([0xff; 16]).sql_id();
        assert_eq!(id.len(), 13);
        assert_eq!(id, "gzzzzzzzzzzzz");
        assert_eq!(Digest([0; 16]).sql_id(), "0000000000000");
    }

    #[test]
    fn a_full_hash_ends_with_the_hash_value_and_reads_back() {
        let digest = Digest(std::array::from_fn(|n| n as u8 * 7 + 1));
        let full = digest.full_hash();
        assert!(full.ends_with(&format!("{:08x}", digest.hash_value())));
        assert_eq!(Digest::of_full_hash(&full), Some(digest));
        assert_eq!(Digest::of_full_hash("xyz"), None);
    }
}
