//! INHERIT PRIVILEGES: the users whose invoker's rights units may run with the privileges of a user.

use crate::work::Work;
use dictionary::base::{Base, userauth};
use dictionary::rows::{as_u32, int};
use dictionary::{By, UserId};
use types::{Result, Value};

/// Allows invoker's rights units of `grantee` to run with the privileges of `user`.
pub fn inherit(work: &mut Work<'_>, user: UserId, grantee: UserId) -> Result<()> {
    if is_inherited(work, user, grantee)? {
        return Ok(());
    }
    let grantor = work.session.user;
    work.change().insert(Base::Userauth, &[int(user.0), int(grantor.0), int(grantee.0)])
}

fn is_inherited(work: &mut Work<'_>, user: UserId, grantee: UserId) -> Result<bool> {
    Ok(!work.select_by(Base::Userauth, By::new(userauth::USER, user.0).and(&of_pair(user, grantee)))?.is_empty())
}

pub fn of_pair(user: UserId, grantee: UserId) -> impl Fn(&[Value]) -> bool {
    move |row| as_u32(&row[userauth::USER]) == user.0 && as_u32(&row[userauth::GRANTEE]) == grantee.0
}
