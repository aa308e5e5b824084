#include "live/kernels/cuda/launch_tape.h"

#include <utility>

namespace live::cuda {

std::byte* LaunchTape::append(std::size_t bytes, Run made)
{
    const std::size_t place = m_bytes.size(), padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    m_bytes.resize(place + sizeof(Header) + padded); // what is not written is 0
    const Header header{made, padded};
    std::memcpy(m_bytes.data() + place, &header, sizeof header);
    return m_bytes.data() + place + sizeof header;
}

void LaunchTape::putOther(std::function<void(Stream)> launch)
{
    const std::size_t index = m_others.size();
    m_others.push_back(std::move(launch));
    std::byte* const place = append(sizeof index, [](const LaunchTape& tape, const std::byte* at, Stream stream) {
        std::size_t which = 0;
        std::memcpy(&which, at, sizeof which);
        tape.m_others[which](stream);
    });
    std::memcpy(place, &index, sizeof index);
    ++m_launches;
}

void LaunchTape::putMark(std::int64_t number)
{
    append(0, nullptr);
    m_marks.push_back(number);
}

void LaunchTape::run(Stream stream, const std::function<void(std::size_t mark)>& atMark) const
{
    std::size_t mark = 0;
    for (std::size_t place = 0; place < m_bytes.size();) {
        Header header{};
        std::memcpy(&header, m_bytes.data() + place, sizeof header);
        place += sizeof header;
        if (header.run)
            header.run(*this, m_bytes.data() + place, stream);
        else
            atMark(mark++);
        place += header.bytes;
    }
}

void LaunchTape::clear()
{
    m_bytes.clear();
    m_others.clear();
    m_marks.clear();
    m_launches = 0;
}

} // namespace live::cuda
