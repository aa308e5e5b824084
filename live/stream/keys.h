// Keys for runs that listen beyond this machine (CURVE: both sides prove who they are, everything is encrypted). A key pair is
// two text files: NAME, which only its owner may read, and NAME.pub, which is given to others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace live {

/// Z85 text, 40 characters each (ZeroMQ RFC 32).
struct KeyPair {
    std::string publicKey, secretKey;
};

/// What a viewer needs: who the run is, and who it is itself.
struct ViewerKeys {
    std::string serverPublicKey;
    KeyPair own;
};

/// What a run needs: who it is, and who may look.
struct ServerKeys {
    KeyPair own;
    std::vector<std::string> allowedViewers; ///< public keys
};

KeyPair makeKeyPair();
/// Writes `path` (mode 0600) and `path`.pub. Throws sim::Error if either exists already or cannot be written.
KeyPair createKeyFiles(const std::filesystem::path& path);
/// Throws sim::Error if it is no key file, or if others may read it.
KeyPair readKeyPair(const std::filesystem::path&);
/// From a .pub file, from a key file, or the 40 characters themselves.
std::string readPublicKey(const std::string& fileOrKey);
/// The public keys in a text file, one a line, with an optional name after it; # begins a comment line.
std::vector<std::string> readAllowedKeys(const std::filesystem::path&);
/// Throws sim::Error unless it is tcp://HOST:PORT or ipc://PATH: ZeroMQ takes port 99999 for another one, and more.
void checkEndpoint(const std::string& endpoint);
/// Of an address in figures; port 0: any free one. IPv6 stands in brackets.
std::string tcpEndpoint(const std::string& address, int port);
/// Whether an endpoint can be reached from this machine alone: ipc://, tcp://127.x.x.x, tcp://localhost, tcp://[::1].
bool isLocalEndpoint(const std::string& endpoint);

} // namespace live
