//! The kinds of statement, by the numbers of `v$sqlcommand`, with the client's message after success.
//!
//! The numbers are in the `Done` packet, in `v$sql.command_type` and `v$session.command`, and select the feedback line
//! ("Table created.") in the shell: one list for all of them.

/// The kind of an executed statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StatementKind(pub u16);

/// The client's message after success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Rows were counted: "3 rows created."
    Rows(&'static str),
    /// A query: "3 rows selected."
    Selected,
    /// A fixed line: "Table created."
    Line(&'static str),
    /// No line.
    Silent,
}

macro_rules! commands {
    ($( $konst:ident = $number:literal, $name:literal, $feedback:expr; )*) => {
        impl StatementKind { $( pub const $konst: StatementKind = StatementKind($number); )* }
        /// Number, name and feedback of every kind.
        pub const COMMANDS: &[(u16, &str, Feedback)] = &[ $( ($number, $name, $feedback), )* ];
    };
}

use Feedback::{Line, Rows, Selected, Silent};

commands! {
    UNKNOWN = 0, "UNKNOWN", Silent;
    CREATE_TABLE = 1, "CREATE TABLE", Line("Table created.");
    INSERT = 2, "INSERT", Rows("created");
    SELECT = 3, "SELECT", Selected;
    CREATE_CLUSTER = 4, "CREATE CLUSTER", Line("Cluster created.");
    ALTER_CLUSTER = 5, "ALTER CLUSTER", Line("Cluster altered.");
    UPDATE = 6, "UPDATE", Rows("updated");
    DELETE = 7, "DELETE", Rows("deleted");
    DROP_CLUSTER = 8, "DROP CLUSTER", Line("Cluster dropped.");
    CREATE_INDEX = 9, "CREATE INDEX", Line("Index created.");
    DROP_INDEX = 10, "DROP INDEX", Line("Index dropped.");
    ALTER_INDEX = 11, "ALTER INDEX", Line("Index altered.");
    DROP_TABLE = 12, "DROP TABLE", Line("Table dropped.");
    CREATE_SEQUENCE = 13, "CREATE SEQUENCE", Line("Sequence created.");
    ALTER_SEQUENCE = 14, "ALTER SEQUENCE", Line("Sequence altered.");
    ALTER_TABLE = 15, "ALTER TABLE", Line("Table altered.");
    DROP_SEQUENCE = 16, "DROP SEQUENCE", Line("Sequence dropped.");
    GRANT = 17, "GRANT OBJECT", Line("Grant succeeded.");
    REVOKE = 18, "REVOKE OBJECT", Line("Revoke succeeded.");
    CREATE_SYNONYM = 19, "CREATE SYNONYM", Line("Synonym created.");
    DROP_SYNONYM = 20, "DROP SYNONYM", Line("Synonym dropped.");
    CREATE_VIEW = 21, "CREATE VIEW", Line("View created.");
    DROP_VIEW = 22, "DROP VIEW", Line("View dropped.");
    VALIDATE_INDEX = 23, "VALIDATE INDEX", Line("Index analyzed.");
    CREATE_PROCEDURE = 24, "CREATE PROCEDURE", Line("Procedure created.");
    ALTER_PROCEDURE = 25, "ALTER PROCEDURE", Line("Procedure altered.");
    LOCK_TABLE = 26, "LOCK TABLE", Line("Table(s) Locked.");
    NO_OP = 27, "NO-OP", Silent;
    RENAME = 28, "RENAME", Line("Table renamed.");
    COMMENT = 29, "COMMENT", Line("Comment created.");
    AUDIT = 30, "AUDIT OBJECT", Line("Audit succeeded.");
    NOAUDIT = 31, "NOAUDIT OBJECT", Line("Noaudit succeeded.");
    CREATE_DATABASE_LINK = 32, "CREATE DATABASE LINK", Line("Database link created.");
    DROP_DATABASE_LINK = 33, "DROP DATABASE LINK", Line("Database link dropped.");
    ALTER_DATABASE = 35, "ALTER DATABASE", Line("Database altered.");
    CREATE_TABLESPACE = 39, "CREATE TABLESPACE", Line("Tablespace created.");
    ALTER_TABLESPACE = 40, "ALTER TABLESPACE", Line("Tablespace altered.");
    DROP_TABLESPACE = 41, "DROP TABLESPACE", Line("Tablespace dropped.");
    ALTER_SESSION = 42, "ALTER SESSION", Line("Session altered.");
    ALTER_USER = 43, "ALTER USER", Line("User altered.");
    COMMIT = 44, "COMMIT", Line("Commit complete.");
    ROLLBACK = 45, "ROLLBACK", Line("Rollback complete.");
    SAVEPOINT = 46, "SAVEPOINT", Line("Savepoint created.");
    PLSQL_EXECUTE = 47, "PL/SQL EXECUTE", Line("PL/SQL procedure successfully completed.");
    SET_TRANSACTION = 48, "SET TRANSACTION", Line("Transaction set.");
    ALTER_SYSTEM = 49, "ALTER SYSTEM", Line("System altered.");
    EXPLAIN = 50, "EXPLAIN", Line("Explained.");
    CREATE_USER = 51, "CREATE USER", Line("User created.");
    CREATE_ROLE = 52, "CREATE ROLE", Line("Role created.");
    DROP_USER = 53, "DROP USER", Line("User dropped.");
    DROP_ROLE = 54, "DROP ROLE", Line("Role dropped.");
    SET_ROLE = 55, "SET ROLE", Line("Role set.");
    CREATE_TRIGGER = 59, "CREATE TRIGGER", Line("Trigger created.");
    ALTER_TRIGGER = 60, "ALTER TRIGGER", Line("Trigger altered.");
    DROP_TRIGGER = 61, "DROP TRIGGER", Line("Trigger dropped.");
    ANALYZE_TABLE = 62, "ANALYZE TABLE", Line("Table analyzed.");
    ANALYZE_INDEX = 63, "ANALYZE INDEX", Line("Index analyzed.");
    ANALYZE_CLUSTER = 64, "ANALYZE CLUSTER", Line("Cluster analyzed.");
    CREATE_PROFILE = 65, "CREATE PROFILE", Line("Profile created.");
    DROP_PROFILE = 66, "DROP PROFILE", Line("Profile dropped.");
    ALTER_PROFILE = 67, "ALTER PROFILE", Line("Profile altered.");
    DROP_PROCEDURE = 68, "DROP PROCEDURE", Line("Procedure dropped.");
    CREATE_MATERIALIZED_VIEW = 74, "CREATE MATERIALIZED VIEW", Line("Materialized view created.");
    DROP_MATERIALIZED_VIEW = 76, "DROP MATERIALIZED VIEW", Line("Materialized view dropped.");
    CREATE_TYPE = 77, "CREATE TYPE", Line("Type created.");
    DROP_TYPE = 78, "DROP TYPE", Line("Type dropped.");
    ALTER_ROLE = 79, "ALTER ROLE", Line("Role altered.");
    ALTER_TYPE = 80, "ALTER TYPE", Line("Type altered.");
    CREATE_TYPE_BODY = 81, "CREATE TYPE BODY", Line("Type body created.");
    DROP_TYPE_BODY = 83, "DROP TYPE BODY", Line("Type body dropped.");
    TRUNCATE_TABLE = 85, "TRUNCATE TABLE", Line("Table truncated.");
    TRUNCATE_CLUSTER = 86, "TRUNCATE CLUSTER", Line("Cluster truncated.");
    ALTER_VIEW = 88, "ALTER VIEW", Line("View altered.");
    SET_CONSTRAINTS = 90, "SET CONSTRAINTS", Line("Constraint set.");
    CREATE_FUNCTION = 91, "CREATE FUNCTION", Line("Function created.");
    ALTER_FUNCTION = 92, "ALTER FUNCTION", Line("Function altered.");
    DROP_FUNCTION = 93, "DROP FUNCTION", Line("Function dropped.");
    CREATE_PACKAGE = 94, "CREATE PACKAGE", Line("Package created.");
    ALTER_PACKAGE = 95, "ALTER PACKAGE", Line("Package altered.");
    DROP_PACKAGE = 96, "DROP PACKAGE", Line("Package dropped.");
    CREATE_PACKAGE_BODY = 97, "CREATE PACKAGE BODY", Line("Package body created.");
    ALTER_PACKAGE_BODY = 98, "ALTER PACKAGE BODY", Line("Package body altered.");
    DROP_PACKAGE_BODY = 99, "DROP PACKAGE BODY", Line("Package body dropped.");
    CREATE_DIRECTORY = 157, "CREATE DIRECTORY", Line("Directory created.");
    DROP_DIRECTORY = 158, "DROP DIRECTORY", Line("Directory dropped.");
    CALL = 170, "CALL METHOD", Line("Call completed.");
    CREATE_CONTEXT = 177, "CREATE CONTEXT", Line("Context created.");
    DROP_CONTEXT = 178, "DROP CONTEXT", Line("Context dropped.");
    UPSERT = 189, "UPSERT", Rows("merged");
    ALTER_SYNONYM = 192, "ALTER SYNONYM", Line("Synonym altered.");
    PURGE = 197, "PURGE TABLE", Line("Table purged.");
    CREATE_EDITION = 212, "CREATE EDITION", Line("Edition created.");
    DROP_EDITION = 214, "DROP EDITION", Line("Edition dropped.");
    CREATE_AUDIT_POLICY = 229, "CREATE AUDIT POLICY", Line("Audit policy created.");
    ALTER_AUDIT_POLICY = 230, "ALTER AUDIT POLICY", Line("Audit policy altered.");
    DROP_AUDIT_POLICY = 231, "DROP AUDIT POLICY", Line("Audit Policy dropped.");
}

impl StatementKind {
    fn row(self) -> Option<&'static (u16, &'static str, Feedback)> {
        let i = COMMANDS.binary_search_by_key(&self.0, |r| r.0).ok()?;
        Some(&COMMANDS[i])
    }

    /// The name in `v$sqlcommand`.
    pub fn name(self) -> &'static str {
        self.row().map_or("UNKNOWN", |r| r.1)
    }

    /// The message after success.
    pub fn feedback(self) -> Feedback {
        self.row().map_or(Feedback::Silent, |r| r.2)
    }

    /// SQL*Plus's line after success, `rows` being the rows processed; `None` for a query or a silent kind.
    pub fn feedback_line(self, rows: u64) -> Option<String> {
        match self.feedback() {
            Feedback::Line(l) => Some(l.to_string()),
            Feedback::Rows(verb) if rows == 1 => Some(format!("1 row {verb}.")),
            Feedback::Rows(verb) => Some(format!("{rows} rows {verb}.")),
            Feedback::Selected | Feedback::Silent => None,
        }
    }

    /// Whether the statement is DDL: it commits before and after itself.
    pub fn is_ddl(self) -> bool {
        let dml = [
            Self::UNKNOWN,
            Self::INSERT,
            Self::SELECT,
            Self::UPDATE,
            Self::DELETE,
            Self::LOCK_TABLE,
            Self::NO_OP,
            Self::ALTER_SESSION,
            Self::COMMIT,
            Self::ROLLBACK,
            Self::SAVEPOINT,
            Self::PLSQL_EXECUTE,
            Self::SET_TRANSACTION,
            Self::ALTER_SYSTEM,
            Self::EXPLAIN,
            Self::SET_ROLE,
            Self::SET_CONSTRAINTS,
            Self::CALL,
            Self::UPSERT,
        ];
        !dml.contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(COMMANDS.windows(2).all(|w| w[0].0 < w[1].0));
        for c in COMMANDS {
            assert_eq!(StatementKind(c.0).name(), c.1);
        }
    }

    #[test]
    fn feedback_reads_as_sqlplus_prints_it() {
        let line = |k: StatementKind, n| k.feedback_line(n);
        assert_eq!(line(StatementKind::INSERT, 1).as_deref(), Some("1 row created."));
        assert_eq!(line(StatementKind::DELETE, 0).as_deref(), Some("0 rows deleted."));
        assert_eq!(line(StatementKind::UPSERT, 4).as_deref(), Some("4 rows merged."));
        assert_eq!(line(StatementKind::CREATE_CLUSTER, 0).as_deref(), Some("Cluster created."));
        assert_eq!(line(StatementKind::SELECT, 4), None);
        assert!(StatementKind::CREATE_TABLE.is_ddl() && !StatementKind::UPSERT.is_ddl());
    }
}
