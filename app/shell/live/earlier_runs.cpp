#include "app/shell/live/earlier_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace app {

std::string learnedBy(const std::string& scenarioJson)
{
    using nlohmann::json;
    const json scenario = json::parse(scenarioJson, nullptr, false);
    if (!scenario.is_object() || !scenario.contains("model"))
        return {};
    const auto partOf = [&](const char* key) { // of a run that anybody may have started
        const auto part = scenario.find(key);
        return part != scenario.end() && part->is_object() ? *part : json::object();
    };
    const json training = partOf("training"), live = partOf("live");
    json learns = {{"model", scenario.at("model")}};
    for (const char* key : {"sequence_length", "global_batch_size", "optimizer"})
        learns[key] = training.value(key, json());
    for (const auto& [key, value] : live.items()) // how it is computed and for how long takes no part
        if (key != "device" && key != "steps" && key != "dtype")
            learns[key] = value;
    return learns.dump(-1, ' ', false, json::error_handler_t::replace);
}

void EarlierRuns::keep(Run run)
{
    constexpr std::size_t kMost = 8;
    if (run.points.empty())
        return;
    m_runs.push_back(std::move(run));
    if (m_runs.size() > kMost)
        m_runs.pop_front();
}

const EarlierRuns::Run* EarlierRuns::comparableWith(const std::string& learns) const
{
    const auto found = std::find_if(m_runs.rbegin(), m_runs.rend(), [&](const Run& run) { return run.learns == learns; });
    return learns.empty() || found == m_runs.rend() ? nullptr : &*found;
}

} // namespace app
