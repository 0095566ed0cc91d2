//! A client that has proved its password, and waits for a server process or for its session.

use super::pool_client::{Head, Pooled};
use super::tls::Transport;
use instance::connection_pool::PoolClient;
use net::local;
use net::oracle::auth::Logon;
use net::oracle::field::Writer;
use net::oracle::handshake::Client;
use net::oracle::o5logon::SessionKey;
use net::oracle::tns::PacketBuffer;
use session::{Caller, Proof};
use types::{Ora, Result};

/// A client that has proved its password, and waits for the answer.
pub struct Proved {
    pub client: Client,
    pub(super) who: local::Logon,
    pub(super) second: Logon,
    pub(super) key: SessionKey,
    pub(super) proof: Proof,
    pub(super) caller: Caller,
    pub(super) proof_ns: u64,
    /// The time at which the search for, or the fork of, a server process began.
    pub fork_began_ns: u64,
    pub(super) line: Option<(Transport, PacketBuffer, u32)>,
    /// The client requests a session of the connection pool.
    pub(super) pooled: Option<Pooled>,
}

impl Proved {
    /// A client whose proof took `proof_ns` to check.
    pub fn new(
        client: Client,
        who: local::Logon,
        second: Logon,
        key: SessionKey,
        proof: Proof,
        proof_ns: u64,
    ) -> Proved {
        Proved {
            client,
            who,
            second,
            key,
            proof,
            caller: Caller::default(),
            proof_ns,
            fork_began_ns: 0,
            line: None,
            pooled: None,
        }
    }

    /// Sets the client's address and further attributes.
    pub fn called(self, caller: Caller) -> Proved {
        Proved { caller, ..self }
    }

    /// The client's description of itself.
    pub fn who(&self) -> &local::Logon {
        &self.who
    }

    /// Sets the connection.
    pub fn take_line(&mut self, stream: Transport, packets: PacketBuffer, sdu: u32) {
        self.line = Some((stream, packets, sdu));
    }

    /// The number of the call with the proof, which is answered next.
    pub fn sequence(&self) -> u8 {
        self.second.sequence
    }

    /// The key of the conversation, with which passwords are encrypted.
    pub fn key(&self) -> SessionKey {
        self.key.clone()
    }

    /// The client's description of itself, with the new password if it changes.
    pub(super) fn who_changes(&self) -> Result<local::Logon> {
        let Some(new) = self.second.pairs.get("AUTH_NEWPASSWORD") else { return Ok(self.who.clone()) };
        let old = self.second.pairs.get("AUTH_PASSWORD").unwrap_or_default();
        let old = self.key.password(old).ok_or_else(|| Ora::new(1017))?;
        let new = self.key.new_password(new)?;
        Ok(local::Logon { password: old.to_string(), new_password: new.to_string(), ..self.who.clone() })
    }

    /// The socket of the connection.
    pub fn socket(&self) -> Option<&std::net::TcpStream> {
        self.line.as_ref().map(|(stream, ..)| stream.socket())
    }

    /// Takes the connection out.
    pub fn give_line(&mut self) -> Option<(Transport, PacketBuffer, u32)> {
        self.line.take()
    }
}

impl Proved {
    /// The head of a pool client, for the supervisor; `None` for another client.
    pub fn head(&self) -> Option<Head> {
        let Pooled { class, wants_new, .. } = self.pooled.as_ref()?;
        let user = session::user_name(&self.who.user);
        let class = format!("{user}.{class}");
        let mut key = Vec::new();
        let mut w = Writer::new(&mut key);
        let client = self.caller.client.as_deref().unwrap_or_default();
        for text in [&*user, &*class, client, self.caller.edition.as_deref().unwrap_or_default(), &self.caller.service]
        {
            w.long_bytes(text.as_bytes());
        }
        w.u8(self.who.as_sysdba.into());
        let client = PoolClient {
            user,
            class,
            service: self.caller.service.clone(),
            program: self.who.program.clone(),
            machine: self.who.machine.clone(),
            terminal: self.who.terminal.clone(),
            wants_new: *wants_new,
        };
        Some(Head { key, client })
    }

    /// Sets the index of the figures of its class.
    pub fn of_class(mut self, class: u16) -> Proved {
        if let Some(pooled) = &mut self.pooled {
            pooled.class_number = class;
        }
        self
    }

    /// Whether the session may be kept for another client.
    pub(super) fn may_be_kept(&self) -> bool {
        !self.who.as_sysdba && self.caller.client.is_none()
    }

    /// Marks that the client returns without a logon, and drops the passwords.
    pub(super) fn comes_back(&mut self) {
        let is_secret = |key: &str| key.contains("PASSWORD") || key.contains("SESSKEY") || key.contains("SPEEDY_KEY");
        self.second.pairs.forget(is_secret);
        if let Some(pooled) = &mut self.pooled {
            pooled.is_back = true;
        }
    }
}
