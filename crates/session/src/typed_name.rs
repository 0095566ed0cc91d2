//! Names of users as they are typed at a logon.

/// A user's name as the dictionary has it: upper case unless quoted.
pub(crate) fn dictionary_name(text: &str) -> String {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => text.to_uppercase(),
    }
}

/// The name of a user as it was typed, and of the one as whom it wants to be known: `proxy[client]`.
pub fn split_name(typed: &str) -> (&str, Option<&str>) {
    // A quoted name may have brackets in it.
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

/// A user's name as the dictionary has it, of what was typed at a logon.
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
