import CMalloc

/// The process's memory.
enum Memory {
    /// Returns the allocator's free memory to the system. It blocks other allocations meanwhile.
    static func giveBack() { malloc_trim(0) }
}
