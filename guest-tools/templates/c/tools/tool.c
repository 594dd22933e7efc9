#include "../palisade.h"

PALISADE_TOOL(
    .name = "{{tool}}",
    .description = "Greets someone by name.",
    .input_schema = "{ \"type\": \"object\", \"properties\": {"
                    "  \"name\": { \"type\": \"string\", \"description\": \"Who to greet.\" },"
                    "  \"times\": { \"type\": \"integer\", \"description\": \"How often; once if this is left out.\" }"
                    "}, \"required\": [\"name\"], \"additionalProperties\": false }",
    .read_only = true, .idempotent = true)

palisade_result call(const palisade_input *input) {
    const char *name = palisade_text(input, "name");
    if (name == NULL) return palisade_invalid_input("`name` is missing");
    double times = palisade_number(input, "times", 1);

    palisade_result greeting = palisade_output("");
    for (int time = 0; time < times; time++) {
        palisade_add(&greeting, "%sHello, %s!", time == 0 ? "" : "\n", name);
    }
    return greeting;
}
