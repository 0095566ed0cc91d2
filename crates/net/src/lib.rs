//! Packet codecs of Latchwork: bytes in, values out.
