//! `torch.func.grad`, `grad_and_value`, `jvp`, `vjp`, `jacrev`, `jacfwd`: one node of the graph, which is torch's own
//! function of a graph of the program's.
//!
//! The program's function is traced once beside the graph, with tensors in place of those that torch
//! hands it. What the node gives is asked of torch's fake tensors, on which the node's function is run.
//!
//! Invariant: nothing that only holds within a transform is looked at (whether a tensor there requires
//! gradients).

use fx_graph::{NodeId, OpKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use torch_abi::names;
use translator::call::Callee as Function;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Obj, OrderedMap, Var};

use crate::bodies::{Out, Taker, Traced};

/// What a node calls. Arguments and results are templates: containers with slots for tensors.
const FUNCTION: &std::ffi::CStr = c"
import torch
from torch.utils._pytree import SUPPORTED_NODES as containers

class Slot:
    __slots__ = ('at',)
    is_argument = False
    def __init__(self, at):
        self.at = at

def fill(template, values):
    kind = type(template)
    if kind is Slot:
        return values[template.at]
    if kind is tuple or kind is list:
        return kind([fill(item, values) for item in template])
    if kind is dict:
        return {key: fill(item, values) for key, item in template.items()}
    return template

def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for item in value for tensor in tensors_in(item)]

def template_of(value, tensors):
    if isinstance(value, torch.Tensor):
        for at, known in enumerate(tensors):
            if known is value:
                return Slot(at)
        tensors.append(value)
        return Slot(len(tensors) - 1)
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([template_of(item, tensors) for item in value])
    if kind is dict:
        return {key: template_of(item, tensors) for key, item in value.items()}
    raise TypeError('a result that is no tensor')

# Another process makes what is made here in the same way, of constants.

def grad(implementation, argnums, has_aux):
    def run(program, given):
        return implementation(program, argnums, has_aux, *given[0])
    run.__ferrodyn_made__ = grad, implementation, argnums, has_aux
    return run

def jvp(implementation, options):
    options = dict(options)
    def run(program, given):
        return implementation(program, given[0][0], given[1], **options)
    run.__ferrodyn_made__ = jvp, implementation, tuple(options.items())
    return run

def jacobian(implementation, options):
    options = dict(options)
    def run(program, given):
        args, kwargs = given[0]
        return implementation(program, **options)(*args, **kwargs)
    run.__ferrodyn_made__ = jacobian, implementation, tuple(options.items())
    return run

def told(template):
    kind = type(template)
    if kind is Slot:
        return 'slot', template.at
    if kind is tuple or kind is list:
        return kind.__name__, tuple(told(item) for item in template)
    if kind is dict:
        return 'dict', tuple((key, told(item)) for key, item in template.items())
    return 'value', template

def untold(text):
    kind, of = text
    if kind == 'slot':
        return Slot(of)
    if kind == 'tuple':
        return tuple(untold(item) for item in of)
    if kind == 'list':
        return [untold(item) for item in of]
    if kind == 'dict':
        return {key: untold(item) for key, item in of}
    return of

class Given(Slot):
    __slots__ = ()
    is_argument = True

class Found:
    # What a run gave: a template of it, and which of its tensors are no arguments.
    def __init__(self, template, made, tensors):
        places = {}
        self.kept = []
        for at, tensor in enumerate(made):
            for argument, given in enumerate(tensors):
                if tensor is given:
                    places[at] = Given(argument)
                    break
            else:
                places[at] = Slot(len(self.kept))
                self.kept.append(at)
        self.template = fill(template, places)

    def of(self, made):
        return tuple(made[at] for at in self.kept)

def program_of(body, others, results):
    def program(*args, **kwargs):
        own = tensors_in((args, kwargs))
        return fill(results, (*own, *others, *body(*own, *others)))
    return program

def function(name, run, given, count, results):
    found = []
    def transformed(body, *tensors):
        own, others = tensors[:count], tensors[count:]
        made = []
        program = program_of(body, others, results)
        template = template_of(run(program, fill(given, own)), made)
        if not found:
            found.append(Found(template, made, tensors))
        return found[0].of(made)
    transformed.__name__ = transformed.__qualname__ = name
    transformed.__ferrodyn_made__ = again, name, run, told(given), count, told(results)
    return transformed, found

def again(name, run, given, count, results):
    return function(name, run, untold(given), count, untold(results))[0]

def vjp(implementation, options):
    def run(program, given):
        out, pull, *aux = implementation(program, *given[0][0], **options)
        return (out, *aux), pull
    return run

def with_pullback(run, given, count, results):
    found, pullbacks = [], []
    def whole(body, tensors):
        own, others = tensors[:count], tensors[count:]
        made = []
        out, pull = run(program_of(body, others, results), fill(given, own))
        template = template_of(out, made)
        if not found:
            found.append(Found(template, made, tensors))
            pullbacks.append(pull)
        return found[0].of(made), pull
    def described(body, *tensors):
        return whole(body, tensors)[0]
    def vjp(body, *tensors):
        made, pull = whole(body, tensors)
        return (*made, pull)
    return described, vjp, found, pullbacks

def pulling(given, options):
    found = []
    def pullback(pull, *cotangents):
        made = []
        template = template_of(pull(*fill(given, cotangents), **options), made)
        if not found:
            found.append(Found(template, made, cotangents))
        return found[0].of(made)
    return pullback, found
";

variables::own_module! {
    pub(crate) static MODULE = (FUNCTION, c"<ferrodyn transforms>", c"ferrodyn_transforms");
}
static JACOBIANS: PyOnceLock<Vec<(Obj, &'static str)>> = PyOnceLock::new();

pub(crate) const TRANSFORMS: &str = names::EAGER_TRANSFORMS;

pub(crate) const RULES: RuleList = &[(
    TRANSFORMS,
    &[
        ("jvp", jvp as Rule),
    ],
)];

fn grad(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let names = ["func", "argnums", "has_aux", "args", "kwargs"];
    let given = tx.by_name(name, args, &names, 5, 5)?;
    let [
        Some(func),
        Some(argnums),
        Some(has_aux),
        Some(pos),
        Some(kw),
    ] = &given[..]
    else {
        return Ok(None);
    };
    let (Some(argnums), Some(has_aux)) = (tx.as_const(argnums)?, tx.as_const(has_aux)?) else {
        return Ok(None);
    };
    let program = Args {
        pos: tx.iterate(pos)?,
        kw: tx.keyword_items(kw)?,
    };
    let run = MODULE.get(tx.py)?.call_method1(
        "grad",
        (tx.py.import(TRANSFORMS)?.getattr(name)?, argnums, has_aux),
    )?;
    let transform = Transform {
        name: name.trim_end_matches("_impl"),
        run: run.unbind(),
        records: true,
    };
    transformed(tx, &transform, func, &program, None)
}

/// Options by name, as constants; `None` where one is none.
pub(crate) fn options<'py>(
    tx: &mut Tx<'py>,
    args: &mut Args,
    names: &[&str],
) -> R<Option<Bound<'py, PyDict>>> {
    let options = PyDict::new(tx.py);
    for option in names {
        if let Some(v) = args.take_kw(option) {
            let Some(v) = tx.as_const(&v)? else {
                return Ok(None);
            };
            options.set_item(option, v)?;
        }
    }
    Ok(Some(options))
}

fn jvp(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let Some(options) = options(tx, &mut args, &["strict", "has_aux"])? else {
        return Ok(None);
    };
    let ([func, primals, tangents], true) = (&args.pos[..], args.kw.is_empty()) else {
        return Ok(None);
    };
    let Var::Tuple(primals) = tx.realize(primals)? else {
        return Ok(None);
    };
    let implementation = tx.py.import(TRANSFORMS)?.getattr(name)?;
    let run = MODULE
        .get(tx.py)?
        .call_method1(name, (implementation, options))?;
    let transform = Transform {
        name,
        run: run.unbind(),
        records: false,
    };
    let program = Args::pos(primals.items.clone());
    transformed(tx, &transform, func, &program, Some(tangents))
}

/// One of torch's functions of functions.
pub(crate) struct Transform {
    pub(crate) name: &'static str,
    /// torch's function with its options: of the program's function and the arguments
    pub(crate) run: Obj,
    /// whether it turns on that gradients are recorded
    pub(crate) records: bool,
}

impl Transform {
    pub(crate) fn path(&self) -> String {
        format!("torch.func.{}", self.name)
    }
}

/// Tensors that are handed on, in order.
#[derive(Default)]
pub(crate) struct Handed {
    pub(crate) tensors: Vec<Var>,
    /// what the function gets instead of them
    inside: Vec<NodeId>,
}

/// A call of what `jacrev` or `jacfwd` has made.
pub(crate) fn jacobian(tx: &mut Tx<'_>, f: &Function, args: &Args) -> Given {
    let py = tx.py;
    let code = f.code.bind(py);
    let made_by = JACOBIANS.get_or_try_init(py, || -> PyResult<_> {
        let transforms = py.import(TRANSFORMS)?;
        let inner = |name: &'static str| -> PyResult<Vec<(Obj, &'static str)>> {
            let constants = transforms.getattr(name)?.getattr("__code__")?;
            let constants = constants.getattr("co_consts")?.try_iter()?;
            let code = |c: PyResult<Bound<'_, PyAny>>| -> Option<PyResult<(Obj, &'static str)>> {
                let is_code = |c: &Bound<'_, PyAny>| c.get_type().is(code.get_type());
                match c {
                    Ok(c) => is_code(&c).then(|| Ok((c.unbind(), name))),
                    Err(e) => Some(Err(e)),
                }
            };
            constants.filter_map(code).collect()
        };
        inner("jacfwd")
    })?;
    let Some((_, name)) = made_by.iter().find(|m| m.0.is(code)) else {
        return Ok(None);
    };
    let names: Vec<String> = code.getattr("co_freevars")?.extract()?;
    let options = PyDict::new(py);
    let mut func = None;
    for (name, cell) in names.iter().zip(&f.closure) {
        let Var::Obj(id) = cell else {
            return Ok(None);
        };
        let Body::Cell(Some(v)) = tx.obj(*id).body.clone() else {
            return Ok(None);
        };
        if name == "func" {
            func = Some(v);
        } else if let Some(v) = tx.as_const(&v)? {
            options.set_item(name, v)?;
        } else {
            return Ok(None);
        }
    }
    let Some(func) = func else {
        return Ok(None);
    };
    let implementation = py.import(TRANSFORMS)?.getattr(*name)?;
    let run = MODULE
        .get(py)?
        .call_method1("jacobian", (implementation, options))?;
    let transform = Transform {
        name,
        run: run.unbind(),
        records: *name == "jacrev",
    };
    transformed(tx, &transform, &func, args, None)
}

/// `None` where torch's own Python is to be followed.
fn transformed(
    tx: &mut Tx<'_>,
    transform: &Transform,
    func: &Var,
    args: &Args,
    beside: Option<&Var>,
) -> Given {
    if !can_be_node(tx) {
        return Ok(None);
    }
    let program = program_given(tx, transform, func, args, beside)?;
    transform_node(tx, transform, program).map(|v| Some(Flow::Value(v)))
}

/// Whether a transform may be a node here.
pub(crate) fn can_be_node(tx: &Tx<'_>) -> bool {
    !tx.st.effects.shows_tensors && !tx.so_far().inference_now()
}

/// The program's function, traced, and what the transform is given.
pub(crate) struct ProgramGiven {
    pub(crate) traced: Traced,
    /// a template of the arguments
    pub(crate) given: Obj,
    /// the tensors in them, and those that the function uses besides
    pub(crate) inputs: Vec<Var>,
    /// how many of these are in the arguments
    pub(crate) count: usize,
}

/// Traces the program's function beside the graph.
pub(crate) fn program_given(
    tx: &mut Tx<'_>,
    transform: &Transform,
    func: &Var,
    args: &Args,
    beside: Option<&Var>,
) -> R<ProgramGiven> {
    let path = transform.path();
    let py = tx.py;
    let around = crate::bodies::graph_around(tx, args.values().chain(beside))?;
    let mut handed = Handed::default();
    let mut program = Args::default();
    let (mut pos, kw) = (Vec::new(), PyDict::new(py));
    for v in &args.pos {
        let (template, v) = handed_on(tx, v, &mut handed)?;
        pos.push(template);
        program.pos.push(v);
    }
    for (name, v) in &args.kw {
        let (template, v) = handed_on(tx, v, &mut handed)?;
        kw.set_item(&**name, template)?;
        program.kw.push((name.clone(), v));
    }
    let inside = handed.inside.clone();
    let beside = match beside {
        Some(v) => handed_on(tx, v, &mut handed)?.0,
        None => py.None(),
    };
    let given = ((PyTuple::new(py, pos)?, kw), beside);

    tx.st.levels.transforms += 1;
    tx.st.grad_enabled |= transform.records;
    let (traced, used) = crate::bodies::noting_used(tx, |tx| {
        crate::bodies::trace_body(tx, &path, func, &program, &inside)
    });
    crate::bodies::return_to(tx, &around);
    let mut traced = traced?;
    let others = crate::bodies::taken_along(tx, &path, &mut traced, inside.len(), &used)?;
    let mut inputs = handed.tensors.clone();
    inputs.extend(others.into_iter().map(|o| o.1));
    Ok(ProgramGiven {
        given: given.into_pyobject(py)?.into_any().unbind(),
        count: handed.tensors.len(),
        traced,
        inputs,
    })
}

fn transform_node(tx: &mut Tx<'_>, transform: &Transform, program: ProgramGiven) -> R<Var> {
    let py = tx.py;
    let ProgramGiven {
        traced,
        given,
        inputs,
        count,
    } = program;
    let path = transform.path();
    let results = result_template(tx, &path, &traced.inputs, &traced.out)?;
    let made = MODULE.get(py)?.call_method1(
        "function",
        (transform.name, &transform.run, given, count, results),
    )?;
    let node = ProgramNode {
        path: &path,
        described: made.get_item(0)?.unbind(),
        function: made.get_item(0)?.unbind(),
    };
    let args = Args::pos(inputs);
    let (tensors, _) = node.emit(tx, &traced, &args)?;
    let template = made.get_item(1)?.get_item(0)?.getattr("template")?;
    filled(tx, &template, &args.pos, &tensors)
}

/// A node that is given the graph of the program's function.
pub(crate) struct ProgramNode<'a> {
    pub(crate) path: &'a str,
    /// what is run on fake tensors
    pub(crate) described: Obj,
    /// what the node calls: the same, or what gives something behind the tensors
    pub(crate) function: Obj,
}

impl ProgramNode<'_> {
    /// The tensors that it gives, and the node.
    pub(crate) fn emit(
        &self,
        tx: &mut Tx<'_>,
        traced: &Traced,
        args: &Args,
    ) -> R<(Vec<Var>, NodeId)> {
        let described = Callee::Function(&self.described, self.path, None);
        let callee = Callee::Function(&self.function, self.path, None);
        let others = tx.node_args(args)?;
        let graphs = [(&traced.graph, "transformed_body")];
        let node_args = crate::bodies::given_graphs(tx, Taker::Ours, &graphs, others)?;
        let batched = tx.gives_shadow(&node_args);
        let (inferred, fake) = tx.infer_fake_result(&described, &node_args, "")?;
        let repeatable = traced
            .graph
            .iter()
            .all(|(_, n)| n.repeatable || matches!(n.op, OpKind::Placeholder | OpKind::Output));
        let from = tx.log.graph.id_bound() as u32;
        let result = tx.emit_inferred_as(&callee, node_args, inferred, args, repeatable)?;
        if batched {
            tx.keep_shadow(&result, fake.bind(tx.py))?;
        }
        match result {
            Var::Tuple(tensors) => Ok((tensors.items.clone(), NodeId(from))),
            _ => Err(Stop::Internal("what a transform gives".into())),
        }
    }
}

/// A template of an argument, and what the program's function gets for it: new tensors in
/// containers of their own.
pub(crate) fn handed_on(tx: &mut Tx<'_>, v: &Var, handed: &mut Handed) -> R<(Obj, Var)> {
    let py = tx.py;
    let v = tx.realize(v)?;
    let class = tx.type_of(&v)?;
    let k = tx.known.clone();
    match &v {
        Var::Tensor(_) => {
            let inside = tx.emit(&Callee::Method("detach"), &Args::pos(vec![v.clone()]))?;
            let Var::Tensor(t) = &inside else {
                return Err(Stop::Internal("a tensor detached".into()));
            };
            handed.inside.push(t.node);
            handed.tensors.push(v);
            let slot = MODULE
                .get(py)?
                .call_method1("Slot", (handed.tensors.len() - 1,))?;
            Ok((slot.unbind(), inside))
        }
        Var::Tuple(t) if t.class.is_none() => {
            let (templates, items) = all_handed_on(tx, &t.items, handed)?;
            let templates = PyTuple::new(py, templates)?.into_any().unbind();
            Ok((templates, Var::tuple(items)))
        }
        Var::Obj(id) if class.is(&k.list) || class.is(&k.dict) => match tx.obj(*id).body.clone() {
            Body::List(items) => {
                let items: Vec<Var> = items.iter().cloned().collect();
                let (templates, items) = all_handed_on(tx, &items, handed)?;
                let templates = PyList::new(py, templates)?.into_any().unbind();
                Ok((templates, tx.new_list(items)))
            }
            Body::Dict(map) => {
                let template = PyDict::new(py);
                let mut inside = OrderedMap::default();
                for (key, v) in map.iter() {
                    let Some(name) = tx.as_const(key)? else {
                        return Err(not_handed());
                    };
                    let (item, v) = handed_on(tx, v, handed)?;
                    template.set_item(name, item)?;
                    inside.insert(tx.key(key)?, key.clone(), v);
                }
                Ok((template.into_any().unbind(), tx.new_dict(inside)))
            }
            _ => Err(not_handed()),
        },
        _ => {
            // torch looks for tensors in what is registered as a container.
            let containers = MODULE.get(py)?.getattr("containers")?;
            match containers.contains(&class)? {
                true => Err(not_handed()),
                false => Ok((py.None(), v)),
            }
        }
    }
}

fn all_handed_on(tx: &mut Tx<'_>, items: &[Var], handed: &mut Handed) -> R<(Vec<Obj>, Vec<Var>)> {
    let all = items.iter().map(|v| handed_on(tx, v, handed));
    Ok(all.collect::<R<Vec<_>>>()?.into_iter().unzip())
}

/// A template of what the program's function gave: of its inputs, and what its graph gives behind them.
pub(crate) fn result_template(tx: &mut Tx<'_>, path: &str, inputs: &[NodeId], out: &Out) -> R<Obj> {
    let py = tx.py;
    let all = |tx: &mut Tx<'_>, items: &[Out]| -> R<Vec<Obj>> {
        let each = |i| result_template(tx, path, inputs, i);
        items.iter().map(each).collect()
    };
    let slot = |at: usize| -> R<Obj> { Ok(MODULE.get(py)?.call_method1("Slot", (at,))?.unbind()) };
    Ok(match out {
        Out::New(at) => slot(inputs.len() + *at)?,
        Out::Given(Var::Tensor(t)) if inputs.contains(&t.node) => {
            slot(inputs.iter().position(|i| *i == t.node).unwrap_or_default())?
        }
        Out::Constant(Var::Const(o)) => o.clone(),
        Out::Tuple(items, None) => PyTuple::new(py, all(tx, items)?)?.into_any().unbind(),
        Out::List(items) => PyList::new(py, all(tx, items)?)?.into_any().unbind(),
        Out::Dict(items) => {
            let template = PyDict::new(py);
            for (key, v) in items {
                let Some(key) = tx.as_const(key)? else {
                    return Err(not_handed());
                };
                template.set_item(key, result_template(tx, path, inputs, v)?)?;
            }
            template.into_any().unbind()
        }
        Out::Given(_) | Out::Read(_) | Out::Constant(_) | Out::Tuple(..) => {
            return Err(Stop::unsupported(format!(
                "{path} of a function that gives what it was given"
            )));
        }
    })
}

/// What a template stands for: `given` are the arguments, `tensors` what was made.
pub(crate) fn filled(
    tx: &mut Tx<'_>,
    template: &Bound<'_, PyAny>,
    given: &[Var],
    tensors: &[Var],
) -> R<Var> {
    if let Ok(t) = template.cast_exact::<PyTuple>() {
        let items = t.iter().map(|i| filled(tx, &i, given, tensors));
        return Ok(Var::tuple(items.collect::<R<Vec<_>>>()?));
    }
    if let Ok(t) = template.cast_exact::<PyList>() {
        let items = t.iter().map(|i| filled(tx, &i, given, tensors));
        let items = items.collect::<R<Vec<_>>>()?;
        return Ok(tx.new_list(items));
    }
    if let Ok(t) = template.cast_exact::<PyDict>() {
        let mut map = OrderedMap::default();
        for (key, v) in t.iter() {
            let key = Var::Const(key.unbind());
            let v = filled(tx, &v, given, tensors)?;
            map.insert(tx.key(&key)?, key, v);
        }
        return Ok(tx.new_dict(map));
    }
    let at: usize = template.getattr("at")?.extract()?;
    let among = match template.getattr("is_argument")?.is_truthy()? {
        true => given,
        false => tensors,
    };
    among
        .get(at)
        .cloned()
        .ok_or_else(|| Stop::Internal("a slot without a tensor".into()))
}

fn not_handed() -> Stop {
    Stop::unsupported("a container that a transform of torch.func does not get")
}
