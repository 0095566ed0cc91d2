//! Names of SYS with rules of their own.

/// Dictionary tables excluded from SELECT ANY DICTIONARY, because their contents could be used for a logon.
pub(super) fn is_secret(base: &str) -> bool {
    matches!(base, "USER$" | "USER_HISTORY$" | "LINK$" | "ENC$" | "DEFAULT_PWD$" | "XS$VERIFIERS")
}

/// True for the name of a view of SYS over a fixed view.
pub(super) fn is_grantable_name(name: &str) -> bool {
    name.starts_with("V_$") || name.starts_with("GV_$")
}

/// The view of SYS on which privileges for a fixed view are granted: V_$SESSION for V$SESSION.
pub(super) fn grantable_name(name: &str) -> Option<String> {
    match name {
        name if is_grantable_name(name) => Some(name.to_owned()),
        "NLS_DATABASE_PARAMETERS" | "NLS_SESSION_PARAMETERS" | "NLS_INSTANCE_PARAMETERS" => Some(name.to_owned()),
        name => {
            let (prefix, rest) = name.split_once('$')?;
            matches!(prefix, "V" | "GV").then(|| format!("{prefix}_${rest}"))
        }
    }
}

/// The few V$ views that Oracle grants to PUBLIC.
pub(super) fn is_public_fixed(name: &str) -> bool {
    let name = name.strip_prefix('G').unwrap_or(name);
    let view = name.strip_prefix("V$").or_else(|| name.strip_prefix("V_$"));
    let Some(view) = view else {
        return matches!(name, "NLS_DATABASE_PARAMETERS" | "NLS_SESSION_PARAMETERS" | "NLS_INSTANCE_PARAMETERS");
    };
    matches!(
        view,
        "VERSION"
            | "NLS_PARAMETERS"
            | "NLS_VALID_VALUES"
            | "TIMER"
            | "SESSION_CONNECT_INFO"
            | "SESSION_LONGOPS"
            | "OPTION"
            | "RESERVED_WORDS"
            | "TIMEZONE_NAMES"
            | "BH"
            | "RESTORE_POINT"
            | "ALL_SQL_PLAN"
    )
}
