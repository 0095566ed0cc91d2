//! The state of PL/SQL for a session.
//!
//! The machine reaches package state, open cursors and the other units of its session through [`Plsql`]; the methods
//! that compile or run something for it are above the machine, in [`crate::session`].

use crate::code::Compiled;
use crate::compile::{SubSym, Units};
use crate::datum::Datum;
use crate::machine::{Cursors, Machine};
use crate::packages::output::Output;
use crate::packages::random::Random;
use crate::world::World;
use std::any::{self, Any};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use types::{Ora, Result, TypeId};

/// Largest depth of SQL calling PL/SQL that runs SQL, and so on: beyond it ORA-00036.
const LEVELS_MAX: u32 = 50;

/// The state of PL/SQL for a session: compiled units, package state, open static cursors, DBMS_OUTPUT, the random
/// generator.
///
/// One per server process. All methods take `&self`: PL/SQL calls SQL, which calls PL/SQL functions.
pub struct Plsql<C> {
    pub(crate) units: Units,
    machines: RefCell<Vec<Machine>>,
    pub(crate) packages: RefCell<Vec<PackageState>>,
    pub(crate) package_index: RefCell<HashMap<(String, String), usize>>,
    output: RefCell<Output>,
    random: RefCell<Random>,
    /// The session's data of built-in packages, by type.
    own: RefCell<HashMap<any::TypeId, Box<dyn Any>>>,
    pub(crate) functions: RefCell<Vec<Rc<SubSym>>>,
    args: RefCell<Vec<Vec<Datum>>>,
    level: Cell<u32>,
    pub(crate) cursors: Cursors<C>,
    /// Implicit results of the client's call.
    pub(crate) results: RefCell<Vec<Datum>>,
    pub(crate) takes_results: Cell<bool>,
    /// The variables of compound triggers by trigger, depth of the statement, and event.
    pub(crate) compounds: RefCell<HashMap<(u32, u32, u8), Vec<Compound>>>,
    /// Calls of pipelined functions whose rows are being fetched, by number.
    pub(crate) pipes: RefCell<HashMap<u64, Pipe>>,
    pub(crate) next_pipe: Cell<u64>,
    /// The number of the call in progress, from 1.
    pub(crate) call: Cell<u64>,
}

/// A call of a pipelined function whose rows are being fetched.
pub(crate) struct Pipe {
    pub(crate) machine: Machine,
    /// The call, until its first row.
    pub(crate) start: Option<(Rc<Compiled>, u32)>,
    pub(crate) sub: Rc<SubSym>,
    /// The type of its rows, if they are records.
    pub(crate) row: TypeId,
}

/// The variables of a compound trigger for one statement: a frame that waits for the sections.
pub(crate) struct Compound {
    pub(crate) machine: Machine,
    pub(crate) unit: Rc<Compiled>,
}

/// The variables of a package.
pub(crate) struct PackageState {
    /// The source that they belong to; a changed package loses its state.
    pub(crate) source: String,
    pub(crate) defined: [u64; 2],
    /// The hash of the layout of the slots, which changes with types that the package names, even if its source does
    /// not.
    pub(crate) layout: u64,
    pub(crate) slots: Vec<Datum>,
    /// The package has state that could be lost.
    pub(crate) has_state: bool,
    pub(crate) ready: bool,
    /// This session has compiled the package again itself: it gets no error about the lost state.
    pub(crate) renewed: bool,
}

impl<C: 'static> Plsql<C> {
    /// `seed` initializes DBMS_RANDOM.
    pub fn new(seed: u64) -> Plsql<C> {
        Plsql {
            units: Units::default(),
            machines: RefCell::default(),
            packages: RefCell::default(),
            package_index: RefCell::default(),
            output: RefCell::default(),
            random: RefCell::new(Random::new(seed)),
            own: RefCell::default(),
            functions: RefCell::default(),
            args: RefCell::default(),
            level: Cell::new(0),
            cursors: Cursors::default(),
            results: RefCell::default(),
            takes_results: Cell::new(true),
            compounds: RefCell::default(),
            pipes: RefCell::default(),
            next_pipe: Cell::new(1),
            call: Cell::new(1),
        }
    }

    pub(crate) fn validate<W: World<Cursor = C>>(&self, w: &mut W) {
        let epoch = w.epoch();
        self.units.validate(epoch);
    }

    /// Notes the end of the session's call, and with it the runs of all units.
    pub fn end_call(&self) {
        if !self.compounds.borrow().is_empty() {
            self.compounds.borrow_mut().clear();
        }
        self.call.set(self.call.get() + 1);
    }

    /// Whether the world knows that the present call runs a unit. Built-in packages are not reported.
    pub(crate) fn is_running(&self, unit: &Compiled) -> bool {
        unit.runs_in.get() == self.call.get() || unit.owner.is_empty()
    }

    /// Runs `f` on a machine of the session's pool.
    pub(crate) fn on_machine<R>(&self, f: impl FnOnce(&mut Machine) -> R) -> Result<R> {
        self.at_level(|| {
            let mut m = self.machines.borrow_mut().pop().unwrap_or_default();
            m.forget_implicit();
            let r = f(&mut m);
            self.machines.borrow_mut().push(m);
            r
        })
    }

    /// Runs `f` one level of SQL and PL/SQL deeper.
    ///
    /// # Errors
    /// ORA-00036, ORA-04030.
    pub(crate) fn at_level<R>(&self, f: impl FnOnce() -> R) -> Result<R> {
        if self.level.get() >= LEVELS_MAX {
            return Err(Ora::with(36, &[&LEVELS_MAX]));
        }
        if os::stack::is_short() {
            return Err(Ora::with(4030, &[&"64", &"koh-kghu call ", &"pl/sql stack"]));
        }
        self.level.set(self.level.get() + 1);
        let r = f();
        self.level.set(self.level.get() - 1);
        Ok(r)
    }

    /// The depth of SQL that calls PL/SQL that runs SQL, and so on.
    pub(crate) fn depth(&self) -> u32 {
        self.level.get()
    }

    /// Takes up to `max` finished lines of DBMS_OUTPUT.
    pub fn take_output(&self, max: usize) -> Vec<String> {
        let mut output = self.output.borrow_mut();
        (0..max).map_while(|_| output.take()).collect()
    }

    /// DBMS_OUTPUT.ENABLE with a limit in bytes (`None`: unlimited) or DISABLE.
    pub fn set_output(&self, enabled: bool, limit: Option<usize>) {
        self.output.borrow_mut().set(enabled, limit);
    }

    /// Closes every open cursor and drops package state: DBMS_SESSION.RESET_PACKAGE and the end of a session.
    pub fn reset(&self) {
        self.reset_packages();
        self.pipes.borrow_mut().clear();
        self.units.forget();
        self.output.borrow_mut().set(false, None);
    }

    pub(crate) fn reset_packages(&self) {
        // States in use keep their index; their contents are initialised again at the next use.
        for state in self.packages.borrow_mut().iter_mut() {
            state.ready = false;
        }
        drop(self.own.take());
    }

    /// Applies `f` to the session's data of a built-in package. `f` must not run PL/SQL or SQL.
    pub(crate) fn with_own<T: Default + 'static, R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut own = self.own.borrow_mut();
        let data = own.entry(any::TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        f(data.downcast_mut().expect("its key is its type"))
    }

    /// Notes the end of a client's call: units with errors are compiled again at their next use.
    pub fn forget_failures(&self) {
        self.units.forget_failures();
    }

    pub(crate) fn with_random<R>(&self, f: impl FnOnce(&mut Random) -> R) -> R {
        f(&mut self.random.borrow_mut())
    }

    pub(crate) fn with_output<R>(&self, f: impl FnOnce(&mut Output) -> R) -> R {
        f(&mut self.output.borrow_mut())
    }

    pub(crate) fn take_args(&self) -> Vec<Datum> {
        self.args.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn give_args(&self, args: Vec<Datum>) {
        self.args.borrow_mut().push(args);
    }

    pub(crate) fn package_get(&self, state: usize, slot: u32) -> Datum {
        self.packages.borrow()[state].slots[slot as usize].clone()
    }

    pub(crate) fn package_set(&self, state: usize, slot: u32, value: Datum) {
        self.packages.borrow_mut()[state].slots[slot as usize] = value;
    }

    pub(crate) fn package_with<R>(&self, state: usize, slot: u32, f: impl FnOnce(&mut Datum) -> R) -> R {
        f(&mut self.packages.borrow_mut()[state].slots[slot as usize])
    }
}
