//! The credentials of a client, and its description of itself.

/// The credentials of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// `/ as sysdba`: the operating-system user that owns the instance.
    Sysdba,
    /// `/`: the account of the operating-system user (`ops$name`).
    OsUser,
    /// `user/password`.
    Password { user: String, password: String },
    /// `user/password as sysdba`.
    SysdbaPassword { user: String, password: String },
    /// `user/password`, and the new password.
    Change { user: String, password: String, new_password: String },
}

impl Credentials {
    /// `user/password`.
    pub fn password(user: &str, password: &str) -> Self {
        Credentials::Password { user: user.into(), password: password.into() }
    }
}

/// The description of the client in `v$session`.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    pub program: String,
    pub machine: String,
    pub terminal: String,
    pub os_user: String,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        let env = |n: &str| std::env::var(n).ok().filter(|v| !v.is_empty());
        Self {
            program: "latchwork".into(),
            machine: env("HOSTNAME").unwrap_or_else(|| "localhost".into()),
            terminal: "unknown".into(),
            os_user: env("USER").or_else(|| env("LOGNAME")).unwrap_or_else(|| "unknown".into()),
        }
    }
}
