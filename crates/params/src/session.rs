//! A session's own values, which override the system's, and the rows of `v$parameter`.

use crate::list::{PARAMS, Param, ParamDef};
use crate::system::SystemParams;
use crate::value::{check_nls, display, normalise};
use std::hash::{Hash, Hasher};
use types::{Ora, Result};

/// The parameters of one session. Process-local.
#[derive(Clone)]
pub struct SessionParams {
    system: SystemParams,
    own: Vec<Option<String>>,
}

/// One row of `v$parameter` or `v$system_parameter`.
#[derive(Clone, Debug)]
pub struct ParameterRow {
    pub def: &'static ParamDef,
    /// Position in the list, from 1.
    pub num: u32,
    pub value: Option<String>,
    pub display_value: Option<String>,
    pub is_default: bool,
    /// `MODIFIED` (this session), `SYSTEM_MOD` or `FALSE`.
    pub is_modified: &'static str,
}

impl ParameterRow {
    /// `TRUE` or `FALSE`.
    pub fn isses_modifiable(&self) -> &'static str {
        if self.def.session_modifiable() { "TRUE" } else { "FALSE" }
    }

    /// `IMMEDIATE` or `FALSE`.
    pub fn issys_modifiable(&self) -> &'static str {
        if self.def.system_modifiable() { "IMMEDIATE" } else { "FALSE" }
    }
}

impl SessionParams {
    /// A session without values of its own.
    pub fn new(system: SystemParams) -> Self {
        Self { system, own: vec![None; PARAMS.len()] }
    }

    /// `ALTER SESSION SET name = raw`. Returns the parameter and its new value.
    ///
    /// # Errors
    /// ORA-02248 for an unknown name, ORA-02096 for a parameter that no session may set, those of a bad value.
    pub fn alter_session(&mut self, name: &str, raw: &str) -> Result<(Param, String)> {
        let param = Param::find(name).ok_or_else(|| Ora::new(2248))?;
        if !param.def().session_modifiable() {
            return Err(Ora::new(2096));
        }
        let value = normalise(param.def(), raw)?;
        check_nls(param, &value)?;
        // A new language or territory brings its own defaults, which replace earlier values of the session.
        for derived in param.derived() {
            self.own[*derived as usize] = None;
        }
        self.own[param as usize] = Some(value.clone());
        Ok((param, value))
    }

    /// Checks `ALTER SYSTEM SET name = raw` and returns the value; the caller publishes it by [`SystemParams::set`]
    /// under the parameter enqueue. `spfile_only` is `SCOPE = SPFILE`, which static parameters require.
    ///
    /// # Errors
    /// ORA-02065 for an unknown name, ORA-02095 for a static parameter, ORA-02096 for a parameter that only a session
    /// may set, those of a bad value.
    pub fn check_system(name: &str, raw: &str, spfile_only: bool) -> Result<(Param, String)> {
        let param = Param::find(name).ok_or_else(|| Ora::new(2065))?;
        if !param.def().system_modifiable() && !spfile_only {
            let code = if param.def().session_modifiable() { 2096 } else { 2095 };
            return Err(Ora::new(code));
        }
        Ok((param, normalise(param.def(), raw)?))
    }

    /// The value in force in this session; empty when unset.
    pub fn get(&self, param: Param) -> String {
        match &self.own[param as usize] {
            Some(v) => v.clone(),
            None => self.system.get(param),
        }
    }

    /// The value of a number in force in this session.
    pub fn number(&self, param: Param) -> i64 {
        match &self.own[param as usize] {
            Some(v) => v.parse().unwrap_or(0),
            None => self.system.number(param),
        }
    }

    /// The value of a boolean in force in this session.
    pub fn flag(&self, param: Param) -> bool {
        match &self.own[param as usize] {
            Some(v) => v == "TRUE",
            None => self.system.flag(param),
        }
    }

    /// A hash of these parameters' values, for a comparison between sessions.
    pub fn fingerprint(&self, params: &[Param]) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        params.iter().for_each(|param| self.get(*param).hash(&mut hasher));
        hasher.finish()
    }

    /// The session's own value, if it has one.
    pub fn own(&self, param: Param) -> Option<&str> {
        self.own[param as usize].as_deref()
    }

    /// The parameters of the instance.
    pub fn system(&self) -> &SystemParams {
        &self.system
    }

    /// The rows of `v$parameter`; with `hidden`, also underscore parameters that were never set.
    pub fn rows(&self, hidden: bool) -> Vec<ParameterRow> {
        let shown = |d: &&ParamDef| hidden || !d.hidden() || !self.is_default(d.param);
        PARAMS.iter().filter(shown).map(|d| self.row(d)).collect()
    }

    /// Whether the value was given neither for the session nor for the system.
    #[must_use]
    pub fn is_default(&self, param: Param) -> bool {
        self.own[param as usize].is_none() && self.system.is_default(param)
    }

    fn row(&self, def: &'static ParamDef) -> ParameterRow {
        let value = Some(self.get(def.param)).filter(|v| !v.is_empty());
        let is_modified = if self.own[def.param as usize].is_some() {
            "MODIFIED"
        } else if self.system.is_system_modified(def.param) {
            "SYSTEM_MOD"
        } else {
            "FALSE"
        };
        ParameterRow {
            def,
            num: def.param as u32 + 1,
            display_value: value.as_ref().map(|v| display(def, v)),
            value,
            is_default: self.system.is_default(def.param),
            is_modified,
        }
    }
}
