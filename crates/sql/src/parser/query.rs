//! Queries.

use super::{Parser, Queries};
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::Result;

impl Queries for Parser<'_> {
    fn inner_query(&mut self) -> Result<Query> {
        self.query()
    }

    fn rest_of_query(&mut self, first: QueryBody, pos: Pos) -> Result<Query> {
        self.query_after(first, pos)
    }
}

impl Parser<'_> {
    /// A whole query. ORA-00928 if there is no SELECT.
    pub(crate) fn query(&mut self) -> Result<Query> {
        self.beside(|p| {
            p.nested(|p| {
                let pos = p.pos();
                let with = p.with_clause()?;
                let body = p.query_operand()?;
                let mut query = p.query_after(body, pos)?;
                query.with = with;
                Ok(query)
            })
        })
    }

    /// The rest of a query whose first operand has been parsed.
    fn query_after(&mut self, mut body: QueryBody, pos: Pos) -> Result<Query> {
        loop {
            let op_pos = self.pos();
            let op = match self.eat_any(&["UNION", "MINUS", "EXCEPT", "INTERSECT"]) {
                Some(0) => SetOp::Union,
                Some(1 | 2) => SetOp::Minus,
                Some(_) => SetOp::Intersect,
                None => break,
            };
            self.set_link()?;
            let all = self.eat_word("ALL");
            let right = Box::new(self.query_operand()?);
            body = QueryBody::SetOperation { op, all, left: Box::new(body), right, pos: op_pos };
        }
        let order_by = self.order_by()?;
        let limit = self.row_limit()?;
        let for_update = self.for_update()?;
        Ok(Query { with: Vec::new(), body, order_by, limit, for_update, pos })
    }

    fn query_operand(&mut self) -> Result<QueryBody> {
        if self.at(TokenKind::LeftParen) {
            return self.nested(|p| {
                p.left_paren()?;
                let query = p.query()?;
                p.right_paren()?;
                Ok(QueryBody::Nested(Box::new(query)))
            });
        }
        Ok(QueryBody::Select(Box::new(self.select()?)))
    }

    fn with_clause(&mut self) -> Result<Vec<Cte>> {
        if !self.eat_word("WITH") {
            return Ok(Vec::new());
        }
        self.comma_list(Self::cte)
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.ident(903)?;
        let columns = if self.at(TokenKind::LeftParen) { self.ident_list(904)? } else { Vec::new() };
        self.expect_word("AS", 905)?;
        self.left_paren()?;
        let query = self.query()?;
        self.right_paren()?;
        let search = self.search()?;
        let cycle = self.cycle()?;
        Ok(Cte { name, columns, query, search, cycle })
    }

    fn search(&mut self) -> Result<Option<Search>> {
        if !self.eat_word("SEARCH") {
            return Ok(None);
        }
        let depth_first = match self.eat_any(&["DEPTH", "BREADTH"]) {
            Some(at) => at == 0,
            None => return self.fail(905),
        };
        self.expect_word("FIRST", 905)?;
        self.expect_word("BY", 905)?;
        let keys = self.comma_list(|p| {
            let column = p.ident(904)?;
            let (descending, nulls_first) = p.sort_direction()?;
            Ok(SearchKey { column, descending, nulls_first })
        })?;
        self.expect_word("SET", 905)?;
        let sequence = self.ident(904)?;
        Ok(Some(Search { depth_first, keys, sequence }))
    }

    fn cycle(&mut self) -> Result<Option<Cycle>> {
        if !self.eat_word("CYCLE") {
            return Ok(None);
        }
        let columns = self.comma_list(|p| p.ident(904))?;
        self.expect_word("SET", 905)?;
        let mark = self.ident(904)?;
        self.expect_word("TO", 905)?;
        let value = Box::new(self.value()?);
        self.expect_word("DEFAULT", 905)?;
        let otherwise = Box::new(self.value()?);
        Ok(Some(Cycle { columns, mark, value, otherwise }))
    }

    fn select(&mut self) -> Result<Select> {
        let pos = self.pos();
        self.expect_word("SELECT", 928)?;
        let hints = self.hints_here();
        let distinct = self.eat_any(&["DISTINCT", "UNIQUE"]).is_some();
        if !distinct {
            self.eat_word("ALL");
        }
        let items = self.comma_list(Self::select_item)?;
        if let Some(star) = items.iter().skip(1).find(|item| matches!(item.kind, SelectItemKind::Star)) {
            return Err(self.error_at(936, star.pos));
        }
        let into = self.parse_into()?;
        let from_pos = self.pos();
        self.expect_word("FROM", 923)?;
        let from = self.comma_list(Self::table_ref)?;
        let mut select = Select { hints, distinct, into, ..Select::new(items, from, pos, from_pos) };
        self.select_clauses(&mut select)?;
        Ok(select)
    }

    fn select_clauses(&mut self, select: &mut Select) -> Result<()> {
        if self.eat_word("WHERE") {
            select.filter = Some(self.condition()?);
        }
        select.connect_by = self.connect_by()?;
        // GROUP BY and HAVING may be in either order.
        loop {
            if select.group_by.is_none() && self.at_word("GROUP") {
                select.group_by = Some(self.group_by()?);
            } else if select.having.is_none() && self.eat_word("HAVING") {
                select.having = Some(self.condition()?);
            } else {
                return Ok(());
            }
        }
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        let pos = self.pos();
        if self.eat(TokenKind::Star) {
            // `*` alone must be the whole list.
            if self.at(TokenKind::Comma) {
                return self.fail(923);
            }
            return Ok(SelectItem { kind: SelectItemKind::Star, pos });
        }
        if let Some(name) = self.table_star()? {
            return Ok(SelectItem { kind: SelectItemKind::TableStar(name), pos });
        }
        let expr = self.value()?;
        let text = ItemText(self.text_since(pos).to_owned());
        let alias = self.column_alias()?;
        Ok(SelectItem { kind: SelectItemKind::Expr { expr, alias, text }, pos })
    }

    /// `t.*`, `s.t.*`.
    fn table_star(&mut self) -> Result<Option<Name>> {
        let mut ahead = 0;
        while self.ident_ahead(ahead) && self.kind_ahead(ahead + 1, TokenKind::Dot) {
            if self.kind_ahead(ahead + 2, TokenKind::Star) {
                let first = self.ident(903)?;
                let name = self.name_after(first, 903)?;
                self.at += 2;
                return Ok(Some(name));
            }
            ahead += 2;
        }
        Ok(None)
    }

    fn column_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat_word("AS") {
            return Ok(Some(self.ident(923)?));
        }
        if self.at_ident() && !self.at_words(&["BULK", "COLLECT"]) {
            return Ok(Some(self.ident(923)?));
        }
        Ok(None)
    }

    /// `[BULK COLLECT] INTO targets [LIMIT n]`.
    pub(super) fn parse_into(&mut self) -> Result<Option<IntoClause>> {
        let pos = self.pos();
        let bulk = self.eat_words(&["BULK", "COLLECT"]);
        if !self.eat_word("INTO") {
            return if bulk { self.fail(925) } else { Ok(None) };
        }
        let targets = self.value_list()?;
        Ok(Some(IntoClause { bulk, targets, pos }))
    }

    fn connect_by(&mut self) -> Result<Option<ConnectBy>> {
        let pos = self.pos();
        let mut start_with = None;
        if self.at_words(&["START", "WITH"]) {
            self.at += 2;
            start_with = Some(self.condition()?);
        }
        if !self.eat_word("CONNECT") {
            return if start_with.is_some() { self.fail(1788) } else { Ok(None) };
        }
        self.expect_word("BY", 924)?;
        let nocycle = self.eat_word("NOCYCLE");
        let condition = self.condition()?;
        if start_with.is_none() && self.eat_words(&["START", "WITH"]) {
            start_with = Some(self.condition()?);
        }
        Ok(Some(ConnectBy { start_with, nocycle, condition, pos }))
    }

    fn group_by(&mut self) -> Result<GroupBy> {
        let pos = self.pos();
        self.bump();
        self.expect_word("BY", 924)?;
        let elements = self.comma_list(Self::group_element)?;
        Ok(GroupBy { elements, pos })
    }

    fn group_element(&mut self) -> Result<GroupElement> {
        self.nested(|p| {
            let paren = p.kind_ahead(1, TokenKind::LeftParen);
            if paren && let Some(i) = p.eat_any(&["ROLLUP", "CUBE"]) {
                p.left_paren()?;
                let list = p.comma_list(Self::value_or_row)?;
                p.right_paren()?;
                return Ok(if i == 0 { GroupElement::Rollup(list) } else { GroupElement::Cube(list) });
            }
            if p.eat_words(&["GROUPING", "SETS"]) {
                p.left_paren()?;
                let list = p.comma_list(Self::group_element)?;
                p.right_paren()?;
                return Ok(GroupElement::GroupingSets(list));
            }
            if p.at(TokenKind::LeftParen) && p.kind_ahead(1, TokenKind::RightParen) {
                let pos = p.pos();
                p.at += 2;
                return Ok(GroupElement::Expr(Expr::new(ExprKind::Row(Vec::new()), pos)));
            }
            Ok(GroupElement::Expr(p.value_or_row()?))
        })
    }

    fn order_by(&mut self) -> Result<Option<OrderBy>> {
        let pos = self.pos();
        if !self.at_word("ORDER") {
            return Ok(None);
        }
        let siblings = self.word_ahead(1, "SIBLINGS");
        let items = self.order_by_items()?;
        Ok(Some(OrderBy { siblings, items, pos }))
    }

    fn row_limit(&mut self) -> Result<Option<RowLimit>> {
        let pos = self.pos();
        let mut offset = None;
        if self.eat_word("OFFSET") {
            offset = Some(self.value()?);
            if self.eat_any(&["ROW", "ROWS"]).is_none() {
                return self.fail(905);
            }
        }
        let mut fetch = None;
        if self.eat_word("FETCH") {
            fetch = Some(self.fetch_first()?);
        }
        Ok((offset.is_some() || fetch.is_some()).then_some(RowLimit { offset, fetch, pos }))
    }

    fn fetch_first(&mut self) -> Result<Fetch> {
        if self.eat_any(&["FIRST", "NEXT"]).is_none() {
            return self.fail(905);
        }
        let mut fetch = Fetch { count: None, percent: false, with_ties: false };
        if !self.at_any(&["ROW", "ROWS"]) {
            fetch.count = Some(self.value()?);
            fetch.percent = self.eat_word("PERCENT");
        }
        if self.eat_any(&["ROW", "ROWS"]).is_none() {
            return self.fail(905);
        }
        fetch.with_ties = self.eat_words(&["WITH", "TIES"]);
        if !fetch.with_ties {
            self.expect_word("ONLY", 905)?;
        }
        Ok(fetch)
    }

    fn for_update(&mut self) -> Result<Option<ForUpdate>> {
        let pos = self.pos();
        if !self.eat_words(&["FOR", "UPDATE"]) {
            return Ok(None);
        }
        let mut of = Vec::new();
        if self.eat_word("OF") {
            of = self.comma_list(|p| p.name(904))?;
        }
        let wait = self.lock_wait()?;
        Ok(Some(ForUpdate { of, wait, pos }))
    }

    /// `NOWAIT`, `WAIT n`, `SKIP LOCKED` or nothing.
    pub(super) fn lock_wait(&mut self) -> Result<LockWait> {
        if self.eat_word("NOWAIT") {
            return Ok(LockWait::NoWait);
        }
        if self.eat_words(&["SKIP", "LOCKED"]) {
            return Ok(LockWait::SkipLocked);
        }
        if self.eat_word("WAIT") {
            if !matches!(self.kind(), TokenKind::Number | TokenKind::Bind) {
                return self.fail(30005);
            }
            return Ok(LockWait::Seconds(Box::new(self.value()?)));
        }
        Ok(LockWait::Wait)
    }
}
