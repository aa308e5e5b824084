// A file of named matrices in the safetensors format (huggingface.co/docs/safetensors): 8 bytes with the header's length, a JSON
// header with each tensor's type, shape and place, then the tensors, row by row, one behind the other. Several processes may
// write to one file, each its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace live {

struct StoredTensor {
    std::int64_t rows = 1, columns = 1;
    std::uint64_t begin = 0, end = 0; ///< bytes from the end of the header
    bool operator==(const StoredTensor&) const = default;
};

/// What a file holds. All tensors are of one type.
struct TensorTable {
    bool isDouble = false; ///< F64, else F32
    std::map<std::string, StoredTensor> tensors;

    std::uint64_t elementBytes() const { return isDouble ? 8 : 4; }
    /// Places the tensors one behind the other in the order of their names.
    void place();
    std::uint64_t dataBytes() const;
    /// The file's beginning. `metadata`: words about it.
    std::string header(const std::map<std::string, std::string>& metadata) const;
    /// Of a file's header without its length. Throws sim::Error: not the format, or tensors that overlap, leave gaps or are of
    /// other types.
    static TensorTable parse(const std::string& header);
};

/// An open file, read and written at places. Errors are sim::Error with the path and the system's reason.
class PlacedFile {
public:
    enum class Mode : std::uint8_t { read, write, create };
    PlacedFile(const std::filesystem::path&, Mode);
    ~PlacedFile();
    PlacedFile(const PlacedFile&) = delete;
    PlacedFile& operator=(const PlacedFile&) = delete;

    std::uint64_t size() const;
    /// Makes it that long, with room for all of it on the disk.
    void reserve(std::uint64_t bytes);
    void write(std::uint64_t offset, const void* data, std::size_t bytes);
    void read(std::uint64_t offset, void* data, std::size_t bytes) const;
    void sync();

private:
    [[noreturn]] void fail(const char* what, int error) const;
    const std::filesystem::path m_path;
    int m_descriptor = -1;
};

/// Of a folder: the names in it are on the disk.
void syncFolder(const std::filesystem::path&);
/// `from` is at `to` from one moment to the next, whatever was there lies at `from` then. False: nothing was there.
bool exchangeFolders(const std::filesystem::path& from, const std::filesystem::path& to);

} // namespace live
