//! System privileges: names and Oracle's numbers, kept positive here and negative in SYSAUTH$.

use types::Ora;

macro_rules! system_privileges {
    ($($variant:ident $number:literal $name:literal),* $(,)?) => {
        /// A system privilege.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum SystemPrivilege { $($variant = $number),* }

        impl SystemPrivilege {
            pub const ALL: &'static [SystemPrivilege] = &[$(SystemPrivilege::$variant),*];

            /// The name in GRANT.
            pub fn name(self) -> &'static str {
                match self { $(SystemPrivilege::$variant => $name),* }
            }
        }
    };
}

system_privileges! {
    AlterSystem 3 "ALTER SYSTEM", AuditSystem 4 "AUDIT SYSTEM", CreateSession 5 "CREATE SESSION", AlterSession 6 "ALTER SESSION",
    RestrictedSession 7 "RESTRICTED SESSION", CreateTablespace 10 "CREATE TABLESPACE", AlterTablespace 11 "ALTER TABLESPACE",
    DropTablespace 13 "DROP TABLESPACE", UnlimitedTablespace 15 "UNLIMITED TABLESPACE", CreateUser 20 "CREATE USER",
    BecomeUser 21 "BECOME USER", AlterUser 22 "ALTER USER", DropUser 23 "DROP USER", CreateTable 40 "CREATE TABLE",
    CreateAnyTable 41 "CREATE ANY TABLE", AlterAnyTable 42 "ALTER ANY TABLE", BackupAnyTable 43 "BACKUP ANY TABLE",
    DropAnyTable 44 "DROP ANY TABLE", LockAnyTable 45 "LOCK ANY TABLE", CommentAnyTable 46 "COMMENT ANY TABLE",
    SelectAnyTable 47 "SELECT ANY TABLE", InsertAnyTable 48 "INSERT ANY TABLE", UpdateAnyTable 49 "UPDATE ANY TABLE",
    DeleteAnyTable 50 "DELETE ANY TABLE", CreateCluster 60 "CREATE CLUSTER", CreateAnyCluster 61 "CREATE ANY CLUSTER",
    AlterAnyCluster 62 "ALTER ANY CLUSTER", DropAnyCluster 63 "DROP ANY CLUSTER", CreateAnyIndex 71 "CREATE ANY INDEX",
    AlterAnyIndex 72 "ALTER ANY INDEX", DropAnyIndex 73 "DROP ANY INDEX", CreateSynonym 80 "CREATE SYNONYM",
    CreateAnySynonym 81 "CREATE ANY SYNONYM", DropAnySynonym 82 "DROP ANY SYNONYM",
    CreatePublicSynonym 85 "CREATE PUBLIC SYNONYM", DropPublicSynonym 86 "DROP PUBLIC SYNONYM", CreateView 90 "CREATE VIEW",
    CreateAnyView 91 "CREATE ANY VIEW", DropAnyView 92 "DROP ANY VIEW", CreateSequence 105 "CREATE SEQUENCE",
    CreateAnySequence 106 "CREATE ANY SEQUENCE", AlterAnySequence 107 "ALTER ANY SEQUENCE",
    DropAnySequence 108 "DROP ANY SEQUENCE", SelectAnySequence 109 "SELECT ANY SEQUENCE",
    CreateDatabaseLink 115 "CREATE DATABASE LINK", CreatePublicDatabaseLink 120 "CREATE PUBLIC DATABASE LINK",
    CreateRole 125 "CREATE ROLE", DropAnyRole 126 "DROP ANY ROLE", GrantAnyRole 127 "GRANT ANY ROLE",
    AlterAnyRole 128 "ALTER ANY ROLE", AuditAny 130 "AUDIT ANY", AlterDatabase 135 "ALTER DATABASE",
    ForceTransaction 138 "FORCE TRANSACTION", ForceAnyTransaction 139 "FORCE ANY TRANSACTION", CreateProcedure 140 "CREATE PROCEDURE",
    CreateAnyProcedure 141 "CREATE ANY PROCEDURE", AlterAnyProcedure 142 "ALTER ANY PROCEDURE",
    DropAnyProcedure 143 "DROP ANY PROCEDURE", ExecuteAnyProcedure 144 "EXECUTE ANY PROCEDURE",
    CreateTrigger 151 "CREATE TRIGGER", CreateAnyTrigger 152 "CREATE ANY TRIGGER", AlterAnyTrigger 153 "ALTER ANY TRIGGER",
    DropAnyTrigger 154 "DROP ANY TRIGGER", CreateProfile 160 "CREATE PROFILE", AlterProfile 161 "ALTER PROFILE",
    DropProfile 162 "DROP PROFILE", AnalyzeAny 165 "ANALYZE ANY", GrantAnyPrivilege 167 "GRANT ANY PRIVILEGE",
    CreateMaterializedView 172 "CREATE MATERIALIZED VIEW", CreateAnyMaterializedView 173 "CREATE ANY MATERIALIZED VIEW",
    AlterAnyMaterializedView 174 "ALTER ANY MATERIALIZED VIEW", DropAnyMaterializedView 175 "DROP ANY MATERIALIZED VIEW",
    CreateAnyDirectory 177 "CREATE ANY DIRECTORY",
    DropAnyDirectory 178 "DROP ANY DIRECTORY", CreateType 180 "CREATE TYPE", CreateAnyType 181 "CREATE ANY TYPE",
    AlterAnyType 182 "ALTER ANY TYPE", DropAnyType 183 "DROP ANY TYPE", ExecuteAnyType 184 "EXECUTE ANY TYPE",
    AdministerDatabaseTrigger 188 "ADMINISTER DATABASE TRIGGER",
    QueryRewrite 194 "QUERY REWRITE", CreateAnyContext 222 "CREATE ANY CONTEXT", DropAnyContext 223 "DROP ANY CONTEXT",
    FlashbackAnyTable 235 "FLASHBACK ANY TABLE", SelectAnyDictionary 237 "SELECT ANY DICTIONARY",
    DebugConnectSession 238 "DEBUG CONNECT SESSION", DebugAnyProcedure 241 "DEBUG ANY PROCEDURE",
    GrantAnyObjectPrivilege 244 "GRANT ANY OBJECT PRIVILEGE", AnalyzeAnyDictionary 262 "ANALYZE ANY DICTIONARY", Advisor 263 "ADVISOR", CreateJob 265 "CREATE JOB",
    CreateAnyJob 266 "CREATE ANY JOB", ManageScheduler 268 "MANAGE SCHEDULER", InheritAnyPrivileges 379 "INHERIT ANY PRIVILEGES",
    CreateAnyEdition 309 "CREATE ANY EDITION", DropAnyEdition 310 "DROP ANY EDITION",
    ReadAnyTable 397 "READ ANY TABLE",
}

impl SystemPrivilege {
    /// PRIVILEGE# of SYSAUTH$.
    pub fn number(self) -> i64 {
        -i64::from(self as u16)
    }

    pub fn parse(name: &str) -> Option<SystemPrivilege> {
        Self::ALL.iter().copied().find(|privilege| privilege.name() == name)
    }

    /// ORA-01031 for a missing privilege.
    pub fn missing(self) -> Ora {
        Ora::new(1031)
    }
}

/// The privileges of the role RESOURCE.
pub const RESOURCE: &[SystemPrivilege] = {
    use SystemPrivilege::*;
    &[CreateTable, CreateCluster, CreateSequence, CreateProcedure, CreateTrigger, CreateType, UnlimitedTablespace]
};

/// The privileges of the role CONNECT.
pub const CONNECT: &[SystemPrivilege] = &[SystemPrivilege::CreateSession];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_unique() {
        for (i, a) in SystemPrivilege::ALL.iter().enumerate() {
            assert_eq!(SystemPrivilege::parse(a.name()), Some(*a));
            assert!(SystemPrivilege::ALL[..i].iter().all(|b| b.name() != a.name() && b.number() != a.number()));
        }
    }
}
