//! Reserved words.

/// Words that cannot begin an operand or be an unquoted name.
const RESERVED: &[&str] = &[
    "ALL",
    "ALTER",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CHECK",
    "CLUSTER",
    "COMPRESS",
    "CONNECT",
    "CREATE",
    "DECLARE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "ELSIF",
    "END",
    "EXCEPTION",
    "EXCLUSIVE",
    "FETCH",
    "FOR",
    "FROM",
    "GOTO",
    "GRANT",
    "GROUP",
    "HAVING",
    "IDENTIFIED",
    "IF",
    "IN",
    "INDEX",
    "INSERT",
    "INTERSECT",
    "INTO",
    "IS",
    "LIKE",
    "LOCK",
    "LOOP",
    "MINUS",
    "MODE",
    "NOCOMPRESS",
    "NOT",
    "NOWAIT",
    "OF",
    "ON",
    "OPTION",
    "OR",
    "ORDER",
    "PROCEDURE",
    "PUBLIC",
    "RESOURCE",
    "RETURN",
    "REVOKE",
    "SELECT",
    "SHARE",
    "SIZE",
    "START",
    "TABLE",
    "THEN",
    "TO",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WHILE",
    "WITH",
];

/// Whether an unquoted word cannot be used as a name.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn reserved_words_are_sorted() {
        assert!(super::RESERVED.windows(2).all(|w| w[0] < w[1]));
    }
}
