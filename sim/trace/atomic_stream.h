// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <fstream>

namespace sim {

class AtomicStream {
public:
    /// Opens a temporary file beside `path`. Throws Error if it cannot, or if `path` is there and no ordinary file.
    explicit AtomicStream(const std::filesystem::path&);
    AtomicStream(const AtomicStream&) = delete;
    AtomicStream& operator=(const AtomicStream&) = delete;
    ~AtomicStream(); ///< without commit() nothing is left behind
    std::ostream& stream() { return m_stream; }
    /// Puts the file in its place. Throws Error if anything could not be written; the old file then is untouched.
    void commit();

private:
    std::filesystem::path m_path, m_temporary;
    std::ofstream m_stream;
    bool m_committed = false;
};

} // namespace sim
