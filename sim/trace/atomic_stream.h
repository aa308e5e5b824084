// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <fstream>

namespace sim {

class AtomicStream {
public:
    /// Opens a file beside `path` that has no name until it is whole, so that nothing of it is left whatever ends the program;
    /// one with a name of its own where the file system has no others. What ended programs left of such is taken away. Throws
    /// Error if it cannot, or if `path` is there and no ordinary file.
    explicit AtomicStream(const std::filesystem::path&);
    AtomicStream(const AtomicStream&) = delete;
    AtomicStream& operator=(const AtomicStream&) = delete;
    ~AtomicStream(); ///< without commit() nothing is left behind
    std::ostream& stream() { return m_stream; }
    /// Puts the file in its place. Throws Error if anything could not be written; the old file then is untouched.
    void commit();

private:
    std::filesystem::path m_path, m_temporary;
    int m_unnamed = -1; ///< the file without a name
    std::ofstream m_stream;
    bool m_committed = false;
};

} // namespace sim
