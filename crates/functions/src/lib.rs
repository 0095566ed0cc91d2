//! Scalar and aggregate SQL functions of Latchwork.
