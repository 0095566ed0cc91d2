//! Statements and blocks.

use super::reserved::is_reserved;
use super::{PResult, Parser, STATEMENT_START};
use crate::plsql::ast::*;

impl Parser<'_> {
    /// `[<<label>>] [DECLARE …] BEGIN … END [label]`
    pub(super) fn block(&mut self, labels: Vec<Ident>) -> PResult<Block> {
        let pos = self.pos();
        let declarations = if self.eat_word("DECLARE") { self.declarations()? } else { Vec::new() };
        let body = self.body()?;
        if self.at_name() && !self.at_symbol(";") {
            self.any_ident()?;
        }
        Ok(Block { labels, declarations, body, pos })
    }

    /// `BEGIN … [EXCEPTION …] END`, without what follows `END`.
    pub(super) fn body(&mut self) -> PResult<Body> {
        let pos = self.pos();
        if !self.eat_word("BEGIN") {
            return Err(self.unexpected(super::DECLARATION_OR_BEGIN));
        }
        let statements = self.statements(&["END", "EXCEPTION"])?;
        let mut handlers = Vec::new();
        if self.eat_word("EXCEPTION") {
            if !self.at_word("WHEN") {
                return Err(self.unexpected(&["when"]));
            }
            while self.at_word("WHEN") {
                handlers.push(self.handler()?);
            }
        }
        let end_pos = self.pos();
        self.expect_word("END")?;
        Ok(Body { statements, handlers, pos, end_pos })
    }

    fn handler(&mut self) -> PResult<Handler> {
        let pos = self.bump();
        let mut exceptions = Vec::new();
        if !self.eat_word("OTHERS") {
            exceptions.push(self.path()?);
            while self.eat_word("OR") {
                exceptions.push(self.path()?);
            }
        }
        self.expect_word("THEN")?;
        let statements = self.statements(&["WHEN", "END"])?;
        Ok(Handler { exceptions, statements, pos })
    }

    /// Statements up to one of `stops`; at least one is required.
    fn statements(&mut self, stops: &[&str]) -> PResult<Vec<Statement>> {
        let mut list = Vec::new();
        loop {
            if stops.iter().any(|s| self.at_word(s)) && !list.is_empty() {
                return Ok(list);
            }
            list.push(self.statement()?);
        }
    }

    fn statement(&mut self) -> PResult<Statement> {
        self.deeper(|p| {
            let mut labels = Vec::new();
            while p.at_symbol("<<") {
                p.bump();
                labels.push(p.ident()?);
                p.expect_symbol(">>")?;
            }
            let pos = p.pos();
            // A label before END must be followed by NULL, otherwise PLS-00103.
            let kind = p.statement_kind(&labels)?;
            Ok(Statement { labels, kind, pos })
        })
    }

    fn statement_kind(&mut self, labels: &[Ident]) -> PResult<StatementKind> {
        let word = self.unquoted_word();
        let named = self.symbol_at(1, ":=") || self.symbol_at(1, ".") || self.symbol_at(1, "(");
        let kind = match word.as_deref() {
            Some("NULL") => {
                self.bump();
                StatementKind::Null
            }
            Some("BEGIN" | "DECLARE") => StatementKind::Block(self.block(labels.to_vec())?),
            Some("IF") => self.if_statement()?,
            Some("CASE") => self.case_statement()?,
            Some("LOOP") => {
                self.bump();
                StatementKind::Loop { body: self.loop_body()? }
            }
            Some("WHILE") => {
                self.bump();
                let condition = self.expr()?;
                self.expect_word("LOOP")?;
                StatementKind::While { condition, body: self.loop_body()? }
            }
            Some("FOR") => self.for_statement()?,
            Some("FORALL") if self.name_at(1) => self.forall_statement()?,
            Some("EXIT") if !named => {
                self.bump();
                let (label, when) = self.exit_tail()?;
                StatementKind::Exit { label, when }
            }
            Some("CONTINUE") if !named => {
                self.bump();
                let (label, when) = self.exit_tail()?;
                StatementKind::Continue { label, when }
            }
            Some("GOTO") => {
                self.bump();
                StatementKind::Goto(self.ident()?)
            }
            Some("RETURN") => {
                self.bump();
                StatementKind::Return(if self.at_symbol(";") { None } else { Some(self.expr()?) })
            }
            Some("RAISE") => {
                self.bump();
                StatementKind::Raise(if self.at_symbol(";") { None } else { Some(self.path()?) })
            }
            Some("SELECT" | "WITH" | "INSERT" | "UPDATE" | "MERGE" | "LOCK") => StatementKind::Sql(self.sql_text()?),
            Some("DELETE") if !named => StatementKind::Sql(self.sql_text()?),
            Some("COMMIT") if !named => self.commit()?,
            Some("ROLLBACK") if !named => self.rollback()?,
            Some("SAVEPOINT") if !named => {
                self.bump();
                StatementKind::Savepoint(self.any_ident()?)
            }
            Some("SET") if self.word_at(1, "TRANSACTION") => StatementKind::SetTransaction(self.sql_text()?),
            Some("OPEN") if !named => self.open_statement()?,
            Some("FETCH") if !named => self.fetch_statement()?,
            Some("CLOSE") if !named => {
                self.bump();
                StatementKind::Close(self.target()?)
            }
            Some("EXECUTE") if self.word_at(1, "IMMEDIATE") => self.execute_immediate()?,
            Some("PIPE") if self.word_at(1, "ROW") => {
                self.bump();
                self.bump();
                self.expect_symbol("(")?;
                let row = self.expr()?;
                self.expect_symbol(")")?;
                StatementKind::PipeRow(row)
            }
            Some("PRAGMA") => {
                self.pragma()?;
                StatementKind::Null
            }
            _ => return self.assignment_or_call(),
        };
        self.expect_semicolon()?;
        Ok(kind)
    }

    fn assignment_or_call(&mut self) -> PResult<StatementKind> {
        let pos = self.pos();
        let is_treat = self.at_word("TREAT") && self.symbol_at(1, "(");
        if is_treat || self.at_view() {
            let kind = if is_treat { self.treat()? } else { ExprKind::Name(self.view()?) };
            self.expect_semicolon()?;
            return Ok(StatementKind::Call(Expr { kind, pos }));
        }
        let reserved = self.unquoted_word().is_some_and(|w| is_reserved(&w));
        if (!self.at_name() && !self.at_bind()) || reserved {
            return Err(self.unexpected(STATEMENT_START));
        }
        let target = self.target()?;
        if self.at_symbol(":=") {
            self.bump();
            let value = self.expr()?;
            self.expect_semicolon()?;
            return Ok(StatementKind::Assign { target, value });
        }
        if matches!(target.kind, ExprKind::Bind { .. }) {
            return Err(self.unexpected(&[":=", ".", "(", "indicator"]));
        }
        if !self.at_symbol(";") {
            return Err(self.unexpected(&[":=", ".", "(", "@", "%", ";"]));
        }
        self.bump();
        Ok(StatementKind::Call(target))
    }

    fn if_statement(&mut self) -> PResult<StatementKind> {
        self.bump();
        let mut branches = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect_word("THEN")?;
            branches.push((condition, self.statements(&["ELSIF", "ELSE", "END"])?));
            if !self.eat_word("ELSIF") {
                break;
            }
        }
        let otherwise = if self.eat_word("ELSE") { Some(self.statements(&["END"])?) } else { None };
        self.expect_word("END")?;
        self.expect_word("IF")?;
        Ok(StatementKind::If { branches, otherwise })
    }

    fn case_statement(&mut self) -> PResult<StatementKind> {
        self.bump();
        let operand = if self.at_word("WHEN") { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = self.expr()?;
            self.expect_word("THEN")?;
            branches.push((when, self.statements(&["WHEN", "ELSE", "END"])?));
        }
        if branches.is_empty() {
            return Err(self.unexpected(&["when"]));
        }
        let otherwise = if self.eat_word("ELSE") { Some(self.statements(&["END"])?) } else { None };
        self.expect_word("END")?;
        self.expect_word("CASE")?;
        self.end_label();
        Ok(StatementKind::Case { operand, branches, otherwise })
    }

    fn loop_body(&mut self) -> PResult<Vec<Statement>> {
        let body = self.statements(&["END"])?;
        self.expect_word("END")?;
        self.expect_word("LOOP")?;
        self.end_label();
        Ok(body)
    }

    fn end_label(&mut self) {
        if self.at_name() {
            self.skip();
        }
    }

    fn for_statement(&mut self) -> PResult<StatementKind> {
        self.bump();
        let variable = self.ident()?;
        self.expect_word("IN")?;
        if self.at_symbol("(") && (self.word_at(1, "SELECT") || self.word_at(1, "WITH")) {
            self.bump();
            let query = self.sql_text()?;
            self.expect_symbol(")")?;
            self.expect_word("LOOP")?;
            let source = CursorSource::Query(query);
            return Ok(StatementKind::ForCursor { variable, source, body: self.loop_body()? });
        }
        let reverse = self.eat_word("REVERSE");
        let low = self.expr()?;
        if self.at_symbol("..") {
            self.bump();
            let high = self.expr()?;
            self.expect_word("LOOP")?;
            return Ok(StatementKind::ForRange { variable, reverse, low, high, body: self.loop_body()? });
        }
        if reverse || !matches!(low.kind, ExprKind::Name(_)) {
            return Err(self.unexpected(&[".."]));
        }
        self.expect_word_or("LOOP", &[".", "(", "..", "loop"])?;
        let source = CursorSource::Cursor(low);
        Ok(StatementKind::ForCursor { variable, source, body: self.loop_body()? })
    }

    fn forall_statement(&mut self) -> PResult<StatementKind> {
        self.bump();
        let variable = self.ident()?;
        self.expect_word("IN")?;
        let bounds = if self.at_word("INDICES") && self.word_at(1, "OF") {
            self.bump();
            self.bump();
            let collection = self.target()?;
            let between = if self.eat_word("BETWEEN") {
                // The bounds are arithmetic expressions: AND ends the lower one.
                let (low, high) = self.between_bounds()?;
                Some((low, high))
            } else {
                None
            };
            ForAllBounds::IndicesOf { collection, between }
        } else if self.at_word("VALUES") && self.word_at(1, "OF") {
            self.bump();
            self.bump();
            ForAllBounds::ValuesOf(self.target()?)
        } else {
            let low = self.expr()?;
            self.expect_symbol("..")?;
            ForAllBounds::Range { low, high: self.expr()? }
        };
        let save_exceptions = self.eat_word("SAVE");
        if save_exceptions {
            self.expect_word("EXCEPTIONS")?;
        }
        let sql = match self.unquoted_word().as_deref() {
            Some("INSERT" | "UPDATE" | "DELETE" | "MERGE") => StatementKind::Sql(self.sql_text()?),
            Some("EXECUTE") if self.word_at(1, "IMMEDIATE") => self.execute_immediate()?,
            _ => return Err(self.unexpected(&["insert", "update", "delete", "merge", "execute", "save"])),
        };
        Ok(StatementKind::ForAll { variable, bounds, save_exceptions, sql: Box::new(sql) })
    }

    fn between_bounds(&mut self) -> PResult<(Expr, Expr)> {
        let whole = self.expr()?;
        match whole.kind {
            ExprKind::Binary { op: BinaryOp::And, left, right } => Ok((*left, *right)),
            _ => Err(self.unexpected(&["and"])),
        }
    }

    fn exit_tail(&mut self) -> PResult<(Option<Ident>, Option<Expr>)> {
        let label = if self.at_name() && !self.at_word("WHEN") { Some(self.ident()?) } else { None };
        let when = if self.eat_word("WHEN") { Some(self.expr()?) } else { None };
        Ok((label, when))
    }

    fn commit(&mut self) -> PResult<StatementKind> {
        self.bump();
        self.eat_word("WORK");
        if self.eat_word("COMMENT") && self.take_string().is_none() {
            return Err(self.unexpected(&["<a string literal>"]));
        }
        if self.eat_word("WRITE") {
            while ["WAIT", "NOWAIT", "IMMEDIATE", "BATCH"].iter().any(|w| self.at_word(w)) {
                self.skip();
            }
        }
        Ok(StatementKind::Commit)
    }

    fn rollback(&mut self) -> PResult<StatementKind> {
        self.bump();
        self.eat_word("WORK");
        let to = if self.eat_word("TO") {
            self.eat_word("SAVEPOINT");
            Some(self.any_ident()?)
        } else {
            None
        };
        Ok(StatementKind::Rollback { to })
    }

    fn open_statement(&mut self) -> PResult<StatementKind> {
        self.bump();
        let mut cursor = self.target()?;
        if !self.eat_word("FOR") {
            let mut arguments = Vec::new();
            if let ExprKind::Name(name) = &mut cursor.kind
                && let Some(Part::Call(_)) = name.parts.last()
                && let Some(Part::Call(list)) = name.parts.pop()
            {
                arguments = list;
            }
            return Ok(StatementKind::Open { cursor, arguments });
        }
        if self.at_word("SELECT") || self.at_word("WITH") {
            return Ok(StatementKind::OpenFor { cursor, query: self.sql_text()? });
        }
        let text = self.expr()?;
        let using = self.using()?;
        Ok(StatementKind::OpenForDynamic { cursor, text, using })
    }

    fn fetch_statement(&mut self) -> PResult<StatementKind> {
        self.bump();
        let cursor = self.target()?;
        let into = self.into_clause()?;
        let limit = if self.eat_word("LIMIT") { Some(self.expr()?) } else { None };
        Ok(StatementKind::Fetch { cursor, into, limit })
    }

    fn execute_immediate(&mut self) -> PResult<StatementKind> {
        self.bump();
        self.bump();
        let text = self.expr()?;
        let mut into = None;
        let mut using = Vec::new();
        let mut returning = None;
        loop {
            if self.at_word("INTO") || self.at_word("BULK") {
                into = Some(self.into_clause()?);
            } else if self.at_word("USING") {
                using = self.using()?;
            } else if self.eat_word("RETURNING") || self.eat_word("RETURN") {
                returning = Some(self.into_clause()?);
            } else {
                return Ok(StatementKind::ExecuteImmediate { text, into, using, returning });
            }
        }
    }

    fn using(&mut self) -> PResult<Vec<UsingArgument>> {
        if !self.eat_word("USING") {
            return Ok(Vec::new());
        }
        self.comma_list(|p| {
            let mode = if p.eat_word("IN") {
                if p.eat_word("OUT") { Mode::InOut } else { Mode::In }
            } else if p.at_word("OUT") && !p.symbol_at(1, ",") && !p.symbol_at(1, ";") {
                p.skip();
                Mode::Out
            } else {
                Mode::In
            };
            Ok(UsingArgument { mode, value: p.expr()? })
        })
    }
}
