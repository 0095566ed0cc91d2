//! Data definition statements of Latchwork.
//!
//! Every statement commits before and after itself (L1). In between it holds the DD enqueue, so that only one session
//! runs DDL at a time, and an exclusive TM enqueue on each object it changes, got without waiting (ORA-00054). Changes
//! of the dictionary are DML on the base tables in the session's own transaction; segments are made before the commit
//! and dropped after it, so that a statement that fails, or whose session dies, leaves the dictionary unchanged.
//!
//! Queries (CREATE TABLE AS SELECT, the columns of a view, validation of a constraint) and the PL/SQL compiler are
//! called through [`Host`], which the session implements.
#![forbid(unsafe_code)]

mod alter_table;
mod analyze;
mod audit;
mod cluster;
mod columns;
mod comment;
mod compile;
mod constraint;
mod constraint_state;
mod context;
mod create_table;
mod datafile_state;
mod device;
mod distinct;
mod drop;
mod drop_statement;
mod edition;
mod entries;
mod event_trigger;
mod expression;
mod files;
mod gather;
mod grant;
mod histogram;
mod host;
mod index;
mod index_rows;
mod index_statements;
mod inherit;
mod lob_storage;
mod materialized;
mod method_opt;
mod not_null;
mod one_row;
mod online;
mod own_statistics;
mod partition_alter;
mod partition_bounds;
mod partition_create;
mod partition_exchange;
mod partition_extend;
mod partition_index;
mod partition_interval;
mod partition_rows;
mod profile;
mod proxy;
mod quota;
mod rename;
mod replace_name;
mod rows;
mod sequence;
mod shrink;
mod star;
mod statistics;
mod stats_gather;
mod stats_groups;
mod stats_history;
mod stats_preferences;
mod stats_store;
mod stored;
mod synonym;
mod system_statistics;
mod tablespace;
mod tree;
mod trigger;
mod truncate;
mod undo_tablespace;
mod user;
mod validation;
mod view;
mod virtual_column;
mod work;

pub use datafile_state::settle_offline;
pub use host::{CompiledTrigger, Described, Host, Outcome, Parts, SessionNames, Storage, UnitSettings};
pub use online::drop_abandoned;
pub use statistics::request as statistics_request;
pub use tablespace::{file_meant, finish_drops, shown as shown_file};

use sql::ast::{Ddl, StoredKind};
use types::Result;
use work::Work;

/// Runs a data definition statement, with its commits.
///
/// Waits: `enq: DD - contention`; those of the storage below. Latches: none on entry or return.
/// # Errors
/// Oracle's, at the position of the name in error. The session's transaction before the statement is committed even
/// then.
pub fn execute(host: &mut dyn Host, ddl: &Ddl) -> Result<Outcome> {
    Work::run(host, &mut |work| dispatch(work, ddl))
}

/// Makes the partition of an interval-partitioned table for a key, in the session's transaction, which is committed.
///
/// # Errors
/// ORA-14300; ORA-08103 for a dropped table; those of making segments.
pub fn make_partition(host: &mut dyn Host, table: types::ObjectId, key: &[u8]) -> Result<()> {
    Work::run(host, &mut |work| partition_extend::extend(work, table, key).map(|()| Outcome::default())).map(drop)
}

/// Refreshes a materialized view, with the commits of a DDL statement. `fast`: by a log only.
///
/// # Errors
/// ORA-23401 for a view that does not exist; ORA-01031, ORA-12004, ORA-23538; ORA-12008 over the error of the query.
pub fn refresh_view(host: &mut dyn Host, owner: &str, name: &str, fast: bool) -> Result<()> {
    Work::run(host, &mut |work| materialized::refresh(work, owner, name, fast).map(|()| Outcome::default())).map(drop)
}

fn dispatch(work: &mut Work<'_>, ddl: &Ddl) -> Result<Outcome> {
    match ddl {
        Ddl::CreateTable(create) => create_table::create(work, create)?,
        Ddl::CreateCluster(create) => cluster::create(work, create)?,
        Ddl::CreateIndex(create) => index_statements::create(work, create)?,
        Ddl::CreateView(create) => return view::create(work, create),
        Ddl::CreateMaterializedView(create) => materialized::create(work, create)?,
        Ddl::CreateSequence(create) => sequence::create(work, create)?,
        Ddl::CreateSynonym(create) => synonym::create(work, create)?,
        Ddl::CreateUser(create) => user::create(work, create)?,
        Ddl::CreateRole(create) => user::create_role(work, create)?,
        Ddl::AlterRole(alter) => user::alter_role(work, alter)?,
        Ddl::Profile(limits) => profile::define(work, limits)?,
        Ddl::CreateStored(create) if create.kind == StoredKind::Trigger => return trigger::create(work, create),
        Ddl::CreateStored(create) => return stored::create(work, create),
        Ddl::Edition(statement) => edition::run(work, statement)?,
        Ddl::CreateContext(create) => context::create(work, create)?,
        Ddl::CreateDirectory(create) => stored::create_directory(work, create)?,
        Ddl::Drop(target) => drop_statement::drop_object(work, target)?,
        Ddl::AlterTable(alter) => alter_table::alter(work, alter)?,
        Ddl::AlterIndex(alter) => index_statements::alter(work, alter)?,
        Ddl::AlterSequence(alter) => sequence::alter(work, alter)?,
        Ddl::AlterUser(alter) => user::alter(work, alter)?,
        Ddl::ConnectThrough(through) => proxy::connect_through(work, through)?,
        Ddl::AlterCompile(alter) => return compile::compile(work, alter),
        Ddl::Truncate(statement) => truncate::truncate(work, statement)?,
        Ddl::Rename { from, to, pos: _ } => rename::rename(work, from, to)?,
        Ddl::Comment(statement) => comment::comment(work, statement)?,
        Ddl::Grant(statement) => grant::grant(work, statement)?,
        Ddl::Revoke(statement) => grant::revoke(work, statement)?,
        Ddl::Analyze(statement) => analyze::analyze(work, statement)?,
        Ddl::Purge(statement) => drop_statement::purge(statement)?,
        Ddl::Audit(statement) => audit::audit(work, statement)?,
        Ddl::AuditPolicy(define) => audit::policy(work, define)?,
        Ddl::CreateTablespace(create) => tablespace::create(work, create)?,
        Ddl::AlterTablespace(alter) => tablespace::alter(work, alter)?,
        Ddl::AlterFiles(alter) => tablespace::alter_files(work, alter)?,
        Ddl::DefaultTablespace(to) => tablespace::set_default(work, to)?,
        Ddl::DefaultTablespaceType(to) => tablespace::set_default_type(work, *to)?,
    }
    Ok(Outcome::default())
}
