#include "sim/frameworks/read/shell_started.h"

#include "sim/text/characters.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace sim::frameworks {
namespace {

/// A program that starts another one.
struct Starter {
    std::string_view name;
    std::string_view switches{}; ///< options without a value, each between blanks
    std::string_view pairs{};    ///< options with two
    int operands = 0;            ///< words of its own in front of what it starts
    bool isAttached = true;      ///< whether the value of an option of one letter may stand at once behind it: "-N1"
};
constexpr std::string_view kSwitchesOfSrun =
    " -E -K -O -Q -X -k -l -s -u -v --exclusive --label --no-kill --overcommit --overlap --oversubscribe --preserve-env --pty "
    "--quiet --unbuffered --verbose --container-mount-home --no-container-mount-home --container-writable "
    "--container-remap-root --no-container-remap-root ";
constexpr std::string_view kSwitchesOfSbatch =
    " -H -O -Q -W -h -k -s -v --contiguous --exclusive --hold --no-kill --no-requeue --overcommit --oversubscribe --parsable "
    "--quiet --requeue --spread-job --test-only --use-min-nodes --verbose --wait ";
constexpr std::string_view kSwitchesOfMpi =
    " -q -v -l -allow-run-as-root --allow-run-as-root -oversubscribe --oversubscribe --nooversubscribe -tag-output --tag-output "
    "-report-bindings --report-bindings -display-map --display-map ";
constexpr std::string_view kPairsOfMpi = " -mca --mca -gmca --gmca -env -genv ";
constexpr std::array kStarters = {Starter{"env", " - -0 -i -v --ignore-environment --debug "},
                                  Starter{"exec", " -c -l "},
                                  Starter{"ionice", " -t "},
                                  Starter{"mpiexec", kSwitchesOfMpi, kPairsOfMpi, 0, false},
                                  Starter{"mpirun", kSwitchesOfMpi, kPairsOfMpi, 0, false},
                                  Starter{"nice"},
                                  Starter{"nohup"},
                                  Starter{"numactl", " -l --localalloc "},
                                  Starter{"sbatch", kSwitchesOfSbatch},
                                  Starter{"setsid", " -c -f -w --ctty --fork --wait "},
                                  Starter{"srun", kSwitchesOfSrun},
                                  Starter{"stdbuf"},
                                  Starter{"sudo", " -E -H -i -n --preserve-env "},
                                  Starter{"taskset", " -a "},
                                  Starter{"time", " -p -v -a "},
                                  Starter{"timeout", " -v --foreground --preserve-status --verbose ", "", 1}};
constexpr std::array<std::string_view, 5> kShells = {"bash", "dash", "ksh", "sh", "zsh"};

std::string_view programOfWord(std::string_view word)
{
    return word.substr(word.rfind('/') + 1);
}

bool isShell(std::string_view word)
{
    return std::find(kShells.begin(), kShells.end(), programOfWord(word)) != kShells.end();
}

const Starter* starterOf(std::string_view word)
{
    const auto found =
        std::find_if(kStarters.begin(), kStarters.end(), [&](const Starter& one) { return one.name == programOfWord(word); });
    return found == kStarters.end() ? nullptr : &*found;
}

bool isOptionOf(std::string_view list, std::string_view option)
{
    return list.find(" " + std::string(option) + " ") != std::string_view::npos;
}

/// How many words behind an option are its values.
std::size_t valuesOf(const Starter& starter, std::string_view option)
{
    if (isOptionOf(starter.pairs, option))
        return 2;
    const bool isLong = option.starts_with("--");
    const bool hasOwn = option.find('=') != std::string_view::npos || (!isLong && option.size() > 1 && isDigit(option[1])) ||
                        (!isLong && starter.isAttached && option.size() > 2);
    return hasOwn || isOptionOf(starter.switches, option) ? 0 : 1;
}

/// What the shell at a place is given: behind "-c", "-lc" the text that it runs, else a file.
ShellStart ofShell(std::span<const ShellText> words, std::size_t shell)
{
    for (std::size_t at = shell + 1; at < words.size(); ++at) {
        const std::string& text = words[at].text;
        const bool isOption = text.size() > 1 && (text[0] == '-' || text[0] == '+');
        if (!isOption)
            return {.at = at, .program = shell};
        const bool isLong = text.starts_with("--");
        if (!isLong && text[0] == '-' && text.find('c') != std::string::npos) {
            while (at + 1 < words.size() && words[at + 1].text.starts_with('-') && words[at + 1].text != "--") // bash -c -e TEXT
                ++at;
            return at + 1 < words.size() ? ShellStart{.at = at + 1, .program = shell, .isText = true} : ShellStart{};
        }
        at += text == "--rcfile" || text == "--init-file" || (!isLong && (text.back() == 'o' || text.back() == 'O')) ? 1 : 0;
    }
    return {};
}

} // namespace

bool startsOthers(std::string_view word)
{
    return isShell(word) || starterOf(word) != nullptr;
}

bool runsItsInput(std::span<const ShellText> words)
{
    constexpr std::array<std::string_view, 5> kSubmitters = {"bsub", "msub", "qsub", "sbatch", "ssh"};
    return !words.empty() &&
           (isShell(words.back().text) ||
            (words.size() > 1 && words.back().text == "-s" && isShell(words[words.size() - 2].text)) ||
            std::find(kSubmitters.begin(), kSubmitters.end(), programOfWord(words.front().text)) != kSubmitters.end());
}

ShellStart startedBy(std::span<const ShellText> words)
{
    if (words.empty())
        return {};
    std::size_t program = 0;
    const Starter* starter = starterOf(words.front().text);
    int operands = starter == nullptr ? 0 : starter->operands;
    for (std::size_t at = starter == nullptr ? 0 : 1; at < words.size(); ++at) {
        const std::string& text = words[at].text;
        if (isShell(text))
            return ofShell(words, at);
        if (starter == nullptr)
            break;
        if (text.starts_with('-')) {
            at += valuesOf(*starter, text);
        } else if (const Starter* const inner = starterOf(text)) {
            starter = inner;
            operands = inner->operands;
            program = at;
        } else if (operands > 0) {
            --operands;
        } else if (!text.empty() && !isDigit(text[0]) &&
                   assignedAt(text) == 0) { // of what it is not known how many operands it has
            return {.at = at, .program = program};
        }
    }
    // "singularity exec IMAGE bash -c TEXT", "ssh HOST bash -c TEXT": whatever it is that starts a shell
    for (std::size_t at = 1; at < words.size() && !words[at].text.ends_with(".py"); ++at)
        if (isShell(words[at].text))
            if (const ShellStart start = ofShell(words, at); start.isText)
                return start;
    return {};
}

} // namespace sim::frameworks
