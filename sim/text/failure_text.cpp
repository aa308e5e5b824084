#include "sim/text/failure_text.h"

#include "sim/text/quoted.h"

#include <filesystem>
#include <new>
#include <string_view>

namespace sim {

std::string failureText(const std::exception& error)
{
    if (const auto* const files = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
        std::string places = shownPlace(files->path1().string());
        if (!files->path2().empty())
            places += " and " + shownPlace(files->path2().string());
        return (places.empty() ? "" : places + ": ") + files->code().message();
    }
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return "there is not enough memory for this";
    const std::string_view what = error.what();
    constexpr std::string_view kJson = "[json.exception.", kEnd = "] ";
    if (const std::size_t end = what.find(kEnd); what.starts_with(kJson) && end != std::string_view::npos)
        return "JSON is not what it should be: " + std::string(what.substr(end + kEnd.size()));
    return std::string(what);
}

} // namespace sim
