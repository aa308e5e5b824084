#include "live/nccl_profiler/lines.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace live::nccl_profiler {
namespace {

/// Of what fits 256 bytes.
[[gnu::format(printf, 2, 3)]] void appendf(std::string& to, const char* format, ...)
{
    std::array<char, 256> text{};
    std::va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    if (length > 0)
        to.append(text.data(), std::min<std::size_t>(static_cast<std::size_t>(length), text.size() - 1));
}

void appendText(std::string& to, const char* text)
{
    to += '"';
    for (const char* c = text; *c != '\0'; ++c) {
        const auto byte = static_cast<unsigned char>(*c);
        if (byte == '"' || byte == '\\')
            to += '\\';
        if (byte < 0x20 || byte >= 0x7f)
            to += '?';
        else
            to += *c;
    }
    to += '"';
}

int bytesOf(const char* dtype)
{
    const auto has = [dtype](const char* word) { return std::strstr(dtype, word) != nullptr; };
    if (has("64"))
        return 8;
    if (has("32"))
        return 4;
    if (has("16"))
        return 2;
    return has("8") ? 1 : 0;
}

/// The larger of what a rank gives and gets; NCCL counts what one rank gives (all-gather) or gets (reduce-scatter). 0: not known.
std::uint64_t messageBytes(const Call& call, int ranks)
{
    const std::uint64_t bytes = call.count * static_cast<std::uint64_t>(bytesOf(call.dtype.data()));
    const auto is = [&call](const char* function) { return std::strcmp(call.function.data(), function) == 0; };
    const bool isOfEach = is("AllGather") || is("ReduceScatter") || is("AlltoAll") || is("Gather") || is("Scatter");
    return isOfEach && ranks > 0 ? bytes * static_cast<std::uint64_t>(ranks) : isOfEach ? 0 : bytes;
}

const char* stateOf(const Finished& finished, const RunTimes& times)
{
    const Execution& run = finished.run;
    if (finished.call.isByCopyEngines || (finished.interfaceVersion < 3 && run.opened == 0))
        return "untimed"; // its end is told by nobody
    if (finished.isOver && times.stopNs != kNoTime)
        return "done";
    if (run.opened > 0)
        return "running";
    return finished.call.isCaptured ? "captured" : "enqueued";
}

} // namespace

RunTimes timesOf(const Execution& run)
{
    RunTimes times;
    bool isOver = true;
    const auto take = [&](std::int64_t startNs, std::int64_t stopNs) {
        times.startNs = times.startNs == kNoTime ? startNs : std::min(times.startNs, startNs);
        times.stopNs = std::max(times.stopNs, stopNs);
        isOver = isOver && stopNs != kNoTime;
    };
    if (run.started != 0) {
        for (std::size_t c = 0; c < kMostChannels; ++c)
            if ((run.started >> c & 1) != 0)
                take(run.kernelStartNs[c], run.kernelStopNs[c]);
        times.source = run.isDeviceClock ? "kernel_gpu" : "kernel_cpu";
    } else if (run.proxyCount > 0) {
        for (int i = 0; i < run.proxyCount; ++i)
            take(run.proxies[static_cast<std::size_t>(i)].startNs, run.proxies[static_cast<std::size_t>(i)].stopNs);
        times.source = "proxy";
    }
    if (!isOver)
        times.stopNs = kNoTime;
    else if (times.stopNs != kNoTime)
        times.stopNs = std::max(times.stopNs, times.startNs);
    if (run.lastFirstNs != kNoTime && times.stopNs != kNoTime)
        times.waitNs = std::clamp<std::int64_t>(run.lastFirstNs - times.startNs, 0, times.stopNs - times.startNs);
    return times;
}

void appendProcessLine(std::string& to, const ProcessWords& process, int interfaceVersion, const Recorder::Lost& lost,
                       std::int64_t nowNs)
{
    to += R"({"dump_stats":{"metadata":{"recorder":"rankscope_nccl_profiler","recorder_format":1,"interface":)";
    appendf(to, "%d,\"dump_timestamp_us\":%" PRId64 ",\"hostname\":", interfaceVersion, (nowNs + process.epochNs) / 1000);
    appendText(to, process.host.c_str());
    appendf(to, ",\"pid\":%ld", process.pid);
    if (process.rank >= 0)
        appendf(to, ",\"rank\":%d", process.rank);
    if (process.worldSize > 0)
        appendf(to, ",\"world_size\":%d", process.worldSize);
    appendf(to, "},\"dropped\":%" PRIu64 ",\"events_without_operation\":%" PRIu64 ",\"proxies_of_others\":%" PRIu64 "}}\n",
            lost.operations, lost.events, lost.foreign);
}

void appendCommunicatorLine(std::string& to, const Communicator& communicator)
{
    appendf(to, "{\"dump_stats\":{\"header\":{\"id\":\"0x%" PRIx64 "\",\"comm_name\":", communicator.hash);
    appendText(to, communicator.name.data());
    appendf(to, ",\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d}}}\n", communicator.rank, communicator.ranks, communicator.nodes);
}

void appendOperationLine(std::string& to, const ProcessWords& process, const Communicator& communicator, const Finished& finished)
{
    const Call& call = finished.call;
    const Execution& run = finished.run;
    const RunTimes times = timesOf(run);
    const char* word = call.isPointToPoint ? "p2p" : "coll";
    appendf(to, "{\"%s_perf\":{\"%s\":", word, word);
    appendText(to, call.function.data());
    if (call.sequence >= 0)
        appendf(to, ",\"%s_sn\":%" PRId64, word, call.sequence);
    if (call.isPointToPoint)
        appendf(to, ",\"p2p_peer\":%d", call.other);
    if (const std::uint64_t bytes = messageBytes(call, communicator.ranks); bytes > 0)
        appendf(to, ",\"%s_msg_size_bytes\":%" PRIu64, word, bytes);
    if (times.stopNs != kNoTime)
        appendf(to, ",\"%s_exec_time_us\":%.3f", word, static_cast<double>(times.stopNs - times.startNs) * 1e-3);
    appendf(to, ",\"%s_timing_source\":\"%s\"},\"rankscope\":{\"state\":\"%s\",\"dtype\":", word, times.source,
            stateOf(finished, times));
    appendText(to, call.dtype.data());
    appendf(to, ",\"count\":%" PRIu64, call.count);
    if (!call.isPointToPoint)
        appendf(to, ",\"root\":%d", call.other);
    if (call.algorithm[0] != '\0') {
        to += ",\"algorithm\":";
        appendText(to, call.algorithm.data());
        to += ",\"protocol\":";
        appendText(to, call.protocol.data());
    }
    if (call.isCaptured)
        to += ",\"captured\":true";
    if (call.isByCopyEngines)
        to += ",\"copy_engines\":true";
    appendf(to, ",\"asked_ns\":%" PRId64, call.askedNs + process.epochNs);
    if (call.enqueuedNs != kNoTime)
        appendf(to, ",\"enqueued_ns\":%" PRId64, call.enqueuedNs + process.epochNs);
    if (times.startNs != kNoTime)
        appendf(to, ",\"start_ns\":%" PRId64, times.startNs + process.epochNs);
    if (times.stopNs != kNoTime)
        appendf(to, ",\"stop_ns\":%" PRId64, times.stopNs + process.epochNs);
    if (times.waitNs != kNoTime)
        appendf(to, ",\"wait_ns\":%" PRId64, times.waitNs);
    // What follows counts from start_ns on.
    const auto after = [&](std::int64_t ns) { return ns == kNoTime ? kNoTime : std::max<std::int64_t>(0, ns - times.startNs); };
    if (run.started != 0) {
        to += ",\"channels\":[";
        for (std::size_t c = 0; c < kMostChannels; ++c)
            if ((run.started >> c & 1) != 0)
                appendf(to, "%s[%zu,%" PRId64 ",%" PRId64 "]", to.back() == '[' ? "" : ",", c, after(run.kernelStartNs[c]),
                        after(run.kernelStopNs[c]));
        to += ']';
    }
    if (run.proxyCount > 0) {
        to += ",\"proxies\":[";
        for (int i = 0; i < run.proxyCount; ++i) {
            const ProxyUse& proxy = run.proxies[static_cast<std::size_t>(i)];
            appendf(to, "%s[\"%s\",%d,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 "]", i == 0 ? "" : ",",
                    proxy.isSend ? "send" : "recv", proxy.channel, proxy.peer, proxy.steps, after(proxy.startNs),
                    after(proxy.firstNs), after(proxy.stopNs));
        }
        to += ']';
    }
    to += "}}\n";
}

} // namespace live::nccl_profiler
