#include "sim/frameworks/read/shell_batch.h"

#include "sim/text/characters.h"

#include <algorithm>
#include <string_view>

namespace sim::frameworks {
namespace {

struct Option {
    std::string name{}, value{};
};

/// Words at blanks, without the quotes around parts of them; a comment ends them.
std::vector<std::string> batchWords(const std::string& text, std::size_t at)
{
    std::vector<std::string> words;
    bool isOpen = false;
    char quote = '\0';
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quote == '\0' && (c == ' ' || c == '\t')) {
            isOpen = false;
            continue;
        }
        if (quote == '\0' && c == '#' && !isOpen)
            break;
        if (!isOpen)
            words.emplace_back();
        isOpen = true;
        if (quote == '\0' ? c == '"' || c == '\'' : c == quote)
            quote = quote == '\0' ? c : '\0';
        else
            words.back() += c;
    }
    return words;
}

/// All options of a line, each with what stands behind it: "--nodes=4", "--nodes 4", "-N 4", and where values may stand at once
/// behind a letter "-N4".
std::vector<Option> batchOptions(const std::string& text, std::size_t at, bool isAttached)
{
    std::vector<Option> options;
    for (const std::string& word : batchWords(text, at)) {
        if (word.size() > 1 && word[0] == '-' && !isDigit(word[1])) {
            const std::size_t equals = word.find('=');
            Option option{.name = word.substr(0, equals)};
            if (isAttached && word[1] != '-' && word.size() > 2)
                option = {.name = word.substr(0, 2), .value = word.substr(word[2] == '=' ? 3 : 2)};
            else if (equals != std::string::npos)
                option.value = word.substr(equals + 1);
            options.push_back(std::move(option));
        } else if (!options.empty()) {
            std::string& value = options.back().value;
            value += (value.empty() ? "" : " ") + word;
        }
    }
    return options;
}

/// The number behind "KEY=" in "select=24:ncpus=8:ngpus=8"; empty where there is none.
std::string numberBehind(const std::string& text, std::string_view key)
{
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        const bool isWord = at == 0 || (!isLetter(text[at - 1]) && text[at - 1] != '_');
        std::size_t end = at + key.size();
        if (!isWord || end >= text.size() || text[end] != '=')
            continue;
        const std::size_t start = ++end;
        while (end < text.size() && isDigit(text[end]))
            ++end;
        return text.substr(start, end - start);
    }
    return "";
}

class BatchReader {
public:
    explicit BatchReader(int line) : m_line(line) {}

    void slurm(const Option& option)
    {
        const std::string count = gpusOfResources(option.value);
        const std::string spelled = "#SBATCH " + option.name;
        if (option.name == "--nodes" || option.name == "-N") {
            add("@nodes", option.value, spelled);
            set({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, option.value);
        } else if ((option.name == "--gres" &&
                    (option.value.starts_with("gpu") || option.value.find(",gpu") != std::string::npos)) ||
                   option.name == "--gpus-per-node") {
            add("@gpus_per_node", count, spelled);
            set({"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}, count);
        } else if (option.name == "--ntasks-per-node" || option.name == "--gpus-per-task") {
            add(option.name == "--gpus-per-task" ? "@launcher.gpus_per_task" : "@launcher.ntasks_per_node", count, spelled);
            set({option.name == "--gpus-per-task" ? "SLURM_GPUS_PER_TASK" : "SLURM_NTASKS_PER_NODE"}, count);
        } else if (option.name == "--gpus" || option.name == "-G") {
            add("@gpus", count, spelled);
        } else {
            addOther(option, spelled);
        }
    }
    /// Resources of PBS and of Fujitsu's PJM: nodes in chunks, and what each has.
    void resources(const Option& option, const std::string& spelled)
    {
        const std::string& text = option.value;
        const std::size_t before = out.settings.size();
        for (const char* const key : {"select", "nodes", "node"})
            if (const std::string count = numberBehind(text, key); !count.empty()) {
                add("@nodes", count, spelled + " " + key);
                break;
            }
        for (const char* const key : {"ngpus", "gpus"})
            if (const std::string count = numberBehind(text, key); !count.empty()) {
                add("@gpus_per_node", count, spelled + " " + key);
                break;
            }
        if (out.settings.size() == before)
            addOther(option, spelled);
    }
    /// What says nothing of GPUs: a queue, a time, a file for what is printed.
    void addOther(const Option& option, const std::string& spelled)
    {
        std::string name = option.name;
        name.erase(0, name.find_first_not_of('-'));
        std::replace(name.begin(), name.end(), '-', '_');
        if (option.value.empty())
            out.settings.push_back({"@launcher." + name, true, m_line, spelled});
        else
            add(("@launcher." + name).c_str(), option.value, spelled);
    }
    void add(const char* name, const std::string& value, const std::string& spelled)
    {
        out.settings.push_back({name, valueOf(value), m_line, spelled});
    }

    BatchLine out;

private:
    void set(std::initializer_list<const char*> variables, const std::string& value)
    {
        for (const char* const variable : variables)
            out.variables.emplace_back(variable, shownValue(valueOf(value)));
    }

    int m_line;
};

} // namespace

std::string gpusOfResources(const std::string& resources)
{
    for (std::size_t at = 0; at <= resources.size();) {
        const std::size_t end = std::min(resources.find(',', at), resources.size());
        const std::string one = resources.substr(at, std::min(end, resources.find('(', at)) - at);
        const std::string count = one.substr(one.rfind(':') + 1);
        const bool isNumber = !count.empty() && (isDigit(count[0]) || count[0] == '$');
        if (one.starts_with("gpu") || (isNumber && end == resources.size()))
            return isNumber ? count : "1";
        at = end + 1;
    }
    return resources;
}

BatchLine batchLineOf(const std::string& comment, int line)
{
    BatchReader reader(line);
    const std::size_t end = std::min(comment.find_first_of(" \t"), comment.size());
    const std::string system = comment.substr(0, end);
    if (system != "#SBATCH" && system != "#PBS" && system != "#PJM" && system != "#BSUB" && system != "#COBALT")
        return std::move(reader.out);
    for (const Option& option : batchOptions(comment, end, system == "#SBATCH")) {
        const std::string spelled = system + " " + option.name;
        if (system == "#SBATCH")
            reader.slurm(option);
        else if ((system == "#PBS" && option.name == "-l") || (system == "#PJM" && option.name == "-L"))
            reader.resources(option, spelled);
        else if ((system == "#BSUB" && option.name == "-nnodes") || (system == "#COBALT" && option.name == "-n"))
            reader.add("@nodes", option.value, spelled);
        else
            reader.addOther(option, spelled);
    }
    return std::move(reader.out);
}

} // namespace sim::frameworks
