//! Constructors of containers.

use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::Stop;
use translator::tx::{Args, Tx};
use variables::{Body, ObjState, OrderedMap, Var};

pub(crate) const RULES: RuleList = &[
    (
        "builtins",
        &[
            ("list", list as Rule),
            ("tuple", tuple),
            ("dict", dict),
            ("frozendict", frozendict),
            ("set", set),
            ("frozenset", set),
            ("bytearray", buffer),
            ("memoryview", buffer),
        ],
    ),
    ("types", &[("MappingProxyType", mapping_proxy)]),
];

fn list(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 0, 1)?;
    let items = match a.first() {
        Some(v) => tx.listed(v)?,
        None => Vec::new(),
    };
    value(tx.new_list(items))
}

fn tuple(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 0, 1)?;
    let Some(v) = a.first() else {
        return value(Var::tuple(Vec::new()));
    };
    let v = tx.realize(v)?;
    if matches!(&v, Var::Tuple(t) if t.class.is_none()) {
        return value(v);
    }
    let items = match tx.version().tuple_asks_length() {
        true => tx.listed(&v)?,
        false => tx.iterate(&v)?,
    };
    value(Var::tuple(items))
}

fn dict(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let d = tx.new_dict(OrderedMap::default());
    crate::dicts::update_with(tx, &d, name, args)?;
    value(d)
}

/// A proxy of a dictionary; other mappings are asked by methods of theirs.
fn mapping_proxy(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["mapping"], 1, 1)?;
    let Some(mapping) = &a[0] else {
        return Ok(None);
    };
    let mapping = tx.realize(mapping)?;
    let class = tx.type_of(&mapping)?;
    if !class.is(&tx.known.dict) && !class.is(&tx.known.ordered_dict) {
        return Ok(None);
    }
    let class = tx.known.mappingproxy.clone();
    value(Var::Obj(tx.new_object(class, Body::MappingProxy(mapping))))
}

fn frozendict(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some(class) = tx.known.frozendict().cloned() else {
        return Ok(None);
    };
    if let ([given], true) = (&args.pos[..], args.kw.is_empty()) {
        let given = tx.realize(given)?;
        if tx.type_of(&given)?.is(&class) {
            return value(given);
        }
    }
    let items = tx.new_dict(OrderedMap::default());
    crate::dicts::update_with(tx, &items, name, args)?;
    let Some(body) = tx.body_of(&items) else {
        return Err(Stop::Internal("a dict".into()));
    };
    value(Var::Obj(tx.new_object(class, body)))
}

fn set(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 0, 1)?;
    let class = if name == "set" {
        tx.known.set.clone()
    } else {
        tx.known.frozenset.clone()
    };
    let map = match a.first() {
        Some(v) => {
            let v = tx.realize(v)?;
            if name == "frozenset" && tx.type_of(&v)?.is(&class) {
                return value(v);
            }
            tx.other_set(&v)?
        }
        None => OrderedMap::default(),
    };
    if name == "set" {
        return value(Var::Obj(
            tx.st.effects.add(ObjState::new(class, Body::Set(map))),
        ));
    }
    value(tx.make_set(class, map)?)
}

fn buffer(_: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    Err(Stop::unsupported(format!("{name}()")))
}
