//! The kind of a statement: `v$session.command` shows it, and it chooses the client's message after success.

use net::StatementKind;
use sql::ast::{AlterSystemAction, AnalyzeKind, CompileKind, Ddl, DropKind, Statement, StoredKind};

/// The kind of a query or DML statement by its first word, without parsing the text. `None` for other statements.
pub fn of_first_word(text: &str) -> Option<StatementKind> {
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n')?.1.trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/")?.1.trim_start();
        } else {
            break;
        }
    }
    if rest.starts_with('(') {
        return Some(StatementKind::SELECT);
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '$' | '#')).unwrap_or(rest.len());
    let is = |word: &str| rest[..end].eq_ignore_ascii_case(word);
    let kinds = [
        ("SELECT", StatementKind::SELECT),
        ("WITH", StatementKind::SELECT),
        ("INSERT", StatementKind::INSERT),
        ("UPDATE", StatementKind::UPDATE),
        ("DELETE", StatementKind::DELETE),
        ("MERGE", StatementKind::UPSERT),
    ];
    kinds.into_iter().find(|(word, _)| is(word)).map(|(_, kind)| kind)
}

/// The kind of a parsed statement.
pub(crate) fn kind_of(statement: &Statement) -> StatementKind {
    match statement {
        Statement::Query(_) => StatementKind::SELECT,
        Statement::Insert(_) => StatementKind::INSERT,
        Statement::Update(_) => StatementKind::UPDATE,
        Statement::Delete(_) => StatementKind::DELETE,
        Statement::Merge(_) => StatementKind::UPSERT,
        Statement::Call(_) => StatementKind::CALL,
        Statement::ExplainPlan(_) => StatementKind::EXPLAIN,
        Statement::Commit(_) => StatementKind::COMMIT,
        Statement::Rollback(_) => StatementKind::ROLLBACK,
        Statement::Savepoint(_) => StatementKind::SAVEPOINT,
        Statement::SetTransaction(_) => StatementKind::SET_TRANSACTION,
        Statement::SetRole(_) => StatementKind::SET_ROLE,
        Statement::SetConstraints(_) => StatementKind::SET_CONSTRAINTS,
        Statement::LockTable(_) => StatementKind::LOCK_TABLE,
        Statement::Block { pos: _ } => StatementKind::PLSQL_EXECUTE,
        Statement::Ddl(ddl) => ddl_kind(ddl),
        Statement::AlterSession(_) => StatementKind::ALTER_SESSION,
        Statement::AlterSystem(a) => alter_kind(&a.action),
    }
}

/// The tree of ALTER SYSTEM also holds parts of ALTER DATABASE and ALTER TABLESPACE.
fn alter_kind(action: &AlterSystemAction) -> StatementKind {
    use AlterSystemAction::*;
    match action {
        Recover(_) | Archivelog(_) | AddLogfile { .. } | DropLogfile { .. } | Backup { tablespace: None, .. } => {
            StatementKind::ALTER_DATABASE
        }
        Backup { tablespace: Some(_), .. } => StatementKind::ALTER_TABLESPACE,
        Set { .. }
        | Reset(_)
        | KillSession { .. }
        | DisconnectSession { .. }
        | Checkpoint
        | FlushBufferCache
        | FlushSharedPool
        | SwitchLogfile
        | ArchiveLogCurrent
        | Register
        | RestrictedSession(_)
        | Other(_) => StatementKind::ALTER_SYSTEM,
    }
}

fn ddl_kind(ddl: &Ddl) -> StatementKind {
    match ddl {
        Ddl::CreateTable(_) => StatementKind::CREATE_TABLE,
        Ddl::CreateCluster(_) => StatementKind::CREATE_CLUSTER,
        Ddl::CreateIndex(_) => StatementKind::CREATE_INDEX,
        Ddl::CreateView(_) => StatementKind::CREATE_VIEW,
        Ddl::CreateMaterializedView(_) => StatementKind::CREATE_MATERIALIZED_VIEW,
        Ddl::CreateSequence(_) => StatementKind::CREATE_SEQUENCE,
        Ddl::CreateSynonym(_) => StatementKind::CREATE_SYNONYM,
        Ddl::CreateUser(_) => StatementKind::CREATE_USER,
        Ddl::CreateRole(_) => StatementKind::CREATE_ROLE,
        Ddl::AlterRole(_) => StatementKind::ALTER_ROLE,
        Ddl::Profile(p) if p.alter => StatementKind::ALTER_PROFILE,
        Ddl::Profile(_) => StatementKind::CREATE_PROFILE,
        Ddl::CreateStored(c) => create_stored(c.kind),
        Ddl::CreateTablespace(_) => StatementKind::CREATE_TABLESPACE,
        Ddl::AlterTablespace(_) => StatementKind::ALTER_TABLESPACE,
        Ddl::AlterFiles(_) | Ddl::DefaultTablespace(_) | Ddl::DefaultTablespaceType(_) => StatementKind::ALTER_DATABASE,
        Ddl::Edition(sql::ast::EditionStatement::Create { name: _, parent: _, pos: _ }) => {
            StatementKind::CREATE_EDITION
        }
        Ddl::Edition(sql::ast::EditionStatement::Default { name: _, pos: _ }) => StatementKind::ALTER_DATABASE,
        Ddl::CreateContext(_) => StatementKind::CREATE_CONTEXT,
        Ddl::CreateDirectory(_) => StatementKind::CREATE_DIRECTORY,
        Ddl::Drop(d) => drop_kind(d.kind),
        Ddl::AlterTable(_) => StatementKind::ALTER_TABLE,
        Ddl::AlterIndex(_) => StatementKind::ALTER_INDEX,
        Ddl::AlterSequence(_) => StatementKind::ALTER_SEQUENCE,
        Ddl::AlterUser(_) | Ddl::ConnectThrough(_) => StatementKind::ALTER_USER,
        Ddl::AlterCompile(a) => match a.kind {
            CompileKind::View => StatementKind::ALTER_VIEW,
            CompileKind::Stored(kind) => alter_stored(kind, a.body),
        },
        Ddl::Truncate(t) if t.cluster => StatementKind::TRUNCATE_CLUSTER,
        Ddl::Truncate(_) => StatementKind::TRUNCATE_TABLE,
        Ddl::Rename { from: _, to: _, pos: _ } => StatementKind::RENAME,
        Ddl::Comment(_) => StatementKind::COMMENT,
        Ddl::Grant(_) => StatementKind::GRANT,
        Ddl::Revoke(_) => StatementKind::REVOKE,
        Ddl::Analyze(a) => match a.kind {
            AnalyzeKind::Table => StatementKind::ANALYZE_TABLE,
            AnalyzeKind::Index => StatementKind::ANALYZE_INDEX,
            AnalyzeKind::Cluster => StatementKind::ANALYZE_CLUSTER,
        },
        Ddl::Purge(_) => StatementKind::PURGE,
        Ddl::Audit(a) if a.noaudit => StatementKind::NOAUDIT,
        Ddl::Audit(_) => StatementKind::AUDIT,
        Ddl::AuditPolicy(p) if p.alter => StatementKind::ALTER_AUDIT_POLICY,
        Ddl::AuditPolicy(_) => StatementKind::CREATE_AUDIT_POLICY,
    }
}

fn create_stored(kind: StoredKind) -> StatementKind {
    match kind {
        StoredKind::Procedure => StatementKind::CREATE_PROCEDURE,
        StoredKind::Function => StatementKind::CREATE_FUNCTION,
        StoredKind::Package => StatementKind::CREATE_PACKAGE,
        StoredKind::PackageBody => StatementKind::CREATE_PACKAGE_BODY,
        StoredKind::Trigger => StatementKind::CREATE_TRIGGER,
        StoredKind::Type => StatementKind::CREATE_TYPE,
        StoredKind::TypeBody => StatementKind::CREATE_TYPE_BODY,
        StoredKind::Java => StatementKind::UNKNOWN,
    }
}

fn alter_stored(kind: StoredKind, body: bool) -> StatementKind {
    match kind {
        StoredKind::Procedure => StatementKind::ALTER_PROCEDURE,
        StoredKind::Function => StatementKind::ALTER_FUNCTION,
        StoredKind::Package if body => StatementKind::ALTER_PACKAGE_BODY,
        StoredKind::Package => StatementKind::ALTER_PACKAGE,
        StoredKind::PackageBody => StatementKind::ALTER_PACKAGE_BODY,
        StoredKind::Trigger => StatementKind::ALTER_TRIGGER,
        StoredKind::Type | StoredKind::TypeBody => StatementKind::ALTER_TYPE,
        StoredKind::Java => StatementKind::UNKNOWN,
    }
}

fn drop_kind(kind: DropKind) -> StatementKind {
    match kind {
        DropKind::Table => StatementKind::DROP_TABLE,
        DropKind::Cluster => StatementKind::DROP_CLUSTER,
        DropKind::Index => StatementKind::DROP_INDEX,
        DropKind::View => StatementKind::DROP_VIEW,
        DropKind::MaterializedView => StatementKind::DROP_MATERIALIZED_VIEW,
        DropKind::Sequence => StatementKind::DROP_SEQUENCE,
        DropKind::Synonym | DropKind::PublicSynonym => StatementKind::DROP_SYNONYM,
        DropKind::User => StatementKind::DROP_USER,
        DropKind::Role => StatementKind::DROP_ROLE,
        DropKind::Tablespace => StatementKind::DROP_TABLESPACE,
        DropKind::Context => StatementKind::DROP_CONTEXT,
        DropKind::Directory => StatementKind::DROP_DIRECTORY,
        DropKind::DatabaseLink => StatementKind::DROP_DATABASE_LINK,
        DropKind::Profile => StatementKind::DROP_PROFILE,
        DropKind::Edition => StatementKind::DROP_EDITION,
        DropKind::AuditPolicy => StatementKind::DROP_AUDIT_POLICY,
        DropKind::Stored(stored) => match stored {
            StoredKind::Procedure => StatementKind::DROP_PROCEDURE,
            StoredKind::Function => StatementKind::DROP_FUNCTION,
            StoredKind::Package => StatementKind::DROP_PACKAGE,
            StoredKind::PackageBody => StatementKind::DROP_PACKAGE_BODY,
            StoredKind::Trigger => StatementKind::DROP_TRIGGER,
            StoredKind::Type => StatementKind::DROP_TYPE,
            StoredKind::TypeBody => StatementKind::DROP_TYPE_BODY,
            StoredKind::Java => StatementKind::UNKNOWN,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_behind_comments_tells_queries_and_dml() {
        for text in [
            "select 1 from dual",
            " -- a\n/* b */ (select 1 from dual)",
            "With a as (select 1 from dual) select * from a",
            "insert into t values (1)",
            "update t set a = 1",
            "delete t",
            "merge into t using u on (1 = 1) when matched then update set a = 1",
        ] {
            let parsed = sql::parse_statement(text).map(|statement| kind_of(&statement)).unwrap();
            assert_eq!(of_first_word(text), Some(parsed), "{text}");
        }
        for text in ["", "-- select", "/* select", "begin null; end;", "selects", "commit", "alter session set x = 1"] {
            assert_eq!(of_first_word(text), None, "{text}");
        }
    }
}
