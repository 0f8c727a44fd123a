//! fx-graph
