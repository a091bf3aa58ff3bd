#include "crash_report.h"

#ifdef __linux__
#define _GNU_SOURCE
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 64

// Set before the handlers are, and only read after that.
static uintptr_t base;
static char version[64];
static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
    {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"},
};
#define SIGNALS (sizeof signals / sizeof signals[0])

struct text {
    char bytes[2048];
    size_t length;
};

static void add(struct text *text, const char *more) {
    while (*more && text->length < sizeof text->bytes) text->bytes[text->length++] = *more++;
}

static void add_address(struct text *text, uintptr_t address) {
    char digits[2 * sizeof address + 1];
    size_t place = sizeof digits - 1;
    digits[place] = 0;
    do digits[--place] = "0123456789abcdef"[address & 15];
    while (address >>= 4);
    add(text, "0x");
    add(text, digits + place);
}

static void report(int number, siginfo_t *information, void *context) {
    (void)context;
    struct text text = {.length = 0};
    add(&text, "pinledger: crashed by ");
    for (size_t index = 0; index < SIGNALS; index++)
        if (signals[index].number == number) add(&text, signals[index].name);
    // A signal that another process has sent has no address.
    if (information->si_code > 0) {
        add(&text, " at ");
        add_address(&text, (uintptr_t)information->si_addr);
    }
    add(&text, "; version ");
    add(&text, version);
    add(&text, "; addresses in the program:");
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    for (int index = 0; index < count; index++) {
        add(&text, " ");
        add_address(&text, (uintptr_t)frames[index] - base);
    }
    add(&text, "\n");
    ssize_t written = write(STDERR_FILENO, text.bytes, text.length);
    (void)written;
    // The handler is gone (SA_RESETHAND): the signal ends the process.
    raise(number);
}

static int find_base(struct dl_phdr_info *information, size_t size, void *data) {
    (void)size;
    *(uintptr_t *)data = information->dlpi_addr;
    // The first object is the program.
    return 1;
}

int crash_report_install(const char *of_version) {
    // The unwinder is loaded now: a process that crashes allocates nothing.
    void *frames[1];
    backtrace(frames, 1);
    dl_iterate_phdr(find_base, &base);
    strncpy(version, of_version, sizeof version - 1);
    // Also where a thread has used up its stack: but only the first thread has this one.
    static char stack_bytes[64 * 1024];
    stack_t stack = {.ss_sp = stack_bytes, .ss_size = sizeof stack_bytes};
    if (sigaltstack(&stack, NULL) != 0) return -1;
    struct sigaction action = {.sa_sigaction = report, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
    sigemptyset(&action.sa_mask);
    for (size_t index = 0; index < SIGNALS; index++)
        if (sigaction(signals[index].number, &action, NULL) != 0) return -1;
    return 0;
}
#else
int crash_report_install(const char *of_version) {
    (void)of_version;
    return 0;
}
#endif
