//! Supervisor, listener and server processes of Latchwork.
