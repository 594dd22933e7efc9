//! Components made to hurt whoever compiles them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use palisade_sandbox::{Compiled, Compiler, Failure};
use palisade_tests::{
    handmade::Handmade,
    world::{Baseline, World},
};
use wasm_encoder::{
    BlockType, CodeSection, Component, Function, FunctionSection, Instruction, Module, ModuleSection, TypeSection,
    ValType,
};

const DEADLINE: Duration = Duration::from_secs(5);

fn compiler() -> Compiler {
    Compiler::new(env!("CARGO_BIN_EXE_compile-worker-for-tests").into(), None).with_deadline(DEADLINE)
}

/// A component with one function in it.
fn with_function(function: &Function) -> Vec<u8> {
    let (mut types, mut functions, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([], []);
    functions.function(0);
    code.function(function);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    around(&module)
}

fn around(module: &Module) -> Vec<u8> {
    let mut component = Component::new();
    component.section(&ModuleSection(module));
    component.finish()
}

fn function(locals: &[(u32, ValType)], instructions: impl FnOnce(&mut Function)) -> Vec<u8> {
    let mut function = Function::new(locals.iter().copied());
    instructions(&mut function);
    function.instruction(&Instruction::End);
    with_function(&function)
}

/// More than five megabytes of instructions that depend on each other.
fn one_huge_function() -> Vec<u8> {
    let wasm = function(&[(2, ValType::I64)], |function| {
        for number in 0..700_000_i64 {
            function.instruction(&Instruction::LocalGet(0));
            function.instruction(&Instruction::I64Const(number));
            function.instruction(&Instruction::I64Mul);
            function.instruction(&Instruction::LocalSet(u32::from(number % 2 == 0)));
        }
    });
    assert!(wasm.len() > 5_000_000, "{}", wasm.len());
    wasm
}

/// Prepares it, and asserts that this ends in time and leaves the host as it was.
fn ends(world: &World, wasm: &[u8]) -> Result<Compiled, Failure> {
    let before = world.baseline(&[]);
    let started = Instant::now();
    let prepared = compiler().prepare(world.engine(), wasm);
    assert!(started.elapsed() < DEADLINE + Duration::from_secs(2), "took {:?}", started.elapsed());
    world.works_afterwards();
    Baseline { memory: u64::MAX / 2, ..before }.returns(0);
    prepared
}

fn reason(prepared: Result<Compiled, Failure>) -> String {
    match prepared {
        Err(Failure::BadComponent { reason }) => reason,
        Err(failure) => panic!("{failure:?}"),
        Ok(_) => panic!("it compiled"),
    }
}

/// RES-10
#[test]
fn a_component_that_is_too_large_is_refused_before_it_is_looked_at() {
    let world = World::new();
    let mut wasm = Handmade::default().wasm().unwrap();
    wasm.resize(100_000_000, 0);
    let started = Instant::now();
    assert_eq!(reason(ends(&world, &wasm)), "the component has 100000000 bytes; at most 67108864 are accepted");
    assert!(started.elapsed() < Duration::from_secs(2));
}

/// RES-10
#[test]
fn a_million_locals_are_refused() {
    let world = World::new();
    let wasm = function(&[(1_000_000, ValType::I64)], |_| {});
    assert!(reason(ends(&world, &wasm)).contains("locals"));
}

/// RES-10
#[test]
fn one_huge_function_ends() {
    let world = World::new();
    match ends(&world, &one_huge_function()) {
        Ok(_) => {}
        Err(Failure::BadComponent { reason }) => {
            assert!(reason.contains("it was stopped") || reason.contains("does not compile"), "{reason}")
        }
        Err(failure) => panic!("{failure:?}"),
    }
}

/// RES-10
#[test]
fn a_huge_jump_table_ends() {
    let world = World::new();
    let wasm = function(&[], |function| {
        let targets = vec![0_u32; 60_000];
        for _ in 0..50 {
            function.instruction(&Instruction::Block(BlockType::Empty));
            function.instruction(&Instruction::I32Const(7));
            function.instruction(&Instruction::BrTable(targets.as_slice().into(), 0));
            function.instruction(&Instruction::End);
        }
    });
    drop(ends(&world, &wasm));
}

/// RES-10
#[test]
fn ten_thousand_nested_blocks_end() {
    let world = World::new();
    let wasm = function(&[], |function| {
        for _ in 0..10_000 {
            function.instruction(&Instruction::Block(BlockType::Empty));
        }
        for _ in 0..10_000 {
            function.instruction(&Instruction::End);
        }
    });
    drop(ends(&world, &wasm));
}

/// RES-10
#[test]
fn ten_thousand_nested_components_end() {
    let world = World::new();
    let mut wasm = Component::new().finish();
    for _ in 0..10_000 {
        let mut outer = Component::new();
        outer.section(&wasm_encoder::RawSection { id: 4, data: &wasm });
        wasm = outer.finish();
    }
    drop(ends(&world, &wasm));
}

/// RES-10
#[test]
fn a_hundred_thousand_types_end() {
    let world = World::new();
    let mut types = TypeSection::new();
    for number in 0..100_000_u32 {
        let parameters = (0..8).map(|bit| if number >> bit & 1 == 0 { ValType::I32 } else { ValType::I64 });
        types.ty().function(parameters, [ValType::I32]);
    }
    let mut module = Module::new();
    module.section(&types);
    drop(ends(&world, &around(&module)));
}

/// RES-10: many functions, so that a compiler that is only slow is stopped.
#[test]
fn a_worker_that_takes_too_long_is_killed() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let slow = program(place.path(), "#!/bin/sh\nexec sleep 1000\n");
    let started = Instant::now();
    let compiler = Compiler::new(slow, None).with_deadline(Duration::from_secs(1));
    let wasm = Handmade::default().wasm().unwrap();
    assert_eq!(
        reason(compiler.prepare(world.engine(), &wasm)),
        "compiling it took more than the time it may take; it was stopped"
    );
    assert!(started.elapsed() < Duration::from_secs(3));
    world.works_afterwards();
}

/// RES-16
#[test]
fn a_worker_that_hits_its_memory_limit_dies_alone() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    // The same worker with next to no memory.
    let script =
        format!("#!/bin/sh\nexec {} compile-worker 60000000 5\n", env!("CARGO_BIN_EXE_compile-worker-for-tests"));
    let starved = Compiler::new(program(place.path(), &script), None).with_deadline(DEADLINE);
    let wasm = one_huge_function();
    assert_eq!(
        reason(starved.prepare(world.engine(), &wasm)),
        "compiling it took more than the memory or processor time it may use; it was stopped"
    );
    world.works_afterwards();
    assert!(compiler().prepare(world.engine(), &Handmade::default().wasm().unwrap()).is_ok());
}

/// RES-16
#[test]
fn a_worker_that_cannot_be_run_is_an_error() {
    let world = World::new();
    let compiler = Compiler::new("/nowhere/at/all".into(), None);
    assert!(reason(compiler.prepare(world.engine(), &Handmade::default().wasm().unwrap())).contains("cannot be run"));
}

/// RES-10, the control.
#[test]
fn a_sound_component_compiles() {
    let world = World::new();
    let compiled = ends(&world, &Handmade::default().wasm().unwrap()).unwrap();
    assert_eq!(world.call_component(&compiled).outcome, Ok("ok".to_owned()));
}

fn program(folder: &std::path::Path, script: &str) -> std::path::PathBuf {
    let path = folder.join("worker");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}
