//! The rows of PROXY_INFO$, and the default edition in PROPS$. Both are used seldom and read on demand: no picture of
//! the dictionary contains them.

use crate::base::{Base, props, proxy, proxy_role};
use crate::rows::{as_i64, as_text, as_u32};
use crate::{DefaultRoles, DictionaryShared, Image, UserId};
use process::Process;
use types::Result;

/// The rights of a proxy user.
#[derive(Clone, Debug)]
pub struct ProxyDef {
    /// The roles of the client that may be enabled.
    roles: DefaultRoles,
    listed: Vec<u32>,
    /// The client's own password is required too.
    pub authenticated: bool,
}

impl ProxyDef {
    /// True when a proxy session of the client may enable a role.
    pub fn may_enable(&self, image: &Image, role: u32) -> bool {
        match self.roles {
            DefaultRoles::All => true,
            DefaultRoles::None => false,
            DefaultRoles::Listed => image.reached(&self.listed).contains(&role),
            DefaultRoles::AllExcept => !self.listed.contains(&role),
        }
    }
}

impl DictionaryShared {
    /// The rights of `by` as a proxy of `client`; `None` when it has none.
    ///
    /// # Errors
    /// Those of reading.
    pub fn proxy(&self, p: &Process, client: UserId, by: UserId) -> Result<Option<ProxyDef>> {
        let mut found: Option<ProxyDef> = None;
        self.scan_once(p, Base::Proxy, &mut |_, row| {
            if (as_u32(&row[proxy::CLIENT]), as_u32(&row[proxy::PROXY])) == (client.0, by.0) {
                let roles = match as_i64(&row[proxy::FLAGS]) {
                    Some(1) => DefaultRoles::All,
                    Some(4) => DefaultRoles::Listed,
                    Some(8) => DefaultRoles::AllExcept,
                    _ => DefaultRoles::None,
                };
                let authenticated = as_i64(&row[proxy::CREDENTIAL]).unwrap_or(0) != 0;
                found = Some(ProxyDef { roles, listed: Vec::new(), authenticated });
            }
            Ok(())
        })?;
        if let Some(found) = &mut found {
            self.scan_once(p, Base::ProxyRole, &mut |_, row| {
                if (as_u32(&row[proxy_role::CLIENT]), as_u32(&row[proxy_role::PROXY])) == (client.0, by.0) {
                    found.listed.push(as_u32(&row[proxy_role::ROLE]));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The name of the default edition.
    ///
    /// # Errors
    /// Those of reading.
    pub fn default_edition(&self, p: &Process) -> Result<String> {
        let mut name = String::from("ORA$BASE");
        self.scan_once(p, Base::Props, &mut |_, row| {
            if as_text(&row[props::NAME]) == "DEFAULT_EDITION" {
                name = as_text(&row[props::VALUE]).to_owned();
            }
            Ok(())
        })?;
        Ok(name)
    }
}
