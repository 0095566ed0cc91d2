//! The event for which a trigger on a schema or the database fires: what its functions (`ora_sysevent` and others)
//! return.

use types::Ora;

/// An event.
#[derive(Clone, Debug, Default)]
pub struct EventFacts {
    /// The word of the event: `CREATE`, `LOGON`.
    pub name: String,
    /// The object of a DDL statement: its type, owner and name. Empty texts are NULL.
    pub object_type: String,
    pub object_owner: String,
    pub object_name: String,
    /// The statement, without its passwords.
    pub text: Option<String>,
    /// The columns that ALTER TABLE changes or adds, and those that it drops.
    pub altered: Vec<String>,
    pub dropped: Vec<String>,
    /// The users and roles of GRANT or REVOKE, and the privileges.
    pub grantees: Vec<String>,
    pub privileges: Vec<String>,
    pub with_grant_option: bool,
    /// The error of SERVERERROR.
    pub error: Option<Ora>,
}

impl EventFacts {
    /// The errors of SERVERERROR, outermost first.
    pub(crate) fn errors(&self) -> Vec<&Ora> {
        let Some(error) = &self.error else { return Vec::new() };
        let mut all = Vec::new();
        // A stack: the errors below an error stand in its context, with their own below them.
        let mut waiting = vec![error];
        while let Some(error) = waiting.pop() {
            all.push(error);
            waiting.extend(error.context().iter().rev());
        }
        all
    }
}
