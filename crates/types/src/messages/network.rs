//! Texts of TNS errors: the network layer.

#[rustfmt::skip]
pub(super) const MESSAGES: &[(u32, &str)] = &[
    (125, "client identifier not found"),
    (1106, "Listener using listener name %s has already been started"),
    (3505, "Failed to resolve name"),
    (12154, "TNS:could not resolve the connect identifier specified"),
    (12502, "TNS:listener received no CONNECT_DATA from client"),
    (12505, "TNS:listener does not currently know of SID given in connect descriptor"),
    (12514, "TNS:listener does not currently know of service requested in connect descriptor"),
    (12516, "TNS:listener could not find available handler with matching protocol stack"),
    (12528, "TNS:listener: all appropriate instances are blocking new connections"),
    (12537, "TNS:connection closed"),
    (12541, "TNS:no listener"),
    (12545, "Connect failed because target host or object does not exist"),
    (12560, "TNS:protocol adapter error"),
];
