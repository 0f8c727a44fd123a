//! frame-hook
