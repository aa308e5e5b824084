#include "sim/trace/distributed_info.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

namespace sim {
namespace {

using InfoJson = nlohmann::ordered_json;

void sayText(InfoJson& to, const char* key, const std::string& text)
{
    if (!text.empty())
        to[key] = text;
}

InfoJson groupInfo(const TraceGroup& group)
{
    InfoJson info{{"pg_name", group.name}};
    sayText(info, "pg_desc", group.description);
    sayText(info, "backend_config", group.backend);
    sayText(info, "evidence", group.evidence);
    info["pg_size"] = group.size;
    constexpr std::size_t kListed = 32; // Kineto cuts its lists there
    const std::vector<int>& ranks = group.ranks;
    const int stride = ranks.size() > 1 ? ranks[1] - ranks[0] : 1;
    bool isEven = ranks.size() > kListed && ranks.size() == static_cast<std::size_t>(std::max(group.size, 0));
    for (std::size_t i = 1; i < ranks.size() && isEven; ++i)
        isEven = ranks[i] - ranks[i - 1] == stride;
    if (isEven) {
        info["global_rank_start"] = ranks.front();
        info["global_rank_stride"] = stride;
    } else if (!ranks.empty()) {
        info["ranks"] = ranks;
    }
    return info;
}

template <typename T>
auto placeIn(const std::vector<T>& list, std::uint32_t track, std::uint32_t span)
{
    const auto found = std::lower_bound(list.begin(), list.end(), std::tuple(track, span),
                                        [](const T& e, const auto& key) { return std::tuple(e.track, e.span) < key; });
    return found != list.end() && found->track == track && found->span == span ? found : list.end();
}

} // namespace

std::string distributedInfoText(const Trace& trace)
{
    InfoJson ranks = InfoJson::array();
    bool saysRanks = false;
    for (const Process& process : trace.processes) {
        InfoJson info{{"name", process.name}};
        sayText(info, "host_name", process.host);
        sayText(info, "device_name", process.deviceName);
        sayText(info, "backend", process.backend);
        sayText(info, "rank_from", process.rankEvidence);
        if (process.device >= 0)
            info["device"] = process.device;
        if (process.worldSize > 0)
            info["world_size"] = process.worldSize;
        if (process.firstNs != 0 || process.lastNs != 0) {
            info["first_ns"] = process.firstNs;
            info["last_ns"] = process.lastNs;
        }
        saysRanks = saysRanks || info.size() > 1;
        ranks.push_back(std::move(info));
    }
    if (!saysRanks && trace.worldSize == 0 && trace.groups.empty() && trace.axes.empty() && !trace.hasManyClocks)
        return {};
    InfoJson info = InfoJson::object();
    if (trace.worldSize > 0)
        info["world_size"] = trace.worldSize;
    if (trace.hasManyClocks)
        info["clocks"] = "several";
    InfoJson groups = InfoJson::array();
    for (const TraceGroup& group : trace.groups)
        groups.push_back(groupInfo(group));
    info["pg_config"] = std::move(groups);
    if (!trace.axes.empty()) {
        for (const TraceAxis& axis : trace.axes) {
            info["mesh_dim_names"].push_back(axis.name);
            info["mesh_shape"].push_back(axis.size);
            info["mesh_strides"].push_back(axis.stride);
        }
    }
    info["ranks"] = std::move(ranks);
    return info.dump(-1, ' ', false, InfoJson::error_handler_t::replace);
}

const TraceGroup* groupOfSpan(const Trace& trace, const Track& track, std::size_t span)
{
    if (span >= track.group.size() || track.group[span] < 0 || static_cast<std::size_t>(track.group[span]) >= trace.groups.size())
        return nullptr;
    return &trace.groups[static_cast<std::size_t>(track.group[span])];
}

const TraceCollective* collectiveOfSpan(const Trace& trace, std::uint32_t track, std::uint32_t span)
{
    const auto found = placeIn(trace.collectives, track, span);
    return found == trace.collectives.end() ? nullptr : &*found;
}

std::uint64_t launchOfSpan(const Trace& trace, std::uint32_t track, std::uint32_t span)
{
    const auto found = placeIn(trace.launches, track, span);
    return found == trace.launches.end() ? 0 : found->number;
}

bool isSendName(const std::string& name)
{
    return name.find("send") != std::string::npos;
}

} // namespace sim
