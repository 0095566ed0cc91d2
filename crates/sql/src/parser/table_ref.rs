//! Row sources in FROM: tables, inline views, collections, joins and pivots.

use super::{Parser, Queries};
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::Result;

/// Most joins in a chain.
const JOIN_CHAIN_MAX: u32 = 500;

/// Words that may follow a table and are therefore not its alias, although they are not reserved.
const NOT_ALIASES: &[&str] = &[
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "NATURAL",
    "USING",
    "FETCH",
    "OFFSET",
    "PARTITION",
    "SUBPARTITION",
    "SAMPLE",
    "PIVOT",
    "UNPIVOT",
    "MODEL",
    "MATCH_RECOGNIZE",
    "VERSIONS",
    "LOG",
    "RETURNING",
    "RETURN",
    "EXCEPT",
    "LATERAL",
];

/// The content of parentheses in FROM.
enum TableParen {
    Query(Box<Query>, Option<Restriction>),
    Source(TableRef),
}

impl Parser<'_> {
    /// One element of FROM with its joins.
    pub(crate) fn table_ref(&mut self) -> Result<TableRef> {
        let first = self.table_primary()?;
        self.joins(first)
    }

    fn joins(&mut self, mut left: TableRef) -> Result<TableRef> {
        let mut chain = 0;
        while self.at_join() {
            chain += 1;
            if chain > JOIN_CHAIN_MAX {
                return Err(self.too_deep());
            }
            left = self.nested(|p| p.join(left))?;
        }
        Ok(left)
    }

    fn at_join(&self) -> bool {
        match self.word().as_deref() {
            Some("JOIN") => true,
            Some("INNER") => self.word_ahead(1, "JOIN"),
            Some("CROSS") => self.word_ahead(1, "JOIN") || self.word_ahead(1, "APPLY"),
            Some("OUTER") => self.word_ahead(1, "APPLY"),
            Some("NATURAL") => true,
            Some("LEFT" | "RIGHT" | "FULL") => self.word_ahead(1, "JOIN") || self.word_ahead(1, "OUTER"),
            _ => false,
        }
    }

    fn join(&mut self, left: TableRef) -> Result<TableRef> {
        let pos = self.pos();
        if self.eat_words(&["CROSS", "APPLY"]) {
            return self.join_to(JoinKind::CrossApply, left, pos);
        }
        if self.eat_words(&["OUTER", "APPLY"]) {
            return self.join_to(JoinKind::OuterApply, left, pos);
        }
        if self.eat_words(&["CROSS", "JOIN"]) {
            return self.join_to(JoinKind::Cross, left, pos);
        }
        let natural = self.eat_word("NATURAL");
        let kind = match self.eat_any(&["INNER", "LEFT", "RIGHT", "FULL"]) {
            None | Some(0) => JoinKind::Inner,
            Some(i) => {
                self.eat_word("OUTER");
                [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full][i]
            }
        };
        self.expect_word("JOIN", 905)?;
        let mut right = self.table_primary()?;
        // `a JOIN b JOIN c ON .. ON ..`: the inner join is the right side.
        while !natural && self.at_join() {
            right = self.nested(|p| p.join(right))?;
        }
        let constraint = if natural {
            JoinConstraint::Natural
        } else if self.eat_word("ON") {
            JoinConstraint::On(self.condition()?)
        } else if self.eat_word("USING") {
            JoinConstraint::Using(self.ident_list(904)?)
        } else {
            return self.fail(905);
        };
        Ok(TableRef {
            kind: TableRefKind::Join { kind, left: Box::new(left), right: Box::new(right), constraint },
            pos,
        })
    }

    fn join_to(&mut self, kind: JoinKind, left: TableRef, pos: Pos) -> Result<TableRef> {
        let right = Box::new(self.table_primary()?);
        let constraint = JoinConstraint::None;
        Ok(TableRef { kind: TableRefKind::Join { kind, left: Box::new(left), right, constraint }, pos })
    }

    /// A table, inline view, collection or parenthesised join.
    pub(crate) fn table_primary(&mut self) -> Result<TableRef> {
        self.nested(|p| {
            let pos = p.pos();
            if p.at(TokenKind::LeftParen) {
                return match p.table_parens()? {
                    TableParen::Query(query, restriction) => p.inline_view(query, restriction, false, pos),
                    TableParen::Source(source) => Ok(source),
                };
            }
            if p.at_word("LATERAL") && p.kind_ahead(1, TokenKind::LeftParen) {
                p.bump();
                let query = p.subquery()?;
                return p.inline_view(query, None, true, pos);
            }
            if p.kind_ahead(1, TokenKind::LeftParen) && p.at_any(&["TABLE", "THE"]) {
                return p.collection(pos);
            }
            p.named_table(pos)
        })
    }

    /// Everything is parsed only once, as in [`Parser::parens`].
    fn table_parens(&mut self) -> Result<TableParen> {
        self.nested(|p| {
            p.left_paren()?;
            let pos = p.pos();
            if p.at_any(&["SELECT", "WITH"]) {
                let query = p.inner_query()?;
                return p.end_of_query(query);
            }
            let first = if p.at(TokenKind::LeftParen) {
                match p.table_parens()? {
                    TableParen::Query(inner, None)
                        if p.at(TokenKind::RightParen) || p.at_query_tail() || p.at_restriction() =>
                    {
                        let query = p.rest_of_query(QueryBody::Nested(inner), pos)?;
                        return p.end_of_query(query);
                    }
                    TableParen::Query(inner, restriction) => p.inline_view(inner, restriction, false, pos)?,
                    TableParen::Source(source) => source,
                }
            } else {
                p.table_primary()?
            };
            let source = p.joins(first)?;
            p.right_paren()?;
            Ok(TableParen::Source(source))
        })
    }

    fn at_restriction(&self) -> bool {
        self.at_words(&["WITH", "READ", "ONLY"]) || self.at_words(&["WITH", "CHECK", "OPTION"])
    }

    /// `[WITH READ ONLY | WITH CHECK OPTION])` after a query.
    fn end_of_query(&mut self, query: Query) -> Result<TableParen> {
        let restriction = if self.eat_words(&["WITH", "READ", "ONLY"]) {
            Some(Restriction::ReadOnly)
        } else {
            self.eat_words(&["WITH", "CHECK", "OPTION"]).then_some(Restriction::CheckOption)
        };
        self.right_paren()?;
        Ok(TableParen::Query(Box::new(query), restriction))
    }

    fn inline_view(
        &mut self,
        query: Box<Query>,
        restriction: Option<Restriction>,
        lateral: bool,
        pos: Pos,
    ) -> Result<TableRef> {
        let as_of = if self.at_words(&["AS", "OF"]) { Some(Box::new(self.as_of()?)) } else { None };
        let (pivot, alias) = self.pivot_and_alias()?;
        Ok(TableRef { kind: TableRefKind::Subquery { query, restriction, lateral, as_of, alias, pivot }, pos })
    }

    fn collection(&mut self, pos: Pos) -> Result<TableRef> {
        self.bump();
        let expr = match self.parens()? {
            super::expr::Paren::Query(query) => Expr::new(ExprKind::Subquery(query), pos),
            super::expr::Paren::Exprs(mut list) if list.len() == 1 => list.remove(0),
            super::expr::Paren::Exprs(_) => return self.fail(907),
        };
        let outer = self.at_outer_mark();
        if outer {
            self.at += 3;
        }
        let alias = self.table_alias()?;
        Ok(TableRef { kind: TableRefKind::Collection { expr, outer, alias }, pos })
    }

    fn named_table(&mut self, pos: Pos) -> Result<TableRef> {
        if self.at_word("ONLY") && self.kind_ahead(1, TokenKind::LeftParen) {
            self.at += 2;
            let table = self.table_name()?;
            self.right_paren()?;
            return Ok(TableRef { kind: TableRefKind::Table(table), pos });
        }
        let name = self.name(903)?;
        if self.at(TokenKind::LeftParen) && !self.at_outer_mark() {
            // A pipelined function without TABLE(), XMLTABLE, JSON_TABLE: parsed as a call; the planner resolves or
            // refuses it.
            let mut call = Call::new(name);
            let mut outer = false;
            match call.name.last() {
                word @ ("XMLTABLE" | "JSON_TABLE") => {
                    match word {
                        "XMLTABLE" => self.xml_table(Self::value, &mut call)?,
                        _ => self.json_table(&mut call)?,
                    }
                    outer = self.at_outer_mark();
                    if outer {
                        self.at += 3;
                    }
                }
                _ => call.args = self.arguments()?,
            }
            let alias = self.table_alias()?;
            let expr = Expr::new(ExprKind::Call(Box::new(call)), pos);
            return Ok(TableRef { kind: TableRefKind::Collection { expr, outer, alias }, pos });
        }
        let table = self.table_suffixes(name)?;
        Ok(TableRef { kind: TableRefKind::Table(table), pos })
    }

    /// A table name with alias and the clauses between them; ORA-00903 if there is none.
    pub(super) fn table_name(&mut self) -> Result<TableName> {
        let name = self.name(903)?;
        self.table_suffixes(name)
    }

    fn table_suffixes(&mut self, name: Name) -> Result<TableName> {
        let mut table =
            TableName { name, alias: None, partition: None, sample: None, as_of: None, versions: None, pivot: None };
        table.partition = self.partition_suffix()?;
        if self.at_word("SAMPLE") {
            table.sample = Some(self.sample()?);
        }
        if self.at_words(&["VERSIONS", "BETWEEN"]) {
            table.versions = Some(Box::new(self.versions()?));
        }
        if self.at_words(&["AS", "OF"]) {
            table.as_of = Some(Box::new(self.as_of()?));
        }
        (table.pivot, table.alias) = self.pivot_and_alias()?;
        Ok(table)
    }

    /// `PARTITION (p)` or `PARTITION FOR (…)` behind the name of a table, if there is one.
    pub(super) fn partition_suffix(&mut self) -> Result<Option<Box<PartitionRef>>> {
        let here = self.at_any(&["PARTITION", "SUBPARTITION"]);
        if !here || !(self.kind_ahead(1, TokenKind::LeftParen) || self.word_ahead(1, "FOR")) {
            return Ok(None);
        }
        let pos = self.pos();
        let subpartition = self.eat_any(&["PARTITION", "SUBPARTITION"]) == Some(1);
        let which = match self.eat_word("FOR") {
            true => WhichPartition::For({
                self.left_paren()?;
                let values = self.comma_list(Self::value)?;
                self.right_paren()?;
                values
            }),
            false => WhichPartition::Name({
                self.left_paren()?;
                let name = self.ident(14006)?;
                self.right_paren()?;
                name
            }),
        };
        Ok(Some(Box::new(PartitionRef { subpartition, which, pos })))
    }

    pub(super) fn table_alias(&mut self) -> Result<Option<Ident>> {
        let quoted = self.at(TokenKind::QuotedIdent);
        let outer_apply = self.at_words(&["OUTER", "APPLY"]);
        if quoted || (self.at_ident() && !self.at_any(NOT_ALIASES) && !outer_apply) {
            return Ok(Some(self.ident(903)?));
        }
        Ok(None)
    }

    fn sample(&mut self) -> Result<Sample> {
        self.bump();
        let block = self.eat_word("BLOCK");
        self.left_paren()?;
        let percent = Box::new(self.value()?);
        self.right_paren()?;
        let mut seed = None;
        if self.eat_word("SEED") {
            self.left_paren()?;
            seed = Some(Box::new(self.value()?));
            self.right_paren()?;
        }
        Ok(Sample { block, percent, seed })
    }

    fn versions(&mut self) -> Result<Versions> {
        let pos = self.pos();
        self.at += 2;
        let by_scn = match self.eat_any(&["SCN", "TIMESTAMP"]) {
            Some(0) => true,
            Some(_) => false,
            None => return self.fail(905),
        };
        let bound = |e: Expr| if by_scn { AsOf::Scn(e) } else { AsOf::Timestamp(e) };
        let low = if self.eat_word("MINVALUE") { None } else { Some(bound(self.value()?)) };
        if !self.eat_word("AND") {
            return self.fail(905);
        }
        let high = if self.eat_word("MAXVALUE") { None } else { Some(bound(self.value()?)) };
        Ok(Versions { low, high, pos })
    }

    fn as_of(&mut self) -> Result<AsOf> {
        self.at += 2;
        match self.eat_any(&["SCN", "TIMESTAMP"]) {
            Some(0) => Ok(AsOf::Scn(self.value()?)),
            Some(_) => Ok(AsOf::Timestamp(self.value()?)),
            None => self.fail(905),
        }
    }

    /// A pivot and its alias, in either order: an alias before a pivot names its result where no other follows.
    fn pivot_and_alias(&mut self) -> Result<(Option<Box<Pivot>>, Option<Ident>)> {
        if let Some(pivot) = self.pivot()? {
            return Ok((Some(pivot), self.table_alias()?));
        }
        let before = self.table_alias()?;
        let Some(mut pivot) = self.pivot()? else { return Ok((None, before)) };
        let (Pivot::Pivot { alias, .. } | Pivot::Unpivot { alias, .. }) = &mut *pivot;
        *alias = alias.take().or(before);
        Ok((Some(pivot), None))
    }

    fn pivot(&mut self) -> Result<Option<Box<Pivot>>> {
        let (next_paren, xml) = (self.kind_ahead(1, TokenKind::LeftParen), self.word_ahead(1, "XML"));
        if self.at_word("PIVOT") && (next_paren || xml) {
            self.bump();
            // PIVOT XML would return an XMLTYPE column.
            if self.at_word("XML") {
                return self.fail(3001);
            }
            return Ok(Some(Box::new(self.pivot_body()?)));
        }
        let nulls = self.word_ahead(2, "NULLS");
        if self.at_word("UNPIVOT") && (next_paren || nulls) {
            self.bump();
            return Ok(Some(Box::new(self.unpivot_body()?)));
        }
        Ok(None)
    }

    fn aliased(&mut self) -> Result<(Expr, Option<Ident>)> {
        let expr = self.value_or_row()?;
        self.eat_word("AS");
        let alias = if self.at_ident() && !self.at_word("FOR") { Some(self.ident(904)?) } else { None };
        Ok((expr, alias))
    }

    fn one_or_more_columns(&mut self) -> Result<Vec<Ident>> {
        if self.at(TokenKind::LeftParen) { self.ident_list(904) } else { Ok(vec![self.ident(904)?]) }
    }

    fn pivot_body(&mut self) -> Result<Pivot> {
        self.left_paren()?;
        let aggregates = self.comma_list(Self::aliased)?;
        self.expect_word("FOR", 905)?;
        let columns = self.one_or_more_columns()?;
        self.expect_word("IN", 905)?;
        self.left_paren()?;
        let values = self.comma_list(Self::aliased)?;
        self.right_paren()?;
        self.right_paren()?;
        let alias = self.table_alias()?;
        Ok(Pivot::Pivot { aggregates, columns, values, alias })
    }

    fn unpivot_body(&mut self) -> Result<Pivot> {
        let include_nulls = self.eat_any(&["EXCLUDE", "INCLUDE"]) == Some(1);
        self.eat_word("NULLS");
        self.left_paren()?;
        let values = self.one_or_more_columns()?;
        self.expect_word("FOR", 905)?;
        let names = self.one_or_more_columns()?;
        self.expect_word("IN", 905)?;
        self.left_paren()?;
        let columns = self.comma_list(|p| {
            let columns = p.one_or_more_columns()?;
            let value = if p.eat_word("AS") { Some(p.value_or_row()?) } else { None };
            Ok((columns, value))
        })?;
        self.right_paren()?;
        self.right_paren()?;
        let alias = self.table_alias()?;
        Ok(Pivot::Unpivot { include_nulls, values, names, columns, alias })
    }
}
