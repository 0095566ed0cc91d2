//! The user numbers of the predefined roles.

use crate::UserId;

pub(crate) const ROLE_CONNECT: UserId = UserId(2);
pub(crate) const ROLE_RESOURCE: UserId = UserId(3);
pub(crate) const ROLE_DBA: UserId = UserId(4);
pub(crate) const ROLE_SELECT_CATALOG: UserId = UserId(6);
pub(crate) const ROLE_EXECUTE_CATALOG: UserId = UserId(7);
pub(crate) const ROLE_AUDIT_ADMIN: UserId = UserId(20);
pub(crate) const ROLE_AUDIT_VIEWER: UserId = UserId(21);
/// Users with this role may gather, set and delete system statistics.
pub const ROLE_GATHER_SYSTEM_STATISTICS: UserId = UserId(22);
