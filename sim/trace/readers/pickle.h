// Python's pickle, of plain data alone: numbers, text, lists, tuples, dictionaries. Nothing in it is ever run: what would make an
// object of any class is refused by its name.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sim {

/// Of a pickle that ends too early the whole members of its outermost list or dictionary, and of a list that ends inside the
/// whole members of that one. `why` says with the byte that it does, and is empty where the pickle is whole.
struct PickledStart {
    nlohmann::json value;
    std::string why;
};
/// Protocols 2 to 5. Tuples become arrays, keys that are no text become text, bytes become text. Members named `without` are left
/// out. Throws Error with the byte, or where the values take more than 128 MiB.
PickledStart readPickleStart(std::string_view bytes, std::string_view without = "");

} // namespace sim
