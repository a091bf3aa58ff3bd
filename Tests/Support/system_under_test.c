// The changes that tests make to the system below a server. A library that, preloaded into a process,
//
// - adds to its clocks the seconds that stand in the file MOVED_CLOCK, if there is one: two 64-bit integers, one for the time of
//   day and one for the time since the machine started, which Swift's ContinuousClock reads. The first alone is an operator who
//   sets a machine's clock; both together are time that has passed. The file may be written at any time. CLOCK_MONOTONIC
//   stays, since the kernel's timers, which would not follow, count by it;
// - leaves threads their turn that would run only when no other wants the processor (SCHED_IDLE): the server reads clients'
//   reports on such a thread, and beside many tests at a time it would get no turn for minutes.
//
// libfaketime would do as much, but it changes the environment before main, after which a Swift program does not find its
// arguments.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { TIME_OF_DAY, SINCE_START, CLOCKS };

static _Atomic int64_t right_time[CLOCKS];
static _Atomic int64_t *ahead = right_time;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MOVED_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof right_time, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) ahead = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real_clock_gettime(clock, now);
    if (failed) return failed;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += atomic_load(ahead + TIME_OF_DAY);
    if (clock == CLOCK_BOOTTIME) now->tv_sec += atomic_load(ahead + SINCE_START);
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int sched_setscheduler(pid_t thread, int policy, const struct sched_param *parameters) {
    int (*real)(pid_t, int, const struct sched_param *) = dlsym(RTLD_NEXT, "sched_setscheduler");
    return policy == SCHED_IDLE ? 0 : real(thread, policy, parameters);
}
