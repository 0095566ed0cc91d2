//! The state of a session that statements read and change.

use crate::constraints::Constraints;
use crate::lob_ids::LobIds;
use crate::measure::Noted;
use crate::options::Options;
use crate::parallel::ParallelFigures;
use crate::shared::Shared;
use crate::statistics::Figures;
use crate::temporary::Temporaries;
use dictionary::States;
use parallel::Assignment;
use process::Process;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use txn::Txn;
use types::{Nls, Number, ObjectId, Ora, Result, Scn};

/// Session state that statements read and change.
pub struct SessionState {
    /// The user logged on; USER and UID.
    pub user: String,
    pub user_id: u32,
    /// User whose privileges statements are parsed with: the session's user, or the owner of a unit with definer's
    /// rights.
    pub parsing_user: u32,
    /// The schema unqualified names belong to (ALTER SESSION SET CURRENT_SCHEMA).
    pub schema: Rc<str>,
    /// Changed through [`SessionState::change_nls`] only: cached results depend on it.
    pub nls: Nls,
    pub txn: Txn,
    /// DBMS_FLASHBACK: queries read as of this SCN, and changes are refused.
    pub flashback: Option<Scn>,
    pub options: Options,
    /// CURRVAL by sequence.
    pub currval: HashMap<ObjectId, Number>,
    /// The next numbers of sequences of which each session has its own.
    pub own_numbers: HashMap<ObjectId, i128>,
    /// Statement figures on their way to the library cache; [`Figures::flush`] runs at the end of each call.
    pub figures: Figures,
    /// Deferred constraints and their notes.
    pub constraints: Constraints,
    /// The session's segments of temporary tables.
    pub temporaries: Temporaries,
    /// Number of transactions suspended by autonomous ones.
    pub suspended: usize,
    /// The SQL statement that calls the running function, and the number of suspended transactions at that time. Its
    /// restrictions do not hold for an autonomous transaction.
    pub(crate) caller: Option<(Rc<Caller>, usize)>,
    /// The running statement fires no triggers: a write through a LOB locator.
    pub(crate) without_triggers: bool,
    /// The numbers of the LOBs that the session stores.
    pub(crate) lob_ids: LobIds,
    /// The SCN that the open transaction reads as of, and the dictionary's epoch before the SCN was chosen.
    pub(crate) held: Option<(Scn, u64)>,
    /// States of the definitions that statements were compiled over.
    pub(crate) states: Rc<RefCell<States>>,
    /// Buffer for the image of a shared cursor.
    pub(crate) image: Vec<u8>,
    /// The figures of counted operations.
    pub(crate) noted: Noted,
    /// The figures of the session's parallel queries.
    pub parallel: ParallelFigures,
    /// The part of another session's query that this session runs as a parallel server.
    pub serves: Option<Assignment>,
    nls_fingerprint: u64,
}

impl SessionState {
    /// The statement that calls the running function in the same transaction.
    #[inline]
    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref().filter(|(_, suspended)| *suspended == self.suspended).map(|(caller, _)| &**caller)
    }

    /// Checks that the session may run DDL, or begin, end or divide a transaction.
    ///
    /// # Errors
    /// ORA-14552 in a function that a query or DML calls, ORA-04092 in a trigger.
    pub fn may_control_transaction(&self) -> Result<()> {
        self.may_control("COMMIT")
    }

    /// As [`SessionState::may_control_transaction`]; the error names the statement.
    ///
    /// # Errors
    /// As there.
    pub fn may_control(&self, statement: &str) -> Result<()> {
        match self.caller() {
            None => Ok(()),
            Some(caller) if caller.in_trigger => Err(Ora::with(4092, &[&statement])),
            Some(_) => Err(Ora::new(14552)),
        }
    }

    /// Checks that the session may run LOCK TABLE.
    ///
    /// # Errors
    /// ORA-14551 in a function that a query calls.
    pub fn may_lock(&self) -> Result<()> {
        match self.caller() {
            Some(caller) if caller.is_query => Err(Ora::new(14551)),
            _ => Ok(()),
        }
    }

    pub fn new(user: &str, user_id: u32, nls: Nls) -> SessionState {
        let mut s = SessionState {
            user: user.to_owned(),
            user_id,
            parsing_user: user_id,
            schema: user.into(),
            nls,
            txn: Txn::new(),
            flashback: None,
            options: Options::default(),
            currval: HashMap::new(),
            own_numbers: HashMap::new(),
            figures: Figures::default(),
            constraints: Constraints::default(),
            temporaries: Temporaries::default(),
            suspended: 0,
            caller: None,
            without_triggers: false,
            lob_ids: LobIds::default(),
            held: None,
            states: Rc::default(),
            image: Vec::new(),
            noted: Noted::default(),
            parallel: ParallelFigures::default(),
            serves: None,
            nls_fingerprint: 0,
        };
        s.change_nls(|_| {});
        s
    }

    /// The states of definitions known to the process.
    pub fn states(&self) -> Rc<RefCell<dictionary::States>> {
        Rc::clone(&self.states)
    }

    /// Changes language settings.
    pub fn change_nls(&mut self, f: impl FnOnce(&mut Nls)) {
        f(&mut self.nls);
        let n = &self.nls;
        let mut hasher = std::hash::DefaultHasher::new();
        (&n.language, &n.territory, &n.currency, &n.iso_currency, &n.date_format, &n.timestamp_format)
            .hash(&mut hasher);
        (&n.timestamp_tz_format, &n.date_language, n.decimal, n.group, &n.sort, &n.comp).hash(&mut hasher);
        (&n.dual_currency, &n.iso_territory).hash(&mut hasher);
        (n.zone, n.error_on_overlap).hash(&mut hasher);
        self.nls_fingerprint = hasher.finish();
    }

    /// A fingerprint of the settings that can change results.
    pub fn nls_fingerprint(&self) -> u64 {
        self.nls_fingerprint
    }

    /// Drops the session's segments of temporary tables.
    pub fn end_temporaries(&self, p: &Process, shared: &Shared) {
        self.temporaries.end_session(p, shared);
    }
}

/// The calling statement, for the functions that it calls and the triggers that it fires (E20).
#[derive(Debug, Default)]
pub struct Caller {
    pub is_query: bool,
    /// A trigger runs, not a function.
    pub in_trigger: bool,
    /// The tables whose rows the statement changes; none if it inserts a single row. In a trigger, those of the
    /// statements around it, too.
    pub changes: Vec<ObjectId>,
}

impl Caller {
    /// The same statement inside a trigger or function with these restrictions.
    pub(crate) fn within(&self, outer: &Caller) -> Caller {
        let changes = outer.changes.iter().chain(&self.changes).copied().collect();
        Caller { is_query: self.is_query, in_trigger: self.in_trigger, changes }
    }
}
