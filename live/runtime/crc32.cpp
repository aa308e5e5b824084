#include "live/runtime/crc32.h"

#include <array>
#include <cstring>

namespace live {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320;

/// Bit 31 is the coefficient of x^0: times x is a shift to the right.
constexpr std::uint32_t timesX(std::uint32_t a)
{
    return (a & 1U) != 0 ? a >> 1U ^ kPolynomial : a >> 1U;
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b)
{
    std::uint32_t sum = 0;
    for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U, b = timesX(b))
        sum ^= (a & bit) != 0 ? b : 0;
    return sum;
}

constexpr int kSlices = 8;
struct CrcTables {
    /// [k][b]: the CRC of byte b with k zero bytes behind it.
    std::array<std::array<std::uint32_t, 256>, kSlices> ofByte{};
    std::array<std::uint32_t, 64> power{}; ///< [k] = x^(2^k)

    constexpr CrcTables()
    {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t crc = byte;
            for (int slice = 0; slice < kSlices; ++slice) {
                for (int bit = 0; bit < 8; ++bit)
                    crc = timesX(crc);
                ofByte[static_cast<std::size_t>(slice)][byte] = crc;
            }
        }
        power[0] = 1U << 30U;
        for (std::size_t k = 1; k < power.size(); ++k)
            power[k] = product(power[k - 1], power[k - 1]);
    }
};
constexpr CrcTables kTables;

/// As many zero bytes behind it.
std::uint32_t withZeros(std::uint32_t crc, std::uint64_t bytes)
{
    constexpr std::size_t kBitsOfByte = 3; // x^(2^3) a byte
    for (std::size_t k = kBitsOfByte; bytes != 0; ++k, bytes >>= 1U)
        if ((bytes & 1U) != 0)
            crc = product(crc, kTables.power[k]);
    return crc;
}

/// Eight bytes at a time (Kounavis & Berry 2005).
std::uint32_t linearCrc(const void* data, std::size_t count)
{
    const auto& table = kTables.ofByte;
    const auto* bytes = static_cast<const unsigned char*>(data);
    std::uint32_t crc = 0;
    for (; count >= kSlices; count -= kSlices, bytes += kSlices) {
        const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes[i]); };
        crc ^= at(0) | at(1) << 8U | at(2) << 16U | at(3) << 24U;
        crc = table[7][crc & 255U] ^ table[6][crc >> 8U & 255U] ^ table[5][crc >> 16U & 255U] ^ table[4][crc >> 24U] ^
              table[3][at(4)] ^ table[2][at(5)] ^ table[1][at(6)] ^ table[0][at(7)];
    }
    for (; count > 0; --count, ++bytes)
        crc = table[0][(crc ^ *bytes) & 255U] ^ crc >> 8U;
    return crc;
}

} // namespace

void PiecewiseCrc32::add(std::uint64_t offset, const void* data, std::size_t bytes)
{
    m_linear ^= withZeros(linearCrc(data, bytes), m_bytes - offset - bytes);
}

std::uint32_t PiecewiseCrc32::value() const
{
    return ~(m_linear ^ withZeros(0xFFFFFFFF, m_bytes));
}

std::uint32_t crc32(const void* data, std::size_t bytes)
{
    PiecewiseCrc32 whole(bytes);
    whole.add(0, data, bytes);
    return whole.value();
}

} // namespace live
