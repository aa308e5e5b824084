#include "app/session/file_kind.h"

#include <algorithm>
#include <array>
#include <utility>

namespace app {
namespace {

using namespace std::string_view_literals;

/// Magic numbers, from the formats' own specifications.
constexpr std::array<std::pair<std::string_view, const char*>, 10> kKinds{{
    {"\x89PNG"sv, "a picture (PNG)"},
    {"\xff\xd8\xff"sv, "a picture (JPEG)"},
    {"GIF8"sv, "a picture (GIF)"},
    {"RIFF"sv, "a picture, a sound or a film (RIFF)"},
    {"%PDF"sv, "a document (PDF)"},
    {"PK\x03\x04"sv, "an archive (ZIP)"},
    {"\x1f\x8b"sv, "compressed (gzip)"},
    {"\x28\xb5\x2f\xfd"sv, "compressed (zstd)"},
    {"\x7f"
     "ELF"sv,
     "a program"},
    {"<svg"sv, "a picture (SVG)"},
}};

bool isText(unsigned char c)
{
    return c >= ' ' || c == '\t' || c == '\n' || c == '\r';
}

} // namespace

std::string otherKind(std::string_view firstBytes)
{
    if (firstBytes.starts_with("\xff\xfe"sv) || firstBytes.starts_with("\xfe\xff"sv))
        return {}; // UTF-16, as PowerShell's > writes it: the reader says what to do
    for (const auto& [magic, kind] : kKinds)
        if (firstBytes.starts_with(magic))
            return kind;
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (firstBytes.starts_with(kByteOrderMark))
        firstBytes.remove_prefix(kByteOrderMark.size());
    const std::size_t begin = firstBytes.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || firstBytes[begin] == '{' || firstBytes[begin] == '[')
        return firstBytes.find("\"traceEvents\"") == std::string_view::npos ? std::string() : "a trace (Chrome trace events)";
    return std::all_of(firstBytes.begin(), firstBytes.end(), isText) ? "a text, not JSON" : "neither text nor a file known here";
}

} // namespace app
