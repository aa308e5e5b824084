#include "live/stream/keys.h"

#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

namespace live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyCharacters = 40;
constexpr const char* kTitle = "# Rankscope key (CURVE, Z85)";

bool isKey(const std::string& text)
{
    std::array<std::uint8_t, 32> bytes{};
    return text.size() == kKeyCharacters && zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

void writeNew(const fs::path& path, const std::string& text, mode_t mode)
{
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0 && errno == EEXIST)
        throw sim::Error(path.string() + " exists already: a key that may be in use is not overwritten; name another file");
    const auto size = static_cast<ssize_t>(text.size());
    const bool written = file >= 0 && ::write(file, text.data(), text.size()) == size && ::fsync(file) == 0;
    const int error = errno;
    if (file >= 0)
        ::close(file);
    if (!written)
        throw sim::Error(path.string() + ": cannot be written: " + std::strerror(error));
}

std::string readSmallFile(const fs::path& path)
{
    constexpr std::size_t kMostBytes = 1U << 20U;
    return sim::readFile(path, kMostBytes);
}

/// The value of a line "word value".
std::optional<std::string> valueOf(const std::string& text, const std::string& word)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, second;
        if (words >> first >> second && first == word)
            return second;
    }
    return std::nullopt;
}

} // namespace

KeyPair makeKeyPair()
{
    std::array<char, kKeyCharacters + 1> publicKey{}, secretKey{};
    if (zmq_curve_keypair(publicKey.data(), secretKey.data()) != 0)
        throw sim::Error("no keys can be made: this machine's ZeroMQ was built without CURVE");
    return {publicKey.data(), secretKey.data()};
}

KeyPair createKeyFiles(const fs::path& path)
{
    fs::path publicPath = path;
    publicPath += ".pub";
    if (fs::exists(publicPath)) // before the secret one is written
        throw sim::Error(publicPath.string() + " exists already: name another file");
    KeyPair keys = makeKeyPair();
    writeNew(path,
             std::string(kTitle) + ". Secret: for its owner only\npublic " + keys.publicKey + "\nsecret " + keys.secretKey + "\n",
             S_IRUSR | S_IWUSR);
    writeNew(publicPath, std::string(kTitle) + ". For those who want to know the owner\npublic " + keys.publicKey + "\n",
             S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    return keys;
}

KeyPair readKeyPair(const fs::path& path)
{
    const std::string text = readSmallFile(path);
    KeyPair keys{valueOf(text, "public").value_or(""), valueOf(text, "secret").value_or("")};
    if (!isKey(keys.publicKey) || !isKey(keys.secretKey))
        throw sim::Error(path.string() + R"(: is no key file: it needs the lines "public KEY" and "secret KEY" of )" +
                         std::to_string(kKeyCharacters) + " characters each");
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        throw sim::Error(path.string() + ": others may read this secret key; run: chmod 600 " + path.string());
    return keys;
}

std::string readPublicKey(const std::string& fileOrKey)
{
    if (isKey(fileOrKey))
        return fileOrKey;
    std::string key = valueOf(readSmallFile(fileOrKey), "public").value_or("");
    if (!isKey(key))
        throw sim::Error(fileOrKey + ": is no public key: it needs a line \"public KEY\" of " + std::to_string(kKeyCharacters) +
                         " characters");
    return key;
}

std::vector<std::string> readAllowedKeys(const fs::path& path)
{
    std::istringstream lines(readSmallFile(path));
    std::vector<std::string> keys;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words(line);
        std::string key;
        if (!(words >> key) || key[0] == '#')
            continue;
        if (key == "public") // a .pub file will do
            words >> key;
        if (!isKey(key))
            throw sim::Error(path.string() + ", line " + std::to_string(number) + ": is no public key of " +
                             std::to_string(kKeyCharacters) + " characters");
        keys.push_back(key);
    }
    return keys;
}

void checkEndpoint(const std::string& endpoint)
{
    const auto refuse = [&](const std::string& why) {
        throw sim::Error("there is no endpoint " + sim::quotedText(endpoint) + ": " + why);
    };
    constexpr std::string_view kTcp = "tcp://", kIpc = "ipc://";
    if (endpoint.starts_with(kIpc)) {
        // ZeroMQ makes up a name for "*", and behind "@" is no file whose owner alone may open it.
        if (endpoint.size() == kIpc.size() || endpoint[kIpc.size()] == '@' || endpoint[kIpc.size()] == '*')
            refuse("ipc:// wants the path of a file, such as ipc:///tmp/run");
        return;
    }
    if (!endpoint.starts_with(kTcp))
        refuse("it is tcp://127.0.0.1:PORT or ipc://PATH");
    const std::size_t colon = endpoint.rfind(':');
    const std::string port = endpoint.substr(colon + 1);
    int number = -1;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (colon <= kTcp.size() || error != std::errc() || end != port.data() + port.size() || number < 0 || number > 65535)
        refuse("it needs a host and a port from 1 to 65535, such as tcp://127.0.0.1:5555; a run that listens at port 0 takes any "
               "free one");
}

std::string tcpEndpoint(const std::string& address, int port)
{
    const bool isIpv6 = address.find(':') != std::string::npos;
    return "tcp://" + (isIpv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

bool isLocalEndpoint(const std::string& endpoint)
{
    if (endpoint.starts_with("ipc://"))
        return true;
    constexpr std::string_view kTcp = "tcp://";
    if (!endpoint.starts_with(kTcp))
        return false;
    const std::size_t colon = endpoint.rfind(':');
    if (colon < kTcp.size())
        return false;
    const std::string host = endpoint.substr(kTcp.size(), colon - kTcp.size());
    // 127.x.x.x in figures only: "127.example.org" is a name like any other.
    const bool isNumeric = host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
    return isNumeric || host == "localhost" || host == "[::1]";
}

} // namespace live
