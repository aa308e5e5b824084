// FFmpeg's side of films. H.264 where its encoder is there (any player shows it), else MPEG-4; VP9 for the web; GIF with a
// palette of our own.
#include "app/canvas/film/film_encoder.h"
#include "app/canvas/film/film_palette.h"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

namespace app {
namespace {

constexpr int kHundredths = 100; ///< of a second: what GIF counts in

[[noreturn]] void fail(const std::string& what, int error = 0)
{
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    if (error < 0)
        av_strerror(error, text, sizeof text);
    throw std::runtime_error(what + (error < 0 ? ": " + std::string(text) : std::string()));
}

void check(int result, const char* what)
{
    if (result < 0)
        fail(what, result);
}

template <auto release>
struct Release {
    template <class T>
    void operator()(T* held) const
    {
        if constexpr (requires { release(&held); })
            release(&held);
        else
            release(held);
    }
};
void closeFormat(AVFormatContext* format)
{
    if (format->pb != nullptr)
        avio_closep(&format->pb);
    avformat_free_context(format);
}

const AVCodec& codecOf(const std::string& ending)
{
    const auto first = [](std::initializer_list<const char*> names) -> const AVCodec& {
        for (const char* name : names)
            if (const AVCodec* codec = avcodec_find_encoder_by_name(name))
                return *codec;
        fail(std::string("this FFmpeg has no encoder ") + *names.begin());
    };
    return ending == "mp4" ? first({"libx264", "mpeg4"}) : ending == "webm" ? first({"libvpx-vp9", "libvpx"}) : first({"gif"});
}

class Encoder final : public FilmEncoder {
public:
    explicit Encoder(const FilmFormat& wanted) : m_isGif(std::strcmp(wanted.ending, "gif") == 0)
    {
        const AVCodec& codec = codecOf(wanted.ending);
        const std::string file = std::string("file:") + wanted.path; // a colon in a name is no protocol
        AVFormatContext* format = nullptr;
        check(avformat_alloc_output_context2(&format, nullptr, wanted.ending, file.c_str()), "the film cannot be begun");
        m_format.reset(format);
        m_codec.reset(avcodec_alloc_context3(&codec));
        m_frame.reset(av_frame_alloc());
        m_packet.reset(av_packet_alloc());
        m_stream = avformat_new_stream(format, nullptr);
        if (!m_codec || !m_frame || !m_packet || !m_stream)
            fail("no memory for a film");
        m_frameTime = {1, wanted.framesPerSecond};
        m_codec->width = wanted.width;
        m_codec->height = wanted.height;
        m_codec->time_base = m_isGif ? AVRational{1, kHundredths} : m_frameTime;
        m_codec->framerate = {wanted.framesPerSecond, 1};
        m_codec->pix_fmt = m_isGif ? AV_PIX_FMT_PAL8 : AV_PIX_FMT_YUV420P;
        m_codec->thread_count = 0; // as many as there are cores
        if (!m_isGif) {
            m_codec->colorspace = AVCOL_SPC_BT709;
            m_codec->color_primaries = AVCOL_PRI_BT709;
            m_codec->color_trc = AVCOL_TRC_BT709;
            m_codec->color_range = AVCOL_RANGE_MPEG;
            m_codec->gop_size = 2 * wanted.framesPerSecond; // what players can jump to
        }
        if (format->oformat->flags & AVFMT_GLOBALHEADER)
            m_codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
        const auto set = [&](const char* key, const char* value) { av_opt_set(m_codec->priv_data, key, value, 0); };
        if (std::strcmp(codec.name, "libx264") == 0) { // flat areas and sharp text: quality is cheap
            set("preset", "veryfast");
            set("tune", "animation");
            set("crf", "20");
        } else if (std::strncmp(codec.name, "libvpx", 6) == 0) {
            set("deadline", "realtime");
            set("cpu-used", "8");
            set("row-mt", "1");
            set("tile-columns", "2");
            set("lag-in-frames", "0");
            set("tune-content", "screen"); // much stands still, edges are sharp
            set("crf", "24");
            m_codec->bit_rate = 0;
        } else if (!m_isGif) {
            m_codec->flags |= AV_CODEC_FLAG_QSCALE;
            m_codec->global_quality = 3 * FF_QP2LAMBDA;
        }
        check(avcodec_open2(m_codec.get(), &codec, nullptr), "the encoder cannot be opened");
        check(avcodec_parameters_from_context(m_stream->codecpar, m_codec.get()), "the film cannot be begun");
        m_stream->time_base = m_codec->time_base;
        m_stream->avg_frame_rate = m_codec->framerate;
        check(avio_open(&format->pb, file.c_str(), AVIO_FLAG_WRITE), "the file cannot be written");
        AVDictionary* options = nullptr;
        if (std::strcmp(wanted.ending, "mp4") == 0)
            av_dict_set(&options, "movflags", "+faststart", 0); // plays before all of it is loaded
        const int begun = avformat_write_header(format, &options);
        av_dict_free(&options);
        check(begun, "the film cannot be begun");
        m_frame->format = m_codec->pix_fmt;
        m_frame->width = wanted.width;
        m_frame->height = wanted.height;
        check(av_frame_get_buffer(m_frame.get(), 0), "no memory for a frame");
        if (m_isGif)
            return;
        m_scale.reset(sws_getContext(wanted.width, wanted.height, AV_PIX_FMT_BGR0, wanted.width, wanted.height, m_codec->pix_fmt,
                                     SWS_BILINEAR, nullptr, nullptr, nullptr));
        if (!m_scale)
            fail("frames of this size cannot be converted");
        const int* bt709 = sws_getCoefficients(SWS_CS_ITU709);
        sws_setColorspaceDetails(m_scale.get(), bt709, 1, bt709, 0, 0, 1 << 16, 1 << 16);
    }

    void add(const std::uint32_t* pixels, std::ptrdiff_t stride) override
    {
        check(av_frame_make_writable(m_frame.get()), "no memory for a frame");
        if (m_isGif) {
            m_palette.map(pixels, stride, m_frame->width, m_frame->height, m_frame->data[0], m_frame->linesize[0]);
            // No place is left transparent: later pictures have colours there.
            std::vector<std::uint32_t> colors = m_palette.colors();
            colors.resize(FilmPalette::kMost, 0xFF000000);
            std::memcpy(m_frame->data[1], colors.data(), colors.size() * sizeof(std::uint32_t));
        } else {
            const auto* const rows = reinterpret_cast<const std::uint8_t*>(pixels);
            const int strides = static_cast<int>(stride);
            sws_scale(m_scale.get(), &rows, &strides, 0, m_frame->height, m_frame->data, m_frame->linesize);
        }
        m_frame->pts = av_rescale_q(m_frames++, m_frameTime, m_codec->time_base);
        encode(m_frame.get());
    }

    void finish() override
    {
        encode(nullptr);
        check(av_write_trailer(m_format.get()), "the film cannot be ended");
        check(avio_closep(&m_format->pb), "the file cannot be written");
    }

private:
    void encode(const AVFrame* frame)
    {
        check(avcodec_send_frame(m_codec.get(), frame), "a frame cannot be encoded");
        for (;;) {
            const int got = avcodec_receive_packet(m_codec.get(), m_packet.get());
            if (got == AVERROR(EAGAIN) || got == AVERROR_EOF)
                return;
            check(got, "a frame cannot be encoded");
            if (m_packet->duration == 0)
                m_packet->duration = av_rescale_q(1, m_frameTime, m_codec->time_base);
            av_packet_rescale_ts(m_packet.get(), m_codec->time_base, m_stream->time_base);
            m_packet->stream_index = m_stream->index;
            check(av_interleaved_write_frame(m_format.get(), m_packet.get()), "the file cannot be written");
        }
    }

    bool m_isGif;
    AVRational m_frameTime{1, 30};
    std::int64_t m_frames = 0;
    FilmPalette m_palette; ///< of a GIF
    std::unique_ptr<AVFormatContext, Release<closeFormat>> m_format;
    std::unique_ptr<AVCodecContext, Release<avcodec_free_context>> m_codec;
    std::unique_ptr<AVFrame, Release<av_frame_free>> m_frame;
    std::unique_ptr<AVPacket, Release<av_packet_free>> m_packet;
    std::unique_ptr<SwsContext, Release<sws_freeContext>> m_scale;
    AVStream* m_stream = nullptr; ///< of the format
};

} // namespace
} // namespace app

extern "C" __attribute__((visibility("default"))) app::FilmEncoder* rankscopeOpenFilm(const app::FilmFormat& format)
{
    av_log_set_level(AV_LOG_ERROR); // libraries talk; what goes wrong is told as an error
    return new app::Encoder(format);
}
