//! Plain WASI, which carries no authority: clocks, randomness, bounded standard streams, an empty
//! environment. Linked for every guest. `wasi:sockets` is linked for none.

use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::{
    cli::{WasiCli, WasiCliView as _},
    clocks::{WasiClocks, WasiClocksView as _},
    p2::bindings::{cli, clocks, random},
    random::WasiRandom,
};
use wasmtime_wasi_io::bindings::wasi::io;

use crate::host::Host;

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    io::error::add_to_linker::<Host, Table>(linker, |host| &mut host.table)?;
    io::poll::add_to_linker::<Host, Table>(linker, |host| &mut host.table)?;
    io::streams::add_to_linker::<Host, Table>(linker, |host| &mut host.table)?;
    clocks::wall_clock::add_to_linker::<Host, WasiClocks>(linker, Host::clocks)?;
    clocks::monotonic_clock::add_to_linker::<Host, WasiClocks>(linker, Host::clocks)?;
    random::random::add_to_linker::<Host, WasiRandom>(linker, |host| host.wasi.random())?;
    random::insecure::add_to_linker::<Host, WasiRandom>(linker, |host| host.wasi.random())?;
    random::insecure_seed::add_to_linker::<Host, WasiRandom>(linker, |host| host.wasi.random())?;
    cli::environment::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::exit::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::stdin::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::stdout::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::stderr::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::terminal_input::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::terminal_output::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::terminal_stdin::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::terminal_stdout::add_to_linker::<Host, WasiCli>(linker, Host::cli)?;
    cli::terminal_stderr::add_to_linker::<Host, WasiCli>(linker, Host::cli)
}
