//! The identity of the dictionary's definitions that are in the code.

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
        let mut all = String::new();
        for table in Base::ALL.iter().filter(|base| has(**base)).map(|base| base.table()) {
            all.push_str(&format!("{} {} {:?}\n", table.name, table.object.0, table.columns));
        }
        for index in BASE_INDEXES.iter().filter(|index| has(index.table)) {
            all.push_str(&format!("{} {} {:?} {:?}\n", index.name, index.object.0, index.table, index.columns));
        }
        // Privileges refer to the predefined objects and roles by number, and the number of a catalog view is its
        // position in the list. So the hash covers these too.
        for (name, _) in catalog_views() {
            all.push_str(name);
            all.push('\n');
        }
        for (object, name, to) in built_in_packages() {
            all.push_str(&format!("{name} {} {to:?}\n", object.0));
        }
        all.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
    }
}
