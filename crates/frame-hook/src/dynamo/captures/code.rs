//! The residual code of a capture: what is written of its constants, and how it is made again.
//!
//! Does not live here: whether a capture is kept or taken, how objects of the program are found again (`captures`).
//!
//! Invariant: a resume function is made again by its recipe, as it was made the first time, so that it is the same for
//! captures of its own.

use captures::{Code, Constant, Fill, Made, Part, Step, Why};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFunction, PyTuple};
use residual::{
    CodeParts, MadeConstants, OutputEnv, Recipe, Residual, ResumeCache, ResumeInfo,
    continuation_mark,
};
use translator::code::{CodeCache, CodeInfo};
use translator::stop::Stop;
use variables::Obj;

use crate::dynamo::generation::Env;
use crate::dynamo::translate::{Request, stop_text};

/// What a step is called in listings.
const STEP: &str = "__step";

fn because(stop: Stop) -> Why {
    Why(stop_text(&stop))
}

fn as_code<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, PyCode>, Why> {
    Ok(object.cast::<PyCode>().map_err(PyErr::from)?)
}

/// The program's code that a frame runs.
pub struct Own<'py> {
    pub code: Bound<'py, PyCode>,
    /// of a resume function: how it is made of that code
    pub recipe: Vec<u8>,
}

impl<'py> Own<'py> {
    /// That of a frame to be compiled.
    ///
    /// # Errors
    /// Why it can't be written down.
    pub fn of(
        py: Python<'py>,
        request: &Request<'_, 'py>,
        resumes: &ResumeCache,
    ) -> Result<Own<'py>, Why> {
        let code = request.code.clone();
        let Some((user, recipe)) = resumes.recipe(py, &code.clone().into_any().unbind()) else {
            return Ok(Own {
                code,
                recipe: Vec::new(),
            });
        };
        Ok(Own {
            code: as_code(user.bind(py))?.clone(),
            recipe: written(recipe)?,
        })
    }
}

fn written(recipe: &Recipe) -> Result<Vec<u8>, Why> {
    postcard::to_stdvec(recipe).map_err(|error| Why(error.to_string()))
}

/// Constants of residual code that are told by what they are made of.
#[derive(Default)]
pub struct Found {
    pub parts: Vec<Part>,
    pub fills: Vec<Fill>,
}

impl Found {
    /// Looks for them in code, and in that of its steps.
    ///
    /// # Errors
    /// Why one can't be written down.
    pub fn look_at(
        &mut self,
        code: &Bound<'_, PyCode>,
        residual: &Residual,
        resumes: &ResumeCache,
    ) -> Result<(), Why> {
        let py = code.py();
        let constants = code.getattr(intern!(py, "co_consts"))?;
        for constant in constants.try_iter()? {
            let constant = constant?;
            if let Some((class, attributes)) = residual::fill_parts(&constant) {
                self.fills.push(Fill {
                    object: constant.unbind(),
                    class,
                    attributes,
                });
                continue;
            }
            if constant.is_exact_instance_of::<PyCode>() {
                self.parts.extend(resume(&constant, None, resumes)?);
                continue;
            }
            let function = eval_frame::entry::resumed(&constant);
            let function = function.unwrap_or_else(|| constant.clone());
            let Ok(function) = function.cast_exact::<PyFunction>() else {
                continue;
            };
            let of = function.getattr(intern!(py, "__code__"))?;
            let globals = function.getattr(intern!(py, "__globals__"))?;
            if let Some(part) = resume(&of, Some((&constant, &globals)), resumes)? {
                self.parts.push(part);
                continue;
            }
            let mut steps = residual.resumes.iter().filter(|step| step.code.is(&of));
            let Some(template) = steps.find_map(|step| step.step_of.clone()) else {
                continue;
            };
            let step = as_code(&of)?;
            self.look_at(step, residual, resumes)?;
            self.parts.push(Part::Step {
                object: constant.unbind(),
                code: step.clone().unbind(),
                template: match resumes.recipe(py, &template) {
                    Some((user, _)) => user,
                    None => template,
                },
                globals: globals.unbind(),
            });
        }
        Ok(())
    }
}

/// A resume function with its globals, or the code of one.
fn resume(
    code: &Bound<'_, PyAny>,
    function: Option<(&Bound<'_, PyAny>, &Bound<'_, PyAny>)>,
    resumes: &ResumeCache,
) -> Result<Option<Part>, Why> {
    let Some((user, recipe)) = resumes.recipe(code.py(), &code.clone().unbind()) else {
        return Ok(None);
    };
    let recipe = written(recipe)?;
    Ok(Some(Part::Resume {
        object: function.map_or(code, |of| of.0).clone().unbind(),
        user,
        recipe,
        globals: function.map(|of| of.1.clone().unbind()),
    }))
}

/// Residual code that is made once more, for the graph of this process.
pub struct Rebuilt<'a, 'e, 'b, 'py> {
    pub output: &'a mut Env<'e, 'b, 'py>,
    pub request: &'a Request<'a, 'py>,
    /// decoded code objects
    pub codes: CodeCache,
    pub natives: Vec<Obj>,
    /// what an exception of the graph is asked
    pub asks: Option<Obj>,
    pub made: MadeConstants,
    pub names: Vec<(Obj, String)>,
    /// functions behind a break
    pub resumes: Vec<ResumeInfo>,
}

impl<'py> Rebuilt<'_, '_, '_, 'py> {
    /// Code like `template`.
    ///
    /// # Errors
    /// Why it can't be made.
    pub fn code(
        &mut self,
        code: &Code,
        constants: &[Constant],
        template: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, Why> {
        let py = template.py();
        let own = template.getattr(intern!(py, "co_consts"))?;
        let own = own.cast_into::<PyTuple>().map_err(PyErr::from)?;
        let objects = constants.iter();
        let objects = objects.map(|constant| self.constant(constant, &own));
        let objects: Vec<Obj> = objects.collect::<Result<_, Why>>()?;
        let parts = CodeParts {
            code: &code.code,
            lines: &code.lines,
            handlers: &code.handlers,
            stack: code.stack,
            names: &code.names,
            locals: &code.locals,
            cells: &code.cells,
            free: &code.free,
            args: code.args,
        };
        Ok(residual::make_code(template, &parts, &objects)?)
    }

    fn constant(&mut self, constant: &Constant, own: &Bound<'py, PyTuple>) -> Result<Obj, Why> {
        let py = own.py();
        let (object, name) = match constant {
            Constant::OfTemplate(at) => return Ok(own.get_item(*at)?.unbind()),
            Constant::Object(object) => return Ok(object.clone()),
            Constant::Fill(class, attributes) => {
                let fill = residual::make_fill(py, class, attributes)?;
                return fill.ok_or_else(|| Why("a class has a descriptor now".into()));
            }
            Constant::Made(made) => self.made(*made)?,
            Constant::Resume {
                user,
                recipe,
                globals,
            } => self.resume(user, recipe, globals.as_ref())?,
            Constant::Step(step) => (self.step(step)?, STEP.to_owned()),
        };
        if !name.is_empty() {
            self.names.push((object.clone(), name));
        }
        Ok(object)
    }

    /// A constant that the pipeline makes, with its name in listings; one without has none there.
    fn made(&mut self, made: Made) -> Result<(Obj, String), Why> {
        let py = self.request.code.py();
        let (object, name) = match made {
            Made::Graph => (self.made.callee.clone(), ""),
            Made::Native(number) => (self.natives.get(number as usize).cloned(), ""),
            Made::Driver => (Some(self.output.driver(py)?), ""),
            Made::NumberTensor => (Some(torch_abi::number_tensor(py)?.clone()), ""),
            Made::Continuation => (Some(continuation_mark(py)), "__continue"),
            Made::Plain => (Some(self.plain()?), "__plain"),
            Made::LeftNoTrace => {
                self.made.asks = self.asks.clone();
                (self.asks.clone(), "__left_no_trace")
            }
        };
        let object = object.ok_or_else(|| Why(format!("{made:?} is not there")))?;
        Ok((object, name.to_owned()))
    }

    fn plain(&mut self) -> Result<Obj, Why> {
        let py = self.request.code.py();
        let info = CodeInfo::new(self.request.code.as_any());
        let info = info.map_err(|error| because(error.into()))?;
        let plain = residual::plain_code(py, &info).map_err(because)?;
        self.output.leave_alone(py, &plain)?;
        self.made.plain = Some(plain.clone());
        Ok(plain)
    }

    fn resume(
        &mut self,
        user: &Obj,
        recipe: &[u8],
        globals: Option<&Obj>,
    ) -> Result<(Obj, String), Why> {
        let py = self.request.code.py();
        let recipe: Recipe =
            postcard::from_bytes(recipe).map_err(|error| Why(error.to_string()))?;
        let output = &mut *self.output;
        let mut number = crate::dynamo::generation::next_resume;
        let (behind, resume) = output
            .resumes
            .remake(py, &mut self.codes, (user, &recipe), &mut number)
            .map_err(because)?;
        let info = resume.info.clone();
        let object = match globals {
            None => info.code.clone(),
            Some(globals) => {
                let class = py.get_type::<PyFunction>().into_any().unbind();
                let function = resume.function(py, &class, globals).map_err(because)?;
                output.wrap_resume(py, function, &info)?
            }
        };
        let name = info.name.clone();
        self.names.push((info.code.clone(), name.clone()));
        self.resumes.extend(behind);
        self.resumes.push(info);
        Ok((object, name))
    }

    fn step(&mut self, step: &Step) -> Result<Obj, Why> {
        let py = self.request.code.py();
        let code = self.code(&step.code, &step.constants, step.template.bind(py))?;
        let function = py.get_type::<PyFunction>().call1((&code, &step.globals))?;
        self.resumes.push(ResumeInfo {
            name: STEP.to_owned(),
            code: code.unbind(),
            offset: 0,
            plain: true,
            step_of: Some(step.template.clone()),
        });
        Ok(function.unbind())
    }
}
