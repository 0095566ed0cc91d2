//! Blocks of PL/SQL as cursors: blocks of clients, of EXECUTE IMMEDIATE and of jobs.
//!
//! Like a statement, a block is found in the library cache by its text. The shared cursor has its code: a soft parse
//! instantiates the block from the code and does not compile the text ([decision 41], invariant 5). From the third
//! parse call of its text on, a closed block is kept with its compiled form as `session_cached_cursors` allows, in turn
//! with the closed cursors of statements ([`crate::kept`]). A kept block runs again for an equal identity with equal
//! settings, while the dictionary and the shared cursor are unchanged.
//!
//! [decision 41]: ../../../docs/decisions/0041-unit-code-validated-by-the-questions-of-the-compiler.md

use crate::by_name::ByName;
use crate::core::Core;
use crate::cursors::{Blocks, OpenBlock};
use crate::identity::Identity;
use crate::world::World;
use dictionary::{Catalog, ObjectKind};
use exec::{BlockCursor, ExecCtx};
use net::StatementKind;
use net::local::{Bind, TableBind};
use plan::BindType;
use plsql::{HostType, HostTypes};
use sql::lexer::{Token, TokenKind, lex};
use std::borrow::Cow;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result};
use wait::Stat;

impl Blocks {
    /// The bind types of the kept block of this text that fits the binds of a call.
    fn types_kept(&self, identity: Identity, text: &str, binds: &[Bind], tables: &[TableBind]) -> Option<HostTypes> {
        let by_name = ByName::new(binds);
        let is_it = |open: &OpenBlock| {
            open.cursor.text() == text && open.identity == identity && open.is_for(&by_name, (binds, tables))
        };
        self.kept.iter().find(|(_, open)| is_it(open)).map(|(_, open)| open.types.clone())
    }
}

/// Opens a block, or CALL, by its text: one parse call.
///
/// # Errors
/// Errors from compiling the block.
pub fn open(w: &mut World<'_>, text: &str, kind: StatementKind, types: HostTypes) -> Result<OpenBlock> {
    let core = w.core;
    core.p.count(Stat::ParseCountTotal, 1);
    if let Some(mut open) = take_kept(w, text, &types) {
        core.p.count(Stat::SessionCursorCacheHits, 1);
        open.cursor.set_kept(false, &mut w.cx);
        return Ok(open);
    }
    core.kept.borrow_mut().count_parse(text);
    let clock = core.p.begin_parse();
    let opened = parse(w, text, kind, types);
    let counted = if opened.is_ok() { Stat::OpenedCursorsCumulative } else { Stat::ParseCountFailures };
    core.p.count(counted, 1);
    core.p.end_parse(&clock, opened.is_err());
    opened
}

/// As [`open`], for the binds of a call: a kept block is found by the types of its binds.
///
/// # Errors
/// As [`open`].
pub fn open_for(
    w: &mut World<'_>,
    text: &str,
    kind: StatementKind,
    (binds, tables): (&[Bind], &[TableBind]),
) -> Result<OpenBlock> {
    let known = w.core.blocks.borrow().types_kept(w.core.identity(), text, binds, tables);
    let types = known.unwrap_or_else(|| types_of(text, kind, binds, tables));
    open(w, text, kind, types)
}

fn type_of(at: usize, binds: &[Bind], tables: &[TableBind]) -> HostType {
    let is_table = tables.iter().any(|table| usize::from(table.bind) == at);
    HostType { data_type: kind_of_type(binds[at].data_type), is_table }
}

fn parse(w: &mut World<'_>, text: &str, kind: StatementKind, types: HostTypes) -> Result<OpenBlock> {
    let core = w.core;
    let binds: Vec<_> = types.iter().map(|(_, ty)| Some(ty.data_type)).collect();
    let mut cursor = BlockCursor::parse(text, kind.0.into(), &binds, &mut w.cx);
    let own_text = if kind == StatementKind::CALL { Cow::from(call_block(text)) } else { Cow::from(text) };
    let known = if cursor.is_found() { core.plsql.known_block(w, &own_text, &types) } else { None };
    let found = known.or_else(|| instantiate(w, &mut cursor, &own_text, &types, &binds));
    let block = match found {
        Some(block) => block,
        None => {
            core.p.parse_is_hard();
            core.names()?.take_followed();
            let unknown = |e: &Ora| e.is(6550) && e.to_string().contains("PLS-00201");
            let named = |e: Ora| if kind == StatementKind::CALL && unknown(&e) { Ora::new(6576) } else { e };
            let is_shared = w.may_share() && !cursor.refuses_image(&w.cx);
            let (block, code) = core.plsql.compile_new_block(w, &own_text, &types, is_shared).map_err(named)?;
            let names = named_by(core, &block)?;
            cursor.load(&names, &code, &binds, &mut w.cx)?;
            block
        }
    };
    cursor.parsed(&mut w.cx);
    Ok(OpenBlock { block, cursor, types, identity: core.identity(), has_begun: false })
}

/// The block from the first shared cursor with code that is valid in this session.
fn instantiate(
    w: &mut World<'_>,
    cursor: &mut BlockCursor,
    text: &str,
    types: &HostTypes,
    binds: &[BindType],
) -> Option<Rc<plsql::Block>> {
    if !w.may_share() {
        return None;
    }
    let core = w.core;
    let mut image = std::mem::take(&mut core.blocks.borrow_mut().image);
    let mut found = None;
    for nth in 0..cursor.candidates() {
        let Some(code) = cursor.code(nth, &mut image, &mut w.cx) else { continue };
        match core.plsql.block_of_image(w, text, types, (&image[code.part.clone()], code.trust)) {
            Ok((block, is_news)) => {
                cursor.take(&code, binds, is_news, &mut w.cx);
                found = Some(block);
                break;
            }
            Err(why) => cursor.refuse(&code, why),
        }
    }
    core.blocks.borrow_mut().image = image;
    found
}

/// The objects that a block depends on: the tables of its statements, and stored units without their bodies.
fn named_by(core: &Core, block: &plsql::Block) -> Result<Vec<ObjectId>> {
    let names = core.names()?;
    let mut all: Vec<ObjectId> = Vec::new();
    let units = block.units().flat_map(|(owner, name)| names.parts_of_unit(owner, name));
    let units = units.filter(|unit| !matches!(unit.kind, ObjectKind::PackageBody | ObjectKind::TypeBody));
    for object in block.reads().iter().copied().chain(units.map(|unit| unit.object)) {
        if !all.contains(&object) {
            all.push(object);
        }
    }
    Ok(all)
}

fn take_kept(w: &mut World<'_>, text: &str, types: &HostTypes) -> Option<OpenBlock> {
    let core = w.core;
    let (_, open) = {
        let mut blocks = core.blocks.borrow_mut();
        let at = blocks.place(core.identity(), text, Some(types))?;
        blocks.kept.remove(at)
    };
    // A block that is out of date is dropped; the caller parses the text again.
    (core.plsql.is_current(w, &open.block) && open.cursor.is_valid(&w.cx)).then_some(open)
}

impl OpenBlock {
    /// Whether the block was compiled for the types of a call's binds.
    fn is_for(&self, by_name: &ByName<'_>, (binds, tables): (&[Bind], &[TableBind])) -> bool {
        let mut types = self.types.iter().enumerate();
        let same = |place: usize, name: &str, ty: &HostType| {
            by_name.of(place, name).is_some_and(|at| type_of(at, binds, tables) == *ty)
        };
        self.types.len() == self.block.binds().len() && types.all(|(place, (name, ty))| same(place, name, ty))
    }

    /// Whether the compiled block can run again with the binds of a call (invariant 5).
    pub fn runs_again(&self, w: &mut World<'_>, (binds, tables): (&[Bind], &[TableBind])) -> bool {
        let is_same = self.identity == w.core.identity() && self.is_for(&ByName::new(binds), (binds, tables));
        is_same && w.core.plsql.is_current(w, &self.block) && self.cursor.is_valid(&w.cx)
    }

    /// Begins an execution.
    pub fn begin(&mut self, cx: &mut ExecCtx<'_>) {
        self.cursor.begin(cx);
        self.has_begun = true;
    }

    /// Ends the execution, if one has begun.
    pub fn end(&mut self, done: bool, cx: &mut ExecCtx<'_>) {
        if std::mem::take(&mut self.has_begun) {
            self.cursor.end(done, cx);
        }
    }

    /// Ends the execution, if one has begun, and closes the block, which is kept if its text is parsed often.
    pub fn close(mut self, done: bool, core: &Core, cx: &mut ExecCtx<'_>) {
        self.end(done, cx);
        let mut blocks = core.blocks.borrow_mut();
        // A block that ran recursively was opened twice; it is kept once.
        let is_there = blocks.place(self.identity, self.cursor.text(), Some(&self.types)).is_some();
        if is_there || !core.kept.borrow().is_worth_it(self.cursor.text()) {
            return;
        }
        self.cursor.set_kept(true, cx);
        blocks.kept.push((core.tick_kept(), self));
        drop(blocks);
        core.trim_kept();
    }
}

/// Opens a block for EXECUTE IMMEDIATE; [`close_dynamic`] closes it.
///
/// # Errors
/// As [`open`].
pub fn open_dynamic(w: &mut World<'_>, text: &str) -> Result<Rc<plsql::Block>> {
    let word = text.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("call"));
    let open = open(w, text, if word { StatementKind::CALL } else { StatementKind::PLSQL_EXECUTE }, no_types())?;
    let block = open.block.clone();
    w.core.blocks.borrow_mut().running.push(open);
    Ok(block)
}

/// Begins the execution of the block that was opened last.
pub fn begin_dynamic(w: &mut World<'_>) {
    let opened = w.core.blocks.borrow_mut().running.pop();
    if let Some(mut open) = opened {
        open.begin(&mut w.cx);
        w.core.blocks.borrow_mut().running.push(open);
    }
}

/// Closes the block that was opened last, which has ended (invariant 5).
pub fn close_dynamic(w: &mut World<'_>, done: bool) {
    let core = w.core;
    let ended = core.blocks.borrow_mut().running.pop();
    if let Some(open) = ended {
        open.close(done, core, &mut w.cx);
    }
}

/// Runs a block with its binds and closes it. After an error the caller rolls back to the begin of the call.
///
/// # Errors
/// The exception that the block raised.
pub fn run(w: &mut World<'_>, mut open: OpenBlock, binds: &mut [plsql::Datum]) -> Result<()> {
    let core = w.core;
    open.begin(&mut w.cx);
    let result = core.plsql.run_block(w, &open.block, binds);
    open.close(result.is_ok(), core, &mut w.cx);
    result
}

/// The types of a block without declared binds.
pub fn no_types() -> HostTypes {
    HostTypes::from([])
}

/// The types of a block's binds as the client declares them; `tables` names the binds that are tables.
pub fn types_of(text: &str, kind: StatementKind, binds: &[Bind], tables: &[TableBind]) -> HostTypes {
    if binds.is_empty() {
        return no_types();
    }
    let own = if kind == StatementKind::CALL { call_block(text) } else { text.to_string() };
    let names = sql::outline(&own).placeholders;
    let by_name = ByName::new(binds);
    let of = |(place, name): (usize, &sql::Placeholder)| {
        let at = by_name.of(place, &name.name)?;
        Some((name.name.clone(), type_of(at, binds, tables)))
    };
    names.iter().enumerate().filter_map(of).collect()
}

/// A type without its length: one block serves texts of any length.
fn kind_of_type(ty: DataType) -> DataType {
    match ty {
        DataType::Varchar2 { .. } | DataType::Char { .. } | DataType::Nvarchar2 { .. } | DataType::Nchar { .. } => {
            DataType::TEXT
        }
        DataType::Number { .. } | DataType::Float { .. } => DataType::NUMBER,
        DataType::Raw { .. } => DataType::Raw { len: 0 },
        other => other,
    }
}

/// `CALL p(x)` as a block; `CALL f(x) INTO :v` becomes an assignment.
fn call_block(text: &str) -> String {
    let tokens: Vec<Token> =
        lex(text).tokens.into_iter().filter(|t| !matches!(t.kind, TokenKind::End | TokenKind::Semicolon)).collect();
    let part = |tokens: &[Token]| match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => &text[first.start as usize..last.end as usize],
        _ => "",
    };
    let is_into = |t: &Token| t.kind == TokenKind::Word && part(&[*t]).eq_ignore_ascii_case("into");
    // The first word is CALL. Inside parentheses INTO would be the name of an argument.
    let mut depth = 0;
    let into = tokens.iter().position(|t| {
        match t.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth -= 1,
            _ => {}
        }
        depth == 0 && is_into(t)
    });
    match into {
        Some(at) => format!("begin {} := {}; end;", part(&tokens[at + 1..]), part(&tokens[1..at])),
        None => format!("begin {}; end;", part(&tokens[1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::call_block;

    #[test]
    fn call_becomes_a_block_by_its_words() {
        assert_eq!(call_block("call p('one into two') -- done"), "begin p('one into two'); end;");
        assert_eq!(call_block("CALL f(1)\nINTO :v;"), "begin :v := f(1); end;");
        assert_eq!(call_block("call/**/s.p"), "begin s.p; end;");
    }
}
