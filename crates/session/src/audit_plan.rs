//! The audit rules of a session, and the test whether a rule covers an event.

use dictionary::UserId;
use dictionary::audit::{self, RuleKind};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A rule that applies to the session's user.
#[derive(Debug)]
pub(crate) struct Rule {
    what: What,
    policy: Option<Rc<str>>,
    success: bool,
    failure: bool,
}

#[derive(Debug)]
pub(crate) enum What {
    /// ALL is `None`.
    Action(Option<Rc<str>>),
    /// The action that uses the privilege `name`: with `others` only on objects of other owners, otherwise only on the
    /// user's own objects.
    Privilege {
        action: String,
        others: bool,
        name: Rc<str>,
    },
    Object {
        object: u32,
        action: Option<Rc<str>>,
    },
}

/// The audit rules of a session.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) rules: Vec<Rule>,
    /// Whether a rule can cover a query or DML statement.
    pub rows: bool,
}

/// An event that a rule may cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) action: &'a str,
    pub(crate) number: u16,
    /// Owner, name and number of the objects. The trail shows the object that a rule names, or else the first one.
    pub(crate) objects: &'a [(String, String, u32)],
    /// 0 for success.
    pub(crate) code: u32,
    pub(crate) text: &'a str,
}

/// The rules that cover an event, together.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) any: bool,
    pub(crate) by_option: bool,
    pub(crate) policies: BTreeSet<Rc<str>>,
    pub(crate) privilege: Option<Rc<str>>,
    pub(crate) object: Option<usize>,
}

const ROW_ACTIONS: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"];

impl Plan {
    /// The rules for a user; `None` stands for an unknown name.
    pub fn of(settings: &audit::AuditSettings, user: Option<UserId>) -> Plan {
        let mut plan = Plan::default();
        for rule in settings.rules().iter().filter(|rule| rule.whom.is(user.map(|user| user.0))) {
            let named = || Some(Rc::clone(&rule.option)).filter(|option| &**option != "ALL");
            let mut add = |what: What| {
                plan.rows |= match &what {
                    What::Action(action) => action.as_ref().is_none_or(|action| ROW_ACTIONS.contains(&&**action)),
                    What::Privilege { .. } => false,
                    What::Object { .. } => true,
                };
                plan.rules.push(Rule {
                    what,
                    policy: rule.policy.clone(),
                    success: rule.success,
                    failure: rule.failure,
                });
            };
            match rule.kind {
                RuleKind::Action => match audit::actions_of(&rule.option).filter(|_| rule.policy.is_none()) {
                    Some(actions) => actions.iter().for_each(|action| {
                        add(What::Action(Some(Rc::from(*action)).filter(|action: &Rc<str>| &**action != "ALL")));
                    }),
                    None => add(What::Action(named())),
                },
                RuleKind::Privilege => {
                    if let Some((action, others)) = audit::action_of_privilege(&rule.option) {
                        add(What::Privilege { action, others, name: Rc::clone(&rule.option) });
                    }
                }
                RuleKind::Object => add(What::Object { object: rule.object, action: named() }),
            }
        }
        plan
    }

    pub(crate) fn hits(&self, event: &Event<'_>, user: &str) -> Hits {
        let mut hits = Hits::default();
        let owner = event.objects.first().map(|(owner, ..)| owner.as_str()).filter(|owner| !owner.is_empty());
        for rule in &self.rules {
            if !(if event.code == 0 { rule.success } else { rule.failure }) {
                continue;
            }
            let hit = match &rule.what {
                What::Action(None) => true,
                What::Action(Some(action)) => &**action == event.action,
                What::Privilege { action, others, .. } => {
                    let is_others = owner.is_some_and(|owner| owner != user);
                    let verb = action == "GRANT" && event.action == "REVOKE" || action == event.action;
                    // An object without an owner, such as a user, always matches.
                    verb && (owner.is_none() && !others || owner.is_some() && is_others == *others)
                }
                What::Object { object, action } => {
                    let at = event.objects.iter().position(|(.., number)| number == object);
                    let hit =
                        at.is_some() && action.as_ref().is_none_or(|action| is_object_action(action, event.action));
                    hits.object = hits.object.or(at.filter(|_| hit));
                    hit
                }
            };
            if hit {
                hits.any = true;
                hits.by_option |= rule.policy.is_none();
                hits.policies.extend(rule.policy.clone());
                if let What::Privilege { name, .. } = &rule.what {
                    hits.privilege = Some(Rc::clone(name));
                }
            }
        }
        hits
    }
}

/// Whether the audit option of an object covers an action: `ALTER` covers `ALTER TABLE`.
fn is_object_action(option: &str, action: &str) -> bool {
    option == action
        || option == "LOCK" && action == "LOCK TABLE"
        || option == "ALTER" && action.starts_with("ALTER ")
        || option == "INDEX" && action == "CREATE INDEX"
        || option == "GRANT" && action == "REVOKE"
        || option == "AUDIT" && action == "NOAUDIT"
        || action == "MERGE" && matches!(option, "INSERT" | "UPDATE")
}
