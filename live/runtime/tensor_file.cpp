#include "live/runtime/tensor_file.h"

#include "sim/error.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace live {
namespace {

using TableJson = nlohmann::ordered_json;

/// Not the format; the others are of the system's.
struct NotATable final : sim::Error {
    using sim::Error::Error;
};

[[noreturn]] void refuseTable(const std::string& what)
{
    throw NotATable("not a file of tensors: " + what);
}

struct TypeName {
    StoredType type;
    const char* name;
    std::uint64_t bytes;
};
constexpr std::array kTypes = {TypeName{StoredType::f64, "F64", 8},       TypeName{StoredType::f32, "F32", 4},
                               TypeName{StoredType::bf16, "BF16", 2},     TypeName{StoredType::f16, "F16", 2},
                               TypeName{StoredType::i64, "I64", 8},       TypeName{StoredType::u64, "U64", 8},
                               TypeName{StoredType::i32, "I32", 4},       TypeName{StoredType::u32, "U32", 4},
                               TypeName{StoredType::i16, "I16", 2},       TypeName{StoredType::u16, "U16", 2},
                               TypeName{StoredType::i8, "I8", 1},         TypeName{StoredType::u8, "U8", 1},
                               TypeName{StoredType::boolean, "BOOL", 1},  TypeName{StoredType::f8E4m3, "F8_E4M3", 1},
                               TypeName{StoredType::f8E5m2, "F8_E5M2", 1}};

const TypeName& typeName(StoredType type)
{
    return kTypes[static_cast<std::size_t>(type)];
}

StoredType parseType(const std::string& name, const TableJson& json)
{
    if (!json.is_object() || !json.contains("dtype"))
        refuseTable(name + " has no dtype");
    const TableJson& dtype = json.at("dtype");
    for (const TypeName& each : kTypes)
        if (dtype == each.name)
            return each.type;
    refuseTable(name + " is of type " + dtype.dump(-1, ' ', false, TableJson::error_handler_t::replace) +
                "; F64, F32, BF16 and F16 are read");
}

StoredTensor parseTensor(const std::string& name, const TableJson& json)
{
    StoredTensor tensor;
    tensor.type = parseType(name, json);
    constexpr std::size_t kMostDimensions = 8;
    const auto isNumbers = [&](const char* key, std::size_t least, std::size_t most) {
        const auto found = json.find(key);
        return found != json.end() && found->is_array() && found->size() >= least && found->size() <= most &&
               std::all_of(found->begin(), found->end(), [](const TableJson& each) { return each.is_number_unsigned(); });
    };
    if (!isNumbers("shape", 0, kMostDimensions) || !isNumbers("data_offsets", 2, 2))
        refuseTable(name + " has no shape of up to eight dimensions or no data_offsets");
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    std::uint64_t elements = 1;
    bool isSound = true;
    for (const auto side : json.at("shape").get<std::vector<std::uint64_t>>()) {
        isSound = isSound && side > 0 && elements <= kMost / std::max<std::uint64_t>(side, 1);
        elements *= isSound ? side : 1;
        tensor.shape.push_back(static_cast<std::int64_t>(std::min(side, kMost)));
    }
    const auto offsets = json.at("data_offsets").get<std::vector<std::uint64_t>>();
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
    if (!isSound || tensor.end < tensor.begin || tensor.end - tensor.begin != elements * bytesOf(tensor.type))
        refuseTable(name + " is " + shapeText(tensor.shape) + " of " + storedTypeName(tensor.type) + " and has the bytes " +
                    std::to_string(tensor.begin) + " to " + std::to_string(tensor.end));
    return tensor;
}

double ofHalf(std::uint16_t bits)
{
    const int exponent = bits >> 10U & 31U, fraction = bits & 1023U;
    const double size = exponent == 31
                            ? (fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN())
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000U) != 0 ? -size : size;
}

/// Little-endian in the file, and on every machine that this runs on.
template <class T>
T load(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

} // namespace

std::uint64_t bytesOf(StoredType type)
{
    return typeName(type).bytes;
}

const char* storedTypeName(StoredType type)
{
    return typeName(type).name;
}

bool isReadable(StoredType type)
{
    return type == StoredType::f64 || type == StoredType::f32 || type == StoredType::bf16 || type == StoredType::f16;
}

void toDoubles(StoredType type, const std::byte* bytes, std::span<double> values)
{
    const std::uint64_t size = bytesOf(type);
    for (double& value : values) {
        switch (type) {
        case StoredType::f64:
            value = load<double>(bytes);
            break;
        case StoredType::f32:
            value = static_cast<double>(load<float>(bytes));
            break;
        case StoredType::bf16:
            value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(bytes)) << 16U));
            break;
        case StoredType::f16:
            value = ofHalf(load<std::uint16_t>(bytes));
            break;
        default:
            throw sim::Error(std::string("numbers of type ") + storedTypeName(type) + " are not read");
        }
        bytes += size;
    }
}

std::vector<std::byte> fromDoubles(StoredType type, std::span<const double> values)
{
    assert(type == StoredType::f64 || type == StoredType::f32);
    std::vector<std::byte> bytes(values.size() * bytesOf(type));
    if (type == StoredType::f64)
        std::memcpy(bytes.data(), values.data(), bytes.size());
    else
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto value = static_cast<float>(values[i]);
            std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
        }
    return bytes;
}

std::int64_t StoredTensor::elements() const
{
    std::int64_t count = 1;
    for (const std::int64_t side : shape)
        count *= side;
    return count;
}

std::string shapeText(const std::vector<std::int64_t>& shape)
{
    std::string text;
    for (const std::int64_t side : shape)
        text += (text.empty() ? "" : " x ") + std::to_string(side);
    return text.empty() ? "a single number" : text;
}

void TensorTable::place()
{
    std::uint64_t end = 0;
    for (auto& [name, tensor] : tensors) {
        tensor.begin = end;
        end += static_cast<std::uint64_t>(tensor.elements()) * bytesOf(tensor.type);
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
    TableJson written = {{"__metadata__", metadata}};
    for (const auto& [name, tensor] : tensors)
        written[name] = {
            {"dtype", storedTypeName(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
    std::string text = written.dump();
    constexpr std::size_t kAlignment = 8;
    text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
    std::string length(sizeof(std::uint64_t), '\0'); // little-endian
    for (std::size_t i = 0; i < length.size(); ++i)
        length[i] = static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(text.size()) >> 8U * i & 255U));
    return length + text;
}

TensorTable TensorTable::parse(const std::string& header)
{
    const TableJson written = TableJson::parse(header, nullptr, false);
    if (!written.is_object())
        refuseTable("its header is no JSON object");
    TensorTable table;
    for (const auto& [name, entry] : written.items())
        if (name != "__metadata__")
            table.tensors[name] = parseTensor(name, entry);
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

namespace {

ReadTable readTable(const PlacedFile& file)
{
    const std::uint64_t bytes = file.size();
    std::array<unsigned char, 8> length{};
    if (bytes < length.size())
        refuseTable("it has " + std::to_string(bytes) + " bytes, the length of its header alone takes 8");
    file.read(0, length.data(), length.size());
    std::uint64_t headerBytes = 0;
    for (std::size_t i = length.size(); i-- > 0;)
        headerBytes = headerBytes << 8U | length[i];
    constexpr std::uint64_t kMostHeaderBytes = 100'000'000; // as the safetensors library has it
    if (headerBytes > std::min(bytes - length.size(), kMostHeaderBytes))
        refuseTable("its header would have " + std::to_string(headerBytes) + " bytes");
    std::string header(headerBytes, '\0');
    file.read(length.size(), header.data(), header.size());
    ReadTable read{TensorTable::parse(header), length.size() + headerBytes};
    const std::uint64_t end = read.dataBegin + read.table.dataBytes();
    if (end != bytes)
        refuseTable("it has " + std::to_string(bytes) + " bytes, its header says " + std::to_string(end));
    return read;
}

std::atomic<std::uint64_t> g_moves{0}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): counts

} // namespace

ReadTable readTensorTable(const PlacedFile& file)
{
    try {
        return readTable(file);
    } catch (const NotATable& error) {
        throw sim::Error(file.path().string() + " is " + error.what());
    }
}

PlacedFile::PlacedFile(const std::filesystem::path& path, Mode mode) : m_path(path)
{
    constexpr mode_t kAll = 0666;
#ifdef O_TMPFILE
    if (mode == Mode::unnamed) {
        m_descriptor = ::open(std::filesystem::absolute(path).parent_path().c_str(), O_CLOEXEC | O_RDWR | O_TMPFILE, kAll);
        m_isNamed = m_descriptor < 0;
    }
#endif
    if (m_descriptor < 0)
        m_descriptor = ::open(path.c_str(),
                              O_CLOEXEC | (mode == Mode::read    ? O_RDONLY | O_NONBLOCK // a pipe must not wait for its writer
                                           : mode == Mode::write ? O_RDWR
                                                                 : O_RDWR | O_CREAT | O_EXCL),
                              kAll);
    if (m_descriptor < 0)
        fail(mode == Mode::read ? "read" : "write", errno);
    struct stat status {};
    if (::fstat(m_descriptor, &status) == 0 && S_ISREG(status.st_mode))
        return;
    ::close(m_descriptor);
    throw sim::Error(path.string() + (S_ISDIR(status.st_mode) ? " is a folder, not a file" : " is not an ordinary file"));
}

void PlacedFile::giveName()
{
    if (std::exchange(m_isNamed, true))
        return;
    const std::string open = "/proc/self/fd/" + std::to_string(m_descriptor);
    if (::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, m_path.c_str(), AT_SYMLINK_FOLLOW) != 0)
        fail("write", errno);
}

std::uint64_t PlacedFile::moves()
{
    return g_moves.load(std::memory_order_relaxed);
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
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 30U; // some file systems write all of it
    std::error_code unknown;
    const auto free = std::filesystem::space(m_path.parent_path(), unknown).available; // before the file takes some of it
    int error = 0;
    for (std::uint64_t at = 0; at < bytes && error == 0; at += kPiece) {
        do // a signal: the run ends after this, not in it
            error = ::posix_fallocate(m_descriptor, static_cast<off_t>(at), static_cast<off_t>(std::min(kPiece, bytes - at)));
        while (error == EINTR);
        g_moves.fetch_add(1, std::memory_order_relaxed);
    }
    if (error == 0)
        return;
    // To the byte: on a disk that is nearly full, fewer digits would be the same.
    const auto count = [](std::uintmax_t number) { return sim::numberText(static_cast<double>(number), sim::Unit::count); };
    fail(("write all " + count(bytes) + " bytes" + (unknown ? "" : " (" + count(free) + " are free)") + " of").c_str(), error);
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
        g_moves.fetch_add(1, std::memory_order_relaxed);
        m_unsynced += static_cast<std::uint64_t>(written);
    }
    constexpr std::uint64_t kMostUnsynced = std::uint64_t{256}
                                            << 20U; // all of it at the end would be long without a sign of life
    if (m_unsynced > kMostUnsynced)
        sync();
}

void PlacedFile::read(std::uint64_t offset, void* data, std::size_t bytes) const
{
    auto* to = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = ::pread(m_descriptor, to, bytes, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            throw sim::Error(m_path.string() + " is damaged: it ends before byte " + std::to_string(offset));
        if (got < 0)
            fail("read", errno);
        to += got;
        offset += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
        g_moves.fetch_add(1, std::memory_order_relaxed);
    }
}

void PlacedFile::sync()
{
    while (::fsync(m_descriptor) != 0)
        if (errno != EINTR)
            fail("write", errno);
    m_unsynced = 0;
    g_moves.fetch_add(1, std::memory_order_relaxed);
}

void PlacedFile::fail(const char* what, int error) const
{
    throw sim::Error(std::string("cannot ") + what + " " + m_path.string() + ": " + std::strerror(error));
}

void createFolders(const std::filesystem::path& path)
{
    const std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
    std::vector<std::filesystem::path> missing;
    for (std::filesystem::path at = folder; !std::filesystem::exists(at) && at != at.parent_path(); at = at.parent_path())
        missing.push_back(at);
    std::filesystem::create_directories(folder);
    for (const std::filesystem::path& made : missing)
        syncFolder(made.parent_path());
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
