#include "sim/frameworks/read/shell_batch.h"

#include "sim/text/characters.h"

#include <algorithm>
#include <string_view>

namespace sim::frameworks {
namespace {

struct Option {
    std::string name{}, value{};
};

/// The option that begins at `at`, with what stands behind it up to the next blank.
Option optionAt(const std::string& text, std::size_t at)
{
    const std::size_t start = text.find_first_not_of(" \t", at);
    if (start == std::string::npos)
        return {};
    const std::size_t end = text.find_first_of("= \t", start);
    Option option{.name = text.substr(start, end == std::string::npos ? end : end - start)};
    if (end != std::string::npos) {
        const std::size_t from = text.find_first_not_of("= \t", end);
        option.value = from == std::string::npos ? "" : text.substr(from, text.find_first_of(" \t#", from) - from);
    }
    return option;
}

/// How many GPUs "gpu:v100:4", "nvme:100,gpu:4(S:0-1)" or a plain "4" are: one where no number is given.
std::string gpusOf(const std::string& resources)
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
    BatchReader(int line, std::string file) : m_line(line), m_file(std::move(file)) {}

    void slurm(const Option& option)
    {
        const std::string count = gpusOf(option.value);
        const std::string spelled = "#SBATCH " + option.name;
        if (option.name == "--nodes" || option.name == "-N") {
            add("@nodes", option.value, spelled);
            set({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, option.value);
        } else if ((option.name == "--gres" &&
                    (option.value.starts_with("gpu") || option.value.find(",gpu") != std::string::npos)) ||
                   option.name == "--gpus-per-node") {
            add("@gpus_per_node", count, spelled);
            set({"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}, count);
        } else if (option.name == "--ntasks-per-node") {
            set({"SLURM_NTASKS_PER_NODE"}, option.value);
        } else if (option.name == "--gpus" || option.name == "-G") {
            add("@gpus", count, spelled);
        }
    }
    /// Resources of PBS and of Fujitsu's PJM: nodes in chunks, and what each has.
    void resources(const std::string& text, const std::string& spelled)
    {
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
    }
    void add(const char* name, const std::string& value, const std::string& spelled)
    {
        out.settings.push_back({name, valueOf(value), m_line, spelled, m_file});
    }

    BatchLine out;

private:
    void set(std::initializer_list<const char*> variables, const std::string& value)
    {
        for (const char* const variable : variables)
            out.variables.emplace_back(variable, shownValue(valueOf(value)));
    }

    int m_line;
    std::string m_file;
};

} // namespace

BatchLine batchLineOf(const std::string& comment, int line, const std::string& file)
{
    BatchReader reader(line, file);
    const std::size_t end = std::min(comment.find_first_of(" \t"), comment.size());
    const std::string system = comment.substr(0, end);
    const Option option = optionAt(comment, end);
    if (system == "#SBATCH")
        reader.slurm(option);
    else if ((system == "#PBS" && option.name == "-l") || (system == "#PJM" && option.name == "-L"))
        reader.resources(comment.substr(comment.find(option.name, end) + 2), system + " " + option.name);
    else if ((system == "#BSUB" && option.name == "-nnodes") || (system == "#COBALT" && (option.name == "-n")))
        reader.add("@nodes", option.value, system + " " + option.name);
    return std::move(reader.out);
}

} // namespace sim::frameworks
