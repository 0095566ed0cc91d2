//! Names of users in the form of a logon.

/// A user's name in the dictionary's form: upper case unless quoted.
pub(crate) fn dictionary_name(text: &str) -> String {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => text.to_uppercase(),
    }
}

/// Splits `proxy[client]` into the user who proves a password and the user of the session; without brackets, the second
/// is `None`.
pub fn split_name(typed: &str) -> (&str, Option<&str>) {
    // A quoted name may contain brackets.
    let from = match typed.strip_prefix('"') {
        Some(rest) => rest.find('"').map_or(typed.len(), |end| end + 2),
        None => 0,
    };
    let tail = typed.get(from..).unwrap_or_default();
    match tail.find('[').zip(tail.strip_suffix(']')) {
        Some((at, inner)) if at < inner.len() => (&typed[..from + at], Some(&inner[at + 1..])),
        _ => (typed, None),
    }
}

/// The name of the user who proves a password, in the dictionary's form.
pub fn user_name(typed: &str) -> String {
    dictionary_name(split_name(typed).0)
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn a_name_in_brackets_is_the_clients() {
        for (typed, proxy, client) in [
            ("scott", "scott", None),
            ("web[scott]", "web", Some("scott")),
            ("web[\"Scott\"]", "web", Some("\"Scott\"")),
            ("\"we[b]\"[scott]", "\"we[b]\"", Some("scott")),
            ("\"we[b]\"", "\"we[b]\"", None),
            ("[scott]", "", Some("scott")),
            ("web[]", "web", Some("")),
            ("web[", "web[", None),
            ("web]", "web]", None),
            ("\"web", "\"web", None),
        ] {
            assert_eq!(split_name(typed), (proxy, client), "{typed}");
        }
    }
}
