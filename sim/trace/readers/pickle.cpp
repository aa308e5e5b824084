#include "sim/trace/readers/pickle.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace sim {
namespace {

using nlohmann::json;

/// A value that others may refer to, also to change it later.
struct PickleNode {
    enum class Kind : std::uint8_t { value, list, dictionary, mark, callable } kind = Kind::value;
    json value;                       ///< of a plain value
    std::vector<std::size_t> members; ///< of a list; of a dictionary keys and values in turn
};

/// Nothing more comes, where something would have to.
class EndsTooEarly : public Error {
public:
    using Error::Error;
};

std::string endsAt(std::string_view bytes)
{
    return "it ends too early, at byte " + std::to_string(bytes.size());
}

class Unpickler {
public:
    Unpickler(std::string_view bytes, std::string_view without) : m_bytes(bytes), m_without(without) {}

    json read()
    {
        CancelPoll poll;
        for (;;) {
            poll();
            const std::size_t at = m_at;
            const auto code = static_cast<unsigned char>(take(1)[0]);
            if (code == '.')
                break;
            if (!execute(code))
                fail("byte " + std::to_string(at) + " holds instruction " + std::to_string(code) +
                     ", which plain data does not need; nothing of it is run");
        }
        if (m_stack.size() != 1)
            fail("its end leaves " + std::to_string(m_stack.size()) + " values instead of one");
        return jsonOf(m_stack.back(), 0);
    }

    /// After EndsTooEarly. Members wait on the stack, behind a mark, until the instruction that puts them in.
    json readStart()
    {
        std::vector<std::size_t> outer = waitingBehind(0), inner = waitingBehind(1);
        if (m_stack.empty() || m_nodes[m_stack.front()].kind == PickleNode::Kind::value)
            return nullptr;
        PickleNode& root = m_nodes[m_stack.front()];
        if (root.kind == PickleNode::Kind::list) {
            addWhole(root, std::move(outer));
        } else if (root.kind == PickleNode::Kind::dictionary) {
            const bool endsInValue = outer.size() % 2 == 0;
            if (!endsInValue)
                outer.pop_back();
            if (endsInValue && !outer.empty() && m_nodes[outer.back()].kind == PickleNode::Kind::list)
                addWhole(m_nodes[outer.back()], std::move(inner));
            else if (endsInValue && !outer.empty() && m_nodes[outer.back()].kind != PickleNode::Kind::value)
                outer.resize(outer.size() - 2);
            append(root, outer);
        }
        return jsonOf(m_stack.front(), 0);
    }

private:
    [[noreturn]] static void fail(const std::string& why) { throw Error("is no pickle of plain data: " + why); }
    [[noreturn]] void failAtEnd() const { throw EndsTooEarly("is no pickle of plain data: " + endsAt(m_bytes)); }

    /// The values between a mark on the stack and the next: what members a list or dictionary under it is to have.
    std::vector<std::size_t> waitingBehind(std::size_t mark) const
    {
        std::vector<std::size_t> values;
        std::size_t marks = 0;
        for (const std::size_t node : m_stack)
            if (m_nodes[node].kind == PickleNode::Kind::mark)
                ++marks;
            else if (marks == mark + 1)
                values.push_back(node);
        return values;
    }
    /// Members that are lists or dictionaries, without the last where it is not filled.
    void addWhole(PickleNode& list, std::vector<std::size_t> members)
    {
        const auto isPlain = [this](std::size_t node) { return m_nodes[node].kind == PickleNode::Kind::value; };
        members.erase(std::find_if(members.begin(), members.end(), isPlain), members.end());
        if (!members.empty() && m_nodes[members.back()].members.empty())
            members.pop_back();
        append(list, members);
    }

    std::string_view take(std::size_t count)
    {
        if (count > m_bytes.size() - m_at)
            failAtEnd();
        const std::string_view taken = m_bytes.substr(m_at, count);
        m_at += count;
        return taken;
    }
    std::uint64_t number(std::size_t bytes)
    {
        std::uint64_t value = 0;
        const std::string_view taken = take(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
        return value;
    }
    std::string_view counted(std::size_t bytesOfLength)
    {
        const std::uint64_t length = number(bytesOfLength);
        if (length > m_bytes.size())
            fail("a text of " + std::to_string(length) + " bytes is longer than the file");
        return take(static_cast<std::size_t>(length));
    }
    std::string_view line()
    {
        const std::size_t end = m_bytes.find('\n', m_at);
        if (end == std::string_view::npos)
            failAtEnd();
        const std::string_view text = m_bytes.substr(m_at, end - m_at);
        m_at = end + 1;
        return text;
    }

    /// Memory that values take, roughly and at most: a byte makes one, and bytes that inflate to as many are few.
    void hold(std::size_t bytes)
    {
        constexpr std::size_t kMost = std::size_t{512} << 20;
        m_held += bytes;
        if (m_held > kMost)
            fail("the values up to byte " + std::to_string(m_at) + " take more than " + std::to_string(kMost >> 20) + " MiB");
    }

    std::size_t make(PickleNode::Kind kind, json value = nullptr)
    {
        hold(sizeof(PickleNode) + sizeof(std::size_t) +
             (value.is_string() ? sizeof(std::string) + value.get_ref<const std::string&>().size() : 0));
        m_nodes.push_back({kind, std::move(value), {}});
        m_stack.push_back(m_nodes.size() - 1);
        return m_stack.back();
    }
    std::size_t pop()
    {
        if (m_stack.empty() || m_nodes[m_stack.back()].kind == PickleNode::Kind::mark)
            fail("byte " + std::to_string(m_at) + " takes a value where there is none");
        const std::size_t node = m_stack.back();
        m_stack.pop_back();
        return node;
    }
    /// What lies above the last mark.
    std::vector<std::size_t> popToMark()
    {
        std::size_t first = m_stack.size();
        while (first > 0 && m_nodes[m_stack[first - 1]].kind != PickleNode::Kind::mark)
            --first;
        if (first == 0)
            fail("byte " + std::to_string(m_at) + " needs a mark that was never set");
        std::vector<std::size_t> values(m_stack.begin() + static_cast<std::ptrdiff_t>(first), m_stack.end());
        m_stack.resize(first - 1);
        return values;
    }
    PickleNode& top(PickleNode::Kind kind)
    {
        if (m_stack.empty() || m_nodes[m_stack.back()].kind != kind)
            fail("byte " + std::to_string(m_at) + " adds to what is no list or dictionary");
        return m_nodes[m_stack.back()];
    }
    void list(std::vector<std::size_t> members) { m_nodes[make(PickleNode::Kind::list)].members = std::move(members); }
    void tuple(std::size_t count)
    {
        std::vector<std::size_t> members(count);
        while (count > 0)
            members[--count] = pop();
        list(std::move(members));
    }
    void append(PickleNode& to, const std::vector<std::size_t>& members)
    {
        hold(sizeof(std::size_t) * members.size());
        to.members.insert(to.members.end(), members.begin(), members.end());
    }
    void remember(std::uint64_t place)
    {
        if (m_stack.empty())
            fail("byte " + std::to_string(m_at) + " remembers a value where there is none");
        constexpr std::size_t kKept = 48; // a node of the table
        hold(kKept);
        m_memo[place] = m_stack.back();
    }
    void recall(std::uint64_t place)
    {
        const auto found = m_memo.find(place);
        if (found == m_memo.end())
            fail("byte " + std::to_string(m_at) + " recalls value " + std::to_string(place) + ", which was never kept");
        hold(sizeof(std::size_t));
        m_stack.push_back(found->second);
    }

    /// torch builds lists of numbers by these; what they are given is what they make.
    void callable(std::string_view module, std::string_view name)
    {
        const bool isKnown = (module == "torch.jit._pickle" && (name == "build_intlist" || name == "build_doublelist" ||
                                                                name == "build_boollist" || name == "restore_type_tag")) ||
                             (module == "collections" && name == "OrderedDict");
        if (!isKnown)
            fail("it asks for " + meantText(module.substr(0, 80)) + "." + meantText(name.substr(0, 80)) + ", which is not run");
        make(PickleNode::Kind::callable);
    }
    void call()
    {
        const std::size_t arguments = pop();
        const std::size_t function = pop();
        if (m_nodes[function].kind != PickleNode::Kind::callable || m_nodes[arguments].kind != PickleNode::Kind::list)
            fail("byte " + std::to_string(m_at) + " calls what is no function");
        if (m_nodes[arguments].members.empty())
            make(PickleNode::Kind::dictionary); // an empty OrderedDict
        else
            m_stack.push_back(m_nodes[arguments].members.front());
    }

    bool execute(unsigned char code)
    {
        using Kind = PickleNode::Kind;
        switch (code) {
        case 0x80:
            take(1);
            return true; // protocol
        case 0x95:
            take(8);
            return true; // frame
        case '(':
            make(Kind::mark);
            return true;
        case '}':
            make(Kind::dictionary);
            return true;
        case ']':
        case ')':
            make(Kind::list);
            return true;
        case 'N':
            make(Kind::value);
            return true;
        case 0x88:
            make(Kind::value, true);
            return true;
        case 0x89:
            make(Kind::value, false);
            return true;
        case 'J':
            make(Kind::value, static_cast<std::int32_t>(number(4)));
            return true;
        case 'K':
            make(Kind::value, number(1));
            return true;
        case 'M':
            make(Kind::value, number(2));
            return true;
        case 0x8a:
            longNumber(counted(1));
            return true;
        case 'G':
            real();
            return true;
        case 'X':
        case 'T':
        case 'B':
            make(Kind::value, meantBytes(counted(4)));
            return true;
        case 0x8c:
        case 'U':
        case 'C':
            make(Kind::value, meantBytes(counted(1)));
            return true;
        case 0x8d:
        case 0x8e:
            make(Kind::value, meantBytes(counted(8)));
            return true;
        case 't':
        case 'l':
            list(popToMark());
            return true;
        case 0x85:
            tuple(1);
            return true;
        case 0x86:
            tuple(2);
            return true;
        case 0x87:
            tuple(3);
            return true;
        case 'd': {
            std::vector<std::size_t> members = popToMark();
            m_nodes[make(Kind::dictionary)].members = std::move(members);
            return true;
        }
        case 'a': {
            const std::size_t value = pop();
            append(top(Kind::list), {value});
            return true;
        }
        case 'e': {
            const auto values = popToMark();
            append(top(Kind::list), values);
            return true;
        }
        case 's': {
            const std::size_t value = pop(), key = pop();
            append(top(Kind::dictionary), {key, value});
            return true;
        }
        case 'u': {
            const auto values = popToMark();
            append(top(Kind::dictionary), values);
            return true;
        }
        case 'q':
            remember(number(1));
            return true;
        case 'r':
            remember(number(4));
            return true;
        case 0x94:
            remember(m_memo.size());
            return true;
        case 'h':
            recall(number(1));
            return true;
        case 'j':
            recall(number(4));
            return true;
        case '0':
            pop();
            return true;
        case 'c': {
            const std::string_view module = line();
            callable(module, line());
            return true;
        }
        case 'R':
            call();
            return true;
        default:
            return false;
        }
    }

    void longNumber(std::string_view bytes)
    {
        if (bytes.size() > 8) {
            if (bytes.size() == 9 && bytes[8] == 0) { // an unsigned one of 64 bits
                std::uint64_t value = 0;
                std::memcpy(&value, bytes.data(), sizeof value);
                make(PickleNode::Kind::value, value);
                return;
            }
            fail("a number of " + std::to_string(bytes.size()) + " bytes is larger than any here");
        }
        std::uint64_t value = !bytes.empty() && static_cast<unsigned char>(bytes.back()) >= 0x80 ? ~std::uint64_t{0} : 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            value &= ~(std::uint64_t{0xFF} << (8 * i));
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
        }
        make(PickleNode::Kind::value, static_cast<std::int64_t>(value));
    }

    void real()
    {
        std::uint64_t bits = 0;
        for (const char c : take(8)) // the other end first
            bits = bits << 8 | static_cast<unsigned char>(c);
        make(PickleNode::Kind::value, std::bit_cast<double>(bits));
    }

    /// Memory that is written out, roughly. Values that are referred to often are written out as often, texts too: bounded.
    void count(std::size_t bytes)
    {
        constexpr std::size_t kMost = std::size_t{128} << 20;
        m_written += bytes;
        if (m_written > kMost)
            fail("its values take more than " + std::to_string(kMost >> 20) + " MiB");
    }

    json jsonOf(std::size_t index, int depth)
    {
        constexpr int kMostDepth = 64;
        if (depth > kMostDepth)
            fail("it is nested more than " + std::to_string(kMostDepth) + " deep");
        const PickleNode& node = m_nodes[index];
        if (node.kind == PickleNode::Kind::value) {
            constexpr std::size_t kText = 48; // its allocation
            count(sizeof(json) + (node.value.is_string() ? kText + node.value.get_ref<const std::string&>().size() : 0));
            return node.value;
        }
        if (node.kind == PickleNode::Kind::list) {
            json list = json::array();
            count(sizeof(json) * (2 + node.members.size()));
            list.get_ref<json::array_t&>().reserve(node.members.size());
            for (const std::size_t member : node.members)
                list.push_back(jsonOf(member, depth + 1));
            return list;
        }
        if (node.kind != PickleNode::Kind::dictionary)
            fail("it holds a mark or a function as a value");
        json object = json::object();
        for (std::size_t i = 0; i + 1 < node.members.size(); i += 2) {
            constexpr std::size_t kMember = 96; // a node of its tree
            count(kMember);
            const json key = jsonOf(node.members[i], depth + 1);
            if (!m_without.empty() && key == m_without)
                continue;
            object[key.is_string() ? key.get<std::string>() : key.dump()] = jsonOf(node.members[i + 1], depth + 1);
        }
        return object;
    }

    std::string_view m_bytes, m_without;
    std::size_t m_at = 0, m_held = 0, m_written = 0;
    std::deque<PickleNode> m_nodes;
    std::vector<std::size_t> m_stack;
    std::unordered_map<std::uint64_t, std::size_t> m_memo;
};

} // namespace

PickledStart readPickleStart(std::string_view bytes, std::string_view without)
{
    Unpickler unpickler(bytes, without);
    try {
        return {.value = unpickler.read(), .why = {}};
    } catch (const EndsTooEarly&) {
        return {.value = unpickler.readStart(), .why = endsAt(bytes)};
    }
}

} // namespace sim
