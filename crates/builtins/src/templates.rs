//! Template strings that the compiled function makes (`t"..."`).
//!
//! What stands for `string.templatelib.Template` and `Interpolation` while tracing is written in Python, so that
//! their attributes and iteration are followed like any other object's. The objects in C are what plain Python
//! makes where they are handed out (see [`translator::private`]).

use pyo3::prelude::*;
use pyo3::types::PyType;
use translator::rules::TemplatePart;
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::{Obj, Var};

const CLASSES: &std::ffi::CStr = c"
from string import templatelib

def read_only(self, *given):
    raise AttributeError('readonly attribute')

class Interpolation:
    __slots__ = ('__parts',)
    __match_args__ = templatelib.Interpolation.__match_args__

    @property
    def __class__(self):
        return templatelib.Interpolation

    def __init__(self, *parts):
        self.__parts = parts

    value = property(lambda self: self.__parts[0], read_only, read_only)
    expression = property(lambda self: self.__parts[1], read_only, read_only)
    conversion = property(lambda self: self.__parts[2], read_only, read_only)
    format_spec = property(lambda self: self.__parts[3], read_only, read_only)

    def __repr__(self):
        value, expression, conversion, format_spec = self.__parts
        return f'Interpolation({value!r}, {expression!r}, {conversion!r}, {format_spec!r})'

class Template:
    __slots__ = ('__strings', '__interpolations')

    @property
    def __class__(self):
        return templatelib.Template

    def __init__(self, strings, interpolations):
        self.__strings = strings
        self.__interpolations = interpolations

    strings = property(lambda self: self.__strings, read_only, read_only)
    interpolations = property(lambda self: self.__interpolations, read_only, read_only)
    values = property(
        lambda self: tuple([part.value for part in self.__interpolations]), read_only, read_only
    )

    def __iter__(self):
        for text, part in zip(self.__strings, self.__interpolations):
            if text:
                yield text
            yield part
        if self.__strings[-1]:
            yield self.__strings[-1]

    def __add__(self, other):
        kind = type(other)
        if kind is not templatelib.Template:
            name = kind.__qualname__
            if kind.__module__ != 'builtins':
                name = kind.__module__ + '.' + name
            own = 'string.templatelib.Template'
            raise TypeError(f'can only concatenate {own} (not \"{name}\") to {own}')
        between = self.__strings[-1] + other.strings[0]
        strings = self.__strings[:-1] + (between,) + other.strings[1:]
        return Template(strings, self.__interpolations + other.interpolations)

    def __repr__(self):
        return f'Template(strings={self.__strings!r}, interpolations={self.__interpolations!r})'

Interpolation.__name__ = 'string.templatelib.Interpolation'
Template.__name__ = 'string.templatelib.Template'
";

variables::own_module! {
    static MODULE = (CLASSES, c"<ferrodyn templates>", c"ferrodyn_templates");
}

fn name_of(part: TemplatePart) -> &'static str {
    match part {
        TemplatePart::Whole => "Template",
        TemplatePart::Interpolation => "Interpolation",
    }
}

/// Makes a template, or one of its interpolations, from what the instruction has on the stack.
pub(crate) fn make(tx: &mut Tx<'_>, part: TemplatePart, args: Args) -> R<Flow> {
    let module = MODULE.get(tx.py)?;
    for part in [TemplatePart::Whole, TemplatePart::Interpolation] {
        let class = module.getattr(name_of(part))?;
        tx.keep_private(class.cast::<PyType>().map_err(PyErr::from)?)?;
    }
    let class = module.getattr(name_of(part))?;
    tx.call(&Var::py(class.unbind()), args)
}

/// What `type` gives for an object of these classes, where that is another one.
pub(crate) fn stands_for(tx: &Tx<'_>, class: &Obj) -> PyResult<Option<Obj>> {
    let Some(module) = MODULE.made(tx.py) else {
        return Ok(None);
    };
    for part in [TemplatePart::Whole, TemplatePart::Interpolation] {
        if module.getattr(name_of(part))?.is(class) {
            let real = module.getattr("templatelib")?.getattr(name_of(part))?;
            return Ok(Some(real.unbind()));
        }
    }
    Ok(None)
}
