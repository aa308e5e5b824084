// By what a file is known again: small ones to the byte, large ones by pieces that are spread over them.
#include "live/runtime/crc32.h"
#include "live/runtime/file_mark.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace live::test {
namespace {

class FileMarks : public testing::Test {
protected:
    ~FileMarks() override { std::filesystem::remove(m_path); }
    FileMark of(const std::string& bytes, std::uint64_t most = kMostMarkedBytes) const
    {
        std::ofstream(m_path, std::ios::binary) << bytes;
        return markOf(PlacedFile(m_path, PlacedFile::Mode::read), most);
    }
    /// Another byte there.
    static std::string changed(std::string bytes, std::size_t at)
    {
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        return bytes;
    }
    const std::filesystem::path m_path =
        std::filesystem::path(testing::TempDir()) / ("rankscope_mark_" + std::to_string(::getpid()));
};

constexpr std::size_t kPiece = 65'536;

TEST_F(FileMarks, OfSmallFilesAreTheirSizeAndChecksum)
{
    std::string bytes(3 * kPiece + 17, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(i * i >> 7U);
    for (const std::size_t size : {std::size_t{0}, std::size_t{9}, kPiece, kPiece + 1, bytes.size()}) {
        const std::string part = bytes.substr(0, size);
        EXPECT_EQ(of(part), (FileMark{.bytes = size, .crc32 = crc32(part.data(), size)})) << size;
    }
    for (const std::size_t at : {std::size_t{0}, kPiece, bytes.size() - 1})
        EXPECT_NE(of(changed(bytes, at)), of(bytes)) << at;
    EXPECT_EQ(markText({.bytes = 9, .crc32 = 0xCBF43926}), "9 bytes with checksum 3421780262");
}

TEST_F(FileMarks, OfLargeFilesAreOfPiecesFromTheBeginningToTheEnd)
{
    const std::string bytes(11 * kPiece + 5, 'x');
    const std::uint64_t most = 3 * kPiece; // at 0, in the middle, at the end
    const FileMark mark = of(bytes, most);
    EXPECT_EQ(mark.bytes, bytes.size());
    const std::size_t middle = (bytes.size() - kPiece) / 2;
    for (const std::size_t at :
         {std::size_t{0}, kPiece - 1, middle, middle + kPiece - 1, bytes.size() - kPiece, bytes.size() - 1})
        EXPECT_NE(of(changed(bytes, at), most), mark) << at;
    for (const std::size_t at : {kPiece, middle - 1, middle + kPiece, bytes.size() - kPiece - 1})
        EXPECT_EQ(of(changed(bytes, at), most), mark) << at << " is not read";
    EXPECT_NE(of(bytes + "x", most).bytes, mark.bytes);
    EXPECT_NE(of(changed(bytes, 0), 1), of(bytes, 1)) << "one piece at least";
}

} // namespace
} // namespace live::test
