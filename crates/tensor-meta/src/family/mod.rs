//! The rules, one module a family.

use crate::registry::Entry;

mod activation;
mod combine;
mod conv;
mod create;
mod elementwise;
mod index;
mod matmul;
mod norm;
mod reduce;
mod view;

/// Every rule of every family.
pub(crate) fn entries(out: &mut Vec<Entry>) {
    elementwise::entries(out);
    activation::entries(out);
    view::entries(out);
    reduce::entries(out);
    matmul::entries(out);
    conv::entries(out);
    index::entries(out);
    combine::entries(out);
    create::entries(out);
    norm::entries(out);
}
