//! Plans in shared memory: a hard parse leaves one in the library cache, and a soft parse makes a cursor of it.
//!
//! | part | what |
//! |---|---|
//! | head | properties of the session that made the plan: user, schema, rights, settings, types of the binds, epoch |
//! | outside | columns, binds and objects of a query, if nothing else of its plan is needed before it is executed |
//! | look-ups | all questions to the dictionary, with their answers ([`plan::names`]) |
//! | plan | [`plan::Plan`], with objects as numbers |
//!
//! A parse call reads the head and, if present, the outside; the rest becomes a plan at the cursor's first execution
//! ([`Later`]). A query has no outside if it calls functions, reads temporary tables, or has a plan that depends on
//! values of binds.
//!
//! A session may take the plan if the head equals its own and the dictionary either has the same epoch or gives the
//! same answers to all questions. The questions are asked once for all sessions: the library cache notes the epoch for
//! which the answers were verified.
//!
//! A session may also take a plan that was made for another user, schema or rights, if its own names and privileges
//! give the same answers. This is verified at every parse; the note in the library cache does not cover it.

use crate::ctx::{ExecCtx, Rights};
use crate::host_functions::HostFunctions;
use dictionary::{Catalog, States};
use plan::names::{Difference, Lookup};
use plan::{BindType, Column, Plan, PlanBody};
use std::any::Any;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;
use types::image::{self, Damaged, Image, Kind, Objects, Reader, Writer};
use types::{ObjectId, Result};

/// The session properties that a plan was made for.
#[derive(Clone, Debug, PartialEq, Image)]
pub(crate) struct Head {
    /// A hash of the text, in addition to the digest that the cursor is found by.
    text: u64,
    user: u32,
    schema: Rc<str>,
    rights: Rights,
    optimizer: u64,
    nls: u64,
}

impl Head {
    /// The head of a plan for this text in the session's present state.
    pub(crate) fn of(text: &str, rights: Rights, cx: &ExecCtx<'_>) -> Head {
        let mut hasher = std::hash::DefaultHasher::new();
        text.hash(&mut hasher);
        Head {
            text: hasher.finish(),
            user: cx.session.parsing_user,
            schema: Rc::clone(&cx.session.schema),
            rights,
            optimizer: cx.session.options.optimizer,
            nls: cx.session.nls_fingerprint(),
        }
    }

    /// Whether the two differ at most in user, schema and rights.
    pub(crate) fn is_alike(&self, other: &Head) -> bool {
        (self.text, self.optimizer, self.nls) == (other.text, other.optimizer, other.nls)
    }
}

/// The look-ups that a plan was made by.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    List(Rc<[Lookup]>),
    /// A range of the bytes of an image.
    Bytes(Rc<[u8]>, Range<usize>),
}

impl Names {
    fn list(&self) -> std::result::Result<Rc<[Lookup]>, Damaged> {
        match self {
            Names::List(list) => Ok(Rc::clone(list)),
            Names::Bytes(bytes, part) => lookups_of(&bytes[part.clone()]).map(Into::into),
        }
    }

    /// Whether all names have the same meaning in the present dictionary. A plan with functions is made anew, because a
    /// session's handles of functions are valid for one state of the dictionary only.
    pub(crate) fn are_same(&self, names: &dyn Catalog, states: &RefCell<States>) -> Result<bool> {
        let Ok(list) = self.list() else { return Ok(false) };
        if list.iter().any(|lookup| matches!(lookup, Lookup::Function { .. })) {
            return Ok(false);
        }
        plan::names::is_same(&list, names, states)
    }
}

/// The look-ups of an image name a function by the number of its handle.
struct Numbers;

impl Objects for Numbers {
    fn object(&self, _kind: Kind, _number: u32) -> Option<Rc<dyn Any>> {
        None
    }
    fn handle(&self, function: usize) -> Option<u64> {
        Some(function as u64)
    }
}

fn lookups_of(bytes: &[u8]) -> std::result::Result<Vec<Lookup>, Damaged> {
    image::read(bytes, &Numbers)
}

/// The dictionary as seen by the session that makes a cursor from an image.
struct Session<'a> {
    names: &'a dyn Catalog,
    handles: &'a [u64],
}

impl Objects for Session<'_> {
    fn object(&self, kind: Kind, number: u32) -> Option<Rc<dyn Any>> {
        let object = ObjectId(number);
        Some(match kind {
            Kind::Table => self.names.table_by_id(object).ok()??,
            Kind::Index => self.names.index_by_id(object).ok()??,
            Kind::Sequence => self.names.sequence_by_id(object).ok()??,
        })
    }
    fn handle(&self, function: usize) -> Option<u64> {
        self.handles.get(function).copied()
    }
}

/// The properties of a query that are known without its plan.
#[derive(Debug, Image)]
pub(crate) struct Outside {
    pub columns: Vec<Column>,
    pub binds: Vec<String>,
    pub dependencies: Vec<ObjectId>,
}

impl Outside {
    /// The outside of a plan; `None` if more of the plan is needed before it is executed.
    fn of(plan: &Plan, has_functions: bool, is_over_temporary: bool) -> Option<Outside> {
        let PlanBody::Query(query) = &plan.body else { return None };
        (!has_functions && !is_over_temporary && plan.peeks.is_empty()).then(|| Outside {
            columns: query.columns.clone(),
            binds: plan.binds.clone(),
            dependencies: plan.dependencies.clone(),
        })
    }
}

/// The bytes of a plan that is decoded when its cursor is executed.
#[derive(Debug)]
pub(crate) struct Later {
    bytes: Rc<[u8]>,
    plan: Range<usize>,
}

impl Later {
    /// Decodes the plan for a session whose dictionary gives the answers that the plan was made by. `None` for damaged
    /// bytes.
    pub(crate) fn plan(&self, names: &dyn Catalog) -> Option<Plan> {
        image::read(&self.bytes[self.plan.clone()], &Session { names, handles: &[] }).ok()
    }
}

/// The image of a plan made at this epoch of the dictionary; empty if the plan has no image.
pub(crate) fn encode(
    head: &Head,
    epoch: u64,
    (by_place, binds): (bool, &[BindType]),
    lookups: &[Lookup],
    (plan, is_over_temporary): (&Plan, bool),
) -> Vec<u8> {
    let part = |put: &dyn Fn(&mut Writer)| {
        let mut w = Writer::new(plan::names::handles(lookups));
        put(&mut w);
        w.finish()
    };
    let names = part(&|w| {
        w.number(lookups.len() as u64);
        lookups.iter().for_each(|lookup| lookup.put(w));
    });
    let has_functions = lookups.iter().any(|lookup| matches!(lookup, Lookup::Function { .. }));
    let outside = Outside::of(plan, has_functions, is_over_temporary);
    let (Some(names), Some(plan)) = (names, part(&|w| plan.put(w))) else { return Vec::new() };
    let mut w = Writer::default();
    head.put(&mut w);
    epoch.put(&mut w);
    by_place.put(&mut w);
    binds.to_vec().put(&mut w);
    has_functions.put(&mut w);
    outside.put(&mut w);
    w.bytes(&names);
    w.bytes(&plan);
    w.finish().unwrap_or_default()
}

/// The plan of an image: decoded, or to be decoded at the first execution.
#[allow(clippy::large_enum_variant)] // One value a parse, moved once.
pub(crate) enum FoundPlan {
    Made(Plan),
    Later(Outside, Later),
}

/// A plan that has been found.
pub(crate) struct Found {
    pub plan: FoundPlan,
    pub names: Names,
    pub binds: Vec<BindType>,
    /// Whether every occurrence of a bind variable is a separate bind.
    pub by_place: bool,
    /// The epoch of the dictionary for which the plan's names were verified.
    pub epoch: u64,
    /// Whether the library cache does not know of that epoch yet.
    pub is_news: bool,
}

/// The owner of the plan that the session wants to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The session's own; its names were verified at this epoch.
    Own(Option<u64>),
    /// Another user, schema or rights.
    Others,
}

/// Why the plan of an image cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The plan is for other rights, another text or other settings.
    Other,
    /// The plan is for other types of binds, or names binds in another way.
    Binds,
    /// Names have another meaning now.
    Names,
    /// The session has lost a privilege on an object.
    Privileges,
    /// The plan names a missing object, or the image is damaged.
    Damaged,
}

/// The plan of an image, if the session may take it.
///
/// # Errors
/// Those of reading the dictionary.
pub(crate) fn decode(
    bytes: &[u8],
    whose: Whose,
    head: &Head,
    (by_place, binds): (Option<bool>, &[BindType]),
    cx: &mut ExecCtx<'_>,
) -> Result<std::result::Result<Found, Unfit>> {
    let Ok(parts) = parts(bytes) else { return Ok(Err(Unfit::Damaged)) };
    let Parts { head: have, epoch, by_place: named, binds: bind_types, has_functions, outside, rest, names, plan } =
        parts;
    let is_its = match whose {
        Whose::Own(_) => have == *head,
        Whose::Others => have.is_alike(head),
    };
    if !is_its {
        return Ok(Err(Unfit::Other));
    }
    // Without binds, both ways of naming them are the same.
    if !bind_types.is_empty() && by_place.is_some_and(|by_place| by_place != named) {
        return Ok(Err(Unfit::Binds));
    }
    let by_place = by_place.unwrap_or(named);
    let wanted = binds.iter().chain(std::iter::repeat(&None)).zip(&bind_types);
    if binds.len() > bind_types.len() || wanted.into_iter().any(|(want, have)| want.is_some() && want != have) {
        return Ok(Err(Unfit::Binds));
    }
    let catalog = cx.host.catalog()?;
    let now = catalog.epoch();
    let is_known = match whose {
        Whose::Own(known) => now == epoch || known == Some(now),
        Whose::Others => false,
    };
    let mut handles = Vec::new();
    if !is_known || has_functions {
        let Ok(lookups) = lookups_of(&rest[names.clone()]) else { return Ok(Err(Unfit::Damaged)) };
        let states = Rc::clone(&cx.session.states);
        let difference = match is_known {
            true => None,
            false => plan::names::difference(&lookups, &*catalog, &states)?,
        };
        match difference {
            Some(Difference::Name) => return Ok(Err(Unfit::Names)),
            Some(Difference::Privilege) => return Ok(Err(Unfit::Privileges)),
            None => {}
        }
        if has_functions {
            match plan::names::find_functions(&lookups, &HostFunctions::new(cx))? {
                Some(found) => handles = found,
                None => return Ok(Err(Unfit::Names)),
            }
        }
    }
    let (plan, names) = match outside {
        Some(outside) => {
            let bytes: Rc<[u8]> = rest.into();
            let names = Names::Bytes(Rc::clone(&bytes), names);
            (FoundPlan::Later(outside, Later { bytes, plan }), names)
        }
        None => {
            let objects = Session { names: &*catalog, handles: &handles };
            let Ok(plan) = image::read::<Plan>(&rest[plan], &objects) else { return Ok(Err(Unfit::Damaged)) };
            // The first execution replaces a plan made without values by one for the executing session.
            if whose == Whose::Others && !plan.peeks.is_empty() && !plan.is_peeked {
                return Ok(Err(Unfit::Other));
            }
            let names: Rc<[u8]> = rest[names].into();
            let whole = 0..names.len();
            (FoundPlan::Made(plan), Names::Bytes(names, whole))
        }
    };
    let is_news = !is_known && whose != Whose::Others;
    Ok(Ok(Found { plan, names, binds: bind_types, by_place, epoch: now, is_news }))
}

struct Parts<'a> {
    head: Head,
    epoch: u64,
    by_place: bool,
    binds: Vec<BindType>,
    has_functions: bool,
    outside: Option<Outside>,
    /// The bytes after these, and the ranges of the look-ups and of the plan in them.
    rest: &'a [u8],
    names: Range<usize>,
    plan: Range<usize>,
}

fn parts(bytes: &[u8]) -> std::result::Result<Parts<'_>, Damaged> {
    let mut r = Reader::new(bytes, &image::NoObjects);
    let head = Head::take(&mut r)?;
    let epoch = u64::take(&mut r)?;
    let by_place = bool::take(&mut r)?;
    let binds = Vec::take(&mut r)?;
    let has_functions = bool::take(&mut r)?;
    let outside = <Option<Outside> as Image>::take(&mut r)?;
    let rest = r.rest();
    let mut part = || {
        let len = r.bytes()?.len();
        let end = rest.len() - r.rest().len();
        Ok(end - len..end)
    };
    let (names, plan) = (part()?, part()?);
    Ok(Parts { head, epoch, by_place, binds, has_functions, outside, rest, names, plan })
}

/// The part of an image with the plan; for tests.
#[doc(hidden)]
pub fn image_of(plan: &Plan, lookups: &[Lookup]) -> Option<Vec<u8>> {
    let mut w = Writer::new(plan::names::handles(lookups));
    plan.put(&mut w);
    w.finish()
}

/// The plan of such a part, as another session in the same state decodes it; for tests.
#[doc(hidden)]
pub fn plan_of(image: &[u8], lookups: &[Lookup], names: &dyn Catalog) -> Option<Plan> {
    let handles = plan::names::handles(lookups);
    image::read(image, &Session { names, handles: &handles }).ok()
}
