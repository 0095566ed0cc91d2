//! The predefined exceptions of PL/SQL.

/// Names and error numbers, by name.
const PREDEFINED: &[(&str, u32)] = &[
    ("ACCESS_INTO_NULL", 6530),
    ("CASE_NOT_FOUND", 6592),
    ("COLLECTION_IS_NULL", 6531),
    ("CURSOR_ALREADY_OPEN", 6511),
    ("DUP_VAL_ON_INDEX", 1),
    ("INVALID_CURSOR", 1001),
    ("INVALID_NUMBER", 1722),
    ("LOGIN_DENIED", 1017),
    ("NOT_LOGGED_ON", 1012),
    ("NO_DATA_FOUND", 1403),
    ("NO_DATA_NEEDED", 6548),
    ("PROGRAM_ERROR", 6501),
    ("ROWTYPE_MISMATCH", 6504),
    ("SELF_IS_NULL", 30625),
    ("STORAGE_ERROR", 6500),
    ("SUBSCRIPT_BEYOND_COUNT", 6533),
    ("SUBSCRIPT_OUTSIDE_LIMIT", 6532),
    ("SYS_INVALID_ROWID", 1410),
    ("TIMEOUT_ON_RESOURCE", 51),
    ("TOO_MANY_ROWS", 1422),
    ("USERENV_COMMITSCN_ERROR", 1725),
    ("VALUE_ERROR", 6502),
    ("ZERO_DIVIDE", 1476),
];

/// The Oracle error of a predefined exception.
pub fn predefined(name: &str) -> Option<u32> {
    PREDEFINED.binary_search_by(|(n, _)| (*n).cmp(name)).ok().map(|i| PREDEFINED[i].1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_is_sorted() {
        assert!(super::PREDEFINED.windows(2).all(|w| w[0].0 < w[1].0));
        assert_eq!(super::predefined("NO_DATA_FOUND"), Some(1403));
    }
}
