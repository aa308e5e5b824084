#include "live/cli/command.h"
#include "live/cli/control.h"
#include "live/cli/say_line.h"
#include "live/cli/writable.h"
#include "live/record/recorder.h"
#include "live/stream/ingest.h"
#include "live/stream/make_trace.h"
#include "live/stream/publisher.h"
#include "sim/cli/options.h"
#include "sim/error.h"
#include "sim/text/quoted.h"
#include "sim/trace/export.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

namespace live::cli {
namespace {

struct CollectArguments {
    ScenarioArguments scenario;
    std::string listen = "tcp://127.0.0.1:5555", ingest, key, allowed, trace, name, profile;
    bool json = false;
};

/// One port further, or any where the viewers' is any; PATH.ranks beside a socket.
std::string besideViewers(const std::string& listen)
{
    if (listen.starts_with("ipc://"))
        return listen + ".ranks";
    const std::size_t colon = listen.rfind(':');
    constexpr int kLastPort = 65535;
    int port = 0;
    try {
        port = std::stoi(listen.substr(colon + 1));
    } catch (const std::exception&) {
        return listen; // the publisher says what is wrong with it
    }
    return listen.substr(0, colon + 1) + std::to_string(port == 0 || port >= kLastPort ? 0 : port + 1);
}

/// "10-12" or "10".
std::array<int, 2> stepsOf(const std::string& text)
{
    if (text.empty())
        return {0, -1};
    const std::size_t dash = text.find('-');
    const std::string first = text.substr(0, dash), last = dash == std::string::npos ? first : text.substr(dash + 1);
    const auto isNumber = [](const std::string& digits) {
        return !digits.empty() && digits.size() <= 9 && digits.find_first_not_of("0123456789") == std::string::npos;
    };
    if (!isNumber(first) || !isNumber(last) || std::stoi(last) < std::stoi(first))
        throw sim::cli::UsageError("--profile: " + sim::quotedText(text) + " is no range of steps; as in --profile 10-12");
    return {std::stoi(first), std::stoi(last)};
}

void collect(const CollectArguments& arguments)
{
    checkWritable(arguments.trace, "--trace"); // before hours of a job are taken
    IngestOptions options{.endpoint = arguments.ingest.empty() ? besideViewers(arguments.listen) : arguments.ingest,
                          .name = arguments.name,
                          .profile = stepsOf(arguments.profile),
                          .log = sayLine};
    if (!arguments.scenario.file.empty()) {
        const sim::Scenario scenario = arguments.scenario.read({arguments.trace});
        options.scenarioJson = sim::resolvedText(scenario);
        options.scenarioRanks = scenario.layout.worldSize();
        if (options.name.empty())
            options.name = scenario.name;
    }
    PublishOptions publish{.endpoint = arguments.listen, .log = sayLine};
    if (!arguments.key.empty())
        publish.keys = options.keys = ServerKeys{readKeyPair(arguments.key), readAllowedKeys(arguments.allowed)};

    SpanKinds kinds;
    auto collector = std::make_unique<Collector>(kinds);
    Ingest ingest(*collector, kinds, options);
    auto publisher = std::make_unique<Publisher>(*collector, publish);
    sayLine("viewers: rankscope --attach " + publisher->endpoint());
    sayLine("the job: RANKSCOPE_ATTACH=" + ingest.endpoint() + " torchrun … -m rankscope.run SCRIPT");

    Control::catchSignals();
    const Control control(false, true);
    std::string told;
    int present = 0;
    while (!control.stopped() && !ingest.isOver()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const IngestCounts counts = ingest.counts();
        if (std::string text = ingest.text(); text != told || counts.present != present) {
            // Seconds that pass are told to viewers; here each fact once.
            const auto withoutDigits = [](std::string line) {
                std::erase_if(line, [](char c) { return c >= '0' && c <= '9'; });
                return line;
            };
            if (withoutDigits(text) != withoutDigits(told) || counts.present != present)
                sayLine(std::to_string(counts.present) + " of " + std::to_string(counts.worldSize) + " ranks attached" +
                        (text.empty() ? "" : "; " + text));
            told = std::move(text);
            present = counts.present;
        }
    }
    const bool failed = ingest.isFailed() && !control.stopped();
    const std::string how = ingest.text();
    ingest.stop();
    const IngestCounts counts = ingest.counts();
    collector->setStatus(failed ? RunStatus::failed : control.stopped() ? RunStatus::stopped : RunStatus::finished, how);
    const RunHistory history = collector->history();
    publisher.reset(); // viewers have taken the last of it, or had time to
    if (!arguments.trace.empty()) {
        if (!collector->isDescribed())
            throw sim::Error("--trace: no process has attached, so there is nothing to write to " + arguments.trace);
        sim::saveTrace(makeTrace(history), arguments.trace);
    }
    if (arguments.json) {
        std::cout << nlohmann::json{{"world_size", counts.worldSize},
                                    {"status", runStatusName(history.state.status)},
                                    {"message", how},
                                    {"steps", history.steps.size()},
                                    {"spans_recorded", history.state.spansRecorded},
                                    {"spans_dropped", history.state.spansDropped},
                                    {"messages", counts.messages},
                                    {"messages_ignored", counts.ignored},
                                    {"keys_refused", counts.refusedKeys},
                                    {"connections_cut", counts.cutConnections}}
                         .dump(2)
                  << "\n";
    } else {
        sayLine(std::to_string(history.state.spansRecorded) + " spans of " + std::to_string(history.steps.size()) + " steps, " +
                std::to_string(history.state.spansDropped) + " dropped");
    }
    if (failed)
        throw sim::Error("the job has failed: " + how);
}

} // namespace

void addCollect(CLI::App& app)
{
    auto arguments = std::make_shared<CollectArguments>();
    CLI::App* command = app.add_subcommand("collect", "Take spans of a job that something else started, and show them as a run");
    arguments->scenario.addTo(*command, false);
    command->add_option("--listen", arguments->listen, "For viewers: tcp://127.0.0.1:PORT (0: a free one), ipc://PATH")
        ->type_name("ENDPOINT")
        ->check(sim::cli::notEmpty())
        ->check(anEndpoint())
        ->capture_default_str();
    command->add_option("--ingest", arguments->ingest, "For the job's processes (default: the port after --listen's)")
        ->type_name("ENDPOINT")
        ->check(sim::cli::notEmpty())
        ->check(anEndpoint());
    CLI::Option* key = command->add_option("--key", arguments->key, "The run's key file, to listen beyond this machine")
                           ->check(sim::cli::notEmpty());
    CLI::Option* allowed =
        command->add_option("--allow", arguments->allowed, "File of the public keys of viewers and processes, one a line")
            ->check(sim::cli::notEmpty());
    key->needs(allowed);
    allowed->needs(key);
    command->add_option("--name", arguments->name, "What the run is called")->check(sim::cli::notEmpty());
    command->add_option("--profile", arguments->profile, "Steps that each rank records with torch.profiler too, into its folder")
        ->type_name("FIRST-LAST")
        ->check(sim::cli::notEmpty());
    command->add_option("--trace", arguments->trace, "At the end write the last steps' timeline (.pftrace, .json)")
        ->type_name("OUT")
        ->check(sim::cli::notEmpty())
        ->check(sim::traceNameProblem);
    command->add_flag("--json", arguments->json, "At the end print what came as JSON and nothing else");
    command->callback([arguments] { collect(*arguments); });
}

} // namespace live::cli
