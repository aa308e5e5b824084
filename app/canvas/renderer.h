// What puts a canvas on the screen.
#pragma once

namespace app {

enum class Renderer { automatic, software, openGl };

} // namespace app
