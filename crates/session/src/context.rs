//! SYS_CONTEXT, and DBMS_SESSION.SET_CONTEXT.

use crate::app_context::{check_namespace, check_seers, check_value};
use crate::core::Core;
use dictionary::{GlobalContext, Seers};
use exec::SessionState;
use params::Param;
use plsql::ContextChange;
use types::{Number, Ora, Result, Value};

/// `SYS_CONTEXT(namespace, parameter)`, both in upper case. NULL for an unknown namespace.
///
/// # Errors
/// ORA-02003 for a USERENV parameter that does not exist.
pub fn sys_context(core: &Core, session: &SessionState, namespace: &str, parameter: &str) -> Result<Value> {
    match namespace {
        "USERENV" => {}
        // The rows of SESSION_ROLES.
        "SYS_SESSION_ROLES" => {
            let names = core.names()?;
            let role = names.image().user_named(parameter).filter(|role| role.is_role);
            let is_enabled = role.is_some_and(|role| core.who.roles(core.identity()).contains(&role.id.0));
            return Ok(Value::text(if is_enabled { "TRUE" } else { "FALSE" }));
        }
        namespace => {
            let own = core.contexts.get(namespace, parameter);
            return own.map_or_else(|| global_value(core, session, namespace, parameter), Ok);
        }
    }
    let slot = core.p.session();
    let param = |p| Value::text(core.instance.params().get(p));
    let own = |p| Value::text(crate::nls::effective(&core.params.borrow(), p));
    Ok(match parameter {
        "SID" => number(core.p.sid().into()),
        "SESSIONID" | "UNIFIED_AUDIT_SESSIONID" => {
            number((core.p.session().serial() << 12 | u64::from(core.p.sid())) as i64)
        }
        "SESSION_USER" | "AUTHENTICATED_IDENTITY" => Value::text(session.user.as_str()),
        "SESSION_USERID" => number(session.user_id.into()),
        "CURRENT_USER" => Value::text(core.user_name(core.identity().user)?),
        "CURRENT_USERID" => number(core.identity().user.0.into()),
        "CURRENT_SCHEMA" => Value::text(&*session.schema),
        "CURRENT_SCHEMAID" => number(core.identity().schema.0.into()),
        "OS_USER" => Value::text(slot.os_user.get()),
        "HOST" => Value::text(slot.machine.get()),
        "TERMINAL" => Value::text(slot.terminal.get()),
        "MODULE" => Value::text(slot.module.get()),
        "ACTION" => Value::text(slot.action.get()),
        "CLIENT_INFO" => Value::text(slot.client_info.get()),
        "CLIENT_IDENTIFIER" => Value::text(slot.client_identifier.get()),
        "CLIENT_PROGRAM_NAME" => Value::text(slot.program.get()),
        "DB_NAME" | "CDB_NAME" | "CON_NAME" => param(Param::DbName),
        "DB_UNIQUE_NAME" => param(Param::DbUniqueName),
        "DB_DOMAIN" => param(Param::DbDomain),
        "INSTANCE" => number(1),
        "INSTANCE_NAME" => param(Param::InstanceName),
        "SERVICE_NAME" => Value::text(slot.service_name()),
        "SERVER_HOST" => Value::text(os::process::host_name()),
        "CON_ID" => number(0),
        "ISDBA" => Value::text(if core.who.is_sysdba_login() { "TRUE" } else { "FALSE" }),
        "LANG" => Value::text(session.nls.short_language()),
        "LANGUAGE" => Value::text(format!("{}_{}.AL32UTF8", session.nls.language, session.nls.territory)),
        "NLS_TERRITORY" => own(Param::NlsTerritory),
        "NLS_CURRENCY" => own(Param::NlsCurrency),
        "NLS_CALENDAR" => own(Param::NlsCalendar),
        "NLS_DATE_FORMAT" => own(Param::NlsDateFormat),
        "NLS_DATE_LANGUAGE" => own(Param::NlsDateLanguage),
        "NLS_SORT" => own(Param::NlsSort),
        "BG_JOB_ID" | "FG_JOB_ID" if core.job.get() != 0 => number(core.job.get() as i64),
        "FG_JOB_ID" | "ENTRYID" | "STATEMENTID" => number(0),
        "DATABASE_ROLE" => Value::text("PRIMARY"),
        "CURRENT_EDITION_NAME" | "SESSION_EDITION_NAME" => Value::text(&*crate::edition::current(core)?.0),
        "CURRENT_EDITION_ID" | "SESSION_EDITION_ID" => number(crate::edition::current(core)?.1.into()),
        "PROXY_USER" => core.proxied.borrow().as_ref().map_or(Value::Null, |by| Value::text(by.name.as_str())),
        "PROXY_USERID" => core.proxied.borrow().as_ref().map_or(Value::Null, |proxied| number(proxied.by.0.into())),
        "IP_ADDRESS" => Value::text(slot.address.get()),
        "NETWORK_PROTOCOL" => match (slot.address.get().is_empty(), slot.speaks_tls()) {
            (true, _) => Value::Null,
            (false, false) => Value::text("tcp"),
            (false, true) => Value::text("tcps"),
        },
        "PID" => number(core.p.number().into()),
        "ORACLE_HOME" => Value::text(core.instance.dir().to_string_lossy()),
        "PLATFORM_SLASH" => Value::text("/"),
        "SESSION_DEFAULT_COLLATION" => Value::text("USING_NLS_COMP"),
        "IS_APPLY_SERVER" | "IS_DG_ROLLING_UPGRADE" => Value::text("FALSE"),
        "IS_APPLICATION_ROOT" | "IS_APPLICATION_PDB" => Value::text("NO"),
        "DRAIN_STATUS" => Value::text("NONE"),
        "LDAP_SERVER_TYPE" => Value::text("NONE"),
        // NULL: there are no audited cursors, policies, links, enterprise users or scheduler jobs.
        "AUDITED_CURSORID"
        | "AUTHENTICATION_DATA"
        | "BG_JOB_ID"
        | "CDB_DOMAIN"
        | "CLOUD_SERVICE"
        | "CURRENT_BIND"
        | "CURRENT_SQL"
        | "CURRENT_SQL1"
        | "CURRENT_SQL2"
        | "CURRENT_SQL3"
        | "CURRENT_SQL4"
        | "CURRENT_SQL5"
        | "CURRENT_SQL6"
        | "CURRENT_SQL7"
        | "CURRENT_SQL_LENGTH"
        | "DBLINK_INFO"
        | "DB_SUPPLEMENTAL_LOG_LEVEL"
        | "ENTERPRISE_IDENTITY"
        | "EXTERNAL_NAME"
        | "GLOBAL_CONTEXT_MEMORY"
        | "GLOBAL_UID"
        | "POLICY_INVOKER"
        | "PROXY_ENTERPRISE_IDENTITY"
        | "SCHEDULER_JOB"
        | "STANDBY_MAX_DATA_DELAY" => Value::Null,
        "AUTHENTICATION_METHOD" => Value::text(if core.who.is_sysdba_login() { "OS" } else { "PASSWORD" }),
        "IDENTIFICATION_TYPE" => Value::text("LOCAL"),
        _ => return Err(Ora::new(2003)),
    })
}

fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}

/// DBMS_SESSION.SET_CONTEXT, CLEAR_CONTEXT and CLEAR_ALL_CONTEXT. A namespace other than CLIENTCONTEXT belongs to a
/// package, which is on the call stack.
///
/// # Errors
/// ORA-01031 for another namespace; errors of [`crate::app_context::AppContexts::set`].
pub(crate) fn change(core: &Core, session: &SessionState, change: &ContextChange<'_>) -> Result<()> {
    let ContextChange { namespace, name, value, user, client, callers } = *change;
    let mut global = None;
    if check_namespace(namespace).is_err() {
        let names = core.names()?;
        let context = names.image().context(&namespace.to_uppercase());
        names.image().checked()?;
        let context = context.filter(|context| callers.contains(&context.package)).ok_or_else(|| Ora::new(1031))?;
        global = context.global.then(|| of_instance(core, context.object));
    }
    let Some(of) = global else {
        match (name, value) {
            (Some(name), Some(value)) => core.contexts.set(namespace, name, value)?,
            (name, _) => core.contexts.clear(namespace, name),
        }
        return Ok(());
    };
    let dictionary = core.instance.storage().dictionary;
    let at = (&*core.p, &session.txn);
    match name {
        Some(name) => {
            check_value(name, value.unwrap_or_default())?;
            let user = user.map(crate::typed_name::dictionary_name);
            check_seers(user.as_deref(), client)?;
            let seers = Seers { user: user.as_deref(), client };
            dictionary.set_global_value(at, of, (&name.to_uppercase(), value), seers)
        }
        None => dictionary.clear_global_values(at, of, client),
    }
}

fn of_instance(core: &Core, context: types::ObjectId) -> GlobalContext {
    let startup = (core.instance.state().started_wall_ns() / 1_000_000) as i64;
    GlobalContext { context, startup }
}

/// The value of a context that is accessed globally.
fn global_value(core: &Core, session: &SessionState, namespace: &str, name: &str) -> Result<Value> {
    let names = core.names()?;
    let context = names.image().context(namespace);
    names.image().checked()?;
    let Some(context) = context.filter(|context| context.global) else { return Ok(Value::Null) };
    let client = core.p.session().client_identifier.get();
    let client = Some(client.as_str()).filter(|client| !client.is_empty());
    let seers = Seers { user: Some(session.user.as_str()), client };
    let dictionary = core.instance.storage().dictionary;
    let value = dictionary.global_value(&core.p, of_instance(core, context.object), name, seers)?;
    Ok(value.map_or(Value::Null, Value::text))
}
