#include "live/runtime/tensor_file.h"

#include "sim/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace live {
namespace {

using TableJson = nlohmann::ordered_json;

[[noreturn]] void refuseTable(const std::string& what)
{
    throw sim::Error("not a file of tensors: " + what);
}

StoredTensor parseTensor(const std::string& name, const TableJson& json, std::uint64_t elementBytes)
{
    const auto isNumbers = [&](const char* key, std::size_t least, std::size_t most) {
        const auto found = json.find(key);
        return found != json.end() && found->is_array() && found->size() >= least && found->size() <= most &&
               std::all_of(found->begin(), found->end(), [](const TableJson& each) { return each.is_number_unsigned(); });
    };
    if (!isNumbers("shape", 1, 2) || !isNumbers("data_offsets", 2, 2))
        refuseTable(name + " has no shape of one or two dimensions or no data_offsets");
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    const auto shape = json.at("shape").get<std::vector<std::uint64_t>>();
    const auto offsets = json.at("data_offsets").get<std::vector<std::uint64_t>>();
    const std::uint64_t rows = shape.size() == 2 ? shape[0] : 1, columns = shape.back();
    if (rows == 0 || columns == 0 || rows > kMost / columns || offsets[1] < offsets[0] ||
        offsets[1] - offsets[0] != rows * columns * elementBytes)
        refuseTable(name + " has " + std::to_string(rows) + " x " + std::to_string(columns) + " elements and the bytes " +
                    std::to_string(offsets[0]) + " to " + std::to_string(offsets[1]));
    return {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), offsets[0], offsets[1]};
}

} // namespace

void TensorTable::place()
{
    std::uint64_t end = 0;
    for (auto& [name, tensor] : tensors) {
        tensor.begin = end;
        end += static_cast<std::uint64_t>(tensor.rows * tensor.columns) * elementBytes();
        tensor.end = end;
    }
}

std::uint64_t TensorTable::dataBytes() const
{
    std::uint64_t end = 0;
    for (const auto& [name, tensor] : tensors)
        end = std::max(end, tensor.end);
    return end;
}

std::string TensorTable::header(const std::map<std::string, std::string>& metadata) const
{
    TableJson json = {{"__metadata__", metadata}};
    for (const auto& [name, tensor] : tensors) {
        const std::vector<std::int64_t> shape =
            tensor.rows == 1 ? std::vector{tensor.columns} : std::vector{tensor.rows, tensor.columns};
        json[name] = {{"dtype", isDouble ? "F64" : "F32"}, {"shape", shape}, {"data_offsets", {tensor.begin, tensor.end}}};
    }
    std::string text = json.dump();
    constexpr std::size_t kAlignment = 8;
    text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
    std::string length(sizeof(std::uint64_t), '\0'); // little-endian
    for (std::size_t i = 0; i < length.size(); ++i)
        length[i] = static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(text.size()) >> 8U * i & 255U));
    return length + text;
}

TensorTable TensorTable::parse(const std::string& header)
{
    const TableJson json = TableJson::parse(header, nullptr, false);
    if (!json.is_object())
        refuseTable("its header is no JSON object");
    TensorTable table;
    std::string type;
    for (const auto& [name, entry] : json.items()) {
        if (name == "__metadata__")
            continue;
        const auto dtype = entry.is_object() ? entry.find("dtype") : entry.end();
        if (dtype == entry.end() || (*dtype != "F32" && *dtype != "F64") || (!type.empty() && *dtype != type))
            refuseTable(name + " is not of type F32 or F64, as all must be alike");
        type = dtype->get<std::string>();
        table.isDouble = type == "F64";
        table.tensors[name] = parseTensor(name, entry, table.elementBytes());
    }
    std::vector<const StoredTensor*> inOrder;
    for (const auto& [name, tensor] : table.tensors)
        inOrder.push_back(&tensor);
    std::sort(inOrder.begin(), inOrder.end(), [](const StoredTensor* a, const StoredTensor* b) { return a->begin < b->begin; });
    std::uint64_t end = 0;
    for (const StoredTensor* tensor : inOrder)
        if (std::exchange(end, tensor->end) != tensor->begin)
            refuseTable("tensors overlap, or leave a gap, at byte " + std::to_string(tensor->begin));
    return table;
}

PlacedFile::PlacedFile(const std::filesystem::path& path, Mode mode)
    : m_path(path), m_descriptor(::open(path.c_str(),
                                        O_CLOEXEC | (mode == Mode::read    ? O_RDONLY
                                                     : mode == Mode::write ? O_RDWR
                                                                           : O_RDWR | O_CREAT | O_EXCL),
                                        0666))
{
    if (m_descriptor < 0)
        fail(mode == Mode::read ? "read" : "write", errno);
}

PlacedFile::~PlacedFile()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

std::uint64_t PlacedFile::size() const
{
    struct stat status {};
    if (::fstat(m_descriptor, &status) != 0)
        fail("read", errno);
    return static_cast<std::uint64_t>(status.st_size);
}

void PlacedFile::reserve(std::uint64_t bytes)
{
    int error = EINTR;
    while (error == EINTR) // a signal: the run ends after this, not in it
        error = ::posix_fallocate(m_descriptor, 0, static_cast<off_t>(bytes));
    if (error == 0)
        return;
    std::error_code none;
    const auto space = std::filesystem::space(m_path.parent_path(), none);
    char room[96];
    std::snprintf(room, sizeof room, "write all %.1f MiB (%.1f MiB are free) of", static_cast<double>(bytes) / (1 << 20),
                  none ? 0.0 : static_cast<double>(space.available) / (1 << 20));
    fail(room, error);
}

void PlacedFile::write(std::uint64_t offset, const void* data, std::size_t bytes)
{
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = ::pwrite(m_descriptor, from, bytes, static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail("write", written < 0 ? errno : ENOSPC);
        from += written;
        offset += static_cast<std::uint64_t>(written);
        bytes -= static_cast<std::size_t>(written);
    }
}

void PlacedFile::read(std::uint64_t offset, void* data, std::size_t bytes) const
{
    auto* to = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = ::pread(m_descriptor, to, bytes, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            throw sim::Error("checkpoint: " + m_path.string() + " is damaged: it ends before byte " + std::to_string(offset));
        if (got < 0)
            fail("read", errno);
        to += got;
        offset += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
    }
}

void PlacedFile::sync()
{
    while (::fsync(m_descriptor) != 0)
        if (errno != EINTR)
            fail("write", errno);
}

void PlacedFile::fail(const char* what, int error) const
{
    throw sim::Error(std::string("checkpoint: cannot ") + what + " " + m_path.string() + ": " + std::strerror(error));
}

void syncFolder(const std::filesystem::path& folder)
{
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return; // some file systems cannot
    ::fsync(descriptor);
    ::close(descriptor);
}

bool exchangeFolders(const std::filesystem::path& from, const std::filesystem::path& to)
{
    if (!std::filesystem::exists(to)) {
        std::filesystem::rename(from, to);
        return false;
    }
#ifdef RENAME_EXCHANGE
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0)
        return true;
    if (errno != ENOSYS && errno != EINVAL && errno != ENOTSUP)
        throw std::filesystem::filesystem_error("cannot exchange", from, to, std::error_code(errno, std::generic_category()));
#endif
    // Where the file system cannot: for a moment there is nothing at `to`, and the old one lies beside it.
    const std::filesystem::path old = to.string() + ".old";
    std::filesystem::remove_all(old);
    std::filesystem::rename(to, old);
    try {
        std::filesystem::rename(from, to);
    } catch (...) {
        std::error_code none;
        std::filesystem::rename(old, to, none);
        throw;
    }
    std::filesystem::rename(old, from);
    return true;
}

} // namespace live
