//! AUDIT, NOAUDIT, and audit policies.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

impl Parser<'_> {
    /// The words of an option, up to a comma or one of `ends`.
    fn audit_words(&mut self, ends: &[&str], code: u32) -> Result<(String, Pos)> {
        let pos = self.pos();
        let mut words = Vec::new();
        while self.at(TokenKind::Word) && !self.at_any(ends) {
            words.push(self.any_word(code)?.name);
        }
        if words.is_empty() {
            return self.fail(code);
        }
        Ok((words.join(" "), pos))
    }

    fn whenever(&mut self) -> Result<Option<bool>> {
        if !self.eat_word("WHENEVER") {
            return Ok(None);
        }
        let not = self.eat_word("NOT");
        self.expect_word("SUCCESSFUL", 990)?;
        Ok(Some(!not))
    }

    /// The rest of AUDIT or NOAUDIT.
    pub(super) fn audit(&mut self, noaudit: bool, pos: Pos) -> Result<Ddl> {
        let mut audit = Audit {
            noaudit,
            what: AuditWhat::Options(Vec::new()),
            users: Vec::new(),
            except: false,
            whenever: None,
            pos,
        };
        if self.eat_word("POLICY") {
            audit.what = AuditWhat::Policy(self.ident(46357)?);
            if let Some(except) = self.eat_any(&["BY", "EXCEPT"]) {
                audit.except = except == 1;
                audit.users = self.ident_words()?;
            }
            audit.whenever = self.whenever()?;
            self.expect_end(956)?;
            return Ok(Ddl::Audit(audit));
        }
        if self.at_word("CONTEXT") {
            return Err(Ora::unsupported().at(self.pos().0));
        }
        let options = self.comma_list(|p| p.audit_words(&["ON", "BY", "WHENEVER", "CONTAINER"], 956))?;
        if self.eat_word("ON") {
            if self.at_any(&["DEFAULT", "DIRECTORY"]) {
                return Err(Ora::unsupported().at(self.pos().0));
            }
            audit.what = AuditWhat::Object { actions: options, on: self.name(903)? };
        } else {
            audit.what = AuditWhat::Options(options);
        }
        while self.eat_word("BY") {
            match self.eat_any(&["ACCESS", "SESSION"]) {
                // BY SESSION and BY ACCESS have the same effect: each event is recorded.
                Some(_) if noaudit => return Err(Ora::new(1718).at(pos.0)),
                Some(_) => {}
                None => audit.users = self.ident_words()?,
            }
        }
        audit.whenever = self.whenever()?;
        self.expect_end(956)?;
        Ok(Ddl::Audit(audit))
    }

    fn ident_words(&mut self) -> Result<Vec<Ident>> {
        self.comma_list(|p| p.ident(987))
    }

    /// The rest of CREATE or ALTER AUDIT POLICY.
    pub(super) fn audit_policy(&mut self, alter: bool, pos: Pos) -> Result<Ddl> {
        const PARTS: &[&str] = &["PRIVILEGES", "ACTIONS", "ROLES", "WHEN", "ONLY", "CONTAINER", "CONDITION"];
        const ENDS: &[&str] =
            &["PRIVILEGES", "ACTIONS", "ROLES", "WHEN", "ONLY", "CONTAINER", "CONDITION", "ON", "ADD", "DROP"];
        let name = self.ident(46357)?;
        let mut policy = AuditPolicy { name, changes: Vec::new(), alter, pos };
        loop {
            let adds = if alter {
                match self.eat_any(&["ADD", "DROP"]) {
                    Some(which) => which == 0,
                    None => break,
                }
            } else {
                true
            };
            if !self.at_any(PARTS) {
                break;
            }
            while let Some(part) = self.eat_any(&["PRIVILEGES", "ACTIONS"]) {
                let privilege = part == 0;
                let list = self.comma_list(|p| {
                    if p.at_word("COMPONENT") {
                        return Err(Ora::unsupported().at(p.pos().0));
                    }
                    // DROP also begins names of actions.
                    let (words, pos) = match p.eat_word("DROP") {
                        true => p.audit_words(ENDS, 956).map(|(words, pos)| (format!("DROP {words}"), pos))?,
                        false => p.audit_words(ENDS, 956)?,
                    };
                    let on = if !privilege && p.eat_word("ON") { Some(p.name(903)?) } else { None };
                    Ok(AuditChange { adds, privilege, words, on, pos })
                })?;
                policy.changes.extend(list);
            }
            if self.at_any(&["ROLES", "WHEN", "ONLY", "CONDITION"]) {
                return Err(Ora::unsupported().at(self.pos().0));
            }
            if !alter {
                break;
            }
        }
        if self.eat_word("CONTAINER") {
            self.expect(TokenKind::Eq, 922)?;
            self.any_word(922)?;
        }
        if policy.changes.is_empty() {
            return self.fail(46365);
        }
        self.expect_end(922)?;
        Ok(Ddl::AuditPolicy(policy))
    }
}
