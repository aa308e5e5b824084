// Reads the group lists that frameworks' own code made (tests/data/groups) and turns ours into the same shape.
#pragma once

#include "sim/mesh/mesh.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace golden {

using Lists = std::vector<std::vector<int>>;

nlohmann::json read(const std::string& name);
/// The cases of a file that holds a table of them; by value, so that a loop over them is safe.
nlohmann::json cases(const std::string& name);
/// Names of the files that start so, sorted; fails the test if there are none.
std::vector<std::string> names(const std::string& prefix);

/// World size, tp, cp, pp, and where given ep, etp, order, as Megatron Core takes them: dp is what is left of the world.
sim::Layout layout(const nlohmann::json& input);

Lists lists(const sim::RankGrid::Groups&);
Lists lists(const sim::Mesh&, sim::ProcessGroup);
/// Groups over named axes; the names may come in any order.
Lists lists(const sim::RankGrid&, std::initializer_list<std::string_view> axes);
Lists lists(const sim::RankGrid&, const std::vector<std::string>& axes);
/// The same groups, whoever is named first.
Lists sorted(Lists);
/// 0, 1, ... worldSize - 1.
std::vector<int> world(int worldSize);

/// SHA-256 of the lists as JSON without whitespace, in hexadecimal.
std::string digest(const Lists&);

} // namespace golden
