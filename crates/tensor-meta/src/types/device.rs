//! Devices, numbered as torch numbers its `DeviceType`.

use std::fmt;

macro_rules! device_kinds {
    ($($variant:ident = $num:literal, $name:literal;)*) => {
        /// A kind of device. The discriminant is torch's `DeviceType` number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DeviceKind {
            $(#[doc = concat!("`torch.device(\"", $name, "\")`")] $variant = $num,)*
        }

        impl DeviceKind {
            /// The kind with torch's `DeviceType` number `n`.
            pub const fn from_device_type(n: u8) -> Option<DeviceKind> {
                match n {
                    $($num => Some(DeviceKind::$variant),)*
                    _ => None,
                }
            }

            /// Name as in `torch.device(name)`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DeviceKind::$variant => $name,)*
                }
            }

            /// The kind that torch names `name`.
            pub fn from_name(name: &str) -> Option<DeviceKind> {
                match name {
                    $($name => Some(DeviceKind::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

device_kinds! {
    Cpu = 0, "cpu";
    Cuda = 1, "cuda";
    Mkldnn = 2, "mkldnn";
    OpenGl = 3, "opengl";
    OpenCl = 4, "opencl";
    Ideep = 5, "ideep";
    Hip = 6, "hip";
    Fpga = 7, "fpga";
    Maia = 8, "maia";
    Xla = 9, "xla";
    Vulkan = 10, "vulkan";
    Metal = 11, "metal";
    Xpu = 12, "xpu";
    Mps = 13, "mps";
    Meta = 14, "meta";
    Hpu = 15, "hpu";
    Ve = 16, "ve";
    Lazy = 17, "lazy";
    Ipu = 18, "ipu";
    Mtia = 19, "mtia";
    PrivateUse1 = 20, "privateuseone";
}

impl DeviceKind {
    /// torch's `DeviceType` number.
    pub const fn device_type(self) -> u8 {
        self as u8
    }
}

/// A device: its kind and, where known, which one of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// What kind of device.
    pub kind: DeviceKind,
    /// Ordinal; `None` is "the current one", as in `torch.device("cuda")`.
    pub index: Option<i16>,
}

impl Device {
    /// `torch.device("cpu")`, the device every CPU tensor reports.
    pub const CPU: Device = Device {
        kind: DeviceKind::Cpu,
        index: None,
    };

    /// Parses `"cpu"`, `"cuda"`, `"cuda:0"`; `None` if torch would not accept it.
    pub fn parse(text: &str) -> Option<Device> {
        let (name, index) = match text.split_once(':') {
            Some((name, ordinal)) => {
                if ordinal.is_empty() || !ordinal.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                if ordinal.len() > 1 && ordinal.starts_with('0') {
                    return None;
                }
                (name, Some(ordinal.parse().ok()?))
            }
            None => (text, None),
        };
        let kind = DeviceKind::from_name(name)?;
        Some(Device { kind, index })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.index {
            Some(index) => write!(f, ":{index}"),
            None => Ok(()),
        }
    }
}
