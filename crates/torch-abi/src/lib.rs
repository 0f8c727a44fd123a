//! torch-abi
