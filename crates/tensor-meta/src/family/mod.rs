//! The rules, one module a family.

use crate::registry::Entry;

mod activation;
mod attention;
mod choose;
mod combine;
mod complex;
mod conv;
mod create;
mod elementwise;
mod fft;
mod index;
mod linalg;
mod matmul;
mod norm;
mod recurrent;
mod reduce;
mod sampling;
mod view;

/// Every rule of every family.
pub(crate) fn entries(out: &mut Vec<Entry>) {
    elementwise::entries(out);
    choose::entries(out);
    activation::entries(out);
    view::entries(out);
    reduce::entries(out);
    matmul::entries(out);
    attention::entries(out);
    conv::entries(out);
    index::entries(out);
    combine::entries(out);
    complex::entries(out);
    create::entries(out);
    norm::entries(out);
    recurrent::entries(out);
    fft::entries(out);
    linalg::entries(out);
    sampling::entries(out);
}
