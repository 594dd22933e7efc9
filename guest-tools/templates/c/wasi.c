// What the C library asks its system for. Here that is a stream for errors, a clock and randomness;
// of files, arguments and the environment there are none.

#include <stddef.h>
#include <stdint.h>

#define IMPORT(interface, function) __attribute__((import_module(interface), import_name(function)))
// The library asks by one of these names.
#define WASI(name) __imported_wasi_snapshot_preview1_##name

enum { SUCCESS = 0, BAD_DESCRIPTOR = 8, NOT_A_PIPE = 29 };

IMPORT("wasi:cli/stderr@0.2.0", "get-stderr") extern int32_t get_stderr(void);
IMPORT("wasi:io/streams@0.2.0", "[method]output-stream.blocking-write-and-flush")
extern void write_and_flush(int32_t stream, const uint8_t *bytes, size_t length, void *result);
IMPORT("wasi:clocks/wall-clock@0.2.0", "now") extern void wall_clock_now(void *result);
IMPORT("wasi:clocks/monotonic-clock@0.2.0", "now") extern uint64_t monotonic_clock_now(void);
IMPORT("wasi:random/random@0.2.0", "get-random-u64") extern uint64_t random_u64(void);

typedef struct {
    const uint8_t *bytes;
    size_t length;
} piece;

// What is written anywhere is written to stderr. The host takes at most 4096 bytes at once.
int32_t WASI(fd_write)(int32_t descriptor, int32_t pieces, int32_t count, int32_t written) {
    if (descriptor != 1 && descriptor != 2) return BAD_DESCRIPTOR;
    static int32_t stream = -1;
    if (stream < 0) stream = get_stderr();
    size_t sum = 0;
    for (const piece *at = (const piece *)pieces; count > 0; at++, count--) {
        for (size_t from = 0; from < at->length;) {
            size_t length = at->length - from < 4096 ? at->length - from : 4096;
            uint32_t result[3];
            write_and_flush(stream, at->bytes + from, length, result);
            from += length;
        }
        sum += at->length;
    }
    *(size_t *)written = sum;
    return SUCCESS;
}

int32_t WASI(clock_time_get)(int32_t clock, int64_t precision, int32_t time) {
    (void)precision;
    if (clock == 0) {
        struct {
            uint64_t seconds;
            uint32_t nanoseconds;
        } now;
        wall_clock_now(&now);
        *(uint64_t *)time = now.seconds * 1000000000 + now.nanoseconds;
    } else {
        *(uint64_t *)time = monotonic_clock_now();
    }
    return SUCCESS;
}

int32_t WASI(random_get)(int32_t buffer, int32_t length) {
    uint8_t *bytes = (uint8_t *)buffer;
    for (int32_t at = 0; at < length; at++) bytes[at] = (uint8_t)random_u64();
    return SUCCESS;
}

static int32_t no_entries(int32_t count, int32_t size) {
    *(size_t *)count = 0;
    *(size_t *)size = 0;
    return SUCCESS;
}

int32_t WASI(environ_sizes_get)(int32_t count, int32_t size) { return no_entries(count, size); }
int32_t WASI(environ_get)(int32_t a, int32_t b) { (void)a, (void)b; return SUCCESS; }
int32_t WASI(args_sizes_get)(int32_t count, int32_t size) { return no_entries(count, size); }
int32_t WASI(args_get)(int32_t a, int32_t b) { (void)a, (void)b; return SUCCESS; }
int32_t WASI(clock_res_get)(int32_t clock, int32_t resolution) { (void)clock; *(uint64_t *)resolution = 1; return SUCCESS; }
int32_t WASI(sched_yield)(void) { return SUCCESS; }
_Noreturn void WASI(proc_exit)(int32_t code) { (void)code; __builtin_trap(); }

int32_t WASI(fd_close)(int32_t descriptor) { (void)descriptor; return BAD_DESCRIPTOR; }
// The parts of the library that are written in Zig call it by this name.
int32_t zig_fd_close(int32_t descriptor) __asm__("fd_close|wasi_snapshot_preview1");
int32_t zig_fd_close(int32_t descriptor) { (void)descriptor; return BAD_DESCRIPTOR; }
int32_t WASI(fd_read)(int32_t a, int32_t b, int32_t c, int32_t d) { (void)a, (void)b, (void)c, (void)d; return BAD_DESCRIPTOR; }
int32_t WASI(fd_seek)(int32_t a, int64_t b, int32_t c, int32_t d) { (void)a, (void)b, (void)c, (void)d; return NOT_A_PIPE; }
int32_t WASI(fd_fdstat_get)(int32_t a, int32_t b) { (void)a, (void)b; return BAD_DESCRIPTOR; }
int32_t WASI(fd_prestat_get)(int32_t a, int32_t b) { (void)a, (void)b; return BAD_DESCRIPTOR; }
int32_t WASI(fd_prestat_dir_name)(int32_t a, int32_t b, int32_t c) { (void)a, (void)b, (void)c; return BAD_DESCRIPTOR; }
