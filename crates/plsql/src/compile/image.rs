//! The image of a compiled unit: what other sessions make it of without reading its text.
//!
//! | part | what |
//! |---|---|
//! | head | which unit, for which settings, from the dictionary of which epoch |
//! | questions | all that the compiler has asked, with the answers ([`super::ask`]) |
//! | code | subprograms, constants, statements; objects, users, built-in subprograms and functions by number or name |
//!
//! A session may take the code if the head is what it looks for, word by word, and the dictionary is the one of that
//! epoch, or answers all questions as it did then. Privileges of who calls the unit are no part of it: they are asked
//! for where the unit is named, by the caller's own code. A unit is compiled with its owner's names and privileges and
//! no roles, whoever has it compiled, and with invoker's rights, too.
//!
//! The source is not in the image. What is a session's own, open cursors and links to other units among it, begins
//! empty.

use super::ask::{Question, handles};
use super::unit::{BindUse, Compiled, Rights, Units};
use crate::op::{Op, Pool, Proc};
use crate::world::{Owner, StoredUnit, World};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use types::ObjectId;
use types::image::{self, Image, Kind, NoObjects, Objects, Reader, Writer};

/// The unit and the settings that code is for.
#[derive(Debug, PartialEq, Image)]
struct Head {
    owner: String,
    name: String,
    kind: String,
    has_body: bool,
    settings: (u64, u64, u64),
}

impl Head {
    fn of<W: World>(w: &W, (specification, body): (&StoredUnit, Option<&StoredUnit>)) -> Head {
        let [language, lengths, optimizer] = w.settings();
        Head {
            owner: specification.owner.clone(),
            name: specification.name.clone(),
            kind: specification.kind.name().to_string(),
            has_body: body.is_some(),
            settings: (language, lengths, optimizer),
        }
    }
}

/// In the questions a function's handle is its place: what is compared leaves it out.
struct Numbers;

impl Objects for Numbers {
    fn object(&self, _kind: Kind, _number: u32) -> Option<Rc<dyn Any>> {
        None
    }
    fn handle(&self, function: usize) -> Option<u64> {
        Some(function as u64)
    }
}

#[derive(Image)]
struct Code {
    invokers: bool,
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
}

/// The image of a unit that was compiled from the dictionary of an epoch; `None` when it has none.
pub(super) fn encode<W: World>(
    w: &W,
    unit: &Compiled,
    of: (&StoredUnit, Option<&StoredUnit>),
    epoch: u64,
    questions: &[Question],
) -> Option<Vec<u8>> {
    let (owner, invokers) = match &unit.rights {
        Rights::Definers(owner) => (owner, false),
        Rights::Invokers(owner) => (owner, true),
        Rights::Callers => return None,
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
        invokers.put(w);
        owner.number.put(w);
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
    })?;
    part(&|out| {
        Head::of(w, of).put(out);
        epoch.put(out);
        out.bytes(&questions);
        out.bytes(&code);
    })
}

/// The unit of an image, if the session may take it. `is_known`: somebody has found that the dictionary of `epoch`
/// gives the answers that it gave.
pub(super) fn decode<W: World>(
    w: &mut W,
    bytes: &[u8],
    of: (&StoredUnit, Option<&StoredUnit>),
    epoch: u64,
    is_known: bool,
) -> Option<Compiled> {
    let mut r = Reader::new(bytes, &NoObjects);
    let is_it = Head::take(&mut r).is_ok_and(|head| head == Head::of(w, of));
    if !is_it {
        return None;
    }
    let made_at = u64::take(&mut r).ok()?;
    let (questions, code) = (r.bytes().ok()?, r.bytes().ok()?);
    if made_at != epoch && !is_known {
        let questions: Vec<Question> = image::read(questions, &Numbers).ok()?;
        // Another dictionary may have come in between: then nobody knows what was asked of which.
        if !Units::hears_the_same(w, &questions) || w.epoch() != epoch {
            return None;
        }
    }
    let Code {
        invokers,
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
    } = image::read(code, &NoObjects).ok()?;
    if !procs.iter().all(|proc| proc.ops.iter().all(is_built_in_here)) {
        return None;
    }
    let (specification, body) = of;
    let owner = Owner { name: specification.owner.as_str().into(), number: owner_number };
    Some(Compiled {
        owner: specification.owner.clone(),
        rights: if invokers { Rights::Invokers(owner) } else { Rights::Definers(owner) },
        name: specification.name.clone(),
        links: RefCell::new(pool.externals.iter().map(|_| None).collect()),
        statements: RefCell::new(pool.sql.iter().map(|_| None).collect()),
        dynamics: RefCell::default(),
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
        source: format!("{}{}", specification.source, body.map_or("", |body| body.source.as_str())),
        defined: [defined.0, defined.1],
    })
}

/// Whether a call of a built-in subprogram names one.
fn is_built_in_here(op: &Op) -> bool {
    match op {
        Op::CallNative { native, .. } | Op::CallLent { native, .. } => crate::packages::is_native(*native),
        _ => true,
    }
}
