//! Element types, numbered as torch numbers its `ScalarType`.

use std::fmt;
use std::ops::RangeInclusive;

macro_rules! dtypes {
    ($($variant:ident = $num:literal, $name:literal, $size:literal;)*) => {
        /// An element type of a tensor. The discriminant is torch's `ScalarType` number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = concat!("`torch.", $name, "`")] $variant = $num,)*
        }

        impl DType {
            /// Every dtype that torch 2.15 has.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The dtype with torch's `ScalarType` number `n`; `None` if there is none.
            pub const fn from_scalar_type(n: u16) -> Option<DType> {
                match n {
                    $($num => Some(DType::$variant),)*
                    _ => None,
                }
            }

            /// Name as Python prints it: `"torch.float32"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => concat!("torch.", $name),)*
                }
            }

            /// Bytes per element (of the packed unit for sub-byte types).
            pub const fn itemsize(self) -> usize {
                match self {
                    $(DType::$variant => $size,)*
                }
            }
        }
    };
}

dtypes! {
    UInt8 = 0, "uint8", 1;
    Int8 = 1, "int8", 1;
    Int16 = 2, "int16", 2;
    Int32 = 3, "int32", 4;
    Int64 = 4, "int64", 8;
    Float16 = 5, "float16", 2;
    Float32 = 6, "float32", 4;
    Float64 = 7, "float64", 8;
    Complex32 = 8, "complex32", 4;
    Complex64 = 9, "complex64", 8;
    Complex128 = 10, "complex128", 16;
    Bool = 11, "bool", 1;
    QInt8 = 12, "qint8", 1;
    QUInt8 = 13, "quint8", 1;
    QInt32 = 14, "qint32", 4;
    BFloat16 = 15, "bfloat16", 2;
    QUInt4x2 = 16, "quint4x2", 1;
    QUInt2x4 = 17, "quint2x4", 1;
    Bits1x8 = 18, "bits1x8", 1;
    Bits2x4 = 19, "bits2x4", 1;
    Bits4x2 = 20, "bits4x2", 1;
    Bits8 = 21, "bits8", 1;
    Bits16 = 22, "bits16", 2;
    Float8E5m2 = 23, "float8_e5m2", 1;
    Float8E4m3fn = 24, "float8_e4m3fn", 1;
    Float8E5m2fnuz = 25, "float8_e5m2fnuz", 1;
    Float8E4m3fnuz = 26, "float8_e4m3fnuz", 1;
    UInt16 = 27, "uint16", 2;
    UInt32 = 28, "uint32", 4;
    UInt64 = 29, "uint64", 8;
    UInt1 = 30, "uint1", 1;
    UInt2 = 31, "uint2", 1;
    UInt3 = 32, "uint3", 1;
    UInt4 = 33, "uint4", 1;
    UInt5 = 34, "uint5", 1;
    UInt6 = 35, "uint6", 1;
    UInt7 = 36, "uint7", 1;
    Int1 = 37, "int1", 1;
    Int2 = 38, "int2", 1;
    Int3 = 39, "int3", 1;
    Int4 = 40, "int4", 1;
    Int5 = 41, "int5", 1;
    Int6 = 42, "int6", 1;
    Int7 = 43, "int7", 1;
    Float8E8m0fnu = 44, "float8_e8m0fnu", 1;
    Float4E2m1fnX2 = 45, "float4_e2m1fn_x2", 1;
    BComplex32 = 46, "bcomplex32", 4;
}

impl DType {
    /// torch's `ScalarType` number.
    pub const fn scalar_type(self) -> u16 {
        self as u16
    }

    /// The dtype that Python prints as `name`, with or without the `torch.` prefix.
    pub fn from_name(name: &str) -> Option<DType> {
        let short = name.strip_prefix("torch.").unwrap_or(name);
        DType::ALL
            .iter()
            .copied()
            .find(|d| &d.name()["torch.".len()..] == short)
    }

    /// `dtype.is_floating_point`.
    pub const fn is_floating(self) -> bool {
        use DType::*;
        matches!(
            self,
            Float16 | Float32 | Float64 | BFloat16 | Float4E2m1fnX2
        ) || self.is_float8()
    }

    /// One of the five one-byte floating types.
    pub const fn is_float8(self) -> bool {
        use DType::*;
        matches!(
            self,
            Float8E5m2 | Float8E4m3fn | Float8E5m2fnuz | Float8E4m3fnuz | Float8E8m0fnu
        )
    }

    /// `dtype.is_complex`.
    pub const fn is_complex(self) -> bool {
        use DType::*;
        matches!(self, Complex32 | Complex64 | Complex128 | BComplex32)
    }

    /// The integer types that arithmetic supports (not bool, not sub-byte, not quantised).
    pub const fn is_integral(self) -> bool {
        use DType::*;
        matches!(
            self,
            UInt8 | Int8 | Int16 | Int32 | Int64 | UInt16 | UInt32 | UInt64
        )
    }

    /// The types that many kernels lack: an operation with known metadata may still raise.
    pub const fn lacks_kernels(self) -> bool {
        use DType::*;
        !matches!(
            self,
            Bool | UInt8
                | Int8
                | Int16
                | Int32
                | Int64
                | Float16
                | BFloat16
                | Float32
                | Float64
                | Complex64
                | Complex128
        )
    }

    /// The least and the greatest element of the integer types, where both fit 64 bits.
    pub fn int_elements(self) -> Option<(i64, i64)> {
        let ints = self.converted_ints()?;
        let is_unsigned = *ints.start() == -*ints.end();
        let least = if is_unsigned { 0 } else { *ints.start() };
        Some((i64::try_from(least).ok()?, i64::try_from(*ints.end()).ok()?))
    }

    /// The ints that a kernel converts to an element of the integer types that arithmetic supports. Unsigned types
    /// take negative numbers of their width too.
    const fn converted_ints(self) -> Option<RangeInclusive<i128>> {
        use DType::*;
        let (least, most) = match self {
            UInt8 => (-(u8::MAX as i128), u8::MAX as i128),
            UInt16 => (-(u16::MAX as i128), u16::MAX as i128),
            UInt32 => (-(u32::MAX as i128), u32::MAX as i128),
            UInt64 => (-(u64::MAX as i128), u64::MAX as i128),
            Int8 => (i8::MIN as i128, i8::MAX as i128),
            Int16 => (i16::MIN as i128, i16::MAX as i128),
            Int32 => (i32::MIN as i128, i32::MAX as i128),
            Int64 => (i64::MIN as i128, i64::MAX as i128),
            _ => return None,
        };
        Some(least..=most)
    }

    /// The largest finite value of the floating types, and of the parts of the complex ones, that arithmetic
    /// supports.
    fn largest_float(self) -> Option<f64> {
        use DType::*;
        match self {
            Float16 | Complex32 => Some(65504.0),
            BFloat16 | BComplex32 => Some(f64::from(f32::from_bits(0x7f7f_0000))),
            Float32 | Complex64 => Some(f64::from(f32::MAX)),
            _ => None,
        }
    }

    /// Whether a kernel converts this int to an element, perhaps rounded, without "value cannot be converted to
    /// type ... without overflow".
    pub fn holds_int(self, value: i64) -> bool {
        match self.converted_ints() {
            Some(ints) => ints.contains(&i128::from(value)),
            None => self.holds_float(value as f64),
        }
    }

    /// The same for each int of 64 bits.
    pub fn holds_any_int(self) -> bool {
        self.holds_int(i64::MIN) && self.holds_int(i64::MAX)
    }

    /// The same for a float. Infinities and NaN are elements of the floating types.
    pub fn holds_float(self, value: f64) -> bool {
        match (self.converted_ints(), self.largest_float()) {
            (Some(ints), _) => (*ints.start() as f64..=*ints.end() as f64).contains(&value.trunc()),
            (None, Some(most)) => !value.is_finite() || value.abs() <= most,
            (None, None) => true,
        }
    }

    /// The types of tensors that have a scale and a zero point.
    pub const fn is_quantized(self) -> bool {
        use DType::*;
        matches!(self, QInt8 | QUInt8 | QInt32 | QUInt4x2 | QUInt2x4)
    }

    /// Integers and bool.
    pub const fn is_integral_or_bool(self) -> bool {
        self.is_integral() || matches!(self, DType::Bool)
    }

    /// Whether autograd can differentiate through values of this type.
    pub const fn is_differentiable(self) -> bool {
        self.is_floating() || self.is_complex()
    }

    /// The real type of a complex type's parts; any other type unchanged.
    pub const fn to_real(self) -> DType {
        match self {
            DType::Complex32 => DType::Float16,
            DType::Complex64 => DType::Float32,
            DType::Complex128 => DType::Float64,
            DType::BComplex32 => DType::BFloat16,
            other => other,
        }
    }

    /// The complex type whose parts have this floating type; `None` where torch has none.
    pub const fn to_complex(self) -> Option<DType> {
        match self {
            DType::Float16 => Some(DType::Complex32),
            DType::Float32 => Some(DType::Complex64),
            DType::BFloat16 => Some(DType::BComplex32),
            DType::Float64 => Some(DType::Complex128),
            c if c.is_complex() => Some(c),
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
