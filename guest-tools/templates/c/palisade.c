// Between the component model and the tool: what is exported, and a small reader of JSON.

#include "palisade.h"

extern const palisade_description palisade_tool;

// ---- results ----

static palisade_result result_of(int kind, const char *format, va_list arguments) {
    palisade_result result = {.kind = kind};
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return result;
    result.text = malloc((size_t)length + 1);
    if (result.text == NULL) abort();
    vsnprintf(result.text, (size_t)length + 1, format, arguments);
    result.length = (size_t)length;
    return result;
}

#define RESULT(name, kind)                              \
    palisade_result name(const char *format, ...) {     \
        va_list arguments;                              \
        va_start(arguments, format);                    \
        palisade_result result = result_of(kind, format, arguments); \
        va_end(arguments);                              \
        return result;                                  \
    }

RESULT(palisade_output, PALISADE_OUTPUT)
RESULT(palisade_invalid_input, PALISADE_INVALID_INPUT)
RESULT(palisade_denied, PALISADE_DENIED)
RESULT(palisade_failed, PALISADE_FAILED)

void palisade_add(palisade_result *result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    palisade_result more = result_of(result->kind, format, arguments);
    va_end(arguments);
    char *text = realloc(result->text, result->length + more.length + 1);
    if (text == NULL) abort();
    if (more.text != NULL) memcpy(text + result->length, more.text, more.length);
    result->length += more.length;
    text[result->length] = '\0';
    result->text = text;
}

// ---- JSON ----
// The host has made sure that the input is one JSON object, so the reader only has to find its way.

static const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
    return at;
}

static const char *skip_text(const char *at) {
    if (*at == '"') at++;
    while (*at != '\0' && *at != '"') at += (*at == '\\' && at[1] != '\0') ? 2 : 1;
    return *at == '"' ? at + 1 : at;
}

static const char *skip_value(const char *at) {
    int depth = 0;
    at = skip_space(at);
    do {
        if (*at == '"') {
            at = skip_text(at);
        } else if (*at == '{' || *at == '[') {
            depth++, at++;
        } else if (*at == '}' || *at == ']') {
            depth--, at++;
        } else if (depth == 0) {
            while (*at != '\0' && strchr(",]} \t\r\n", *at) == NULL) at++;
        } else if (*at != '\0') {
            at++;
        }
    } while (depth > 0 && *at != '\0');
    return at;
}

static unsigned hexadecimal(const char *at) {
    char digits[5] = {0};
    strncpy(digits, at, 4);
    return (unsigned)strtoul(digits, NULL, 16);
}

static char *put(char *to, unsigned character) {
    if (character < 0x80) {
        *to++ = (char)character;
    } else if (character < 0x800) {
        *to++ = (char)(0xc0 | character >> 6);
        *to++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *to++ = (char)(0xe0 | character >> 12);
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    } else {
        *to++ = (char)(0xf0 | character >> 18);
        *to++ = (char)(0x80 | (character >> 12 & 0x3f));
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    }
    return to;
}

// The text of a JSON string, with its escapes written out; never longer than the string.
static char *unescape(const char *at, const char *end) {
    char *text = malloc((size_t)(end - at) + 1);
    if (text == NULL) abort();
    char *to = text;
    while (at < end && *at != '"') {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        at++;
        switch (*at++) {
            case 'b': *to++ = '\b'; break;
            case 'f': *to++ = '\f'; break;
            case 'n': *to++ = '\n'; break;
            case 'r': *to++ = '\r'; break;
            case 't': *to++ = '\t'; break;
            case 'u': {
                unsigned character = hexadecimal(at);
                at += 4;
                if (character >= 0xd800 && character < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
                    character = 0x10000 + ((character - 0xd800) << 10) + (hexadecimal(at + 2) - 0xdc00);
                    at += 6;
                }
                to = put(to, character);
                break;
            }
            default: *to++ = at[-1];
        }
    }
    *to = '\0';
    return text;
}

// Where the value of a property begins; NULL if there is none.
static const char *value_of(const palisade_input *input, const char *key) {
    const char *at = skip_space(input->json);
    if (*at++ != '{') return NULL;
    while (*(at = skip_space(at)) == '"') {
        const char *end = skip_text(at);
        bool is_it = strcmp(unescape(at + 1, end), key) == 0;
        at = skip_space(end);
        if (*at++ != ':') return NULL;
        at = skip_space(at);
        if (is_it) return at;
        at = skip_space(skip_value(at));
        if (*at++ != ',') return NULL;
    }
    return NULL;
}

const char *palisade_text(const palisade_input *input, const char *key) {
    const char *at = value_of(input, key);
    return at != NULL && *at == '"' ? unescape(at + 1, skip_text(at)) : NULL;
}

double palisade_number(const palisade_input *input, const char *key, double otherwise) {
    const char *at = value_of(input, key);
    return at != NULL && strchr("-0123456789", *at) != NULL ? strtod(at, NULL) : otherwise;
}

bool palisade_truth(const palisade_input *input, const char *key, bool otherwise) {
    const char *at = value_of(input, key);
    if (at == NULL || (*at != 't' && *at != 'f')) return otherwise;
    return *at == 't';
}

const char *palisade_json(const palisade_input *input, const char *key) {
    const char *at = value_of(input, key);
    return at == NULL ? NULL : strndup(at, (size_t)(skip_value(at) - at));
}

// ---- the component ----
// Texts go over as a place and a length; the results lie where the host is told.

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
    (void)old_size, (void)align;
    if (size == 0) return (void *)align;
    void *place = realloc(old, size);
    if (place == NULL) abort();
    return place;
}

typedef struct {
    const char *text;
    size_t length;
} abi_text;

static abi_text abi(const char *text) {
    return (abi_text){text, text == NULL ? 0 : strlen(text)};
}

static struct {
    abi_text name, description, input_schema;
    const void *capabilities;
    size_t capabilities_length;
    uint8_t read_only, idempotent;
} described;

__attribute__((export_name("palisade:tool/tool@0.1.0#describe"))) const void *abi_describe(void) {
    described.name = abi(palisade_tool.name);
    described.description = abi(palisade_tool.description);
    described.input_schema = abi(palisade_tool.input_schema);
    described.capabilities = NULL;
    described.capabilities_length = 0;
    described.read_only = palisade_tool.read_only;
    described.idempotent = palisade_tool.idempotent;
    return &described;
}

static struct {
    uint8_t is_failure;
    union {
        abi_text output;
        struct {
            uint8_t kind;
            abi_text text;
        } failure;
    };
} answered;

__attribute__((export_name("palisade:tool/tool@0.1.0#call"))) const void *abi_call(const char *text, size_t length) {
    palisade_input input = {.json = strndup(text, length)};
    palisade_result result = call(&input);
    answered.is_failure = result.kind != PALISADE_OUTPUT;
    abi_text said = {result.text, result.length};
    if (answered.is_failure) {
        answered.failure.kind = (uint8_t)(result.kind - PALISADE_INVALID_INPUT);
        answered.failure.text = said;
    } else {
        answered.output = said;
    }
    return &answered;
}
