//! The identity of the dictionary's definitions that are in the code.

use std::fmt;

use crate::base::BASE_INDEXES;
use crate::{Base, built_in_packages, catalog_views};

impl Base {
    /// A hash of the definitions of all base tables: a database whose dictionary was created with another hash is
    /// refused. FNV-1a, 64 bits, over names, object numbers, columns and their types.
    pub fn shape() -> u64 {
        Base::shape_of(&|_| true)
    }

    /// The hash of a build that differs in that it has no WORD$. A start adds the table
    /// ([`crate::DictionaryShared::add_words`]).
    pub fn shape_without_words() -> u64 {
        Base::shape_of(&|base| base != Base::Word)
    }

    fn shape_of(has: &dyn Fn(Base) -> bool) -> u64 {
        let mut all = Hashed(0xCBF2_9CE4_8422_2325);
        for table in Base::ALL.iter().filter(|base| has(**base)).map(|base| base.table()) {
            all.add(format_args!("{} {} {:?}\n", table.name, table.object.0, table.columns));
        }
        for index in BASE_INDEXES.iter().filter(|index| has(index.table)) {
            all.add(format_args!("{} {} {:?} {:?}\n", index.name, index.object.0, index.table, index.columns));
        }
        // Privileges refer to the predefined objects and roles by number, and the number of a catalog view is its
        // position in the list. So the hash covers these too.
        for (name, _) in catalog_views() {
            all.add(format_args!("{name}\n"));
        }
        for (object, name, to) in built_in_packages() {
            all.add(format_args!("{name} {} {to:?}\n", object.0));
        }
        all.0
    }
}

/// The hash (FNV-1a) of text that is not kept.
struct Hashed(u64);

impl Hashed {
    fn add(&mut self, text: fmt::Arguments<'_>) {
        fmt::Write::write_fmt(self, text).expect("a hash takes any text");
    }
}

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = text.bytes().fold(self.0, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3));
        Ok(())
    }
}
