//! The rows of the table, one module a family.

use crate::registry::Entry;

mod activation;
mod attention;
mod choose;
mod combine;
mod complex;
mod conv;
mod convert;
mod create;
mod decompose;
mod elementwise;
mod fft;
mod grid;
mod index;
mod linalg;
mod loss;
mod matmul;
mod norm;
mod quantize;
mod recurrent;
mod reduce;
mod sampling;
mod scatter;
mod view;
mod without_rule;

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
    grid::entries(out);
    index::entries(out);
    scatter::entries(out);
    combine::entries(out);
    complex::entries(out);
    create::entries(out);
    convert::entries(out);
    norm::entries(out);
    quantize::entries(out);
    loss::entries(out);
    recurrent::entries(out);
    fft::entries(out);
    linalg::entries(out);
    decompose::entries(out);
    sampling::entries(out);
    without_rule::entries(out);
}
