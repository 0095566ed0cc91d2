//! The description that a client of the network sends of itself, beyond the packets of the local socket.

use crate::core::Core;
use std::sync::atomic::Ordering::Relaxed;
use types::Result;

/// A client of the network.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The service that the client asked for, as the instance spells it; empty for a SID.
    pub service: String,
    /// The client wants a session of the connection pool.
    pub is_pooled: bool,
    /// Its driver's name.
    pub driver: String,
    /// The client's version, as it sends it.
    pub version: u64,
    /// Its character set, in Oracle's numbers.
    pub charset: u32,
    pub address: String,
    pub port: u16,
    /// The connection speaks TLS.
    pub is_encrypted: bool,
    /// Bytes of the key and of the checksums of native encryption; 0 without.
    pub native: (u8, u8),
    /// The user for whom the client opens a session as a proxy.
    pub client: Option<String>,
    /// Values of application contexts: namespace, name, value.
    pub contexts: Vec<[String; 3]>,
    /// The edition that the client asks for.
    pub edition: Option<String>,
}

impl Caller {
    /// Writes the description into the session's slot.
    pub(crate) fn note(&self, core: &Core) {
        let slot = core.p.session();
        slot.service.set(&self.service);
        slot.pooled.store(self.is_pooled.into(), Relaxed);
        slot.client_driver.set(&self.driver);
        slot.client_version.store(self.version, Relaxed);
        slot.client_charset.store(self.charset, Relaxed);
        slot.address.set(&self.address);
        slot.port.store(self.port.into(), Relaxed);
        let (key, checksum) = self.native;
        slot.encrypted.store(u64::from(self.is_encrypted) | u64::from(key) << 8 | u64::from(checksum) << 16, Relaxed);
    }

    /// Sets the contexts and the edition with which the session begins.
    ///
    /// # Errors
    /// ORA-28267 for a context that clients may not set, ORA-38802 for an unknown edition.
    pub(crate) fn settle(&self, core: &Core) -> Result<()> {
        for [namespace, name, value] in &self.contexts {
            crate::app_context::check_namespace(namespace)?;
            core.contexts.set(namespace, name, value)?;
        }
        match &self.edition {
            Some(edition) => crate::edition::set(core, &crate::typed_name::dictionary_name(edition)),
            None => Ok(()),
        }
    }
}
