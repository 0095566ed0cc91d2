//! The locks of DBMS_LOCK.

use crate::world::World;
use enqueue::{EnqueueError, EnqueueType, LockMode, Timeout};
use std::time::Duration;
use types::Result;

/// DBMS_LOCK.REQUEST.
pub fn request(world: &mut World<'_>, id: u32, mode: u8, timeout_s: Option<u32>, until_commit: bool) -> Result<i64> {
    let mode = LockMode::ALL.get(mode as usize).copied().unwrap_or(LockMode::Exclusive);
    if world.core.user_locks.borrow().contains_key(&id) {
        return Ok(4);
    }
    let timeout = user_timeout(timeout_s);
    match world.core.shared.enqueues.get(&world.core.p, EnqueueType::Ul, id.into(), 0, mode, timeout) {
        Ok(lock) => {
            world.core.user_locks.borrow_mut().insert(id, (lock, until_commit));
            Ok(0)
        }
        Err(EnqueueError::Busy | EnqueueError::TimedOut) => Ok(1),
        Err(EnqueueError::Deadlock) => Ok(2),
        Err(e) => Err(e.into()),
    }
}

/// DBMS_LOCK.RELEASE.
pub fn release(world: &mut World<'_>, id: u32) -> Result<i64> {
    match world.core.user_locks.borrow_mut().remove(&id) {
        Some((lock, _)) => {
            world.core.shared.enqueues.release(&world.core.p, lock);
            Ok(0)
        }
        None => Ok(4),
    }
}

/// DBMS_LOCK.CONVERT.
pub fn convert(world: &mut World<'_>, id: u32, mode: u8, timeout_s: Option<u32>) -> Result<i64> {
    let mode = LockMode::ALL.get(mode as usize).copied().unwrap_or(LockMode::Exclusive);
    let Some((lock, _)) = world.core.user_locks.borrow().get(&id).copied() else { return Ok(4) };
    match world.core.shared.enqueues.convert(&world.core.p, lock, mode, user_timeout(timeout_s)) {
        Ok(()) => Ok(0),
        Err(EnqueueError::Busy | EnqueueError::TimedOut) => Ok(1),
        Err(EnqueueError::Deadlock) => Ok(2),
        Err(e) => Err(e.into()),
    }
}

fn user_timeout(seconds: Option<u32>) -> Timeout {
    match seconds {
        None => Timeout::Never,
        Some(0) => Timeout::NoWait,
        Some(s) => Timeout::After(Duration::from_secs(s.into())),
    }
}
