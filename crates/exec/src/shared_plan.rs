//! A plan in shared memory: what a hard parse leaves in the library cache, and a soft parse makes a cursor of.
//!
//! | part | what |
//! |---|---|
//! | head | for whom the plan was made: user, schema, rights, settings, types of the binds, the dictionary's epoch |
//! | outside | columns, binds and objects of a query, if it needs nothing else of its plan before it is executed |
//! | look-ups | all questions to the dictionary, with their answers ([`plan::names`]) |
//! | plan | [`plan::Plan`], objects by their numbers |
//!
//! A parse call looks at the head and, where there is one, the outside; the plan is made of the rest when the cursor is
//! executed for the first time ([`Later`]). A query with functions, over temporary tables, or with a plan that depends
//! on values of binds has no outside.
//!
//! A session may take the plan if the head is its own, word by word, and the dictionary is the one of that epoch, or
//! answers all questions as it did then. The second is asked once for all sessions: the library cache notes the epoch
//! at which the answers were found to be the same.
//!
//! A plan that was made for another user, schema or rights may be taken if the session's own names and privileges
//! answer all questions as theirs did. That is asked at every parse, and the note of the library cache says nothing
//! about it.

use crate::ctx::{ExecCtx, HostFunctions, Rights};
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

/// For whom a plan was made.
#[derive(Clone, Debug, PartialEq, Image)]
pub(crate) struct Head {
    /// A number over the text, beside the digest by which it was found.
    text: u64,
    user: u32,
    schema: Rc<str>,
    rights: Rights,
    optimizer: u64,
    nls: u64,
}

impl Head {
    /// The properties that a statement's plan must have in the session as it is now.
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

    /// Whether the two differ in nothing but user, schema and rights.
    pub(crate) fn is_alike(&self, other: &Head) -> bool {
        (self.text, self.optimizer, self.nls) == (other.text, other.optimizer, other.nls)
    }
}

/// The look-ups that a plan was made by, as they are at hand.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    List(Rc<[Lookup]>),
    /// A part of the bytes of an image.
    Bytes(Rc<[u8]>, Range<usize>),
}

impl Names {
    fn list(&self) -> std::result::Result<Rc<[Lookup]>, Damaged> {
        match self {
            Names::List(list) => Ok(Rc::clone(list)),
            Names::Bytes(bytes, part) => lookups_of(&bytes[part.clone()]).map(Into::into),
        }
    }

    /// Whether all names mean the same in the dictionary as it is now. A plan with functions is made anew: a session's
    /// handles of them are good for one state of the dictionary.
    pub(crate) fn are_same(&self, names: &dyn Catalog, states: &RefCell<States>) -> Result<bool> {
        let Ok(list) = self.list() else { return Ok(false) };
        if list.iter().any(|lookup| matches!(lookup, Lookup::Function { .. })) {
            return Ok(false);
        }
        plan::names::is_same(&list, names, states)
    }
}

/// In the look-ups of an image a function's handle is its number.
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

/// The dictionary of the session that makes a cursor of an image.
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

/// The parts of a query that are known without its plan.
#[derive(Debug, Image)]
pub(crate) struct Outside {
    pub columns: Vec<Column>,
    pub binds: Vec<String>,
    pub dependencies: Vec<ObjectId>,
}

impl Outside {
    /// That of a plan, unless more of it is asked for before it is executed.
    fn of(plan: &Plan, has_functions: bool, is_over_temporary: bool) -> Option<Outside> {
        let PlanBody::Query(query) = &plan.body else { return None };
        (!has_functions && !is_over_temporary && plan.peeks.is_empty()).then(|| Outside {
            columns: query.columns.clone(),
            binds: plan.binds.clone(),
            dependencies: plan.dependencies.clone(),
        })
    }
}

/// The bytes of a plan that is made when its cursor is executed.
#[derive(Debug)]
pub(crate) struct Later {
    bytes: Rc<[u8]>,
    plan: Range<usize>,
}

impl Later {
    /// The plan, for a session whose dictionary gives the answers that it was made by. `None` where the bytes are no
    /// plan.
    pub(crate) fn plan(&self, names: &dyn Catalog) -> Option<Plan> {
        image::read(&self.bytes[self.plan.clone()], &Session { names, handles: &[] }).ok()
    }
}

/// The image of a plan that was made from the dictionary of that epoch; empty when it has none.
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

/// The plan of an image: made, or to be made at the first execution.
#[allow(clippy::large_enum_variant)] // One a parse, and moved once.
pub(crate) enum FoundPlan {
    Made(Plan),
    Later(Outside, Later),
}

/// A plan that has been found.
pub(crate) struct Found {
    pub plan: FoundPlan,
    pub names: Names,
    pub binds: Vec<BindType>,
    /// Every place of a bind variable is a bind of its own.
    pub by_place: bool,
    /// The epoch of the dictionary in which its names mean what they did.
    pub epoch: u64,
    /// That is news to other sessions.
    pub is_news: bool,
}

/// The owner of a plan that is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The session's own, whose names have been found to mean what they did at this epoch.
    Own(Option<u64>),
    /// Another user's, or for another schema or other rights.
    Others,
}

/// Why the plan of an image cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is for other rights, another text or other settings.
    Other,
    /// For binds of other types, or named in another way.
    Binds,
    /// Names mean something else by now.
    Names,
    /// Objects may not be used any more.
    Privileges,
    /// It names what is not there, or is no image.
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
    // Without binds it is the same to name them by place.
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
            // The first execution of a plan that was made without values makes it anew, for its own session.
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
    /// The bytes behind these, and where in them the look-ups and the plan are.
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

/// The part of an image that is the plan: for tests.
#[doc(hidden)]
pub fn image_of(plan: &Plan, lookups: &[Lookup]) -> Option<Vec<u8>> {
    let mut w = Writer::new(plan::names::handles(lookups));
    plan.put(&mut w);
    w.finish()
}

/// The plan of such a part, as another session in the same state reads it: for tests.
#[doc(hidden)]
pub fn plan_of(image: &[u8], lookups: &[Lookup], names: &dyn Catalog) -> Option<Plan> {
    let handles = plan::names::handles(lookups);
    image::read(image, &Session { names, handles: &handles }).ok()
}
