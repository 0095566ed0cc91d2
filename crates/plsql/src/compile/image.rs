//! The image of a compiled unit or anonymous block: other sessions make their code of it without reading its text.
//!
//! | part | contents |
//! |---|---|
//! | head | the unit or block, its settings, and the dictionary epoch |
//! | questions | all questions of the compiler, with the answers ([`super::ask`]) |
//! | code | subprograms, constants, statements; objects, users, built-in subprograms and functions by number or name |
//!
//! A session may use the code if the head matches exactly what it looks for, and the dictionary is in that epoch or
//! still gives the same answers to all questions. Privileges of the unit's callers are not part of it: the caller's own
//! code checks them where it names the unit. A unit is always compiled with its owner's names and privileges and
//! without roles, even with invoker's rights.
//!
//! A block has the names and privileges of its sender. A session that wants the code asks the block's questions again
//! with its own. A note that the answers were the same counts only for sessions with equal rights, which share the
//! cursor ([`Trust`]).
//!
//! The image does not contain the source of a unit. Open cursors, links to other units and all other data of a session
//! begin empty.

use super::question::{Question, handles};
use super::units::Units;
use crate::code::{BindUse, Compiled, HostTypes, Owner, Rights, RowUse};
use crate::op::{Op, Pool, Proc};
use crate::ty::HostType;
use crate::world::{StoredUnit, World};
use exec::{Trust, UnfitCode};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use types::ObjectId;
use types::image::{self, Image, Kind, NoObjects, Objects, Reader, Writer};

/// A unit with its body, or a block.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Unit(&'a StoredUnit, Option<&'a StoredUnit>),
    Block { schema: &'a str, text: &'a str, types: &'a HostTypes },
}

/// The unit or block, and the settings that the code is for.
#[derive(Debug, PartialEq, Image)]
struct Head {
    /// The owner of a unit, or the schema in which a block was compiled.
    owner: String,
    name: String,
    kind: String,
    has_body: bool,
    settings: (u64, u64, u64),
    /// The text of a block; a unit's source is one of the questions.
    text: String,
    binds: Vec<(String, HostType)>,
}

impl Head {
    fn of<W: World>(w: &W, of: Subject<'_>) -> Head {
        let [language, lengths, optimizer] = w.settings();
        let settings = (language, lengths, optimizer);
        match of {
            Subject::Unit(specification, body) => Head {
                owner: specification.owner.clone(),
                name: specification.name.clone(),
                kind: specification.kind.name().to_string(),
                has_body: body.is_some(),
                settings,
                text: String::new(),
                binds: Vec::new(),
            },
            Subject::Block { schema, text, types } => Head {
                owner: schema.to_string(),
                name: String::new(),
                kind: String::new(),
                has_body: false,
                settings,
                text: text.to_string(),
                binds: types.to_vec(),
            },
        }
    }
}

/// Replaces a function's handle in the questions by its index, which comparisons ignore.
struct Numbers;

impl Objects for Numbers {
    fn object(&self, _kind: Kind, _number: u32) -> Option<Rc<dyn Any>> {
        None
    }
    fn handle(&self, function: usize) -> Option<u64> {
        Some(function as u64)
    }
}

/// The rights of code.
const CALLERS: u8 = 0;
const DEFINERS: u8 = 1;
const INVOKERS: u8 = 2;

#[derive(Image)]
struct Code {
    rights: u8,
    owner_number: u32,
    pool: Pool,
    procs: Vec<Rc<Proc>>,
    main: u32,
    /// By name, overload and number in `procs`.
    exports: Vec<(String, u32, u32)>,
    package_slots: u32,
    told_as: Vec<u64>,
    binds: Vec<String>,
    bind_uses: Vec<BindUse>,
    depends: Vec<ObjectId>,
    calls: Vec<(String, String)>,
    defined: (u64, u64),
    layout: u64,
    shown: u64,
    has_state: bool,
    rows: Vec<RowUse>,
    asks_columns: bool,
}

/// The image of code that was compiled in a dictionary epoch; `None` when it cannot have one.
pub(super) fn encode<W: World>(
    w: &W,
    unit: &Compiled,
    of: Subject<'_>,
    epoch: u64,
    questions: &[Question],
) -> Option<Vec<u8>> {
    let (rights, number) = match &unit.rights {
        Rights::Callers => (CALLERS, 0),
        Rights::Definers(owner) => (DEFINERS, owner.number),
        Rights::Invokers(owner) => (INVOKERS, owner.number),
    };
    let part = |put: &dyn Fn(&mut Writer)| {
        let mut w = Writer::default();
        put(&mut w);
        w.finish()
    };
    let questions = {
        let mut w = Writer::new(handles(questions));
        w.number(questions.len() as u64);
        questions.iter().for_each(|question| question.put(&mut w));
        w.finish()?
    };
    let code = part(&|w| {
        let mut exports: Vec<_> = unit.exports.iter().map(|((name, n), at)| (name.clone(), *n, *at)).collect();
        exports.sort_unstable();
        // In the order of `Code`.
        rights.put(w);
        number.put(w);
        unit.pool.put(w);
        unit.procs.put(w);
        unit.main.put(w);
        exports.put(w);
        unit.package_slots.put(w);
        unit.told_as.put(w);
        unit.binds.put(w);
        unit.bind_uses.put(w);
        unit.depends.put(w);
        unit.calls.put(w);
        (unit.defined[0], unit.defined[1]).put(w);
        unit.layout.put(w);
        unit.shown.put(w);
        unit.has_state.put(w);
        unit.rows.put(w);
        unit.asks_columns.put(w);
    })?;
    part(&|out| {
        Head::of(w, of).put(out);
        epoch.put(out);
        // Code for sessions with the same rights only. The questions of a block that a definer's rights unit has run
        // are asked as its owner, and the names of cached results contain the schema.
        let is_bound = w.definer().is_some() || unit.procs.iter().any(|proc| proc.result_cache.is_some());
        is_bound.put(out);
        out.bytes(&questions);
        out.bytes(&code);
    })
}

/// The code of an image if the session may use it, and whether to note that it is valid in this dictionary.
pub(super) fn decode<W: World>(
    w: &mut W,
    bytes: &[u8],
    of: Subject<'_>,
    epoch: u64,
    trust: Trust,
) -> Result<(Compiled, bool), UnfitCode> {
    let mut r = Reader::new(bytes, &NoObjects);
    let damaged = |_: image::Damaged| UnfitCode::Changed;
    let mut head = Head::take(&mut r).map_err(damaged)?;
    let wanted = Head::of(w, of);
    if trust == Trust::Others {
        head.owner.clone_from(&wanted.owner);
    }
    if head != wanted {
        return Err(UnfitCode::Other);
    }
    let made_at = u64::take(&mut r).map_err(damaged)?;
    let is_bound = bool::take(&mut r).map_err(damaged)?;
    let (questions, code) = (r.bytes().map_err(damaged)?, r.bytes().map_err(damaged)?);
    let is_known = match trust {
        Trust::Known => true,
        Trust::Own => made_at == epoch,
        Trust::Others if is_bound => return Err(UnfitCode::Changed),
        Trust::Others => false,
    };
    if !is_known {
        let questions: Vec<Question> = image::read(questions, &Numbers).map_err(damaged)?;
        if !Units::hears_the_same(w, &questions) {
            return Err(UnfitCode::Changed);
        }
        // The dictionary may have changed between the questions: then the answers do not belong to one epoch.
        if w.epoch() != epoch {
            return Err(UnfitCode::Other);
        }
    }
    let Code {
        rights,
        owner_number,
        pool,
        procs,
        main,
        exports,
        package_slots,
        told_as,
        binds,
        bind_uses,
        depends,
        calls,
        defined,
        layout,
        shown,
        has_state,
        rows,
        asks_columns,
    } = image::read(code, &NoObjects).map_err(damaged)?;
    if !procs.iter().all(|proc| proc.ops.iter().all(is_built_in_here)) {
        return Err(UnfitCode::Changed);
    }
    let (owner, name, source) = match of {
        Subject::Unit(specification, body) => {
            let source = format!("{}{}", specification.source, body.map_or("", |body| body.source.as_str()));
            (specification.owner.clone(), specification.name.clone(), source)
        }
        Subject::Block { schema, text, types: _ } => (schema.to_string(), String::new(), text.to_string()),
    };
    let user = || Owner { name: owner.as_str().into(), number: owner_number };
    let rights = match (rights, of) {
        (CALLERS, Subject::Block { .. }) => Rights::Callers,
        (DEFINERS, Subject::Unit(..)) => Rights::Definers(user()),
        (INVOKERS, Subject::Unit(..)) => Rights::Invokers(user()),
        _ => return Err(UnfitCode::Changed),
    };
    let unit = Compiled {
        owner,
        rights,
        name,
        links: RefCell::new(pool.externals.iter().map(|_| None).collect()),
        statements: RefCell::new(pool.sql.iter().map(|_| None).collect()),
        dynamics: RefCell::default(),
        dispatched: RefCell::default(),
        pool,
        procs,
        main,
        exports: exports.into_iter().map(|(name, n, at)| ((name, n), at)).collect(),
        package_slots,
        told_as,
        binds,
        bind_uses,
        depends,
        calls,
        source,
        defined: [defined.0, defined.1],
        layout,
        shown,
        has_state,
        rows,
        asks_columns,
        runs_in: Cell::default(),
    };
    Ok((unit, trust == Trust::Own && !is_known))
}

/// Whether a call of a built-in subprogram has a valid number.
fn is_built_in_here(op: &Op) -> bool {
    match op {
        Op::CallNative { native, .. } | Op::CallLent { native, .. } => crate::packages::is_native(*native),
        _ => true,
    }
}
