//! The rewrites, and those that are switched off.

/// A rewrite that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// Evaluates constant parts of conditions.
    Fold,
    /// Extracts the common factors of OR branches.
    Factor,
    /// Turns subqueries into semijoins, antijoins and joins with groups.
    Unnest,
    /// Turns an outer join whose optional side cannot be NULL into an inner join.
    OuterToInner,
    /// Checks conditions on a view inside it.
    Push,
    /// Copies conditions with constants to equal columns.
    Transitive,
    /// Derives conditions on single row sources from an OR over several.
    Derive,
    /// Removes joined tables that do not contribute to the result.
    Eliminate,
}

impl Rewrite {
    pub const ALL: [(Rewrite, &'static str); 8] = [
        (Rewrite::Fold, "FOLD"),
        (Rewrite::Factor, "FACTOR"),
        (Rewrite::Unnest, "UNNEST"),
        (Rewrite::OuterToInner, "OUTER_TO_INNER"),
        (Rewrite::Push, "PUSH"),
        (Rewrite::Transitive, "TRANSITIVE"),
        (Rewrite::Derive, "DERIVE"),
        (Rewrite::Eliminate, "ELIMINATE"),
    ];
}

/// The rewrites that are switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewritesOff(u32);

impl RewritesOff {
    /// The rewrites in a list of names separated by commas or blanks; `ALL` means all of them. `None` for an unknown
    /// name.
    pub fn of(names: &str) -> Option<RewritesOff> {
        let mut off = RewritesOff::default();
        for name in names.split([',', ' ']).filter(|name| !name.is_empty()) {
            let name = name.to_uppercase();
            if name == "ALL" {
                off.0 = u32::MAX;
                continue;
            }
            let (rewrite, _) = Rewrite::ALL.iter().find(|(_, known)| *known == name)?;
            off.0 |= 1 << *rewrite as u32;
        }
        Some(off)
    }

    pub fn has(self, rewrite: Rewrite) -> bool {
        self.0 & 1 << rewrite as u32 != 0
    }

    /// A number that identifies the set.
    pub fn word(self) -> u32 {
        self.0
    }
}
