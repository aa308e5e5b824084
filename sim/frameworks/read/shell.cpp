// A small strict reader of shell: assignments, arrays, expansions, conditions that follow from the script, functions,
// here-documents. It runs nothing: output of commands and variables of the environment stay as they are written, and are asked
// for.
#include "sim/frameworks/read/setting.h"
#include "sim/frameworks/read/shell_batch.h"
#include "sim/frameworks/read/shell_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sim::frameworks {
namespace {

int lineOfVariable(const ShellVariable& variable)
{
    return variable.pieces.empty() ? 0 : variable.pieces.front().line;
}

/// What a command runs: the module behind "-m", a file of Python; else its first word.
const ShellText& programOf(const ShellCommand& command)
{
    for (std::size_t i = 0; i + 1 < command.words.size(); ++i)
        if (command.words[i].text == "-m")
            return command.words[i + 1];
    const auto file = std::find_if(command.words.begin(), command.words.end(),
                                   [](const ShellText& word) { return word.text.ends_with(".py"); });
    return file == command.words.end() ? command.words.front() : *file;
}

/// "maxtext.trainers.pre_train.train", and not "maxtext.inference.decode" or a check of logits in front of it.
bool isTraining(const ShellCommand& command)
{
    return programOf(command).text.find("train") != std::string::npos;
}

/// Variables that the program does not read and its libraries do, but for those that are looked for by their names.
bool isOfLibraries(std::string_view name)
{
    return name.starts_with("NCCL_") || name.starts_with("RCCL_") || name.starts_with("TORCH_NCCL_") ||
           name.starts_with("CUDA_DEVICE_MAX_") || name == "CUDA_LAUNCH_BLOCKING" || name.starts_with("PYTORCH_") ||
           (name.starts_with("NVTE_") && name != "NVTE_FUSED_ATTN" && name != "NVTE_FLASH_ATTN");
}

} // namespace

void ShellReader::readFile(const std::string& name, const std::string& text, int level)
{
    const int before = m_linesOfFiles;
    m_files.push_back({before, name});
    m_linesOfFiles += static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
    script(text, before + 1, level);
    if (level == 0)
        runUncalled();
}

Sheet ShellReader::take()
{
    ShellVariables variables = m_variables;
    variables.insert(m_ended.begin(), m_ended.end());
    const ShellScript all{m_commands, variables, m_order, m_openBranches};
    const ShellCommand* const training = addFlagsOf(all, m_sheet, [this](int line, const std::string& message) {
        m_line = line;
        fail(message);
    });
    for (const ShellCommand& made : all.commands)
        if (training == nullptr || &made == training)
            for (const auto& [name, value] : made.environment)
                variables[name] = value;
    constexpr std::size_t kLongestValue = 200;
    for (const auto& [name, value] : variables)
        if (const std::string text = value.isArray ? std::string() : joined(value);
            !text.empty() && text.size() < kLongestValue && text.find('$') == std::string::npos && value.branch == 0)
            m_sheet.variables.emplace(name, text);
    if (m_unclosed > 0)
        tell("\"", std::string(), m_unclosed, "a quote that begins here is not closed: all behind it is read as its text");
    for (const char* name : {"GPUS_PER_NODE", "NPROC_PER_NODE", "GPN", "NUM_GPUS_PER_NODE", "N_GPUS", "NUM_GPUS", "NNODES",
                             "NUM_NODES", "NODES", "N_NODES", "WORLD_SIZE", "NVTE_FUSED_ATTN", "NVTE_FLASH_ATTN"})
        if (const auto found = variables.find(name); found != variables.end())
            m_sheet.settings.push_back(
                {std::string("@env.") + name, valueOf(joined(found->second)), lineOfVariable(found->second), name});
    for (const auto& [name, value] : variables)
        if (isOfLibraries(name) && !value.isArray)
            m_sheet.settings.push_back({"@env." + name, valueOf(joined(value)), lineOfVariable(value), name});
    return placed();
}

Sheet ShellReader::takeAssignments()
{
    const ShellCommand* most = nullptr;
    const auto rank = [](const ShellCommand& command) { return std::pair(isTraining(command), command.assigned); };
    for (const ShellCommand& made : m_commands)
        if (made.assigned > 0 && (most == nullptr || rank(made) > rank(*most)))
            most = &made;
    for (const ShellCommand& made : m_commands)
        if (const ShellText& program = programOf(made); &made != most && made.assigned > 3)
            tell(program.text, std::string(), program.line,
                 "another command, which is not read: " + std::string(isTraining(*most) ? "of those that train " : "") +
                     "the one with most settings is, that of line " + lineInFile(most->words.front().line));
    for (const ShellText& word : most != nullptr ? std::span<const ShellText>(most->words) : std::span<const ShellText>()) {
        const std::size_t equals = assignedAt(word.text);
        if (const std::string name = word.text.substr(0, equals); equals > 0)
            m_sheet.settings.push_back({name, valueOf(word.text.substr(equals + 1)), word.line, name});
        else if (const std::string file = word.text.substr(word.text.rfind('/') + 1);
                 file.ends_with(".yml") && file != "base.yml") // where it stands the environment may say
            m_sheet.settings.push_back({"@config", file, word.line, file});
    }
    return placed();
}

std::string ShellReader::lineInFile(int line) const
{
    return std::to_string(line - fileOf(line).before);
}

const ShellReader::File& ShellReader::fileOf(int line) const
{
    const auto next = std::partition_point(m_files.begin(), m_files.end(), [&](const File& one) { return one.before < line; });
    return next == m_files.begin() ? *next : *(next - 1);
}

void ShellReader::fail(const std::string& message) const
{
    const File& file = fileOf(m_line);
    failAt(file.name, m_line - file.before, message);
}

void ShellReader::tell(const std::string& spelled, const std::string& value, int line, const std::string& why)
{
    if (m_sheet.undecided.size() < kMostSettings)
        m_sheet.undecided.push_back({.name = spelled, .value = value, .line = line, .spelled = spelled, .text = why});
}

Sheet ShellReader::placed()
{
    for (Settings* const all : {&m_sheet.settings, &m_sheet.undecided})
        for (Setting& one : *all) {
            const File& file = fileOf(one.line);
            if (const File& other = fileOf(one.condition); one.condition > 0) {
                one.condition -= other.before;
                one.conditionFile = &other == &file ? "" : other.name;
            }
            one.line -= file.before;
            one.file = file.name;
        }
    return std::move(m_sheet);
}

void ShellReader::script(const std::string& text, int line, int level)
{
    if (level > kDeepestText)
        return;
    const std::string* const outerText = std::exchange(m_text, &text);
    const std::size_t outerAt = std::exchange(m_at, 0);
    const int outerLine = std::exchange(m_line, line), outerLevel = std::exchange(m_level, level);
    const int outerBranch = std::exchange(m_outerBranch, openBranch());
    const int outerList = std::exchange(m_listBranch, 0);
    std::vector<Branch> outerBranches = std::exchange(m_branches, {});
    auto outerWaiting = std::exchange(m_waiting, {});
    const bool outerInline = std::exchange(m_functionsInline, false), outerMayHaveEnded = std::exchange(m_mayHaveEnded, false);
    std::vector<Assigned> outerOfList = std::exchange(m_ofList, {});
    const std::size_t outerScopes = m_scopes.size();
    const bool outerSkips = std::exchange(m_skipsNext, false), outerBehindPipe = std::exchange(m_behindPipe, false);
    while (!m_hasReturned && !m_hasExited && (!atEnd() || reopenFunction()))
        statement();
    m_skipsNext = outerSkips;
    m_behindPipe = outerBehindPipe;
    closeScopes(outerScopes);
    m_closedFrom.reset();
    if (std::exchange(m_mayHaveEnded, outerMayHaveEnded)) {
        m_lastStatus = std::nullopt;
        m_lastIsOpen = true;
    }
    m_ofList = std::move(outerOfList);
    m_functionsInline = outerInline;
    m_text = outerText;
    m_at = outerAt;
    m_line = outerLine;
    m_level = outerLevel;
    m_outerBranch = outerBranch;
    m_listBranch = outerList;
    m_branches = std::move(outerBranches);
    m_waiting = std::move(outerWaiting);
}

void ShellReader::comment()
{
    const std::size_t end = std::min(m_text->find('\n', m_at), m_text->size());
    const std::string text = m_text->substr(m_at, std::min<std::size_t>(end - m_at, 400));
    m_at = end;
    if (!m_commentLines.insert(m_line).second) // of a function, which is read where it stands and where it is run
        return;
    BatchLine batch = batchLineOf(text, m_line);
    std::move(batch.settings.begin(), batch.settings.end(), std::back_inserter(m_sheet.settings));
    for (const auto& one : batch.variables) {
        m_variables[one.first] = {.pieces = {{one.second, m_line}}};
        m_exported.insert(one.first);
    }
    if (m_sheet.comments.size() < 1000)
        m_sheet.comments.push_back(text.substr(1));
}

Sheet readShell(const std::string& file, const std::string& text, std::span<OtherFile> others)
{
    ShellReader reader(others);
    reader.readFile(file, text, 0);
    return reader.take();
}

Sheet readShellAssignments(const std::string& file, const std::string& text)
{
    ShellReader reader;
    reader.readFile(file, text, 0);
    return reader.takeAssignments();
}

} // namespace sim::frameworks
