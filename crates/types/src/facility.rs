//! Facilities: the sources of errors.

/// The source of an error: the prefix of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Facility {
    /// The database server.
    Ora = 0,
    /// The PL/SQL compiler.
    Pls = 1,
    /// The SQL*Plus shell.
    Sp2 = 2,
    /// The network layer.
    Tns = 3,
    /// Latchwork itself, for conditions without an error of Oracle.
    Lwk = 4,
}

impl Facility {
    /// Returns the three letters before the number.
    pub const fn prefix(self) -> &'static str {
        match self {
            Facility::Ora => "ORA",
            Facility::Pls => "PLS",
            Facility::Sp2 => "SP2",
            Facility::Tns => "TNS",
            Facility::Lwk => "LWK",
        }
    }

    /// Returns the number of digits that the number is printed with.
    pub(crate) const fn width(self) -> usize {
        match self {
            Facility::Sp2 => 4,
            _ => 5,
        }
    }
}
