import CMalloc

/// The process's memory.
enum Memory {
    /// Has the allocator give what is free back to the system. It holds up whoever allocates meanwhile.
    static func giveBack() { malloc_trim(0) }
}
