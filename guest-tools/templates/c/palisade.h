// What a tool in C includes: one call of PALISADE_TOOL, and the function `call`.
//
// Everything that is allocated while a call runs is gone after it, so nothing has to be freed.
// What goes to stderr is shown to whoever calls the tool; a failed assert() names its line.

#ifndef PALISADE_H
#define PALISADE_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the host and the model are told about the tool.
typedef struct {
    const char *name;
    const char *description;
    // JSON Schema of the input object.
    const char *input_schema;
    // It changes nothing outside itself.
    bool read_only;
    // Calling it twice is as calling it once.
    bool idempotent;
} palisade_description;

#define PALISADE_TOOL(...) const palisade_description palisade_tool = {__VA_ARGS__};

// The input of a call: a JSON object.
typedef struct {
    // The object as it was given.
    const char *json;
} palisade_input;

// The text of a property; NULL if it is absent, null or no text.
const char *palisade_text(const palisade_input *input, const char *key);
// The number of a property, or another one if it is absent or no number.
double palisade_number(const palisade_input *input, const char *key, double otherwise);
// The truth of a property, or another one if it is absent or neither true nor false.
bool palisade_truth(const palisade_input *input, const char *key, bool otherwise);
// The JSON of a property, whatever it is; NULL if it is absent.
const char *palisade_json(const palisade_input *input, const char *key);

// What came of a call.
typedef struct {
    enum { PALISADE_OUTPUT, PALISADE_INVALID_INPUT, PALISADE_DENIED, PALISADE_FAILED } kind;
    char *text;
    size_t length;
} palisade_result;

// The output, written as printf does.
palisade_result palisade_output(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The input makes no sense; the model can correct it.
palisade_result palisade_invalid_input(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Something the call needed was not granted.
palisade_result palisade_denied(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The call was tried and did not work.
palisade_result palisade_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Adds to the text of a result.
void palisade_add(palisade_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

// What the tool does; it is yours to write.
palisade_result call(const palisade_input *input);

#endif
