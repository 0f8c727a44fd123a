//! Recurrent layers over whole sequences, and their cells.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, float_or, int_or, one, raise, tensor, tensors, unsupported,
};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::{DRAWS, LOOPS};
use crate::types::{Inferred, TensorMeta, Value};

/// What is common to the layers: how many, in how many directions, and the order of dimensions.
struct Layers<'a> {
    input: In<'a>,
    states: Vec<In<'a>>,
    params: Vec<In<'a>>,
    directions: i64,
    count: i64,
    batch_first: bool,
}

impl<'a> Layers<'a> {
    fn read(call: &Call<'a>, states: usize) -> R<Layers<'a>> {
        let [
            x,
            hx,
            params,
            bias,
            count,
            dropout,
            train,
            both,
            batch_first,
        ] = call.bind([
            "input",
            "hx",
            "params",
            "has_biases",
            "num_layers",
            "dropout",
            "train",
            "bidirectional",
            "batch_first",
        ])?;
        let Value::Int(_) = count else {
            return unsupported("packed sequence");
        };
        bool_or(bias, true)?;
        bool_or(train, false)?;
        let states = match states {
            1 => vec![tensor(hx)?],
            _ => tensors(hx)?,
        };
        let layers = Layers {
            input: tensor(x)?,
            states,
            params: tensors(params)?,
            directions: if bool_or(both, false)? { 2 } else { 1 },
            count: int_or(count, 1)?,
            batch_first: bool_or(batch_first, false)?,
        };
        if float_or(dropout, 0.0)? != 0.0 {
            return unsupported("dropout between layers");
        }
        layers.check()?;
        Ok(layers)
    }

    fn check(&self) -> R<()> {
        let dtype = self.input.dtype;
        let all = self.states.iter().chain(&self.params);
        if !dtype.is_floating() || all.clone().any(|t| t.dtype != dtype) {
            return unsupported("dtypes of a recurrent layer");
        }
        if self.input.dim() != 3 || self.states.iter().any(|s| s.dim() != 3) {
            return unsupported("ranks of a recurrent layer");
        }
        if self.input.count() == 0 || all.clone().any(|t| t.count() == 0) || self.count < 1 {
            return unsupported("empty sequence");
        }
        let batch = self.input.shape[usize::from(!self.batch_first)];
        let states = [Size::known(self.count * self.directions), batch];
        if self.states.iter().any(|s| s.shape[..2] != states) {
            return raise("sizes of the initial state");
        }
        if self.params.iter().any(|p| p.dim() == 0 || p.dim() > 2) {
            return unsupported("parameters of a recurrent layer");
        }
        Ok(())
    }

    fn results(&self, call: &Call<'_>) -> R {
        let mut inputs: SmallVec<[&TensorMeta; 16]> = SmallVec::new();
        inputs.push(self.input.meta);
        inputs.extend(self.states.iter().chain(&self.params).map(|t| t.meta));
        let x = &self.input;
        let (time, batch) = match self.batch_first {
            true => (x.shape[1], x.shape[0]),
            false => (x.shape[0], x.shape[1]),
        };
        let width = self.states[0].shape[2] * self.directions;
        let dtype = x.dtype;
        let output = match self.batch_first {
            // Computed with time first, and turned at the end.
            true => call.fresh(
                &[batch, time, width],
                &[width, batch * width, Size::ONE],
                dtype,
                &inputs,
            ),
            false => call.rows(&[time, batch, width], dtype, &inputs),
        };
        let mut results = vec![Inferred::Tensor(output)];
        for state in &self.states {
            results.push(Inferred::Tensor(call.rows(&state.shape, dtype, &inputs)));
        }
        Ok(Inferred::Tuple(results))
    }
}

fn lstm(call: &Call<'_>) -> R {
    let layers = Layers::read(call, 2)?;
    if layers.states.len() != 2 || layers.states[0].shape != layers.states[1].shape {
        return unsupported("states of an lstm");
    }
    layers.results(call)
}
fn plain(call: &Call<'_>) -> R {
    Layers::read(call, 1)?.results(call)
}

/// Input, weights and biases of a cell, after its state.
fn cell<'a>(
    input: &Value<'a>,
    state: &In<'a>,
    rest: [&Value<'a>; 4],
    gates: i64,
) -> R<Vec<In<'a>>> {
    let mut all = vec![tensor(input)?];
    for value in rest {
        if !value.is_none() {
            all.push(tensor(value)?);
        }
    }
    let plain = all.iter().all(|t| t.dtype == state.dtype) && state.dtype.is_floating();
    if !plain || all[0].dim() != 2 || state.dim() != 2 || all.len() < 3 || state.count() == 0 {
        return unsupported("arguments of a recurrent cell");
    }
    if all[1].shape[..] != [gates * state.shape[1], all[0].shape[1]]
        || all[2].shape[..] != [gates * state.shape[1], state.shape[1]]
        || all[0].shape[0] != state.shape[0]
    {
        return raise("sizes of a recurrent cell");
    }
    if all[3..]
        .iter()
        .any(|bias| bias.shape[..] != all[1].shape[..1])
    {
        return unsupported("bias of a recurrent cell");
    }
    Ok(all)
}
fn lstm_cell(call: &Call<'_>) -> R {
    let [x, hx, a, b, c, d] = call.bind(["input", "hx", "w_ih", "w_hh", "b_ih", "b_hh"])?;
    let states = tensors(hx)?;
    let [hidden, memory] = states.as_slice() else {
        return raise("states of lstm_cell");
    };
    let rest = cell(x, hidden, [a, b, c, d], 4)?;
    if hidden.shape != memory.shape || hidden.dtype != memory.dtype {
        return unsupported("states of lstm_cell");
    }
    let mut inputs: SmallVec<[&TensorMeta; 8]> = rest.iter().map(|t| t.meta).collect();
    inputs.extend([hidden.meta, memory.meta]);
    let result = || Inferred::Tensor(call.rows(&hidden.shape, hidden.dtype, &inputs));
    Ok(Inferred::Tuple(vec![result(), result()]))
}
fn plain_cell(call: &Call<'_>) -> R {
    let [x, hx, a, b, c, d] = call.bind(["input", "hx", "w_ih", "w_hh", "b_ih", "b_hh"])?;
    let state = tensor(hx)?;
    let rest = cell(x, &state, [a, b, c, d], 1)?;
    let mut inputs: SmallVec<[&TensorMeta; 8]> = rest.iter().map(|t| t.meta).collect();
    inputs.push(state.meta);
    one(call.rows(&state.shape, state.dtype, &inputs))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("lstm", "*", "", lstm)
            .does(DRAWS | LOOPS)
            .draws_if(5, "dropout")
            .cast(Cast::NotDescribed),
        rule("gru", "*", "", plain)
            .does(DRAWS | LOOPS)
            .draws_if(5, "dropout")
            .cast(Cast::NotDescribed),
        rule("rnn_tanh", "*", "", plain)
            .does(DRAWS | LOOPS)
            .draws_if(5, "dropout")
            .cast(Cast::NotDescribed),
        rule("rnn_relu", "*", "", plain)
            .does(DRAWS | LOOPS)
            .draws_if(5, "dropout")
            .cast(Cast::NotDescribed),
        rule("lstm_cell", "*", "", lstm_cell).cast(Cast::NotDescribed),
        rule("rnn_tanh_cell", "*", "", plain_cell).cast(Cast::NotDescribed),
        rule("rnn_relu_cell", "*", "", plain_cell).cast(Cast::NotDescribed),
    ]);
}
