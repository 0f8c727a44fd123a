//! Fourier transforms.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, int, int_list, one, opt_tensor, raise, size, size_or, string, tensor,
    unsupported, wrap_dim,
};
use crate::iterator::preserved_strides;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::types::{DType, Dims, Value, contiguous_strides};

/// The complex type of a transform's values.
fn complex(call: &Call<'_>, dtype: DType) -> R<DType> {
    let dtype = match dtype.is_integral_or_bool() {
        true => call.ctx.default_dtype,
        false => dtype,
    };
    if dtype == DType::Float16 || dtype == DType::BFloat16 {
        return unsupported("transform of this dtype");
    }
    match dtype.is_complex() {
        true => Ok(dtype),
        false => dtype
            .to_complex()
            .map_or_else(|| unsupported("transform of this dtype"), Ok),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// complex to complex
    Full,
    /// real to the half of its transform that says all
    Half,
    /// back from that half to a real signal
    Back,
}

fn transform(call: &Call<'_>, x: &In<'_>, sizes: &[(usize, Size)], kind: Kind) -> R {
    if x.count() == 0 || sizes.is_empty() {
        return unsupported("empty transform");
    }
    if sizes.iter().any(|(_, n)| *n < 1) {
        return raise("size of a transform");
    }
    // How the kernels order what they write is not described here beyond the plain case.
    if !x.contiguous() || sizes.len() > 1 && kind != Kind::Full {
        return unsupported("layout of a transform");
    }
    if kind == Kind::Half && x.dtype.is_complex() {
        return raise("a real transform of complex values");
    }
    let dtype = complex(call, x.dtype)?;
    let mut shape = x.shape.clone();
    let last = sizes[sizes.len() - 1].0;
    for (d, n) in sizes {
        shape[*d] = *n;
    }
    if kind == Kind::Half {
        shape[last] = shape[last] / 2 + 1;
    }
    if last + 1 != x.dim() || sizes.len() > 1 {
        return unsupported("layout of a transform");
    }
    let dtype = match kind {
        Kind::Back => dtype.to_real(),
        _ => dtype,
    };
    one(call.fresh(&shape, &contiguous_strides(&shape), dtype, &[x.meta]))
}

fn one_dimension(call: &Call<'_>, kind: Kind) -> R {
    let [x, n, dim, norm] = call.bind(["input", "n", "dim", "norm"])?;
    let x = tensor(x)?;
    if !norm.is_none() {
        string(norm)?;
    }
    if x.dim() == 0 {
        return raise("transform of a 0-dim tensor");
    }
    let d = match dim {
        Value::None => x.dim() - 1,
        other => wrap_dim(int(other)?, x.dim())?,
    };
    let n = match (n, kind) {
        (Value::None, Kind::Back) => 2 * (x.shape[d] - 1),
        (Value::None, _) => x.shape[d],
        (other, _) => size(other)?,
    };
    transform(call, &x, &[(d, n)], kind)
}
fn full(call: &Call<'_>) -> R {
    one_dimension(call, Kind::Full)
}
fn half(call: &Call<'_>) -> R {
    one_dimension(call, Kind::Half)
}
fn back(call: &Call<'_>) -> R {
    one_dimension(call, Kind::Back)
}
fn shift(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    if !dim.is_none() {
        let mut seen: SmallVec<[usize; 6]> = SmallVec::new();
        for d in int_list(dim)? {
            let d = wrap_dim(d, x.dim())?;
            if seen.contains(&d) || x.dim() == 0 {
                return unsupported("dimensions of fftshift");
            }
            seen.push(d);
        }
    }
    if !x.contiguous() || x.dim() == 0 || x.count() == 0 {
        return unsupported("layout of fftshift");
    }
    let strides: Dims = preserved_strides(&x.shape, &x.strides);
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}

/// Transforms of overlapping frames: frequencies, then frames, laid out frame after frame.
fn stft(call: &Call<'_>) -> R {
    let [
        x,
        n,
        hop,
        width,
        window,
        center,
        mode,
        normalized,
        onesided,
        complex,
        align,
    ] = call.bind([
        "input",
        "n_fft",
        "hop_length",
        "win_length",
        "window",
        "center",
        "pad_mode",
        "normalized",
        "onesided",
        "return_complex",
        "align_to_window",
    ])?;
    let (x, n) = (tensor(x)?, size(n)?);
    let hop = size_or(hop, n / 4)?;
    let width = size_or(width, n)?;
    bool_or(normalized, false)?;
    if !matches!(x.dtype, DType::Float32 | DType::Float64) || !matches!(x.dim(), 1 | 2) {
        return unsupported("input of stft");
    }
    if !bool_or(complex, false)?
        || !align.is_none()
        || !matches!(mode, Value::None | Value::Str("reflect" | "constant"))
    {
        return unsupported("options of stft");
    }
    let mut inputs = vec![x.meta];
    if let Some(w) = opt_tensor(window)? {
        if w.dtype != x.dtype || w.dim() != 1 {
            return unsupported("window of stft");
        }
        if w.shape[0] != width {
            return raise("length of the window of stft");
        }
        inputs.push(w.meta);
    }
    let mut length = x.shape[x.dim() - 1];
    if bool_or(center, true)? {
        if length <= n / 2 && !matches!(mode, Value::Str("constant")) {
            return raise("padding beyond the input of stft");
        }
        length += n / 2 * 2;
    }
    if n <= 0 || hop <= 0 || length < n || x.count() == 0 {
        return raise("sizes of stft");
    }
    let bins = match bool_or(onesided, true)? {
        true => n / 2 + 1,
        false => n,
    };
    let frames = (length - n) / hop + 1;
    let Some(dtype) = x.dtype.to_complex() else {
        return unsupported("input of stft");
    };
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..x.dim() - 1]);
    let mut strides: Dims = shape.iter().map(|_| bins * frames).collect();
    shape.extend([bins, frames]);
    strides.extend([Size::ONE, bins]);
    one(call.fresh(&shape, &strides, dtype, &inputs))
}

/// What overlapping frames add up to; whether the windows leave a gap is a matter of values.
fn istft(call: &Call<'_>) -> R {
    let [
        x,
        n,
        hop,
        width,
        window,
        center,
        normalized,
        onesided,
        length,
        complex,
    ] = call.bind([
        "input",
        "n_fft",
        "hop_length",
        "win_length",
        "window",
        "center",
        "normalized",
        "onesided",
        "length",
        "return_complex",
    ])?;
    let (x, n) = (tensor(x)?, size(n)?);
    let (hop, width) = (size_or(hop, n / 4)?, size_or(width, n)?);
    bool_or(normalized, false)?;
    let real = match x.dtype {
        DType::Complex64 => DType::Float32,
        DType::Complex128 => DType::Float64,
        _ => return unsupported("input of istft"),
    };
    if !matches!(x.dim(), 2 | 3) || x.count() == 0 || bool_or(complex, false)? {
        return unsupported("options of istft");
    }
    let (bins, frames) = (x.shape[x.dim() - 2], x.shape[x.dim() - 1]);
    let halves = bool_or(onesided, bins != n)?;
    if n < 1 || bins != if halves { n / 2 + 1 } else { n } {
        return unsupported("frequencies of istft");
    }
    if hop < 1 || hop > width || width < 1 || width > n {
        return unsupported("sizes of istft");
    }
    let mut inputs = vec![x.meta];
    if let Some(w) = opt_tensor(window)? {
        if w.dtype != real || w.dim() != 1 || w.shape[0] != width {
            return unsupported("window of istft");
        }
        inputs.push(w.meta);
    }
    let mut all = n + hop * (frames - 1);
    if bool_or(center, true)? {
        all -= n / 2 * 2;
    }
    let length = size_or(length, all)?;
    if all < 1 || length < 1 {
        return unsupported("length of istft");
    }
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..x.dim() - 2]);
    shape.push(length);
    one(call.fresh(&shape, &contiguous_strides(&shape), real, &inputs))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("fft_fft", "torch.fft.fft torch._C._fft.fft_fft", "", full),
        rule(
            "fft_ifft",
            "torch.fft.ifft torch._C._fft.fft_ifft",
            "",
            full,
        ),
        rule(
            "fft_rfft",
            "torch.fft.rfft torch._C._fft.fft_rfft",
            "",
            half,
        ),
        rule(
            "fft_irfft",
            "torch.fft.irfft torch._C._fft.fft_irfft",
            "",
            back,
        ),
        rule(
            "fft_fftshift",
            "torch.fft.fftshift torch._C._fft.fft_fftshift",
            "",
            shift,
        ),
        rule(
            "fft_ifftshift",
            "torch.fft.ifftshift torch._C._fft.fft_ifftshift",
            "",
            shift,
        ),
        rule("stft", "*", "*", stft),
        rule("istft", "*", "*", istft),
    ]);
}
