// What is trained on: bytes of a text, ids of a tokenizer.
#include "live/runtime/data.h"
#include "sim/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

namespace live::test {
namespace {

TEST(Tokens, TargetsFollowInputsAndStayInTheVocabulary)
{
    constexpr int kVocabulary = 61, kLength = 16;
    const TokenSource source("builtin", kVocabulary, kLength, 1);
    std::vector<int> seen(kVocabulary, 0);
    for (int step = 1; step <= 20; ++step)
        for (std::int64_t index = 0; index < 20; ++index) {
            const std::vector<std::int32_t> tokens = source.sequence(step, index);
            ASSERT_EQ(tokens.size(), kLength + 1U);
            for (const std::int32_t token : tokens) {
                ASSERT_GE(token, 0);
                ASSERT_LT(token, kVocabulary);
                ++seen[static_cast<std::size_t>(token)];
            }
        }
    EXPECT_EQ(std::max_element(seen.begin(), seen.end()) - seen.begin(), 0) << "the most frequent byte is token 0";
    EXPECT_NE(source.sequence(1, 0), source.sequence(1, 1));
    EXPECT_NE(source.sequence(1, 0), source.sequence(2, 0));
    EXPECT_EQ(source.sequence(3, 5), TokenSource("builtin", kVocabulary, kLength, 1).sequence(3, 5));
}

class TokenIds : public testing::Test {
protected:
    ~TokenIds() override
    {
        for (const std::string& file : m_files)
            std::filesystem::remove(file);
    }
    std::string fileOf(const std::string& name, const std::string& bytes)
    {
        m_files.push_back(testing::TempDir() + std::to_string(::getpid()) + name);
        std::ofstream(m_files.back(), std::ios::binary) << bytes;
        return m_files.back();
    }
    /// first, first + step, first + 2 step…, little-endian.
    static std::string ids(int count, unsigned width, std::uint64_t first, std::uint64_t step = 1)
    {
        std::string bytes;
        for (int i = 0; i < count; ++i)
            for (unsigned byte = 0; byte < width; ++byte)
                bytes += static_cast<char>((first + step * static_cast<std::uint64_t>(i)) >> 8 * byte & 255U);
        return bytes;
    }
    static std::string npy(const std::string& type, const std::string& data, const std::string& shape = "(40,)",
                           const char* byColumns = "False")
    {
        std::string header = "{'descr': '" + type + "', 'fortran_order': " + byColumns + ", 'shape': " + shape + ", }";
        header.append(117 - header.size(), ' ');
        header += '\n';
        return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
    }
    /// Every sequence of it counts on in steps of one.
    static void expectCounts(const std::string& file, int vocabulary, int least)
    {
        SCOPED_TRACE(file);
        const TokenSource source(file, vocabulary, 8, 1);
        std::set<int> starts;
        for (int step = 1; step <= 200; ++step) {
            const std::vector<std::int32_t> tokens = source.sequence(step, 0);
            ASSERT_EQ(tokens.size(), 9U);
            for (std::size_t i = 0; i < tokens.size(); ++i)
                ASSERT_EQ(tokens[i], tokens[0] + static_cast<int>(i));
            starts.insert(tokens[0]);
        }
        EXPECT_EQ(*starts.begin(), least);
        EXPECT_EQ(*starts.rbegin(), least + 31);
        EXPECT_EQ(starts.size(), 32U);
    }
    static std::string refusal(const std::string& file, int vocabulary)
    {
        try {
            const TokenSource source(file, vocabulary, 8, 1);
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "";
    }

private:
    std::vector<std::string> m_files;
};

TEST_F(TokenIds, AreReadAsTokenizersWriteThem)
{
    expectCounts(fileOf("two.bin", ids(40, 2, 50'000)), 50'257, 50'000);
    expectCounts(fileOf("four.bin", ids(40, 4, 151'000)), 151'936, 151'000);
    const std::string header = ids(1, 4, 20'240'520) + ids(1, 4, 1) + ids(254, 4, 0, 0);
    expectCounts(fileOf("llmc.bin", header + ids(40, 2, 7)), 50'257, 7);
    for (const auto& [type, width] : {std::pair{"|u1", 1U}, {"<u2", 2U}, {"<u4", 4U}, {"<i4", 4U}, {"<i8", 8U}})
        expectCounts(fileOf(std::string(type).substr(1) + ".npy", npy(type, ids(40, width, 100))), 1000, 100);
}

TEST_F(TokenIds, OfAnotherTokenizerAreRefusedWithPlaceAndNumbers)
{
    const std::string file = fileOf("other.bin", ids(40, 2, 990));
    EXPECT_EQ(refusal(file, 1000),
              "/live/data: " + file + ": id 10, read from 2 bytes, is 1000; the model has 1000 tokens (model.vocab_size)");
    EXPECT_NE(refusal(fileOf("negative.npy", npy("<i4", ids(40, 4, ~std::uint64_t{0}))), 1000).find("id 0, "), std::string::npos);
    for (const auto& [type, width] : {std::pair{"<i2", 2U}, {"<i4", 4U}, {"<i8", 8U}}) { // of two bytes -5 would be 65531
        const std::string negative =
            fileOf(std::string(type).substr(1) + "-.npy", npy(type, ids(40, width, std::uint64_t{0} - 5)));
        EXPECT_EQ(refusal(negative, 151'936), "/live/data: " + negative + ": id 0, read from " + std::to_string(width) +
                                                  " bytes, is -5; the model has 151936 tokens (model.vocab_size)");
    }
    expectCounts(fileOf("unsigned.npy", npy("<u2", ids(40, 2, 65'490))), 151'936, 65'490);
    EXPECT_NE(refusal(fileOf("odd.bin", ids(40, 2, 0) + "x"), 1000).find("has 81 bytes of ids, no whole number of ids of 2"),
              std::string::npos);
    EXPECT_NE(refusal(fileOf("short.bin", ids(8, 2, 0)), 1000).find("has 8 ids, a sequence needs 9"), std::string::npos);
    EXPECT_NE(refusal(fileOf("text.npy", "To be, or not to be"), 1000).find("is no numpy array"), std::string::npos);
    EXPECT_NE(refusal(fileOf("float.npy", npy("<f4", ids(40, 4, 0))), 1000).find("of type '<f4'; token ids are whole numbers"),
              std::string::npos);
    EXPECT_NE(refusal(fileOf("unseen.npy", npy("<f\x1b[2J", ids(40, 4, 0))), 1000)
                  .find("of type '<f\\x1b[2J'; token ids are whole numbers: '|u1', '<u2', '<i2', '<u4', '<i4', '<u8' or '<i8'"),
              std::string::npos);
}

/// numpy reads the transpose of such a file's memory, of which a row of ids alone is the same.
TEST_F(TokenIds, ByColumnsAreRefusedWhereThatIsAnotherOrder)
{
    const std::string file = fileOf("columns.npy", npy("<u2", ids(40, 2, 100), "(4, 10)", "True"));
    EXPECT_EQ(refusal(file, 1000),
              "/live/data: " + file +
                  " keeps its ids by columns (fortran_order: True, shape (4, 10)), and sequences lie in rows; "
                  "nearest: np.save(FILE, np.ascontiguousarray(ids))");
    expectCounts(fileOf("rows.npy", npy("<u2", ids(40, 2, 100), "(4, 10)")), 1000, 100);
    for (const char* shape : {"(40,)", "(1, 40)", "(40, 1)"})
        expectCounts(fileOf("one.npy", npy("<u2", ids(40, 2, 100), shape, "True")), 1000, 100);
}

TEST_F(TokenIds, OtherThanTheHeaderSaysAreRefusedWithBothNumbers)
{
    const auto refused = [&](const char* name, int count, const char* shape) {
        return refusal(fileOf(name, npy("<u2", ids(count, 2, 100), shape)), 1000);
    };
    EXPECT_TRUE(
        refused("half.npy", 20, "(40,)").ends_with("half.npy has 20 ids, its header says 40 (shape (40,)): it was cut short"));
    EXPECT_TRUE(
        refused("rows cut.npy", 39, "(4, 10)").ends_with(" has 39 ids, its header says 40 (shape (4, 10)): it was cut short"));
    EXPECT_TRUE(refused("more.npy", 41, "(40,)").ends_with(" has 41 ids, its header says 40 (shape (40,))"));
    EXPECT_TRUE(refused("one.npy", 40, "()").ends_with(" has 40 ids, its header says 1 (shape ())"));
    EXPECT_NE(refused("nothing.npy", 40, "None").find("its header does not say its shape"), std::string::npos);
    for (const char* shape : {"(4294967296, 4294967296)", "(99999999999999999999,)"})
        EXPECT_NE(refused("vast.npy", 40, shape).find(std::string("more ids than any file: its header says shape ") + shape),
                  std::string::npos);
}

/// Neither held nor gone through.
TEST_F(TokenIds, OrTextMayBeLargerThanMemory)
{
    constexpr std::uintmax_t kBytes = std::uintmax_t{1} << 36U;
    const std::string file = fileOf("large.txt", "x");
    std::filesystem::resize_file(file, kBytes); // nothing but its length is on the disk
    const TokenSource source(file, 256, 8, 1);
    EXPECT_EQ(source.sequence(1, 0), std::vector<std::int32_t>(9, 0));
}

/// It is read where a sequence lies: a file that was cut meanwhile is told, not read beyond its end.
TEST_F(TokenIds, OfAFileThatHasChangedAreRefused)
{
    const std::string file = fileOf("cut.bin", ids(40, 2, 0));
    const TokenSource source(file, 1000, 8, 1);
    std::filesystem::resize_file(file, 60);
    EXPECT_THROW(source.sequence(1, 0), sim::Error);
}

} // namespace
} // namespace live::test
