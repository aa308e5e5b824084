#include "app/canvas/qt/gl_canvas.h"

#include "app/canvas/qt/imgui_canvas.h"

#include <QOpenGLContext>

#include <cstddef>

namespace app {
namespace {

constexpr const char* kVertexShader = R"(
attribute highp vec2 position;
attribute highp vec2 texel;
attribute lowp vec4 tint;
uniform highp vec2 size;
uniform highp vec2 texels;
varying highp vec2 at;
varying lowp vec4 color;
void main()
{
    at = texel / texels;
    color = tint;
    gl_Position = vec4(position.x / size.x * 2.0 - 1.0, 1.0 - position.y / size.y * 2.0, 0.0, 1.0);
}
)";

constexpr const char* kFragmentShader = R"(
uniform sampler2D coverage;
varying highp vec2 at;
varying lowp vec4 color;
void main()
{
    gl_FragColor = vec4(color.rgb, color.a * texture2D(coverage, at).r);
}
)";

std::unique_ptr<QOpenGLShaderProgram> linkedProgram()
{
    auto program = std::make_unique<QOpenGLShaderProgram>();
    program->bindAttributeLocation("position", 0);
    program->bindAttributeLocation("texel", 1);
    program->bindAttributeLocation("tint", 2);
    const bool works = program->addShaderFromSourceCode(QOpenGLShader::Vertex, kVertexShader) &&
                       program->addShaderFromSourceCode(QOpenGLShader::Fragment, kFragmentShader) && program->link();
    return works ? std::move(program) : nullptr;
}

} // namespace

bool GlCanvas::worksHere()
{
    return linkedProgram() != nullptr;
}

GlCanvas::GlCanvas(std::function<Frame()> prepare, QWidget* parent) : QOpenGLWidget(parent), m_prepare(std::move(prepare)) {}

GlCanvas::~GlCanvas()
{
    if (context() != nullptr)
        disconnect(context(), nullptr, this, nullptr);
    release();
}

/// Called again when the widget has moved to another window: a new context, and what was made in the old one is gone.
void GlCanvas::initializeGL()
{
    connect(context(), &QOpenGLContext::aboutToBeDestroyed, this, &GlCanvas::release, Qt::DirectConnection);
    initializeOpenGLFunctions();
    m_program = linkedProgram();
    m_arrays = std::make_unique<QOpenGLVertexArrayObject>();
    m_arrays->create();
    m_vertices.create();
    m_indices.create();
}

void GlCanvas::release()
{
    if (m_program == nullptr)
        return;
    makeCurrent();
    m_texture.reset();
    m_textureOf = nullptr;
    m_program.reset();
    m_arrays.reset();
    m_vertices.destroy();
    m_indices.destroy();
    doneCurrent();
}

void GlCanvas::uploadAtlas(const GlyphAtlas& atlas)
{
    if (m_textureOf == &atlas && m_textureGeneration == atlas.generation())
        return;
    m_textureOf = &atlas;
    m_textureGeneration = atlas.generation();
    const CoverageTexture texture = atlas.texture();
    // Coverage is read from the red channel; RGBA is what every version can upload.
    const QImage image(texture.texels, texture.width, texture.height, texture.width, QImage::Format_Grayscale8);
    m_texture =
        std::make_unique<QOpenGLTexture>(image.convertToFormat(QImage::Format_RGBA8888), QOpenGLTexture::DontGenerateMipMaps);
    m_texture->setMinMagFilters(QOpenGLTexture::Nearest, QOpenGLTexture::Nearest);
    m_texture->setWrapMode(QOpenGLTexture::ClampToEdge);
}

void GlCanvas::paintGL()
{
    const Frame frame = m_prepare();
    glDisable(GL_SCISSOR_TEST);
    glClearColor(static_cast<float>(frame.background.redF()), static_cast<float>(frame.background.greenF()),
                 static_cast<float>(frame.background.blueF()), 1);
    glClear(GL_COLOR_BUFFER_BIT);
    if (m_program == nullptr)
        return;
    const ImDrawList& list = frame.list.list();
    uploadAtlas(frame.list.atlas());

    glEnable(GL_BLEND);
    glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDisable(GL_DEPTH_TEST);
    glDisable(GL_CULL_FACE);
    glEnable(GL_SCISSOR_TEST);

    const QOpenGLVertexArrayObject::Binder arrays(m_arrays.get());
    m_program->bind();
    m_program->setUniformValue("size", QSizeF(frame.pixels));
    m_program->setUniformValue("texels", QSizeF(m_texture->width(), m_texture->height()));
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
        glScissor(static_cast<int>(clip.x), frame.pixels.height() - static_cast<int>(clip.w),
                  std::max(0, static_cast<int>(clip.z - clip.x)), std::max(0, static_cast<int>(clip.w - clip.y)));
        // The vertex offset goes into the pointers: base-vertex draws came late to OpenGL.
        const auto base = static_cast<int>(command.VtxOffset) * kStride;
        m_program->setAttributeBuffer(0, GL_FLOAT, base + static_cast<int>(offsetof(ImDrawVert, pos)), 2, kStride);
        m_program->setAttributeBuffer(1, GL_FLOAT, base + static_cast<int>(offsetof(ImDrawVert, uv)), 2, kStride);
        m_program->setAttributeBuffer(2, GL_UNSIGNED_BYTE, base + static_cast<int>(offsetof(ImDrawVert, col)), 4, kStride);
        const std::uintptr_t offset = command.IdxOffset * sizeof(ImDrawIdx);
        const auto* indices = reinterpret_cast<const void*>(offset); // NOLINT(performance-no-int-to-ptr): OpenGL's way to say it
        glDrawElements(GL_TRIANGLES, static_cast<GLsizei>(command.ElemCount), kIndexType, indices);
    }
    m_program->release();
    m_vertices.release();
    m_indices.release();
    glDisable(GL_SCISSOR_TEST);
}

} // namespace app
