//! tensor-meta
