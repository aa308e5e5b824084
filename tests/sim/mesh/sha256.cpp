#include "tests/sim/mesh/sha256.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace {

/// First 32 bits of the fraction of a root of each of the first primes: the standard's constants, FIPS 180-4
/// sections 4.2.2, 5.3.3.
template <std::size_t count, class Root>
std::array<std::uint32_t, count> fractionsOfRoots(Root root)
{
    std::array<std::uint32_t, count> words{};
    std::size_t found = 0;
    for (unsigned candidate = 2; found < count; ++candidate) {
        bool isPrime = true;
        for (unsigned divisor = 2; divisor * divisor <= candidate; ++divisor)
            isPrime = isPrime && candidate % divisor != 0;
        if (!isPrime)
            continue;
        const long double value = root(static_cast<long double>(candidate));
        words[found++] = static_cast<std::uint32_t>((value - std::floor(value)) * 4294967296.0L);
    }
    return words;
}

} // namespace

std::string sha256(std::string_view bytes)
{
    static const auto kRound = fractionsOfRoots<64>([](long double prime) { return std::cbrt(prime); });
    auto state = fractionsOfRoots<8>([](long double prime) { return std::sqrt(prime); });

    std::string message(bytes);
    message += static_cast<char>(0x80);
    while (message.size() % 64 != 56)
        message += '\0';
    for (int shift = 56; shift >= 0; shift -= 8)
        message += static_cast<char>((bytes.size() * 8) >> shift & 0xFF);

    for (std::size_t block = 0; block < message.size(); block += 64) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i < 64; ++i)
            w[i / 4] = w[i / 4] << 8 | static_cast<std::uint8_t>(message[block + i]);
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t early = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
            const std::uint32_t late = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + early + w[i - 7] + late;
        }
        auto [a, b, c, d, e, f, g, h] = state;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t first =
                h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
            const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + first;
            d = c;
            c = b;
            b = a;
            a = first + second;
        }
        const std::array<std::uint32_t, 8> worked = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i)
            state[i] += worked[i];
    }
    std::string text;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            text += "0123456789abcdef"[word >> shift & 0xF];
    return text;
}

TEST(Sha256, OfTheStandardsExample)
{
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
