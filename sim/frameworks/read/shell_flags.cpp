#include "sim/frameworks/read/shell_flags.h"

#include "sim/frameworks/read/shell_batch.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace sim::frameworks {
namespace {

/// At blanks; what stands in several pieces without one is one word.
std::vector<ShellText> wordsOf(const std::vector<ShellText>& pieces)
{
    std::vector<ShellText> out;
    ShellText current;
    for (const ShellText& piece : pieces) {
        int line = piece.line;
        for (const char c : piece.text) {
            if (c == '\n' || c == kContinuation)
                ++line;
            if (c == '\n' || isShellBlank(c)) {
                if (!current.text.empty())
                    out.push_back(std::exchange(current, {}));
                continue;
            }
            if (current.text.empty())
                current.line = line;
            current.branch = std::max(current.branch, piece.branch);
            current.text += c;
        }
    }
    if (!current.text.empty())
        out.push_back(std::move(current));
    return out;
}

bool isFlagWord(const std::string& text)
{
    return text.size() > 2 && text.starts_with("--") && (isLetter(text[2]) || text[2] == '_');
}

/// "--tensor-model-parallel-size" of what begins with a dash that a word processor made of "--"; else empty.
std::string flagWithLongDash(const std::string& text)
{
    std::size_t at = 0;
    bool isLong = false;
    while (at < text.size()) {
        // U+2010 to U+2015, hyphens and dashes, and U+2212, the minus sign
        const bool isDash = text.compare(at, 2, "\xE2\x80") == 0 && at + 2 < text.size() &&
                            static_cast<unsigned char>(text[at + 2]) >= 0x90 && static_cast<unsigned char>(text[at + 2]) <= 0x95;
        if (isDash || text.compare(at, 3, "\xE2\x88\x92") == 0) {
            isLong = true;
            at += 3;
        } else if (text[at] == '-') {
            ++at;
        } else {
            break;
        }
    }
    return isLong && at < text.size() && isLetter(text[at]) ? "--" + text.substr(at) : std::string();
}

constexpr std::array kLaunchers = {"nodes",           "nnodes",   "nproc_per_node", "gpus_per_node", "num_nodes",
                                   "ntasks_per_node", "num_gpus", "gres",           "npernode"};

bool isOfLauncher(const Setting& setting)
{
    return setting.name.starts_with('@') || std::find(kLaunchers.begin(), kLaunchers.end(), setting.name) != kLaunchers.end();
}

/// "python3", "/usr/bin/python": what stands in front of it starts it, and is no setting of the program.
bool isInterpreter(const std::string& text)
{
    const std::string name = text.substr(text.rfind('/') + 1);
    return name == "python" || (name.starts_with("python3") && name.find_first_not_of("0123456789.", 6) == std::string::npos);
}

bool isPerNodeOption(const std::string& option)
{
    return option == "-ppn" || option == "-npernode" || option == "-N";
}

/// A program that starts one process a GPU by itself: mpirun then starts one of it a node.
bool isLauncher(const ShellText& word)
{
    const std::string name = word.text.substr(word.text.rfind('/') + 1);
    return name == "torchrun" || name == "accelerate" || name == "deepspeed" || name.starts_with("torch.distributed");
}

std::string programIn(const ShellText& word)
{
    return word.text.substr(word.text.rfind('/') + 1);
}

bool isSlurm(const std::string& program)
{
    return program == "srun" || program == "sbatch" || program == "salloc";
}

/// What -N of Slurm's commands counts: "-N 4", "-N4"; empty where it is none.
std::string nodesOfSlurm(const std::vector<ShellText>& words, std::size_t at)
{
    const std::string& option = words[at].text;
    if (!option.starts_with("-N") || !isSlurm(programIn(words.front())) || (option.size() == 2 && at + 1 >= words.size()))
        return {};
    const std::string count = option.size() > 2 ? option.substr(2) : words[at + 1].text;
    const bool isNumber = count.find_first_not_of("0123456789") == std::string::npos;
    return isNumber || count.starts_with('$') ? count : std::string();
}

/// GPUs that a node has: "--gres=gpu:8".
void countResources(Setting& setting)
{
    const Json& given = setting.value.is_array() && !setting.value.empty() ? setting.value.front() : setting.value;
    if (setting.name != "gres" || !given.is_string() || given.get<std::string>().find("gpu") == std::string::npos)
        return;
    const std::string resources = given.get<std::string>();
    setting.shown = resources;
    setting.name = "@gpus_per_node";
    setting.value = valueOf(gpusOfResources(resources));
}

/// Whether what a command counts is of the one that trains: where it started that one, or submits a file.
bool mayStart(const ShellScript& script, const ShellCommand& made, const ShellCommand& chosen)
{
    const bool isBefore = &chosen < &made && &chosen - script.commands.data() >= static_cast<std::ptrdiff_t>(made.startsFrom);
    return isBefore ||
           (isSlurm(programIn(made.words.front())) && std::any_of(made.words.begin(), made.words.end(), [](const ShellText& one) {
                return one.text.ends_with(".sh") || one.text.ends_with(".sbatch") || one.text.ends_with(".slurm");
            }));
}

struct CountOfMpi {
    std::string name; ///< empty: it counts nothing
    Json value;
};

/// What mpirun's short options count: "-np 64", "-ppn 8".
std::optional<CountOfMpi> countOfMpi(const std::vector<ShellText>& words, std::size_t at)
{
    const std::string& first = words.front().text;
    const std::string program = first.substr(first.rfind('/') + 1), &option = words[at].text;
    const bool isTotal = option == "-np" || option == "-n", isPerNode = isPerNodeOption(option);
    if ((program != "mpirun" && program != "mpiexec") || at + 1 >= words.size() || (!isTotal && !isPerNode))
        return std::nullopt;
    const Json count = valueOf(words[at + 1].text);
    if (std::none_of(words.begin(), words.end(), isLauncher))
        return CountOfMpi{isTotal ? "@gpus" : "@gpus_per_node", count};
    if (isPerNode)
        return CountOfMpi{.name = {}, .value = {}};
    std::int64_t perNode = 1;
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (isPerNodeOption(words[i].text))
            if (const Json each = valueOf(words[i + 1].text); each.is_number_integer())
                perNode = std::max<std::int64_t>(1, each.get<std::int64_t>());
    return CountOfMpi{"nnodes",
                      count.is_number_integer() ? Json(std::max<std::int64_t>(1, count.get<std::int64_t>() / perNode)) : count};
}

/// Behind -m: what starts processes, and is no trainer itself.
bool startsProcesses(const std::string& module)
{
    return module.starts_with("torch.distributed") || module.starts_with("accelerate.") || module.starts_with("deepspeed.");
}

/// What the command trains with: its first module or file of Python that is no launcher, else a program that takes a word for
/// what it does.
std::string trainerIn(const std::vector<ShellText>& words)
{
    constexpr std::array<std::string_view, 2> kOfTwoWords = {"trl", "swift"};
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string& text = words[at].text;
        const bool isModule = at > 0 && (words[at - 1].text == "-m" || words[at - 1].text == "--module");
        if (isModule && !startsProcesses(text))
            return text;
        if (text.ends_with(".py"))
            return programIn(words[at]);
        if (at + 1 < words.size() && !words[at + 1].text.starts_with('-') &&
            std::find(kOfTwoWords.begin(), kOfTwoWords.end(), programIn(words[at])) != kOfTwoWords.end())
            return programIn(words[at]) + " " + words[at + 1].text;
    }
    return {};
}

/// Behind `swift sft`: a file that the program reads its settings from (ms-swift, swift/utils, parse_args).
bool isSettingsFile(const std::vector<ShellText>& words, std::size_t at)
{
    const std::string& text = words[at].text;
    if (!text.ends_with(".yaml") && !text.ends_with(".yml") && !text.ends_with(".json"))
        return false;
    return (at >= 2 && programIn(words[at - 2]) == "swift") ||
           (at >= 1 && words[at - 1].text.find("swift/cli/") != std::string::npos);
}

/// What a command says: its flags, and a file of settings.
std::size_t saidIn(const ShellCommand& command)
{
    std::size_t said = static_cast<std::size_t>(command.flags);
    for (std::size_t at = 0; at < command.words.size(); ++at)
        said += isSettingsFile(command.words, at) ? 1 : 0;
    return said;
}

void addFlags(const ShellScript& script, Sheet& sheet, const FailAtLine& fail, const std::vector<ShellText>& words,
              bool onlyLaunchers = false)
{
    const std::size_t before = sheet.settings.size();
    Setting* current = nullptr;
    bool hasValue = false, isProgram = false; // behind the script that is started, where every word is its own
    const auto tell = [&](const ShellText& one, const std::string& why) {
        if (!onlyLaunchers && sheet.undecided.size() < kMostSettings)
            sheet.undecided.push_back({one.text, std::string(), one.line, one.text, {}, why});
    };
    for (std::size_t at = 0; at < words.size(); ++at) {
        const ShellText& one = words[at];
        const std::string& text = one.text;
        if (!isProgram && isInterpreter(text)) {
            for (std::size_t i = before; i < sheet.settings.size(); ++i)
                if (!isOfLauncher(sheet.settings[i]))
                    sheet.settings[i].name = "@launcher." + sheet.settings[i].name;
            current = nullptr;
            continue;
        }
        if (const std::optional<CountOfMpi> counted = isProgram ? std::nullopt : countOfMpi(words, at)) {
            if (!counted->name.empty())
                sheet.settings.push_back({counted->name, counted->value, one.line, text});
            current = nullptr;
            ++at;
            continue;
        }
        if (const std::string nodes = isProgram ? std::string() : nodesOfSlurm(words, at); !nodes.empty()) {
            sheet.settings.push_back({"@nodes", valueOf(nodes), one.line, text.substr(0, 2)});
            current = nullptr;
            at += text.size() == 2 ? 1 : 0;
            continue;
        }
        if (const std::string meant = flagWithLongDash(text); !meant.empty()) {
            tell(one, "begins with a long dash, which is no flag's: " + meant + " is meant; not read");
            current = nullptr;
            continue;
        }
        const bool isFlag = isFlagWord(text);
        if (isFlag) {
            if (sheet.settings.size() > kMostSettings)
                fail(one.line, "has more than " + std::to_string(kMostSettings) + " settings");
            const std::size_t equals = text.find('=');
            std::string name = text.substr(2, equals == std::string::npos ? equals : equals - 2);
            std::replace(name.begin(), name.end(), '-', '_');
            sheet.settings.push_back({name, true, one.line, text.substr(0, equals)});
            current = &sheet.settings.back();
            current->condition = script.branches.lineOf(one.branch);
            if (equals != std::string::npos)
                current->value = valueOf(text.substr(equals + 1));
            hasValue = equals != std::string::npos;
            continue;
        }
        const bool isShortFlag = text.size() > 1 && text[0] == '-' && isLetter(text[1]);
        const bool isModule = !isProgram && at > 0 && words[at - 1].text == "-m" && !startsProcesses(text);
        if (isShortFlag || isModule || (text.ends_with(".py") && !isProgram) || text == "-m") {
            current = nullptr;
            if (isShortFlag && (isProgram || text.size() > 2) && text != "-m")
                tell(one, text.size() > 2 ? "has one dash: -" + text + " may be meant; not read" : "is not known here: not read");
            isProgram = isProgram || isModule || text.ends_with(".py");
            continue;
        }
        if (current == nullptr) {
            if (isSettingsFile(words, at))
                sheet.settings.push_back({"config", text, one.line, text});
            else if (isProgram)
                tell(one, "belongs to no flag: not read");
            continue;
        }
        if (hasValue && text.starts_with("$")) { // $EXTRA_ARGS at the end of a line is no second value of what stands before it
            tell(one, "is decided outside of the file: not read");
            continue;
        }
        Json value = valueOf(text);
        current->condition = std::max(current->condition, script.branches.lineOf(one.branch));
        if (!hasValue)
            current->value = std::move(value);
        else if (current->value.is_array())
            current->value.push_back(std::move(value));
        else
            current->value = Json::array({current->value, std::move(value)});
        hasValue = true;
    }
    for (std::size_t i = before; i < sheet.settings.size(); ++i)
        countResources(sheet.settings[i]);
    if (onlyLaunchers)
        sheet.settings.erase(std::remove_if(sheet.settings.begin() + static_cast<std::ptrdiff_t>(before), sheet.settings.end(),
                                            [](const Setting& setting) { return !isOfLauncher(setting); }),
                             sheet.settings.end());
}

} // namespace

const ShellCommand* addFlagsOf(const ShellScript& script, Sheet& sheet, const FailAtLine& fail)
{
    ShellCommand loose;
    std::vector<const ShellCommand*> whole;
    for (const ShellCommand& made : script.commands) {
        if (made.words.front().text.starts_with("--")) {
            loose.words.insert(loose.words.end(), made.words.begin(), made.words.end());
            loose.flags += made.flags;
        } else {
            whole.push_back(&made);
        }
    }
    const ShellCommand* chosen = &loose;
    for (const ShellCommand* made : whole)
        if (saidIn(*made) > saidIn(*chosen))
            chosen = made;
    ShellCommand stored;
    if (chosen->flags < 2) { // nothing is started here: the variables hold the flags
        for (const std::string& name : script.order) {
            const auto found = script.variables.find(name);
            if (found == script.variables.end()) // an argument of a function that has ended
                continue;
            const ShellVariable& value = found->second;
            std::vector<ShellText> words;
            if (!value.isArray)
                words = wordsOf(value.pieces);
            for (const ShellText& one : value.elements) {
                if (isFlagWord(one.text) &&
                    one.text.find('=') == std::string::npos) // "--hidden-size 2048", split where it is used
                    for (ShellText& part : wordsOf({one}))
                        words.push_back(std::move(part));
                else
                    words.push_back(one);
            }
            // A variable without flags belongs to no flag of another one.
            const auto first =
                std::find_if(words.begin(), words.end(), [](const ShellText& one) { return isFlagWord(one.text); });
            stored.words.insert(stored.words.end(), first, words.end());
        }
        for (const ShellText& one : stored.words)
            stored.flags += one.text.starts_with("--") ? 1 : 0;
        if (saidIn(stored) > saidIn(*chosen))
            chosen = &stored;
    }
    addFlags(script, sheet, fail, chosen->words);
    sheet.program = trainerIn(chosen->words);
    if (chosen->words.size() > 1 && chosen->words.front().text == "megatron") // ms-swift's, with defaults of its own
        sheet.settings.push_back({"@program", "megatron " + chosen->words[1].text, chosen->words.front().line, "megatron"});
    if (chosen != &loose)
        for (const ShellText& one : loose.words)
            if (isFlagWord(one.text) && sheet.undecided.size() < kMostSettings)
                sheet.undecided.push_back({one.text,
                                           std::string(),
                                           one.line,
                                           one.text,
                                           {},
                                           "begins a command of its own, as the line before does not go on: not read"});
    for (const ShellCommand* made : whole) {
        if (made == chosen)
            continue;
        // A launcher that starts the chosen command in quotes: srun --nodes 4 bash -c "…".
        const bool isOfScript = chosen != &loose && chosen != &stored, starts = isOfScript && mayStart(script, *made, *chosen);
        if (!isOfScript || starts)
            addFlags(script, sheet, fail, made->words, true);
        if (made->flags > 3 && !starts)
            sheet.undecided.push_back({made->words.front().text, "another command; only the one with most settings is read",
                                       made->words.front().line, made->words.front().text});
    }
    const auto own = std::find(whole.begin(), whole.end(), chosen); // not one that was put together here
    return own == whole.end() ? nullptr : *own;
}

} // namespace sim::frameworks
