//! A logon's change of the password of the session's own user.

use crate::core::Core;
use crate::run;
use exec::ExecCtx;
use sql::ast::{AlterUser, Authentication, Ddl, Ident, Pos, Statement, UserOptions};
use types::{Ora, Result};

/// Changes the password of the session's own user, as an ALTER USER statement, which the audit trail shows without the
/// password.
///
/// # Errors
/// Those of ALTER USER; ORA-00988 for a password with a double quote.
pub(crate) fn change_own(core: &Core, cx: &mut ExecCtx<'_>, user: &str, old: Option<&str>, new: &str) -> Result<()> {
    if new.contains('"') {
        return Err(Ora::new(988));
    }
    let options = UserOptions {
        authentication: Some(Authentication::Password(new.to_owned())),
        replace: old.map(str::to_owned),
        ..UserOptions::default()
    };
    let alter = AlterUser { name: Ident::new(user), options, pos: Pos(0) };
    let statement = Statement::Ddl(Box::new(Ddl::AlterUser(alter)));
    run::run_parsed(core, cx, &statement, &format!("ALTER USER \"{user}\" IDENTIFIED BY *")).map(drop)
}
