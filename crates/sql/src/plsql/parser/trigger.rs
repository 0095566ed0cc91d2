//! Triggers: on tables and views, simple and compound; on schemas and the database.
//!
//! CREATE TRIGGER stores a trigger whose body has errors, but not one whose header has: the header names the table. The
//! header can therefore be parsed alone, and its errors are those of a statement.

use super::{PResult, Parser};
use crate::lexer::TokenKind;
use crate::plsql::ast::*;
use types::Ora;

/// The events that no statement or change of state here brings about.
const OTHER_EVENTS: &[&str] = &["ASSOCIATE", "CLONE", "DB_ROLE_CHANGE", "DISASSOCIATE", "SET", "SUSPEND", "UNPLUG"];

/// Parses the header of a trigger's source, which begins at the word TRIGGER. The body is not examined.
///
/// # Errors
/// Those of CREATE TRIGGER; ORA-03001 for triggers that are not supported.
pub fn parse_trigger_header(source: &str) -> Result<TriggerHeader, Ora> {
    Parser::new(source).trigger_header()
}

impl Parser<'_> {
    pub(super) fn trigger(&mut self) -> PResult<Unit> {
        let header = self.trigger_header()?;
        let mut sections = Vec::new();
        let block = match header.calls {
            true => self.called_body()?,
            false if header.timing == TriggerTiming::Compound => {
                let (block, all) = self.compound(&header.name)?;
                sections = all;
                block
            }
            false => {
                let labels = self.leading_labels()?;
                let block = self.block(labels)?;
                self.expect_semicolon()?;
                block
            }
        };
        Ok(Unit::Trigger(Box::new(Trigger { header, block, sections })))
    }

    /// The declarations and the sections of a compound trigger.
    fn compound(&mut self, name: &Ident) -> PResult<(Block, Vec<TriggerSection>)> {
        let pos = self.bump();
        self.bump();
        let mut declarations = Vec::new();
        while self.timing_point().is_none() && !self.at_word("END") && !self.at_end() {
            declarations.push(self.declaration()?);
        }
        let mut sections: Vec<TriggerSection> = Vec::new();
        while let Some(point) = self.timing_point() {
            if sections.iter().any(|section| section.point == point) {
                return Err(self.error_at(371, &[point.name()], self.pos()));
            }
            sections.push(self.section(point)?);
        }
        if sections.is_empty() {
            return Err(self.unexpected(&["after", "before", "instead"]));
        }
        let end_pos = self.pos();
        self.expect_word_or("END", &["after", "before", "end", "instead"])?;
        if self.at_name() {
            let word = self.any_ident()?;
            if word.name != name.name {
                return Err(self.end_mismatch(&word, name));
            }
        }
        self.expect_semicolon()?;
        let body = Body { statements: Vec::new(), handlers: Vec::new(), pos, end_pos };
        Ok((Block { labels: Vec::new(), declarations, body, pos }, sections))
    }

    fn timing_point(&self) -> Option<TimingPoint> {
        let is_row = self.word_at(1, "EACH") && self.word_at(2, "ROW");
        match () {
            () if self.at_word("BEFORE") && self.word_at(1, "STATEMENT") => Some(TimingPoint::BeforeStatement),
            () if self.at_word("AFTER") && self.word_at(1, "STATEMENT") => Some(TimingPoint::AfterStatement),
            () if self.at_word("BEFORE") && is_row => Some(TimingPoint::BeforeRow),
            () if self.at_word("AFTER") && is_row => Some(TimingPoint::AfterRow),
            () => None,
        }
    }

    fn section(&mut self, point: TimingPoint) -> PResult<TriggerSection> {
        let pos = self.pos();
        self.timing_words(point)?;
        if !self.eat_word("IS") {
            self.expect_word_or("AS", &["is", "as"])?;
        }
        let declarations = self.declarations()?;
        let body = self.body()?;
        self.timing_words(point)?;
        self.expect_semicolon()?;
        Ok(TriggerSection { point, declarations, body, pos })
    }

    fn timing_words(&mut self, point: TimingPoint) -> PResult<()> {
        point.name().split(' ').try_for_each(|word| self.expect_word(word))
    }

    /// `CALL procedure(arguments)` as a block.
    fn called_body(&mut self) -> PResult<Block> {
        let pos = self.pos();
        let call = Expr { kind: ExprKind::Name(self.name()?), pos };
        if self.at_symbol(";") {
            self.bump();
        }
        let statements = vec![Statement { labels: Vec::new(), kind: StatementKind::Call(call), pos }];
        let body = Body { statements, handlers: Vec::new(), pos, end_pos: self.previous_end() };
        Ok(Block { labels: Vec::new(), declarations: Vec::new(), body, pos })
    }

    fn refused(&self, code: u32) -> Ora {
        Ora::new(code).at(self.pos())
    }

    fn trigger_header(&mut self) -> PResult<TriggerHeader> {
        let (_, mut path) = self.unit_name()?;
        let name = path.pop().expect("a path has a last part");
        let timing = if self.eat_word("BEFORE") {
            TriggerTiming::Before
        } else if self.eat_word("AFTER") {
            TriggerTiming::After
        } else if self.eat_word("INSTEAD") {
            self.expect_word("OF")?;
            TriggerTiming::InsteadOf
        } else if self.eat_word("FOR") {
            TriggerTiming::Compound
        } else {
            return Err(self.refused(4071));
        };
        let mut events = vec![self.trigger_event()?];
        while self.eat_word("OR") {
            events.push(self.trigger_event()?);
        }
        if !self.eat_word("ON") {
            return Err(self.refused(969));
        }
        if self.at_word("NESTED") && self.word_at(1, "TABLE") {
            return Err(self.refused(3001));
        }
        let scope = self.trigger_scope()?;
        let table = if scope == TriggerScope::Table { self.path()? } else { Vec::new() };
        self.check_scope(&scope, timing, &events)?;
        let is_compound = timing == TriggerTiming::Compound;
        if scope != TriggerScope::Table && self.at_word("REFERENCING") {
            return Err(self.refused(30503));
        }
        if scope != TriggerScope::Table && self.at_word("FOR") && !is_compound {
            return Err(self.refused(30504));
        }
        let (old_alias, new_alias) = self.referencing()?;
        let for_each_row = !is_compound && self.eat_word("FOR");
        if for_each_row && !(self.eat_word("EACH") && self.eat_word("ROW")) {
            return Err(self.refused(4079));
        }
        if self.at_word("FORWARD")
            || self.at_word("REVERSE")
            || self.at_word("CROSSEDITION")
            || self.at_word("PRECEDES")
        {
            return Err(self.refused(3001));
        }
        let follows = if self.eat_word("FOLLOWS") { self.comma_list(|p| p.path())? } else { Vec::new() };
        let enabled = !self.eat_word("DISABLE");
        if enabled {
            self.eat_word("ENABLE");
        }
        let when = self.when_clause()?;
        let action = self.pos();
        let calls = self.eat_word("CALL");
        let body = self.pos();
        if is_compound && !(self.at_word("COMPOUND") && self.word_at(1, "TRIGGER") && !calls) {
            return Err(self.refused(4079));
        }
        if !is_compound && !calls && !self.at_word("BEGIN") && !self.at_word("DECLARE") && !self.at_symbol("<<") {
            return Err(self.refused(4079));
        }
        Ok(TriggerHeader {
            schema: path.pop(),
            name,
            timing,
            events,
            scope,
            table,
            old_alias,
            new_alias,
            for_each_row,
            follows,
            enabled,
            when,
            action,
            body,
            calls,
        })
    }

    /// `[owner.]SCHEMA` or `[PLUGGABLE] DATABASE`, behind ON. A name of more than these words is a table.
    fn trigger_scope(&mut self) -> PResult<TriggerScope> {
        let is_end = |ahead: usize| self.token(ahead).kind != TokenKind::Dot;
        if self.at_word("DATABASE") && is_end(1) {
            self.bump();
            return Ok(TriggerScope::Database);
        }
        if self.at_word("PLUGGABLE") && self.word_at(1, "DATABASE") {
            self.bump();
            self.bump();
            return Ok(TriggerScope::Database);
        }
        let pos = self.pos();
        if self.at_word("SCHEMA") && is_end(1) {
            self.bump();
            return Ok(TriggerScope::Schema(None, pos));
        }
        if self.token(1).kind == TokenKind::Dot && self.word_at(2, "SCHEMA") && is_end(3) {
            let owner = self.any_ident()?;
            self.bump();
            self.bump();
            return Ok(TriggerScope::Schema(Some(owner), pos));
        }
        Ok(TriggerScope::Table)
    }

    /// The rules for the events of a trigger on a table, a schema or the database.
    fn check_scope(&self, scope: &TriggerScope, timing: TriggerTiming, events: &[TriggerEvent]) -> PResult<()> {
        let mut systems = events.iter().filter_map(|event| match event {
            TriggerEvent::System(event) => Some(*event),
            TriggerEvent::Insert | TriggerEvent::Update(_) | TriggerEvent::Delete => None,
        });
        let found = systems.clone().count();
        if *scope == TriggerScope::Table {
            return if found == 0 { Ok(()) } else { Err(self.refused(30506)) };
        }
        if found < events.len() {
            return Err(self.refused(if found == 0 { 30507 } else { 30502 }));
        }
        match timing {
            TriggerTiming::InsteadOf if systems.clone().all(|event| event == SystemEvent::Create) => {
                return Err(self.refused(3001));
            }
            TriggerTiming::InsteadOf => return Err(self.refused(30513)),
            TriggerTiming::Compound => return Err(self.refused(3001)),
            TriggerTiming::Before | TriggerTiming::After => {}
        }
        let is_before = timing == TriggerTiming::Before;
        let wrong = systems.clone().find_map(|event| event.time().filter(|(_, before)| *before != is_before));
        if let Some((code, _)) = wrong {
            return Err(self.refused(code));
        }
        let is_of_instance = |event| matches!(event, SystemEvent::Startup | SystemEvent::Shutdown);
        if *scope != TriggerScope::Database && systems.any(is_of_instance) {
            return Err(self.refused(4072));
        }
        Ok(())
    }

    /// The aliases of the old and the new row.
    fn referencing(&mut self) -> PResult<(String, String)> {
        let (mut old, mut new) = ("OLD".to_string(), "NEW".to_string());
        if self.eat_word("REFERENCING") {
            while self.at_word("OLD") || self.at_word("NEW") || self.at_word("PARENT") {
                if self.at_word("PARENT") {
                    return Err(self.refused(3001));
                }
                let is_old = self.at_word("OLD");
                self.bump();
                self.eat_word("AS");
                let alias = self.any_ident()?.name;
                if is_old { old = alias } else { new = alias }
            }
        }
        Ok((old, new))
    }

    fn when_clause(&mut self) -> PResult<Option<When>> {
        let pos = self.pos();
        if !self.eat_word("WHEN") {
            return Ok(None);
        }
        self.expect_symbol("(")?;
        let start = self.pos();
        self.check_condition()?;
        let condition = self.expr()?;
        let span = Span { start, end: self.previous_end() };
        self.expect_symbol(")")?;
        Ok(Some(When { condition, span, pos }))
    }

    /// Checks the condition of WHEN, behind its parenthesis, for bind variables and subqueries: both have errors of
    /// their own.
    fn check_condition(&self) -> PResult<()> {
        let (mut ahead, mut open) = (0, 1);
        while open > 0 {
            let token = self.token(ahead);
            match token.kind {
                TokenKind::End => break,
                TokenKind::Bind => return Err(Ora::new(25000).at(token.start)),
                TokenKind::Word if self.word_at(ahead, "SELECT") => return Err(Ora::new(2251).at(token.start)),
                TokenKind::LeftParen => open += 1,
                TokenKind::RightParen => open -= 1,
                // not a clause: other tokens are left to the parser
                _ => {}
            }
            ahead += 1;
        }
        Ok(())
    }

    fn trigger_event(&mut self) -> PResult<TriggerEvent> {
        if self.eat_word("INSERT") {
            return Ok(TriggerEvent::Insert);
        }
        if self.eat_word("DELETE") {
            return Ok(TriggerEvent::Delete);
        }
        if self.eat_word("UPDATE") {
            let columns = if self.eat_word("OF") { self.comma_list(|p| p.ident())? } else { Vec::new() };
            return Ok(TriggerEvent::Update(columns));
        }
        let Some(word) = self.unquoted_word() else { return Err(self.refused(4072)) };
        match SystemEvent::of_word(&word) {
            Some(event) => {
                self.bump();
                Ok(TriggerEvent::System(event))
            }
            None => Err(self.refused(if OTHER_EVENTS.contains(&word.as_str()) { 3001 } else { 4072 })),
        }
    }
}
