#include "app/canvas/gl_canvas.h"

#include "app/canvas/imgui_canvas.h"

#include <QOpenGLContext>

#include <cstddef>

namespace app {
namespace {

constexpr const char* kVertexShader = R"(
attribute highp vec2 position;
attribute mediump vec2 texel;
attribute lowp vec4 tint;
uniform highp vec2 size;
varying mediump vec2 at;
varying lowp vec4 color;
void main()
{
    at = texel;
    color = tint;
    gl_Position = vec4(position.x / size.x * 2.0 - 1.0, 1.0 - position.y / size.y * 2.0, 0.0, 1.0);
}
)";

constexpr const char* kFragmentShader = R"(
uniform sampler2D coverage;
varying mediump vec2 at;
varying lowp vec4 color;
void main()
{
    gl_FragColor = vec4(color.rgb, color.a * texture2D(coverage, at).r);
}
)";

float channel(std::uint32_t abgr, unsigned shift)
{
    return static_cast<float>((abgr >> shift) & 0xFFU) / 255.0F;
}

} // namespace

GlCanvas::GlCanvas(std::function<Frame()> prepare, QWidget* parent) : QOpenGLWidget(parent), m_prepare(std::move(prepare)) {}

GlCanvas::~GlCanvas()
{
    makeCurrent();
    m_texture.reset();
    m_program.reset();
    m_arrays.destroy();
    m_vertices.destroy();
    m_indices.destroy();
    doneCurrent();
}

void GlCanvas::initializeGL()
{
    initializeOpenGLFunctions();
    m_program = std::make_unique<QOpenGLShaderProgram>();
    m_program->addShaderFromSourceCode(QOpenGLShader::Vertex, kVertexShader);
    m_program->addShaderFromSourceCode(QOpenGLShader::Fragment, kFragmentShader);
    m_program->bindAttributeLocation("position", 0);
    m_program->bindAttributeLocation("texel", 1);
    m_program->bindAttributeLocation("tint", 2);
    m_program->link();
    m_arrays.create();
    m_vertices.create();
    m_indices.create();
    m_textureOf = nullptr;
}

void GlCanvas::uploadAtlas(const DrawList& drawList)
{
    const GlyphAtlas& atlas = drawList.atlas();
    if (m_textureOf == &atlas)
        return;
    m_textureOf = &atlas;
    m_texture = std::make_unique<QOpenGLTexture>(QOpenGLTexture::Target2D);
    // Coverage is read from the red channel; RGBA is what every version can upload.
    QImage image(atlas.coverage(), atlas.width(), atlas.heightPixels(), atlas.width(), QImage::Format_Grayscale8);
    m_texture->setData(image.convertToFormat(QImage::Format_RGBA8888), QOpenGLTexture::DontGenerateMipMaps);
    m_texture->setMinMagFilters(QOpenGLTexture::Nearest, QOpenGLTexture::Nearest);
    m_texture->setWrapMode(QOpenGLTexture::ClampToEdge);
}

void GlCanvas::paintGL()
{
    const Frame frame = m_prepare();
    glDisable(GL_SCISSOR_TEST);
    glClearColor(channel(frame.background, 0), channel(frame.background, 8), channel(frame.background, 16), 1);
    glClear(GL_COLOR_BUFFER_BIT);
    if (frame.list == nullptr)
        return;
    const ImDrawList& list = frame.list->list();
    uploadAtlas(*frame.list);

    const int widthPixels = static_cast<int>(width() * devicePixelRatio()),
              heightPixels = static_cast<int>(height() * devicePixelRatio());
    glEnable(GL_BLEND);
    glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDisable(GL_DEPTH_TEST);
    glDisable(GL_CULL_FACE);
    glEnable(GL_SCISSOR_TEST);

    const QOpenGLVertexArrayObject::Binder arrays(&m_arrays);
    m_program->bind();
    m_program->setUniformValue("size", static_cast<float>(widthPixels), static_cast<float>(heightPixels));
    m_program->setUniformValue("coverage", 0);
    m_texture->bind(0);
    m_vertices.bind();
    m_vertices.allocate(list.VtxBuffer.Data, static_cast<int>(list.VtxBuffer.size_in_bytes()));
    m_indices.bind();
    m_indices.allocate(list.IdxBuffer.Data, static_cast<int>(list.IdxBuffer.size_in_bytes()));
    for (int attribute = 0; attribute < 3; ++attribute)
        m_program->enableAttributeArray(attribute);
    constexpr int kStride = sizeof(ImDrawVert);
    constexpr GLenum kIndexType = sizeof(ImDrawIdx) == 2 ? GL_UNSIGNED_SHORT : GL_UNSIGNED_INT;
    for (const ImDrawCmd& command : list.CmdBuffer) {
        const ImVec4 clip = command.ClipRect;
        glScissor(static_cast<int>(clip.x), heightPixels - static_cast<int>(clip.w),
                  std::max(0, static_cast<int>(clip.z - clip.x)), std::max(0, static_cast<int>(clip.w - clip.y)));
        // The vertex offset goes into the pointers: base-vertex draws came late to OpenGL.
        const auto base = static_cast<int>(command.VtxOffset) * kStride;
        m_program->setAttributeBuffer(0, GL_FLOAT, base + static_cast<int>(offsetof(ImDrawVert, pos)), 2, kStride);
        m_program->setAttributeBuffer(1, GL_FLOAT, base + static_cast<int>(offsetof(ImDrawVert, uv)), 2, kStride);
        m_program->setAttributeBuffer(2, GL_UNSIGNED_BYTE, base + static_cast<int>(offsetof(ImDrawVert, col)), 4, kStride);
        glDrawElements(GL_TRIANGLES, static_cast<GLsizei>(command.ElemCount), kIndexType,
                       reinterpret_cast<const void*>(static_cast<std::uintptr_t>(command.IdxOffset) * sizeof(ImDrawIdx)));
    }
    m_program->release();
    m_vertices.release();
    m_indices.release();
    glDisable(GL_SCISSOR_TEST);
}

} // namespace app
