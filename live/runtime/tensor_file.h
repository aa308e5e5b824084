// A file of named matrices in the safetensors format (huggingface.co/docs/safetensors): 8 bytes with the header's length, a JSON
// header with each tensor's type, shape and place, then the tensors, row by row, one behind the other. Several processes may
// write to one file, each its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace live {

/// What elements are stored as: F64, F32, BF16, F16 in the file's words, and what is known to be none of them.
enum class StoredType : std::uint8_t { f64, f32, bf16, f16, i64, u64, i32, u32, i16, u16, i8, u8, boolean, f8E4m3, f8E5m2 };
std::uint64_t bytesOf(StoredType);
const char* storedTypeName(StoredType);
/// Whether toDoubles() takes it.
bool isReadable(StoredType);
/// `bytes`: of as many elements as there are values.
void toDoubles(StoredType, const std::byte* bytes, std::span<double> values);
/// Of F64 and F32, rounded.
std::vector<std::byte> fromDoubles(StoredType, std::span<const double> values);

struct StoredTensor {
    StoredType type = StoredType::f32;
    std::vector<std::int64_t> shape;  ///< outermost first; empty: one number
    std::uint64_t begin = 0, end = 0; ///< bytes from the end of the header

    std::int64_t elements() const;
    /// As a matrix: a vector is one row.
    std::int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
    std::int64_t rows() const { return elements() / columns(); }
    bool operator==(const StoredTensor&) const = default;
};
/// "4 x 16"; "a single number"
std::string shapeText(const std::vector<std::int64_t>& shape);

/// What a file holds.
struct TensorTable {
    std::map<std::string, StoredTensor> tensors;

    /// Places the tensors one behind the other in the order of their names.
    void place();
    std::uint64_t dataBytes() const;
    /// The file's beginning. `metadata`: words about it.
    std::string header(const std::map<std::string, std::string>& metadata) const;
    /// Of a file's header without its length. Throws sim::Error: not the format, or tensors that overlap, leave gaps, are empty
    /// or of types that nobody knows.
    static TensorTable parse(const std::string& header);
};

/// An open file, read and written at places. Errors are sim::Error with the path and the system's reason.
class PlacedFile {
public:
    /// unnamed: as create, but there is no such file before giveName(), and never one if the process ends before; where the
    /// file system cannot, as create.
    enum class Mode : std::uint8_t { read, write, create, unnamed };
    PlacedFile(const std::filesystem::path&, Mode);
    ~PlacedFile();
    PlacedFile(const PlacedFile&) = delete;
    PlacedFile& operator=(const PlacedFile&) = delete;

    /// Calls of all that have moved bytes in this process: who waits for one can see that it gets on. Any thread.
    static std::uint64_t moves();

    const std::filesystem::path& path() const { return m_path; }
    std::uint64_t size() const;
    void giveName();
    /// Makes it that long, with room for all of it on the disk.
    void reserve(std::uint64_t bytes);
    void write(std::uint64_t offset, const void* data, std::size_t bytes);
    void read(std::uint64_t offset, void* data, std::size_t bytes) const;
    void sync();

private:
    [[noreturn]] void fail(const char* what, int error) const;

    const std::filesystem::path m_path;
    int m_descriptor = -1;
    bool m_isNamed = true;
    std::uint64_t m_unsynced = 0; ///< bytes
};

/// What a file holds, and where its tensors begin: behind the header. Throws sim::Error with the path: as TensorTable::parse, or
/// the file does not end where its last tensor does.
struct ReadTable {
    TensorTable table;
    std::uint64_t dataBegin = 0;
};
ReadTable readTensorTable(const PlacedFile&);

/// Makes the folder and those above it that are not there; each name is on the disk when it returns.
void createFolders(const std::filesystem::path&);
/// Of a folder: the names in it are on the disk.
void syncFolder(const std::filesystem::path&);
/// `from` is at `to` from one moment to the next, whatever was there lies at `from` then. False: nothing was there.
bool exchangeFolders(const std::filesystem::path& from, const std::filesystem::path& to);

} // namespace live
