//! Verdicts: the results of compiling invalid units and views, until they are stored in the dictionary.

use crate::core::Core;
use crate::ddl_call;
use dictionary::Verdict;
use enqueue::{EnqueueType, LockMode, Timeout};
use exec::ExecCtx;
use std::time::Duration;
use txn::Txn;

/// The longest wait for another session's DDL at the end of a call.
const VERDICTS_WAIT: Duration = Duration::from_secs(10);

impl Core {
    /// Stores the results of compiling invalid units and views (STATUS and USER_ERRORS), in a separate transaction.
    /// Units whose results are of an older epoch, before another session's DDL, are compiled again. The results are
    /// lost when the DD enqueue is not free in time; the next compilation gives them again.
    pub(crate) fn store_verdicts(&self, cx: &mut ExecCtx<'_>) {
        self.plsql.forget_failures();
        self.enter_verdicts(cx);
        // A failure of a unit compiled here must not count in the next call.
        self.plsql.forget_failures();
    }

    fn enter_verdicts(&self, cx: &mut ExecCtx<'_>) {
        let verdicts = self.dict.borrow().verdicts().take();
        if verdicts.is_empty() {
            return;
        }
        let dictionary = self.dict.borrow().shared().clone();
        let Ok(news) = dictionary.news(&self.p, verdicts) else { return };
        if news.is_empty() {
            return;
        }
        let timeout = Timeout::After(VERDICTS_WAIT);
        let taken = dictionary.enqueues().get(&self.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, timeout);
        let Ok(lock) = taken else { return };
        // No other session moves the epoch while this process holds the DD enqueue.
        let epoch = dictionary.epoch();
        let (mut good, old): (Vec<Verdict>, Vec<Verdict>) =
            news.into_iter().partition(|verdict| verdict.epoch == epoch);
        for verdict in old {
            ddl_call::compile(self, cx, verdict.object);
        }
        good.extend(self.dict.borrow().verdicts().take());
        let mut txn = Txn::inside(&cx.session.txn);
        let hook = self.instance.on_commit();
        let news = dictionary.news(&self.p, good);
        let done = news.and_then(|news| dictionary.store_verdicts(&self.p, &mut txn, &hook, &news));
        if done.is_err() {
            let _ = self.shared.txns.rollback(&self.p, &mut txn);
        }
        self.shared.txns.show_transaction(&self.p, &cx.session.txn);
        dictionary.enqueues().release(&self.p, lock);
    }
}
