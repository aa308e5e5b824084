#include "live/stream/attached_words.h"

#include "sim/error.h"

#include <cmath>

namespace live {

void refuseRank(const std::string& what)
{
    throw sim::Error("it sent " + what);
}

std::int64_t wholeIn(const Json& json, const char* key, std::int64_t least, std::int64_t most)
{
    const auto place = json.find(key);
    if (place == json.end() || !place->is_number_integer() ||
        (place->is_number_unsigned() && place->get<std::uint64_t>() > static_cast<std::uint64_t>(most)))
        refuseRank(std::string(key) + (place == json.end() ? ": nothing" : " = " + cut(place->dump(), 64)) + ", where " +
                   std::to_string(least) + " to " + std::to_string(most) + " can be");
    const auto value = place->get<std::int64_t>();
    if (value < least || value > most)
        refuseRank(std::string(key) + " = " + std::to_string(value) + ", where " + std::to_string(least) + " to " +
                   std::to_string(most) + " can be");
    return value;
}

const Json* listIn(const Json& json, const char* key)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_array() ? &*place : nullptr;
}

std::optional<double> finiteAt(const Json& list, std::size_t index)
{
    if (index >= list.size() || !list[index].is_number())
        return std::nullopt;
    const double value = list[index].get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

} // namespace live
