#include "sim/trace/readers/chrome_event.h"

#include "sim/index.h"
#include "sim/trace/readers/chrome_members.h"
#include "sim/trace/readers/operator_shape.h"
#include "sim/trace/readers/xla_rows.h"

#include <algorithm>
#include <charconv>

namespace sim {
namespace {

constexpr std::int64_t kLongestNs = 1'000'000'000'000'000'000; ///< of one span: 31 years

std::string lowered(std::string text)
{
    for (char& c : text)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return text;
}

} // namespace

ChromeEvents::ChromeEvents(RecordingBuilder& builder, const ReadingFile& file) : m_builder(builder), m_file(file) {}

ChromeEvents::Category ChromeEvents::categoryOf(std::string_view written)
{
    for (const auto& [name, category] : m_categories)
        if (name == written)
            return category;
    const Category category = categoryOfWord(lowered(std::string(inside(written))));
    constexpr std::size_t kMostRemembered = 64;
    if (m_categories.size() < kMostRemembered)
        m_categories.emplace_back(written, category);
    return category;
}

std::uint32_t ChromeEvents::nameOf(std::string_view written)
{
    const auto found = m_names.find(written);
    if (found != m_names.end())
        return found->second;
    const std::uint32_t name = m_builder.recording.names.add(meantText(inside(written)));
    m_names.emplace(written, name);
    return name;
}

ChromeEvents::Row& ChromeEvents::rowOf(const ChromeEvent& event)
{
    m_rowKey.assign(event.pid);
    m_rowKey += '\x1f';
    m_rowKey += event.tid;
    const auto found = m_rows.find(m_rowKey);
    if (found != m_rows.end())
        return found->second;
    Row& row = m_rows.emplace(m_rowKey, Row()).first->second;
    row.track = m_builder.track(meantText(inside(event.pid)), meantText(inside(event.tid)));
    return row;
}

const char* ChromeEvents::take(const ChromeEvent& event)
{
    if (event.ph.size() != 3 || event.ph.front() != '"')
        return event.ph.empty() ? "it has no \"ph\"" : "its \"ph\" is no letter";
    const char phase = event.ph[1];
    if (phase == 'M')
        return takeMetadata(event);
    std::int64_t ns = 0;
    if (!event.ts.empty() || phase == 'X' || phase == 'B' || phase == 'E') {
        const auto time = microsecondsAsNs(event.ts);
        if (!time)
            return event.ts.empty() ? "it has no \"ts\"" : "its \"ts\" is no time";
        ns = *time;
        if (m_firstNs == 0 && phase == 'X')
            m_firstNs = ns;
    }
    switch (phase) {
    case 'X': {
        std::optional<std::int64_t> duration = 0;
        if (!event.dur.empty())
            duration = microsecondsAsNs(event.dur);
        if (!duration || *duration > kLongestNs)
            return "its \"dur\" is no time";
        if (*duration < 0)
            return "its \"dur\" is negative";
        return takeSpan(event, ns, *duration);
    }
    case 'B': {
        const std::size_t before = m_builder.spanCount();
        if (const char* why = takeSpan(event, ns, 0))
            return why;
        if (m_builder.spanCount() > before)
            rowOf(event).open.push_back(static_cast<std::uint32_t>(before));
        else
            rowOf(event).open.push_back(kNoSpan);
        return nullptr;
    }
    case 'E': {
        Row& row = rowOf(event);
        if (row.open.empty())
            return "it ends what never began";
        if (row.open.back() != kNoSpan)
            m_builder.setEnd(row.open.back(), ns);
        row.open.pop_back();
        return nullptr;
    }
    case 's':
    case 't':
    case 'f':
        return takeFlow(event, ns);
    case 'C':
        return takeCounter(event, ns);
    case 'i':
    case 'I':
        takeInstant(event, ns);
        return nullptr;
    default:
        m_builder.skip(std::string("event of phase ") + phase, "such events have no place in a timeline of spans");
        return nullptr;
    }
}

const char* ChromeEvents::takeSpan(const ChromeEvent& event, std::int64_t startNs, std::int64_t durationNs)
{
    const Category category = categoryOf(event.cat);
    if (category == Category::pythonFunction && !m_file.pythonFunctions) {
        m_builder.addExtent(startNs, startNs + durationNs);
        m_builder.skip("python_function", "frames of Python stacks are left out");
        return nullptr;
    }
    const std::string_view pid = inside(event.pid);
    if (pid == "Spans" || pid == "Traces") { // Kineto's row over everything
        m_builder.addExtent(startNs, startNs + durationNs);
        m_builder.skip("profiler's own span", "it covers the recording, and is nothing that a rank did");
        return nullptr;
    }
    const std::uint32_t track = rowOf(event).track;
    const std::uint32_t name = nameOf(event.name);
    const std::string& text = m_builder.recording.names[name];
    RecordedKind kind = RecordedKind::other;
    bool wantsArguments = false;
    switch (category) {
    case Category::kernel: {
        if (m_isCommunication.size() <= name)
            m_isCommunication.resize(name + std::size_t{64}, -1);
        if (m_isCommunication[name] < 0)
            m_isCommunication[name] = isCommunicationKernel(text) ? 1 : 0;
        kind = m_isCommunication[name] == 1 ? RecordedKind::communication : RecordedKind::kernel;
        wantsArguments = true;
        break;
    }
    case Category::request:
        kind = kindOfRequest(text);
        m_builder.at(track).isDevice = true; // also where it waits or records an event
        wantsArguments = isDeviceWork(kind);
        break;
    case Category::communication:
    case Category::hostCommunication: // of a trace that was written again
        kind = category == Category::communication ? RecordedKind::communication : RecordedKind::hostCommunication;
        wantsArguments = true;
        break;
    case Category::memcpy:
        kind = RecordedKind::memcpy;
        wantsArguments = true;
        break;
    case Category::memset:
        kind = RecordedKind::memset;
        wantsArguments = true;
        break;
    case Category::gpuAnnotation:
        kind = RecordedKind::gpuAnnotation;
        break;
    case Category::runtime:
        kind = RecordedKind::runtime;
        wantsArguments = true;
        break;
    case Category::pythonFunction:
        kind = RecordedKind::pythonFunction;
        break;
    case Category::synchronization:
        kind = RecordedKind::synchronization;
        break;
    case Category::overhead:
        kind = RecordedKind::overhead;
        break;
    case Category::cpuOp:
    case Category::annotation:
        kind = category == Category::cpuOp ? RecordedKind::cpuOp : RecordedKind::annotation;
        if (text == "record_param_comms" || isCallOfLibrary(text)) {
            kind = RecordedKind::hostCommunication;
            wantsArguments = text == "record_param_comms";
        }
        break;
    default:
        break;
    }
    const std::uint32_t span = m_builder.addSpan(track, startNs, durationNs, name, kind);
    if (isDeviceWork(kind) || kind == RecordedKind::gpuAnnotation)
        m_builder.at(track).isDevice = true;
    if ((kind == RecordedKind::annotation || kind == RecordedKind::gpuAnnotation || kind == RecordedKind::cpuOp) &&
        text.starts_with("ProfilerStep#")) {
        if (const auto number = wholeNumber(std::string_view(text).substr(std::string_view("ProfilerStep#").size())))
            m_builder.addStep(*number, span, kind == RecordedKind::gpuAnnotation);
        if (kind == RecordedKind::cpuOp)
            m_builder.setKind(span, RecordedKind::annotation);
    }
    if (event.cat.empty())
        m_ascend.note(span, event.args);
    if (event.cat.empty() && event.args.find("\"step_num\"") != std::string_view::npos) // StepTraceAnnotation of JAX
        forEachMember(event.args, [&](std::string_view key, std::string_view value) {
            if (const auto number = key == "step_num" ? wholeNumber(inside(value)) : std::nullopt; number && *number >= 0)
                m_builder.addStep(*number, span, false);
        });
    if (category == Category::own && m_builder.processName(pid).starts_with("rank "))
        takeOwn(event, span, track);
    if (kind == RecordedKind::cpuOp && isShapedOperator(text))
        takeShape(event.args, span, text);
    if (kind == RecordedKind::hostCommunication && !wantsArguments) {
        const ChromeInputs inputs(event.args);
        wantsArguments = inputs.saysCollective; // of a trace that was written again
        if (!wantsArguments)
            m_hostCalls.note(m_builder, span, text, inputs.dims, inputs.types);
    }
    if (!wantsArguments)
        return nullptr;
    const ChromeArguments arguments(event.args);
    if (isDeviceWork(kind)) {
        if (const int device = smallNumber(arguments.device, -1); device >= 0) {
            m_builder.at(track).device = device;
            ++m_devices[device];
        }
    }
    if (const auto correlation = wholeNumber(arguments.correlation); correlation && *correlation != 0) {
        if (kind == RecordedKind::runtime)
            m_builder.addLaunch(*correlation, span);
        else if (isDeviceWork(kind))
            m_builder.addLaunched(*correlation, span);
    }
    if (kind == RecordedKind::communication || kind == RecordedKind::hostCommunication || !arguments.collective.empty())
        takeCollective(arguments, span, isDeviceWork(kind), name);
    return nullptr;
}

void ChromeEvents::takeShape(std::string_view args, std::uint32_t span, const std::string& op)
{
    const ChromeInputs inputs(args);
    if (inputs.dims.empty())
        return;
    m_builder.addShape(span, op + '\x1f' + std::string(inputs.types) + '\x1f' + std::string(inputs.dims),
                       {.op = op, .dtype = firstTensorType(inputs.types), .dims = inputDims(inputs.dims)});
}

void ChromeEvents::takeCollective(const ChromeArguments& arguments, std::uint32_t span, bool isKernel, std::uint32_t name)
{
    RecordedCollective collective;
    (isKernel ? collective.span : collective.hostSpan) = span;
    std::string said = lowered(meantText(inside(arguments.collective)));
    if (said == "wait") // torch notes it where a stream waits for a collective, with an empty group of size 1
        return;
    if (said.empty() && isKernel)
        said = collectiveOfKernelName(m_builder.recording.names[name]);
    collective.name = m_builder.recording.names.add(said);
    collective.isPointToPoint = isPointToPointName(said);
    collective.dtype = m_builder.recording.names.add(meantText(inside(arguments.dtype)));
    const auto count = [](std::string_view written) {
        const auto number = wholeNumber(written);
        return number && *number >= 0 ? *number : std::int64_t{-1};
    };
    collective.inElements = count(arguments.inElements);
    collective.outElements = count(arguments.outElements);
    collective.sequence = count(arguments.sequence);
    collective.bytes = count(arguments.bytes);
    collective.sourceRank = smallNumber(arguments.source, -1);
    collective.destinationRank = smallNumber(arguments.destination, -1);
    if (!arguments.group.empty() || !arguments.ranks.empty() || !arguments.size.empty())
        collective.group = groupOf(arguments);
    m_builder.addCollective(collective, wholeNumber(arguments.externalId).value_or(0));
    m_anyCollective = true;
}

/// Arguments cut lists of over thirty ranks: start, stride and size tell them again.
std::int32_t ChromeEvents::groupOf(const ChromeArguments& arguments)
{
    std::string key;
    for (const std::string_view part :
         {arguments.group, arguments.description, arguments.ranks, arguments.start, arguments.stride, arguments.size}) {
        key += part;
        key += '\x1f';
    }
    if (const auto found = m_groups.find(key); found != m_groups.end())
        return found->second;
    const int size = smallNumber(arguments.size, 0), start = smallNumber(arguments.start, -1),
              stride = smallNumber(arguments.stride, -1);
    std::vector<int> ranks = ranksOfText(meantText(inside(arguments.ranks)));
    if ((ranks.empty() || (size > 0 && ranks.size() != static_cast<std::size_t>(size))) && size > 0) {
        ranks.clear();
        const std::int64_t last = start + static_cast<std::int64_t>(size - 1) * std::max(stride, 0);
        if (start >= 0 && (stride > 0 || size == 1) && last < kMostRanksOfAJob && m_builder.takeUnlistedMembers(asIndex(size)))
            for (int i = 0; i < size; ++i)
                ranks.push_back(start + i * std::max(stride, 0));
    }
    // Calls of a group of one write a size and no more.
    const std::string name = meantText(inside(arguments.group));
    const std::int32_t group =
        name.empty() && ranks.empty()
            ? -1
            : m_builder.group(name, meantText(inside(arguments.description)), std::move(ranks), size, "arguments of collectives");
    m_groups.emplace(std::move(key), group);
    return group;
}

void ChromeEvents::takeOwn(const ChromeEvent& event, std::uint32_t span, std::uint32_t track)
{
    m_isOwn = true;
    RecordedMeaning meaning;
    meaning.opClass = ownClass(inside(event.cat)).value_or(OpClass::other);
    int microbatch = -1, slice = 0;
    std::uint64_t meeting = 0;
    CollectiveWords words;
    forEachMember(event.args, [&](std::string_view key, std::string_view value) {
        if (key == "micro-batch")
            microbatch = smallNumber(value, -1);
        else if (key == "slice")
            slice = smallNumber(value, 0);
        else if (key == "stage")
            meaning.stage = smallNumber(value, -1);
        else if (key == "layer")
            meaning.layer = smallNumber(value, -1);
        else if (key == "group")
            meaning.group = meantText(inside(value));
        else if (key == "bytes")
            meaning.bytes = wholeNumber(value).value_or(0);
        else if (key == "flops")
            std::from_chars(value.data(), value.data() + value.size(), meaning.flops);
        else if (key == "correlation")
            std::from_chars(value.data(), value.data() + value.size(), meeting);
        else if (key == "Process Group Name")
            words.group = meantText(inside(value));
        else if (key == "Src Rank" || key == "Dst Rank")
            words.take(key, {}, wholeNumber(value).value_or(-1));
    });
    m_slices = std::min(std::max(m_slices, slice + 1), 1024);
    if (slice > 0)
        m_sliceOf.emplace_back(span, slice);
    m_builder.setOwn(span, track, meaning, std::min(microbatch, 1 << 20), meeting, words);
}

const char* ChromeEvents::takeMetadata(const ChromeEvent& event)
{
    const std::string_view what = inside(event.name);
    std::string text;
    forEachMember(event.args, [&](std::string_view key, std::string_view value) {
        if (key == "name" || key == "labels")
            text = meantText(inside(value));
    });
    const std::string process = meantText(inside(event.pid));
    if (what == "process_name")
        m_builder.nameProcess(process, text);
    else if (what == "process_labels")
        m_builder.labelProcess(process, text);
    else if (what == "thread_name" && !text.empty()) {
        RecordedTrack& track = m_builder.at(rowOf(event).track);
        if (!text.starts_with("stream "))
            track.name = text;
        // Kineto's streams are named by their thread, those that were written again are rows with a number of their own.
        if (text.starts_with("stream ") && m_builder.processName(process).starts_with("rank "))
            track.name = text;
    }
    return nullptr;
}

const char* ChromeEvents::takeCounter(const ChromeEvent& event, std::int64_t ns)
{
    const std::uint32_t track = rowOf(event).track;
    const std::string name = meantText(inside(event.name));
    forEachMember(event.args, [&](std::string_view key, std::string_view value) {
        double number = 0;
        const auto [after, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error == std::errc())
            m_builder.addCounterPoint(track, name, meantText(key), ns, number);
    });
    return nullptr;
}

/// Allocations are instants of Kineto: a counter of what the device holds.
void ChromeEvents::takeInstant(const ChromeEvent& event, std::int64_t ns)
{
    if (categoryOf(event.cat) != Category::memory || inside(event.name) != "[memory]") {
        m_builder.skip("instant", "instants have no length");
        return;
    }
    double allocated = -1;
    int type = -1, device = -1;
    forEachMember(event.args, [&](std::string_view key, std::string_view value) {
        if (key == "Total Allocated")
            std::from_chars(value.data(), value.data() + value.size(), allocated);
        else if (key == "Device Type")
            type = smallNumber(value, -1);
        else if (key == "Device Id")
            device = smallNumber(value, -1);
    });
    constexpr int kCpu = 0;
    if (allocated >= 0)
        m_builder.addCounterPoint(rowOf(event).track, type == kCpu ? "host memory" : "memory of device " + std::to_string(device),
                                  "bytes", ns, allocated);
}

const char* ChromeEvents::takeFlow(const ChromeEvent& event, std::int64_t ns)
{
    const Category category = categoryOf(event.cat);
    if (category == Category::launchFlow)
        return nullptr; // correlation says the same, and without rounding
    using Use = RecordingBuilder::FlowUse;
    const Use use = category == Category::passFlow       ? Use::backward
                    : category == Category::callFlow     ? Use::call
                    : category == Category::operatorFlow ? Use::launchingOperator
                                                         : Use::message;
    const auto id = wholeNumber(event.id);
    if (!id)
        return use == Use::call || use == Use::launchingOperator ? nullptr : "its flow has no number";
    m_builder.addFlowEnd(static_cast<std::uint64_t>(*id), rowOf(event).track, ns, event.ph[1] != 's', use);
    return nullptr;
}

void ChromeEvents::finish()
{
    m_hostCalls.settle(m_builder, m_anyCollective);
    m_isOfXlaDevices = settleXlaRows(m_builder);
    m_isOfAscend = m_ascend.settle(m_builder);
    std::size_t open = 0;
    const std::int64_t lastNs = m_builder.lastNs();
    for (const auto& [key, row] : m_rows)
        for (const std::uint32_t span : row.open)
            if (span != kNoSpan) {
                ++open;
                m_builder.setEnd(span, lastNs);
            }
    if (open > 0)
        m_builder.recording.problems.push_back(m_file.path + ": " + std::to_string(open) +
                                               " spans begin and never end: they are kept up to the end of the recording");
    m_builder.setSlices(m_slices, m_sliceOf);
}

int ChromeEvents::device() const
{
    const auto most =
        std::max_element(m_devices.begin(), m_devices.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == m_devices.end() ? -1 : most->first;
}

} // namespace sim
