//! Results of PL/SQL functions in the result cache.

use crate::core::Core;
use dictionary::Catalog;
use exec::SessionState;
use result_cache::{Build, Description, Key, Namespace, Opened, ResultBuffer};
use types::{ObjectId, Result};

impl Core {
    /// The cached result of a PL/SQL function; with `None` the caller has to run the function. If the result may be
    /// cached, its build has begun: [`Core::function_result_put`] or [`Core::function_result_abandon`] ends it.
    ///
    /// # Errors
    /// Errors from waiting for another session that builds the same result.
    pub fn function_result_get(
        &self,
        session: &SessionState,
        function: &str,
        depends: &[ObjectId],
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let changed = session.txn.is_active() && depends.iter().any(|d| session.txn.has_touched(*d));
        let elsewhen = session.txn.holds_snapshot() || session.flashback.is_some();
        if !session.options.result_cache || changed || elsewhen {
            return Ok(None);
        }
        let (results, txns) = (self.shared.results, self.shared.txns);
        results.track(&self.p, depends, || txns.current_scn());
        let mut whole = function.as_bytes().to_vec();
        whole.push(0);
        whole.extend_from_slice(&session.nls_fingerprint().to_le_bytes());
        // A function of invoker's rights reads with the privileges of its caller.
        let identity = self.identity();
        whole.extend_from_slice(&identity.user.0.to_le_bytes());
        whole.extend_from_slice(&identity.schema.0.to_le_bytes());
        for role in &*self.who.roles(identity) {
            whole.extend_from_slice(&role.to_le_bytes());
        }
        whole.extend_from_slice(&u32::MAX.to_le_bytes());
        whole.extend_from_slice(key);
        let about =
            Description { name: function, namespace: Namespace::PlSql, creator: session.user_id, column_count: 1 };
        let mut buffer = ResultBuffer::new();
        let scn = txns.current_scn();
        let opened = results.open(&self.p, self.shared.enqueues, Key::new(&whole), about, depends, scn, &mut buffer)?;
        match opened {
            Opened::Hit => Ok(buffer.next_row().map(<[u8]>::to_vec)),
            // Rows of temporary tables are visible to one session, so a result with them is not shared.
            Opened::Build(build) if self.any_temporary(depends).unwrap_or(true) => {
                self.shared.results.abandon(&self.p, self.shared.enqueues, build);
                Ok(None)
            }
            Opened::Build(build) => {
                self.builds.borrow_mut().push((function.to_string(), key.to_vec(), build));
                Ok(None)
            }
            Opened::Bypass => Ok(None),
        }
    }

    fn any_temporary(&self, objects: &[ObjectId]) -> Result<bool> {
        let names = self.names()?;
        for object in objects {
            if names.table_by_id(*object)?.is_some_and(|table| table.temporary.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Publishes a result that [`Core::function_result_get`] began to build.
    pub fn function_result_put(&self, function: &str, key: &[u8], value: &[u8]) {
        if let Some(mut build) = self.take_build(function, key) {
            self.shared.results.push(&mut build, value);
            self.shared.results.publish(&self.p, self.shared.enqueues, build);
        }
    }

    /// Abandons the build of the result of a failed function.
    pub fn function_result_abandon(&self, function: &str, key: &[u8]) {
        if let Some(build) = self.take_build(function, key) {
            self.shared.results.abandon(&self.p, self.shared.enqueues, build);
        }
    }

    fn take_build(&self, function: &str, key: &[u8]) -> Option<Build> {
        let mut builds = self.builds.borrow_mut();
        let at = builds.iter().rposition(|(f, k, _)| f == function && k == key)?;
        Some(builds.remove(at).2)
    }
}
