#include "live/stream/gatekeeper.h"

#include <array>
#include <chrono>
#include <zmq_addon.hpp>

namespace live {
namespace {

std::string bytesOfKey(const std::string& z85)
{
    std::array<std::uint8_t, 32> bytes{};
    zmq_z85_decode(bytes.data(), z85.c_str());
    return {bytes.begin(), bytes.end()};
}

} // namespace

Gatekeeper::Gatekeeper(zmq::context_t& context, const std::vector<std::string>& allowedKeys)
    : m_questions(context, zmq::socket_type::rep)
{
    for (const std::string& key : allowedKeys)
        m_allowed.insert(bytesOfKey(key));
    m_questions.set(zmq::sockopt::linger, 0);
    m_questions.bind("inproc://zeromq.zap.01");
    m_thread = std::thread([this] {
        while (!m_stop) {
            std::array<zmq::pollitem_t, 1> items = {{{m_questions.handle(), 0, ZMQ_POLLIN, 0}}};
            try {
                zmq::poll(items.data(), items.size(), std::chrono::milliseconds(50));
                if ((items[0].revents & ZMQ_POLLIN) != 0)
                    answer();
            } catch (const zmq::error_t&) {
                return; // without answers nobody comes in
            }
        }
    });
}

Gatekeeper::~Gatekeeper()
{
    m_stop = true;
    m_thread.join();
}

void Gatekeeper::answer()
{
    std::vector<zmq::message_t> question;
    if (!zmq::recv_multipart(m_questions, std::back_inserter(question), zmq::recv_flags::dontwait))
        return;
    // version, request id, domain, address, identity, mechanism, client's public key
    const bool known =
        question.size() == 7 && question[5].to_string_view() == "CURVE" && m_allowed.contains(question[6].to_string());
    if (!known)
        ++m_refused;
    const std::string requestId = question.size() > 1 ? question[1].to_string() : "";
    const std::array<std::string, 6> reply = {"1.0", requestId, known ? "200" : "400", known ? "OK" : "unknown key", "", ""};
    for (std::size_t i = 0; i < reply.size(); ++i)
        m_questions.send(zmq::buffer(reply[i]), i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
}

} // namespace live
