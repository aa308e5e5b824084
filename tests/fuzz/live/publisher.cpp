// Whatever viewers say, a run serves them within its budget: never more places than it has, never more on the way than a window,
// and no exception.
#include "live/stream/audience.h"
#include "parts.h"
#include "tests/live/stream/run_for_tests.h"

#include <cstdlib>
#include <map>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static test::Run run;
    static const bool isTrained = (run.train(0, 100), true);
    live::PublishOptions options;
    if (isTrained)
        options.control = [](live::RunRequest request) { return runRequestName(request); };
    options.mostViewers = 3;
    options.windowBytes = 10'000;
    std::size_t bytes = 0;
    live::Audience audience(*run.collector, options,
                            [&](const std::string& viewer, const std::vector<live::Audience::Part>& parts) {
                                for (const live::Audience::Part& part : parts)
                                    bytes += part.text.size() + (part.block ? part.block->bytes.size() : 0);
                                return viewer != "5"; // of this one the queue is full
                            });
    auto now = live::Audience::Clock::time_point() + std::chrono::hours(1);
    std::size_t messages = 0;
    for (const fuzz::Message& message : fuzz::messagesOf(data, size)) {
        audience.receive(std::to_string(message.mark / 2 % 8), message.parts, now);
        if (audience.size() > options.mostViewers)
            std::abort();
        if (message.mark >= 128) {
            now += std::chrono::milliseconds(400);
            audience.tick(now);
        }
        ++messages;
    }
    // A window of 10,000 bytes, and the portion that it began: each message here asks for one more at most.
    if (bytes > (messages + 1) * options.mostViewers * 200'000)
        std::abort();
    return 0;
}
