//! The built-in packages as objects of SYS, and their grants in a new database.

use crate::UserId;
use crate::roles::{ROLE_AUDIT_ADMIN, ROLE_DBA, ROLE_EXECUTE_CATALOG};
use types::ObjectId;

/// The first object number of built-in packages.
pub const PACKAGE_FIRST_OBJECT: u32 = 1_000;

/// Name and grantees of EXECUTE, sorted by name. The grants are those of Oracle.
const PACKAGES: &[(&str, &[UserId])] = &[
    ("DBMS_ALERT", &[ROLE_EXECUTE_CATALOG]),
    ("DBMS_APPLICATION_INFO", &[UserId::PUBLIC]),
    ("DBMS_ASSERT", &[UserId::PUBLIC]),
    ("DBMS_AUDIT_MGMT", &[ROLE_AUDIT_ADMIN]),
    ("DBMS_CONNECTION_POOL", &[ROLE_DBA]),
    ("DBMS_CRYPTO", &[]),
    ("DBMS_DB_VERSION", &[UserId::PUBLIC]),
    ("DBMS_DEBUG_JDWP", &[UserId::PUBLIC]),
    ("DBMS_ERRLOG", &[UserId::PUBLIC]),
    ("DBMS_FLASHBACK", &[ROLE_DBA]),
    ("DBMS_JOB", &[UserId::PUBLIC]),
    ("DBMS_LOB", &[UserId::PUBLIC]),
    ("DBMS_LOCK", &[ROLE_EXECUTE_CATALOG]),
    ("DBMS_METADATA", &[UserId::PUBLIC]),
    ("DBMS_MVIEW", &[UserId::PUBLIC]),
    ("DBMS_OUTPUT", &[UserId::PUBLIC]),
    ("DBMS_RANDOM", &[UserId::PUBLIC]),
    ("DBMS_RESULT_CACHE", &[ROLE_DBA]),
    ("DBMS_ROWID", &[UserId::PUBLIC]),
    ("DBMS_SCHEDULER", &[UserId::PUBLIC]),
    ("DBMS_SESSION", &[UserId::PUBLIC]),
    ("DBMS_SHARED_POOL", &[ROLE_EXECUTE_CATALOG]),
    ("DBMS_SQL", &[UserId::PUBLIC]),
    ("DBMS_STANDARD", &[UserId::PUBLIC]),
    ("DBMS_STATS", &[UserId::PUBLIC]),
    ("DBMS_TRANSACTION", &[UserId::PUBLIC]),
    ("DBMS_TYPES", &[UserId::PUBLIC]),
    ("DBMS_UTILITY", &[UserId::PUBLIC]),
    ("DBMS_WORKLOAD_REPOSITORY", &[ROLE_DBA]),
    ("DBMS_XA", &[UserId::PUBLIC]),
    ("DBMS_XMLGEN", &[UserId::PUBLIC]),
    ("DBMS_XPLAN", &[UserId::PUBLIC]),
    ("PRIVATE_JDBC", &[UserId::PUBLIC]),
    ("STANDARD", &[UserId::PUBLIC]),
    ("UTL_ENCODE", &[UserId::PUBLIC]),
    ("UTL_FILE", &[UserId::PUBLIC]),
    ("UTL_HTTP", &[UserId::PUBLIC]),
    ("UTL_I18N", &[UserId::PUBLIC]),
    ("UTL_IDENT", &[UserId::PUBLIC]),
    ("UTL_LMS", &[UserId::PUBLIC]),
    ("UTL_MATCH", &[UserId::PUBLIC]),
    ("UTL_RAW", &[UserId::PUBLIC]),
    ("UTL_SMTP", &[UserId::PUBLIC]),
    ("UTL_TCP", &[UserId::PUBLIC]),
];

/// The names of the built-in packages, their numbers in a new database, and the grantees of EXECUTE.
pub fn built_in_packages() -> impl Iterator<Item = (ObjectId, &'static str, &'static [UserId])> {
    PACKAGES.iter().enumerate().map(|(at, (name, to))| (ObjectId(PACKAGE_FIRST_OBJECT + at as u32), *name, *to))
}

/// True when SYS has a built-in package with this name.
pub fn is_built_in_package(name: &str) -> bool {
    PACKAGES.binary_search_by_key(&name, |(have, _)| have).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(PACKAGES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(PACKAGE_FIRST_OBJECT as usize + PACKAGES.len() < crate::CATALOG_FIRST_OBJECT as usize);
    }
}
