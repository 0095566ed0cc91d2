//! Application contexts: values that a session keeps under a name in a namespace, for SYS_CONTEXT.
//!
//! Clients set values of the namespace CLIENTCONTEXT with the logon, with any call or by DBMS_SESSION.SET_CONTEXT. The
//! values are private to the session and end with it. The values of a context of CREATE CONTEXT are set by its package.

use std::cell::RefCell;
use std::collections::BTreeMap;
use types::{Ora, Result, Value};

/// The namespace whose values clients set.
const CLIENT: &str = "CLIENTCONTEXT";

/// The longest name and the longest value, in bytes.
const NAME_MAX: usize = 128;
const VALUE_MAX: usize = 4000;

/// The longest client identifier, in bytes.
const CLIENT_MAX: usize = 64;

/// The most values of a session: a client that sets more gets an error instead of filling the memory.
const VALUES_MAX: usize = 1024;

/// The values of a session's contexts, by namespace and name in upper case.
#[derive(Default)]
pub(crate) struct AppContexts {
    values: RefCell<BTreeMap<(String, String), String>>,
}

impl AppContexts {
    /// The value of an attribute; `None` for an unknown namespace too.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        let values = self.values.borrow();
        // Most sessions have none.
        if values.is_empty() {
            return None;
        }
        values.get(&(namespace.to_owned(), name.to_owned())).map(|value| Value::text(value.as_str()))
    }

    /// Sets a value; an empty one is NULL.
    ///
    /// # Errors
    /// ORA-28106 for a name or a value that is too long, and for one value too many.
    pub fn set(&self, namespace: &str, name: &str, value: &str) -> Result<()> {
        check_value(name, value)?;
        let mut values = self.values.borrow_mut();
        let name = (namespace.to_uppercase(), name.to_uppercase());
        if values.len() >= VALUES_MAX && !values.contains_key(&name) {
            return Err(Ora::with(28106, &[&2]));
        }
        values.insert(name, value.to_owned());
        Ok(())
    }

    /// Removes one value of a namespace, or all of its values.
    pub fn clear(&self, namespace: &str, name: Option<&str>) {
        let (namespace, name) = (namespace.to_uppercase(), name.map(str::to_uppercase));
        let is_it = |at: &(String, String)| at.0 == namespace && name.as_ref().is_none_or(|name| at.1 == *name);
        self.values.borrow_mut().retain(|at, _| !is_it(at));
    }
}

/// ORA-28267 for a namespace that clients may not set.
pub(crate) fn check_namespace(namespace: &str) -> Result<()> {
    if namespace.eq_ignore_ascii_case(CLIENT) { Ok(()) } else { Err(Ora::new(28267)) }
}

/// ORA-28106 for a name or a value that is too long.
pub(crate) fn check_value(name: &str, value: &str) -> Result<()> {
    if name.is_empty() || name.len() > NAME_MAX {
        return Err(Ora::with(28106, &[&2]));
    }
    if value.len() > VALUE_MAX { Err(Ora::with(28106, &[&3])) } else { Ok(()) }
}

/// ORA-28106 for a name of a user or a client identifier that is too long.
pub(crate) fn check_seers(user: Option<&str>, client: Option<&str>) -> Result<()> {
    if user.is_some_and(|user| user.len() > NAME_MAX) {
        return Err(Ora::with(28106, &[&4]));
    }
    if client.is_some_and(|client| client.len() > CLIENT_MAX) { Err(Ora::with(28106, &[&5])) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_set_their_own_namespace_only() {
        let contexts = AppContexts::default();
        contexts.set("clientcontext", "attr", "v").unwrap();
        assert_eq!(contexts.get("CLIENTCONTEXT", "ATTR"), Some(Value::text("v")));
        assert_eq!(contexts.get("OTHER", "ATTR"), None);
        assert!(check_namespace("USERENV").is_err_and(|e| e.is(28267)));
        contexts.set("OTHER", "x", "y").unwrap();
        contexts.clear("OTHER", None);
        assert_eq!(contexts.get("OTHER", "X"), None);
        assert!(contexts.set("CLIENTCONTEXT", &"x".repeat(129), "v").is_err_and(|e| e.is(28106)));
        assert!(contexts.set("CLIENTCONTEXT", "x", &"v".repeat(4001)).is_err_and(|e| e.is(28106)));
        contexts.clear("CLIENTCONTEXT", Some("attr"));
        assert_eq!(contexts.get("CLIENTCONTEXT", "ATTR"), None);
    }

    #[test]
    fn a_session_has_so_many_values_and_no_more() {
        let contexts = AppContexts::default();
        (0..VALUES_MAX).for_each(|n| contexts.set(CLIENT, &format!("A{n}"), "v").unwrap());
        assert!(contexts.set(CLIENT, "ONE_MORE", "v").is_err_and(|e| e.is(28106)));
        contexts.set(CLIENT, "A7", "another").unwrap();
    }
}
