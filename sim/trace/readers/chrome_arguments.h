// What readers use of an event's arguments, as the file of the Chrome form has it.
#pragma once

#include "sim/trace/readers/chrome_members.h"

#include <cstddef>
#include <string_view>

namespace sim {

/// Those arguments that readers use, as written.
struct ChromeArguments {
    explicit ChromeArguments(std::string_view written)
    {
        forEachMember(written, [&](std::string_view key, std::string_view value) {
            switch (key.size()) {
            case 3:
                if (is(key, "Seq"))
                    sequence = value;
                break;
            case 5:
                if (is(key, "dtype"))
                    dtype = value;
                else if (is(key, "bytes"))
                    bytes = value;
                break;
            case 6:
                if (is(key, "device"))
                    device = value;
                break;
            case 8:
                if (is(key, "Src Rank"))
                    source = value;
                else if (is(key, "Dst Rank"))
                    destination = value;
                break;
            case 10:
                if (is(key, "Group size"))
                    size = value;
                break;
            case 11:
                if (is(key, "correlation"))
                    correlation = value;
                else if (is(key, "External id") || is(key, "external id"))
                    externalId = value;
                break;
            case 13:
                if (is(key, "In msg nelems"))
                    inElements = value;
                break;
            case 14:
                if (is(key, "Out msg nelems"))
                    outElements = value;
                break;
            case 15:
                if (is(key, "Collective name"))
                    collective = value;
                break;
            case 17:
                if (is(key, "Global rank start"))
                    start = value;
                break;
            case 18:
                if (is(key, "Process Group Name"))
                    group = value;
                else if (is(key, "Global rank stride"))
                    stride = value;
                break;
            case 19:
                if (is(key, "Process Group Ranks"))
                    ranks = value;
                break;
            case 25:
                if (is(key, "Process Group Description"))
                    description = value;
                break;
            default:
                break;
            }
        });
    }
    std::string_view sequence, dtype, device, source, destination, size, correlation, externalId, inElements, outElements,
        collective, start, stride, group, ranks, description, bytes;
};

/// The tensors that an operator was given, as written; nothing of long lists.
struct ChromeInputs {
    explicit ChromeInputs(std::string_view args)
    {
        forEachMember(args, [this](std::string_view key, std::string_view value) {
            if (key == "Input Dims")
                dims = value;
            else if (key == "Input type")
                types = value;
            else if (key == "Collective name")
                saysCollective = true;
        });
        constexpr std::size_t kLongest = 4096; // of a list of tensors nothing is told
        if (dims.size() + types.size() > kLongest)
            dims = types = {};
    }
    std::string_view dims, types;
    bool saysCollective = false;
};

} // namespace sim
