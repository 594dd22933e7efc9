//! What holds for all types and values: generated.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use wasmtime::component::{
    Component, Type, Val,
    types::{ComponentFunc, ComponentItem},
};

use super::{input, output, schema, signature};
use crate::engine;

/// A type as WIT has it.
#[derive(Clone, Debug)]
enum Wit {
    Plain(&'static str),
    List(Box<Wit>),
    Option(Box<Wit>),
    Result(Option<Box<Wit>>, Option<Box<Wit>>),
    Tuple(Vec<Wit>),
    Record(Vec<Wit>),
    Variant(Vec<Option<Wit>>),
    Enum(usize),
    Flags(usize),
}

fn wit() -> impl Strategy<Value = Wit> {
    let plain = prop::sample::select(vec![
        "bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char", "string",
    ]);
    let leaf =
        prop_oneof![plain.prop_map(Wit::Plain), (1..5_usize).prop_map(Wit::Enum), (1..33_usize).prop_map(Wit::Flags),];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Wit::List),
            boxed.clone().prop_map(Wit::Option),
            (prop::option::of(boxed.clone()), prop::option::of(boxed)).prop_map(|(ok, err)| Wit::Result(ok, err)),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Wit::Tuple),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Wit::Record),
            prop::collection::vec(prop::option::of(inner), 1..4).prop_map(Wit::Variant),
        ]
    })
}

impl Wit {
    /// The type in WebAssembly's text. Types that must have a name are given one before.
    fn text(&self, before: &mut String) -> String {
        let mut of = |wit: &Self| wit.text(before);
        let body = match self {
            Self::Plain(name) => return (*name).to_owned(),
            Self::List(item) => return format!("(list {})", of(item)),
            Self::Option(item) => return format!("(option {})", of(item)),
            Self::Result(ok, err) => {
                let ok = ok.as_deref().map(&mut of).unwrap_or_default();
                let err = err.as_deref().map(|err| format!("(error {})", of(err))).unwrap_or_default();
                return format!("(result {ok} {err})");
            }
            Self::Tuple(items) => return format!("(tuple {})", items.iter().map(of).collect::<Vec<_>>().join(" ")),
            Self::Record(fields) => numbered("record", fields, |at, field| format!("(field \"f{at}\" {})", of(field))),
            Self::Variant(cases) => numbered("variant", cases, |at, case| {
                format!("(case \"c{at}\" {})", case.as_ref().map(&mut of).unwrap_or_default())
            }),
            Self::Enum(count) => numbered("enum", &vec![(); *count], |at, ()| format!("\"e{at}\"")),
            Self::Flags(count) => numbered("flags", &vec![(); *count], |at, ()| format!("\"g{at}\"")),
        };
        let name = before.lines().count();
        writeln!(before, "(type $body{name} {body}) (import \"t{name}\" (type $t{name} (eq $body{name})))").unwrap();
        format!("$t{name}")
    }

    /// A function with one parameter of the type, which it also gives.
    fn function(&self) -> ComponentFunc {
        let mut before = String::new();
        let ty = self.text(&mut before);
        function(&format!("{before} (import \"f\" (func (param \"p\" {ty}) (result {ty})))"))
    }
}

fn numbered<T>(kind: &str, parts: &[T], mut text: impl FnMut(usize, &T) -> String) -> String {
    let parts: Vec<String> = parts.iter().enumerate().map(|(at, part)| text(at, part)).collect();
    format!("({kind} {})", parts.join(" "))
}

fn function(text: &str) -> ComponentFunc {
    let engine = wasmtime::Engine::new(&engine::config()).unwrap();
    let component = Component::new(&engine, wat::parse_str(format!("(component {text})")).unwrap()).unwrap();
    let ty = component.component_type();
    let found = ty.imports(&engine).find_map(|(name, item)| match item.ty {
        ComponentItem::ComponentFunc(ty) if name == "f" => Some(ty),
        _ => None,
    });
    found.unwrap()
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0.rotate_left(29) ^ self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.throw() % most as u64).unwrap()
    }
}

fn value(ty: &Type, dice: &mut Dice) -> Val {
    match ty {
        Type::Bool => Val::Bool(dice.below(2) == 0),
        Type::S8 => Val::S8(dice.throw() as i8),
        Type::U8 => Val::U8(dice.throw() as u8),
        Type::S16 => Val::S16(dice.throw() as i16),
        Type::U16 => Val::U16(dice.throw() as u16),
        Type::S32 => Val::S32(dice.throw() as i32),
        Type::U32 => Val::U32(dice.throw() as u32),
        Type::S64 => Val::S64(dice.throw() as i64),
        Type::U64 => Val::U64(dice.throw()),
        Type::Float32 => Val::Float32(f32::from_bits(dice.throw() as u32)),
        Type::Float64 => Val::Float64(match dice.below(8) {
            0 => f64::INFINITY,
            1 => f64::NEG_INFINITY,
            2 => f64::NAN,
            3 => -0.0,
            _ => f64::from_bits(dice.throw()),
        }),
        Type::Char => Val::Char(char::from_u32(dice.throw() as u32 % 0x11_0000).unwrap_or('\u{fffd}')),
        Type::String => {
            let letter = |dice: &mut Dice| char::from_u32(dice.throw() as u32 % 0x300).unwrap_or('x');
            Val::String((0..dice.below(6)).map(|_| letter(dice)).collect())
        }
        Type::List(list) => Val::List((0..dice.below(4)).map(|_| value(&list.ty(), dice)).collect()),
        Type::Record(record) => {
            Val::Record(record.fields().map(|field| (field.name.to_owned(), value(&field.ty, dice))).collect())
        }
        Type::Tuple(tuple) => Val::Tuple(tuple.types().map(|ty| value(&ty, dice)).collect()),
        Type::Variant(variant) => {
            let case = variant.cases().nth(dice.below(variant.cases().len())).unwrap();
            Val::Variant(case.name.to_owned(), case.ty.map(|ty| Box::new(value(&ty, dice))))
        }
        Type::Enum(names) => Val::Enum(names.names().nth(dice.below(names.names().len())).unwrap().to_owned()),
        Type::Flags(names) => Val::Flags(names.names().filter(|_| dice.below(2) == 0).map(str::to_owned).collect()),
        Type::Option(option) => Val::Option((dice.below(3) > 0).then(|| Box::new(value(&option.ty(), dice)))),
        Type::Result(result) => {
            let mut part = |ty: Option<Type>| ty.map(|ty| Box::new(value(&ty, dice)));
            Val::Result(if matches!(ty, Type::Result(_)) && result.ok().is_some() {
                Ok(part(result.ok()))
            } else {
                Err(part(result.err()))
            })
        }
        _ => unreachable!("not generated"),
    }
}

/// What a model or anybody else may send.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
        prop::sample::select(vec!["NaN", "-Infinity", "e0", "g1", "AAAA", "18446744073709551616", "-0"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop::sample::select(vec!["f0", "f1", "tag", "value", "some", "ok", "err", "p", ""]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_is_the_same_after_it_was_written_and_read(wit in wit(), seed: u64) {
        let function = wit.function();
        prop_assert_eq!(signature::check(&function), Ok(()));
        let (_, ty) = function.params().next().unwrap();
        let given = value(&ty, &mut Dice(seed));
        let written = output::json(&given, &ty, usize::MAX).unwrap();
        let read = input::parameters(&function, &format!("{{\"p\":{written}}}"));
        prop_assert_eq!(read.as_deref(), Ok(&[given.clone()][..]), "{}", written);
        let parsed: Value = serde_json::from_str(&written).unwrap();
        let schema = jsonschema::validator_for(&schema::parameters(&function)).unwrap();
        prop_assert!(schema.is_valid(&json!({ "p": parsed })), "{} is not what the schema says", written);
        // However long it is, no more is written than may be.
        for most in [0, written.len() / 2, written.len() - 1] {
            prop_assert!(output::json(&given, &ty, most).is_err());
        }
        prop_assert!(output::json(&given, &ty, written.len()).is_ok());
    }

    #[test]
    fn anything_is_read_or_refused_with_a_place(wit in wit(), given in anything()) {
        let function = wit.function();
        let (_, ty) = function.params().next().unwrap();
        match input::parameters(&function, &json!({ "p": given }).to_string()) {
            Ok(values) => {
                let written = output::json(&values[0], &ty, usize::MAX).unwrap();
                let again = input::parameters(&function, &format!("{{\"p\":{written}}}"));
                prop_assert_eq!(again, Ok(values));
            }
            Err(wrong) => prop_assert!(wrong.starts_with("input.p"), "{}", wrong),
        }
        drop(input::parameters(&function, &given.to_string()));
    }
}

fn read(wit: &Wit, given: &Value) -> Result<Val, String> {
    input::parameters(&wit.function(), &json!({ "p": given }).to_string()).map(|mut values| values.remove(0))
}

#[test]
fn an_error_names_the_place() {
    let item = Wit::Record(vec![Wit::Plain("string"), Wit::Option(Box::new(Wit::Enum(2)))]);
    let list = Wit::List(Box::new(item));
    for (given, said) in [
        (json!(3), "input.p must be an array, and is a number"),
        (json!([{ "f0": "x" }, { "f0": 3 }]), "input.p[1].f0 must be a text, and is a number"),
        (json!([{}]), "input.p[0].f0 is missing; it must be a text"),
        (json!([{ "f0": "x", "f1": "e7" }]), "input.p[0].f1 is `e7`; it must be one of `e0`, `e1`"),
        (json!([{ "f0": "x", "more": 1 }]), "input.p[0].more is unknown; there is f0, f1"),
    ] {
        assert_eq!(read(&list, &given).unwrap_err(), said);
    }
    let function = list.function();
    assert_eq!(input::parameters(&function, "[]").unwrap_err(), "the input must be an object, and is an array");
    assert!(input::parameters(&function, "{").unwrap_err().starts_with("the input is not JSON"));
    // A text with half a character, and nesting without end.
    assert!(input::parameters(&function, r#"{"p":"\ud800"}"#).unwrap_err().starts_with("the input is not JSON"));
    assert!(input::parameters(&function, &"[".repeat(100_000)).unwrap_err().starts_with("the input is not JSON"));
}

#[test]
fn numbers_are_exact_or_refused() {
    let read = |name: &'static str, given: Value| read(&Wit::Plain(name), &given);
    assert_eq!(read("u64", json!(u64::MAX)), Ok(Val::U64(u64::MAX)));
    assert_eq!(read("u64", json!("18446744073709551615")), Ok(Val::U64(u64::MAX)));
    assert_eq!(read("s64", json!(i64::MIN.to_string())), Ok(Val::S64(i64::MIN)));
    assert_eq!(read("u8", json!(7.0)), Ok(Val::U8(7)));
    assert_eq!(read("u8", json!(256)).unwrap_err(), "input.p is 256, which is no u8");
    assert_eq!(
        read("u64", json!("18446744073709551616")).unwrap_err(),
        "input.p is 18446744073709551616, which is no u64"
    );
    for (name, given) in
        [("u64", json!(1e19)), ("u8", json!(1.5)), ("u8", json!("7")), ("s64", json!("0x1")), ("u64", json!(""))]
    {
        assert!(read(name, given).unwrap_err().starts_with("input.p must be a whole number"));
    }
    assert_eq!(read("f64", json!("-Infinity")), Ok(Val::Float64(f64::NEG_INFINITY)));
    assert_eq!(read("f32", json!(1e300)).unwrap_err(), "input.p is too large for an f32");
    assert_eq!(read("char", json!("é")), Ok(Val::Char('é')));
    assert_eq!(read("char", json!("ab")).unwrap_err(), "input.p must be exactly one character");
}

#[test]
fn bytes_are_base64_or_numbers() {
    let bytes = Wit::List(Box::new(Wit::Plain("u8")));
    let expected = Ok(Val::List(vec![Val::U8(0), Val::U8(255)]));
    assert_eq!(read(&bytes, &json!("AP8=")), expected);
    assert_eq!(read(&bytes, &json!([0, 255])), expected);
    assert!(read(&bytes, &json!("AP8")).unwrap_err().starts_with("input.p is not base64"));
    assert_eq!(read(&bytes, &json!([0, 256])).unwrap_err(), "input.p[1] is 256, which is no u8");
}

#[test]
fn types_that_cannot_cross_are_told() {
    let resource = r#"(import "r" (type $r (sub resource)))"#;
    let check = |text: &str| signature::check(&function(text));
    assert_eq!(
        check(&format!(r#"{resource} (import "f" (func (param "p" (own $r))))"#)),
        Err("it takes or gives a resource")
    );
    assert_eq!(
        check(&format!(r#"{resource} (import "f" (func (result (list (own $r)))))"#)),
        Err("it takes or gives a resource")
    );
    let deep = "(list ".repeat(40) + "u8" + &")".repeat(40);
    assert_eq!(check(&format!(r#"(import "f" (func (param "p" {deep})))"#)), Err("its types nest too deep"));
    let mut wide = r#"(type $w0 (tuple u8 u8))"#.to_owned();
    for at in 1..16 {
        write!(wide, " (type $w{at} (tuple $w{} $w{}))", at - 1, at - 1).unwrap();
    }
    assert_eq!(
        check(&format!(r#"{wide} (import "f" (func (param "p" $w15)))"#)),
        Err("its types are too large to be written as a schema")
    );
}

#[test]
fn a_signature_is_as_wit_writes_it() {
    let wit = Wit::Result(Some(Box::new(Wit::List(Box::new(Wit::Record(vec![Wit::Plain("u8")]))))), None);
    assert_eq!(
        signature::of("f", &wit.function()),
        "f: func(p: result<list<record { f0: u8 }>>) -> result<list<record { f0: u8 }>>"
    );
}
