//! CURSOR(subquery): a cursor that is opened for each row.
//!
//! The cursor has a statement of its own, which the host parses and opens. The outer values that the subquery reads,
//! and the binds in it, become its binds. Here the subquery is resolved to find its columns and these outer values.

use crate::ir::*;
use crate::refusals::unsupported;
use crate::resolve::Queries;
use crate::scope::Compiler;
use sql::ast::{self, ExprKind};
use sql::lexer::{TokenKind, lex};
use types::{DataType, Ora, Result};

/// The columns of the cursor that an expression returns, if it does.
pub fn columns_of(e: &Expr) -> Vec<Column> {
    match &e.node {
        Node::Call(f, _) if f.handle == NESTED_CURSOR => f.nested.clone(),
        _ => Vec::new(),
    }
}

/// Checks that CURSOR(subquery) is a whole item of a select list, or an argument of a PL/SQL function there or in
/// TABLE().
///
/// # Errors
/// ORA-22902 for any other position.
pub fn check_places(item: &ast::Expr, distinct: bool) -> Result<()> {
    let mut may_be: Vec<*const ast::Expr> = Vec::new();
    if !distinct {
        may_be.push(item);
    }
    let mut wrong = None;
    sql::visit_expr(item, &mut |e| match &e.kind {
        ExprKind::Call(call) if crate::called(call) == crate::Called::Unknown => {
            may_be.extend(call.args.iter().map(|arg| std::ptr::from_ref(&arg.value)));
        }
        ExprKind::Cursor(..) if !may_be.contains(&std::ptr::from_ref(e)) => wrong = wrong.or(Some(e.pos.0)),
        // not a clause: other expressions are not cursors
        _ => {}
    });
    wrong.map_or(Ok(()), |pos| Err(Ora::new(22902).at(pos)))
}

impl Compiler<'_> {
    /// Resolves CURSOR(subquery). `text` begins with the word CURSOR at `pos`.
    ///
    /// # Errors
    /// ORA-22902 where no cursor is allowed; those of the subquery.
    pub fn nested_cursor(&mut self, q: &ast::Query, text: &str, pos: u32) -> Result<Expr> {
        let is_outermost = self.views.is_empty() && self.text_owners.is_empty();
        let around = self.blocks.len();
        let in_list =
            self.in_collection || self.blocks.last().is_some_and(|block| block.clause == crate::scope::Clause::Select);
        if !is_outermost || !in_list || around > self.outer_names.len() + 1 {
            return Err(Ora::new(22902).at(pos));
        }
        if self.cte_scopes.iter().any(|cte| crate::refs::mentions(q, &cte.name) > 0) {
            return Err(unsupported("CURSOR over a name of WITH", pos));
        }
        // The statement's plan contains only the outer values, not the subquery.
        let subs = self.subs.len();
        self.outer_names.push((around, Vec::new()));
        let in_collection = std::mem::take(&mut self.in_collection);
        let built = self.cursor_columns(q);
        self.in_collection = in_collection;
        let (_, names) = self.outer_names.pop().unwrap_or_default();
        self.subs.truncate(subs);
        let columns = built?;
        let mut args: Vec<Expr> = Vec::new();
        let mut own = String::with_capacity(text.len());
        let tokens = lex(text).tokens;
        let (mut at, mut done) = (1, "CURSOR".len());
        while let Some(token) = tokens.get(at) {
            at += 1;
            let source = &text[token.start as usize..token.end as usize];
            let taken = match token.kind {
                TokenKind::Bind => Some(self.bind(&sql::bind_names(source).pop().unwrap_or_default())),
                _ => names.iter().find(|(place, _)| *place == pos + token.start).map(|(_, value)| value.clone()),
            };
            let Some(value) = taken else { continue };
            own.push_str(&text[done..token.start as usize]);
            done = token.end as usize;
            if token.kind != TokenKind::Bind {
                while let [dot, name, ..] = &tokens[at..]
                    && dot.kind == TokenKind::Dot
                    && matches!(name.kind, TokenKind::Word | TokenKind::QuotedIdent)
                {
                    done = name.end as usize;
                    at += 2;
                }
            }
            let number = args.iter().position(|arg| *arg == value).unwrap_or_else(|| {
                args.push(value);
                args.len() - 1
            });
            own.push_str(&format!(":B{} ", number + 1));
        }
        own.push_str(&text[done..]);
        let own = own.trim();
        let own = own.strip_prefix('(').and_then(|own| own.strip_suffix(')')).unwrap_or(own).trim();
        self.volatile += 1;
        self.unstable += 1;
        let function = HostFunction {
            owner: String::new(),
            package: None,
            name: own.to_owned(),
            handle: NESTED_CURSOR,
            arg_types: args.iter().map(|arg| arg.ty).collect(),
            arg_names: Vec::new(),
            has_default: vec![false; args.len()],
            omitted: Vec::new(),
            ty: DataType::Cursor,
            deterministic: false,
            is_pipelined: false,
            dependencies: Vec::new(),
            invokers: false,
            caller: None,
            nested: columns,
        };
        Ok(Expr::new(Node::Call(std::rc::Rc::new(function), args), DataType::Cursor))
    }
}
