//! The picture of the dictionary that the last session of this process has read, for the next one: a server process
//! serves one session behind another. A picture that is out of date is read again where it is used.

use crate::instance::Instance;
use dictionary::Image;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    /// With the instance it is of: a test has several in one process.
    static LAST: RefCell<Option<(&'static Instance, Rc<Image>)>> = const { RefCell::new(None) };
}

/// Leaves the picture of a session that ends.
pub(crate) fn leave(instance: &'static Instance, image: Option<Rc<Image>>) {
    // A thread that ends has no place for it.
    let _ = LAST.try_with(|last| *last.borrow_mut() = image.map(|image| (instance, image)));
}

/// The picture for a session that begins.
pub(crate) fn take(instance: &'static Instance) -> Option<Rc<Image>> {
    let last = LAST.try_with(|last| last.borrow_mut().take()).ok().flatten();
    last.filter(|(of, _)| std::ptr::eq(*of, instance)).map(|(_, image)| image)
}
