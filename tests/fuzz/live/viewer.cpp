// Whatever a publisher says, a viewer takes it or refuses it with sim::Error, within its budget; and of what it took, histories,
// traces and step pictures can be made (or not, with sim::Error).
#include "live/stream/as_if_parallel.h"
#include "live/stream/difference.h"
#include "live/stream/make_trace.h"
#include "live/stream/received_run.h"
#include "parts.h"
#include "sim/error.h"
#include "tests/live/stream/run_for_tests.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace {

void check(bool promise)
{
    if (!promise)
        std::abort();
}

void checkUpdate(const live::ViewerUpdate& update)
{
    check(update.spans.size() + update.memory.size() <= live::kRunBudget.recordsPending);
    for (std::size_t i = 1; i < update.steps.size(); ++i)
        check(update.steps[i - 1].step < update.steps[i].step);
    check(!update.run || update.run->message.size() <= live::kRunBudget.messageTextBytes);
}

void draw(const live::RunHistory& history)
{
    check(history.blockRecords <= live::HistoryLimits().records);
    try {
        const sim::Trace trace = live::makeTrace(history);
        for (const sim::Track& track : trace.tracks)
            check(std::is_sorted(track.startNs.begin(), track.startNs.end()));
    } catch (const sim::Error&) {
    }
    if (history.blocks.empty())
        return;
    const int step = history.stepsWithSpans().last;
    try {
        const std::vector<live::RankSpan> spans = history.spans({step, step});
        const std::vector<int> stages(static_cast<std::size_t>(history.description.worldSize));
        for (const live::TimeUse& use : live::measuredTimeUse(spans, stages))
            check(use.computeNs >= 0 && use.computeNs <= use.stepNs);
        check(live::asIfParallel(history, step).stepNs >= 0);
    } catch (const sim::Error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    // Begins with a good description, so that the fuzzer need not find one; a second one may follow.
    static const std::string greeting = [] {
        live::Json message = live::header("run");
        message["run"] = live::toJson(test::smallRun());
        return message.dump();
    }();
    live::ReceivedRun run({});
    live::ViewerUpdate update;
    try {
        if (size > 0 && data[0] % 8 != 7)
            run.take(std::vector<std::string_view>{greeting}, {});
        for (const fuzz::Message& message : fuzz::messagesOf(data, size)) {
            run.take(message.parts, {});
            if (message.mark % 4 >= 2) {
                run.poll(update);
                checkUpdate(update);
            }
        }
    } catch (const sim::Error&) { // refused: what was received before is kept
    }
    run.poll(update);
    checkUpdate(update);
    draw(run.history());
    return 0;
}
