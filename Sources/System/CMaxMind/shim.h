#include <maxminddb.h>
#include <sys/syscall.h>
#include <unistd.h>

// The value is in an anonymous union with a type that Swift does not know.
static inline const char *pinledger_entry_text(const MMDB_entry_data_s *entry) {
    return entry->has_data && entry->type == MMDB_DATA_TYPE_UTF8_STRING ? entry->utf8_string : 0;
}

// A file in memory without a name, closed when another program takes the process over; -1 where there is no room.
static inline int pinledger_file_in_memory(void) {
    const unsigned int close_on_exec = 1;
    return (int)syscall(SYS_memfd_create, "countries", close_on_exec);
}
