//! translator
