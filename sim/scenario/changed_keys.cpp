#include "sim/scenario/changed_keys.h"

#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

/// Another model, not the same one with other numbers.
bool isAnotherThing(const Json& a, const Json& b)
{
    for (const char* key : {"name", "id"}) {
        const Json *x = memberOf(a, key), *y = memberOf(b, key);
        if (x != nullptr && y != nullptr && *x != *y)
            return true;
    }
    return false;
}

void addChanges(const Json* a, const Json* b, const std::string& pointer, std::vector<ChangedKey>& out)
{
    if (a != nullptr && b != nullptr && *a == *b)
        return;
    const bool bothObjects = a != nullptr && b != nullptr && a->is_object() && b->is_object();
    if (!bothObjects || (!pointer.empty() && isAnotherThing(*a, *b))) {
        const auto text = [](const Json* value) { return value != nullptr ? std::optional(value->dump()) : std::nullopt; };
        out.push_back({pointer, text(a), text(b)});
        return;
    }
    for (const auto& [key, value] : a->items())
        addChanges(&value, memberOf(*b, key), childPointer(pointer, key), out);
    for (const auto& [key, value] : b->items())
        if (memberOf(*a, key) == nullptr)
            addChanges(nullptr, &value, childPointer(pointer, key), out);
}

} // namespace

std::vector<ChangedKey> changedKeys(const Scenario& a, const Scenario& b)
{
    Json x = parseStrict(resolvedText(a), {}), y = parseStrict(resolvedText(b), {});
    constexpr std::array kOnlyTold{"name", "description", "source"};
    for (const char* key : kOnlyTold) {
        x.erase(key);
        y.erase(key);
    }
    if (a.model.numExperts == 0 && b.model.numExperts == 0) // how experts would be cut
        for (Json* of : {&x, &y})
            (*of)["layout"].erase("etp");
    if (!scheduleFamily(a.schedule.kind).dealsInGroups() && !scheduleFamily(b.schedule.kind).dealsInGroups())
        for (Json* of : {&x, &y})
            (*of)["schedule"].erase("microbatch_group");
    std::vector<ChangedKey> out;
    addChanges(&x, &y, {}, out);
    return out;
}

} // namespace sim
