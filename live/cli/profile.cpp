#include "live/cli/command.h"
#include "live/cli/writable.h"
#include "live/kernels/modules.h"
#include "live/profile/measure.h"
#include "sim/cli/options.h"
#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/scenario/hardware_profile.h"

#include <filesystem>
#include <iostream>
#include <memory>

namespace live::cli {
namespace {

struct ProfileArguments {
    std::string device = "auto", out, dtype = "fp32";
    double seconds = MeasureOptions().budgetSeconds;
    bool quick = false;
};

void profile(const ProfileArguments& arguments)
{
    checkWritable(arguments.out, "--out");
    // Ranks share the cores, so the profile is of one core: kernels spread over no workers.
    WorkerPool pool(1);
    const DeviceChoice choice = chooseDevice(arguments.device, arguments.dtype == "bf16" ? DType::bf16 : DType::f32, nullptr);
    const std::string& name = choice.device->info().name;
    std::cerr << name << (choice.why.empty() ? "" : ": " + choice.why) << "\n";
    const MeasureOptions options{.budgetSeconds = arguments.quick ? MeasureOptions::kQuickSeconds : arguments.seconds};
    CommunicatorFactory factory;
    if (choice.device->info().kind == "cpu") // else tensors are where this process cannot add them
        factory = makeLocalCommunicator;
    const sim::HardwareProfile measured = measureProfile(*choice.device, pool, factory, options);
    const std::string id = std::filesystem::path(arguments.out).stem().string();
    const std::string text = sim::hardwareProfileText(id, measured);
    if (arguments.out.empty()) {
        std::cout << text;
        return;
    }
    sim::replaceFile(arguments.out, text);
    std::size_t points = 0;
    for (const auto* curves : {&measured.kernels, &measured.transfers})
        for (const sim::MeasuredCurve& curve : *curves)
            points += curve.points.size();
    std::cout << arguments.out << ": " << measured.kernels.size() << " kernels and " << measured.transfers.size()
              << " kinds of transfer at " << points << " shapes; name it in a scenario's cluster.efficiency\n";
}

} // namespace

void addProfile(CLI::App& app)
{
    auto arguments = std::make_shared<ProfileArguments>();
    CLI::App* command = app.add_subcommand("profile", "Measure this machine into a hardware profile for the simulator");
    command->add_option("--device", arguments->device, "What to measure")
        ->check(sim::cli::oneOf({"auto", "cpu", "cuda"}, sim::cli::Words::listed))
        ->capture_default_str();
    command->add_option("--dtype", arguments->dtype, "Type of activations")
        ->check(sim::cli::oneOf({"fp32", "bf16"}, sim::cli::Words::listed))
        ->capture_default_str();
    command->add_option("--out", arguments->out, "File to write; standard output otherwise")
        ->type_name("PROFILE.json")
        ->check(sim::cli::notEmpty());
    command->add_option("--seconds", arguments->seconds, "About so long")
        ->check(sim::cli::number(1, 3600))
        ->capture_default_str();
    command->add_flag("--quick", arguments->quick, "About five seconds: fewer shapes");
    command->callback([arguments] { profile(*arguments); });
}

} // namespace live::cli
