// rankscope-figure: a picture of a step as SVG, without Qt and without a display. What the Python package shows in notebooks.
#include "app/canvas/svg_canvas.h"
#include "app/canvas/tabled_type.h"
#include "app/step/selection.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/pictures.h"

#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "sim/text/quoted.h"

#include <charconv>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr const char* kUsage =
    "usage: rankscope-figure FILE VIEW [--width N] [--height N] [--theme light|dark] [--beside FOLDER]\n"
    "Draws a view of the scenario's step as SVG on standard output. FILE may be /dev/stdin. VIEW: ";
constexpr int kLeastPixels = 200, kMostPixels = 8000;

class UsageError : public sim::Error {
public:
    using sim::Error::Error;
};

struct Arguments {
    std::string file, view, beside, theme = "light";
    std::optional<int> width, height;
};

std::string viewNames()
{
    std::string names;
    for (const app::PictureInfo& picture : app::pictures())
        names += (names.empty() ? "" : ", ") + std::string(picture.name);
    return names;
}

int pixels(const std::string& option, const std::string& text)
{
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < kLeastPixels || number > kMostPixels)
        throw UsageError(option + ": " + sim::quotedText(text) + " is not a whole number of pixels from " +
                         std::to_string(kLeastPixels) + " to " + std::to_string(kMostPixels));
    return number;
}

Arguments argumentsOf(const std::vector<std::string>& given)
{
    Arguments arguments;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& word = given[i];
        if (!word.starts_with("--")) {
            if (!arguments.view.empty())
                throw UsageError(sim::quotedText(word) + " is one name too many");
            (arguments.file.empty() ? arguments.file : arguments.view) = word;
            continue;
        }
        if (i + 1 == given.size())
            throw UsageError(word + " needs a value");
        const std::string& value = given[++i];
        if (word == "--width")
            arguments.width = pixels(word, value);
        else if (word == "--height")
            arguments.height = pixels(word, value);
        else if (word == "--theme" && (value == "light" || value == "dark"))
            arguments.theme = value;
        else if (word == "--theme")
            throw UsageError("--theme: " + sim::quotedText(value) + " is neither light nor dark");
        else if (word == "--beside")
            arguments.beside = value;
        else
            throw UsageError("there is no option " + sim::quotedText(word));
    }
    if (arguments.view.empty())
        throw UsageError("a FILE and a VIEW are needed");
    if (app::findPicture(arguments.view) == nullptr)
        throw UsageError("there is no view " + sim::quotedText(arguments.view) + "; there are " + viewNames());
    return arguments;
}

std::string drawn(const Arguments& arguments)
{
    const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    sim::ScenarioDocument document = sim::readDocument(arguments.file, catalogue, {});
    if (!arguments.beside.empty())
        document.setFileName((std::filesystem::path(arguments.beside) / "scenario.json").string());
    const app::SimulationPtr simulation = sim::simulate(sim::resolvedScenario(document, catalogue));
    const auto trace = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions));
    const app::PictureInfo& picture = *app::findPicture(arguments.view);
    app::Selection selection;
    const auto view = picture.make(selection, arguments.theme == "dark" ? app::darkTheme() : app::lightTheme(), nullptr);
    view->setStep({simulation, trace});
    constexpr int kWidth = 960, kHeight = 540;
    int height = arguments.height.value_or(kHeight);
    if (!arguments.height && picture.picture == app::Picture::timeline)
        height = std::min(height, static_cast<int>(app::suitableTimelineHeight(trace->processes.size())));
    if (const auto all = view->contentHeight(static_cast<float>(arguments.width.value_or(kWidth))); !arguments.height && all)
        height = static_cast<int>(*all);
    app::SvgCanvas canvas({0, 0, static_cast<float>(arguments.width.value_or(kWidth)), static_cast<float>(height)},
                          app::tabledType());
    drawOnPaper(*view, canvas);
    return canvas.document(view->title());
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<std::string> given(argv + 1, argv + argc);
    if (given.size() == 1 && (given[0] == "--help" || given[0] == "--version")) {
        std::cout << (given[0] == "--help" ? kUsage + viewNames() : "rankscope-figure " RANKSCOPE_VERSION) << "\n";
        return 0;
    }
    try {
        std::cout << drawn(argumentsOf(given)) << std::flush;
        if (!std::cout)
            throw sim::Error("standard output took only a part of the picture");
        return 0;
    } catch (const UsageError& error) {
        std::cerr << error.what() << "\n" << kUsage << viewNames() << "\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
